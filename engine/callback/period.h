// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What happens in one period of the audio driver, on the driver's own thread: copy in, submit, take
   the block that is due, decide between wet and dry, guard, copy out.

   Latency: a block comes out `depth` periods after it went in.  depth 0 waits for its own block, up
   to a deadline.  A block that is not finished when it is due is *late*, and its outputs go to
   their *fallback*: the input, delayed by exactly the latency of the wet path, at a level of the
   output's own, or silence (fallback.h).  The way there is a *bridge* of three blocks, 20 ms at
   most (bridge.h): the outputs go on as they were and fade into the fallback.

     wet ─late─▶ bridge ───────▶ fallback, until 8 blocks in a row were on time
      ▲            │ the next block is on time,      │
      │            │ and 8 were before the gap       │
      └─ one block fades to wet ◀────────────────────┘

   So one late block, with eight good ones before it, is bridged, and the next one is wet again; a
   worker that is late now and then is not heard in pieces.  Late results are dropped, never played
   late.  A block that came back in time but without sound (a device has failed, or most of its
   samples are NaN or Inf), as another block than the one that is due (the worker is out of step),
   or not at all, with the ring that it was in, is treated as a late one is, but for the short way
   back: its worker may start again.  First and
   last in the chain, always: NaN, Inf and denormals become 0, and what leaves is limited to the
   ceiling (guard.h); all of it is counted, in sum and for each port.

   The worker may be another process, which may die, hang, or write anything anywhere in the ring's
   region.  ring.h lists what that can do; here, what it made is copied away first, and what leaves
   is guarded after that.  A dead worker's ring is abandoned at once, which plays dry, and exchanged
   for another when there is a new worker:

     period_abandon(period);
     old = period_collect_ring(period);                 // left by an earlier exchange, or NULL
     old = period_offer_ring(period, ring_of_the_next); // an offer that was never taken, or NULL
*/
#ifndef WARPRACK_ENGINE_CALLBACK_PERIOD_H
#define WARPRACK_ENGINE_CALLBACK_PERIOD_H

#include "engine/base/status.h"
#include "engine/contract/counters.h"
#include "engine/contract/fallback.h"
#include "engine/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

#define PERIOD_GOOD_BLOCKS 8U // blocks on time, in a row, before the wet signal comes back

typedef struct PeriodConfig {
  Ring* ring; ///< The first one.  Borrowed until it is collected, or period_free()
  double rate_hz;
  uint64_t first_frame;        ///< Frame time of the first block
  uint32_t depth;              ///< 0, 1 or 2
  double deadline;             ///< depth 0: fraction of the period to wait, usually 0.75
  Fallback fallback;           ///< Of every output, until period_set_fallbacks()
  float ceiling;               ///< Largest absolute sample that leaves, linear, 1e-6..1e3; 0: none
  uint32_t max_latency_frames; ///< Of the rack; sizes the dry delay line
} PeriodConfig;

typedef struct Period Period;

NODISCARD Status // [main]
period_new(const PeriodConfig* config, Period** out, Error* error);

/// Free a period.  Accepts NULL.  The driver must have stopped calling period_run(). [main]
void period_free(Period* period);

/**
   One period.

   @param in [n_in] pointers to n_frames samples; NULL pointers are silence.
   @param out [n_out] pointers to n_frames samples, all written.
   @param n_frames A multiple of the ring's block is processed in slices; 0 does nothing; anything
   else gives silence and is counted, and so do the `depth` blocks after it: the pipeline starts
   afresh.
   @param wait Wait for the block that is due, however long (freewheel, offline): nothing is ever
   late or dropped, and wet comes back at once.

   The calling thread flushes denormals from then on.
*/
REALTIME void // [rt]
period_run(Period* period, const float* const* in, float* const* out, uint32_t n_frames, bool wait);

/// The rack's own latency, max_latency_frames at most: the dry signal is delayed by depth * block +
/// this; a change cross-fades over one block. [any]
void period_set_latency(Period* period, uint32_t rack_latency_frames);

/// What the first n outputs play while blocks are late.  One that follows goes on from the level
/// that it has reached, unless the new one differs by more than 1 dB from the one set before: then
/// the rack is another one.  [one thread at a time]
void period_set_fallbacks(Period* period, const Fallback* fallbacks, uint32_t n);

/// Start to fade the output to silence (over about 50 ms), or back; true once it is silent. [any]
void period_fade(Period* period, bool to_silence);
bool period_is_silent(const Period* period);

/// Frame time that the next period will carry, and the monotonic time (ns) when the last one began.
/// [any]
void period_clock(const Period* period, uint64_t* next_frame, uint64_t* began_ns);

PeriodCounts // [any]
period_counts(const Period* period);

/// Zeros for a channel that is not there. [any]
PeriodPort period_port(const Period* period, bool is_output, uint32_t channel);

// ---- another ring ----

/**
   Let the callback go on with another ring, from its next period.  What is in flight in the present
   one is lost; if that was heard, it fades to dry in that block, and wet comes back as after any
   miss.  Frame time goes on without a gap.  Put off while a ring waits to be collected. [any but
   rt]

   @param ring Of the same shape; borrowed until it is collected, given back here, or period_free().
   NULL takes an offer back.
   @return The offer before, if the callback has not taken it: now the caller's again.  Else NULL.
*/
Ring* period_offer_ring(Period* period, Ring* ring);

/// The ring that the callback has left since the last call: now the caller's again.  Else NULL.  To
/// be called until an offer is taken: that may be put off for what was left meanwhile.
/// [any but rt]
Ring* period_collect_ring(Period* period);

/// The worker behind the present ring is gone: from now on nothing is submitted to it and nothing
/// waits for it, nor is the futex called; a wait in progress ends within a few milliseconds.  The
/// callback plays dry until it has taken an offer.  An offer that is open stays as it is: take it
/// back if its worker is gone, too. [any but rt]
void period_abandon(Period* period);

#endif
