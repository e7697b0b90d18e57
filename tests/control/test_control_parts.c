// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of the server: which peers get replies, how many steps undo keeps, and the order of edits
// and values in an editor.

#include "control/commands.h"
#include "control/control_private.h"
#include "control/dispatch.h"
#include "control/editor.h"
#include "control/history.h"
#include "control/net/outlet.h"
#include "control/net/peer.h"
#include "control/queries.h"
#include "tests/support/control_rig.h"
#include "tests/support/peers.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool
is_loopback(const char* const address)
{
  const Peer peer = peer_of(address, 1);
  return peer_is_loopback(&peer);
}

TEST(loopback_has_many_names)
{
  ck_assert(is_loopback("127.0.0.1"));
  ck_assert(is_loopback("127.9.8.7"));
  ck_assert(is_loopback("::1"));
  ck_assert(is_loopback("::ffff:127.0.0.1"));
  ck_assert(!is_loopback("128.0.0.1"));
  ck_assert(!is_loopback("192.168.0.127"));
  ck_assert(!is_loopback("::2"));
  ck_assert(!is_loopback("::ffff:10.0.0.127"));
  ck_assert(!is_loopback("fe80::1"));
}

TEST(peers_differ_by_port_and_address)
{
  const Peer a = peer_of("127.0.0.1", 1);
  const Peer port = peer_of("127.0.0.1", 2);
  const Peer address = peer_of("127.0.0.2", 1);
  const Peer family = peer_of("::1", 1);
  const Peer same = peer_of("127.0.0.1", 1);
  const Peer mapped = peer_of("::ffff:127.0.0.1", 1); // from a socket for both families
  ck_assert(peer_equal(&a, &same));
  ck_assert(peer_equal(&a, &mapped));
  ck_assert(!peer_equal(&a, &port));
  ck_assert(!peer_equal(&a, &address));
  ck_assert(!peer_equal(&a, &family));
}

/// Two peers, and whether they are one sender: one machine, or on loopback one port.
static const struct {
  const char* address[2];
  uint16_t port[2];
  bool is_one_machine, is_one_sender;
} pairs[] = {
  { { "192.0.2.1", "192.0.2.1" }, { 1, 2 }, true, true },
  { { "192.0.2.1", "192.0.2.2" }, { 1, 1 }, false, false },
  { { "::ffff:192.0.2.1", "192.0.2.1" }, { 1, 1 }, true, true },
  { { "::ffff:192.0.2.1", "::ffff:192.0.2.2" }, { 1, 1 }, false, false },
  { { "2001:db8::1", "2001:db8::ffff:2" }, { 1, 2 }, true, true },
  { { "2001:db8::1", "2001:db8:0:1::1" }, { 1, 1 }, false, false },
  { { "127.0.0.1", "127.0.0.1" }, { 1, 2 }, true, false },
  { { "::1", "::1" }, { 1, 2 }, true, false },
  { { "::1", "::2" }, { 1, 1 }, false, false },
};

TEST_ROWS(the_addresses_of_a_machine_are_one_sender, pairs)
{
  const Peer a = peer_of(pairs[row].address[0], pairs[row].port[0]);
  const Peer b = peer_of(pairs[row].address[1], pairs[row].port[1]);
  const PeerKey x = peer_sender(&a);
  const PeerKey y = peer_sender(&b);
  ck_assert_int_eq(peer_machine_equal(&a, &b), pairs[row].is_one_machine);
  ck_assert_int_eq(peer_key_equal(&x, &y), pairs[row].is_one_sender);
}

TEST(an_unsubscribed_sender_gets_no_reply_larger_than_its_request)
{
  Outlet outlet = { .socket = socket(AF_INET, SOCK_DGRAM, 0),
                    .loopback = -1,
                    .outbox = outbox_new() };
  const Peer stranger = peer_of("192.0.2.1", 9);                 // RFC 5737: never in use
  outlet_send(&outlet, &stranger, 11, "/abc", lo_message_new()); // 12 bytes
  ck_assert_uint_eq(outlet.withheld, 1);
  ck_assert_uint_eq(outlet.sent + outlet.failed, 0);
  outlet_send(&outlet, &stranger, 12, "/abc", lo_message_new());
  outlet_flush(&outlet);
  ck_assert_uint_eq(outlet.withheld, 1);
  ck_assert_uint_eq(outlet.sent + outlet.failed, 1);
  const Peer friend = peer_of("127.0.0.1", 9);
  outlet_send(&outlet, &friend, 0, "/abc", lo_message_new());
  ck_assert_uint_eq(outlet.withheld, 1);
  outbox_free(outlet.outbox);
  close(outlet.socket);
}

/// Receive a packet.  Returns its size, 0 if there is none.
static size_t
receive(const int fd, char packet[const 4096])
{
  const ssize_t n = recv(fd, packet, 4096, MSG_DONTWAIT);
  return n > 0 ? (size_t)n : 0U;
}

TEST(answers_of_a_group_are_one_bundle_but_to_a_stranger)
{
  int pair[2];
  char packet[4096];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  Outlet outlet = { .socket = pair[0], .loopback = -1, .outbox = outbox_new(), .group = 7 };
  ck_assert(trust_init(&outlet.trust));
  Peer friend = peer_of("198.51.100.1", 9);
  Peer stranger = peer_of("198.51.100.2", 9);
  friend.n_bytes = stranger.n_bytes = 0; // to the other end of the pair
  ck_assert(trust_begin(&outlet.trust, &friend, UINT64_MAX));
  for (uint32_t n = 0; n < 3U; ++n) {
    outlet_done(&outlet, &friend, "/a/b/c", 0);
  }
  outlet.group = 8; // those of another bundle
  outlet_done(&outlet, &friend, "/d", 0);
  outlet_flush(&outlet);
  ck_assert_uint_eq(receive(pair[1], packet), 16U + 3U * (4U + 20U));
  ck_assert_mem_eq(packet, "#bundle\0\0\0\0\0\0\0\0\1\0\0\0\x14/done\0\0\0,s\0\0/a/b/c", 38);
  ck_assert_uint_eq(receive(pair[1], packet), 16U); // one answer is no bundle
  ck_assert_mem_eq(packet, "/done\0\0\0,s\0\0/d\0", 16);
  ck_assert_uint_eq(outlet.sent, 4);

  // Each answer to a stranger is limited by its own message, with the headers of its own packet.
  outlet_done(&outlet, &stranger, "/a/b/c", 19);
  ck_assert_uint_eq(outlet.withheld, 1);
  for (uint32_t n = 0; n < 3U; ++n) {
    outlet_done(&outlet, &stranger, "/a/b/c", 20);
  }
  outlet_flush(&outlet);
  for (uint32_t n = 0; n < 3U; ++n) {
    ck_assert_uint_eq(receive(pair[1], packet), 20);
  }
  ck_assert_uint_eq(receive(pair[1], packet), 0);
  outbox_free(outlet.outbox);
  close(pair[0]);
  close(pair[1]);
}

TEST(nothing_is_sent_to_the_server_s_own_address)
{
  const Peer own = peer_of("127.0.0.1", 9);
  const Peer any = peer_of("0.0.0.0", 9);
  const Peer neighbour = peer_of("127.0.0.2", 9);
  const Peer elsewhere = peer_of("192.0.2.1", 9);
  Outlet outlet = { .socket = socket(AF_INET, SOCK_DGRAM, 0),
                    .loopback = -1,
                    .outbox = outbox_new(),
                    .own = peer_key(&own) };
  outlet_send(&outlet, &own, 12, "/abc", lo_message_new());
  ck_assert_uint_eq(outlet.withheld, 1);
  outlet_send(&outlet, &neighbour, 12, "/abc", lo_message_new());
  ck_assert_uint_eq(outlet.withheld, 1);
  outlet.own = peer_key(&any); // all addresses of this machine
  outlet_send(&outlet, &neighbour, 12, "/abc", lo_message_new());
  ck_assert_uint_eq(outlet.withheld, 2);
  outlet_send(&outlet, &elsewhere, 12, "/abc", lo_message_new());
  ck_assert_uint_eq(outlet.withheld, 2);
  outbox_free(outlet.outbox);
  close(outlet.socket);
}

/// Read a packet as if it came from the network.
static Bundle*
read_message(const Peer* const peer, const void* const packet, const size_t n_bytes)
{
  const Instant arrival = instant_now();
  Bundle* bundle = NULL;
  ck_assert_int_eq(bundles_read(packet, n_bytes, peer, &arrival, &bundle), STATUS_OK);
  return bundle;
}

TEST(replies_to_an_unsubscribed_sender_are_bounded_in_total)
{
  // A peer without an IP address does not count as loopback, although it is on this machine.
  static Control control;
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
  const Peer stranger = { .n_bytes = 0 }; // the other end of the pair
  Rack* const rack = rack_of("a: gain | b: gain | c: gain | d: gain | e: gain | f: gain", NULL);
  control.config.engine = fake_engine_new();
  control.outlet.socket = pair[0];
  control.outlet.outbox = outbox_new();
  const EditorConfig config = { .engine = control.config.engine };
  OK(editor_new(&config, rack, &control.editor, &error));

  static const char packet[64] = "/node/***************************************/gain\0\0,";
  Bundle* const bundle = read_message(&stranger, packet, 56);
  OK(query_values(&control, &stranger, &bundle->messages[0], &error));
  outlet_flush(&control.outlet);
  size_t n_bytes = 0;
  char answer[256];
  for (ssize_t n = 0; (n = recv(pair[1], answer, sizeof(answer), 0)) > 0;) {
    n_bytes += (size_t)n;
  }
  ck_assert_uint_gt(n_bytes, 0);
  ck_assert_uint_le(n_bytes, 56);
  ck_assert_uint_eq(control.outlet.sent + control.outlet.withheld, 6);
  ck_assert_uint_eq(control.outlet.failed, 0);
  bundle_free(bundle);
  outbox_free(control.outlet.outbox);
  editor_free(control.editor);
  fake_engine_free(control.config.engine);
  rack_free(rack);
  close(pair[0]);
  close(pair[1]);
}

TEST(undo_forgets_the_oldest_document_at_its_bound)
{
  History history;
  memset(&history, 0, sizeof(history));
  for (uint32_t i = 0; i < HISTORY_DEPTH + 5U; ++i) {
    Rack* const rack = rack_new();
    rack->next_uid = i;
    history_edited(&history, rack);
  }
  ck_assert_uint_eq(history.undo.n, HISTORY_DEPTH);
  ck_assert_uint_eq(history_undo(&history)->next_uid, HISTORY_DEPTH + 4U);
  ck_assert_uint_eq(history.undo.racks[0]->next_uid, 5U);
  history_clear(&history);
  ck_assert_ptr_null(history_undo(&history));
}

TEST(a_gesture_ends_by_rest_or_by_an_edit)
{
  SCOPED(history_clear) History history;
  memset(&history, 0, sizeof(history));
  Change change = { .uid = 20, .param = 1 };
  const Changes changes = { .items = &change, .n = 1, .capacity = 1 };
  uint64_t now_ns = 5000000000U;
  ck_assert(!history_is_gesture(&history, &changes, now_ns));
  now_ns += HISTORY_GESTURE_NS - 1U;
  ck_assert(history_is_gesture(&history, &changes, now_ns));
  now_ns += HISTORY_GESTURE_NS;
  ck_assert(!history_is_gesture(&history, &changes, now_ns));
  history_edited(&history, rack_new());
  ck_assert(!history_is_gesture(&history, &changes, now_ns));
  change.param = 2;
  ck_assert(!history_is_gesture(&history, &changes, now_ns));
}

// ---- an editor without a server ----

/// Counts of the events that an editor reported.
typedef struct Said {
  uint32_t n_edits, n_values, n_failed, n_done;
  Error failure;
  Peer maker; ///< Sender of the newest value
} Said;

static Status
on_edit(void* const context, const Rack* const rack, const uint64_t at_frame)
{
  (void)rack;
  (void)at_frame;
  ++((Said*)context)->n_edits;
  return STATUS_OK;
}

static void
on_values(void* const context, const Bundle* const bundle, const uint32_t revision,
          const uint64_t frame)
{
  (void)bundle;
  (void)revision;
  (void)frame;
  ++((Said*)context)->n_values;
}

static void
on_edit_done(void* const context, const Bundle* const bundle, const uint32_t revision,
             const uint64_t frame)
{
  (void)bundle;
  (void)revision;
  (void)frame;
  ++((Said*)context)->n_done;
}

static void
on_failed(void* const context, const Bundle* const bundle, const Message* const failing,
          const Error* const error)
{
  (void)bundle;
  (void)failing;
  Said* const said = context;
  ++said->n_failed;
  said->failure = *error;
}

static void
on_value_changed(void* const context, const RackUid uid, const uint32_t param,
                 const Peer* const maker)
{
  (void)uid;
  (void)param;
  ((Said*)context)->maker = *maker;
}

static void
on_rack_changed(void* const context, const Rack* const before, const Bundle* const bundle)
{
  (void)context;
  (void)before;
  (void)bundle;
}

/// Make an editor with one gain, `vol`, and an engine that plays nothing.
static Editor*
new_editor(Said* const said, Engine* const engine)
{
  SCOPED_RACK Rack* const rack = rack_of("vol: gain -6dB", NULL);
  Editor* editor = NULL;
  *said = (Said){ 0 };
  const EditorConfig config = { .engine = engine,
                                .events = { .context = said,
                                            .edit = on_edit,
                                            .values_done = on_values,
                                            .edit_done = on_edit_done,
                                            .failed = on_failed,
                                            .value_changed = on_value_changed,
                                            .rack_changed = on_rack_changed } };
  OK(editor_new(&config, rack, &editor, &error));
  return editor;
}

/// Make a command of the client with this port; frees the arguments.
static Bundle*
command_of(const uint16_t port, const char* const address, const lo_message arguments)
{
  const Peer peer = peer_of("127.0.0.1", port);
  size_t n_bytes = 0;
  char packet[512] = "";
  lo_message_serialise(arguments, address, packet, &n_bytes);
  lo_message_free(arguments);
  Bundle* const bundle = read_message(&peer, packet, n_bytes);
  ck_assert_int_eq(command_find(&bundle->messages[0], &bundle->messages[0].info, NULL), STATUS_OK);
  return bundle;
}

/// Make an edit that adds a new node at each call.
static Bundle*
edit_of(const uint16_t port)
{
  static uint32_t n_edits;
  char name[16];
  snprintf(name, sizeof(name), "n%u", n_edits++);
  const lo_message arguments = lo_message_new();
  lo_message_add(arguments, "ss", name, "gain");
  return command_of(port, "/rack/add", arguments);
}

static Bundle*
value_of(const uint16_t port, const double gain_db)
{
  const lo_message arguments = lo_message_new();
  lo_message_add_float(arguments, (float)gain_db);
  return command_of(port, "/node/vol/gain", arguments);
}

TEST(edits_of_one_sender_leave_room_for_those_of_others)
{
  Said said;
  Engine* const engine = fake_engine_new();
  Editor* const editor = new_editor(&said, engine);
  editor_submit(editor, edit_of(1), 0); // this one is in flight
  for (uint32_t n = 0; n < EDITOR_MAX_WAITING; ++n) {
    editor_submit(editor, edit_of(1), 0);
  }
  ck_assert_uint_eq(editor_counts(editor).waiting, EDITOR_MAX_WAITING / 2U);
  ck_assert_uint_eq(said.n_failed, EDITOR_MAX_WAITING / 2U);
  ck_assert_str_eq(said.failure.text, "1024 edits already wait, 1024 of them from this sender");
  editor_submit(editor, edit_of(2), 0);
  ck_assert_uint_eq(editor_counts(editor).waiting, EDITOR_MAX_WAITING / 2U + 1U);
  Bundle* const large = edit_of(1);
  large->n_bytes = EDITOR_MAX_BYTES;
  large->peer = peer_of("127.0.0.1", 3);
  editor_submit(editor, large, 0);
  assert_says(said.failure.text, " KiB of edits already wait, 0 KiB of them from");
  editor_free(editor);
  fake_engine_free(engine);
}

TEST(a_fader_moves_however_many_edits_wait)
{
  Said said;
  Engine* const engine = fake_engine_new();
  Editor* const editor = new_editor(&said, engine);
  editor_submit(editor, edit_of(1), 0);
  for (uint16_t port = 1; editor_counts(editor).waiting < EDITOR_MAX_WAITING; ++port) {
    editor_submit(editor, edit_of(port), 0);
  }
  said.n_failed = 0;
  for (uint32_t n = 1; n <= 3; ++n) {
    editor_submit(editor, value_of(9, -1.0 * n), 0);
    ck_assert_uint_eq(said.n_values, n);
    ck_assert_uint_eq(editor_counts(editor).values_lost, n); // the queue of edits is full
    editor_flush(editor);
  }
  ck_assert_uint_eq(fake_engine_n_sets(engine), 3);
  ck_assert_uint_eq(said.n_failed, 0);
  editor_free(editor);
  fake_engine_free(engine);
}

typedef enum EditSince { EDIT_NONE, EDIT_IN_FLIGHT, EDIT_ACTIVE } EditSince;

/// Send a value ahead of its time; submit an edit, which is then in flight or active, or none; then
/// submit the value at its time.  Returns how often the engine got the value.
static uint32_t
count_sets(const EditSince edit)
{
  Said said;
  Engine* const engine = fake_engine_new();
  Editor* const editor = new_editor(&said, engine);
  Bundle* const value = value_of(1, -12.0);
  value->frame = 480;
  ck_assert_int_eq(editor_ahead(editor, value), AHEAD_SENT);
  if (edit != EDIT_NONE) {
    editor_submit(editor, edit_of(2), 0);
  }
  if (edit == EDIT_ACTIVE) {
    editor_reply(editor, &(EngineReply){ .status = STATUS_OK });
  }
  editor_submit(editor, value, 0);
  const uint32_t n_sets = fake_engine_n_sets(engine);
  ck_assert_uint_eq(said.n_values, 1);
  ck_assert_double_eq(fake_engine_set(engine, n_sets - 1U).messages[0].value, -12.0);
  if (edit != EDIT_ACTIVE) {
    editor_reply(editor, &(EngineReply){ .status = STATUS_OK });
  }
  ck_assert_uint_eq(fake_engine_n_sets(engine), n_sets);
  ck_assert_double_eq(editor_rack(editor)->nodes[0].values[0].number, -12.0);
  editor_free(editor);
  fake_engine_free(engine);
  return n_sets;
}

TEST(a_value_sent_ahead_is_sent_again_past_an_edit_that_came_after_it)
{
  ck_assert_uint_eq(count_sets(EDIT_NONE), 1);
  ck_assert_uint_eq(count_sets(EDIT_IN_FLIGHT), 2); // the edit has the old value
  ck_assert_uint_eq(count_sets(EDIT_ACTIVE), 2);
}

TEST(edits_of_a_sender_in_debt_do_not_delay_others)
{
  static Control control;
  static const EngineReply reply = { .status = STATUS_OK };
  Said said;
  Engine* const engine = fake_engine_new();
  Senders* const senders = &control.intake.senders;
  control.editor = new_editor(&said, engine);
  ck_assert(senders_init(senders, 1));
  for (uint16_t port = 1; port <= 3U; ++port) {
    editor_submit(control.editor, edit_of(port), 0);
  }
  const Peer debtor = peer_of("127.0.0.1", 2);
  senders_charge_peer(senders, &debtor, 0, UINT64_C(1000000000));
  const int64_t credit_ns = senders_get(senders, &debtor, 0)->credit_ns;
  dispatch_waiting(&control);
  ck_assert_uint_eq(said.n_edits, 1); // the first edit is in flight
  editor_reply(control.editor, &reply);
  dispatch_waiting(&control);
  ck_assert_uint_eq(said.n_edits, 2);
  ck_assert_int_lt(senders_get(senders, &debtor, 0)->credit_ns, credit_ns); // charged for its edit
  editor_reply(control.editor, &reply);
  dispatch_waiting(&control);
  ck_assert_uint_eq(said.n_edits, 3);
  editor_reply(control.editor, &reply);
  editor_free(control.editor);
  senders_clear(senders);
  fake_engine_free(engine);
}

TEST(a_value_set_behind_edits_is_of_the_sender_that_moved_it_last)
{
  static const EngineReply reply = { .status = STATUS_OK };
  Said said;
  Engine* const engine = fake_engine_new();
  Editor* const editor = new_editor(&said, engine);
  const lo_message chain = lo_message_new();
  lo_message_add_string(chain, "vol: gain -1dB");
  editor_submit(editor, edit_of(1), 0);
  editor_submit(editor, command_of(1, "/rack/chain", chain), 0);
  editor_submit(editor, value_of(2, -20.0), 0);
  editor_submit(editor, value_of(3, -30.0), 0);
  ck_assert_uint_eq(editor_counts(editor).waiting, 2U); // the second edit, and one value
  editor_reply(editor, &reply);
  editor_run_next(editor, 0);
  editor_reply(editor, &reply);
  said.maker = (Peer){ 0 };
  editor_run_next(editor, 0);
  const Peer last = peer_of("127.0.0.1", 3);
  ck_assert(peer_equal(&said.maker, &last));
  ck_assert_double_eq(rack_find(editor_rack(editor), "vol")->values[0].number, -30.0);
  editor_free(editor);
  fake_engine_free(engine);
}

static Bundle*
float_of(const char* const address, const double value)
{
  const lo_message arguments = lo_message_new();
  lo_message_add_float(arguments, (float)value);
  return command_of(1, address, arguments);
}

static Bundle*
highpass_of(const char* const name)
{
  const lo_message arguments = lo_message_new();
  lo_message_add(arguments, "ss", name, "highpass");
  return command_of(1, "/rack/add", arguments);
}

static double
order_of(const Editor* const editor, const char* const name)
{
  uint32_t param = 0;
  const RackNode* const node = rack_find(editor_rack(editor), name);
  OK(rack_find_param(node->fx, "order", &param, &error));
  return node->values[param].number;
}

TEST(values_of_a_structural_parameter_that_wait_together_are_one_edit)
{
  static const EngineReply done = { .status = STATUS_OK };
  static const EngineReply refused = { .status = STATUS_LIMIT, .text = "too large" };
  static const char* const a = "/node/a/order";
  static const char* const b = "/node/b/order";
  Said said;
  Engine* const engine = fake_engine_new();
  Editor* const editor = new_editor(&said, engine);
  editor_submit(editor, highpass_of("a"), 0);
  editor_reply(editor, &done);
  editor_submit(editor, highpass_of("b"), 0);
  editor_reply(editor, &done);
  said.n_done = 0;
  const uint32_t n_undo = editor_counts(editor).undo;
  editor_submit(editor, float_of(a, 1.0), 0); // in flight
  editor_submit(editor, float_of(a, 2.0), 0);
  editor_submit(editor, float_of(b, 5.0), 0);
  const lo_message third = lo_message_new();
  lo_message_add(third, "sf", "a.order", 3.0);
  editor_submit(editor, command_of(1, "/rack/set", third), 0);
  editor_submit(editor, float_of(b, 6.0), 0);
  editor_submit(editor, highpass_of("c"), 0);
  editor_submit(editor, float_of(a, 4.0), 0);
  editor_reply(editor, &done);
  ck_assert_double_eq(order_of(editor, "a"), 1.0);

  editor_run_next(editor, 0);
  ck_assert_uint_eq(editor_counts(editor).waiting, 4U);
  editor_reply(editor, &done);
  ck_assert_double_eq(order_of(editor, "a"), 3.0);
  ck_assert_uint_eq(said.n_done, 3U);
  ck_assert_uint_eq(editor_counts(editor).undo, n_undo + 2U);

  editor_run_next(editor, 0);
  editor_reply(editor, &refused);
  ck_assert_uint_eq(said.n_failed, 1U);
  ck_assert_uint_eq(editor_counts(editor).waiting, 3U); // the value before it waits again
  editor_run_next(editor, 0);
  editor_reply(editor, &done);
  ck_assert_double_eq(order_of(editor, "b"), 5.0);
  editor_run_next(editor, 0);
  editor_reply(editor, &done);
  ck_assert_double_eq(order_of(editor, "a"), 3.0); // 4 has not overtaken the edit
  editor_run_next(editor, 0);
  editor_reply(editor, &done);
  ck_assert_double_eq(order_of(editor, "a"), 4.0);
  ck_assert_uint_eq(said.n_done, 6U);
  ck_assert_ptr_null(editor_next(editor));
  editor_free(editor);
  fake_engine_free(engine);
}

TEST(other_values_between_those_of_a_structural_parameter_leave_them_one_edit)
{
  static const EngineReply done = { .status = STATUS_OK };
  Said said;
  Engine* const engine = fake_engine_new();
  Editor* const editor = new_editor(&said, engine);
  editor_submit(editor, highpass_of("a"), 0);
  editor_reply(editor, &done);
  said.n_done = 0;
  editor_submit(editor, float_of("/node/a/order", 1.0), 0); // in flight
  for (uint32_t n = 0; n < 3U; ++n) {
    editor_submit(editor, float_of("/node/a/order", 3.0 + n), 0);
    editor_submit(editor, value_of(1, -10.0 - n), 0); // set at once, and again behind the edit
  }
  ck_assert_uint_eq(said.n_values, 3U);
  editor_reply(editor, &done);
  editor_run_next(editor, 0);
  editor_reply(editor, &done);
  ck_assert_double_eq(order_of(editor, "a"), 5.0);
  ck_assert_uint_eq(said.n_done, 4U);
  while (editor_next(editor)) {
    ck_assert(editor_next(editor)->is_echo);
    editor_run_next(editor, 0);
  }
  editor_free(editor);
  fake_engine_free(engine);
}

SUITE_MAIN("control_parts")
