// SPDX-License-Identifier: GPL-3.0-or-later

#include "stage_guard.h"

#include "node_health.h"

#include "engine/base/simd.h"
#include "engine/contract/node_switches.h"

#include <math.h>
#include <string.h>

/// The largest magnitude of some samples; infinity if one of them is not finite.
VECTOR_CLONES static float
peak_of(const float* const samples, const uint32_t n)
{
  uint32_t largest = 0;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t bits = 0;
    memcpy(&bits, &samples[i], sizeof(bits));
    bits &= 0x7FFFFFFFU;
    largest = bits > largest ? bits : largest;
  }
  largest = largest < 0x7F800000U ? largest : 0x7F800000U;
  float peak = 0.0F;
  memcpy(&peak, &largest, sizeof(peak));
  return peak;
}

/// As fmaxf() for numbers, but without a call of the library.
static float
larger(const float a, const float b)
{
  return a > b ? a : b;
}

bool
stage_guard_is_finite(const float* const samples, const uint32_t n)
{
  return isfinite(peak_of(samples, n));
}

static void
silence_unit(const Batch* const batch, const uint32_t u, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < batch->specs[u].n_out; ++c) {
    memset(batch->units[u].out[c], 0, n_frames * sizeof(float));
  }
}

/// The input that belongs to an output, the last one if there are fewer, delayed by the latency;
/// NULL of a source.  A sample that is not finite is 0.  `delayed`: memory for it.
static const float*
dry_row(const Batch* const batch, const uint32_t u, const uint32_t output, float* const delayed,
        const uint32_t n_frames)
{
  const uint32_t n_in = batch->specs[u].n_in;
  const uint32_t channel = output < n_in ? output : n_in - 1U;
  const float* const in = n_in ? fx_dry_row(&batch->units[u], channel, delayed, n_frames) : NULL;
  if (!in || stage_guard_is_finite(in, n_frames)) {
    return in;
  }
  for (uint32_t i = 0; i < n_frames; ++i) {
    delayed[i] = isfinite(in[i]) ? in[i] : 0.0F;
  }
  return delayed;
}

/// Fill the weights of a node in a block in which its input begins to replace its output, goes on
/// to, or ends to: a cross-fade at the beginning and the end.
static void
weigh_bypass(const Batch* const batch, const NodeHealth* const health, const uint32_t n_frames,
             const bool was_bypassed, const bool is_bypassed)
{
  const float before = was_bypassed;
  const float step = ((float)is_bypassed - before) / (float)n_frames;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float dry = before + step * (float)(i + 1U);
    batch->wet[i] = 1.0F - dry;
    batch->dry[i] = dry * health->dry_gain;
  }
}

/// out = wet out + dry in; `in` NULL: silence.  Where the weights are those of a node at rest, a
/// sample is the output, the input or 0 with its sign, as in a block without weights.
VECTOR_CLONES static void
blend(float* const restrict out, const float* const restrict in, const float* const restrict wet,
      const float* const restrict dry, const uint32_t n_frames)
{
  if (!in) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      out[i] = wet[i] == 0.0F ? 0.0F : wet[i] * out[i];
    }
    return;
  }
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float sum = wet[i] * out[i] + dry[i] * in[i];
    const float without_in = wet[i] == 0.0F ? 0.0F : wet[i] == 1.0F ? out[i] : sum;
    const float with_in = wet[i] == 0.0F && dry[i] == 1.0F ? in[i] : sum;
    out[i] = dry[i] == 0.0F ? without_in : with_in;
  }
}

/// Blend the outputs of a unit with its delayed inputs by the weights of the batch; those of a
/// source are silent.
static void
blend_unit(const Batch* const batch, const uint32_t u, const uint32_t n_frames)
{
  float delayed[FX_MAX_BLOCK];
  for (uint32_t c = 0; c < batch->specs[u].n_out; ++c) {
    const float* const in = dry_row(batch, u, c, delayed, n_frames);
    blend(batch->units[u].out[c], in, batch->wet, batch->dry, n_frames);
  }
}

/// The largest magnitude in some rows.
static float
peak_of_rows(const float* const* const rows, const uint32_t n_rows, const uint32_t n_frames)
{
  float peak = 0.0F;
  for (uint32_t r = 0; r < n_rows; ++r) {
    peak = larger(peak, peak_of(rows[r], n_frames));
  }
  return peak;
}

/// Replace a non-finite output: by silence, and reset the unit; or by the unit's input if the node
/// is renewed.  Returns the largest magnitude of the output, infinity if it was not finite.
static float
guard_unit(const Batch* const batch, const uint32_t u, const uint32_t n_frames)
{
  const BatchUnit* const unit = &batch->specs[u];
  const float* const* const outs = (const float* const*)batch->units[u].out;
  const float peak = peak_of_rows(outs, unit->n_out, n_frames);
  if (isfinite(peak)) {
    return peak;
  }
  silence_unit(batch, u, n_frames);
  if (batch->fx->renew) {
    weigh_bypass(batch, unit->health, n_frames, true, true);
    blend_unit(batch, u, n_frames);
  } else {
    batch->fx->unit_init(unit->node, unit->state, unit->channel);
  }
  return peak;
}

/// Follow the levels of a node that is renewed after a NaN, for the input that plays meanwhile.
static void
follow_level(const Batch* const batch, const Run* const run, const float peak_out,
             const uint32_t n_frames)
{
  float peak_in = 0.0F;
  for (uint32_t u = run->first_unit; u < run->first_unit + run->n_units; ++u) {
    peak_in = larger(peak_in, peak_of_rows(batch->units[u].in, run->n_in, n_frames));
  }
  node_health_follow_level(run->health, peak_in, peak_out, n_frames);
}

// ---- switches ----

/// Fill weights from one frame of the block to before another, and move them on.
static void
weigh_part(const Batch* const batch, NodeSwitches* const switches, const uint32_t from,
           const uint32_t to)
{
  for (uint32_t i = from; i < to; ++i) {
    batch->wet[i] = mix_link_gain(&switches->wet, i - from + 1U);
    batch->dry[i] = mix_link_gain(&switches->dry, i - from + 1U);
  }
  mix_link_advance(&switches->wet, to - from);
  mix_link_advance(&switches->dry, to - from);
}

/// Fill the weights of a node in a block, in which its switches change at some of the events.
/// Returns false if they rest in the complete block.
static bool
weigh_switches(const Stage* const stage, const Batch* const batch, const Run* const run,
               const uint32_t n_frames)
{
  NodeSwitches* const switches = run->switches;
  bool moves = switches->wet.gain.frames_left || switches->dry.gain.frames_left;
  uint32_t done = 0;
  const ChangeMarks* const marks = &stage->marks;
  for (uint32_t e = marks->first_event[run->node_index]; e; e = marks->next_event[e - 1U]) {
    const StageEvent* const event = &stage->changes->events[e - 1U];
    if (event->of_engine) {
      weigh_part(batch, switches, done, event->offset);
      done = event->offset;
      node_switches_set(switches, event->of_engine, event->value != 0.0, event->ramp_frames);
      moves = true;
    }
  }
  if (moves) {
    weigh_part(batch, switches, done, n_frames);
  }
  return moves;
}

/// Replace the outputs of a unit by its delayed inputs, or by silence.
static void
replace_unit(const Batch* const batch, const uint32_t u, const bool by_silence,
             const uint32_t n_frames)
{
  float delayed[FX_MAX_BLOCK];
  for (uint32_t c = 0; c < batch->specs[u].n_out; ++c) {
    const float* const in = by_silence ? NULL : dry_row(batch, u, c, delayed, n_frames);
    if (in) {
      memcpy(batch->units[u].out[c], in, n_frames * sizeof(float));
    } else {
      memset(batch->units[u].out[c], 0, n_frames * sizeof(float));
    }
  }
}

/// Apply the switches of a node to its outputs, after the guard.
static void
switch_run(const Stage* const stage, const Batch* const batch, const Run* const run,
           const uint32_t n_frames)
{
  const bool moves = weigh_switches(stage, batch, run, n_frames);
  const bool is_dry = node_switches_dry(run->switches) != 0.0F;
  for (uint32_t u = run->first_unit; u < run->first_unit + run->n_units; ++u) {
    if (moves) {
      blend_unit(batch, u, n_frames);
    } else if (node_switches_are_on(run->switches)) {
      replace_unit(batch, u, !is_dry, n_frames);
    }
  }
}

// ---- nodes ----

/// Treat a node that is stopped, or whose output is or was not finite: it is finite afterwards.
/// Returns the number of units whose output was not.
static uint32_t
treat_health(const Batch* const batch, const Run* const run, const uint32_t n_frames)
{
  const uint32_t end = run->first_unit + run->n_units;
  uint32_t n_bad = 0;
  float peak = 0.0F;
  for (uint32_t u = run->first_unit; u < end; ++u) {
    if (run->is_stopped) {
      silence_unit(batch, u, n_frames);
    } else {
      const float unit_peak = guard_unit(batch, u, n_frames);
      n_bad += !isfinite(unit_peak);
      peak = larger(peak, unit_peak);
    }
  }
  NodeHealth* const health = run->health;
  if (batch->fx->renew && !run->is_stopped && !n_bad && !health->plays_input) {
    follow_level(batch, run, peak, n_frames);
  }
  const bool was_bypassed = health->plays_input;
  const bool is_bypassed =
      run->is_stopped ||
      node_health_follow(health, n_bad == 0U, batch->fx->renew != NULL,
                         batch->specs[run->first_unit].input_line->delay_frames, n_frames);
  health->plays_input = is_bypassed;
  if (was_bypassed || is_bypassed) {
    weigh_bypass(batch, health, n_frames, was_bypassed, is_bypassed);
    for (uint32_t u = run->first_unit; u < end; ++u) {
      blend_unit(batch, u, n_frames);
    }
  }
  return n_bad;
}

/// Treat a node whose output does not leave it as it is.  Returns the number of units whose output
/// was not finite.
NOINLINE static uint32_t
treat_run(const Stage* const stage, const Batch* const batch, const Run* const run,
          const uint32_t n_frames)
{
  const uint32_t n_bad = treat_health(batch, run, n_frames);
  if (run->health->needs_care) {
    switch_run(stage, batch, run, n_frames);
  }
  run->health->needs_care =
      !node_health_is_good(run->health) || !node_switches_rest_off(run->switches);
  return n_bad;
}

/// Check the outputs of a node: all are finite afterwards.  Returns the number of units whose
/// output was not.
static uint32_t
guard_run(const Stage* const stage, const Batch* const batch, const Run* const run,
          const uint32_t n_frames)
{
  const float* const* const outs = (const float* const*)run->outs;
  const float peak = run->is_stopped ? INFINITY : peak_of_rows(outs, run->n_outs, n_frames);
  if (!isfinite(peak) || run->health->needs_care) {
    return treat_run(stage, batch, run, n_frames);
  }
  if (batch->fx->renew) {
    follow_level(batch, run, peak, n_frames);
  }
  return 0U;
}

uint32_t
stage_guard(const Stage* const stage, const Batch* const batch, const uint32_t n_frames)
{
  uint32_t n_reset = 0;
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    if (!batch->runs[r].is_done) {
      n_reset += guard_run(stage, batch, &batch->runs[r], n_frames);
    }
  }
  return n_reset;
}

bool
stage_guard_find_stopped(Batch* const batch)
{
  bool any = false;
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    Run* const run = &batch->runs[r];
    run->is_stopped = !node_health_may_run(run->health, &run->is_renewed);
    any = any || run->is_stopped;
  }
  return any;
}
