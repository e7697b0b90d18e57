// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A subcommand of the program, and the functions that report its result.

   A subcommand is one file, cmd_<name>.c, that defines `const Command cmd_<name>`, and one line in
   tools/meson.build, from which the build makes the table.
*/
#ifndef WARPRACK_TOOLS_COMMANDS_H
#define WARPRACK_TOOLS_COMMANDS_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_NAME "warprack"

typedef struct Command {
  const char* name;    ///< The word after "warprack"
  const char* usage;   ///< Its arguments: "[options] RACK IN OUT"
  const char* summary; ///< One line for lists, no full stop
  /// argv[0] is the subcommand's name.  If options came before it, they begin at argv[1], and a
  /// NULL ends them.  Returns the program's exit code.
  int (*run)(int argc, char** argv);
  bool may_lose_output; ///< Closed stdout is no error: the subcommand continues
} Command;

/// All subcommands except "worker" and "group", in alphabetical order, from the build's list.
const Command* const* program_commands(uint32_t* n_commands);

/// Find a subcommand by name; NULL if there is none.
const Command* program_command(const char* name);

/// The commit from which the program was built, with "-dirty" if files differed from it; or
/// "unknown commit".  Defined in the program only.
extern const char program_commit[];

/// Print "warprack NAME: text" to stderr.  Returns the exit code of the error's status.
int command_fail(const Command* command, const Error* error);

/// Report wrong usage in the same form, with "see warprack NAME --help".  Returns exit code 2.
int command_misused(const Command* command, const char* format, ...) PRINTF_LIKE(2, 3);

/// Print a JSON document as one line, flush it, and release the document.  Returns exit code 0, or
/// 5 with a message if stdout cannot be written.
int command_print_json(const Command* command, json_t* json);

/// Make a JSON string of a text.  If the text is not UTF-8, as file names may be, each byte beyond
/// ASCII becomes "?".
json_t* command_json_text(const char* text);

/// Make an array of such strings from lines that each end in a newline.
json_t* command_json_lines(const char* text);

#endif
