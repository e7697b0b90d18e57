// SPDX-License-Identifier: GPL-3.0-or-later
/// All data that the callback may access.  period_setup.c makes it; period.c and period_sound.c use
/// it in the callback, period_threads.c in other threads.
#ifndef WARPRACK_ENGINE_CALLBACK_PERIOD_STATE_H
#define WARPRACK_ENGINE_CALLBACK_PERIOD_STATE_H

#include "bridge.h"
#include "dry_line.h"
#include "dry_spans.h"
#include "feedback.h"
#include "follower.h"
#include "levels.h"
#include "listener.h"
#include "period.h"
#include "period_midi.h"

#include "engine/contract/guard.h"

#include <pthread.h>
#include <stdatomic.h>

#define PERIOD_MAX_DEPTH 2U
#define PERIOD_HISTORY   4U         // stored blocks, more than PERIOD_MAX_DEPTH
#define PERIOD_NO_BLOCK  UINT64_MAX // an invalid sequence number

/// The counters of a PeriodPort, written by one thread and read by others.
typedef struct PeriodPortCounters {
  _Atomic uint64_t bad, denormal, clipped;
} PeriodPortCounters;

/// Rows of [block] frames for intermediate signals.
typedef struct PeriodRows {
  float *silence, *input, *mixed, *dry, *other_tap, *gains;
} PeriodRows;

typedef enum Sound {
  SOUND_SILENCE,
  SOUND_WET,
  SOUND_FALLBACK, ///< With the bridge while it is open
  SOUND_FALLBACK_TO_WET
} Sound;

/// The fallback of one output.
typedef struct PeriodFallback {
  _Atomic uint64_t wanted; ///< Written by other threads: see period_set_fallbacks()
  uint64_t taken;          ///< The value of `wanted` that the callback has taken over
  Fallback set;            ///< [setter] Unpacked `wanted`
  Follower follower;
  float gain; ///< Gain of the dry signal at the end of the last late block
} PeriodFallback;

/// The exchange of rings; see period_offer_ring().
typedef struct PeriodExchange {
  _Atomic(Ring*) offered; ///< From the control side, until the callback takes it
  _Atomic(Ring*) left;    ///< From the callback, until the control side collects it
  pthread_mutex_t mutex;  ///< Held by the control side's calls, never by the callback
  Ring *newest, *before;  ///< [mutex held] The ring offered last (or the first ring); the one
                          ///< before it
} PeriodExchange;

#define PERIOD_ALL_FRESH (UINT64_C(1) << 32U)

struct Period {
  PeriodConfig config;
  Ring* ring; ///< The current one
  RingShape shape;
  uint32_t base_latency_frames; ///< depth * block
  uint32_t fade_frames;
  float* row_memory;
  PeriodRows rows;
  DryLine* dry_line;
  Bridge* bridge;
  PeriodFallback* fallbacks; ///< [n_out]
  Feedback* feedback;

  uint64_t frame;                     ///< Frame time of the next slice
  uint64_t n_blocks;                  ///< Blocks since the start or the last odd period
  uint64_t submitted[PERIOD_HISTORY]; ///< Sequence numbers by n_blocks; PERIOD_NO_BLOCK if dropped
  uint64_t due;                       ///< Sequence number of the block that is due
  GuardCounts* wet;                   ///< [n_out] of that block; see period_take_wet()
  bool is_wet;
  bool is_short;          ///< In a gap: wet returns at once if a block is on time while the bridge
                          ///< is open
  uint32_t n_good;        ///< Blocks on time in a row, at most FALLBACK_GOOD_BLOCKS + 1
  uint64_t n_fresh;       ///< Frames of good blocks since the ring was taken; PERIOD_ALL_FRESH or
                          ///< more: it is the first ring, or more than any latency
  uint32_t tap, next_tap; ///< Rack latency of the dry signal, now and after this block
  uint32_t n_faded;       ///< 0: full level, fade_frames: silent

  GuardCurve curve;
  PeriodPortCounters* ports; ///< [n_in + n_out]
  Levels* levels;
  _Atomic(Listener*) listeners[LISTEN_ALL]; ///< NULL after the last one; made when first used
  Listener* listening[LISTEN_ALL];          ///< [rt] [n_listening] those of this block
  uint32_t n_listening;
  PeriodMidi* midi;
  uint64_t past_faults; ///< Of past rings

  PeriodCounters counters;
  PeriodExchange exchange;
  // Written by other threads.
  _Atomic uint32_t rack_latency_frames;
  _Atomic bool fade_to_silence;
  // Written by period_run(); publish_clock() explains clock_version.
  _Atomic bool is_silent;
  _Atomic uint32_t clock_version;
  _Atomic uint64_t clock_frame, clock_ns;
};

/// The counters of one port. [any]
PeriodPortCounters* period_port_counters(const Period* period, bool is_output, uint32_t channel);

/// Add a guard's counts to the counters of a port and to the sums. [rt]
REALTIME void
period_count_guard(Period* period, bool is_output, uint32_t channel, const GuardCounts* met);

#define PERIOD_FOLLOWS (UINT64_C(1) << 32U)

/// Pack a fallback into one word: the bits of the level, PERIOD_FOLLOWS, and above them `version`,
/// so that an equal fallback makes a different word. [any]
uint64_t period_pack_fallback(uint64_t version, const Fallback* fallback);

/// Copy the due block to the outputs out[n_out], from frame `first` on, without NaN and denormals,
/// and measure it: the only pass over memory that the worker writes.  False if most samples are NaN
/// or Inf; counts them in that case. [rt]
REALTIME bool period_take_wet(Period* period, float* const* out, uint32_t first);

/// Begin a gap in the wet signal: open a bridge and analyse all outputs. [rt]
REALTIME void period_begin_gap(Period* period);

/// The samples of output channel c in this block, before fade and guard; valid until the next call.
/// `wet`: the due block as period_take_wet() has copied it; a wet block is that row itself.  Call
/// it once for each channel. [rt]
REALTIME const float* period_sound_row(Period* period, Sound sound, uint32_t c, const float* wet);

#endif
