// SPDX-License-Identifier: GPL-3.0-or-later
// A period under test: the test plays driver and worker.

#include "period_rig.h"

#include "suite.h"

#include "engine/base/rt.h"
#include "engine/callback/bridge.h"
#include "engine/callback/period_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

float
dry_at(const uint32_t channel, const int64_t frame)
{
  return frame < 0 ? 0.0F : (float)(0.5 * sin(0.11 * (double)frame + channel));
}

float
wet_at(const uint32_t channel, const int64_t frame)
{
  return frame < 0 ? 0.0F : (float)(0.4 * cos(0.07 * (double)frame + 2.0 * channel));
}

Ring*
period_rig_new_ring(const PeriodRig* const rig)
{
  Ring* ring = NULL;
  OK(ring_new(&rig->shape, &ring, &error));
  return ring;
}

void
period_rig_new_wide(PeriodRig* const rig, PeriodConfig config, const uint32_t n_in,
                    const uint32_t n_out)
{
  memset(rig, 0, sizeof(*rig));
  rig->shape = (RingShape){ n_in, n_out, BLOCK, SLOTS, 16, MIDI_MAX_EVENTS };
  rig->ring = period_rig_new_ring(rig);
  rig->played = calloc((size_t)CHANNELS * RECORDED, sizeof(float));
  ck_assert(rig->played);
  config.ring = rig->ring;
  config.rate_hz = RATE;
  config.fallback = (Fallback){ .level = 1.0F };
  OK(period_new(&config, &rig->period, &error));
}

void
period_rig_new(PeriodRig* const rig, const PeriodConfig config)
{
  period_rig_new_wide(rig, config, CHANNELS, CHANNELS);
}

void
period_rig_free(PeriodRig* const rig)
{
  period_free(rig->period);
  ring_free(rig->ring);
  free(rig->played);
}

void
period_rig_finish(const PeriodRig* const rig, const uint64_t sequence)
{
  const SlotHeader slot = *ring_slot(rig->ring, sequence);
  ck_assert_uint_eq(slot.n_frames, BLOCK);
  for (uint32_t c = 0; c < rig->shape.n_in; ++c) {
    const float* const in = ring_input(rig->ring, sequence, c);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      if (in[i] != dry_at(c, (int64_t)(slot.frame + i))) { // each assertion costs a system call
        ck_abort_msg("the input in the ring is not the input of the period");
      }
    }
  }
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    float* const out = ring_output(rig->ring, sequence, c);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      out[i] = wet_at(c, (int64_t)(slot.frame + i));
    }
  }
  ring_finish(rig->ring);
}

void
period_rig_serve(const PeriodRig* const rig)
{
  uint64_t sequence = 0;
  while (ring_take(rig->ring, 0U, &sequence)) {
    period_rig_finish(rig, sequence);
  }
}

void
period_rig_fail(const PeriodRig* const rig)
{
  uint64_t sequence = 0;
  while (ring_take(rig->ring, 0U, &sequence)) {
    ring_fail(rig->ring);
  }
}

void
period_rig_run_frames(PeriodRig* const rig, const uint32_t n_frames, const bool wait)
{
  const float* ins[CHANNELS];
  float* outs[CHANNELS];
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    ins[c] = rig->in[c];
    outs[c] = rig->out[c];
    for (uint32_t i = 0; i < n_frames; ++i) {
      rig->in[c][i] = dry_at(c, (int64_t)(rig->frame + i));
      rig->out[c][i] = 99.0F;
    }
  }
  period_run(rig->period, ins, outs, n_frames, wait);
  for (uint32_t c = 0; c < CHANNELS && rig->frame + n_frames <= RECORDED; ++c) {
    memcpy(rig->played + c * (size_t)RECORDED + rig->frame, rig->out[c], n_frames * sizeof(float));
  }
  rig->frame += n_frames;
}

void
period_rig_run(PeriodRig* const rig)
{
  period_rig_run_frames(rig, BLOCK, false);
}

void
period_rig_run_served(PeriodRig* const rig)
{
  period_rig_serve(rig);
  period_rig_run(rig);
}

float
silence_at(const uint32_t channel, const int64_t frame)
{
  (void)channel;
  (void)frame;
  return 0.0F;
}

void
expect_frames(const PeriodRig* const rig, const Signal signal, const uint32_t latency,
              const uint32_t n_frames)
{
  const int64_t first = (int64_t)rig->frame - n_frames - latency;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      if (rig->out[c][i] != signal(c, first + i)) {
        ck_abort_msg("frame %llu channel %u: %g, not %g",
                     (unsigned long long)(rig->frame - n_frames + i), c, (double)rig->out[c][i],
                     (double)signal(c, first + i));
      }
    }
  }
}

void
expect(const PeriodRig* const rig, const Signal signal, const uint32_t latency)
{
  expect_frames(rig, signal, latency, BLOCK);
}

double
fade_gain(const uint32_t i)
{
  const double way = (i + 1.0) / BLOCK;
  return 3.0 * way * way - 2.0 * way * way * way;
}

void
expect_fade(const PeriodRig* const rig, const Signal from, const Signal to,
            const uint32_t from_latency, const uint32_t to_latency)
{
  const int64_t first = (int64_t)rig->frame - BLOCK;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      const double gain = fade_gain(i);
      const double wanted = (double)from(c, first + i - from_latency) * (1.0 - gain) +
                            (double)to(c, first + i - to_latency) * gain;
      ck_assert_double_eq_tol(rig->out[c][i], wanted, 2e-7);
    }
    ck_assert(rig->out[c][BLOCK - 1U] == to(c, first + BLOCK - 1 - to_latency));
  }
}

/// Compute the last block of the last gap: a bridge of one channel, played from the begin of the
/// gap.
static void
gap_block(const PeriodRig* const rig, const uint32_t dry_latency, const uint32_t c,
          float* const row)
{
  const uint64_t first = rig->frame - BLOCK;
  Bridge* bridge = NULL;
  const double share = bridge_order(rig->period->bridge, c) ? BRIDGE_SHARE : 0.0; // 0: order 0
  ck_assert(!bridge_new(RATE, 1, BLOCK, share, &bridge, NULL));
  ck_assert_uint_le(first + BLOCK, RECORDED);
  static const float nothing[BRIDGE_HISTORY];
  float dry[BRIDGE_LANES][BRIDGE_HISTORY] = { { 0.0F } };
  bridge_record(bridge, 0, nothing, BRIDGE_HISTORY);
  bridge_advance(bridge, BRIDGE_HISTORY);
  for (uint64_t i = rig->gap > BRIDGE_HISTORY ? rig->gap - BRIDGE_HISTORY : 0U; i < rig->gap; ++i) {
    bridge_record(bridge, 0, rig->played + c * (size_t)RECORDED + i, 1U);
    bridge_advance(bridge, 1U);
  }
  const uint32_t n_known = bridge_known(bridge, 0);
  for (uint32_t i = 0; i < n_known; ++i) {
    dry[0][i] = dry_at(c, (int64_t)(rig->gap + i) - (int64_t)n_known - dry_latency);
  }
  bridge_begin(bridge);
  bridge_predict(bridge, 0, (const float(*)[BRIDGE_HISTORY])dry);
  for (uint64_t frame = rig->gap; frame <= first; frame += BLOCK) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      row[i] = dry_at(c, (int64_t)(frame + i) - dry_latency);
    }
    if (bridge_is_open(bridge)) {
      bridge_add(bridge, 0, row, BLOCK);
    }
    bridge_advance(bridge, BLOCK);
  }
  bridge_free(bridge);
}

void
expect_miss(PeriodRig* const rig, const uint32_t dry_latency)
{
  rig->gap = rig->frame - BLOCK;
  expect_fallback(rig, dry_latency);
}

void
expect_fallback(const PeriodRig* const rig, const uint32_t dry_latency)
{
  if (rig->frame - rig->gap > 4U * BLOCK) {
    expect(rig, dry_at, dry_latency);
    return;
  }
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    float row[BLOCK];
    gap_block(rig, dry_latency, c, row);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      if (rig->out[c][i] != row[i]) {
        ck_abort_msg("frame %u of the gap, channel %u: %g, not %g",
                     (uint32_t)(rig->frame - rig->gap) - BLOCK + i, c, (double)rig->out[c][i],
                     (double)row[i]);
      }
    }
  }
}

void
expect_back(const PeriodRig* const rig, const uint32_t latency)
{
  const int64_t first = (int64_t)rig->frame - BLOCK - latency;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    float row[BLOCK];
    gap_block(rig, latency, c, row);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      const double wet = (double)wet_at(c, first + i);
      const double wanted = (double)row[i] * (1.0 - fade_gain(i)) + wet * fade_gain(i);
      ck_assert_double_eq_tol(rig->out[c][i], wanted, 2e-7);
    }
    ck_assert(rig->out[c][BLOCK - 1U] == wet_at(c, first + BLOCK - 1));
  }
}

void
expect_way_back(PeriodRig* const rig, const uint32_t latency)
{
  for (uint32_t k = 0; k < FALLBACK_GOOD_BLOCKS; ++k) {
    period_rig_run_served(rig);
    expect_fallback(rig, latency);
  }
  period_rig_run_served(rig);
  expect_back(rig, latency);
  period_rig_run_served(rig);
  expect(rig, wet_at, latency);
}

static void*
player_main(void* const context)
{
  PeriodWorker* const worker = context;
  while (!atomic_load(&worker->stop)) {
    uint64_t sequence = 0;
    if (ring_wait_take(worker->rig->ring, 0, UINT64_MAX, &sequence)) {
      const struct timespec pause = { 0, worker->pause_us * 1000L };
      nanosleep(&pause, NULL);
      atomic_fetch_or(&worker->flags, ring_slot(worker->rig->ring, sequence)->flags);
      period_rig_finish(worker->rig, sequence);
    }
  }
  return NULL;
}

void
period_worker_start(PeriodWorker* const worker, const PeriodRig* const rig, const uint32_t pause_us)
{
  worker->rig = rig;
  worker->pause_us = pause_us;
  atomic_init(&worker->flags, 0);
  atomic_init(&worker->stop, false);
  ck_assert(rt_thread_start("test-worker", player_main, worker, &worker->thread, NULL) ==
            STATUS_OK);
}

void
period_worker_stop(PeriodWorker* const worker)
{
  atomic_store(&worker->stop, true);
  ring_wake(worker->rig->ring);
  pthread_join(worker->thread, NULL);
}
