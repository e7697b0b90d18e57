// SPDX-License-Identifier: GPL-3.0-or-later
// The properties that every effect must have.

#include "fx_checks.h"

#include "signals.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES    6000U
#define MAX_BLOCK 256U

float**
planar_silence(const uint32_t n_channels, const uint32_t n_frames)
{
  const size_t table_bytes = n_channels * sizeof(float*);
  float** const channels = calloc(1, table_bytes + (size_t)n_channels * n_frames * sizeof(float));
  ck_assert_ptr_nonnull(channels);
  for (uint32_t c = 0; c < n_channels; ++c) {
    channels[c] = (float*)(channels + n_channels) + (size_t)c * n_frames;
  }
  return channels;
}

float**
planar_noise(const uint32_t n_channels, const uint32_t n_frames, const uint64_t seed,
             const double gain)
{
  float** const channels = planar_silence(n_channels, n_frames);
  for (uint32_t c = 0; c < n_channels; ++c) {
    signal_noise(channels[c], n_frames, seed + c);
    for (uint32_t i = 0; i < n_frames; ++i) {
      channels[c][i] *= (float)gain;
    }
  }
  return channels;
}

static void
case_new(FxRig* const rig, const FxCase* const fx_case)
{
  OK(rig_try(rig, fx_case->effect, fx_case->rate_hz, fx_case->n_channels, MAX_BLOCK, false,
             fx_case->args, fx_case->n_args, &error));
}

static void
run(FxRig* const rig, float* const* const in, float* const* const out, const uint32_t n_frames,
    const RigSplit split)
{
  rig_run(rig, (const float* const*)in, out, n_frames, split, 11);
}

static void
assert_same(const FxCase* const fx_case, const char* const what, float* const* const a,
            float* const* const b, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < fx_case->n_channels; ++c) {
    size_t where = 0;
    const double difference = max_difference(a[c], b[c], n_frames, &where);
    ck_assert_msg(difference == 0.0, "%s, %s at %g Hz: channel %u of %u differs by %g at frame %zu",
                  fx_case->effect, what, fx_case->rate_hz, c, fx_case->n_channels, difference,
                  where);
  }
}

void
check_splits(const FxCase* const fx_case, const char* const param, const double value)
{
  const uint32_t n = fx_case->n_channels;
  const uint32_t n_frames = n > 8U ? 1200U : FRAMES;
  const uint32_t half = n_frames / 2U;
  float** const in = planar_noise(n, n_frames, 1, 1.0);
  float** const out[] = { planar_silence(n, n_frames), planar_silence(n, n_frames) };
  float** const late_in = calloc(n, sizeof(float*));
  float** const late_out = calloc(n, sizeof(float*));
  for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
    float** const now = out[split == RIG_BLOCKS ? 0 : 1];
    for (uint32_t c = 0; c < n; ++c) {
      late_in[c] = in[c] + half;
      late_out[c] = now[c] + half;
    }
    FxRig rig;
    case_new(&rig, fx_case);
    run(&rig, in, now, half, (RigSplit)split);
    rig_set(&rig, param, value);
    run(&rig, late_in, late_out, n_frames - half, (RigSplit)split);
    rig_free(&rig);
    if (split != RIG_BLOCKS) {
      assert_same(fx_case, split == RIG_RANDOM ? "random blocks" : "single frames", out[0], now,
                  n_frames);
    }
  }
  free(late_out);
  free(late_in);
  free(out[1]);
  free(out[0]);
  free(in);
}

static double
peak(float* const* const channels, const uint32_t n_channels, const uint32_t n_frames)
{
  double largest = 0.0;
  for (uint32_t c = 0; c < n_channels; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      const double size = fabs((double)channels[c][i]);
      largest = size <= largest ? largest : isnan(size) ? INFINITY : size;
    }
  }
  return largest;
}

void
check_silence_and_denormals(const FxCase* const fx_case)
{
  const uint32_t n = fx_case->n_channels;
  float** const in = planar_silence(n, FRAMES);
  float** const out = planar_noise(n, FRAMES, 1, 1.0);
  FxRig rig;
  case_new(&rig, fx_case);
  run(&rig, in, out, FRAMES, RIG_BLOCKS);
  ck_assert_msg(peak(out, n, FRAMES) == 0.0, "%s: output is not 0 for silence", fx_case->effect);
  for (uint32_t c = 0; c < n; ++c) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      in[c][i] = i % 3U ? 1e-40F : -1e-40F;
    }
  }
  run(&rig, in, out, FRAMES, RIG_BLOCKS);
  ck_assert_msg(peak(out, n, FRAMES) < 1e-30, "%s: output above 1e-30 for a denormal input",
                fx_case->effect);
  rig_free(&rig);
  free(out);
  free(in);
}

void
check_recovers(const FxCase* const fx_case)
{
  const uint32_t n = fx_case->n_channels;
  float** const in = planar_noise(n, FRAMES, 1, 1.0);
  float** const fresh = planar_silence(n, FRAMES);
  float** const again = planar_silence(n, FRAMES);
  FxRig rig;
  case_new(&rig, fx_case);
  run(&rig, in, fresh, FRAMES, RIG_BLOCKS);

  const float good[] = { in[0][40], in[n - 1U][70] };
  in[0][40] = NAN;
  in[n - 1U][70] = INFINITY;
  run(&rig, in, again, FRAMES, RIG_BLOCKS);
  in[0][40] = good[0];
  in[n - 1U][70] = good[1];
  rig_reset(&rig);
  run(&rig, in, again, FRAMES, RIG_BLOCKS);
  assert_same(fx_case, "after a NaN", fresh, again, FRAMES);
  rig_free(&rig);
  free(again);
  free(fresh);
  free(in);
}

void
check_contract(const char* const effect, const RigArg* const args, const uint32_t n_args,
               const char* const param, const double value, const bool pairs_only)
{
  static const struct {
    double rate_hz;
    uint32_t n_channels;
  } shapes[] = { { 48000.0, 1 },  { 48000.0, 2 }, { 48000.0, 3 }, { 48000.0, 8 },
                 { 48000.0, 64 }, { 44100.0, 2 }, { 96000.0, 2 }, { 192000.0, 2 } };
  for (size_t s = 0; s < ARRAY_LEN(shapes); ++s) {
    if (pairs_only && shapes[s].n_channels % 2U) {
      continue;
    }
    const FxCase fx_case = { effect, shapes[s].rate_hz, shapes[s].n_channels, args, n_args };
    check_splits(&fx_case, param, value);
    check_silence_and_denormals(&fx_case);
    check_recovers(&fx_case);
  }
}
