// SPDX-License-Identifier: GPL-3.0-or-later
// The state that a control server reports: the document and its warnings, the state of the audio,
// values.

#include "control_private.h"

#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- values and events ----

double
control_rate_hz(const Control* const control)
{
  EngineStatus status;
  engine_status(control->config.engine, &status);
  return status.rate_hz;
}

/// Send a parameter's value under an address of this group.
static size_t
say(Control* const control, const Peer* const peer, const size_t request_bytes,
    const NotifyKey* const key, const double rate, const char* const group,
    void (*const append)(lo_message*, const RackNode*, uint32_t, double))
{
  const RackNode* const node = rack_find_uid(editor_rack(control->editor), key->uid);
  if (!node) {
    return 0; // the node was removed
  }
  char address[PACKET_MAX_ADDRESS + 1U];
  snprintf(address, sizeof(address), "/%s/%s/%s", group, node->name,
           node->fx->params[key->param].id);
  lo_message arguments = lo_message_new();
  append(&arguments, node, key->param, rate);
  return outlet_send(&control->outlet, peer, request_bytes, address, arguments);
}

size_t
control_say_value(Control* const control, const Peer* const peer, const size_t request_bytes,
                  const NotifyKey* const key, const double rate)
{
  return say(control, peer, request_bytes, key, rate, "node", values_append);
}

size_t
control_say_norm(Control* const control, const Peer* const peer, const size_t request_bytes,
                 const NotifyKey* const key, const double rate)
{
  return say(control, peer, request_bytes, key, rate, "norm", values_append_norm);
}

/// True unless the parameter is a text, or the node is gone.
static bool
has_position(const Control* const control, const NotifyKey* const key)
{
  const RackNode* const node = rack_find_uid(editor_rack(control->editor), key->uid);
  return node && !fx_param_is_text(&node->fx->params[key->param]);
}

void
control_append_tempo(const Control* const control, lo_message* const arguments)
{
  const RackTempo tempo = editor_rack(control->editor)->tempo;
  outlet_add(arguments, "fs", tempo.bpm, rack_tempo_sources[tempo.source]);
}

static lo_message
event_arguments(const Control* const control, const NotifyEvent event)
{
  const EngineStatus* const engine = &control->engine;
  char text[ADVICE_BYTES];
  lo_message arguments = lo_message_new();
  switch (event) {
  case NOTIFY_RACK:
    outlet_add(&arguments, "i", (int32_t)editor_counts(control->editor).revision);
    break;
  case NOTIFY_LATENCY:
    outlet_add(&arguments, "i", (int32_t)engine->latency_frames);
    break;
  case NOTIFY_BACKEND:
    outlet_add(&arguments, "ss", engine->backend, engine->backend_note);
    break;
  case NOTIFY_WORKER:
    outlet_add(&arguments, "sis", worker_state_names[engine->worker], engine->worker_pid,
               engine->worker_note);
    break;
  case NOTIFY_QUARANTINE:
    outlet_add(&arguments, "s", engine->quarantine_note);
    break;
  case NOTIFY_SCANNED:
    outlet_add(&arguments, "iiis", control->scan.n_plugins, control->scan.n_unusable,
               control->scan.n_failed, control->scan.text);
    break;
  case NOTIFY_WARNING:
    advice_print(&control->advice, text);
    outlet_add(&arguments, "s", text);
    break;
  case NOTIFY_LEARNED:
    outlet_add(&arguments, "s", control->midi.learnt);
    break;
  case NOTIFY_TEMPO:
    control_append_tempo(control, &arguments);
    break;
  case NOTIFY_STARTED:
    outlet_add(&arguments, "ss", "warprack", WARPRACK_VERSION);
    break;
  case NOTIFY_TAKE:
    outlet_add(&arguments, "ss", control->takes.name, control->takes.reason);
    break;
  case NOTIFY_AUDIO:
    outlet_add(&arguments, "ss", control->audio.driver, control->audio.state);
    break;
  case N_NOTIFY_EVENTS:
    break;
  }
  return arguments;
}

void
control_say(void* const context, const Peer* const to, const NotifyKey* const key,
            const bool has_norm)
{
  Control* const control = context;
  const uint64_t n_failed = control->outlet.failed;
  if (key->uid == RACK_UID_NONE) {
    outlet_send(&control->outlet, to, 0, notify_address((NotifyEvent)key->param),
                event_arguments(control, (NotifyEvent)key->param));
  } else {
    const double rate = control_rate_hz(control);
    control_say_value(control, to, 0, key, rate);
    if (has_norm && has_position(control, key)) {
      control_say_norm(control, to, 0, key, rate);
    }
  }
  if (control->outlet.failed != n_failed) {
    streams_close_slow(&control->streams, to);
  }
}

// ---- the state of the audio ----

void
control_notify(Control* const control, const NotifyEvent event)
{
  notify_change(&control->notify, (NotifyKey){ RACK_UID_NONE, event }, NULL, control->now_ns);
}

/// After the engine has reverted a rack that crashed workers, continue with the active rack.
/// Returns false if out of memory.
static bool
follow_quarantine(Control* const control)
{
  Rack* const rack = engine_rack(control->config.engine);
  if (rack) {
    editor_taken_back(control->editor, rack);
    control_notify(control, NOTIFY_QUARANTINE);
  }
  return rack;
}

static void
check_engine(Control* const control)
{
  const EngineStatus before = control->engine;
  EngineStatus* const now = &control->engine;
  engine_status(control->config.engine, now);
  if (now->rack_latency_frames != before.rack_latency_frames) {
    control->config.latency_changed(control->config.context);
  }
  if (now->latency_frames != before.latency_frames) {
    control_notify(control, NOTIFY_LATENCY);
  }
  if (strcmp(now->backend, before.backend) != 0 ||
      strcmp(now->backend_note, before.backend_note) != 0) {
    control_notify(control, NOTIFY_BACKEND);
  }
  if (now->worker_pid != before.worker_pid || now->worker != before.worker ||
      strcmp(now->worker_note, before.worker_note) != 0) {
    control_notify(control, NOTIFY_WORKER);
  }
  if (now->worker_pid != before.worker_pid) {
    notes_ended(&control->notes);
  }
  if (now->nodes_quarantined != before.nodes_quarantined) {
    control_notify(control, NOTIFY_QUARANTINE);
  }
  if (now->quarantined != before.quarantined && !follow_quarantine(control)) {
    now->quarantined = before.quarantined; // the next check tries again
  }
}

/// Report the end of a scan for plugins.
static void
check_scan(Control* const control)
{
  const ControlPlugins* const plugins = control->config.plugins;
  const uint64_t n_before = control->scan.n_ended;
  if (plugins) {
    plugins->scanned(control->config.context, &control->scan);
  }
  if (control->scan.n_ended != n_before) {
    control_notify(control, NOTIFY_SCANNED);
  }
}

void
control_check_audio(Control* const control)
{
  const ControlAudio before = control->audio;
  control->config.audio(control->config.context, &control->audio);
  if (strcmp(before.driver, control->audio.driver) != 0 ||
      strcmp(before.state, control->audio.state) != 0) {
    control_notify(control, NOTIFY_AUDIO);
    notes_ended(&control->notes);
  }
  check_scan(control);
  check_engine(control);
}

// ---- the document ----

/// The number of the active document, which increases with each change, and with each scan, after
/// which the warnings of missing plugins may differ.
static uint64_t
document_number(const Control* const control)
{
  const EditorCounts counts = editor_counts(control->editor);
  return 1U + counts.revision + counts.values_set + control->n_scans_used;
}

const char*
control_rack_text(Control* const control)
{
  const uint64_t number = document_number(control);
  if (!control->rack_text || control->rack_text_of != number) {
    free(control->rack_text);
    control->rack_text = rack_print(editor_rack(control->editor));
    control->rack_text_of = number;
  }
  return control->rack_text;
}

void
control_advise(Control* const control, const Peer* const maker)
{
  char* fresh = NULL;
  if (!advice_update(&control->advice, editor_rack(control->editor), document_number(control),
                     control->engine.rate_hz, &fresh)) {
    return;
  }
  const NotifyKey key = { RACK_UID_NONE, NOTIFY_WARNING };
  notify_change(&control->notify, key, maker, control->now_ns);
  if (*fresh && maker && outlet_trusts(&control->outlet, maker)) {
    control_say(control, maker, &key, false);
  }
  if (*fresh && control->config.warned) {
    control->config.warned(control->config.context, fresh);
  }
  free(fresh);
}

void
control_report_rack(Control* const control)
{
  control_advise(control, NULL);
  const uint64_t number = document_number(control);
  const char* const text = control->config.active_rack && number != control->reported_rack
                               ? control_rack_text(control)
                               : NULL;
  if (text) {
    control->reported_rack = number;
    control->config.active_rack(control->config.context, editor_rack(control->editor),
                                strdup(text));
  }
}
