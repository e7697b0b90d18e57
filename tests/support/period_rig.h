// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A period whose worker is played by the test, so that each block is late or in time exactly as
   written.  Dry and wet signals are functions of the frame time and the channel; what must come out
   at each frame is computed from those alone.
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
#define LONGEST  256U        // frames of a period
#define RECORDED (1U << 18U) // frames, at most, of what was played

typedef struct PeriodRig {
  Ring* ring; ///< That the test serves
  Period* period;
  RingShape shape;
  uint64_t frame; ///< First frame of the next period
  float in[CHANNELS][LONGEST], out[CHANNELS][LONGEST];
  float* played; ///< [CHANNELS][RECORDED]: all of `out` so far
  uint64_t gap;  ///< First frame of the last gap that was expected
} PeriodRig;

/// A signal at a frame, which may lie before the start.
typedef float (*Signal)(uint32_t channel, int64_t frame);

/// The input, 0 before the start.  Smooth, different in each channel, within ±0.5.
float dry_at(uint32_t channel, int64_t frame);

/// What the worker makes.  As smooth, within ±0.4.
float wet_at(uint32_t channel, int64_t frame);

float silence_at(uint32_t channel, int64_t frame);

/// Ring and rate are the rig's; CHANNELS in and out, whose fallback is the dry signal as it is.
void period_rig_new(PeriodRig* rig, PeriodConfig config);
void period_rig_new_wide(PeriodRig* rig, PeriodConfig config, uint32_t n_in, uint32_t n_out);

/// Frees rig->ring, too.
void period_rig_free(PeriodRig* rig);

/// One more ring of the rig's shape.
Ring* period_rig_new_ring(const PeriodRig* rig);

// ---- the worker ----

/// Finish one block: check the input that came with it, write the wet signal.
void period_rig_finish(const PeriodRig* rig, uint64_t sequence);

/// The worker catches up.
void period_rig_serve(const PeriodRig* rig);

/// The worker catches up, without sound.
void period_rig_fail(const PeriodRig* rig);

// ---- the driver ----

void period_rig_run_frames(PeriodRig* rig, uint32_t n_frames, bool wait);

/// One block.
void period_rig_run(PeriodRig* rig);

/// One block after the worker has caught up.
void period_rig_run_served(PeriodRig* rig);

// ---- what the last period was ----

/// The weight of the signal that a fade goes to.
double fade_gain(uint32_t i);

/// `signal`, `latency` frames late, to the bit.
void expect_frames(const PeriodRig* rig, Signal signal, uint32_t latency, uint32_t n_frames);

/// The same of a period of one block.
void expect(const PeriodRig* rig, Signal signal, uint32_t latency);

/// It went from one signal to the other and ended on the second.
void expect_fade(const PeriodRig* rig, Signal from, Signal to, uint32_t from_latency,
                 uint32_t to_latency);

/// A gap began with it: the bridge from what was played before to the dry signal, to the bit.
void expect_miss(PeriodRig* rig, uint32_t dry_latency);

/// The gap that was expected last goes on: its bridge, or the dry signal behind that.
void expect_fallback(const PeriodRig* rig, uint32_t dry_latency);

/// It went from there to the wet signal.
void expect_back(const PeriodRig* rig, uint32_t latency);

/// Play served blocks until the wet signal is back after a gap that took the long way: good ones
/// are dry, one fades, one is wet.
void expect_way_back(PeriodRig* rig, uint32_t latency);

// ---- a worker of its own ----

typedef struct PeriodWorker {
  const PeriodRig* rig;
  uint32_t pause_us;      ///< Before each block
  _Atomic uint32_t flags; ///< All that blocks came with
  _Atomic bool stop;
  pthread_t thread;
} PeriodWorker;

void period_worker_start(PeriodWorker* worker, const PeriodRig* rig, uint32_t pause_us);
void period_worker_stop(PeriodWorker* worker);

#endif
