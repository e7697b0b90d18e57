// SPDX-License-Identifier: GPL-3.0-or-later
// Parses the options of a subcommand by a table.

#include "options.h"

#include "engine/base/hint.h"
#include "engine/rack/rack.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_OPTIONS 64U // of one subcommand; the largest has about 30
#define MAX_NAME    32U // with "no-" and the final zero
#define HELP_COLUMN 26  // where help texts begin

/// The words of a command line, read in order.
typedef struct Line {
  const Command* command;
  const OptionTable* table;
  int argc;
  char** argv;
  int at;       ///< The current word
  bool is_help; ///< --help is printed
} Line;

static bool
takes_value(const Option* const option)
{
  return option->kind != OPTION_FLAG && option->kind != OPTION_SWITCH;
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
  printf("%-*s%s\n", HELP_COLUMN, "  -h, --help", "Print this help and exit");
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
  default:
    return false; // has no value
  }
}

// ---- finding ----

/// Find the option "name" or, for a switch, "no-name", which sets `is_negated`.  NULL if there is
/// none.
static const Option*
find_name(const OptionTable* const table, const char* const name, bool* const is_negated)
{
  for (uint32_t i = 0; i < table->n_options; ++i) {
    const Option* const option = &table->options[i];
    *is_negated = option->kind == OPTION_SWITCH && !strncmp(name, "no-", 3);
    if (!strcmp(option->name, *is_negated ? name + 3 : name)) {
      return option;
    }
  }
  return NULL;
}

static const Option*
find_letter(const OptionTable* const table, const char letter)
{
  for (uint32_t i = 0; i < table->n_options; ++i) {
    if (table->options[i].letter == letter) {
      return &table->options[i];
    }
  }
  return NULL;
}

static void
refuse_name(const Line* const line, const char* const name)
{
  const OptionTable* const table = line->table;
  char negated[MAX_OPTIONS][MAX_NAME];
  const char* names[2U * MAX_OPTIONS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < table->n_options && i < MAX_OPTIONS; ++i) {
    names[n++] = table->options[i].name;
    if (table->options[i].kind == OPTION_SWITCH) {
      snprintf(negated[i], MAX_NAME, "no-%s", table->options[i].name);
      names[n++] = negated[i];
    }
  }
  const char* const near = nearest_name(name, names, n);
  command_misused(line->command, "unknown option %s%s%s%s", line->argv[line->at],
                  near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

// ---- reading ----

/// Take the value of an option: the text after its "=" or letter, else the next word.  NULL if
/// there is none.
static const char*
take_value(Line* const line, const char* const attached)
{
  if (attached) {
    return attached;
  }
  const char* const next = line->at + 1 < line->argc ? line->argv[line->at + 1] : NULL;
  if (!next || !strncmp(next, "--", 2)) {
    command_misused(line->command, "%s needs a value", line->argv[line->at]);
    return NULL;
  }
  ++line->at;
  return next;
}

static bool
take_help(Line* const line)
{
  print_help(line->command, line->table);
  line->is_help = true;
  return false;
}

/// True for the words that switch a parameter of a rack.  `word`: NULL at the end of the line.
static bool
is_switch_value(const char* const word)
{
  static const char* const words[] = { "on", "off", "yes", "no", "true", "false" };
  for (uint32_t w = 0; w < ARRAY_LEN(words) && word; ++w) {
    if (!strcmp(words[w], word)) {
      return true;
    }
  }
  return false;
}

/// Parse "--name", "--no-name", "--name value" or "--name=value".  Returns true to continue.
static bool
take_name(Line* const line)
{
  const char* const word = line->argv[line->at] + 2;
  const size_t n_name = strcspn(word, "=");
  const char* const attached = word[n_name] ? word + n_name + 1U : NULL;
  char name[MAX_NAME];
  snprintf(name, sizeof(name), "%.*s", (int)n_name, word);
  bool is_negated = false;
  const Option* const option = find_name(line->table, name, &is_negated);
  if (!option && !strcmp(name, "help")) {
    return take_help(line);
  }
  if (!option) {
    refuse_name(line, name);
    return false;
  }
  if (takes_value(option)) {
    const char* const value = take_value(line, attached);
    return value && read_value(line->command, option, value);
  }
  const bool is_switch = option->kind == OPTION_SWITCH;
  if (attached || (is_switch && is_switch_value(line->argv[line->at + 1]))) {
    command_misused(line->command,
                    is_switch ? "--%s takes no value; write --%s or --no-%s"
                              : "--%s takes no value",
                    name, option->name, option->name);
    return false;
  }
  *option->to.flag = !is_negated;
  return true;
}

/// Parse "-a", "-abc", "-a value" or "-avalue".  Returns true to continue.
static bool
take_letters(Line* const line)
{
  const char* const word = line->argv[line->at];
  bool is_negated = false;
  // "-rate" is an error, not "-r ate".
  if (word[2] && find_name(line->table, word + 1, &is_negated)) {
    refuse_name(line, word + 1);
    return false;
  }
  for (const char* at = word + 1; *at; ++at) {
    const Option* const option = find_letter(line->table, *at);
    if (!option && *at == 'h') {
      return take_help(line);
    }
    if (!option) {
      command_misused(
          line->command,
          "unknown option -%c; put -- before arguments that begin with -; usage: " PROGRAM_NAME
          " %s %s",
          *at, line->command->name, line->command->usage);
      return false;
    }
    if (takes_value(option)) {
      const char* const value = take_value(line, at[1] ? at + 1 : NULL);
      return value && read_value(line->command, option, value);
    }
    *option->to.flag = true;
  }
  return true;
}

/// True for an option.  Numbers such as -6 and -3dB are operands.
static bool
is_option(const char* const word)
{
  return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) &&
         !(word[1] == '.' && isdigit((unsigned char)word[2]));
}

/// Refuse operands before the subcommand's name.  Such a word may be meant as the value of an
/// option that this subcommand does not have.
static bool
check_front(const Line* const line, const Operands* const operands)
{
  if (operands->n) {
    command_misused(line->command, "unexpected argument '%s' before %s", operands->words[0],
                    line->command->name);
  }
  return !operands->n;
}

static bool
check_operands(const Line* const line, const Operands* const operands)
{
  const Command* const command = line->command;
  if (operands->n < line->table->min_operands) {
    command_misused(command, "usage: " PROGRAM_NAME " %s %s", command->name, command->usage);
    return false;
  }
  if (operands->n > line->table->max_operands) {
    struct stat facts;
    const char* const word = operands->words[line->table->max_operands];
    const bool is_chain = strstr(command->usage, "RACK") && stat(operands->words[0], &facts) != 0 &&
                          stat(operands->words[1], &facts) != 0;
    command_misused(command, "unexpected argument '%s'%s", word,
                    rack_unit(word) ? "; write the number of the option without a separate unit"
                    : is_chain      ? "; a RACK of several words needs quotes"
                                    : "");
    return false;
  }
  return true;
}

bool
options_parse(const Command* const command, const OptionTable* const table, const int argc,
              char** const argv, Operands* const operands)
{
  Line line = { .command = command, .table = table, .argc = argc, .argv = argv };
  *operands = (Operands){ .words = argv + 1, .exit_code = status_exit_code(STATUS_BAD_ARG) };
  bool is_over = false; // "--" has been read
  for (line.at = 1; line.at < argc; ++line.at) {
    char* const word = argv[line.at];
    if (!word && !check_front(&line, operands)) {
      return false;
    }
    if (!word) {
      continue;
    }
    if (is_over || !is_option(word)) {
      operands->words[operands->n++] = word;
    } else if (!strcmp(word, "--")) {
      is_over = true;
    } else if (!(word[1] == '-' ? take_name(&line) : take_letters(&line))) {
      operands->exit_code = line.is_help ? 0 : operands->exit_code;
      return false;
    }
  }
  return check_operands(&line, operands);
}
