// SPDX-License-Identifier: GPL-3.0-or-later
// The reports of the worker.

#include "reports.h"

#include "control_private.h"
#include "takes.h"

#include "engine/base/time.h"

#define REPORTS_AT_ONCE 256U
#define RECENT_NS       NS_PER_S // longer than a value is on its way to the worker
#define MOST_READS      40U // more than the ring holds; a faulty worker may write without an end

/// The place of a parameter among the values that wait; HeardValues::n if it has none.
static uint32_t
find_heard(const HeardValues* const heard, const RackUid uid, const uint32_t param)
{
  uint32_t h = 0;
  while (h < heard->n && (heard->values[h].uid != uid || heard->values[h].param != param)) {
    ++h;
  }
  return h;
}

/// Keep a value for the document, where it replaces an older one of its parameter.
static void
add_heard(HeardValues* const heard, const ParamMessage* const value)
{
  const uint32_t h = find_heard(heard, value->uid, value->param);
  heard->values[h] = (ParamMessage){ .frame = value->frame,
                                     .uid = value->uid,
                                     .param = value->param,
                                     .value = value->value,
                                     .kind = MESSAGE_VALUE };
  heard->n += h == heard->n;
}

/// Note which worker has set the value that was kept last.  If two workers have set some, no worker
/// has set all.
static void
set_ring(HeardValues* const heard, const uint64_t ring)
{
  heard->ring = heard->n == 1U || ring == heard->ring ? ring : 0U;
}

// ---- values of clients that arrive after those of MIDI ----

static HeardRecent*
find_recent(HeardValues* const heard, const RackUid uid, const uint32_t param)
{
  HeardRecent* found = NULL;
  for (uint32_t r = 0; r < HEARD_RECENTS && !found; ++r) {
    HeardRecent* const recent = &heard->recents[r];
    found = recent->until_ns && recent->uid == uid && recent->param == param ? recent : NULL;
  }
  return found;
}

static void
add_recent(HeardValues* const heard, const ParamMessage* const value, const uint64_t until_ns)
{
  HeardRecent* recent = find_recent(heard, value->uid, value->param);
  if (!recent) {
    recent = &heard->recents[heard->next_recent];
    heard->next_recent = (heard->next_recent + 1U) % HEARD_RECENTS;
  }
  *recent = (HeardRecent){ value->uid, value->param, value->frame, until_ns };
  heard->recent_until_ns = until_ns;
}

/// True if a client's value has replaced one of MIDI in the worker that the document still has: the
/// client sent it before the server knew of MIDI's.
static bool
overrides_midi(HeardValues* const heard, const ParamMessage* const value, const uint64_t now_ns)
{
  if (find_heard(heard, value->uid, value->param) < heard->n) {
    return true;
  }
  const HeardRecent* const recent =
      now_ns < heard->recent_until_ns ? find_recent(heard, value->uid, value->param) : NULL;
  return recent && now_ns < recent->until_ns;
}

void
reports_forget(Control* const control, const RackUid uid, const uint32_t param)
{
  HeardValues* const heard = &control->heard;
  const uint32_t h = find_heard(heard, uid, param);
  if (h < heard->n) {
    heard->values[h] = heard->values[--heard->n];
  }
  HeardRecent* const recent =
      control->now_ns < heard->recent_until_ns ? find_recent(heard, uid, param) : NULL;
  if (recent) {
    recent->until_ns = 0U;
  }
}

void
reports_forget_all(Control* const control)
{
  control->heard.recent_until_ns = 0U;
}

// ---- events that no worker has run ----

uint64_t
reports_newest(Control* const control, const RackUid uid, const uint32_t param,
               double* const present)
{
  HeardValues* const heard = &control->heard;
  const uint32_t h = find_heard(heard, uid, param);
  if (h < heard->n) {
    *present = heard->values[h].value;
    return heard->values[h].frame;
  }
  const HeardRecent* const recent =
      control->now_ns < heard->recent_until_ns ? find_recent(heard, uid, param) : NULL;
  return recent && control->now_ns < recent->until_ns ? recent->frame : 0U;
}

void
reports_add(Control* const control, const ParamMessage* const value)
{
  if (control->heard.n < HEARD_MAX) {
    add_heard(&control->heard, value);
    set_ring(&control->heard, 0U);
  }
}

// ---- a round ----

bool
reports_read(Control* const control)
{
  RingReport read[REPORTS_AT_ONCE];
  bool has_more = true;
  for (uint32_t i = 0;
       i < MOST_READS && has_more && control->heard.n <= HEARD_MAX - REPORTS_AT_ONCE; ++i) {
    const EngineReports reports = engine_reports(control->config.engine, read, REPORTS_AT_ONCE);
    takes_record(control, &reports, read);
    has_more = reports.n || reports.n_lost;
    for (uint32_t r = 0; r < reports.n; ++r) {
      const ParamMessage* const message = &read[r].message;
      if (read[r].kind == REPORT_VALUE &&
          ((read[r].flags & REPORT_MIDI) ||
           overrides_midi(&control->heard, message, control->now_ns))) {
        add_heard(&control->heard, message);
        set_ring(&control->heard, reports.ring);
      }
    }
  }
  return !has_more;
}

void
reports_hear(Control* const control)
{
  HeardValues* const heard = &control->heard;
  const uint32_t n = heard->n;
  heard->n = 0; // editor_hear() calls reports_forget()
  editor_hear(control->editor, heard->values, n, heard->ring, control->now_ns);
  for (uint32_t h = 0; h < n; ++h) {
    add_recent(heard, &heard->values[h], control->now_ns + RECENT_NS);
  }
}
