// SPDX-License-Identifier: GPL-3.0-or-later
// A busy machine may run the JACK server, but not a client of it for 250 ms.  Then the driver would
// reconnect once more than a test counts.  Tests that link this file never see JACK_LEFT_OUT.

#include "io/quirks/jack_watch.h"

JackVerdict __real_jack_watch_check(JackWatch* watch, uint64_t periods, uint32_t time,
                                    uint32_t period_frames, double rate_hz, uint64_t now_ns);
JackVerdict __wrap_jack_watch_check(JackWatch* watch, uint64_t periods, uint32_t time,
                                    uint32_t period_frames, double rate_hz, uint64_t now_ns);

JackVerdict
__wrap_jack_watch_check(JackWatch* const watch, const uint64_t periods, const uint32_t time,
                        const uint32_t period_frames, const double rate_hz, const uint64_t now_ns)
{
  const JackVerdict verdict =
      __real_jack_watch_check(watch, periods, time, period_frames, rate_hz, now_ns);
  return verdict == JACK_LEFT_OUT ? JACK_PLAYS : verdict;
}
