// SPDX-License-Identifier: GPL-3.0-or-later
// The signals that a block is made of: what the worker made, the input as late as that, and the
// fades from one to the other.

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
  period_count(&port->bad, met->bad);
  period_count(&port->denormal, met->denormal);
  period_count(&port->clipped, met->bent);
  period_count(is_output ? &sums->bad_out : &sums->bad_in, met->bad);
  period_count(is_output ? &sums->denormal_out : &sums->denormal_in, met->denormal);
  period_count(&sums->clipped, met->bent);
}

/// Input channel whose dry signal output channel c plays: a mono input goes everywhere.
static uint32_t
dry_source(const Period* const period, const uint32_t c)
{
  return period->shape.n_in == 1U ? 0 : c;
}

/// The input, as late as the wet signal is; a change of latency fades from one tap to the other.
static const float*
dry_row(Period* const period, const uint32_t c)
{
  const PeriodRows* const rows = &period->rows;
  const uint32_t n_frames = period->shape.block_frames;
  const uint32_t source = dry_source(period, c);
  if (source >= dry_line_channels(period->dry_line)) {
    return rows->silence;
  }
  dry_line_read(period->dry_line, source, period->base_latency + period->tap, rows->dry, n_frames);
  if (period->next_tap != period->tap) {
    dry_line_read(period->dry_line, source, period->base_latency + period->next_tap,
                  rows->other_tap, n_frames);
    guard_fade(rows->dry, rows->dry, rows->other_tap, n_frames);
  }
  return rows->dry;
}

/// Where the last wet block of output channel c is kept.
static float*
wet_row(const Period* const period, const uint32_t c)
{
  return period->rows.wet + c * period->rows.stride;
}

/// Copy away what the worker made of this block, cleaned.  The worker may be writing there still,
/// if it has gone mad: that none of it leaves is up to the guard behind this, which reads the copy.
static const float*
take_wet_row(Period* const period, const uint32_t c)
{
  float* const row = wet_row(period, c);
  const GuardCounts met =
      guard_clean(row, ring_output(period->ring, period->due, c), period->shape.block_frames);
  period_count_guard(period, true, c, &met);
  return row;
}

bool
period_has_sound(Period* const period)
{
  const uint32_t n_frames = period->shape.block_frames;
  uint64_t n_bad = 0;
  for (uint32_t c = 0; c < period->shape.n_out; ++c) {
    n_bad += guard_count_bad(ring_output(period->ring, period->due, c), n_frames);
  }
  if (2U * n_bad <= (uint64_t)n_frames * period->shape.n_out) {
    return true;
  }
  for (uint32_t c = 0; c < period->shape.n_out; ++c) {
    const float* const row = ring_output(period->ring, period->due, c);
    const GuardCounts met = { .bad = guard_count_bad(row, n_frames) };
    period_count_guard(period, true, c, &met);
  }
  return false;
}

/// The last wet block, continued by odd reflection about its last sample x[0]: 2 x[0] - x[-t] at
/// t = 1, 2, …  The last frame has no x[-t] in that block, and no weight in the fade.
static const float*
continued_row(Period* const period, const uint32_t c)
{
  if (!period->has_wet) {
    return period->rows.silence;
  }
  const uint32_t n_frames = period->shape.block_frames;
  const float* const last = wet_row(period, c);
  float* const row = period->rows.mixed;
  const float centre = last[n_frames - 1U];
  for (uint32_t i = 0; i + 1U < n_frames; ++i) {
    row[i] = 2.0F * centre - last[n_frames - 2U - i];
  }
  row[n_frames - 1U] = centre;
  return row;
}

const float*
period_sound_row(Period* const period, const Sound sound, const uint32_t c)
{
  const uint32_t n_frames = period->shape.block_frames;
  float* const mixed = period->rows.mixed;
  switch (sound) {
  case SOUND_SILENCE:
    break;
  case SOUND_WET:
    return take_wet_row(period, c);
  case SOUND_WET_TO_DRY:
    guard_fade(mixed, continued_row(period, c), dry_row(period, c), n_frames);
    return mixed;
  case SOUND_DRY:
    return dry_row(period, c);
  case SOUND_DRY_TO_WET:
    guard_fade(mixed, dry_row(period, c), take_wet_row(period, c), n_frames);
    return mixed;
  }
  return period->rows.silence;
}
