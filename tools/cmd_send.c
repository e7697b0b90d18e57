// SPDX-License-Identifier: GPL-3.0-or-later
// warprack send: sends an OSC message, or a bundle, to a running server and prints the replies.

#include "commands.h"
#include "options.h"
#include "talk.h"

#include "control/commands.h"
#include "control/control.h"
#include "engine/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR "," // word between two messages of a bundle
#define CHECK     "/rack/check"

static int send_run(int argc, char** argv);

const Command cmd_send = {
  .name = "send",
  .usage = "[options] ADDRESS [ARG ...] [" SEPARATOR " ADDRESS [ARG ...]] ...",
  .summary = "Send an OSC message or a bundle to a running server; print the answers",
  .run = send_run,
};

/// One message to send.
typedef struct Request {
  const char* address;
  char** words; ///< [n_words] arguments as typed
  uint32_t n_words;
  bool is_open; ///< Its reply may come after that of the ping, and has not come yet
} Request;

typedef struct SendArgs {
  bool json;
  bool is_bundle;
  TalkArgs talk;
  const char* types;
  Request* requests; ///< [n_requests], at least one
  uint32_t n_requests;
} SendArgs;

/// The replies received so far.  A ping follows the messages.  When its reply comes, all queries
/// are answered; an edit has one reply, before or after it.
typedef struct Answers {
  json_t* json; ///< With --json: an object for /server/..., else an array
  bool has_failed;
  uint32_t n_pings; ///< Number of expected replies to pings: to pings among the messages, then to
                    ///< the final ping
} Answers;

// ---- the message ----

/// Of a function of liblo that adds an argument.
static Status
status_of_add(const int result)
{
  return result == 0 ? STATUS_OK : STATUS_NO_MEM;
}

static Status
add_integer(const lo_message message, const char* const word, const bool is_wide)
{
  char* end = NULL;
  errno = 0;
  const long long value = strtoll(word, &end, 10);
  if (end == word || *end || errno || (!is_wide && value != (int32_t)value)) {
    return STATUS_BAD_ARG;
  }
  return status_of_add(is_wide ? lo_message_add_int64(message, value)
                               : lo_message_add_int32(message, (int32_t)value));
}

static Status
add_number(const lo_message message, const char* const word, const bool is_wide)
{
  char* end = NULL;
  const double value = strtod(word, &end);
  if (end == word || *end) {
    return STATUS_BAD_ARG;
  }
  return status_of_add(is_wide ? lo_message_add_double(message, value)
                               : lo_message_add_float(message, (float)value));
}

/// Add one word as the given type; STATUS_BAD_ARG if it does not fit that type.
static Status
add_typed(const lo_message message, const char type, const char* const word)
{
  switch (type) {
  case 'i':
  case 'h':
    return add_integer(message, word, type == 'h');
  case 'f':
  case 'd':
    return add_number(message, word, type == 'd');
  case 's':
    return status_of_add(lo_message_add_string(message, word));
  default:
    return STATUS_BAD_ARG;
  }
}

/// Without --types, unless the command takes a string there: whole numbers become i or h, other
/// numbers f, all else s.
static Status
add_guessed(const lo_message message, const char* const word)
{
  const bool looks_like_number = strspn(word, "+-.0123456789eE") == strlen(word);
  Status status = STATUS_BAD_ARG;
  for (const char* type = looks_like_number ? "ihfs" : "s"; *type && status == STATUS_BAD_ARG;
       ++type) {
    status = add_typed(message, *type, word);
  }
  return status;
}

/// Add all words by the letters of `types`; T and F use no word.
static Status
add_by_types(const char* const types, const Request* const request, const lo_message message)
{
  uint32_t w = 0;
  for (const char* type = types; *type; ++type) {
    Status status = STATUS_BAD_ARG;
    if (*type == 'T' || *type == 'F') {
      status = status_of_add(*type == 'T' ? lo_message_add_true(message)
                                          : lo_message_add_false(message));
    } else if (w < request->n_words) {
      status = add_typed(message, *type, request->words[w++]);
    }
    if (status) {
      return status;
    }
  }
  return w == request->n_words ? STATUS_OK : STATUS_BAD_ARG;
}

/// Add the arguments of a message; STATUS_BAD_ARG if they do not fit `types`.
static Status
add_words(const char* const types, const Request* const request, const lo_message message)
{
  if (types) {
    return add_by_types(types, request, message);
  }
  Status status = STATUS_OK;
  for (uint32_t w = 0; w < request->n_words && !status; ++w) {
    const bool is_text = command_letter(request->address, w) == 's';
    status = is_text ? add_typed(message, 's', request->words[w])
                     : add_guessed(message, request->words[w]);
  }
  return status;
}

/// Record whether the reply to a message may come after that of a later ping: if it changes
/// something, waits for a change, or for a check.
static Status
note_wait(Request* const request, const lo_message arguments)
{
  size_t n_bytes = 0;
  uint32_t n_messages = 0;
  Message message;
  void* const packet = lo_message_serialise(arguments, request->address, NULL, &n_bytes);
  Status status = packet ? STATUS_OK : STATUS_NO_MEM;
  if (packet && !packet_check(packet, n_bytes, instant_now().ntp, &n_messages)) {
    status = message_read(&message, packet, n_bytes);
  }
  if (!status && n_messages) {
    const CommandInfo* info = NULL;
    Error ignored;
    request->is_open = !command_find(&message, &info, &ignored) &&
                       (info->kind != COMMAND_NOW || !strcmp(info->address, CHECK));
    message_clear(&message);
  }
  free(packet);
  return status;
}

/// Append a message to a bundle, which then owns it.
static Status
add_request(const char* const types, Request* const request, const lo_bundle bundle)
{
  const lo_message message = lo_message_new();
  if (!message || lo_bundle_add_message(bundle, request->address, message) != 0) {
    lo_message_free(message);
    return STATUS_NO_MEM;
  }
  const Status status = add_words(types, request, message);
  return status ? status : note_wait(request, message);
}

/// Append all messages to a bundle.
static Status
add_requests(const SendArgs* const args, const lo_bundle bundle, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t r = 0; r < args->n_requests && !status; ++r) {
    status = add_request(args->types, &args->requests[r], bundle);
  }
  if (status == STATUS_BAD_ARG) {
    return error_set(error, status,
                     "--types %s does not fit the arguments; one letter for each of them (i h f d "
                     "s), T or F for none",
                     args->types);
  }
  return status ? error_set(error, status, "out of memory") : STATUS_OK;
}

/// Send the message, or all messages as a bundle, then a ping.
static Status
send_all(const SendArgs* const args, Talk* const talk, Error* const error)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  Status status =
      bundle ? add_requests(args, bundle, error) : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    const char* address = NULL;
    const lo_message message = lo_bundle_get_message(bundle, 0, &address);
    size_t n_bytes = 0;
    void* const packet = args->is_bundle ? lo_bundle_serialise(bundle, NULL, &n_bytes)
                                         : lo_message_serialise(message, address, NULL, &n_bytes);
    status = talk_send(talk, args->is_bundle ? "bundle" : address, packet, n_bytes, error);
  }
  if (bundle) {
    lo_bundle_free_recursive(bundle);
  }
  return status ? status : talk_ask(talk, "/server/ping", error);
}

// ---- replies ----

static json_t*
answer_json(const char* const address, const lo_message message)
{
  json_t* const arguments = json_array();
  const char* const types = lo_message_get_types(message);
  for (int i = 0; i < lo_message_get_argc(message); ++i) {
    json_array_append_new(arguments, talk_argument(message, i));
  }
  return json_pack("{ss ss so}", "address", address, "types", types, "arguments", arguments);
}

/// Replace terminal control characters; a tab stays.
static void
make_printable(char* const line)
{
  char* rest = line;
  for (char* field = NULL; (field = strsep(&rest, "\t"));) {
    text_make_printable(field);
    if (rest) {
      rest[-1] = '\t';
    }
  }
}

/// Print each line of a text, without terminal control characters.
static void
print_lines(const char* const text)
{
  char* const copy = strdup(text);
  char* rest = copy;
  for (char* line = NULL; (line = strsep(&rest, "\n"));) {
    make_printable(line);
    printf("%s%s", line, rest ? "\n" : "");
  }
  free(copy);
}

/// Print a reply, for example `/done sih "/rack/add" 1 640`; texts keep their lines.
static void
print_answer(const char* const address, const lo_message message)
{
  const char* const types = lo_message_get_types(message);
  printf("%s %s", address, types);
  for (int i = 0; i < lo_message_get_argc(message); ++i) {
    json_t* const value = types[i] == 's' ? NULL : talk_argument(message, i);
    if (types[i] == 's') {
      printf(" \"");
      print_lines((const char*)lo_message_get_argv(message)[i]);
      putchar('"');
    } else if (json_is_real(value)) {
      printf(" %g", json_real_value(value));
    } else if (json_is_integer(value)) {
      printf(" %lld", (long long)json_integer_value(value));
    } else if (types[i] == 'f' || types[i] == 'd') {
      printf(" inf"); // JSON has no infinity
    }
    json_decref(value); // the type letter of true, false and nil is their value
  }
  putchar('\n');
}

static const char*
first_text(const lo_message message)
{
  return lo_message_get_types(message)[0] == 's' ? (const char*)lo_message_get_argv(message)[0]
                                                 : "";
}

/// Close the open request with this address.  "": the server has refused the whole packet.
static void
close_request(const SendArgs* const args, const char* const address)
{
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    Request* const request = &args->requests[r];
    if (request->is_open && (!*address || !strcmp(request->address, address))) {
      request->is_open = false;
      if (*address) {
        return;
      }
    }
  }
}

static bool
is_waiting(const SendArgs* const args, const Answers* const answers)
{
  bool is_open = answers->n_pings > 0;
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    is_open = is_open || args->requests[r].is_open;
  }
  return is_open;
}

static void
take_answer(const SendArgs* const args, Answers* const answers, const char* const address,
            const lo_message message)
{
  const bool is_done = !strcmp(address, "/done");
  const bool is_fail = !strcmp(address, "/fail");
  if (is_done && !strcmp(first_text(message), "/server/ping") && --answers->n_pings == 0) {
    return;
  }
  if (is_done || is_fail) {
    close_request(args, first_text(message));
  } else if (!strcmp(address, "/server/synced")) {
    close_request(args, "/server/sync");
  } else if (!strcmp(address, CHECK)) {
    close_request(args, CHECK);
  }
  answers->has_failed = answers->has_failed || is_fail;
  if (json_is_object(answers->json)) {
    talk_describe(answers->json, address, message);
  } else if (answers->json) {
    json_array_append_new(answers->json, answer_json(address, message));
  } else {
    print_answer(address, message);
  }
}

/// Wait for one message and process it.
static Status
receive(const SendArgs* const args, Talk* const talk, Answers* const answers, Error* const error)
{
  const char* address = NULL;
  lo_message message = NULL;
  const Status status = talk_receive(talk, &address, &message, error);
  if (!status) {
    take_answer(args, answers, address, message);
    lo_message_free(message);
  }
  return status;
}

static Answers
answers_new(const SendArgs* const args)
{
  const bool is_about_server =
      !args->is_bundle && !strncmp(args->requests[0].address, "/server/", 8);
  Answers answers = { .n_pings = 1 };
  if (args->json) {
    answers.json = is_about_server ? json_object() : json_array();
  }
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    answers.n_pings += !strcmp(args->requests[r].address, "/server/ping");
  }
  return answers;
}

static int
talk_to_server(const SendArgs* const args)
{
  static Talk talk; // static, because it is large
  Error error = { STATUS_OK, "" };
  Answers answers = answers_new(args);
  Status status = talk_open(&talk, &args->talk, &error);
  status = status ? status : send_all(args, &talk, &error);
  while (!status && is_waiting(args, &answers)) {
    status = receive(args, &talk, &answers, &error);
  }
  talk_close(&talk);
  const int exit_code = args->json ? command_print_json(&cmd_send, answers.json) : 0;
  if (status) {
    return command_fail(&cmd_send, &error);
  }
  return answers.has_failed ? status_exit_code(STATUS_BAD_ARG) : exit_code;
}

/// Split the words into one message, or the messages of a bundle.  Sets *wrong to an invalid
/// address.
static void
read_requests(SendArgs* const args, const Operands* const operands, const char** const wrong)
{
  Request* request = NULL;
  *wrong = NULL;
  for (uint32_t w = 0; w < operands->n; ++w) {
    char* const word = operands->words[w];
    if (request && args->is_bundle && !strcmp(word, SEPARATOR)) {
      request = NULL;
    } else if (request) {
      ++request->n_words;
    } else {
      request = &args->requests[args->n_requests++];
      *request = (Request){ .address = word, .words = operands->words + w + 1 };
      *wrong = *wrong || word[0] == '/' ? *wrong : word;
    }
  }
  *wrong = *wrong || request ? *wrong : "";
}

/// The first argument that is an address of the server, except a pattern of /server/describe; NULL
/// if there is none.
static const char*
find_address(const SendArgs* const args)
{
  static const char* const beginnings[] = { "/rack/", "/node/", "/server/" };
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    const bool takes_patterns = !strcmp(args->requests[r].address, "/server/describe");
    for (uint32_t w = 0; w < args->requests[r].n_words && !takes_patterns; ++w) {
      const char* const word = args->requests[r].words[w];
      for (uint32_t b = 0; b < ARRAY_LEN(beginnings); ++b) {
        if (!strncmp(word, beginnings[b], strlen(beginnings[b]))) {
          return word;
        }
      }
    }
  }
  return NULL;
}

/// Send the requests unless a word is in the wrong place.
static int
check_and_talk(const SendArgs* const args, const char* const wrong)
{
  const char* const address = find_address(args);
  if (wrong) {
    return command_misused(&cmd_send, "\"%s\" is not an OSC address; addresses begin with \"/\"%s",
                           wrong, address ? "; --host and --osc-port set the server" : "");
  }
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    if (strchr(args->requests[r].address, ' ')) {
      return command_misused(&cmd_send,
                             "\"%s\": write the address and its arguments as separate words",
                             args->requests[r].address);
    }
  }
  if (address) {
    return command_misused(&cmd_send,
                           "\"%s\" begins another message; several messages need --bundle, and a "
                           "separate word \"" SEPARATOR "\" between them",
                           address);
  }
  return talk_to_server(args);
}

static int
send_run(const int argc, char** const argv)
{
  SendArgs args = { .talk = TALK_DEFAULTS };
  // clang-format off
  const Option table[] = {
    { "bundle", 'b', OPTION_FLAG,            .to.flag = &args.is_bundle, .help = "Send all messages, with a word \"" SEPARATOR "\" between them, as one bundle: all or none" },
    { "json",   'j', OPTION_FLAG,            .to.flag = &args.json,      .help = "Print the answers as one JSON array; for /server/... as an object" },
    TALK_OPTIONS(&args.talk),
    { "types",  0,   OPTION_TEXT, "LETTERS", .to.text = &args.types,     .help = "OSC types of the arguments (ihfdsTF), default by their form" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1,
                                .max_operands = UINT32_MAX };
  Operands operands;
  if (!options_parse(&cmd_send, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  if (args.is_bundle && args.types) {
    return command_misused(&cmd_send, "--types is for one message");
  }
  args.requests = calloc(operands.n, sizeof(Request));
  if (!args.requests) {
    return command_fail(&cmd_send, &(Error){ STATUS_NO_MEM, "" });
  }
  const char* wrong = NULL;
  read_requests(&args, &operands, &wrong);
  const int exit_code = check_and_talk(&args, wrong);
  free(args.requests);
  return exit_code;
}
