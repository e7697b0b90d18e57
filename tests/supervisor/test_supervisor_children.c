// SPDX-License-Identifier: GPL-3.0-or-later
// What the supervisor does with children in states that coincide rarely: a Supervisor without its
// thread, and children whose messages the test sends.

#include "engine/supervisor/supervisor_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"
#include "tests/support/wire_ends.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG_NS (100U * NS_PER_S)
#define FLOOD   130U // messages: more than two rounds of the supervisor handle

static const FxOrigin origin = { "lv2", "urn:test:gone" };
static FxInfo plugin; // a gain with an origin

/// A supervisor without its thread.
typedef struct Loose {
  Supervisor* supervisor;
  RackUid uid; ///< Of the node of the active rack
} Loose;

static uint32_t n_saved, n_notes;
static EngineSaved last_saved;

static void
do_nothing(void* const context)
{
  (void)context;
}

static void
on_saved(void* const context, const uint64_t id, const EngineSaved* const saved)
{
  (void)context;
  (void)id;
  ++n_saved;
  last_saved = *saved;
}

static void
on_changed(void* const context, const WorkerFacts* const facts)
{
  (void)context;
  (void)facts;
}

static void
on_note(void* const context, const char* const text)
{
  (void)context;
  (void)text;
  ++n_notes;
}

/// A callback that takes each ring, and plays no blocks.
static bool
take_ring(void* const context, Ring* const ring, const ParamMessage* const messages,
          const uint32_t n)
{
  (void)context;
  (void)ring;
  (void)messages;
  (void)n;
  return true;
}

static bool
has_no_pulse(void* const context, SupervisorPulse* const pulse)
{
  (void)context;
  (void)pulse;
  return false;
}

/// A supervisor whose active rack has one node, of a plugin.
static Loose
loose_new(void)
{
  Loose rig = { .supervisor = calloc(1, sizeof(Supervisor)) };
  Supervisor* const supervisor = rig.supervisor;
  pthread_mutex_init(&supervisor->lock, NULL);
  pthread_cond_init(&supervisor->changed, NULL);
  supervisor->host = (SupervisorHost){ .hold = do_nothing,
                                       .release = do_nothing,
                                       .offer = take_ring,
                                       .lost = do_nothing,
                                       .pulse = has_no_pulse };
  supervisor->events = (WorkerEvents){ .changed = on_changed, .saved = on_saved };
  supervisor->config.note = on_note;
  supervisor->wanted = (Wanted){ .armed = true, .format = { .rate_hz = 48000.0 } };
  supervisor->wake = -1;
  OK(rack_history_init(&supervisor->history));
  rack_free(supervisor->history.active);
  Rack* const rack = rack_of("a: gain", NULL);
  plugin = *rack->nodes[0].fx;
  plugin.origin = &origin;
  rack->nodes[0].fx = &plugin;
  rig.uid = rack->nodes[0].uid;
  supervisor->history.active = rack;
  return rig;
}

/// A child in `state`, whose process does nothing.  `worker`: the other end of its wire.
static Child*
child_new(const ChildState state, Wire** const worker)
{
  static char name[] = "bad_worker";
  static char command[] = "mute";
  static char* const argv[] = { name, command, NULL };
  const WireEnds ends = wire_ends_new();
  int sockets[2];
  Child* const child = calloc(1, sizeof(Child));
  OK(wire_pair(sockets, &error));
  OK(process_start(bad_worker(), argv, sockets[1], &child->process, &error));
  close(sockets[0]);
  close(sockets[1]);
  OK(recorder_new(&child->recorder, &error));
  child->wire = ends.server;
  child->state = state;
  child->has_plan = state >= CHILD_ARMED;
  child->given_ns = time_now_ns();
  *worker = ends.worker;
  return child;
}

static void
loose_free(const Loose* const rig)
{
  child_free(rig->supervisor->worker);
  child_free(rig->supervisor->next);
  process_reap_left(&rig->supervisor->left, time_now_ns() + LONG_NS); // kills
  process_end_left(&rig->supervisor->left);
  rack_history_clear(&rig->supervisor->history);
  free(rig->supervisor->placements);
  free(rig->supervisor);
}

static void
set_place(const Loose* const rig, Child* const child, const uint32_t latency_frames)
{
  free(child->placements);
  child->placements = calloc(1, sizeof(EnginePlacement));
  child->placements[0] = (EnginePlacement){ .uid = rig->uid, .latency_frames = latency_frames };
  child->n_placements = 1U;
}

/// Send notes.
static void
flood(Wire* const end, const uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    const WireMessage note = { .kind = WIRE_NOTE, .note = "busy" };
    OK(wire_send(end, &note, &error));
  }
}

/// Lose a child that was killed from outside.
static void
lose(const Loose* const rig, Child* const child)
{
  Cause cause = { .kind = CAUSE_OTHER, .text = "killed", .from_outside = true };
  supervisor_lose(rig->supervisor, child, &cause);
}

/// The latency that the node gets when it goes into quarantine now, because `child` cannot make it.
static uint32_t
kept_latency(const Loose* const rig, const Child* const child)
{
  NodeCase node_case = { .uid = rig->uid };
  supervisor_keep_latency(rig->supervisor, child, &node_case);
  return node_case.latency_frames;
}

/// Lose a worker in which the node had 64 frames of latency.
static void
lose_a_worker(const Loose* const rig, Wire** const end)
{
  rig->supervisor->worker = child_new(CHILD_SERVING, end);
  set_place(rig, rig->supervisor->worker, 64);
  lose(rig, rig->supervisor->worker);
}

TEST(a_node_keeps_its_latency_when_several_workers_are_lost_one_after_the_other)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* ends[2];
  lose_a_worker(&rig, &ends[0]);
  rig.supervisor->worker = child_new(CHILD_IDLE, &ends[1]); // lost before it has made a node
  lose(&rig, rig.supervisor->worker);
  const Child next = { .state = CHILD_LOADING };
  ck_assert_uint_eq(kept_latency(&rig, &next), 64);
  wire_free(ends[0]);
  wire_free(ends[1]);
}

TEST(a_node_that_the_next_worker_cannot_make_keeps_the_latency_that_it_has_in_the_worker)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* ends[2];
  lose_a_worker(&rig, &ends[0]);
  rig.supervisor->worker = child_new(CHILD_SERVING, &ends[1]);
  set_place(&rig, rig.supervisor->worker, 128); // its plugin reports another one
  const Child next = { .state = CHILD_LOADING };
  ck_assert_uint_eq(kept_latency(&rig, &next), 128);
  wire_free(ends[0]);
  wire_free(ends[1]);
}

/// Let the worker's end refuse to be armed, because it cannot make the node.
static void
refuse_to_arm(const Loose* const rig, Child* const child, Wire* const end)
{
  Cause cause = { .kind = CAUSE_OTHER };
  WireMessage message = { .kind = WIRE_ARMED };
  error_set(&message.armed.error, STATUS_FILE, "a: gone");
  message.armed.refused = (RackRefused){ 1U, { rig->uid } };
  child->n_arms_out = 1U;
  OK(wire_send(end, &message, &error));
  ck_assert_msg(supervisor_receive(rig->supervisor, child, &cause), "%s", cause.text);
}

TEST(a_worker_that_plans_a_rack_while_it_cannot_make_a_node_gets_it_again_before_it_is_armed)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  Child* const child = child_new(CHILD_ARMING, &end);
  rig.supervisor->worker = child;
  child->has_load = true;
  refuse_to_arm(&rig, child, end);
  ck_assert_int_eq(child->state, CHILD_IDLE);
  ck_assert_uint_eq(child->arm_at_ns, 0U); // as soon as it has the rack without the node
  ck_assert(child->must_reload);
  child_reload(child, &rig.supervisor->history);
  ck_assert(child->must_reload); // it still plans
  child->has_load = false;
  child_reload(child, &rig.supervisor->history);
  ck_assert(!child->must_reload);
  ck_assert(child->has_load);
  wire_free(end);
}

TEST(a_node_in_quarantine_is_counted_once)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  Child* const child = child_new(CHILD_ARMING, &end);
  rig.supervisor->worker = child;
  const RackNode* const node = &rig.supervisor->history.active->nodes[0];
  NodeCase* const node_case =
      node_quarantine_case(&rig.supervisor->history.nodes, node, time_now_ns());
  node_case->until_ns = time_now_ns() + NODE_QUARANTINE_NS; // it has crashed, after the ARM
  rig.supervisor->n_nodes_quarantined = 1U;
  refuse_to_arm(&rig, child, end);
  ck_assert_uint_eq(rig.supervisor->n_nodes_quarantined, 1U);
  wire_free(end);
}

TEST(a_call_of_several_nodes_that_a_worker_invents_harms_nobody)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  Cause cause = { .kind = CAUSE_OTHER };
  Child* const child = child_new(CHILD_SERVING, &end);
  rig.supervisor->worker = child;
  OK(recorder_attach(recorder_fd(child->recorder), &error)); // this thread plays the worker's
  recorder_mark(recorder_line(), UINT64_C(1) << 40U | recorder_word(rig.uid, true));
  for (uint32_t t = 0; t < RECORDER_THREADS; ++t) {
    child->calls[t] =
        (RecorderWatch){ .call = recorder_read(child->recorder, t), .lasted_ns = LONG_NS };
  }
  child->watched_ns = time_now_ns();
  ck_assert(supervisor_watch_calls(rig.supervisor, child, &cause));
  ck_assert(!child->is_stuck);
  wire_free(end);
}

static const bool are_sealed[] = { false, true };

TEST_ROWS(an_armed_worker_takes_no_pages_of_its_ring, are_sealed)
{
  const RingShape shape = { 1U, 1U, 64U, 4U, 8U, 0 };
  const WireMessage armed = { .kind = WIRE_ARMED };
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  Cause cause = { .kind = CAUSE_OTHER };
  Child* const child = child_new(CHILD_ARMING, &end);
  rig.supervisor->worker = child;
  child->n_arms_out = 1U;
  OK(ring_new(&shape, &child->ring, &error));
  const int fd = ring_fd(child->ring);
  if (are_sealed[row]) { // by the worker, so that the server cannot do it
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
  }
  OK(wire_send(end, &armed, &error));
  ck_assert_int_ne(supervisor_receive(rig.supervisor, child, &cause), are_sealed[row]);
  if (are_sealed[row]) {
    assert_says(cause.text, "has sealed the block ring");
  } else {
    ck_assert_int_eq(child->state, CHILD_ARMED);
    ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
  }
  wire_free(end);
}

// ---- limits ----

static const struct {
  uint32_t plugin_start_s;
  uint64_t limit_s;
  const char* in;
} limits[] = { { 0U, 60U, "in 60 s" }, { 45U, 60U, "in 60 s" }, { 100U, 115U, "in 115 s" } };

/// True if the supervisor keeps a child that plans an edit, or is armed, since `since_ns`.
static bool
is_kept(const Loose* const rig, Child* const child, const bool is_edit, const uint64_t since_ns,
        Cause* const cause)
{
  child->state = is_edit ? CHILD_ARMED : CHILD_ARMING;
  child->has_edit = is_edit;
  child->given_ns = child->since_ns = since_ns;
  return supervisor_watch(rig->supervisor, child, cause);
}

TEST_ROWS(a_worker_has_the_time_of_its_plugins_and_a_last_call_to_plan_a_rack, limits)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  Cause cause = { .kind = CAUSE_OTHER };
  const uint64_t limit_ns = limits[row].limit_s * NS_PER_S;
  Child* const child = child_new(CHILD_ARMED, &end);
  rig.supervisor->worker = child;
  rig.supervisor->config.plugin_start_s = limits[row].plugin_start_s;
  for (uint32_t e = 0; e < 2U; ++e) {
    const bool is_edit = e != 0U;
    const uint64_t now_ns = time_now_ns();
    ck_assert_msg(is_kept(&rig, child, is_edit, now_ns - limit_ns + 20U * NS_PER_S, &cause), "%s",
                  cause.text);
    ck_assert(!is_kept(&rig, child, is_edit, now_ns - limit_ns, &cause));
    assert_says(cause.text, is_edit ? "did not answer an edit" : "had no plan");
    assert_says(cause.text, limits[row].in);
  }
  wire_free(end);
}

static const bool are_edits[] = { true, false };

/// The worker handles one after the other.
TEST_ROWS(the_time_begins_again_when_the_worker_has_replied_to_another_request, are_edits)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  Cause cause = { .kind = CAUSE_OTHER };
  const uint64_t long_ago_ns = time_now_ns() - limits[0].limit_s * NS_PER_S;
  Child* const child = child_new(CHILD_ARMING, &end);
  rig.supervisor->worker = child;
  child->since_ns = child->given_ns = long_ago_ns;
  if (are_edits[row]) { // was given while the worker was armed
    const WireMessage armed = { .kind = WIRE_ARMED };
    child->n_arms_out = 1U;
    child->has_edit = true;
    OK(wire_send(end, &armed, &error));
  } else { // was armed while it planned its rack
    const WireMessage reply = { .kind = WIRE_REPLY };
    child->has_load = true;
    OK(wire_send(end, &reply, &error));
  }
  ck_assert_msg(supervisor_receive(rig.supervisor, child, &cause), "%s", cause.text);
  ck_assert_msg(supervisor_watch(rig.supervisor, child, &cause), "%s", cause.text);
  child->replied_ns = long_ago_ns;
  ck_assert(!supervisor_watch(rig.supervisor, child, &cause));
  wire_free(end);
}

TEST(a_worker_that_sends_without_end_does_not_keep_the_supervisor_busy)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  n_notes = 0;
  rig.supervisor->wanted.armed = false;
  rig.supervisor->worker = child_new(CHILD_IDLE, &end);
  flood(end, FLOOD);
  supervisor_round(rig.supervisor);
  ck_assert_uint_gt(n_notes, 0U);
  const uint64_t before_ns = time_now_ns();
  uint32_t n_rounds = 0;
  for (; n_notes < FLOOD; ++n_rounds) {
    supervisor_round(rig.supervisor);
  }
  ck_assert_uint_ge(n_rounds, 2U);
  ck_assert_uint_ge(time_now_ns() - before_ns, n_rounds * 19U * NS_PER_MS); // 20 ms, see CHECK_MS
  wire_free(end);
}

/// Another process holds the socket, and sends as fast as the supervisor reads.
TEST(the_end_of_a_worker_is_found_while_another_process_sends_in_its_place)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  char reason[PROCESS_REASON_BYTES];
  Cause cause = { .kind = CAUSE_OTHER };
  Child* const child = child_new(CHILD_IDLE, &end);
  rig.supervisor->worker = child;
  n_notes = 0;
  flood(end, FLOOD / 2U);
  ck_assert(supervisor_receive(rig.supervisor, child, &cause));
  kill(process_id(child->process), SIGSEGV);
  AWAIT(process_has_ended(child->process, reason));
  flood(end, FLOOD);
  ck_assert(!supervisor_receive(rig.supervisor, child, &cause));
  ck_assert_uint_eq(n_notes, FLOOD / 2U + FLOOD); // what the worker has sent counts
  assert_says(cause.text, "SIGSEGV");
  ck_assert_int_eq((int)cause.kind, CAUSE_CRASH);
  wire_free(end);
}

// ---- exchanges ----

/// Whether blocks are played, and the states of the worker and of the one that is to replace it.
static const struct {
  bool is_armed;
  ChildState worker, next;
} exchanges[] = { { false, CHILD_IDLE, CHILD_IDLE }, { true, CHILD_SERVING, CHILD_ARMED } };

/// Prepare an exchange.  Returns the worker that is replaced in the next round.
static Child*
prepare_exchange(const Loose* const rig, const int row, Wire* ends[const 2])
{
  rig->supervisor->wanted.armed = exchanges[row].is_armed;
  rig->supervisor->worker = child_new(exchanges[row].worker, &ends[0]);
  rig->supervisor->next = child_new(exchanges[row].next, &ends[1]);
  return rig->supervisor->worker;
}

static void
free_ends(Wire* const ends[const 2])
{
  wire_free(ends[0]);
  wire_free(ends[1]);
}

TEST_ROWS(the_supervisor_does_not_wait_for_a_worker_that_is_replaced, exchanges)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* ends[2];
  Child* const before = prepare_exchange(&rig, row, ends);
  const Process* const process = before->process;
  const pid_t pid = process_id(process);
  supervisor_round(rig.supervisor);
  ck_assert_ptr_ne(rig.supervisor->worker, before);
  ck_assert_ptr_null(rig.supervisor->next);
  ck_assert_ptr_eq(rig.supervisor->left, process);
  ck_assert_int_eq(kill(pid, 0), 0); // it does not end by itself, ...
  while (rig.supervisor->left) {     // ... and is killed later
    process_reap_left(&rig.supervisor->left, time_now_ns() + LONG_NS);
    supervisor_round(rig.supervisor);
  }
  ck_assert_int_eq(kill(pid, 0), -1);
  free_ends(ends);
}

static bool ignores_kill; // pidfd_send_signal() does nothing, as for a process in a driver

__typeof__(syscall) __real_syscall, __wrap_syscall; // --wrap in meson.build

long
__wrap_syscall(const long number, ...)
{
  long arguments[4];
  va_list list;
  va_start(list, number);
  for (size_t a = 0; a < ARRAY_LEN(arguments); ++a) {
    arguments[a] = va_arg(list, long);
  }
  va_end(list);
  return ignores_kill && number == SYS_pidfd_send_signal
             ? 0
             : __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3]);
}

/// The other worker plays, and nobody watches it meanwhile.
TEST(the_supervisor_does_not_wait_for_a_next_worker_that_cannot_end)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* ends[2];
  Child* const worker = prepare_exchange(&rig, 1, ends);
  Child* const next = rig.supervisor->next;
  const Process* const process = next->process;
  Cause cause = { .kind = CAUSE_OTHER, .text = "had no plan" };
  ignores_kill = true;
  supervisor_lose(rig.supervisor, next, &cause);
  ck_assert_ptr_eq(rig.supervisor->worker, worker);
  ck_assert_ptr_null(rig.supervisor->next);
  ck_assert_ptr_eq(rig.supervisor->left, process);
  assert_says(rig.supervisor->note, "cannot take over: had no plan");
  ignores_kill = false;
  kill(process_id(process), SIGKILL);
  AWAIT((process_reap_left(&rig.supervisor->left, time_now_ns()), !rig.supervisor->left));
  free_ends(ends);
}

// ---- saves ----

static void
begin_save(const Loose* const rig)
{
  n_saved = 0;
  OK(supervisor_save(rig->supervisor, 7U, rig->uid, &error));
}

TEST(a_worker_saves_also_while_another_one_is_about_to_take_over)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* ends[2];
  rig.supervisor->worker = child_new(CHILD_SERVING, &ends[0]);
  rig.supervisor->next = child_new(CHILD_ARMING, &ends[1]);
  begin_save(&rig); // what the plugin has learnt is in this worker only
  ck_assert_ptr_eq(rig.supervisor->save.child, rig.supervisor->worker);
  const WireMessage message = wire_next(ends[0]);
  ck_assert_int_eq(message.kind, WIRE_SAVE);
  ck_assert_uint_eq(message.save.uid, rig.uid);
  wire_free(ends[0]);
  wire_free(ends[1]);
}

TEST_ROWS(a_worker_is_not_replaced_while_it_saves_a_state, exchanges)
{
  static const unsigned char bytes[] = { 1, 2, 3 };
  const WireMessage saved = { .kind = WIRE_SAVED,
                              .saved = { 7U, { .bytes = bytes, .n_bytes = sizeof(bytes) } } };
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* ends[2];
  const Child* const before = prepare_exchange(&rig, row, ends);
  begin_save(&rig);
  supervisor_round(rig.supervisor);
  ck_assert_ptr_eq(rig.supervisor->worker, before);
  ck_assert_uint_eq(n_saved, 0);
  OK(wire_send(ends[0], &saved, &error));
  supervisor_round(rig.supervisor);
  ck_assert_uint_eq(n_saved, 1);
  ck_assert_int_eq(last_saved.error.status, STATUS_OK);
  ck_assert_uint_eq(last_saved.n_bytes, sizeof(bytes));
  ck_assert_ptr_ne(rig.supervisor->worker, before);
  free_ends(ends);
}

TEST_ROWS(a_save_fails_if_its_worker_is_replaced_because_it_hangs, exchanges)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* ends[2];
  Child* const before = prepare_exchange(&rig, row, ends);
  begin_save(&rig);
  before->is_stuck = true;
  supervisor_round(rig.supervisor);
  ck_assert_ptr_ne(rig.supervisor->worker, before);
  ck_assert_uint_eq(n_saved, 1); // and not the state of the next worker
  ck_assert_int_eq(last_saved.error.status, STATUS_WORKER);
  assert_says(last_saved.error.text, "the worker was replaced before it saved the state: worker ");
  assert_says(last_saved.error.text, "in which a plugin hung");
  free_ends(ends);
}

/// Let time pass since the save was requested.
static void
check_later(const Loose* const rig)
{
  rig->supervisor->save.asked_ns -= LONG_NS;
  supervisor_check_save(rig->supervisor);
}

TEST(a_save_waits_while_the_next_worker_measures_a_gpu)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  begin_save(&rig);
  rig.supervisor->next = child_new(CHILD_ARMING, &end);
  rig.supervisor->next->busy_ns = time_now_ns(); // of its last note
  check_later(&rig);
  ck_assert_uint_eq(n_saved, 0);
  rig.supervisor->next->busy_ns = 0; // it has measured, and is armed
  supervisor_check_save(rig.supervisor);
  ck_assert_uint_eq(n_saved, 0);
  check_later(&rig);
  ck_assert_uint_eq(n_saved, 1);
  assert_says(last_saved.error.text, "no worker has played the rack for 30 s");
  wire_free(end);
}

/// The fallback of the engine after a child has reported `fallback` for the only output.
static Fallback
engine_fallback_after(const Loose* const rig, Child* const child, const Fallback fallback)
{
  child->facts.fallbacks = (Fallbacks){ .n = 1, .of = { fallback } };
  supervisor_publish(rig->supervisor, child);
  return rig->supervisor->facts.fallbacks.of[0];
}

TEST(an_output_that_a_new_worker_has_not_measured_keeps_its_fallback)
{
  const Fallback unmeasured = { .follows = true, .why = FALLBACK_LEVEL };
  const Fallback measured = { 0.5F, 0.5F, .follows = true, .why = FALLBACK_LEVEL };
  const Fallback silent = { 0.0F, 0.5F, .why = FALLBACK_NO_LOWS };
  const Fallback fixed = { .level = 0.25F, .why = FALLBACK_RACK };
  SCOPED(loose_free) Loose rig = loose_new();
  Wire *first_end, *next_end;
  rig.supervisor->worker = child_new(CHILD_SERVING, &first_end);
  rig.supervisor->next = child_new(CHILD_ARMED, &next_end);
  Child* const first = rig.supervisor->worker;
  Child* const next = rig.supervisor->next;

  engine_fallback_after(&rig, first, measured);
  Fallback now = engine_fallback_after(&rig, next, unmeasured);
  ck_assert_float_eq(now.level, 0.5F);
  ck_assert_float_eq(now.response, 0.0F); // of the rack that plays: not measured
  ck_assert(now.follows);
  now = engine_fallback_after(&rig, next, silent);
  ck_assert_int_eq(now.why, FALLBACK_NO_LOWS);
  now = engine_fallback_after(&rig, first, unmeasured); // a tweeter stays silent
  ck_assert_int_eq(now.why, FALLBACK_NO_LOWS);
  now = engine_fallback_after(&rig, first, fixed);
  ck_assert_float_eq(now.level, 0.25F);
  now = engine_fallback_after(&rig, first, unmeasured); // `auto` again: nothing is known
  ck_assert(now.follows);
  ck_assert_float_eq(now.level, 0.0F);
  wire_free(first_end);
  wire_free(next_end);
}

// Gets the timeout of poll(), which does not wait; NULL: it waits.  The threads that read what
// children print poll too.
static _Thread_local int* asked_ms;

int __real_poll(struct pollfd* fds, nfds_t n, int timeout_ms); // --wrap in meson.build
int __wrap_poll(struct pollfd* fds, nfds_t n, int timeout_ms);

int
__wrap_poll(struct pollfd* const fds, const nfds_t n, const int timeout_ms)
{
  if (asked_ms) {
    *asked_ms = timeout_ms;
  }
  return __real_poll(fds, n, asked_ms ? 0 : timeout_ms);
}

/// The time for which a round waits for events.
static int
wait_of(Supervisor* const supervisor)
{
  int timeout_ms = 0;
  asked_ms = &timeout_ms;
  supervisor_round(supervisor);
  asked_ms = NULL;
  return timeout_ms;
}

TEST(a_worker_that_only_plays_is_checked_less_often)
{
  SCOPED(loose_free) Loose rig = loose_new();
  Wire* end;
  Wire* other;
  Child* const child = child_new(CHILD_SERVING, &end);
  rig.supervisor->worker = child;
  const int often_ms = wait_of(rig.supervisor);
  child->is_healthy = true;
  ck_assert_int_ge(wait_of(rig.supervisor), 3 * often_ms);
  child->has_edit = true;
  ck_assert_int_eq(wait_of(rig.supervisor), often_ms);
  child->has_edit = false;
  rig.supervisor->next = child_new(CHILD_STARTING, &other);
  ck_assert_int_eq(wait_of(rig.supervisor), often_ms);
  ck_assert_ptr_eq(rig.supervisor->worker, child);
  wire_free(end);
  wire_free(other);
}

SUITE_MAIN("supervisor_children")
