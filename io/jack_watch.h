// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Judges whether a JACK client gets its periods, from looks at three numbers that need no answer of
   the server: the periods that came, the server's time, and the clock.

   Looks are counted, not seconds: a program that was stopped, or a machine that slept, adds one
   look.  A look counts against the server only where it saw no period:

   - The server's time has gone on: the server plays, but not with this client (JACK_LEFT_OUT).
   - The server's time stands, too: the server is stopped, or is gone without a word, as PipeWire's
     is when its daemon ends (JACK_STANDS).  Only another client can tell which, see jack_probe.h.
*/
#ifndef WARPRACK_IO_JACK_WATCH_H
#define WARPRACK_IO_JACK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef enum JackVerdict {
  JACK_PLAYS,    ///< Or it is too early to tell
  JACK_LEFT_OUT, ///< For `patience` looks
  JACK_STANDS    ///< For 2 s and two periods, later for longer: probe it
} JackVerdict;

/// All zero before the first session.
typedef struct JackWatch {
  // Of this session
  uint64_t look_ns;   ///< When it was looked at last
  uint64_t played_ns; ///< The same, for a look that saw the server play, with us or without
  uint64_t periods;
  uint32_t time;      ///< The server's, in frames
  uint32_t n_skipped; ///< Looks since the last period at which the server's time had gone on
  uint32_t n_still;   ///< Looks since the last of either
  uint32_t n_good;    ///< Looks in a row that saw a new period
  uint32_t n_probes;  ///< Since the last period
  // Of all sessions
  uint64_t left_out_ns; ///< When one was given up because it was left out
  uint32_t patience;    ///< Looks until the next one is
  uint32_t calm;        ///< Looks until a server that stands is probed
} JackWatch;

/// A session begins, at the server's `time`. [main]
void jack_watch_begin(JackWatch* watch, uint32_t time, uint64_t now_ns);

/**
   Look, or wait for the time of the next look.  A verdict but JACK_PLAYS is repeated at every call
   until jack_watch_lost() or jack_watch_probed(). [main]

   @param periods Periods of this session.
   @param time jack_last_frame_time().
   @param period_frames, rate_hz The server's format.
*/
JackVerdict jack_watch_look(JackWatch* watch, uint64_t periods, uint32_t time,
                            uint32_t period_frames, double rate_hz, uint64_t now_ns);

/// The session is given up because it is left out: the next one gets more time. [main]
void jack_watch_lost(JackWatch* watch, uint64_t now_ns);

/// The server is being probed: not again at once. [main]
void jack_watch_probed(JackWatch* watch);

/// A probe found that the server lives, and that this session gets no period all the same: the next
/// probe comes later. [main]
void jack_watch_doubted(JackWatch* watch);

#endif
