// SPDX-License-Identifier: GPL-3.0-or-later
// Options of a subcommand from a table: getopt_long for the splitting, our own words for the rest.

#include "options.h"

#include "../engine/hint.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS  64U // of one subcommand; the largest has about 30
#define MAX_NAME     32U // with "no-" and the final zero
#define HELP_COLUMN  26  // where help texts begin
#define FIRST_SWITCH 512 // getopt values: 256 + row for --name, 512 + row for --no-name

enum { VALUE_HELP = 1, FIRST_OPTION = 256 };

typedef struct GetoptTable {
  struct option rows[2U * MAX_OPTIONS + 2U];
  char negated[MAX_OPTIONS][MAX_NAME];
  const char* names[2U * MAX_OPTIONS + 1U];
  uint32_t n_rows;
  char letters[2U * MAX_OPTIONS + 4U];
} GetoptTable;

static bool
takes_value(const Option* const option)
{
  return option->kind != OPTION_FLAG && option->kind != OPTION_SWITCH;
}

static void
add_row(GetoptTable* const to, const char* const name, const bool has_value, const int value)
{
  to->rows[to->n_rows] =
      (struct option){ name, has_value ? required_argument : no_argument, NULL, value };
  to->names[to->n_rows++] = name;
}

static void
make_getopt_table(const OptionTable* const table, GetoptTable* const to)
{
  // "+": stop at the first operand; ":": tell a missing value from an unknown option.
  char* letter = stpcpy(to->letters, table->options_first ? "+:h" : ":h");
  for (uint32_t i = 0; i < table->n_options; ++i) {
    const Option* const option = &table->options[i];
    add_row(to, option->name, takes_value(option), FIRST_OPTION + (int)i);
    if (option->kind == OPTION_SWITCH) {
      snprintf(to->negated[i], MAX_NAME, "no-%s", option->name);
      add_row(to, to->negated[i], false, FIRST_SWITCH + (int)i);
    }
    if (option->letter) {
      *letter++ = option->letter;
      if (takes_value(option)) {
        *letter++ = ':';
      }
    }
  }
  *letter = '\0';
  add_row(to, "help", false, VALUE_HELP);
}

// ---- help ----

static void
print_choices(const char* const* const choices, char* const to, const size_t n_bytes)
{
  size_t n = 0;
  for (uint32_t i = 0; choices[i] && n < n_bytes; ++i) {
    n += (size_t)snprintf(to + n, n_bytes - n, "%s%s", i ? "|" : "", choices[i]);
  }
}

static void
print_option(const Option* const option)
{
  char value[128] = "";
  if (option->kind == OPTION_CHOICE) {
    print_choices(option->choices, value, sizeof(value));
  } else if (takes_value(option)) {
    snprintf(value, sizeof(value), "%s", option->value);
  }
  char left[224];
  char letter[8] = "    ";
  if (option->letter) {
    snprintf(letter, sizeof(letter), "-%c, ", option->letter);
  }
  const int n = snprintf(left, sizeof(left), "  %s--%s%s%s%s", letter,
                         option->kind == OPTION_SWITCH ? "[no-]" : "", option->name,
                         value[0] ? " " : "", value);
  if (n >= HELP_COLUMN) {
    printf("%s\n%*s", left, HELP_COLUMN, "");
  } else {
    printf("%-*s", HELP_COLUMN, left);
  }
  printf("%s", option->help);
  if (option->kind == OPTION_INTEGER || option->kind == OPTION_NUMBER) {
    printf(" (%.15g to %.15g)", option->min, option->max);
  }
  putchar('\n');
}

static void
print_help(const Command* const command, const OptionTable* const table)
{
  printf("usage: " PROGRAM_NAME " %s %s\n\n%s.\n\n", command->name, command->usage,
         command->summary);
  for (uint32_t i = 0; i < table->n_options; ++i) {
    print_option(&table->options[i]);
  }
  printf("%-*s%s\n", HELP_COLUMN, "  -h, --help", "Print this and exit");
  if (table->options_first) {
    printf("\nOptions stand before all other words.\n");
  }
}

// ---- values ----

static bool
read_integer(const Command* const command, const Option* const option, const char* const text)
{
  char* end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  const bool in_range = !errno && (double)value >= option->min && (double)value <= option->max;
  if (end == text || *end || !in_range) {
    command_misused(command, "--%s takes a whole number from %.15g to %.15g, not '%s'",
                    option->name, option->min, option->max, text);
    return false;
  }
  *option->to.integer = value;
  return true;
}

static bool
read_number(const Command* const command, const Option* const option, const char* const text)
{
  char* end = NULL;
  const double value = strtod(text, &end);
  if (end == text || *end || !(value >= option->min && value <= option->max)) {
    command_misused(command, "--%s takes a number from %.15g to %.15g, not '%s'", option->name,
                    option->min, option->max, text);
    return false;
  }
  *option->to.number = value;
  return true;
}

static bool
read_choice(const Command* const command, const Option* const option, const char* const text)
{
  for (uint32_t i = 0; option->choices[i]; ++i) {
    if (!strcmp(option->choices[i], text)) {
      *option->to.choice = i;
      return true;
    }
  }
  char choices[256] = "";
  print_choices(option->choices, choices, sizeof(choices));
  command_misused(command, "--%s takes one of %s, not '%s'", option->name, choices, text);
  return false;
}

static bool
read_value(const Command* const command, const Option* const option, const char* const text)
{
  switch (option->kind) {
  case OPTION_FLAG:
  case OPTION_SWITCH:
    *option->to.flag = true;
    return true;
  case OPTION_INTEGER:
    return read_integer(command, option, text);
  case OPTION_NUMBER:
    return read_number(command, option, text);
  case OPTION_TEXT:
    if (!text[0]) {
      command_misused(command, "--%s needs %s", option->name, option->value);
      return false;
    }
    *option->to.text = text;
    return true;
  case OPTION_CHOICE:
    return read_choice(command, option, text);
  }
  return false;
}

// ---- mistakes ----

static void
refuse_unknown(const Command* const command, const GetoptTable* const names, const char* const word)
{
  if (strncmp(word, "--", 2)) {
    command_misused(command, "unknown option -%c", optopt);
    return;
  }
  char name[64];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
  if (optopt) { // a name that getopt knows: a value where there is none
    command_misused(command, "--%s takes no value", name);
    return;
  }
  const char* const near = nearest_name(name, names->names, names->n_rows);
  if (near) {
    command_misused(command, "unknown option --%s; did you mean --%s?", name, near);
  } else {
    command_misused(command, "unknown option --%s", name);
  }
}

static const Option*
find_letter(const OptionTable* const table, const int letter)
{
  for (uint32_t i = 0; i < table->n_options; ++i) {
    if (table->options[i].letter == letter) {
      return &table->options[i];
    }
  }
  return NULL;
}

static bool
check_operands(const Command* const command, const OptionTable* const table, const uint32_t n,
               const char* const first_too_many)
{
  if (n < table->min_operands) {
    command_misused(command, "usage: " PROGRAM_NAME " %s %s", command->name, command->usage);
    return false;
  }
  if (n > table->max_operands) {
    command_misused(command, "nothing is expected at '%s'", first_too_many);
    return false;
  }
  return true;
}

/// One step of getopt: true to go on.  Sets `done` when --help has been printed.
static bool
take_option(const Command* const command, const OptionTable* const table,
            const GetoptTable* const names, const int found, char** const argv, bool* const done)
{
  if (found == VALUE_HELP || found == 'h') {
    print_help(command, table);
    *done = true;
    return false;
  }
  if (found == ':') {
    command_misused(command, "%s needs a value", argv[optind - 1]);
    return false;
  }
  if (found == '?') {
    refuse_unknown(command, names, argv[optind - 1]);
    return false;
  }
  if (found >= FIRST_SWITCH) {
    *table->options[found - FIRST_SWITCH].to.flag = false;
    return true;
  }
  const Option* const option =
      found >= FIRST_OPTION ? &table->options[found - FIRST_OPTION] : find_letter(table, found);
  return read_value(command, option, optarg);
}

bool
options_parse(const Command* const command, const OptionTable* const table, const int argc,
              char** const argv, Operands* const operands)
{
  GetoptTable names = { .n_rows = 0 };
  make_getopt_table(table, &names);
  *operands = (Operands){ .exit_code = status_exit_code(STATUS_BAD_ARG) };
  opterr = 0;
  optind = 0; // GNU: start anew, also after another table
  int found;
  while ((found = getopt_long(argc, argv, names.letters, names.rows, NULL)) != -1) {
    bool done = false;
    if (!take_option(command, table, &names, found, argv, &done)) {
      operands->exit_code = done ? 0 : operands->exit_code;
      return false;
    }
  }
  operands->words = argv + optind;
  operands->n = (uint32_t)(argc - optind);
  return check_operands(command, table, operands->n,
                        operands->n > table->max_operands ? operands->words[table->max_operands]
                                                          : NULL);
}
