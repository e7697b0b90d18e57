// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A period whose worker is the test: the test decides which blocks are late.  Dry and wet signals
   are functions of frame time and channel, from which the test computes the expected output.
*/
#ifndef WARPRACK_TESTS_PERIOD_RIG_H
#define WARPRACK_TESTS_PERIOD_RIG_H

#include "engine/callback/period.h"

#include <pthread.h>
#include <stdatomic.h>

#define RATE     48000.0
#define BLOCK    16U
#define SLOTS    4U
#define CHANNELS 3U
#define LONGEST  256U        // frames of the longest period
#define RECORDED (1U << 18U) // frames of the output that the rig records at most

typedef struct PeriodRig {
  Ring* ring; ///< The ring that the test serves
  Period* period;
  RingShape shape;
  uint64_t frame; ///< First frame of the next period
  float in[CHANNELS][LONGEST], out[CHANNELS][LONGEST];
  float* played; ///< [CHANNELS][RECORDED]: all of `out` so far
  uint64_t gap;  ///< First frame of the gap of the last expect_miss()
} PeriodRig;

/// Sample of a signal at a frame, which may be negative: before the start.
typedef float (*Signal)(uint32_t channel, int64_t frame);

/// The input, 0 before the start.  Smooth, different in each channel, within ±0.5.
float dry_at(uint32_t channel, int64_t frame);

/// The output of the worker.  As smooth, within ±0.4.
float wet_at(uint32_t channel, int64_t frame);

float silence_at(uint32_t channel, int64_t frame);

/// Make a period with CHANNELS inputs and outputs; _wide() with other numbers.  The rig sets ring
/// and rate, and the fallback: the dry signal at level 1.
void period_rig_new(PeriodRig* rig, PeriodConfig config);
void period_rig_new_wide(PeriodRig* rig, PeriodConfig config, uint32_t n_in, uint32_t n_out);

/// Frees rig->ring, too.
void period_rig_free(PeriodRig* rig);

/// Make another ring of the same shape.
Ring* period_rig_new_ring(const PeriodRig* rig);

// ---- the worker ----

/// Finish one block: check its input, and write the wet signal as its output.
void period_rig_finish(const PeriodRig* rig, uint64_t sequence);

/// Finish all submitted blocks.
void period_rig_serve(const PeriodRig* rig);

/// Finish all submitted blocks with ring_fail(): without an output.
void period_rig_fail(const PeriodRig* rig);

// ---- the driver ----

void period_rig_run_frames(PeriodRig* rig, uint32_t n_frames, bool wait);

/// Run a period of one block.
void period_rig_run(PeriodRig* rig);

/// Finish all submitted blocks, then run a period of one block.
void period_rig_run_served(PeriodRig* rig);

// ---- checks of the last period's output ----

/// The weight of the new signal in frame `i` of a fade over one block.
double fade_gain(uint32_t i);

/// The output is `signal`, delayed by `latency` frames, to the bit.
void expect_frames(const PeriodRig* rig, Signal signal, uint32_t latency, uint32_t n_frames);

/// expect_frames() for a period of one block.
void expect(const PeriodRig* rig, Signal signal, uint32_t latency);

/// The output fades from one signal to the other, and its last frame is the second signal.
void expect_fade(const PeriodRig* rig, Signal from, Signal to, uint32_t from_latency,
                 uint32_t to_latency);

/// A gap began with this period: its output is the bridge from the previous output to the dry
/// signal, to the bit.
void expect_miss(PeriodRig* rig, uint32_t dry_latency);

/// The gap of the last expect_miss() continues: with its bridge, or after it with the dry signal.
void expect_fallback(const PeriodRig* rig, uint32_t dry_latency);

/// The gap ended with this period: its output fades from the bridge or the dry signal to the wet
/// signal.
void expect_back(const PeriodRig* rig, uint32_t latency);

/// Run periods that are served in time, after a gap, until the wet signal is back: the first
/// FALLBACK_GOOD_BLOCKS play the fallback, the next one fades, the one after it is wet.
void expect_way_back(PeriodRig* rig, uint32_t latency);

// ---- a worker in a thread of its own ----

typedef struct PeriodWorker {
  const PeriodRig* rig;
  uint32_t pause_us;      ///< Sleep before it finishes a block
  _Atomic uint32_t flags; ///< The SLOT_ flags of all blocks so far, combined
  _Atomic bool stop;
  pthread_t thread;
} PeriodWorker;

void period_worker_start(PeriodWorker* worker, const PeriodRig* rig, uint32_t pause_us);
void period_worker_stop(PeriodWorker* worker);

#endif
