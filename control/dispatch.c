// SPDX-License-Identifier: GPL-3.0-or-later
// From packets to batches to the session, and the session's answers to those who asked.

#include "dispatch.h"

#include "commands.h"

#include "engine/base/time.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/// CPU time of this thread: what others take of the processor is nobody's cost.
static uint64_t
thread_ns(void)
{
  return time_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// ---- what the session says ----

static Status
on_edit(void* const context, const Rack* const rack, const uint64_t at_frame)
{
  Control* const control = context;
  inbox_expect(control->inbox);
  const Status status =
      engine_edit(control->config.engine, rack, at_frame, inbox_done, control->inbox);
  if (status != STATUS_OK) {
    inbox_unexpect(control->inbox);
  }
  return status;
}

static Status
on_read(void* const context, Message* const message, Error* const error)
{
  const Control* const control = context;
  return rack_store_read(control->store, message_text(message, 0), message, error);
}

static void
on_values_done(void* const context, const Batch* const batch)
{
  Control* const control = context;
  const bool is_quiet = notify_is_quiet(&control->notify, &batch->peer);
  for (uint32_t m = 0; m < batch->n_messages && !is_quiet; ++m) {
    outlet_done(&control->outlet, &batch->peer, batch->messages[m].address,
                batch->messages[m].n_bytes);
  }
}

static void
on_edit_done(void* const context, const Batch* const batch, const uint32_t revision,
             const uint64_t frame)
{
  Control* const control = context;
  control_advise(control, &batch->peer);
  const bool is_quiet = notify_is_quiet(&control->notify, &batch->peer);
  for (uint32_t m = 0; m < batch->n_messages && !is_quiet; ++m) {
    outlet_done_edit(&control->outlet, &batch->peer, &batch->messages[m], revision, frame);
  }
}

/// Tell the sender of a batch that nothing of it was done; `failing` has the reason, unless NULL.
static void
on_failed(void* const context, const Batch* const batch, const Message* const failing,
          const Error* const error)
{
  Control* const control = context;
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    const Message* const message = &batch->messages[m];
    Error reason = *error;
    if (failing && message != failing) {
      error_set(&reason, error->status,
                "not done, because %.100s in the same bundle failed: %.300s", failing->address,
                error->text);
    }
    outlet_fail(&control->outlet, &batch->peer, message->n_bytes, message->address, &reason);
  }
}

/// Carry out a message, or a step of it; false when it needs another one.
static bool
run_message(Control* const control, const Peer* const peer, Message* const message)
{
  Error error;
  message->is_unfinished = false;
  if (message->info->run(control, peer, message, &error) != STATUS_OK) {
    outlet_fail(&control->outlet, peer, message->n_bytes, message->address, &error);
    return true;
  }
  return !message->is_unfinished;
}

static void
on_turn(void* const context, Batch* const batch)
{
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    run_message(context, &batch->peer, &batch->messages[m]);
  }
  batch_free(batch);
}

static void
on_value_changed(void* const context, const RackUid uid, const uint32_t param,
                 const Peer* const maker)
{
  Control* const control = context;
  notify_change(&control->notify, (NotifyKey){ uid, param }, maker, control->now_ns);
}

static void
on_rack_changed(void* const context, const Rack* const before, const Batch* const batch)
{
  Control* const control = context;
  bool knows_values = batch;
  for (uint32_t m = 0; batch && m < batch->n_messages; ++m) {
    knows_values = knows_values && batch->messages[m].info->kind == COMMAND_SET;
  }
  notify_change(&control->notify, (NotifyKey){ RACK_UID_NONE, NOTIFY_RACK },
                batch ? &batch->peer : NULL, control->now_ns);
  notify_replaced(&control->notify, before, session_rack(control->session),
                  knows_values ? &batch->peer : NULL);
}

// ---- batches ----

static bool
is_now(const Message* const message)
{
  return message->info->kind == COMMAND_NOW;
}

static bool
is_behind(const Message* const message)
{
  return message->info->kind == COMMAND_BEHIND;
}

static bool
is_change(const Message* const message)
{
  return !is_now(message) && !is_behind(message);
}

/// What only servers send.  Nobody answers it, or two servers would answer each other for ever.
static bool
is_answer_address(const char* const address)
{
  static const char* const answers[] = { "/done", "/fail", "/server/synced" };
  for (uint32_t a = 0; a < ARRAY_LEN(answers); ++a) {
    if (strcmp(address, answers[a]) == 0) {
      return true;
    }
  }
  for (uint32_t e = 0; e < N_NOTIFY_EVENTS; ++e) {
    if (strcmp(address, notify_address((NotifyEvent)e)) == 0) {
      return true;
    }
  }
  return false;
}

static bool
is_answer(const Message* const message)
{
  return is_answer_address(message->address);
}

/// Take the answers out of a batch and forget them; false when there is no memory for that.
static bool
drop_answers(Control* const control, Batch* const batch)
{
  bool no_memory = false;
  Batch* const answers = batch_split(batch, is_answer, &no_memory);
  control->counts.answers += answers ? answers->n_messages : 0U;
  batch_free(answers);
  return !no_memory;
}

/// Find the row of every message; false, and all are answered, when one has none.
static bool
find_commands(Control* const control, Batch* const batch)
{
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    Message* const message = &batch->messages[m];
    Error error;
    Status status = command_find(message, &message->info, &error);
    if (status == STATUS_OK && batch->n_messages > 1 &&
        (message->info->kind == COMMAND_UNDO || message->info->kind == COMMAND_REDO)) {
      status = error_set(&error, STATUS_BAD_ARG, "is not allowed in a bundle with other commands");
    }
    if (status != STATUS_OK) {
      ++control->counts.unknown;
      on_failed(control, batch, message, &error);
      return false;
    }
  }
  return batch->n_messages > 0;
}

static void
refuse_batch(Control* const control, Batch* const batch, const Error* const error)
{
  on_failed(control, batch, NULL, error);
  batch_free(batch);
}

/// Put a batch in front of its sender's packets, or keep it until its time.
static void
place_batch(Control* const control, Source* const source, Batch* const batch)
{
  if (batch->due_ns <= control->now_ns) {
    control->counts.late += batch->due_ns != 0;
    sources_put_batch(&control->intake.sources, source, batch, control->now_ns);
    return;
  }
  Error error;
  if (schedule_add(&control->schedule, batch, &error) != STATUS_OK) {
    ++control->counts.unscheduled;
    refuse_batch(control, batch, &error);
  }
}

/// The changes of a bundle are one batch; what it reads and what waits behind them follow.
static void
accept_batch(Control* const control, Source* const source, Batch* const batch)
{
  Batch* parts[3] = { NULL, batch, NULL };
  bool no_memory = !drop_answers(control, batch);
  if (!no_memory && !find_commands(control, batch)) {
    batch_free(batch);
    return;
  }
  parts[0] = no_memory ? NULL : batch_split(batch, is_change, &no_memory);
  parts[2] = no_memory ? NULL : batch_split(batch, is_behind, &no_memory);
  for (uint32_t p = 0; p < ARRAY_LEN(parts); ++p) {
    if (parts[p] && parts[p]->n_messages && !no_memory) {
      place_batch(control, source, parts[p]);
    } else {
      batch_free(parts[p]);
    }
  }
  control->outlet.failed += no_memory;
}

// ---- what waits for its time ----

/// The time of a batch is near: hand to the engine what it must have before it.
static void
do_ahead(Control* const control, Batch* const batch)
{
  const uint64_t frame = engine_frame_at(control->config.engine, batch->due_ns);
  batch->frame = frame ? frame : 1U;
  if (!is_change(&batch->messages[0])) {
    return;
  }
  const SessionAhead ahead = session_ahead(control->session, batch);
  batch->is_sent = ahead == AHEAD_SENT;
  if (ahead == AHEAD_SUBMIT) {
    schedule_take(&control->schedule, batch);
    schedule_release(&control->schedule, batch);
    session_submit(control->session, batch, control->now_ns);
  }
}

static bool
has_credit(void* const context, const Peer* const peer)
{
  Control* const control = context;
  return sources_has_credit(&control->intake.sources, peer, control->now_ns);
}

/// Queue a batch whose time has come for its sender's next turn.  If the table has no place for the
/// sender, the batch waits until there is one.
static void
let_due_in(Control* const control)
{
  Sources* const sources = &control->intake.sources;
  Source* source = NULL;
  for (Batch* batch = NULL; (batch = schedule_due(&control->schedule, control->now_ns)) &&
                            (source = sources_get(sources, &batch->peer, control->now_ns));) {
    schedule_take(&control->schedule, batch);
    sources_put_batch(sources, source, batch, control->now_ns);
  }
}

void
dispatch_waiting(Control* const control)
{
  const Batch* const next = session_next(control->session);
  if (next) {
    const Peer peer = next->peer;
    const uint64_t begin_ns = thread_ns();
    session_run_next(control->session, control->now_ns);
    control->now_ns = instant_now().monotonic_ns;
    sources_charge_peer(&control->intake.sources, &peer, control->now_ns, thread_ns() - begin_ns);
  }
}

void
dispatch_due(Control* const control)
{
  const uint64_t end_ns = control->now_ns + DISPATCH_ROUND_NS;
  for (Batch* batch = NULL;
       control->now_ns < end_ns &&
       (batch = schedule_ahead(&control->schedule, control->now_ns, has_credit, control));) {
    const Peer peer = batch->peer;
    const uint64_t begin_ns = thread_ns();
    do_ahead(control, batch);
    control->now_ns = instant_now().monotonic_ns;
    sources_charge_peer(&control->intake.sources, &peer, control->now_ns, thread_ns() - begin_ns);
  }
  let_due_in(control);
}

// ---- packets ----

static void
refuse_packet(Control* const control, const Packet* const packet, const GateReason reason)
{
  ++control->counts.refused[reason];
  if (is_answer_address((const char*)packet->bytes)) { // zeros follow the packet
    return;
  }
  Error error;
  error_set(&error, STATUS_BAD_ARG, "packet refused: %s", gate_text(reason));
  outlet_fail(&control->outlet, &packet->peer, packet->n_bytes, "", &error);
}

/// Judge a packet and take it apart, into the batches of its sender.
static void
open_packet(Control* const control, Source* const source, const Packet* const packet)
{
  const Instant arrival = instant_now();
  uint32_t n_messages = 0;
  const GateReason reason = gate_check(packet->bytes, packet->n_bytes, arrival.ntp, &n_messages);
  if (reason != GATE_OK) {
    refuse_packet(control, packet, reason);
    return;
  }
  control->counts.messages += n_messages;
  if (batches_read(packet->bytes, packet->n_bytes, &packet->peer, &arrival, &source->batches) !=
      STATUS_OK) {
    ++control->outlet.failed;
  }
}

/// Take the first batch of a sender from it.
static Batch*
take_batch(Control* const control, Source* const source)
{
  Batch* const batch = source->batches;
  schedule_release(&control->schedule, batch);
  source->batches = batch->next;
  batch->next = NULL;
  return batch;
}

/// Carry out the first batch of a sender, or one step of a message that is answered by itself.
static void
do_batch(Control* const control, Source* const source)
{
  Batch* const batch = source->batches;
  if (!is_now(&batch->messages[0])) {
    session_submit(control->session, take_batch(control, source), control->now_ns);
    return;
  }
  batch->n_run += run_message(control, &batch->peer, &batch->messages[batch->n_run]);
  if (batch->n_run == batch->n_messages) {
    batch_free(take_batch(control, source));
  }
}

/// The shortest piece of a turn that can be done at once: a change as a whole, a message that
/// reads.
static void
do_step(Control* const control, Source* const source)
{
  if (!source->batches) {
    Packet* const packet = sources_take(&control->intake.sources, source);
    if (!packet) {
      return; // what was left of the last one has been dropped
    }
    open_packet(control, source, packet);
    free(packet);
  }
  if (source->batches && !source->batches->is_sorted) {
    accept_batch(control, source, take_batch(control, source));
  }
  if (source->batches && source->batches->is_sorted) {
    do_batch(control, source);
  }
}

void
dispatch_turn(Control* const control, Source* const source)
{
  const uint64_t begin_ns = thread_ns();
  const int64_t quantum_ns = source->is_fresh ? 0 : sources_quantum_ns(&control->intake.sources);
  const uint64_t end_ns = control->now_ns + (uint64_t)quantum_ns;
  do {
    do_step(control, source);
    control->now_ns = instant_now().monotonic_ns;
  } while (source_is_waiting(source) && control->now_ns < end_ns);
  sources_charge(&control->intake.sources, source, control->now_ns, thread_ns() - begin_ns);
}

SessionEvents
dispatch_events(Control* const control)
{
  return (SessionEvents){ .context = control,
                          .edit = on_edit,
                          .read = on_read,
                          .values_done = on_values_done,
                          .edit_done = on_edit_done,
                          .failed = on_failed,
                          .turn = on_turn,
                          .value_changed = on_value_changed,
                          .rack_changed = on_rack_changed };
}
