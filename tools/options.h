// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Options of a subcommand, described by a table, from which parsing, checks of ranges, messages and
   `--help` follow.  Options may stand anywhere among the operands, and before the subcommand's
   name; a word "--" ends them.

       double rate_hz = 0.0;
       bool json = false;
       const Option table[] = {
         { "json", 'j', OPTION_FLAG, .help = "Print JSON", .to.flag = &json },
         { "rate", 'r', OPTION_NUMBER, "HZ", 8000, 768000, .help = "Frames per second",
           .to.number = &rate_hz },
       };
       const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1, .max_operands = 1
       }; Operands operands;
       if (!options_parse(&cmd_thing, &options, argc, argv, &operands)) {
         return operands.exit_code;
       }

   Every table has `--help`, without a row for it.
*/
#ifndef WARPRACK_TOOLS_OPTIONS_H
#define WARPRACK_TOOLS_OPTIONS_H

#include "commands.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum OptionKind {
  OPTION_FLAG,    ///< --name sets it
  OPTION_SWITCH,  ///< --name sets it, --no-name clears it
  OPTION_INTEGER, ///< A whole number in [min, max]
  OPTION_NUMBER,  ///< A finite number in [min, max]
  OPTION_TEXT,    ///< Any text except the empty one
  OPTION_CHOICE   ///< One of `choices`
} OptionKind;

typedef struct Option {
  const char* name; ///< Without the dashes
  char letter;      ///< Short form, 0 for none
  OptionKind kind;
  const char* value;          ///< Word for the value in the help; OPTION_CHOICE shows its choices
  double min, max;            ///< Inclusive; INTEGER and NUMBER only
  const char* const* choices; ///< NULL-terminated; CHOICE only
  const char* help;           ///< One line, no full stop; contains the default
  union {
    bool* flag; ///< Also SWITCH
    int64_t* integer;
    double* number;
    const char** text; ///< Points into argv
    uint32_t* choice;  ///< Index in `choices`
  } to;                ///< Unchanged if the option is not given; the last occurrence counts
} Option;

typedef struct OptionTable {
  const Option* options; ///< [n_options] in the order of the help
  uint32_t n_options;
  uint32_t min_operands, max_operands;
} OptionTable;

/// The words that are not options, or the exit code.
typedef struct Operands {
  char** words; ///< [n] in argv, which options_parse() reorders
  uint32_t n;
  int exit_code; ///< If options_parse() returned false: 0 after --help, 2 after a message
} Operands;

/// Parse the options and store their values.  Before a NULL in argv (see Command) only options with
/// their values are allowed.  Returns false if the subcommand must end with
/// `operands->exit_code`, because `--help` or an error message was printed. [main]
NODISCARD bool options_parse(const Command* command, const OptionTable* table, int argc,
                             char** argv, Operands* operands);

#endif
