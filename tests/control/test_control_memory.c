// SPDX-License-Identifier: GPL-3.0-or-later
// When memory runs out, a reply is sent with all its arguments or not at all, and a packet is read
// as a whole or not at all.

#include "control/clients.h"
#include "control/control_private.h"
#include "control/queries.h"
#include "tests/support/control_rig.h"
#include "tests/support/failing_lo.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
tell_audio(void* const context, ControlAudio* const audio)
{
  (void)context;
  *audio = (ControlAudio){ .driver = "dummy", .state = "running", .device = "none" };
}

static Control control;
static int receiver;
static const Peer peer = { .n_bytes = 0 }; // without an address: the other end of the socket pair
static Message message = { .address = "/a/message", .n_bytes = 60000 };

static void
start(void)
{
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
  Rack* const rack = rack_new();
  control.outlet.socket = pair[0];
  control.outlet.outbox = outbox_new();
  control.intake.sockets[0] = -1;
  clients_init(&control);
  control.config = (ControlConfig){ .engine = fake_engine_new(), .audio = tell_audio };
  const EditorConfig config = { .engine = control.config.engine };
  OK(editor_new(&config, rack, &control.editor, &error));
  rack_free(rack);
  receiver = pair[1];
}

static void
stop(void)
{
  editor_free(control.editor);
  fake_engine_free(control.config.engine);
  outbox_free(control.outlet.outbox);
  close(control.outlet.socket);
  close(receiver);
}

/// Send an answer while the first call of liblo fails, then while the second one fails, and so on:
/// only the answer that is complete may be sent.
static void
expect_whole_answers(void (*const send_answer)(void), const uint32_t n_arguments)
{
  static char packet[65536];
  uint32_t n_good = 0;
  for (;; ++n_good) {
    failing_lo_arm(n_good);
    send_answer();
    outlet_flush(&control.outlet);
    if (!failing_lo_disarm()) {
      break;
    }
    ck_assert_msg(recv(receiver, packet, sizeof(packet), 0) < 0,
                  "an answer was sent after call %u had failed: %s", n_good, packet);
    ck_assert_uint_eq(control.outlet.failed, n_good + 1U);
  }
  ck_assert_int_gt(recv(receiver, packet, sizeof(packet), 0), 0);
  const char* const types = packet + (strlen(packet) & ~3UL) + 4U;
  ck_assert_uint_ge(strlen(types), 1U + n_arguments);
  ck_assert_uint_eq(n_good, 1U + strlen(types)); // one more creates, one serialises it
  control.outlet.failed = 0;
}

static void
send_done(void)
{
  outlet_done_edit(&control.outlet, &peer, &message, 7, 640, NULL);
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

TEST(an_answer_is_sent_with_all_its_arguments_or_not_at_all)
{
  start();
  expect_whole_answers(send_done, 3);
  expect_whole_answers(send_failure, 3);
  expect_whole_answers(send_status, 150);
  stop();
}

TEST(a_packet_is_read_as_a_whole_or_not_at_all)
{
  const lo_bundle inner = lo_bundle_new(LO_TT_IMMEDIATE);
  const lo_bundle outer = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(inner, "/rack/remove", "s", "b");
  bundle_add(outer, "/rack/remove", "s", "a");
  bundle_add(outer, "/rack/undo", "");
  ck_assert_int_eq(lo_bundle_add_bundle(outer, inner), 0);
  uint8_t packet[256] = { 0 };
  size_t n_bytes = 0;
  ck_assert_uint_le(lo_bundle_length(outer), sizeof(packet) - 8U);
  lo_bundle_serialise(outer, packet, &n_bytes);
  lo_bundle_free_recursive(outer);
  const Instant arrival = instant_now();
  const uint32_t n_allocations = 2U + 3U; // bundles and messages
  for (uint32_t n_good = 0; n_good <= n_allocations; ++n_good) {
    Bundle* bundles = NULL;
    failing_alloc_arm(n_good);
    const Status status = bundles_read(packet, n_bytes, &peer, &arrival, &bundles);
    ck_assert(failing_alloc_disarm() == (n_good < n_allocations));
    ck_assert_int_eq(status, n_good < n_allocations ? STATUS_NO_MEM : STATUS_OK);
    ck_assert(!bundles == (n_good < n_allocations));
    while (bundles) {
      Bundle* const next = bundles->next;
      bundle_free(bundles);
      bundles = next;
    }
  }
}

TEST(an_answer_that_cannot_be_made_is_counted_and_the_next_one_is_sent)
{
  control_rig_start();
  failing_lo_arm(0);
  client_send_bytes(rig.client, "/server/version\0,\0\0", 20);
  AWAIT(failing_lo_has_failed());
  failing_lo_disarm();
  ck_assert_double_eq(control_rig_status("osc_send_failed"),
                      1.0); // no answer to the question came before
  client_ask(rig.client, "/done /server/ping", "/server/ping", "");
  control_rig_stop();
}

SUITE_MAIN("control_memory")
