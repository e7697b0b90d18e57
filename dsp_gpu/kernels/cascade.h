// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The code of one thread for fx_cascade.cu: sections, filters and units.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_CASCADE_H
#define WARPRACK_DSP_GPU_KERNELS_CASCADE_H

#include "stage.h"

#include "dsp_cpu/shared/cascade_words.h"

// A row: coefficients, each the sum of two floats, then states, two floats each
#define ROW_S     0
#define ROW_R     2 // r + s
#define ROW_B0    4
#define ROW_CV    6
#define ROW_CD    8  // cd - cv
#define ROW_SIGMA 10 // one float: minus the real part of the slower pole, see overlap()
#define ROW_OMEGA 11 // its imaginary part
#define ROW_V     16
#define ROW_D     18
#define ROW_QUADS (CASCADE_ROW_WORDS / 4)

// States below this become zero at the end of a tile: outputs do not change, and tails end.
#define SMALLEST_STATE 1e-25f

// ---- a precise number: a double where they are fast, otherwise the sum of two floats ----

#if HAS_FAST_F64

typedef f64 Precise;

DEVICE Precise
precise(const f32 value, const f32 rest)
{
  return (f64)value + (f64)rest;
}

DEVICE Precise
precise_of(const f32 value)
{
  return (f64)value;
}

// Two floats with this sum.
DEVICE float2
two_floats(const Precise x)
{
  const f32 rounded = (f32)x;
  return F2(rounded, (f32)(x - (f64)rounded));
}

// The two words of a number in local memory.
DEVICE float2
precise_words(const Precise x)
{
  return BITS_OF_F64(x);
}

DEVICE Precise
precise_of_words(const f32 first, const f32 second)
{
  return F64_OF_BITS(first, second);
}

// a b + sum
DEVICE Precise
precise_add(const Precise sum, const Precise a, const Precise b)
{
  return a * b + sum;
}

#else

typedef float2 Precise;

DEVICE Precise
precise(const f32 value, const f32 rest)
{
  return F2(value, rest);
}

DEVICE Precise
precise_of(const f32 value)
{
  return F2(value, 0.0f);
}

DEVICE float2
two_floats(const Precise x)
{
  return x;
}

// The two words of a number in local memory.
DEVICE float2
precise_words(const Precise x)
{
  return x;
}

DEVICE Precise
precise_of_words(const f32 first, const f32 second)
{
  return F2(first, second);
}

DEVICE Precise
precise_add(const Precise sum, const Precise a, const Precise b)
{
  const float2 product = exact_product(a.x, b.x);
  const float2 next = exact_sum(sum.x, product.x);
  const f32 rest = FMA(a.x, b.y, FMA(a.y, b.x, product.y));
  return exact_sum_ordered(next.x, sum.y + (next.y + rest));
}

#endif

// ---- a section ----

typedef struct Section {
  Precise s, r, b0, cv, cd;
  Precise v, d; // state
} Section;

DEVICE Section
section_load(GLOBAL const f32* const row)
{
  GLOBAL const float4* const quads = (GLOBAL const float4*)row;
  const float4 recursion = quads[ROW_S / 4];
  const float4 output = quads[ROW_B0 / 4];
  const float4 output_d = quads[ROW_CD / 4];
  const float4 state = quads[ROW_V / 4];
  Section section;
  section.s = precise(recursion.x, recursion.y);
  section.r = precise(recursion.z, recursion.w);
  section.b0 = precise(output.x, output.y);
  section.cv = precise(output.z, output.w);
  section.cd = precise(output_d.x, output_d.y);
  section.v = precise(state.x, state.y);
  section.d = precise(state.z, state.w);
  return section;
}

DEVICE Section
section_zero(void)
{
  Section section;
  section.s = section.r = section.b0 = section.cv = section.cd = precise(0.0f, 0.0f);
  section.v = section.d = precise(0.0f, 0.0f);
  return section;
}

DEVICE float2
settled(const float2 state)
{
  const float2 whole = exact_sum_ordered(state.x, state.y);
  return FABS(whole.x) < SMALLEST_STATE ? F2(0.0f, 0.0f) : whole;
}

DEVICE void
section_store(GLOBAL f32* const row, const Section section)
{
  const float2 v = settled(two_floats(section.v));
  const float2 d = settled(two_floats(section.d));
  ((GLOBAL float4*)row)[ROW_V / 4] = F4(v.x, v.y, d.x, d.y);
}

#if HAS_FAST_F64

DEVICE void
section_step(Section* const section, const Precise x)
{
  const f64 d = section->d;
  section->v += d;
  section->d = section->r * d + x - section->s * section->v;
}

DEVICE Precise
section_out(const Section section, const Precise x, const Precise d)
{
  return section.cv * section.v + (section.cd * d + section.b0 * x);
}

DEVICE f32
section_out_rounded(const Section section, const Precise x, const Precise d)
{
  return (f32)section_out(section, x, d);
}

#else

// The state after a frame. v.y collects rounding errors; section_store() normalises the sum.
DEVICE void
section_step(Section* const section, const float2 x)
{
  const float2 d = section->d;
  const float2 v = exact_sum(section->v.x, d.x);
  const f32 v_rest = section->v.y + (v.y + d.y);
  const float2 kept = exact_product(section->r.x, d.x);
  const float2 back = exact_product(section->s.x, v.x);
  const float2 push = exact_sum(x.x, -back.x);
  const float2 next = exact_sum(kept.x, push.x);
  f32 rest = FMA(section->r.x, d.y, FMA(section->r.y, d.x, kept.y));
  rest = FMA(-section->s.x, v_rest, FMA(-section->s.y, v.x, rest)) + (x.y - back.y);
  rest += push.y + next.y;
  section->v = F2(v.x, v_rest);
  section->d = exact_sum_ordered(next.x, rest);
}

// Output of a frame, after its step; d: the state d before the step.
DEVICE float2
section_out(const Section section, const float2 x, const float2 d)
{
  const float2 v = section.v;
  const float2 of_x = exact_product(section.b0.x, x.x);
  const float2 of_v = exact_product(section.cv.x, v.x);
  const float2 of_d = exact_product(section.cd.x, d.x);
  const float2 two = exact_sum(of_v.x, of_d.x);
  const float2 all = exact_sum(two.x, of_x.x);
  f32 rest = FMA(section.cd.x, d.y, section.cd.y * d.x);
  rest = FMA(section.cv.x, v.y, FMA(section.cv.y, v.x, rest));
  rest = FMA(section.b0.x, x.y, FMA(section.b0.y, x.x, rest));
  return F2(all.x, rest + (of_x.y + of_v.y + of_d.y) + (two.y + all.y));
}

// As above, rounded to one float.
DEVICE f32
section_out_rounded(const Section section, const float2 x, const float2 d)
{
  const f32 rest = FMA(section.b0.x, x.y, FMA(section.cv.x, section.v.y, section.cd.x * d.y));
  return FMA(section.b0.x, x.x, FMA(section.cv.x, section.v.x, section.cd.x * d.x)) + rest;
}

#endif

// ---- frames [first, end) of tiles ----

// Signals in local memory, frame by frame.
typedef struct Tiles {
  LOCAL_POINTER f32* in;
  LOCAL_POINTER f32* out;
  LOCAL_POINTER f32* rest; // beside `out`, between two sections: the rounding errors
} Tiles;

DEVICE Tiles
tiles_of(LOCAL_POINTER f32* const in, LOCAL_POINTER f32* const out, LOCAL_POINTER f32* const rest)
{
  Tiles tiles;
  tiles.in = in;
  tiles.out = out;
  tiles.rest = rest;
  return tiles;
}

#define STEP_FRAMES 4 // whose input a thread reads at once

// Read n frames, at most STEP_FRAMES, of the input of section `s` of a filter.
DEVICE void
frames_read(const Tiles tiles, const u32 s, const u32 first, const u32 n, Precise* const x)
{
  if (s == 0) {
    for (u32 k = 0; k < n; ++k) {
      x[k] = precise_of(tiles.in[first + k]);
    }
  } else {
    for (u32 k = 0; k < n; ++k) {
      x[k] = precise_of_words(tiles.out[first + k], tiles.rest[first + k]);
    }
  }
}

// Run n frames, at most STEP_FRAMES, of a section that is not the last one.
DEVICE void
frames_run(Section* const section, const Tiles tiles, const u32 s, const u32 first, const u32 n)
{
  Precise x[STEP_FRAMES];
  frames_read(tiles, s, first, n, x);
  for (u32 k = 0; k < n; ++k) {
    const Precise d = section->d;
    section_step(section, x[k]);
    const float2 words = precise_words(section_out(*section, x[k], d));
    tiles.out[first + k] = words.x;
    tiles.rest[first + k] = words.y;
  }
}

// Run n frames, at most STEP_FRAMES, of the last section, and multiply its output by a gain.
// Returns 0, or NaN if an output is not finite before that.
DEVICE f32
frames_run_last(Section* const section, const Tiles tiles, const u32 s, const u32 first,
                const u32 n, const f32 gain)
{
  Precise x[STEP_FRAMES];
  f32 zero = 0.0f;
  frames_read(tiles, s, first, n, x);
  for (u32 k = 0; k < n; ++k) {
    const Precise d = section->d;
    section_step(section, x[k]);
    const f32 y = section_out_rounded(*section, x[k], d);
    zero = FMA(y, 0.0f, zero);
    tiles.out[first + k] = gain * y;
  }
  return zero;
}

// Run a section that is not the last one.
DEVICE void
section_run(Section* const section, const Tiles tiles, const u32 s, const u32 first, const u32 end)
{
  u32 i = first;
  for (; i + STEP_FRAMES <= end; i += STEP_FRAMES) {
    frames_run(section, tiles, s, i, STEP_FRAMES);
  }
  for (; i < end; ++i) {
    frames_run(section, tiles, s, i, 1);
  }
}

// Run the last section, and multiply its output by a gain; returns true if an output is not finite
// before that.
DEVICE u32
section_run_last(Section* const section, const Tiles tiles, const u32 s, const u32 first,
                 const u32 end, const f32 gain)
{
  f32 zero = 0.0f;
  u32 i = first;
  for (; i + STEP_FRAMES <= end; i += STEP_FRAMES) {
    zero += frames_run_last(section, tiles, s, i, STEP_FRAMES, gain);
  }
  for (; i < end; ++i) {
    zero += frames_run_last(section, tiles, s, i, 1, gain);
  }
  return zero != 0.0f;
}

// ---- a unit ----

// The node's current design.
DEVICE void
take_design(const Stage stage, const u32 s, GLOBAL f32* const row)
{
  for (u32 w = 0; w < CASCADE_COEFFICIENT_WORDS; ++w) {
    row[w] = unit_param_f32(stage, 0, CASCADE_PARAM_HEAD + s * CASCADE_COEFFICIENT_WORDS + w);
  }
}

DEVICE void
unit_begin(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  for (u32 s = 0; s < n_sections; ++s) {
    GLOBAL f32* const row = state + CASCADE_STATE_HEAD + s * CASCADE_ROW_WORDS;
    take_design(stage, s, row);
    ((GLOBAL float4*)row)[ROW_V / 4] = F4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  state[0] = 1.0f;
  state[CASCADE_STATE_VERSION] = F32_OF_BITS(unit_param(stage, 0, CASCADE_VERSION));
  state[CASCADE_STATE_FADE_LEFT] = F32_OF_BITS(0U);
}

// Similarity of the impulse responses of two sections, 0 to 1: the cosine between exp(p t) and
// exp(q t) as vectors.
DEVICE f32
overlap(GLOBAL const f32* const p, GLOBAL const f32* const q)
{
  const f32 sum = p[ROW_SIGMA] + q[ROW_SIGMA];
  const f32 apart = (q[ROW_OMEGA] - p[ROW_OMEGA]) + (q[ROW_OMEGA + 1] - p[ROW_OMEGA + 1]);
  return SQRT(4.0f * p[ROW_SIGMA] * q[ROW_SIGMA] / (sum * sum + apart * apart));
}

// Start the next filter from the old state times the similarity of the filters; returns the frames
// until the fade ends. dsp_cpu/cascade.c gives the reason.
DEVICE u32
fade_begin(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  const u32 fade_frames = unit_param(stage, 0, CASCADE_FADE_FRAMES);
  f32 least_kept = 1.0f;
  for (u32 s = 0; s < n_sections; ++s) {
    GLOBAL const f32* const old = state + CASCADE_STATE_HEAD + s * CASCADE_ROW_WORDS;
    GLOBAL f32* const next = state + CASCADE_STATE_HEAD + (n_sections + s) * CASCADE_ROW_WORDS;
    take_design(stage, s, next);
    const f32 kept = overlap(old, next);
    const f32 scale = old[ROW_S] / next[ROW_S];
    const f32 scale_v = kept * scale;
    const f32 scale_d = kept * SQRT(scale);
    ((GLOBAL float4*)next)[ROW_V / 4] = F4(scale_v * old[ROW_V], scale_v * old[ROW_V + 1],
                                           scale_d * old[ROW_D], scale_d * old[ROW_D + 1]);
    least_kept = FMIN(least_kept, kept);
  }
  state[CASCADE_STATE_VERSION] = F32_OF_BITS(unit_param(stage, 0, CASCADE_VERSION));
  state[CASCADE_STATE_FADE_FRAMES] = F32_OF_BITS(fade_frames);
  return fade_frames + (u32)((1.0f - least_kept) * (f32)fade_frames);
}

DEVICE void
fade_end(GLOBAL f32* const state, const u32 n_sections)
{
  GLOBAL float4* const old = (GLOBAL float4*)(state + CASCADE_STATE_HEAD);
  const u32 n_quads = n_sections * ROW_QUADS;
  for (u32 q = 0; q < n_quads; ++q) {
    old[q] = old[n_quads + q];
  }
}

// Cross-fade `out` to the next filter, whose output is in `in`; `left` frames remain until the
// fade ends.
DEVICE void
fade_mix(const Tiles tiles, const u32 first, const u32 end, const u32 left, const u32 fade_frames)
{
  const f32 per_frame = 1.0f / (f32)fade_frames;
  const u32 listens = left > fade_frames ? left - fade_frames : 0;
  for (u32 i = first + listens; i < end; ++i) {
    // From the middle, -1/2 to 1/2; 6 w^5 - 15 w^4 + 10 w^3 for w = 1/2 + c.
    const f32 c = (0.5f * (f32)fade_frames - (f32)(left - (i - first))) * per_frame;
    const f32 c2 = c * c;
    const f32 weight = 0.5f + c * (1.875f + c2 * (6.0f * c2 - 5.0f));
    tiles.out[i] += weight * (tiles.in[i] - tiles.out[i]);
  }
}

// Call before running frames of unit 0 of the stage: initialises a new unit, and starts a fade if
// the design has changed.  Returns the frames until the fade ends, 0: only the old filter runs.
DEVICE u32
unit_prepare(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  if (state[0] == 0.0f) {
    unit_begin(stage, n_sections);
  }
  if (BITS_OF_F32(state[CASCADE_STATE_FADE_LEFT]) == 0 &&
      BITS_OF_F32(state[CASCADE_STATE_VERSION]) != unit_param(stage, 0, CASCADE_VERSION)) {
    state[CASCADE_STATE_FADE_LEFT] = F32_OF_BITS(fade_begin(stage, n_sections));
  }
  return BITS_OF_F32(state[CASCADE_STATE_FADE_LEFT]);
}

// Advance a fade with `left` remaining frames by n_frames.
DEVICE void
fade_advance(GLOBAL f32* const state, const u32 n_sections, const u32 left, const u32 n_frames)
{
  if (left == n_frames) {
    fade_end(state, n_sections);
  }
  state[CASCADE_STATE_FADE_LEFT] = F32_OF_BITS(left - n_frames);
}

// Tiles of the next filter: its output replaces the input.
DEVICE Tiles
tiles_of_next(const Tiles tiles)
{
  Tiles next = tiles;
  next.out = tiles.in;
  return next;
}

#endif
