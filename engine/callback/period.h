// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One period of the audio driver, on the driver's own thread: copy in, submit, take the block that
   is due, choose between wet and dry, guard, copy out.

   Latency: a block is played `depth` blocks after its input.  At depth 0 the callback waits for the
   block itself, up to a deadline.  A block that is not finished when it is due is *late*, and the
   outputs change to their *fallback*: the input, delayed by exactly the latency of the wet path, at
   the level of the output, or silence (fallback.h).  The transition is a *bridge* of three blocks,
   at most 20 ms (bridge.h): it continues the outputs and fades into the fallback.

     wet ─late─▶ bridge ───────▶ fallback, until 8 blocks in a row were on time
      ▲            │ the next block is on time,      │
      │            │ and 8 were before the gap       │
      └─ one block fades to wet ◀────────────────────┘

   One late block after eight good ones is therefore bridged, and the next block is wet again.  If
   the worker is often late, the callback plays the fallback without interruption.  The callback
   drops late results.  These blocks count as late too, but without the short way back, because
   their worker may restart: an invalid block (a device has failed, or most samples are NaN or Inf),
   a block with the wrong sequence number, and a block that is lost with its ring.  The first and
   the last step of the chain are guards.  They replace NaN, Inf and denormals by 0, and limit the
   output to the ceiling (guard.h); they count these samples in total and for each port.

   The worker may be another process, which may die, hang, or write anything to the ring's region.
   ring.h lists the possible effects.  The callback copies the worker's output and guards the copy.
   When a worker is lost, the supervisor abandons its ring at once, and the callback plays the
   fallbacks.  When there is a new worker, the supervisor exchanges the ring:

     period_abandon(period);
     old = period_collect_ring(period);                 // left by an earlier exchange, or NULL
     old = period_offer_ring(period, ring_of_the_next); // an offer that was never taken, or NULL

   The next worker has not processed the input of before: during its first frames, as many as the
   latency of the rack, its output is silent or incomplete, and the outputs play their fallbacks.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_PERIOD_H
#define WARPRACK_ENGINE_CALLBACK_PERIOD_H

#include "dry_spans.h"
#include "listener.h"
#include "midi_queue.h"

#include "engine/base/midi_period.h"
#include "engine/base/status.h"
#include "engine/contract/counters.h"
#include "engine/contract/fallback.h"
#include "engine/contract/level.h"
#include "engine/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct PeriodConfig {
  Ring* ring; ///< The first ring.  Borrowed until it is collected, or period_free()
  double rate_hz;
  uint64_t first_frame;        ///< Frame time of the first block
  uint32_t depth;              ///< 0, 1 or 2
  double deadline_fraction;    ///< depth 0: fraction of the period to wait, usually 0.75
  Fallback fallback;           ///< Of every output, until period_set_fallbacks()
  float ceiling_lin;           ///< Largest absolute output sample, linear, 1e-6..1e3; 0: no limit
  uint32_t max_latency_frames; ///< Largest latency of a rack; sets the length of the dry delay line
  bool is_silent;              ///< Begin silent, as after period_fade(…, true)
  DrySpans* dry_spans;         ///< Receives the spans in which the outputs play their fallbacks;
                               ///< borrowed; NULL: nobody asks
} PeriodConfig;

typedef struct Period Period;

NODISCARD Status // [main]
period_new(const PeriodConfig* config, Period** out, Error* error);

/// Free a period.  Accepts NULL.  The driver must have stopped calling period_run(). [main]
void period_free(Period* period);

/**
   Process one period.

   @param in [n_in] pointers to n_frames samples; NULL pointers are silence.
   @param out [n_out] pointers to n_frames samples; all are written.
   @param n_frames A multiple of the ring's block is processed block by block; 0 does nothing.  Any
   other number plays silence and is counted, and the `depth` blocks after it are silent too,
   because the pipeline restarts.
   @param wait Wait for the due block without a limit (freewheel, offline): no block is late or
   dropped, and wet returns at once.

   Sets the calling thread to flush denormals.
*/
REALTIME void // [rt]
period_run(Period* period, const float* const* in, float* const* out, uint32_t n_frames, bool wait);

/// The MIDI of the next period_run(), which fills in MidiPeriod::out.  Without this call the period
/// has none. [rt]
REALTIME void period_set_midi(Period* period, MidiPeriod* midi);

/// Set the rack's own latency, at most max_latency_frames.  The dry signal is delayed by depth *
/// block + this latency; a change cross-fades over one block. [any]
void period_set_latency(Period* period, uint32_t rack_latency_frames);

/// Set the fallbacks of the first n outputs.  A following level continues from its current value.
/// It restarts if the new initial level differs by more than 1 dB from the one set before, because
/// then the rack has changed. [one thread at a time]
void period_set_fallbacks(Period* period, const Fallback* fallbacks, uint32_t n);

/// Start to fade the outputs to silence, in about 50 ms, or back. [any]
void period_fade(Period* period, bool to_silence);

/// True when the fade to silence has ended. [any]
bool period_is_silent(const Period* period);

/// Frame time of the next period, and the monotonic time (ns) at which the last period began. [any]
void period_clock(const Period* period, uint64_t* next_frame, uint64_t* began_ns);
uint64_t period_next_frame(const Period* period);

/// Frame time of a monotonic time (ns), not before the next period. [any]
uint64_t period_frame_at(const Period* period, uint64_t monotonic_ns);

PeriodCounts // [any]
period_counts(const Period* period);

/// Counters and attenuation of a port; zeros for a channel that does not exist. [any]
PeriodPort period_port(const Period* period, bool is_output, uint32_t channel);

/// Collect the levels of the ports: see levels_collect().  An output's is that of the samples that
/// leave. [one thread at a time]
bool period_levels(Period* period, PortLevels* to);

/// Listen to ports: see listener_take().  The first call with a `listener` below LISTEN_ALL
/// allocates its memory.  Returns 0 if there is none. [one thread at a time]
uint32_t period_listen(Period* period, uint32_t listener, const PortRange* ports, float* samples,
                       uint32_t max_frames, uint64_t* n_lost);

/// Frame time of the first frame of these ports that period_listen() has returned. [as that]
uint64_t period_listen_start(const Period* period, uint32_t listener);

/// Take a listener out of a period, with what it has recorded; the caller frees it.  NULL if it was
/// never used. [after the last period]
Listener* period_take_listener(Period* period, uint32_t listener);

/// True once a period had MIDI. [any]
bool period_has_midi(const Period* period);

/// Take at most `max` MIDI events that have come, oldest first. [one thread at a time]
uint32_t period_take_midi(Period* period, QueuedMidi* came, uint32_t max);

/// Call it when the parameters of all events that were taken are set, and the values are sent: if
/// no further event has come, the worker gets the next events of controllers (period_midi.h).
/// `n_lost`: how many of those a worker got and had not run when it ended; adds them to midi_lost.
/// [as period_take_midi()]
void period_return_midi(Period* period, uint64_t n_lost);

/// Count the events that period_take_midi() has not taken: nobody will. [after the last period]
void period_forget_midi(Period* period);

/// Send n MIDI events with the next period: all or none.  False if the periods have no MIDI, or too
/// many events wait. [one thread at a time]
bool period_send_midi(Period* period, const MidiEvent* events, uint32_t n);

// ---- another ring ----

/**
   Offer another ring to the callback, which switches to it in its next period.  Blocks in flight in
   the current ring are lost: if the callback played wet, it bridges to the fallback, and wet
   returns as after any lost block.  The frame time continues without a gap.  The switch is deferred
   while a ring waits to be collected. [any but rt]

   @param ring Of the same shape; borrowed until it is collected, returned here, or period_free().
   NULL withdraws an offer.
   @return The previous offer if the callback has not taken it, which belongs to the caller again;
   else NULL.
*/
Ring* period_offer_ring(Period* period, Ring* ring);

/// Collect the ring that the callback has left since the last call, which belongs to the caller
/// again; NULL if there is none.  Call this until an offer is taken, because an uncollected ring
/// defers the switch. [any but rt]
Ring* period_collect_ring(Period* period);

/// Abandon the current ring, because its worker is gone.  The callback no longer submits to it,
/// waits for it, or calls its futex; a wait in progress ends within a few milliseconds.  The
/// callback plays the fallbacks until it has taken an offer.  An open offer stays; withdraw it if
/// its worker is gone, too. [any but rt]
void period_abandon(Period* period);

#endif
