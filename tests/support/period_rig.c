// SPDX-License-Identifier: GPL-3.0-or-later
// A period under test: driver and worker in the hands of the test.

#include "period_rig.h"

#include "../../engine/rt.h"

#include <check.h>
#include <math.h>
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
  Error error = { STATUS_OK, "" };
  ck_assert_msg(ring_new(&rig->shape, &ring, &error) == STATUS_OK, "%s", error.text);
  return ring;
}

void
period_rig_new_wide(PeriodRig* const rig, PeriodConfig config, const uint32_t n_in,
                    const uint32_t n_out)
{
  memset(rig, 0, sizeof(*rig));
  rig->shape = (RingShape){ n_in, n_out, BLOCK, SLOTS, 16 };
  rig->ring = period_rig_new_ring(rig);
  config.ring = rig->ring;
  config.rate_hz = RATE;
  Error error = { STATUS_OK, "" };
  ck_assert_msg(period_new(&config, &rig->period, &error) == STATUS_OK, "%s", error.text);
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
}

void
period_rig_finish(const PeriodRig* const rig, const uint64_t sequence)
{
  const SlotHeader slot = *ring_slot(rig->ring, sequence);
  ck_assert_uint_eq(slot.n_frames, BLOCK);
  for (uint32_t c = 0; c < rig->shape.n_in; ++c) {
    const float* const in = ring_input(rig->ring, sequence, c);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      if (in[i] != dry_at(c, (int64_t)(slot.frame + i))) { // a passed assertion is a system call
        ck_abort_msg("the worker was given another signal");
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

void
expect_miss(const PeriodRig* const rig, const uint32_t wet_latency, const uint32_t dry_latency)
{
  const int64_t first = (int64_t)rig->frame - BLOCK;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      const int64_t last = first - 1 - wet_latency; // the last wet frame that was heard
      const double wet = 2.0 * (double)wet_at(c, last) - (double)wet_at(c, last - (int64_t)i - 1);
      const double gain = fade_gain(i);
      const double wanted = wet * (1.0 - gain) + (double)dry_at(c, first + i - dry_latency) * gain;
      ck_assert_double_eq_tol(rig->out[c][i], wanted, 5e-7);
    }
  }
}

void
expect_way_back(PeriodRig* const rig, const uint32_t latency)
{
  for (uint32_t k = 0; k < PERIOD_GOOD_BLOCKS; ++k) {
    period_rig_run_served(rig);
    expect(rig, dry_at, latency);
  }
  period_rig_run_served(rig);
  expect_fade(rig, dry_at, wet_at, latency, latency);
  period_rig_run_served(rig);
  expect(rig, wet_at, latency);
}

static void*
worker_main(void* const context)
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
  ck_assert(rt_thread_start("test-worker", worker_main, worker, &worker->thread, NULL) ==
            STATUS_OK);
}

void
period_worker_stop(PeriodWorker* const worker)
{
  atomic_store(&worker->stop, true);
  ring_wake(worker->rig->ring);
  pthread_join(worker->thread, NULL);
}
