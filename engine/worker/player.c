// SPDX-License-Identifier: GPL-3.0-or-later
// The block path: swap plans, apply messages at their frames, run the plan.

#include "player.h"

#include "midi_changes.h"
#include "player_reports.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <stdlib.h>

// Of a message in the heap: a note of a given length ends.
#define MESSAGE_NOTE_END MESSAGE_N_KINDS
// Likewise: a switch goes off at the end of the time of its message.
#define MESSAGE_SWITCH_OFF (MESSAGE_N_KINDS + 1U)
// Likewise: a MIDI event.  `uid` is the number of its bytes, which are in `param`.
#define MESSAGE_MIDI (MESSAGE_N_KINDS + 2U)

// Of WaitingMessage::order: what a MIDI event becomes comes before the next message.
#define ORDERS_PER_MESSAGE (MIDI_MAX_CHANGES + 1U)

_Static_assert(PLAYER_MAX_EVENTS + FX_KEYS <= FX_MAX_EVENTS,
               "a node has room for the events of a block, after the ends of all its notes");

Status
player_init(Player* const player, Error* const error)
{
  player->events = calloc(PLAYER_MAX_EVENTS, sizeof(StageEvent));
  if (!player->events) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  midi_decoder_init(&player->decoder);
  const Status status = waiting_init(&player->waiting, error);
  return status ? status : fade_table_init(&player->fades, error);
}

void
player_clear(Player* const player)
{
  plan_free(atomic_exchange(&player->offered, NULL));
  plan_free(atomic_exchange(&player->retired, NULL));
  plan_free(player->plan);
  player->plan = NULL;
  waiting_clear(&player->waiting);
  free(player->events);
  fade_table_clear(&player->fades);
}

// ---- plans ----

void
player_offer(Player* const player, Plan* const plan)
{
  atomic_store_explicit(&player->offered, plan, memory_order_release);
}

bool
player_has_taken(Player* const player)
{
  return atomic_load_explicit(&player->offered, memory_order_acquire) == NULL;
}

Plan*
player_collect(Player* const player)
{
  return atomic_exchange_explicit(&player->retired, NULL, memory_order_acquire);
}

/// Publish the reports of the block that ends before `end`, and those made since.
static void
publish_reports(Player* const player, const uint64_t end)
{
  player->has_run_midi =
      player_publish_reports(player->reports, &player->waiting, player->has_run_midi, end);
}

// ---- plans in turn ----

/// Wait for a stage of a block, and count its resets and failure.
static void
collect(Player* const player, const PlanStage* const stage, BegunBlock* const block)
{
  uint32_t n_reset = 0;
  const Status status = stage->backend->stage_collect(stage->stage, &n_reset);
  if (n_reset) {
    counter_add(&player->counts.units_reset, n_reset);
  }
  if (status) {
    block->has_failed = true;
    counter_add(&player->counts.device_errors, plan_fail(player->plan, stage));
  }
}

/// Wait for the last stage of a block, if it still runs.
static void
settle(Player* const player, BegunBlock* const block)
{
  if (block->last) {
    collect(player, block->last, block);
    block->last = NULL;
  }
}

static BegunBlock*
begun_block(Player* const player, const uint32_t index)
{
  return &player->begun[(player->oldest + index) % PLAYER_MAX_BEGUN];
}

static void
take_offer(Player* const player, const uint64_t frame)
{
  Plan* const plan = atomic_load_explicit(&player->offered, memory_order_acquire);
  if (!plan ||
      (plan->at_frame > frame && !atomic_load_explicit(&player->hurry, memory_order_relaxed))) {
    return;
  }
  // The builder will free the stages of the old plan.  Also, stages of the two plans share nodes,
  // and a device does not order their work.
  for (uint32_t b = 0; b < player->n_begun; ++b) {
    settle(player, begun_block(player, b));
  }
  Plan* const left = player->plan;
  plan_leave(left);
  player->plan = plan;
  player->may_have_void_ends = true; // of nodes that have left
  plan_begin(plan);
  fade_table_follow(&player->fades, plan);
  player_taps_follow(&player->taps, plan);
  player_report_plan(player->reports, plan, frame);
  atomic_store_explicit(&player->retired, left, memory_order_release);
  atomic_store_explicit(&player->first_frame, frame, memory_order_relaxed);
  counter_add(&player->counts.plans, 1U);
  atomic_store_explicit(&player->offered, NULL, memory_order_release);
}

void
player_idle(Player* const player)
{
  const uint64_t frame = atomic_load_explicit(&player->next_frame, memory_order_relaxed);
  rt_section_enter();
  take_offer(player, frame);
  publish_reports(player, frame);
  rt_section_leave();
}

// ---- messages ----

static uint64_t
next_order(Player* const player)
{
  player->n_orders += ORDERS_PER_MESSAGE;
  return player->n_orders;
}

/// Find the node that takes a note, -1 for an invalid message.  Checks all values, because the
/// sender may be another process.
static int
note_addressee(const Player* const player, const ParamMessage* const message)
{
  const int index = plan_find(player->plan, message->uid);
  const bool is_valid = index >= 0 && player->plan->nodes[index].node->notes &&
                        message->param < FX_KEYS && message->value >= 0.0 && message->value <= 1.0;
  return is_valid ? index : -1;
}

/// Find the node of a MESSAGE_SWITCH_OFF, -1 if something else has set the switch since.
static int
switch_addressee(const Player* const player, const WaitingMessage* const entry)
{
  const ParamMessage* const message = &entry->message;
  const int index = plan_find(player->plan, message->uid);
  const Node* const node = index < 0 ? NULL : player->plan->nodes[index].node;
  const bool is_valid = node && fx_has_param(node->fx, message->param, message->param_id) &&
                        node->stamps[message->param] == entry->number &&
                        node->targets[message->param] == message->value;
  return is_valid ? index : -1;
}

/// True for the end of a note that has ended earlier, or of a switch that was set since.
static bool
is_void_end(const Player* const player, const WaitingMessage* const entry)
{
  const ParamMessage* const message = &entry->message;
  if (message->kind == MESSAGE_SWITCH_OFF) {
    return switch_addressee(player, entry) < 0;
  }
  if (message->kind != MESSAGE_NOTE_END) {
    return false;
  }
  const int index = note_addressee(player, message);
  return index < 0 ||
         player->plan->nodes[index].node->notes->numbers[message->param] != entry->number;
}

/// If no further message can wait, remove void ends from the heap.  Otherwise long notes that end
/// early fill it, and no message has room until their time has come.
static void
make_room(Player* const player)
{
  if (waiting_n(&player->waiting) < WAITING_MAX || !player->may_have_void_ends) {
    return;
  }
  const uint32_t n_waiting = player->waiting.n;
  player->waiting.n = 0;
  for (uint32_t i = 0; i < n_waiting; ++i) { // each entry moves to the front or stays
    const WaitingMessage entry = player->waiting.list[i];
    if (!is_void_end(player, &entry)) {
      waiting_push(&player->waiting, entry);
    }
  }
  player->may_have_void_ends = false;
}

/// Move messages from the ring to the heap; messages that do not fit stay in the ring.  A late
/// message applies at `frame`, the next frame to be played, so late messages keep their order.
static void
receive(Player* const player, Ring* const messages, const uint64_t frame)
{
  ParamMessage message;
  make_room(player);
  while (waiting_n(&player->waiting) < WAITING_MAX && ring_receive(messages, &message)) {
    ++player->n_received;
    if (message.kind >= MESSAGE_IN_DOCUMENT) {
      midi_take_known(&player->decoder, &message);
      counter_add(&player->counts.params_dropped, message.kind >= MESSAGE_N_KINDS);
      continue;
    }
    const bool is_note = message.kind != MESSAGE_VALUE;
    const bool is_late = message.frame && message.frame < frame;
    counter_add(&player->counts.notes_late, is_note && is_late);
    message.frame = message.frame > frame || message.is_running ? message.frame : frame;
    const WaitingMessage entry = { message, player->n_received, next_order(player), is_late,
                                   false };
    if (message.frame == frame) {
      waiting_append(&player->waiting, entry);
    } else {
      waiting_push(&player->waiting, entry);
    }
  }
}

/// Move the MIDI events of a block to the heap.
static void
receive_midi(Player* const player, const uint64_t frame, const uint32_t n_frames)
{
  player->has_run_midi = player->has_run_midi || player->n_midi;
  for (uint32_t e = 0; e < player->n_midi; ++e) {
    const MidiEvent event = player->midi[e];
    if (waiting_n(&player->waiting) == WAITING_MAX) {
      counter_add(&player->counts.midi_dropped, player->n_midi - e);
      break;
    }
    const ParamMessage message = { .frame = frame +
                                            (event.frame < n_frames ? event.frame : n_frames - 1U),
                                   .uid = event.n_bytes,
                                   .param = midi_event_word(&event),
                                   .kind = MESSAGE_MIDI };
    waiting_push(&player->waiting, (WaitingMessage){ message, player->n_received + 1U,
                                                     next_order(player), false, true });
  }
  player->n_midi = 0;
}

/// Find the living node of a message, -1 for an invalid message.  Checks all values, because the
/// sender may be another process.
static int
addressee(Player* const player, const ParamMessage* const message)
{
  const int index = plan_find(player->plan, message->uid);
  if (index < 0) {
    return -1;
  }
  const FxInfo* const fx = player->plan->nodes[index].node->fx;
  if (!fx_has_param(fx, message->param, message->param_id) ||
      fx->params[message->param].structural || message->curve >= FX_N_CURVES ||
      !fx_param_accepts(&fx->params[message->param], message->value) ||
      (message->is_running && !fx_param_accepts(&fx->params[message->param], message->from))) {
    return -1;
  }
  return index;
}

/// Give a message its parameter, at a frame.  `before`: receives the value that the parameter has
/// there.  Returns the index of the node, or -1 for an invalid message.
static int
accept(Player* const player, const WaitingMessage* const entry, const uint64_t frame,
       double* const before)
{
  const ParamMessage* const message = &entry->message;
  const int index = addressee(player, message);
  if (index < 0) {
    counter_add(&player->counts.params_dropped, 1U);
    return -1;
  }
  Node* const node = player->plan->nodes[index].node;
  *before = fade_table_take(&player->fades, node, message->param, frame);
  node->targets[message->param] = message->value;
  node->stamps[message->param] = entry->number;
  counter_add(&player->counts.params_applied, 1U);
  return index;
}

// ---- the events of a block ----

/// Append an event for a node: at a frame, or at the first one of the block if that has passed.
static StageEvent*
add_event(Player* const player, const uint32_t node_index, const uint64_t frame, const uint64_t at)
{
  StageEvent* const event = &player->events[player->n_events++];
  *event =
      (StageEvent){ .offset = at > frame ? (uint32_t)(at - frame) : 0U, .node_index = node_index };
  return event;
}

/// Set a value at a frame.
static void
add_value(Player* const player, const uint32_t node_index, const WaitingMessage* const entry,
          const uint64_t frame)
{
  Node* const node = player->plan->nodes[node_index].node;
  StageEvent* const event = add_event(player, node_index, frame, entry->message.frame);
  event->param = entry->message.param;
  event->of_engine = node->fx->params[event->param].of_engine;
  event->value = entry->message.value;
  event->ramp_frames = event->of_engine ? node->change_frames : node->ramp_frames;
  node->health.needs_care = node->health.needs_care || event->of_engine;
}

/// Begin the fade of a value with a time, or delay a switch that goes off.  Returns false if the
/// caller must set the value now: because it does not fade, or because too many fades run.
static bool
begin_fade(Player* const player, const uint32_t node_index, const WaitingMessage* const entry,
           const uint64_t at, const double before)
{
  const ParamMessage* const message = &entry->message;
  Node* const node = player->plan->nodes[node_index].node;
  const FxParam* const row = &node->fx->params[message->param];
  if (!message->fade_frames) {
    return false;
  }
  if (row->kind == PARAM_SWITCH && message->value == 0.0) {
    WaitingMessage end = *entry; // in the place of the message, so that there is room
    end.message.kind = MESSAGE_SWITCH_OFF;
    end.message.frame = at + message->fade_frames;
    waiting_push(&player->waiting, end);
    player->may_have_void_ends = true; // once something else sets it
    return true;
  }
  if (!fx_param_fades(row) || before == message->value) {
    return false;
  }
  const bool begins = fade_table_add(&player->fades, node, node_index, message, at, before);
  counter_add(&player->counts.fades_full, !begins);
  return begins;
}

/// Go on with a fade that another worker has begun: at its present value, and by the same points.
static void
continue_fade(Player* const player, const uint32_t node_index, const WaitingMessage* const entry,
              const uint64_t frame)
{
  const ParamMessage* const message = &entry->message;
  if (begin_fade(player, node_index, entry, message->frame, message->from)) {
    const Fade* const fade = &player->fades.fades[player->fades.n - 1U];
    StageEvent* const event = add_event(player, node_index, frame, message->frame);
    event->param = message->param;
    event->value = fade_value(fade, frame > fade->start ? frame : fade->start);
    event->ramp_frames = 1U;
  }
}

/// The same message with the time of its node, if it states none, and its number fades: effects
/// make no longer ramps than Node::ramp_frames.
static WaitingMessage
with_time(const Node* const node, const WaitingMessage* const entry)
{
  WaitingMessage timed = *entry;
  const bool is_long = node->change_frames > node->ramp_frames;
  if (is_long && !timed.message.fade_frames &&
      fx_param_fades(&node->fx->params[timed.message.param])) {
    timed.message.fade_frames = node->change_frames;
    timed.message.curve = CURVE_LINEAR;
  }
  return timed;
}

static void
collect_value(Player* const player, const WaitingMessage* const entry, const uint64_t frame)
{
  const ParamMessage* const message = &entry->message;
  const uint64_t at = message->frame > frame ? message->frame : frame;
  double before = 0.0;
  const int index = accept(player, entry, at, &before);
  if (index < 0) {
    return;
  }
  player_report_message(player->reports, entry, message->is_running ? message->frame : at);
  Node* const node = player->plan->nodes[index].node;
  const WaitingMessage timed = with_time(node, entry);
  if (node->fx->params[message->param].of_engine == FX_RAMP_TIME) {
    node_set(node, message->param, message->value);
  } else if (message->is_running) {
    continue_fade(player, (uint32_t)index, entry, frame);
  } else if (!begin_fade(player, (uint32_t)index, &timed, at, before)) {
    add_value(player, (uint32_t)index, entry, frame);
  }
}

static void
collect_switch_off(Player* const player, const WaitingMessage* const entry, const uint64_t frame)
{
  const int index = switch_addressee(player, entry);
  if (index >= 0) {
    add_value(player, (uint32_t)index, entry, frame);
  }
}

/// End the note of a key, if one sounds.
static void
end_note(Player* const player, const uint32_t node_index, const uint32_t key, const uint64_t frame,
         const uint64_t at)
{
  NodeNotes* const notes = player->plan->nodes[node_index].node->notes;
  if (notes->numbers[key]) {
    StageEvent* const event = add_event(player, node_index, frame, at);
    event->is_note = true;
    event->note = (FxEvent){ .kind = FX_NOTE_OFF, .key = key };
    notes->numbers[key] = 0U;
    --notes->n;
  }
}

static void
begin_note(Player* const player, const uint32_t node_index, const WaitingMessage* const entry,
           const uint64_t frame)
{
  const ParamMessage* const message = &entry->message;
  NodeNotes* const notes = player->plan->nodes[node_index].node->notes;
  const uint64_t at = message->frame > frame ? message->frame : frame;
  StageEvent* const event = add_event(player, node_index, frame, at);
  event->is_note = true;
  event->note = (FxEvent){
    .kind = FX_NOTE_ON,
    .key = message->param,
    .velocity = (float)message->value,
  };
  notes->numbers[message->param] = entry->number;
  ++notes->n;
  counter_add(&player->counts.notes_played, 1U);
  if (message->n_frames) {
    WaitingMessage end = *entry; // in the place of the message, so that there is room
    end.message.kind = MESSAGE_NOTE_END;
    end.message.frame = at + message->n_frames;
    waiting_push(&player->waiting, end);
  }
}

/// Begin or end notes by a message.
static void
collect_note(Player* const player, const WaitingMessage* const entry, const uint64_t frame)
{
  const ParamMessage* const message = &entry->message;
  const bool is_end = message->kind == MESSAGE_NOTE_END;
  const int found = note_addressee(player, message);
  counter_add(&player->counts.notes_late, !is_end && !entry->is_late && message->frame < frame);
  if (found < 0) {
    counter_add(&player->counts.notes_dropped, !is_end);
    return;
  }
  if (!is_end) {
    player_report_message(player->reports, entry, message->frame > frame ? message->frame : frame);
  }
  const uint32_t index = (uint32_t)found;
  const NodeNotes* const notes = player->plan->nodes[index].node->notes;
  const bool is_all = message->kind == MESSAGE_NOTES_OFF;
  const uint32_t first = is_all ? 0U : message->param;
  const uint32_t end = is_all ? FX_KEYS : first + 1U;
  player->may_have_void_ends = player->may_have_void_ends || !is_end;
  for (uint32_t key = first; key < end && notes->n; ++key) {
    if (!is_end || notes->numbers[key] == entry->number) { // else another note has its key
      end_note(player, index, key, frame, message->frame);
    }
  }
  if (message->kind == MESSAGE_NOTE && message->value > 0.0) {
    begin_note(player, index, entry, frame);
  }
}

/// Put the changes that a MIDI event makes into the heap, where they are the next messages.
static void
collect_midi(Player* const player, const WaitingMessage* const entry)
{
  const MidiEvent event = midi_event_of_word(entry->message.param, entry->message.uid);
  ParamMessage changes[MIDI_MAX_CHANGES];
  uint32_t n_left = 0;
  uint32_t n = midi_changes(&player->decoder, player->plan, &event, changes, &n_left);
  for (; n > WAITING_MAX - waiting_n(&player->waiting); --n) {
    ++n_left;
  }
  for (uint32_t c = 0; c < n; ++c) {
    WaitingMessage change = *entry;
    change.message = changes[c];
    change.message.frame = entry->message.frame;
    change.order += 1U + c;
    waiting_push(&player->waiting, change);
  }
  counter_add(&player->counts.midi_dropped, n_left);
}

/// The largest number of events that a message may make.
static uint32_t
most_events(const ParamMessage* const message)
{
  switch (message->kind) {
  case MESSAGE_NOTE:
    return 2U; // the end of the last note of its key, and its own beginning
  case MESSAGE_NOTES_OFF:
    return FX_KEYS;
  case MESSAGE_MIDI:
    return 0U; // it becomes messages
  default:
    return 1U;
  }
}

/// Collect the changes of this block, in the order of their frames.
static void
collect_events(Player* const player, const uint64_t frame, const uint32_t n_frames)
{
  const uint32_t n_fades = player->fades.n; // a fade that begins counts as an event
  player->n_events = 0;
  const WaitingMessage* next = NULL;
  while ((next = waiting_next(&player->waiting)) && next->message.frame < frame + n_frames &&
         player->n_events + (player->fades.n - n_fades) + most_events(&next->message) <=
             PLAYER_MAX_EVENTS) {
    const WaitingMessage entry = waiting_pop(&player->waiting);
    if (entry.message.kind == MESSAGE_VALUE) {
      collect_value(player, &entry, frame);
    } else if (entry.message.kind == MESSAGE_SWITCH_OFF) {
      collect_switch_off(player, &entry, frame);
    } else if (entry.message.kind == MESSAGE_MIDI) {
      collect_midi(player, &entry);
    } else {
      collect_note(player, &entry, frame);
    }
  }
}

/// Apply a message between blocks, except a note.  What a MIDI event changes follows in the heap.
static void
apply(Player* const player, const WaitingMessage entry)
{
  const ParamMessage* const message = &entry.message;
  if (message->kind == MESSAGE_MIDI) {
    collect_midi(player, &entry);
    return;
  }
  const int off = message->kind == MESSAGE_SWITCH_OFF ? switch_addressee(player, &entry) : -1;
  if (off >= 0) {
    node_set(player->plan->nodes[off].node, message->param, message->value);
  }
  if (message->kind != MESSAGE_VALUE) {
    counter_add(&player->counts.notes_dropped,
                message->kind == MESSAGE_NOTE && message->value > 0.0);
    return;
  }
  double before = 0.0;
  const int index = accept(player, &entry, 0U, &before);
  if (index >= 0) {
    player_report_message(player->reports, &entry,
                          atomic_load_explicit(&player->next_frame, memory_order_relaxed));
    node_set(player->plan->nodes[index].node, message->param, message->value);
  }
}

void
player_apply(Player* const player, const ParamMessage* const message)
{
  apply(player, (WaitingMessage){ .message = *message, .number = ++player->n_received });
}

bool
player_replay(Player* const player, const ParamMessage* const message, const uint64_t number)
{
  make_room(player);
  if (waiting_n(&player->waiting) == WAITING_MAX) {
    return false;
  }
  waiting_push(&player->waiting,
               (WaitingMessage){ *message, number, next_order(player), false, false });
  return true;
}

void
player_drain(Player* const player, Ring* const messages)
{
  const uint64_t frame = atomic_load_explicit(&player->next_frame, memory_order_relaxed);
  for (receive(player, messages, frame); waiting_n(&player->waiting);
       receive(player, messages, frame)) {
    while (waiting_n(&player->waiting)) {
      apply(player, waiting_pop(&player->waiting));
    }
  }
  publish_reports(player, frame);
  fade_table_end_all(&player->fades);
  for (uint32_t n = 0; player->plan && n < player->plan->n_nodes; ++n) {
    node_end_notes(player->plan->nodes[n].node);
  }
  player_taps_end(&player->taps, player->plan); // another ring names them again
}

// ---- a block ----

void
player_give_midi(Player* const player, const MidiEvent* const events, const uint32_t n)
{
  player->midi = events;
  player->n_midi = n;
}

void
player_begin(Player* const player, Ring* const messages, const uint64_t frame,
             const uint32_t n_frames, float* const* const in, float* const* const out)
{
  rt_section_enter();
  BegunBlock* const block = begun_block(player, player->n_begun);
  *block = (BegunBlock){ .began_ns = time_now_ns(), .frame = frame, .n_frames = n_frames };
  take_offer(player, frame);
  if (messages) {
    receive(player, messages, frame);
    if (ring_taps_moved(messages)) {
      player_taps_move(&player->taps, player->plan, messages);
    }
  }
  receive_midi(player, frame, n_frames);
  collect_events(player, frame, n_frames);
  publish_reports(player, frame + n_frames); // before the effects run, which may crash the worker
  Plan* const plan = player->plan;
  for (uint32_t c = 0; c < plan->n_in; ++c) {
    plan->rows[c] = in[c];
  }
  for (uint32_t c = 0; c < plan->n_out; ++c) {
    plan->rows[plan->n_in + c] = out[c];
  }
  const StageChanges changes = { player->events, player->n_events, player->fades.fades,
                                 player->fades.n, frame };
  for (uint32_t s = 0; s < plan->n_stages; ++s) {
    const PlanStage* const stage = &plan->stages[s];
    stage->backend->stage_submit(stage->stage, n_frames, &changes);
    if (s + 1U < plan->n_stages) {
      collect(player, stage, block);
    } else {
      block->last = stage;
    }
  }
  fade_table_drop_ended(&player->fades, frame + n_frames);
  if (messages && player->taps.n) {
    player_taps_pass(&player->taps, messages);
  }
  ++player->n_begun;
  rt_section_leave();
}

bool
player_can_end(const Player* const player)
{
  const PlanStage* const last = player->begun[player->oldest].last;
  return !last || last->backend->stage_is_done(last->stage);
}

bool
player_end(Player* const player)
{
  rt_section_enter();
  BegunBlock* const block = begun_block(player, 0U);
  player->oldest = (player->oldest + 1U) % PLAYER_MAX_BEGUN;
  --player->n_begun;
  settle(player, block);
  atomic_store_explicit(&player->next_frame, block->frame + block->n_frames, memory_order_relaxed);
  counter_add(&player->counts.worker_blocks, 1U);
  const uint64_t now_ns = time_now_ns();
  const double share =
      (double)(now_ns - block->began_ns) * player->rate_hz / (1e9 * block->n_frames);
  load_add(&player->load, now_ns, share);
  counter_add(&player->counts.load[load_bucket(share)], 1U);
  rt_section_leave();
  return !block->has_failed;
}

bool
player_run(Player* const player, Ring* const messages, const uint64_t frame,
           const uint32_t n_frames, float* const* const in, float* const* const out)
{
  player_begin(player, messages, frame, n_frames, in, out);
  return player_end(player);
}
