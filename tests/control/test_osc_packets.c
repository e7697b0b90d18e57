// SPDX-License-Identifier: GPL-3.0-or-later
// Each packet of data/packets.txt, sent to a server over UDP: bad packets are rejected, reported
// and counted with their reason, good ones are counted and answered, and the rack does not change.

#include "control/net/clock.h"
#include "tests/support/control_rig.h"
#include "tests/support/osc_corpus.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DATAGRAM 65507U // that IPv4 carries

static OscCorpus
read_corpus(void)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/packets.txt", getenv("WARPRACK_TEST_DATA"));
  return osc_corpus_read(path, instant_now().ntp);
}

static double
n_refused(const GateReason reason)
{
  char key[64];
  snprintf(key, sizeof(key), "refused_%s", gate_word(reason));
  return control_rig_status(key);
}

TEST(each_bad_packet_is_answered_and_counted_with_its_reason)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus();
  uint32_t n_sent[GATE_N_REASONS] = { 0 };
  for (uint32_t i = 0; i < corpus.n; ++i) {
    const OscPacket* const packet = &corpus.packets[i];
    if (packet->reason == GATE_OK || packet->n_bytes > MAX_DATAGRAM) {
      continue;
    }
    client_send_bytes(rig.other, packet->bytes, packet->n_bytes);
    char expected[200];
    snprintf(expected, sizeof(expected), "/fail  1 packet refused: %s", gate_text(packet->reason));
    ck_assert_msg(strcmp(client_receive(rig.other), expected) == 0,
                  "packets.txt:%u: \"%s\", not \"%s\"", packet->line, rig.other->answer, expected);
    ++n_sent[packet->reason];
  }
  for (int reason = GATE_OK + 1; reason < GATE_N_REASONS; ++reason) {
    ck_assert_uint_gt(n_sent[reason], 0);
    ck_assert_double_eq(n_refused((GateReason)reason), n_sent[reason]);
  }
  ck_assert_double_eq(control_rig_status("osc_dropped"), 0.0);
  ck_assert_double_eq(control_rig_status("osc_lost"), 0.0);
  control_rig_expect_rack("lowcut");
}

TEST(each_good_packet_is_accepted)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus();
  uint32_t n_packets = 0;
  uint32_t n_messages = 0;
  for (uint32_t i = 0; i < corpus.n; ++i) {
    const OscPacket* const packet = &corpus.packets[i];
    uint32_t n = 0;
    if (gate_check(packet->bytes, packet->n_bytes, instant_now().ntp, &n) == GATE_OK) {
      client_send_bytes(rig.other, packet->bytes, packet->n_bytes);
      ++n_packets;
      n_messages += n;
    }
  }
  double n_asked = 0.0;
  double n_heard = 0.0;
  while (n_heard < n_messages) { // a packet that is lost ends this by the test's time limit
    ++n_asked;
    n_heard = control_rig_status("osc_messages") - n_asked;
  }
  ck_assert_double_eq(n_heard, n_messages);
  ck_assert_double_eq(control_rig_status("osc_packets"), n_packets + n_asked + 1.0);
  ck_assert_double_eq(control_rig_status("osc_late"), 1.0);
  ck_assert_double_eq(control_rig_status("osc_scheduled"), 1.0);
  for (int reason = GATE_OK + 1; reason < GATE_N_REASONS; ++reason) {
    ck_assert_double_eq(n_refused((GateReason)reason), 0.0);
  }
  ck_assert_double_eq(control_rig_status("osc_dropped"), 0.0);
}

TEST(slow_queries_do_not_delay_other_senders)
{
  enum { N_NODES = 500, N_QUESTIONS = 2000 };
  char rack[8 * N_NODES] = "gain";
  for (uint32_t n = 1; n < N_NODES; ++n) {
    strcat(rack, " | gain");
  }
  client_ask(rig.client, "/done /rack/chain*", "/rack/chain", "s", rack);
  rig.hold = true;
  while (!rig.is_held) { // it asks four times a second
    usleep(1000);
  }
  for (uint32_t n = 0; n < N_QUESTIONS; ++n) {
    client_send(rig.other, "/rack/get", "");
  }
  rig.hold = false;
  client_expect(rig.other, "/rack/get*"); // all the others stand in a queue now
  ck_assert_double_lt(control_rig_status("osc_messages"), N_QUESTIONS);
}

static void
fill_nothing(void* const context, ControlAudio* const audio)
{
  (void)context;
  *audio = (ControlAudio){ .driver = "dummy" };
}

/// Try to listen on an address.
static Status
try_to_bind(const char* const address, const char* const list, Error* const error)
{
  Engine* const engine = fake_engine_new();
  Allow allow = { .n_rules = 0 };
  ck_assert(!list || allow_read(&allow, list, error) == STATUS_OK);
  const ControlConfig config = { .engine = engine,
                                 .bind_address = address,
                                 .allow = list ? &allow : NULL,
                                 .context = &rig,
                                 .audio = fill_nothing };
  Rack* const rack = rack_new();
  Control* control = NULL;
  const Status status = control_start(&config, rack, &control, error);
  control_stop(control);
  rack_free(rack);
  fake_engine_free(engine);
  return status;
}

TEST(an_address_that_others_can_reach_needs_a_list)
{
  Error error;
  ck_assert_int_eq(try_to_bind("0.0.0.0", NULL, &error), STATUS_BAD_ARG);
  ck_assert_ptr_nonnull(strstr(error.text, "--osc-allow"));
  ck_assert_int_eq(try_to_bind("0.0.0.0", "192.0.2.1", &error), STATUS_OK);
  ck_assert_int_eq(try_to_bind("127.0.0.2", NULL, &error), STATUS_OK);
}

SUITE_MAIN_WITH("osc_packets", control_rig_start, control_rig_stop)
