// SPDX-License-Identifier: GPL-3.0-or-later
// Each packet of data/packets.txt, sent to a server over UDP: bad packets are refused, reported
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

/// The packets; their time tags count from `ahead` units of a tag after the present.
static OscCorpus
read_corpus(const uint64_t ahead)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/packets.txt", getenv("WARPRACK_TEST_DATA"));
  return osc_corpus_read(path, instant_now().ntp + ahead);
}

static double
n_refused(const PacketFault reason)
{
  char key[64];
  snprintf(key, sizeof(key), "refused_%s", packet_fault_word(reason));
  return control_rig_status(key);
}

TEST(each_bad_packet_is_answered_and_counted_with_its_reason)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus(0);
  uint32_t n_sent[PACKET_N_FAULTS] = { 0 };
  for (uint32_t i = 0; i < corpus.n; ++i) {
    if (corpus.packets[i].reason == PACKET_TIME_FAR) { // make the tag now, not when the test began
      osc_corpus_clear(&corpus);
      corpus = read_corpus(TAG_SECOND / 10U * 9U); // less than 1 s: one tag is 2^31 - 1 s ahead
    }
    const OscPacket* const packet = &corpus.packets[i];
    if (packet->reason == PACKET_OK || packet->n_bytes > MAX_DATAGRAM) {
      continue;
    }
    client_send_bytes(rig.other, packet->bytes, packet->n_bytes);
    char expected[200];
    snprintf(expected, sizeof(expected), "/fail  1 packet refused: %s",
             packet_fault_text(packet->reason));
    ck_assert_msg(strcmp(client_receive(rig.other), expected) == 0,
                  "packets.txt:%u: \"%s\", not \"%s\"", packet->line, rig.other->answer, expected);
    ++n_sent[packet->reason];
  }
  for (int reason = PACKET_OK + 1; reason < PACKET_N_FAULTS; ++reason) {
    ck_assert_uint_gt(n_sent[reason], 0);
    ck_assert_double_eq(n_refused((PacketFault)reason), n_sent[reason]);
  }
  ck_assert_double_eq(control_rig_status("osc_dropped"), 0.0);
  ck_assert_double_eq(control_rig_status("osc_lost"), 0.0);
  control_rig_expect_rack("lowcut");
}

TEST(each_good_packet_is_accepted)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus(0);
  uint32_t n_packets = 0;
  uint32_t n_messages = 0;
  for (uint32_t i = 0; i < corpus.n; ++i) {
    const OscPacket* const packet = &corpus.packets[i];
    uint32_t n = 0;
    if (packet_check(packet->bytes, packet->n_bytes, instant_now().ntp, &n) == PACKET_OK) {
      client_send_bytes(rig.other, packet->bytes, packet->n_bytes);
      ++n_packets;
      n_messages += n;
    }
  }
  double n_asked = 0.0;
  double n_received = 0.0;
  while (n_received < n_messages) { // a packet that is lost ends this by the test's time limit
    ++n_asked;
    n_received = control_rig_status("osc_messages") - n_asked;
  }
  ck_assert_double_eq(n_received, n_messages);
  ck_assert_double_eq(control_rig_status("osc_packets"), n_packets + n_asked + 1.0);
  ck_assert_double_eq(control_rig_status("osc_late"), 1.0);
  ck_assert_double_eq(control_rig_status("osc_scheduled"), 1.0);
  for (int reason = PACKET_OK + 1; reason < PACKET_N_FAULTS; ++reason) {
    ck_assert_double_eq(n_refused((PacketFault)reason), 0.0);
  }
  ck_assert_double_eq(control_rig_status("osc_dropped"), 0.0);
}

/// Replace the rack by a chain of `n` effects.
static void
make_rack(const uint32_t n)
{
  char rack[4096] = "gain";
  for (uint32_t i = 1; i < n; ++i) {
    strcat(rack, " | gain");
  }
  client_ask(rig.other, "/done /rack/chain*", "/rack/chain", "s", rack);
}

/// Keep the server's thread until rig.hold is false: until then packets only arrive.
static void
hold_server(void)
{
  rig.hold = true;
  AWAIT(rig.is_held); // it asks for the audio state four times a second
}

TEST(slow_queries_do_not_delay_other_senders)
{
  enum { N_NODES = 500, N_QUESTIONS = 2000 };
  make_rack(N_NODES);
  hold_server();
  for (uint32_t n = 0; n < N_QUESTIONS; ++n) {
    client_send(rig.other, "/rack/get", "");
  }
  rig.hold = false;
  client_expect(rig.other, "/rack/get*"); // all the others stand in a queue now
  ck_assert_double_lt(control_rig_status("osc_messages"), N_QUESTIONS);
}

enum { N_READS = 1024, N_READ_NODES = 40 };

static const struct {
  const char* address;
  uint32_t n_answers;
} reads[] = {
  { "/rack/get", 1 },
  { "/server/nodes", 1 },
  { "/node/*/*", N_READ_NODES },
};

/// rig.client has sent nothing before, so its message is next when the first turn of rig.other
/// ends.  A turn is 0.1 ms, and to send an answer takes more than 1 us: far fewer than 256 answers
/// leave in a turn, and 1,024 or more if the server handles the bundle as a whole.
TEST_ROWS(the_next_sender_is_served_between_two_reads_of_one_packet, reads)
{
  make_rack(N_READ_NODES);
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  for (uint32_t n = 0; n < N_READS; ++n) {
    bundle_add(bundle, reads[row].address, "");
  }
  hold_server();
  client_send_bundle(rig.other, bundle);
  client_send(rig.client, "/server/status", "");
  rig.hold = false;
  const double n_sent = control_rig_number(client_receive(rig.client), "osc_sent");
  ck_assert_double_lt(n_sent, N_READS / 4);

  // Then each read is answered, and only once.
  const double n_all = 1.0 + (double)N_READS * reads[row].n_answers; // with that of /rack/chain
  double n_asked = 1.0;
  while (control_rig_status("osc_sent") - n_asked < n_all) {
    ++n_asked;
  }
  ck_assert_double_eq(control_rig_status("osc_sent") - n_asked - 1.0, n_all);
  ck_assert_double_eq(control_rig_status("osc_send_failed"), 0.0);
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
  assert_says(error.text, "--osc-allow");
  ck_assert_int_eq(try_to_bind("0.0.0.0", "192.0.2.1", &error), STATUS_OK);
  ck_assert_int_eq(try_to_bind("127.0.0.2", NULL, &error), STATUS_OK);
}

SUITE_MAIN_WITH("osc_packets", control_rig_start, control_rig_stop)
