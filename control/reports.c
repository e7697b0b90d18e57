// SPDX-License-Identifier: GPL-3.0-or-later
// The reports of the worker.

#include "reports.h"

#include "control_private.h"
#include "takes.h"

#include "engine/base/time.h"

#define REPORTS_AT_ONCE 256U
#define RECENT_NS       NS_PER_S // longer than a value is on its way to the worker
#define MOST_READS      40U // more than the ring holds; a faulty worker may write without an end

/// The index of a parameter among the values that wait; MidiValues::n if it has none.
static uint32_t
find_value(const MidiValues* const values, const RackUid uid, const uint32_t param)
{
  uint32_t v = 0;
  while (v < values->n &&
         (values->of[v].message.uid != uid || values->of[v].message.param != param)) {
    ++v;
  }
  return v;
}

/// Keep a value for the document, where it replaces an older one of its parameter.
static void
add_value(MidiValues* const values, const ParamMessage* const message, const uint64_t ring)
{
  const uint32_t v = find_value(values, message->uid, message->param);
  values->of[v].message = (ParamMessage){
    .uid = message->uid, .param = message->param, .value = message->value, .kind = MESSAGE_VALUE
  };
  values->of[v].ring = ring;
  values->n += v == values->n;
}

// ---- values of clients that arrive after those of MIDI ----

static MidiRecent*
find_recent(MidiValues* const values, const RackUid uid, const uint32_t param)
{
  MidiRecent* found = NULL;
  for (uint32_t r = 0; r < MIDI_RECENTS_MAX && !found; ++r) {
    MidiRecent* const recent = &values->recents[r];
    found = recent->until_ns && recent->uid == uid && recent->param == param ? recent : NULL;
  }
  return found;
}

static void
add_recent(MidiValues* const values, const ParamMessage* const value, const uint64_t until_ns)
{
  MidiRecent* recent = find_recent(values, value->uid, value->param);
  if (!recent) {
    recent = &values->recents[values->next_recent];
    values->next_recent = (values->next_recent + 1U) % MIDI_RECENTS_MAX;
  }
  *recent = (MidiRecent){ value->uid, value->param, until_ns };
  values->recent_until_ns = until_ns;
}

/// True if a client's value has replaced one of MIDI in the worker that the document still has: the
/// client sent it before the server knew of MIDI's.
static bool
overrides_midi(MidiValues* const values, const ParamMessage* const value, const uint64_t now_ns)
{
  if (find_value(values, value->uid, value->param) < values->n) {
    return true;
  }
  const MidiRecent* const recent =
      now_ns < values->recent_until_ns ? find_recent(values, value->uid, value->param) : NULL;
  return recent && now_ns < recent->until_ns;
}

void
reports_forget(Control* const control, const RackUid uid, const uint32_t param)
{
  MidiValues* const values = &control->midi_values;
  const uint32_t v = find_value(values, uid, param);
  if (v < values->n) {
    values->of[v] = values->of[--values->n];
  }
  MidiRecent* const recent =
      control->now_ns < values->recent_until_ns ? find_recent(values, uid, param) : NULL;
  if (recent) {
    recent->until_ns = 0U;
  }
}

void
reports_forget_all(Control* const control)
{
  control->midi_values.recent_until_ns = 0U;
}

// ---- events that no worker has run ----

bool
reports_value(const Control* const control, const RackUid uid, const uint32_t param,
              double* const value)
{
  const MidiValues* const values = &control->midi_values;
  const uint32_t v = find_value(values, uid, param);
  *value = v < values->n ? values->of[v].message.value : *value;
  return v < values->n;
}

void
reports_add(Control* const control, const ParamMessage* const value)
{
  if (control->midi_values.n == MIDI_VALUES_MAX) {
    reports_apply(control);
  }
  add_value(&control->midi_values, value, 0U);
}

// ---- a round ----

/// Take what concerns MIDI.
static void
take_report(Control* const control, const RingReport* const report, const uint64_t ring)
{
  MidiValues* const values = &control->midi_values;
  if (report->kind == REPORT_EVENTS) {
    const uint64_t frame = report->message.frame;
    if (frame <= engine_frame_now(control->config.engine)) { // the worker may write anything
      control->midi.run_frame = frame;
    }
  } else if (report->kind == REPORT_VALUE &&
             ((report->flags & REPORT_MIDI) ||
              overrides_midi(values, &report->message, control->now_ns))) {
    add_value(values, &report->message, ring);
  }
}

bool
reports_read(Control* const control)
{
  RingReport read[REPORTS_AT_ONCE];
  bool has_more = true;
  for (uint32_t i = 0;
       i < MOST_READS && has_more && control->midi_values.n <= MIDI_VALUES_MAX - REPORTS_AT_ONCE;
       ++i) {
    const EngineReports reports = engine_reports(control->config.engine, read, REPORTS_AT_ONCE);
    takes_record(control, &reports, read);
    has_more = reports.n || reports.n_lost;
    for (uint32_t r = 0; r < reports.n; ++r) {
      take_report(control, &read[r], reports.ring);
    }
  }
  return !has_more;
}

void
reports_apply(Control* const control)
{
  MidiValues* const values = &control->midi_values;
  const uint32_t n = values->n;
  values->n = 0; // editor_take_midi() calls reports_forget()
  editor_take_midi(control->editor, values->of, n, control->now_ns);
  for (uint32_t v = 0; v < n; ++v) {
    if (values->of[v].ring) {
      add_recent(values, &values->of[v].message, control->now_ns + RECENT_NS);
    }
  }
}
