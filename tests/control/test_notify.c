// SPDX-License-Identifier: GPL-3.0-or-later
// News for subscribers: who gets which, from outside; how they are merged and sent in parts.

#include "control/notify.h"
#include "tests/support/control_rig.h"
#include "tests/support/peers.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BEGIN_NS UINT64_C(1000000000)

// ---- from outside ----

TEST(changes_are_sent_to_all_subscribers_but_the_sender)
{
  client_subscribe(rig.client, "/node/vol/gain ");
  client_subscribe(rig.other, "/node/vol/gain ");
  client_send(rig.client, "/node/vol/gain", "f", -9.0);
  client_expect(rig.other, "/node/vol/gain -9");
  client_expect(rig.client, "/done /node/vol/gain");
  client_ask(rig.client, "/done /rack/clear 1 640", "/rack/clear", "");
  client_expect(rig.other, "/rack/changed 1");
  client_expect_nothing(rig.client);
  rig.audio_state = 1;
  client_expect(rig.other, "/server/audio dummy waiting");
  client_expect(rig.client, "/server/audio dummy waiting");
  fake_engine_move(rig.engine, "cpu", "the GPU has gone");
  client_expect(rig.other, "/server/backend cpu the GPU has gone");
  client_expect(rig.client, "/server/backend cpu the GPU has gone");
  fake_engine_tell_worker(rig.engine, WORKER_RESTING, 0, "killed by SIGSEGV");
  client_expect(rig.other, "/server/worker resting 0 killed by SIGSEGV");
  client_expect(rig.client, "/server/worker resting 0 killed by SIGSEGV");
  fake_engine_tell_worker(rig.engine, WORKER_RUNNING, 77, "killed by SIGSEGV");
  client_expect(rig.other, "/server/worker running 77 killed by SIGSEGV");
  client_expect(rig.client, "/server/worker running 77 killed by SIGSEGV");
  client_ask(rig.other, "/fail /server/notify 1 *", "/server/notify", "i", 2);
  client_ask(rig.other, "/done /server/notify", "/server/notify", "i", 0);
  client_ask(rig.client, "/done*", "/rack/undo", "");
  client_expect_nothing(rig.other);
}

/// The client that made the edit gets them too, because it does not know what undo, chain, rename
/// or load changed.
TEST(subscribers_get_the_values_that_an_edit_has_changed)
{
  client_subscribe(rig.other, "/node/vol/gain ");
  client_subscribe(rig.client, "/node/vol/gain ");
  client_send(rig.client, "/node/vol/gain", "f", -9.0);
  client_expect(rig.other, "/node/vol/gain -9");
  client_expect(rig.client, "/done /node/vol/gain");
  client_ask(rig.client, "/done /rack/undo 1*", "/rack/undo", "");
  client_expect(rig.client, "/node/vol/gain -6");
  client_expect(rig.other, "/rack/changed 1");
  client_expect(rig.other, "/node/vol/gain -6");
  client_ask(rig.client, "/done /rack/chain 2*", "/rack/chain", "s",
             "lowcut: highpass 95 order=4 | vol: gain -6 | d: delay note=1/8");
  client_expect(rig.other, "/rack/changed 2");
  OscClient* const both[] = { rig.client, rig.other };
  for (uint32_t c = 0; c < 2U; ++c) {
    client_expect(both[c], "/node/lowcut/frequency 95");
    client_expect(both[c], "/node/lowcut/order 4");
    client_expect(both[c], "/node/d/time 500"); // all of a node that is new
    client_expect(both[c], "/node/d/feedback 0");
    client_expect(both[c], "/node/d/pingpong 0");
    client_expect(both[c], "/node/d/note 1/8");
    client_expect_nothing(both[c]);
  }
  client_ask(rig.client, "/done /rack/rename 3*", "/rack/rename", "ss", "vol", "level");
  client_expect(rig.client, "/node/level/gain -6");
  client_expect(rig.other, "/rack/changed 3");
  client_expect(rig.other, "/node/level/gain -6");
  client_send(rig.client, "/node/lowcut/order", "i", 2); // an edit whose values its maker knows
  client_expect(rig.client, "/done /node/lowcut/order 4*");
  client_expect(rig.other, "/rack/changed 4");
  client_expect(rig.other, "/node/lowcut/order 2");
  client_expect_nothing(rig.client);
  static const char file[] = "chain lowcut: highpass 70 | level: gain -6 | end: gain -1";
  scratch_write(&rig.folder, "mine.rack", file, sizeof(file) - 1U);
  client_ask(rig.client, "/done /rack/load 5*", "/rack/load", "s", "mine.rack");
  client_expect(rig.other, "/rack/changed 5");
  for (uint32_t c = 0; c < 2U; ++c) {
    client_expect(both[c], "/node/lowcut/frequency 70");
    client_expect(both[c], "/node/end/gain -1");
    client_expect_nothing(both[c]);
  }
}

TEST(a_client_can_subscribe_another_port_of_this_machine)
{
  struct sockaddr_in address;
  socklen_t n_bytes = sizeof(address);
  ck_assert(!getsockname(rig.other->fd, (struct sockaddr*)&address, &n_bytes));
  const int port = ntohs(address.sin_port);
  client_ask(rig.client, "/done /server/notify", "/server/notify", "ii", 1, port);
  client_expect(rig.other, "/node/lowcut/frequency 80");
  while (strcmp(client_receive(rig.other), "/node/vol/gain -6") != 0) {
  }
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -9.0);
  client_expect(rig.other, "/node/vol/gain -9");
  client_ask(rig.client, "/done /server/notify", "/server/notify", "ii", 0, port);
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -8.0);
  client_expect_nothing(rig.other);
}

TEST(new_subscribers_do_not_replace_active_ones)
{
  enum { N_OTHERS = 40 };
  OscClient* others[N_OTHERS];
  client_subscribe(rig.other, "/node/vol/gain ");
  uint32_t n_refused = 0;
  for (uint32_t i = 0; i < N_OTHERS; ++i) {
    others[i] = client_new(control_port(rig.control));
    client_send(others[i], "/server/notify", "i", 1);
    n_refused += strncmp(client_receive(others[i]), "/fail /server/notify 5 32 clients", 33) == 0;
    client_send(others[i], "/server/answers", "s", "failures");
    (void)client_receive(others[i]);
  }
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -7.0);
  client_expect(rig.other, "/node/vol/gain -7");
  ck_assert_uint_eq(n_refused, 9);
  for (uint32_t i = 0; i < N_OTHERS; ++i) {
    client_free(others[i]);
  }
}

TEST(many_changes_of_one_value_are_merged_and_the_last_one_arrives)
{
  client_subscribe(rig.other, "/node/vol/gain ");
  for (int i = 1; i <= 500; ++i) {
    client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -(double)i / 10.0);
  }
  int n_told = 0;
  while (strcmp(client_receive(rig.other), "/node/vol/gain -50") != 0) {
    ck_assert_int_lt(++n_told, 400);
  }
  ck_assert_double_gt(control_rig_status("notify_merged"), 0.0);
}

/// Expect two messages, whichever comes first.
static void
expect_both(OscClient* const client, const char* const one, const char* const other)
{
  const bool is_other_first = strcmp(client_receive(client), other) == 0;
  ck_assert_str_eq(client->answer, is_other_first ? other : one);
  client_expect(client, is_other_first ? one : other);
}

TEST(a_new_latency_is_passed_on)
{
  fake_engine_hold(rig.engine, true);
  client_subscribe(rig.other, "/node/vol/gain ");
  client_send(rig.client, "/rack/clear", "");
  client_expect_nothing(rig.client);
  fake_engine_answer(rig.engine, STATUS_OK, "", 256);
  client_expect(rig.client, "/done*");
  // The latency is one block in flight, and the rack's own.  The engine has it before it answers,
  // and the server may look in between.
  expect_both(rig.other, "/rack/changed 1", "/server/latency 320");
  ck_assert_int_eq(rig.n_latency_changes, 1);
}

TEST(a_latency_that_is_seen_before_its_edit_is_answered_is_passed_on_once)
{
  fake_engine_hold(rig.engine, true);
  client_subscribe(rig.other, "/node/vol/gain ");
  client_send(rig.client, "/rack/clear", "");
  fake_engine_tell_latency(rig.engine, 256);
  client_expect(rig.other, "/server/latency 320");
  fake_engine_answer(rig.engine, STATUS_OK, "", 256);
  client_expect(rig.client, "/done*");
  client_expect(rig.other, "/rack/changed 1");
  ck_assert_int_eq(rig.n_latency_changes, 1);
  ck_assert(
      !rig.is_watcher_ahead); // when the client gets the message, the driver has the new latency
}

// ---- what is sent, and when ----

typedef struct SentNews {
  uint32_t n, n_rack;
  NotifyKey newest;
} SentNews;

static void
count_news(void* const context, const Peer* const to, const NotifyKey* const key,
           const bool has_norm)
{
  (void)to;
  (void)has_norm;
  SentNews* const sent = context;
  ++sent->n;
  sent->n_rack += key->uid == RACK_UID_NONE && key->param == NOTIFY_RACK;
  sent->newest = *key;
}

static Notify notify;
static ClientTable clients;
static OwnAddresses machine;
static SentNews sent;

/// A ClientEnded.
static void
forget(void* const context, const Client* const client, const unsigned wishes)
{
  if (wishes & CLIENT_NEWS) {
    notify_forget(context, client);
  }
}

/// Begin without clients.  The news are counted in `sent`.
static void
begin(void)
{
  notify.clients = &clients;
  notify.say = count_news;
  notify.context = &sent;
  clients.machine = &machine;
  clients.ended = forget;
  clients.context = &notify;
}

/// A subscriber of this machine.
static Peer
subscribe(const uint16_t port)
{
  const Peer peer = peer_of("127.0.0.1", port);
  ck_assert(client_take(&clients, &peer, &peer, CLIENT_NEWS, BEGIN_NS, NULL));
  return peer;
}

static void
unsubscribe(const Peer* const peer)
{
  client_end(&clients, client_find(&clients, peer), CLIENT_NEWS);
}

static Subscriber*
subscriber_of(const Peer* const peer)
{
  const Client* const client = client_find(&clients, peer);
  ck_assert(client);
  return &notify.subscribers[client - clients.of];
}

static bool
gets_positions(const Peer* const peer)
{
  return subscriber_of(peer)->has_norm;
}

TEST(positions_are_news_for_the_subscribers_of_their_senders)
{
  begin();
  const Peer sender = peer_of("192.0.2.1", 5000);
  const Peer asked_for = peer_of("192.0.2.1", 9000);
  const Peer listener = peer_of("192.0.2.1", 9001);
  const Peer other = peer_of("192.0.2.2", 9001);
  const Peer local_sender = peer_of("127.0.0.1", 5000);
  const Peer local_listener = peer_of("127.0.0.1", 9001);
  ck_assert(client_take(&clients, &asked_for, &sender, CLIENT_NEWS, BEGIN_NS, NULL));
  client_fix(&clients, &listener);
  client_fix(&clients, &other);
  client_fix(&clients, &local_listener);
  notify_norm(&notify, &sender);
  notify_norm(&notify, &local_sender);
  ck_assert(gets_positions(&asked_for) && gets_positions(&listener));
  ck_assert(!gets_positions(&other) && !gets_positions(&local_listener));
  notify_norm(&notify, &local_listener); // it sends from its own port
  ck_assert(gets_positions(&local_listener));
  notify_clear(&notify);
}

TEST(notifications_are_merged_within_an_interval_and_the_last_is_sent)
{
  begin();
  const Peer maker = peer_of("127.0.0.1", 2);
  uint64_t now_ns = BEGIN_NS;
  const NotifyKey key = { 20, 1 };
  notify_change(&notify, key, &maker, now_ns);
  ck_assert_uint_eq(sent.n, 0); // there is no subscriber
  subscribe(1);
  subscribe(2);
  for (int i = 0; i < 100; ++i) {
    notify_change(&notify, key, &maker, now_ns);
  }
  ck_assert_uint_eq(sent.n, 1);
  ck_assert_uint_eq(notify_wake_ns(&notify), now_ns + NOTIFY_INTERVAL_NS);
  notify_flush(&notify, now_ns + NOTIFY_INTERVAL_NS - 1U);
  ck_assert_uint_eq(sent.n, 1);
  notify_flush(&notify, now_ns + NOTIFY_INTERVAL_NS);
  ck_assert_uint_eq(sent.n, 2);
  ck_assert_uint_eq(notify_wake_ns(&notify), UINT64_MAX);
}

TEST(too_many_notifications_become_one)
{
  begin();
  subscribe(1);
  uint64_t now_ns = BEGIN_NS;
  // In the second round, other parameters take over all entries of parameters.  /rack/changed has
  // an entry of its own in both rounds.
  for (uint32_t n_rounds = 1; n_rounds <= 2U; ++n_rounds, now_ns += 10U * NOTIFY_INTERVAL_NS) {
    sent = (SentNews){ 0 };
    for (uint32_t i = 0; i < 2U * NOTIFY_MAX_KEYS; ++i) {
      notify_change(&notify, (NotifyKey){ 20U + n_rounds * 10000U + i, 0 }, NULL, now_ns);
    }
    ck_assert_uint_eq(sent.n, NOTIFY_MAX_KEYS);
    notify_flush(&notify, now_ns + NOTIFY_INTERVAL_NS);
    ck_assert_uint_eq(sent.n_rack, 1);
    notify_change(&notify, (NotifyKey){ RACK_UID_NONE, NOTIFY_RACK }, NULL,
                  now_ns + 2U * NOTIFY_INTERVAL_NS);
    ck_assert_uint_eq(sent.n_rack, 2);
    notify_flush(&notify, now_ns + 2U * NOTIFY_INTERVAL_NS);
  }
}

TEST(each_parameter_has_one_entry_after_very_many_others)
{
  begin();
  subscribe(1);
  uint64_t now_ns = BEGIN_NS;
  for (uint32_t first = 20U; first < 20U + 30U * NOTIFY_MAX_KEYS; first += NOTIFY_MAX_KEYS / 2U) {
    sent = (SentNews){ 0 };
    for (uint32_t k = 0; k < NOTIFY_MAX_KEYS; ++k) { // half of them were in the round before
      notify_change(&notify, (NotifyKey){ first + k, 0 }, NULL, now_ns);
    }
    ck_assert_uint_eq(sent.n, NOTIFY_MAX_KEYS);
    ck_assert_uint_eq(sent.n_rack, 0);
    for (uint32_t k = 0; k < NOTIFY_MAX_KEYS; ++k) {
      notify_change(&notify, (NotifyKey){ first + k, 0 }, NULL, now_ns + 1U);
    }
    ck_assert_uint_eq(sent.n, NOTIFY_MAX_KEYS); // the rest has to wait
    now_ns += NOTIFY_INTERVAL_NS;
    notify_flush(&notify, now_ns);
    ck_assert_uint_eq(sent.n, 2U * NOTIFY_MAX_KEYS);
    now_ns += 2U * NOTIFY_INTERVAL_NS;
    notify_flush(&notify, now_ns);
  }
  ck_assert_uint_lt(notify.index.n_slots, 16U * NOTIFY_MAX_KEYS); // it forgets the others
  notify_clear(&notify);
}

TEST(positions_count_as_datagrams_of_a_round)
{
  begin();
  uint64_t now_ns = BEGIN_NS;
  for (uint16_t c = 0; c < 3U; ++c) { // of these, one at once, and two with a rate and positions
    const Peer watcher = subscribe((uint16_t)(1U + c));
    if (c) {
      notify_norm(&notify, &watcher);
      notify_pace(&notify, client_find(&clients, &watcher), 5U * NOTIFY_INTERVAL_NS);
    }
  }
  for (uint32_t n_rounds = 0; n_rounds < 3U; ++n_rounds) {
    for (uint32_t k = 0; k < NOTIFY_MAX_KEYS - 1U; ++k) { // the count becomes odd
      notify_change(&notify, (NotifyKey){ 20U + k, 0 }, NULL, now_ns);
    }
    for (uint32_t i = 0; i < 20U; ++i, now_ns += NOTIFY_INTERVAL_NS) {
      sent.n = 0;
      notify_flush(&notify, now_ns);
      ck_assert_uint_le(notify.n_sent, NOTIFY_SENT);
      ck_assert_uint_le(sent.n, notify.n_sent);
    }
  }
}

TEST(a_client_that_subscribes_again_and_again_delays_no_other)
{
  begin();
  SCOPED_RACK Rack* const rack = rack_new();
  for (uint32_t i = 0; i <= NOTIFY_MAX_VALUES; ++i) { // more than one part
    char name[16];
    snprintf(name, sizeof(name), "g%u", i);
    ck_assert(!rack_add(rack, name, "gain", NULL));
  }
  const Peer greedy = subscribe(1);
  const Peer other = subscribe(2);
  uint64_t now_ns = BEGIN_NS;
  ck_assert(notify_greet(&notify, client_find(&clients, &other), rack));
  const Backlog* const greeting = &subscriber_of(&other)->greeting;
  ck_assert_uint_gt(greeting->n, NOTIFY_MAX_VALUES);
  for (uint32_t n_rounds = 0; greeting->n; ++n_rounds, now_ns += NOTIFY_INTERVAL_NS) {
    ck_assert_uint_lt(n_rounds, 20U);
    ck_assert(notify_greet(&notify, client_find(&clients, &greedy), rack));
    notify_flush(&notify, now_ns);
  }
  notify_clear(&notify);
}

/// Begin with the largest number of subscribers.
static void
begin_full(void)
{
  begin();
  for (uint16_t c = 0; c < CLIENTS_PER_WISH; ++c) {
    subscribe((uint16_t)(1U + c));
  }
}

TEST(very_many_notifications_are_sent_in_several_rounds)
{
  begin_full();
  uint64_t now_ns = BEGIN_NS;
  for (uint32_t i = 0; i < 2U; ++i, now_ns += NOTIFY_INTERVAL_NS) {
    sent.n = 0;
    for (uint32_t k = 0; k < NOTIFY_MAX_KEYS; ++k) {
      notify_change(&notify, (NotifyKey){ 20U + k, 0 }, NULL, now_ns);
    }
    ck_assert_uint_le(sent.n, NOTIFY_SENT); // the changes alone send at most one round
    for (uint32_t before = 0; notify_wake_ns(&notify) != UINT64_MAX;) {
      ck_assert_uint_le(notify_wake_ns(&notify), now_ns);
      before = sent.n;
      notify_flush(&notify, now_ns);
      ck_assert_uint_gt(sent.n, before);
      ck_assert_uint_le(sent.n - before, NOTIFY_SENT);
    }
    ck_assert_uint_eq(sent.n, NOTIFY_MAX_KEYS * CLIENTS_PER_WISH);
    ck_assert_uint_eq(notify.entries[ARRAY_LEN(notify.entries) - 1U].sent_ns, now_ns);
  }
}

TEST(a_value_that_changes_all_the_time_does_not_delay_other_notifications)
{
  begin_full();
  uint64_t now_ns = BEGIN_NS;
  for (uint32_t round = 0; round < 200; ++round, now_ns += NOTIFY_INTERVAL_NS) {
    for (uint32_t k = 0; k < 100; ++k) { // x 32 subscribers: more than a round sends
      notify_change(&notify, (NotifyKey){ 20U + k, 0 }, NULL, now_ns);
    }
    notify_flush(&notify, now_ns);
  }
  for (uint32_t k = 0; k < 100; ++k) {
    ck_assert_uint_gt(notify.entries[N_NOTIFY_EVENTS + k].sent_ns,
                      now_ns - 20U * NOTIFY_INTERVAL_NS);
  }
}

/// Make a rack of n gains with this value, or a copy of `previous` with this value.
static Rack*
rack_of_gains(const uint32_t n, const Rack* const previous, const double gain_db)
{
  Rack* const rack = previous ? rack_copy(previous) : rack_new();
  for (uint32_t i = 0; i < n; ++i) {
    char name[16];
    snprintf(name, sizeof(name), "g%u", i);
    ck_assert(previous || !rack_add(rack, name, "gain", NULL));
    ck_assert(!set_number_by_name(rack, name, "gain", gain_db, NULL));
  }
  return rack;
}

TEST(a_replaced_document_is_sent_in_parts_with_each_value_once)
{
  begin();
  const uint32_t n = 2U * NOTIFY_MAX_VALUES + 20U;
  SCOPED_RACK Rack* const before = rack_of_gains(n, NULL, -1.0);
  SCOPED_RACK Rack* const now = rack_of_gains(n, before, -2.0);
  uint64_t now_ns = BEGIN_NS;
  notify_replaced(&notify, before, now, NULL);
  ck_assert_uint_eq(notify_wake_ns(&notify), UINT64_MAX); // there is no subscriber
  const Peer watcher = subscribe(1);
  const Peer maker = subscribe(2);
  notify_replaced(&notify, before, now, &maker);
  notify_flush(&notify, now_ns);
  ck_assert_uint_eq(sent.n, NOTIFY_MAX_VALUES);
  ck_assert_uint_eq(notify_wake_ns(&notify), now_ns + NOTIFY_INTERVAL_NS);
  notify_flush(&notify, now_ns + NOTIFY_INTERVAL_NS - 1U);
  ck_assert_uint_eq(sent.n, NOTIFY_MAX_VALUES);
  notify_replaced(&notify, before, now, &maker); // the remaining values already wait
  for (uint32_t i = 0; notify_wake_ns(&notify) != UINT64_MAX; ++i) {
    ck_assert_uint_lt(i, 4U);
    now_ns += NOTIFY_INTERVAL_NS;
    notify_flush(&notify, now_ns);
  }
  ck_assert_uint_eq(sent.n, NOTIFY_MAX_VALUES + n); // the first part was sent twice

  // A value that two clients have changed is sent to both.  Values of removed nodes are sent to
  // nobody.
  SCOPED_RACK Rack* const empty = rack_new();
  sent.n = 0;
  notify_replaced(&notify, before, now, &maker);
  notify_replaced(&notify, before, now, &watcher);
  ck_assert_uint_eq(notify.backlog.n, n);
  notify_flush(&notify, now_ns + NOTIFY_INTERVAL_NS);
  ck_assert_uint_eq(sent.n, 2U * NOTIFY_MAX_VALUES);
  notify_replaced(&notify, now, empty, NULL);
  ck_assert_uint_eq(notify_wake_ns(&notify), UINT64_MAX);

  // Without a previous document all values are sent, and none after the last subscriber has left.
  notify_replaced(&notify, NULL, now, NULL);
  ck_assert_uint_eq(notify.backlog.n, n);
  unsubscribe(&watcher);
  unsubscribe(&maker);
  now_ns += 2U * NOTIFY_INTERVAL_NS;
  notify_flush(&notify, now_ns);
  ck_assert_uint_eq(notify_wake_ns(&notify), UINT64_MAX);
  ck_assert_uint_eq(sent.n, 2U * NOTIFY_MAX_VALUES);
  notify_clear(&notify);
}

SUITE_MAIN_WITH("notify", control_rig_start, control_rig_stop)
