// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by all subcommands: error messages on stderr, JSON on stdout, and the exit code.

#include "commands.h"

#include "engine/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISUSE_BYTES 2048U // lists of names are long

// Not listed: the server starts the worker, and the worker groups.
extern const Command cmd_group;
extern const Command cmd_worker;

const Command*
program_command(const char* const name)
{
  uint32_t n = 0;
  const Command* const* const table = program_commands(&n);
  for (uint32_t i = 0; i < n; ++i) {
    if (!strcmp(table[i]->name, name)) {
      return table[i];
    }
  }
  return !strcmp(name, cmd_worker.name)  ? &cmd_worker
         : !strcmp(name, cmd_group.name) ? &cmd_group
                                         : NULL;
}

int
command_fail(const Command* const command, const Error* const error)
{
  fflush(stdout);
  fprintf(stderr, PROGRAM_NAME " %s: %s\n", command->name,
          error->text[0] ? error->text : status_text(error->status));
  return status_exit_code(error->status);
}

int
command_misused(const Command* const command, const char* const format, ...)
{
  char text[MISUSE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  text_make_printable(text);
  fflush(stdout);
  fprintf(stderr, PROGRAM_NAME " %s: %s; see " PROGRAM_NAME " %s --help\n", command->name, text,
          command->name);
  return status_exit_code(STATUS_BAD_ARG);
}

int
command_print_json(const Command* const command, json_t* const json)
{
  Error error = { STATUS_NO_MEM, "" };
  if (!json) {
    return command_fail(command, &error);
  }
  const bool printed =
      !json_dumpf(json, stdout, JSON_COMPACT) && fputc('\n', stdout) != EOF && !fflush(stdout);
  json_decref(json);
  if (!printed) {
    error_set(&error, STATUS_FILE, "cannot write to standard output: %s", strerror(errno));
    return command_fail(command, &error);
  }
  return 0;
}

json_t*
command_json_text(const char* const text)
{
  json_t* json = json_string(text);
  char* const ascii = json ? NULL : strdup(text);
  if (ascii) {
    for (char* c = ascii; *c; ++c) {
      *c = (unsigned char)*c < 128U ? *c : '?';
    }
    json = json_string(ascii);
  }
  free(ascii);
  return json;
}

json_t*
command_json_lines(const char* const text)
{
  json_t* const lines = json_array();
  for (const char* at = text; *at; at += strcspn(at, "\n") + 1U) {
    char* const line = strndup(at, strcspn(at, "\n"));
    json_array_append_new(lines, line ? command_json_text(line) : NULL);
    free(line);
  }
  return lines;
}
