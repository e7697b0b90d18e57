// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Detects that a JACK client gets no more periods.  Every 50 ms, inside io_poll(), it compares
   three numbers that need no answer of the server: the number of periods of this client, the
   server's time in frames, and the monotonic clock.  Such a comparison is a *check*.

   Time limits are numbers of checks, not seconds: a stopped program or a sleeping machine adds one
   check only.  A check without a new period is one of two cases:

   - The server's time has advanced: the server runs, but without this client (JACK_LEFT_OUT).
   - The server's time has not advanced either: the server is stopped, or has ended without
     notifying its clients, as PipeWire does (JACK_STANDS).  Only a second client can find out which
     (jack_probe.h).
*/
#ifndef WARPRACK_IO_QUIRKS_JACK_WATCH_H
#define WARPRACK_IO_QUIRKS_JACK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef enum JackVerdict {
  JACK_PLAYS,    ///< The client gets periods, or there were too few checks to decide
  JACK_LEFT_OUT, ///< `patience` checks without a period, though the server's time advanced
  JACK_STANDS    ///< `calm` checks and two periods without any progress: probe the server
} JackVerdict;

/// All zero before the first session.
typedef struct JackWatch {
  // Of this session
  uint64_t checked_ns; ///< Time of the last check
  uint64_t played_ns;  ///< Time of the last check with a new period or an advanced server time
  uint64_t periods;    ///< At the last check
  uint32_t time;       ///< The server's, in frames, at the last check with progress
  uint32_t n_skipped;  ///< Checks since the last period that found the server's time advanced
  uint32_t n_still;    ///< Checks since the last period, or the last advance of the server's time
  uint32_t n_good;     ///< Checks in a row that found a new period
  bool has_played;     ///< A check has found a new period
  uint32_t n_probes;   ///< Probes since the last period
  // Of all sessions
  uint64_t left_out_ns; ///< Time at which a session last ended because of JACK_LEFT_OUT
  uint32_t patience;    ///< Checks until JACK_LEFT_OUT: 250 ms, up to 64 s after repeated failures
  uint32_t calm;        ///< Checks until JACK_STANDS: 2 s, up to 16 s after probes that found it
                        ///< and no reason
} JackWatch;

/// Begin a session; `time` is the server's. [main]
void jack_watch_begin(JackWatch* watch, uint32_t time, uint64_t now_ns);

/**
   Check, if 50 ms have passed since the last check.  Every call returns JACK_LEFT_OUT until a
   period comes or the next session begins, and JACK_STANDS until the next progress or
   jack_watch_probed().  [main]

   @param periods Periods of this session.
   @param time jack_last_frame_time().
   @param period_frames, rate_hz The server's format.
*/
JackVerdict jack_watch_check(JackWatch* watch, uint64_t periods, uint32_t time,
                             uint32_t period_frames, double rate_hz, uint64_t now_ns);

/// Record that the caller ends the session because of JACK_LEFT_OUT: `patience` grows. [main]
void jack_watch_lost(JackWatch* watch, uint64_t now_ns);

/// Record that the caller probes the server: restart the count for JACK_STANDS. [main]
void jack_watch_probed(JackWatch* watch);

/// Record that the probe gets no period either: `calm` grows. [main]
void jack_watch_doubted(JackWatch* watch);

/// Record that the probe gets periods, so that another session follows.  If this one had none,
/// `calm` grows, because the next one may have none either; else the server has restarted. [main]
void jack_watch_replaced(JackWatch* watch);

#endif
