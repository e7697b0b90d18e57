// SPDX-License-Identifier: GPL-3.0-or-later
// warprack send: an OSC message, or a bundle of them, to a running server, and what it answers.

#include "commands.h"
#include "options.h"

#include "../control/clock.h"
#include "../control/commands.h"
#include "../control/control.h"
#include "../control/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <lo/lo.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_PACKET_BYTES 65536U
#define SEPARATOR        "," // a word between two messages of a bundle

static int send_run(int argc, char** argv);

const Command cmd_send = {
  .name = "send",
  .usage = "[options] ADDRESS [ARG ...] [" SEPARATOR " ADDRESS [ARG ...]] ...",
  .summary = "Send an OSC message or a bundle to a running server; print the answers",
  .run = send_run,
};

/// One message to be sent.
typedef struct Request {
  const char* address;
  char** words; ///< [n_words] arguments as typed
  uint32_t n_words;
  bool is_open; ///< Its one answer may come after the ping's, and has not come yet
} Request;

typedef struct SendArgs {
  bool json;
  bool is_bundle;
  int64_t port;
  double timeout_s;
  const char* types;
  Request* requests; ///< [n_requests], at least one
  uint32_t n_requests;
} SendArgs;

/// A conversation with the server.  A ping follows the messages: everything that reads answer has
/// come when the ping is answered; an edit has one answer, before or after it.
typedef struct Talk {
  int fd;
  json_t* answers; ///< With --json
  bool has_failed;
  uint32_t n_pings; ///< Answers to pings still to come: our own, after those of the messages
  uint8_t packet[MAX_PACKET_BYTES + 8U];
} Talk;

// ---- the message ----

static bool
add_integer(const lo_message message, const char* const word, const bool is_wide)
{
  char* end = NULL;
  errno = 0;
  const long long value = strtoll(word, &end, 10);
  if (end == word || *end || errno || (!is_wide && value != (int32_t)value)) {
    return false;
  }
  return (is_wide ? lo_message_add_int64(message, value)
                  : lo_message_add_int32(message, (int32_t)value)) == 0;
}

static bool
add_number(const lo_message message, const char* const word, const bool is_wide)
{
  char* end = NULL;
  const double value = strtod(word, &end);
  if (end == word || *end) {
    return false;
  }
  return (is_wide ? lo_message_add_double(message, value)
                  : lo_message_add_float(message, (float)value)) == 0;
}

/// Add one word as a type; false when it is not of that type.
static bool
add_typed(const lo_message message, const char type, const char* const word)
{
  switch (type) {
  case 'i':
  case 'h':
    return add_integer(message, word, type == 'h');
  case 'f':
  case 'd':
    return add_number(message, word, type == 'd');
  default:
    return type == 's' && lo_message_add_string(message, word) == 0;
  }
}

/// Without --types: whole numbers are i or h, other numbers f, all else is s.
static bool
add_guessed(const lo_message message, const char* const word)
{
  const bool looks_like_number = strspn(word, "+-.0123456789eE") == strlen(word);
  return (looks_like_number && (add_typed(message, 'i', word) || add_typed(message, 'h', word) ||
                                add_typed(message, 'f', word))) ||
         add_typed(message, 's', word);
}

/// Add all words as `types` says; T and F take none.
static bool
add_by_types(const char* const types, const Request* const request, const lo_message message)
{
  uint32_t w = 0;
  for (const char* type = types; *type; ++type) {
    if (*type == 'T' || *type == 'F') {
      if (*type == 'T' ? lo_message_add_true(message) : lo_message_add_false(message)) {
        return false;
      }
    } else if (w == request->n_words || !add_typed(message, *type, request->words[w++])) {
      return false;
    }
  }
  return w == request->n_words;
}

static bool
add_words(const char* const types, const Request* const request, const lo_message message)
{
  if (types) {
    return add_by_types(types, request, message);
  }
  for (uint32_t w = 0; w < request->n_words; ++w) {
    if (!add_guessed(message, request->words[w])) {
      return false;
    }
  }
  return true;
}

static Status
say_nobody(const SendArgs* const args, Error* const error)
{
  return error_set(error, STATUS_NET,
                   "nobody listens on 127.0.0.1, UDP port %lld; start `warprack run`, or name its "
                   "port with --osc-port",
                   (long long)args->port);
}

/// Send a packet, which is freed; NULL: out of memory.  `name` is for messages.
static Status
send_packet(const SendArgs* const args, const int fd, const char* const name, void* const packet,
            const size_t n_bytes, Error* const error)
{
  if (!packet) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  uint32_t n_messages = 0;
  const GateReason reason = gate_check(packet, n_bytes, instant_now().ntp, &n_messages);
  Status status = STATUS_OK;
  if (reason != GATE_OK) {
    status = error_set(error, STATUS_BAD_ARG, "%.200s: %s", name, gate_text(reason));
  } else if (send(fd, packet, n_bytes, 0) < 0) {
    status = say_nobody(args, error); // also what became of the packet before
  }
  free(packet);
  return status;
}

static Status
send_ping(const SendArgs* const args, const int fd, Error* const error)
{
  size_t n_bytes = 0;
  const lo_message ping = lo_message_new();
  void* const packet = ping ? lo_message_serialise(ping, "/server/ping", NULL, &n_bytes) : NULL;
  if (ping) {
    lo_message_free(ping);
  }
  return send_packet(args, fd, "/server/ping", packet, n_bytes, error);
}

/// Whether a message's answer may come after that of a ping behind it: it changes something, or
/// waits for what does.
static bool
may_take_time(const Request* const request, const lo_message arguments)
{
  const Message message = { .address = (char*)request->address, .arguments = arguments };
  const CommandInfo* info = NULL;
  Error ignored;
  return command_find(&message, &info, &ignored) == STATUS_OK && info->kind != COMMAND_NOW;
}

/// Append all messages to a bundle.
static Status
add_requests(const SendArgs* const args, const lo_bundle bundle, Error* const error)
{
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    Request* const request = &args->requests[r];
    const lo_message message = lo_message_new();
    if (!message || lo_bundle_add_message(bundle, request->address, message) != 0) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    if (!add_words(args->types, request, message)) {
      return error_set(error, STATUS_BAD_ARG, "the arguments do not fit the types \"%s\"",
                       args->types ? args->types : "");
    }
    request->is_open = may_take_time(request, message);
  }
  return STATUS_OK;
}

/// Send the message, or all of them as a bundle, and a ping behind.
static Status
send_all(const SendArgs* const args, const Talk* const talk, Error* const error)
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
    status =
        send_packet(args, talk->fd, args->is_bundle ? "bundle" : address, packet, n_bytes, error);
  }
  if (bundle) {
    lo_bundle_free_recursive(bundle);
  }
  return status ? status : send_ping(args, talk->fd, error);
}

// ---- the answers ----

/// A number as liblo decoded it; its arguments lie at multiples of 4, so they are copied.
static json_t*
argument_json(const char type, const void* const at)
{
  lo_arg value = { 0 };
  switch (type) {
  case 'i':
    memcpy(&value.i, at, sizeof(value.i));
    return json_integer(value.i);
  case 'h':
    memcpy(&value.h, at, sizeof(value.h));
    return json_integer(value.h);
  case 'f':
    memcpy(&value.f, at, sizeof(value.f));
    return json_real((double)value.f);
  case 'd':
    memcpy(&value.d, at, sizeof(value.d));
    return json_real(value.d);
  case 's':
    return command_json_text(at);
  case 'T':
  case 'F':
    return json_boolean(type == 'T');
  default:
    return json_null();
  }
}

static json_t*
answer_json(const char* const address, const lo_message message)
{
  json_t* const arguments = json_array();
  const char* const types = lo_message_get_types(message);
  for (int i = 0; i < lo_message_get_argc(message); ++i) {
    json_array_append_new(arguments, argument_json(types[i], lo_message_get_argv(message)[i]));
  }
  return json_pack("{ss ss so}", "address", address, "types", types, "arguments", arguments);
}

/// `/done sih "/rack/add" 1 640`; texts keep their lines.
static void
print_answer(const char* const address, const lo_message message)
{
  const char* const types = lo_message_get_types(message);
  printf("%s %s", address, types);
  for (int i = 0; i < lo_message_get_argc(message); ++i) {
    const void* const at = lo_message_get_argv(message)[i];
    json_t* const value = types[i] == 's' ? NULL : argument_json(types[i], at);
    if (!value) {
      printf(" \"%s\"", (const char*)at);
    } else if (json_is_real(value)) {
      printf(" %g", json_real_value(value));
    } else if (json_is_integer(value)) {
      printf(" %lld", (long long)json_integer_value(value));
    }
    json_decref(value); // true, false and nil are their type
  }
  putchar('\n');
}

static const char*
first_text(const lo_message message)
{
  return lo_message_get_types(message)[0] == 's' ? (const char*)lo_message_get_argv(message)[0]
                                                 : "";
}

/// The open message of this address has its answer; without one, the whole packet was refused.
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
is_waiting(const SendArgs* const args, const Talk* const talk)
{
  bool is_open = talk->n_pings > 0;
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    is_open = is_open || args->requests[r].is_open;
  }
  return is_open;
}

static void
take_answer(const SendArgs* const args, Talk* const talk, const char* const address,
            const lo_message message)
{
  const bool is_done = !strcmp(address, "/done");
  const bool is_fail = !strcmp(address, "/fail");
  if (is_done && !strcmp(first_text(message), "/server/ping") && --talk->n_pings == 0) {
    return;
  }
  if (is_done || is_fail) {
    close_request(args, first_text(message));
  } else if (!strcmp(address, "/server/synced")) {
    close_request(args, "/server/sync");
  }
  talk->has_failed = talk->has_failed || is_fail;
  if (args->json) {
    json_array_append_new(talk->answers, answer_json(address, message));
  } else {
    print_answer(address, message);
  }
}

/// Wait for one packet and take it.
static Status
receive(const SendArgs* const args, Talk* const talk, const uint64_t limit_ns, Error* const error)
{
  const uint64_t now_ns = instant_now().monotonic_ns;
  const int left_ms = now_ns < limit_ns ? (int)((limit_ns - now_ns) / 1000000U) + 1 : 0;
  struct pollfd fd = { talk->fd, POLLIN, 0 };
  if (poll(&fd, 1, left_ms) <= 0) {
    return error_set(error, STATUS_NET, "no answer from UDP port %lld within %g s",
                     (long long)args->port, args->timeout_s);
  }
  const ssize_t n = recv(talk->fd, talk->packet, MAX_PACKET_BYTES, 0);
  if (n < 0) {
    return say_nobody(args, error);
  }
  uint32_t n_messages = 0;
  const GateReason reason = gate_check(talk->packet, (size_t)n, instant_now().ntp, &n_messages);
  if (reason != GATE_OK || talk->packet[0] != '/') {
    return error_set(error, STATUS_NET, "what answers on port %lld is no warprack",
                     (long long)args->port);
  }
  memset(talk->packet + n, 0, 8);
  int result = 0;
  const lo_message message = lo_message_deserialise(talk->packet, (size_t)n, &result);
  if (!message) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  take_answer(args, talk, (const char*)talk->packet, message);
  lo_message_free(message);
  return STATUS_OK;
}

static Status
open_talk(const SendArgs* const args, Talk* const talk, Error* const error)
{
  const struct sockaddr_in server = { .sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)args->port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  talk->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (talk->fd < 0 || connect(talk->fd, (const struct sockaddr*)&server, sizeof(server)) != 0) {
    return error_set(error, STATUS_NET, "no socket: %s", strerror(errno));
  }
  talk->answers = json_array();
  talk->n_pings = 1;
  for (uint32_t r = 0; r < args->n_requests; ++r) {
    talk->n_pings += !strcmp(args->requests[r].address, "/server/ping");
  }
  return STATUS_OK;
}

static int
talk_to_server(const SendArgs* const args)
{
  static Talk talk; // large, and there is one
  Error error = { STATUS_OK, "" };
  const uint64_t limit_ns = instant_now().monotonic_ns + (uint64_t)(args->timeout_s * 1e9);
  Status status = open_talk(args, &talk, &error);
  status = status ? status : send_all(args, &talk, &error);
  while (!status && is_waiting(args, &talk)) {
    status = receive(args, &talk, limit_ns, &error);
  }
  if (talk.fd >= 0) {
    close(talk.fd);
  }
  const int exit_code = args->json ? command_print_json(&cmd_send, talk.answers) : 0;
  if (status) {
    return command_fail(&cmd_send, &error);
  }
  return talk.has_failed ? status_exit_code(STATUS_BAD_ARG) : exit_code;
}

/// Split words into messages: one, or those of a bundle.  An address that is none is left in
/// `*wrong`.
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

static int
send_run(const int argc, char** const argv)
{
  SendArgs args = { .port = CONTROL_DEFAULT_PORT, .timeout_s = 5.0 };
  const Option table[] = {
    { "bundle", 'b', OPTION_FLAG,
      .help =
          "Send messages with a word \"" SEPARATOR "\" between them as one bundle: all or nothing",
      .to.flag = &args.is_bundle },
    { "json", 'j', OPTION_FLAG, .help = "Print the answers as one JSON array",
      .to.flag = &args.json },
    { "osc-port", 'p', OPTION_INTEGER, "N", 1, 65535, .help = "The server's UDP port, default 9770",
      .to.integer = &args.port },
    { "timeout", 't', OPTION_NUMBER, "S", 0.01, 3600, .help = "Seconds to wait, default 5",
      .to.number = &args.timeout_s },
    { "types", 0, OPTION_TEXT, "LETTERS",
      .help = "OSC types of the arguments (ihfdsTF), instead of guessing", .to.text = &args.types },
  };
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
  const int exit_code =
      wrong ? command_misused(&cmd_send, "\"%s\" is no OSC address; they begin with \"/\"", wrong)
            : talk_to_server(&args);
  free(args.requests);
  return exit_code;
}
