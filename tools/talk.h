// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Exchanges OSC packets with a running server over UDP or TCP, until a timeout, for `send` and
   `status`.  All functions [main].
*/
#ifndef WARPRACK_TOOLS_TALK_H
#define WARPRACK_TOOLS_TALK_H

#include "engine/base/status.h"

#include <jansson.h>
#include <lo/lo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The server, and the timeout.
typedef struct TalkArgs {
  const char* host; ///< Name or numeric address
  int64_t port;
  double timeout_s;
  bool is_tcp;
} TalkArgs;

#define TALK_DEFAULTS                                                                              \
  {                                                                                                \
    .host = "127.0.0.1", .port = CONTROL_DEFAULT_PORT, .timeout_s = 5.0                            \
  }

/// The rows of an option table that fill `args`, which starts as TALK_DEFAULTS.
#define TALK_OPTIONS(args)                                                                         \
  { "host",                                                                                        \
    0,                                                                                             \
    OPTION_TEXT,                                                                                   \
    "ADDRESS",                                                                                     \
    .help = "Address of the server, default 127.0.0.1, this machine",                              \
    .to.text = &(args)->host },                                                                    \
      { "osc-port",                                                                                \
        'p',                                                                                       \
        OPTION_INTEGER,                                                                            \
        "N",                                                                                       \
        1,                                                                                         \
        65535,                                                                                     \
        .help = "The server's UDP and TCP port, default 9770",                                     \
        .to.integer = &(args)->port },                                                             \
      { "tcp", 0, OPTION_FLAG,                                                                     \
        .help = "Use a TCP connection instead of UDP: no part of a long answer is lost",           \
        .to.flag = &(args)->is_tcp },                                                              \
  {                                                                                                \
    "timeout", 't', OPTION_NUMBER, "S", 0.01, 3600, .help = "Seconds to wait, default 5",          \
                                                    .to.number = &(args)->timeout_s                \
  }

#define TALK_MAX_PACKET 65536U

typedef struct Talk {
  const TalkArgs* args; ///< Borrowed until talk_close()
  int fd;
  uint64_t limit_ns;
  bool is_here;                         ///< The server runs on this machine
  size_t n_bytes, next;                 ///< Size of the last packet, and of its part that is read
  uint8_t packet[TALK_MAX_PACKET + 8U]; ///< The last packet received
} Talk;

/// Open the socket and start the timeout.  Call talk_close() also on an error.
NODISCARD Status talk_open(Talk* talk, const TalkArgs* args, Error* error);

void talk_close(Talk* talk);

/// Send a packet, which this function frees; NULL: out of memory.  `name` is for messages.
NODISCARD Status talk_send(Talk* talk, const char* name, void* packet, size_t n_bytes,
                           Error* error);

/// Send a message without arguments.
NODISCARD Status talk_ask(Talk* talk, const char* address, Error* error);

/// Wait for the next message.  `*address` is borrowed until the next call; free the message with
/// lo_message_free().
NODISCARD Status talk_receive(Talk* talk, const char** address, lo_message* message, Error* error);

/// One argument of a message.
json_t* talk_argument(lo_message message, int index);

/// Add the arguments of a reply to an object, with the names in control/OSC.md.  A reply in
/// several parts is joined.
void talk_describe(json_t* object, const char* address, lo_message message);

#endif
