// SPDX-License-Identifier: GPL-3.0-or-later
// Out of memory: a reply is sent with all its arguments, or not at all.

#include "control/control_private.h"
#include "control/queries.h"
#include "tests/support/fake_engine.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// Arguments that can be added before one fails.
static uint32_t n_good = UINT32_MAX;

static bool
fails(void)
{
  return n_good-- == 0U;
}

#define FAILING(name, type)                                                                        \
  int __real_##name(lo_message message, type value);                                               \
  int __wrap_##name(lo_message message, type value);                                               \
  int __wrap_##name(const lo_message message, type const value)                                    \
  {                                                                                                \
    return fails() ? -1 : __real_##name(message, value);                                           \
  }

FAILING(lo_message_add_string, const char*)
FAILING(lo_message_add_int32, int32_t)
FAILING(lo_message_add_int64, int64_t)
FAILING(lo_message_add_float, float)

static void
tell_audio(void* const context, ControlAudio* const audio)
{
  (void)context;
  *audio = (ControlAudio){ .driver = "dummy", .state = "running", .device = "none" };
}

static Control control;
static int receiver;
static const Peer peer = { .n_bytes = 0 }; // whoever is at the other end of the pair
static Message message = { .address = "/a/message", .n_bytes = 60000 };

static void
start(void)
{
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
  Rack* const rack = rack_new();
  Error error;
  control.outlet.socket = pair[0];
  control.intake.sockets[0] = -1;
  control.config = (ControlConfig){ .engine = fake_engine_new(), .audio = tell_audio };
  const SessionConfig config = { .engine = control.config.engine };
  ck_assert_int_eq(session_new(&config, rack, &control.session, &error), STATUS_OK);
  rack_free(rack);
  receiver = pair[1];
}

static void
stop(void)
{
  session_free(control.session);
  fake_engine_free(control.config.engine);
  close(control.outlet.socket);
  close(receiver);
}

/// Send an answer whose first argument cannot be added, then one whose second one cannot, and so
/// on: no datagram leaves before the one that is whole.
static void
expect_whole_answers(void (*const send_answer)(void), const uint32_t n_arguments)
{
  static char packet[65536];
  for (uint32_t n = 0; n < n_arguments; ++n) {
    n_good = n;
    send_answer();
    n_good = UINT32_MAX;
    ck_assert_msg(recv(receiver, packet, sizeof(packet), 0) < 0, "sent without argument %u: %s", n,
                  packet);
    ck_assert_uint_eq(control.outlet.failed, n + 1U);
  }
  send_answer();
  ck_assert_int_gt(recv(receiver, packet, sizeof(packet), 0), 0);
  const char* const types = packet + (strlen(packet) & ~3UL) + 4U;
  ck_assert_uint_eq(strlen(types), 1U + n_arguments);
  control.outlet.failed = 0;
}

static void
send_done(void)
{
  outlet_done_edit(&control.outlet, &peer, &message, 7, 640);
}

static void
send_failure(void)
{
  const Error error = { STATUS_LIMIT, "too many" };
  outlet_fail(&control.outlet, &peer, message.n_bytes, message.address, &error);
}

static void
send_status(void)
{
  ck_assert_int_eq(query_status(&control, &peer, &message, NULL), STATUS_OK);
}

/// Arguments of the status, which is a list of pairs.
static uint32_t
count_status(void)
{
  n_good = UINT32_MAX;
  send_status();
  char packet[8];
  ck_assert_int_gt(recv(receiver, packet, sizeof(packet), 0), 0);
  return UINT32_MAX - n_good;
}

TEST(an_answer_is_sent_with_all_its_arguments_or_not_at_all)
{
  start();
  expect_whole_answers(send_done, 3);
  expect_whole_answers(send_failure, 3);
  const uint32_t n_status = count_status();
  ck_assert_uint_gt(n_status, 150);
  expect_whole_answers(send_status, n_status);
  stop();
}

SUITE_MAIN("control_memory")
