// SPDX-License-Identifier: GPL-3.0-or-later
// warprack import: converts an equaliser's settings to a rack.

#include "commands.h"
#include "eq_file.h"
#include "options.h"
#include "rack_arg.h"

#include <stdio.h>
#include <stdlib.h>

static int import_run(int argc, char** argv);

const Command cmd_import = {
  .name = "import",
  .usage = "FILE",
  .summary = "Print EQ settings of AutoEq, REW or Equalizer APO as a rack",
  .run = import_run,
};

static void
print_warning(void* const context, const char* const text)
{
  (void)context;
  fprintf(stderr, PROGRAM_NAME " import: %s\n", text);
}

/// Convert the settings, and check that the rack is valid: the rack language has limits of its own.
static Status
make_rack(const char* const name, char** const rack, Error* const error)
{
  char* settings = NULL;
  Rack* parsed = NULL;
  Status status = rack_arg_read_text(name, &settings, error);
  status = status ? status : eq_file_to_rack(settings, name, print_warning, NULL, rack, error);
  free(settings);
  status = status ? status : rack_parse(*rack, name, NULL, &parsed, error);
  rack_free(parsed);
  return status;
}

static int
import_run(const int argc, char** const argv)
{
  const OptionTable options = { NULL, 0, .min_operands = 1, .max_operands = 1 };
  Operands operands;
  if (!options_parse(&cmd_import, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  char* rack = NULL;
  Error error = { STATUS_OK, "" };
  const Status status = make_rack(operands.words[0], &rack, &error);
  if (!status) {
    printf("%s", rack);
  }
  free(rack);
  return status ? command_fail(&cmd_import, &error) : 0;
}
