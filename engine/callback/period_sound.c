// SPDX-License-Identifier: GPL-3.0-or-later
// The signals of a block: the worker's output, the delayed input, and the fades between them.

#include "period_state.h"

#include <string.h>

PeriodPortCounters*
period_port_counters(const Period* const period, const bool is_output, const uint32_t channel)
{
  return &period->ports[(is_output ? period->shape.n_in : 0) + channel];
}

void
period_count_guard(Period* const period, const bool is_output, const uint32_t channel,
                   const GuardCounts* const met)
{
  PeriodCounters* const sums = &period->counters;
  PeriodPortCounters* const port = period_port_counters(period, is_output, channel);
  if (!(met->bad | met->denormal | met->bent)) {
    return;
  }
  counter_add(&port->bad, met->bad);
  counter_add(&port->denormal, met->denormal);
  counter_add(&port->clipped, met->bent);
  counter_add(is_output ? &sums->bad_out : &sums->bad_in, met->bad);
  counter_add(is_output ? &sums->denormal_out : &sums->denormal_in, met->denormal);
  counter_add(&sums->clipped, met->bent);
}

/// The input channel that output c plays as its dry signal: a mono input goes to all outputs.
static uint32_t
dry_source(const Period* const period, const uint32_t c)
{
  return period->shape.n_in == 1U ? 0 : c;
}

/// The dry signal of output c: the input with the latency of the wet signal.  A change of latency
/// cross-fades.
static const float*
dry_row(Period* const period, const uint32_t c)
{
  const PeriodRows* const rows = &period->rows;
  const uint32_t n_frames = period->shape.block_frames;
  const uint32_t source = dry_source(period, c);
  if (source >= dry_line_channels(period->dry_line)) {
    return rows->silence;
  }
  dry_line_read(period->dry_line, source, period->base_latency_frames + period->tap, rows->dry,
                n_frames);
  if (period->next_tap != period->tap) {
    dry_line_read(period->dry_line, source, period->base_latency_frames + period->next_tap,
                  rows->other_tap, n_frames);
    guard_fade(rows->dry, rows->dry, rows->other_tap, n_frames);
  }
  return rows->dry;
}

bool
period_take_wet(Period* const period, float* const* const out, const uint32_t first)
{
  const uint32_t n_frames = period->shape.block_frames;
  const uint32_t n_out = period->shape.n_out;
  uint64_t n_bad = 0;
  for (uint32_t c = 0; c < n_out; ++c) {
    const float* const row = ring_output(period->ring, period->due, c);
    period->wet[c] = guard_measure(out[c] + first, row, n_frames);
    n_bad += period->wet[c].bad;
  }
  const bool has_sound = 2U * n_bad <= (uint64_t)n_frames * n_out;
  for (uint32_t c = 0; !has_sound && c < n_out; ++c) {
    period_count_guard(period, true, c, &(GuardCounts){ .bad = period->wet[c].bad });
  }
  return has_sound;
}

/// Take over the fallback that another thread has set for an output. [rt]
static void
take_wanted(const Period* const period, PeriodFallback* const fallback)
{
  const uint64_t wanted = atomic_load_explicit(&fallback->wanted, memory_order_relaxed);
  if (wanted != fallback->taken) {
    const uint32_t bits = (uint32_t)wanted;
    float level = 0.0F;
    memcpy(&level, &bits, sizeof(level));
    fallback->taken = wanted;
    follower_begin(&fallback->follower, period->config.rate_hz, level);
  }
}

/// The dry signal of output channel c at its level.  If the level has changed since the last block,
/// the gain ramps to it over this block.
static float*
fallback_row(Period* const period, const uint32_t c)
{
  PeriodFallback* const fallback = &period->fallbacks[c];
  take_wanted(period, fallback);
  const uint32_t n_frames = period->shape.block_frames;
  const float* const dry = dry_row(period, c);
  float* const row = period->rows.mixed;
  const float first = fallback->gain;
  const float last = (float)fallback->follower.level;
  const float step = (last - first) / (float)n_frames;
  for (uint32_t i = 0; i < n_frames; ++i) {
    row[i] = dry[i] * (first + step * (float)(i + 1U));
  }
  fallback->gain = last;
  return row;
}

/// Compute the fallback of output channel c for the n frames before this block.
static void
read_past_fallback(Period* const period, const uint32_t c, float* const row, const uint32_t n)
{
  PeriodFallback* const fallback = &period->fallbacks[c];
  const uint32_t source = dry_source(period, c);
  const uint32_t delay_frames =
      period->base_latency_frames + period->tap + period->shape.block_frames;
  take_wanted(period, fallback);
  fallback->gain = (float)fallback->follower.level;
  if (source >= dry_line_channels(period->dry_line)) {
    memset(row, 0, n * sizeof(float));
    return;
  }
  dry_line_read(period->dry_line, source, delay_frames, row, n);
  for (uint32_t i = 0; i < n; ++i) {
    row[i] *= fallback->gain;
  }
}

void
period_begin_gap(Period* const period)
{
  const uint32_t n_out = period->shape.n_out;
  float past[BRIDGE_LANES][BRIDGE_HISTORY];
  bridge_begin(period->bridge);
  for (uint32_t first = 0; first < n_out; first += BRIDGE_LANES) {
    const uint32_t n_known = bridge_known(period->bridge, first);
    for (uint32_t c = first; c < n_out && c - first < BRIDGE_LANES; ++c) {
      read_past_fallback(period, c, past[c - first], n_known);
    }
    bridge_predict(period->bridge, first, (const float(*)[BRIDGE_HISTORY])past);
  }
}

/// The signal of an output during a gap: the fallback, with the bridge while it is open.
static float*
gap_row(Period* const period, const uint32_t c)
{
  float* const row = fallback_row(period, c);
  if (bridge_is_open(period->bridge)) {
    bridge_add(period->bridge, c, row, period->shape.block_frames);
  }
  return row;
}

/// The energy of the dry signal of output c in this block, read where the dry line has it.
static double
dry_energy(Period* const period, const uint32_t c)
{
  const uint32_t n_frames = period->shape.block_frames;
  const uint32_t source = dry_source(period, c);
  if (period->next_tap != period->tap || source >= dry_line_channels(period->dry_line)) {
    return guard_energy(dry_row(period, c), n_frames);
  }
  const float* runs[2];
  uint32_t n_runs[2];
  dry_line_runs(period->dry_line, source, period->base_latency_frames + period->tap, n_frames, runs,
                n_runs);
  return guard_energy(runs[0], n_runs[0]) + guard_energy(runs[1], n_runs[1]);
}

/// Update the level of an output from a wet block.
static void
follow(Period* const period, const uint32_t c, const double wet_energy)
{
  PeriodFallback* const fallback = &period->fallbacks[c];
  take_wanted(period, fallback);
  if (fallback->taken & PERIOD_FOLLOWS) {
    follower_update(&fallback->follower, wet_energy, dry_energy(period, c),
                    period->shape.block_frames);
  }
}

const float*
period_sound_row(Period* const period, const Sound sound, const uint32_t c, const float* const wet)
{
  float* row = NULL;
  switch (sound) {
  case SOUND_SILENCE:
    break;
  case SOUND_WET:
    period_count_guard(period, true, c, &period->wet[c]);
    follow(period, c, period->wet[c].out.energy);
    return wet;
  case SOUND_FALLBACK:
    return gap_row(period, c);
  case SOUND_FALLBACK_TO_WET:
    period_count_guard(period, true, c, &period->wet[c]);
    row = gap_row(period, c);
    guard_fade(row, row, wet, period->shape.block_frames);
    return row;
  }
  return period->rows.silence;
}
