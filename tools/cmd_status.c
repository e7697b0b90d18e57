// SPDX-License-Identifier: GPL-3.0-or-later
// warprack status: prints the state and the counters of a running server.

#include "commands.h"
#include "options.h"
#include "talk.h"

#include "control/control.h"
#include "control/net/pattern.h"
#include "engine/base/hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int status_run(int argc, char** argv);

const Command cmd_status = {
  .name = "status",
  .usage = "[options] [KEY ...]",
  .summary = "Show state and counters of a running server: all, or those whose names match KEY",
  .run = status_run,
};

/// Get /server/status as an object; the caller frees it.
static Status
ask_status(const TalkArgs* const args, json_t** const status, Error* const error)
{
  static Talk talk; // static, because it is large
  Status result = talk_open(&talk, args, error);
  result = result ? result : talk_ask(&talk, "/server/status", error);
  *status = json_object();
  while (!result && !json_object_size(*status)) {
    const char* address = NULL;
    lo_message message = NULL;
    result = talk_receive(&talk, &address, &message, error);
    if (!result) {
      talk_describe(*status, address, message);
      lo_message_free(message);
    }
  }
  talk_close(&talk);
  const char* const why = json_string_value(json_object_get(*status, "text"));
  if (!result && json_object_get(*status, "fail")) {
    result = error_set(error, STATUS_NET, "the server refuses: %.300s", why ? why : "");
  }
  return result;
}

static bool
is_wanted(const char* const key, char** const patterns, const uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    if (!strcmp(patterns[i], key) || pattern_match(patterns[i], key)) {
      return true;
    }
  }
  return n == 0;
}

/// Refuse the first pattern that matches no key.
static int
refuse_unknown(json_t* const status, char** const patterns, const uint32_t n)
{
  const char** const keys = calloc(json_object_size(status) + 1U, sizeof(char*));
  int exit_code = 0;
  for (uint32_t i = 0; keys && i < n && !exit_code; ++i) {
    uint32_t n_keys = 0;
    bool is_found = false;
    const char* key;
    json_t* value;
    json_object_foreach(status, key, value)
    {
      keys[n_keys++] = key;
      is_found = is_found || is_wanted(key, &patterns[i], 1);
    }
    char hint[HINT_BYTES];
    if (!is_found) {
      exit_code = command_misused(&cmd_status, "no key '%s'; %s", patterns[i],
                                  name_hint(hint, patterns[i], keys, n_keys));
    }
  }
  free(keys);
  return exit_code;
}

static void
print_value(const json_t* const value)
{
  if (json_is_string(value)) {
    printf("%s\n", json_string_value(value));
  } else if (json_is_integer(value)) {
    printf("%lld\n", (long long)json_integer_value(value));
  } else {
    printf("%g\n", json_number_value(value));
  }
}

/// Print one key per line, with all values in one column.
static void
print_columns(json_t* const status)
{
  const char* key;
  json_t* value;
  int width = 0;
  json_object_foreach(status, key, value)
  {
    width = (int)strlen(key) > width ? (int)strlen(key) : width;
  }
  json_object_foreach(status, key, value)
  {
    printf("%-*s  ", width, key);
    print_value(value);
  }
}

static int
status_run(const int argc, char** const argv)
{
  TalkArgs args = TALK_DEFAULTS;
  bool json = false;
  // clang-format off
  const Option table[] = {
    { "json", 'j', OPTION_FLAG, .to.flag = &json, .help = "Print JSON" },
    TALK_OPTIONS(&args),
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .max_operands = UINT32_MAX };
  Operands operands;
  if (!options_parse(&cmd_status, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  Error error = { STATUS_OK, "" };
  json_t* status = NULL;
  int exit_code = ask_status(&args, &status, &error)
                      ? command_fail(&cmd_status, &error)
                      : refuse_unknown(status, operands.words, operands.n);
  const char* key;
  json_t* value;
  void* next;
  json_object_foreach_safe(status, next, key, value)
  {
    if (!is_wanted(key, operands.words, operands.n)) {
      json_object_del(status, key);
    }
  }
  if (!exit_code && json) {
    return command_print_json(&cmd_status, status);
  }
  if (!exit_code) {
    print_columns(status);
  }
  json_decref(status);
  return exit_code;
}
