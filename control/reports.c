// SPDX-License-Identifier: GPL-3.0-or-later
// The reports of the worker.

#include "reports.h"

#include "control_private.h"
#include "takes.h"

#define REPORTS_AT_ONCE 256U
#define MOST_READS      40U // more than the ring holds; a faulty worker may write without an end

/// Keep a value for the document, where it replaces an older one of its parameter.
static void
add_heard(HeardValues* const heard, const ParamMessage* const value)
{
  uint32_t h = 0;
  while (h < heard->n &&
         (heard->values[h].uid != value->uid || heard->values[h].param != value->param)) {
    ++h;
  }
  heard->values[h] = (ParamMessage){ .frame = value->frame,
                                     .uid = value->uid,
                                     .param = value->param,
                                     .value = value->value,
                                     .kind = MESSAGE_HEARD };
  heard->n += h == heard->n;
}

void
reports_read(Control* const control)
{
  RingReport read[REPORTS_AT_ONCE];
  uint32_t n = REPORTS_AT_ONCE;
  for (uint32_t i = 0;
       i < MOST_READS && n == REPORTS_AT_ONCE && control->heard.n <= HEARD_MAX - REPORTS_AT_ONCE;
       ++i) {
    const EngineReports reports = engine_reports(control->config.engine, read, REPORTS_AT_ONCE);
    takes_record(control, &reports, read);
    n = reports.n;
    for (uint32_t r = 0; r < n; ++r) {
      if (read[r].kind == REPORT_VALUE && read[r].flags & REPORT_MIDI) {
        add_heard(&control->heard, &read[r].message);
      }
    }
  }
}

void
reports_hear(Control* const control)
{
  editor_hear(control->editor, control->heard.values, control->heard.n, control->now_ns);
  control->heard.n = 0;
}
