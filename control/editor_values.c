// SPDX-License-Identifier: GPL-3.0-or-later
// Sets parameters of active nodes: in the engine, both documents and the history; reports them to
// the other clients.

#include "command.h"
#include "editor_private.h"
#include "scenes.h"
#include "tempo.h"

#include <math.h>
#include <stdlib.h>

#define STOP_SECONDS 0.005 // at least, from a message to the frame at which it stops fades

static double
engine_rate(const Editor* const editor)
{
  EngineStatus status;
  engine_status(editor->config.engine, &status);
  return status.rate_hz;
}

/// The engine's rate for a value in frames; 0 for any other value.
static double
rate_for(const Editor* const editor, const RackValue* const value)
{
  return value->kind == VALUE_FRAMES ? engine_rate(editor) : 0.0;
}

Status
editor_check_frames(const Editor* const editor, const Rack* const rack, Error* const error)
{
  EngineStatus engine;
  engine_status(editor->config.engine, &engine);
  return engine.rate_hz > 0.0 ? rack_check_rate(rack, engine.rate_hz, error) : STATUS_OK;
}

/// The engine's rate, if a change states a time; else 0.
static double
fade_rate(const Editor* const editor, const Changes* const changes)
{
  bool has_time = false;
  for (uint32_t c = 0; c < changes->n; ++c) {
    has_time = has_time || changes->items[c].seconds > 0.0;
  }
  return has_time ? engine_rate(editor) : 0.0;
}

/// The time of a change; 0 while no audio runs.
static uint32_t
fade_frames(const Change* const change, const double rate_hz)
{
  const double frames = nearbyint(change->seconds * rate_hz);
  return rate_hz > 0.0 && change->seconds > 0.0 ? (uint32_t)fmax(1.0, frames) : 0U;
}

/// Refuse values for a plugin of which a worker process knows other parameters.
static Status
check_effects(const Editor* const editor, const Changes* const changes, Error* const error)
{
  for (uint32_t c = 0; c < changes->n; ++c) {
    const RackNode* const node = rack_find_uid(editor->committed, changes->items[c].uid);
    if (node && fx_is_outdated(node->fx)) {
      EngineStatus engine;
      engine_status(editor->config.engine, &engine);
      return engine.worker == WORKER_IN_PROCESS
                 ? STATUS_OK
                 : error_set(error, STATUS_BAD_RACK,
                             "the plugin of %s has changed; read the rack again (/rack/load)",
                             node->name);
    }
  }
  return STATUS_OK;
}

/// ParamMessage::tempo_bpm of a value.
static double
followed_bpm(const RackNode* const node, const uint32_t param)
{
  return node->values[param].kind == VALUE_TEMPO ? node->tempo_bpm : 0.0;
}

/// True if later values of the same parameters may replace these on their way to the engine: they
/// have no time, and are not those of a scene, which change in one block.
static bool
may_merge(const Changes* const changes, const uint64_t frame)
{
  bool may = frame == 0U;
  for (uint32_t c = 0; c < changes->n && may; ++c) {
    const Message* const message = changes->items[c].message;
    may = changes->items[c].seconds <= 0.0 && message && !message->info->find;
  }
  return may;
}

void
editor_flush(Editor* const editor)
{
  pending_send_if_room(&editor->pending, editor->config.engine);
}

Status
editor_flush_now(Editor* const editor)
{
  return pending_send(&editor->pending, editor->config.engine);
}

Status
editor_send_values(Editor* const editor, const Changes* const changes, const uint64_t frame,
                   Error* const error)
{
  if (check_effects(editor, changes, error)) {
    return STATUS_BAD_RACK;
  }
  ParamMessage* const messages = malloc((changes->n + 1U) * sizeof(ParamMessage));
  if (!messages) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const double fade_rate_hz = fade_rate(editor, changes);
  const bool is_mergeable = may_merge(changes, frame);
  uint32_t n = 0;
  bool has_frames = false;
  for (uint32_t c = 0; c < changes->n; ++c) {
    const Change* const change = &changes->items[c];
    const RackNode* const node = rack_find_uid(editor->committed, change->uid);
    if (node) {
      const double rate_hz = rate_for(editor, &node->values[change->param]);
      has_frames = has_frames || rate_hz > 0.0;
      messages[n++] = (ParamMessage){ .frame = frame,
                                      .uid = change->uid,
                                      .param = change->param,
                                      .value = rack_number(node, change->param, rate_hz),
                                      .param_id = fx_param_hash(&node->fx->params[change->param]),
                                      .fade_frames = fade_frames(change, fade_rate_hz),
                                      .curve = change->curve,
                                      .tempo_bpm = followed_bpm(node, change->param) };
    }
  }
  if (has_frames && editor_check_frames(editor, editor->committed, error) != STATUS_OK) {
    free(messages);
    return STATUS_BAD_RACK;
  }
  Status status = is_mergeable ? STATUS_OK : editor_flush_now(editor);
  if (!status && n) {
    status = is_mergeable ? pending_add(&editor->pending, editor->config.engine, messages, n)
                          : engine_set(editor->config.engine, messages, n);
  }
  free(messages);
  return status == STATUS_OK
             ? STATUS_OK
             : error_set(error, status, "too many parameter changes wait for the engine");
}

bool
editor_is_stepping(const Editor* const editor)
{
  const CommandKind kind = editor->flight ? editor->flight->messages[0].info->kind : COMMAND_EDIT;
  return kind == COMMAND_UNDO || kind == COMMAND_REDO;
}

static bool
changes_anything(const Changes* const changes)
{
  for (uint32_t c = 0; c < changes->n; ++c) {
    const RackValue* const before = &changes->items[c].before;
    const RackValue* const after = &changes->items[c].after;
    if (before->kind != after->kind || before->number != after->number) {
      return true;
    }
  }
  return false;
}

/// True if values are no step of their own: they continue a gesture, belong to the document that an
/// undo or redo in flight restores, or are compared.  A recall is always a step, unless it changes
/// nothing.
static bool
is_no_step(Editor* const editor, const Bundle* const bundle, const Changes* const changes,
           const uint64_t now_ns)
{
  Change fader;
  const Changes faders = { .items = &fader, .n = 1, .capacity = 1 };
  const bool is_fader = scenes_fader(bundle, &fader) || tempo_fader(bundle, &fader);
  if (editor_is_stepping(editor) || scenes_compares(bundle)) {
    return true;
  }
  return scenes_recalls(bundle)
             ? !changes_anything(changes)
             : history_is_gesture(&editor->history, is_fader ? &faders : changes, now_ns);
}

/// Record values in the history.  `tempo`: the one before them.
static void
record(Editor* const editor, const Bundle* const bundle, const Changes* const changes,
       const RackTempo tempo, const uint64_t now_ns)
{
  Rack* const before =
      is_no_step(editor, bundle, changes, now_ns) ? NULL : rack_copy(editor->committed);
  if (!before) {
    return;
  }
  values_revert(before, changes);
  rack_set_tempo(before, tempo);
  if (scenes_recalls(bundle)) {
    history_edited(&editor->history, before);
  } else {
    history_set(&editor->history, before);
  }
}

/// Report a tempo that a bundle has set, in the candidate and to subscribers.
static void
spread_tempo(Editor* const editor, const Bundle* const bundle)
{
  ++editor->counts.revision; // values that were sent before their time may be others now
  if (editor->candidate) {
    rack_set_tempo(editor->candidate, editor->committed->tempo);
  }
  editor->config.events.tempo_changed(editor->config.events.context, &bundle->peer);
}

// ---- fades of recalls ----

/// Frames from the next block to the end of a stopped fade: the message arrives before it.
static uint64_t
stop_distance(const EngineStatus* const status)
{
  const uint64_t n_blocks = (uint64_t)(status->depth + 2U) * status->block_frames;
  const uint64_t least = (uint64_t)(STOP_SECONDS * status->rate_hz);
  return n_blocks > least ? n_blocks : least;
}

void
editor_find_fades(Editor* const editor, Bundle* const bundle)
{
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    Message* const message = &bundle->messages[m];
    if (scenes_stops(message)) {
      EngineStatus status;
      engine_status(editor->config.engine, &status);
      const uint64_t soon = engine_frame_now(editor->config.engine) + stop_distance(&status);
      bundle->frame = bundle->frame > soon ? bundle->frame : soon;
      message->fades = status.armed ? &editor->fades : NULL;
      message->stop_frame = bundle->frame;
    }
  }
}

/// Record the fades of a recall.  Any other value, also one without a bundle, takes its parameter
/// out of its fade.
static void
note_fades(Editor* const editor, const Bundle* const bundle, const Changes* const changes)
{
  const bool is_recall = bundle && scenes_recalls(bundle);
  const double rate_hz = is_recall ? fade_rate(editor, changes) : 0.0;
  if (rate_hz <= 0.0 && !editor->fades.n) {
    return;
  }
  const uint64_t now = engine_frame_now(editor->config.engine);
  for (uint32_t c = 0; c < changes->n; ++c) {
    const Change* const change = &changes->items[c];
    const RackNode* const node = rack_find_uid(editor->committed, change->uid);
    if (node) {
      const uint32_t param = change->param;
      const FxParam* const row = &node->fx->params[param];
      const double value_rate_hz = rate_for(editor, &change->before);
      const RackFade fade = { .uid = change->uid,
                              .param = param,
                              .param_id = fx_param_hash(row),
                              .from =
                                  rack_value_number(node, param, &change->before, value_rate_hz),
                              .to = rack_number(node, param, value_rate_hz),
                              .start = bundle ? bundle->frame : 0U,
                              .n_frames = fade_frames(change, rate_hz),
                              .curve = change->curve };
      rack_fades_note(&editor->fades, row, &fade, now);
    }
  }
}

// ---- documents ----

/// Record values that the engine has: in the candidate and in the history, and report them to
/// subscribers.  `tempo`: the one before them.
static void
spread_values(Editor* const editor, const Bundle* const bundle, const Changes* const changes,
              RackScene* const live, const RackTempo tempo, const uint64_t now_ns)
{
  if (editor->candidate) {
    values_repeat(editor->candidate, changes);
  }
  record(editor, bundle, changes, tempo, now_ns);
  note_fades(editor, bundle, changes);
  if (tempo_is_set(bundle)) {
    spread_tempo(editor, bundle);
  }
  if (scenes_recalls(bundle) || scenes_compares(bundle)) {
    ++editor->counts.revision; // values that were sent before their time may be others now
    if (editor->candidate) {
      scenes_mark(editor->candidate, bundle, live);
    }
    scenes_mark(editor->committed, bundle, live);
  }
  editor->counts.values_set += changes->n;
  const EditorEvents* const events = &editor->config.events;
  for (uint32_t c = 0; c < changes->n; ++c) {
    events->value_changed(events->context, changes->items[c].uid, changes->items[c].param,
                          scenes_are_used(bundle) ? NULL : &bundle->peer);
  }
}

/// Send values to the engine.  Values that it received before their time are sent again only if an
/// edit is in flight or has become active since, because that edit may have older values.
static Status
give_values(Editor* const editor, const Bundle* const bundle, const Changes* const changes,
            Error* const error)
{
  if (!bundle->is_sent) {
    return editor_send_values(editor, changes, bundle->frame, error);
  }
  const bool may_be_older = editor->candidate || bundle->sent_revision != editor->counts.revision;
  if (may_be_older && editor_send_values(editor, changes, bundle->frame, NULL)) {
    editor->counts.values_lost += changes->n;
  }
  return STATUS_OK;
}

Status
editor_set_values(Editor* const editor, const Bundle* const bundle, Targets* const targets,
                  const uint64_t now_ns, const Message** const failing, Error* const error)
{
  const Changes* const changes = &targets->changes;
  Rack* const rack = editor->committed;
  const RackTempo tempo = rack->tempo;
  RackScene* live = NULL;
  Status status = scenes_live(rack, bundle, &live, error);
  status = status ? status : values_set(rack, targets, failing, error);
  status = status ? status : tempo_set(rack, bundle, error);
  const bool changes_some = changes_anything(changes) || !rack_same_tempo(rack->tempo, tempo);
  if (status != STATUS_OK || (bundle->is_echo && !changes_some)) { // no edit came between
    rack_scene_drop(live);
    return status;
  }
  status = give_values(editor, bundle, changes, error);
  if (status == STATUS_OK) {
    spread_values(editor, bundle, changes, live, tempo, now_ns);
  } else {
    values_revert(rack, changes);
    rack_set_tempo(rack, tempo);
  }
  rack_scene_drop(live);
  return status;
}

bool
editor_follow_tempo(Editor* const editor, const double bpm)
{
  Rack* const rack = editor->committed;
  const EditorEvents* const events = &editor->config.events;
  const RackTempo before = rack->tempo;
  Changes followers = { .items = NULL };
  if (editor->flight) {
    return false; // it has the old tempo
  }
  rack_set_tempo(rack, (RackTempo){ bpm, before.source });
  Status status = tempo_add_followers(rack, &followers, NULL);
  status = status ? status : editor_send_values(editor, &followers, 0U, NULL);
  if (status) {
    rack_set_tempo(rack, before);
  } else {
    ++editor->counts.revision;
    editor->counts.values_set += followers.n;
    note_fades(editor, NULL, &followers);
    events->tempo_changed(events->context, NULL);
  }
  for (uint32_t c = 0; c < followers.n && !status; ++c) {
    events->value_changed(events->context, followers.items[c].uid, followers.items[c].param, NULL);
  }
  changes_clear(&followers);
  return !status;
}
