// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Shared by the kernels of a stage: access to units, their inputs and outputs, ramps, and the guard
  against non-finite values.  layout.h has the places of all words.

  A kernel of an effect takes STAGE_ARGS and begins with `const Stage stage = STAGE;`.  The shortest
  is fx_gain.cu.

  Rules:
  - LIVE_N_FRAMES is 0 in the trial run of a stage: then a kernel must not store anything, not even
    state.
  - A unit whose state word 0 is 0 is new: its memory has random contents, so a kernel may read only
    words that it has written since, and its ramps rest at the node's current parameters.
  - Only stage_begin reads rows of the host, and only stage_end writes them.
  - Group g of a launch runs unit g, or units from g * units_per_group on; units from n_units on do
    not exist, but their threads take part in barriers.
  - Every output sample is finite, or the unit is silenced and reset: unit_end().  Where several
    groups share a unit, each checks its own part: unit_end_part().
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_STAGE_H
#define WARPRACK_DSP_GPU_KERNELS_STAGE_H

#include "layout.h"

typedef u32 uint32_t;
typedef i32 int32_t;
#define RAMP_FUNCTION DEVICE
#include "engine/contract/ramp.h"

#define STAGE_ARGS                                                                                 \
  GLOBAL u32 *const live, GLOBAL const u32 *const RESTRICT table,                                  \
      GLOBAL const f32 *const host_rows, GLOBAL f32 *const to_host, GLOBAL f32 *const rows,        \
      GLOBAL f32 *const memory, const u32 first_unit, const u32 n_units

#define STAGE stage_of(live, table, host_rows, to_host, rows, memory, first_unit, n_units)

typedef struct Stage {
  GLOBAL u32* live;
  GLOBAL const u32* table;
  GLOBAL const f32* host_rows; // rows from the host, on the device
  GLOBAL f32* to_host;         // written by stage_end only
  GLOBAL f32* rows;
  GLOBAL f32* memory;
  u32 first_unit; // word in table
  u32 n_units;    // of the launch
  u32 n_frames;
  u32 row_stride;
} Stage;

DEVICE Stage
stage_of(GLOBAL u32* const live, GLOBAL const u32* const table, GLOBAL const f32* const host_rows,
         GLOBAL f32* const to_host, GLOBAL f32* const rows, GLOBAL f32* const memory,
         const u32 first_unit, const u32 n_units)
{
  Stage stage;
  stage.live = live;
  stage.table = table;
  stage.host_rows = host_rows + live[LIVE_IN_AT];
  stage.to_host = to_host + live[LIVE_OUT_AT];
  stage.rows = rows;
  stage.memory = memory;
  stage.first_unit = first_unit;
  stage.n_units = n_units;
  stage.n_frames = live[LIVE_N_FRAMES];
  stage.row_stride = table[TABLE_ROW_STRIDE];
  return stage;
}

// ---- units ----

// A UNIT_ word of unit `unit` of the launch.
DEVICE u32
unit_word(const Stage stage, const u32 unit, const u32 word)
{
  return stage.table[stage.first_unit + unit * UNIT_WORDS + word];
}

DEVICE GLOBAL f32*
memory_at(const Stage stage, const u32 quad)
{
  return stage.memory + (u64)quad * QUAD_WORDS;
}

DEVICE GLOBAL f32*
unit_state(const Stage stage, const u32 unit)
{
  return memory_at(stage, unit_word(stage, unit, UNIT_STATE));
}

DEVICE GLOBAL const f32*
unit_data(const Stage stage, const u32 unit)
{
  return memory_at(stage, unit_word(stage, unit, UNIT_DATA));
}

// The node's parameters, as written by FxKernel::pack.
DEVICE u32
unit_param(const Stage stage, const u32 unit, const u32 param)
{
  return stage.live[unit_word(stage, unit, UNIT_PARAMS) + param];
}

DEVICE f32
unit_param_f32(const Stage stage, const u32 unit, const u32 param)
{
  return F32_OF_BITS(unit_param(stage, unit, param));
}

// ---- rows ----

DEVICE GLOBAL const f32*
row_at(const Stage stage, const u32 row)
{
  GLOBAL const f32* const first = row & ROW_FROM_HOST ? stage.host_rows : stage.rows;
  return first + (u64)(row & ~ROW_FROM_HOST) * stage.row_stride;
}

// Output `channel` of a unit.
DEVICE GLOBAL f32*
unit_out(const Stage stage, const u32 unit, const u32 channel)
{
  const u32 row = stage.table[unit_word(stage, unit, UNIT_OUT) + channel];
  return stage.rows + (u64)row * stage.row_stride;
}

// One input of a unit: a sum of rows, each times the gain of its connection.
typedef struct Input {
  GLOBAL const f32* row; // of the first term
  f32 gain;              // of the first term, while it is steady
  u32 terms;             // word in table
  u32 n_terms;
  u32 is_plain; // 1 if there is one term, and it is steady
} Input;

// The input described at word `at` of the table.  An input without terms has any row as its first
// term, times 1, so that no read depends on a branch.
DEVICE Input
input_of(const Stage stage, const u32 at)
{
  const u32 link = stage.table[at + INPUT_FIRST + TERM_LINK];
  const u32 is_steady = stage.live[link + LINK_IS_STEADY];
  const f32 gain = F32_OF_BITS(stage.live[link + LINK_GAIN]);
  Input input;
  input.terms = stage.table[at + INPUT_TERMS];
  input.n_terms = stage.table[at + INPUT_N_TERMS];
  input.row = row_at(stage, stage.table[at + INPUT_FIRST + TERM_FROM]);
  input.gain = input.n_terms > 0 ? gain : 0.0f;
  input.is_plain = (input.n_terms == 1) & is_steady;
  return input;
}

DEVICE Input
unit_input(const Stage stage, const u32 unit, const u32 channel)
{
  return input_of(stage, unit_word(stage, unit, UNIT_IN) + channel * INPUT_WORDS);
}

// ---- ramps in memory: RAMP_WORDS words ----

DEVICE Ramp
ramp_load(GLOBAL const f32* const words)
{
  Ramp ramp;
  ramp.target = words[0];
  ramp.a = words[1];
  ramp.b = words[2];
  ramp.per_frame = words[3];
  ramp.frames_left = BITS_OF_F32(words[4]);
  return ramp;
}

DEVICE void
ramp_store(GLOBAL f32* const words, const Ramp ramp)
{
  words[0] = ramp.target;
  words[1] = ramp.a;
  words[2] = ramp.b;
  words[3] = ramp.per_frame;
  words[4] = F32_OF_BITS(ramp.frames_left);
}

// The value in `frames` frames: the result of the frames-th call of ramp_next() from now.
DEVICE f32
ramp_ahead(const Ramp ramp, const u32 frames)
{
  return ramp_value_at(&ramp, ramp.frames_left > frames ? ramp.frames_left - frames : 0U);
}

// The ramp at a word of a unit's state, on its way to `target`; a new unit's ramp rests there.
DEVICE Ramp
unit_ramp(const Stage stage, const u32 unit, const u32 word, const f32 target,
          const u32 ramp_frames)
{
  GLOBAL const f32* const state = unit_state(stage, unit);
  Ramp ramp = state[0] == 0.0f ? ramp_at(target) : ramp_load(state + word);
  ramp_aim(&ramp, target, ramp_frames);
  return ramp;
}

// ---- inputs ----

#define TERMS 4

// Gain of a connection during a fade, at the frames-th frame from now, counted from 1.
DEVICE f32
moving_gain(const Stage stage, const u32 link, const u32 frames)
{
  const u32 hold_frames = stage.live[link + LINK_HOLD];
  const u32 first = link + (frames <= hold_frames ? LINK_RAMP : LINK_NEXT);
  Ramp ramp;
  ramp.target = F32_OF_BITS(stage.live[first]);
  ramp.a = F32_OF_BITS(stage.live[first + 1]);
  ramp.b = F32_OF_BITS(stage.live[first + 2]);
  ramp.per_frame = F32_OF_BITS(stage.live[first + 3]);
  ramp.frames_left = stage.live[first + 4];
  return ramp_ahead(ramp, frames <= hold_frames ? frames : frames - hold_frames);
}

// The sum of all terms.  Finding a term takes two table reads; a bus may have hundreds of terms, so
// TERMS of them are in flight at once.
DEVICE f32
input_sum(const Stage stage, const Input input, const u32 frame)
{
  f32 sum = 0.0f;
  for (u32 first = 0; first < input.n_terms; first += TERMS) {
    u32 from[TERMS];
    u32 links[TERMS];
    u32 are_steady[TERMS];
    f32 gains[TERMS];
    f32 x[TERMS];
    for (u32 t = 0; t < TERMS; ++t) {
      const u32 term = input.terms + min(first + t, input.n_terms - 1) * TERM_WORDS;
      from[t] = stage.table[term + TERM_FROM];
      links[t] = stage.table[term + TERM_LINK];
    }
    for (u32 t = 0; t < TERMS; ++t) {
      x[t] = row_at(stage, from[t])[frame];
      are_steady[t] = stage.live[links[t] + LINK_IS_STEADY];
      gains[t] = F32_OF_BITS(stage.live[links[t] + LINK_GAIN]);
    }
    for (u32 t = 0; t < TERMS; ++t) {
      if (first + t < input.n_terms) {
        sum += (are_steady[t] ? gains[t] : moving_gain(stage, links[t], frame + 1)) * x[t];
      }
    }
  }
  return sum;
}

// Sample `frame` of the block.  The first term is read before it is known that it is the only one.
DEVICE f32
input_at(const Stage stage, const Input input, const u32 frame)
{
  f32 x = input.gain * input.row[frame];
  if (!input.is_plain) {
    x = input_sum(stage, input, frame);
  }
  return x;
}

// ---- the guard ----

DEVICE u32
is_finite(const f32 x)
{
  return (BITS_OF_F32(x) & 0x7FFFFFFFU) < 0x7F800000U;
}

// Reset the unit that owns `state`, after a non-finite output.  By one thread.
DEVICE void
state_reset(const Stage stage, GLOBAL f32* const state)
{
  state[0] = 0.0f;
  ATOMIC_INC(stage.live + LIVE_N_RESETS);
}

DEVICE void
unit_reset(const Stage stage, const u32 unit)
{
  state_reset(stage, unit_state(stage, unit));
}

// The end of a kernel whose group writes outputs [first, end) of a unit and owns `state`: by all
// threads, after their last store. is_bad: this thread stored a non-finite value. flag: one word
// of local memory.
DEVICE void
unit_end_part(const Stage stage, const u32 unit, const u32 first, const u32 end,
              GLOBAL f32* const state, const u32 is_bad, LOCAL_POINTER u32* const flag)
{
  if (group_any(is_bad, flag)) {
    for (u32 c = first; c < end; ++c) {
      GLOBAL f32* const out = unit_out(stage, unit, c);
      for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
        out[i] = 0.0f;
      }
    }
    if (LOCAL_ID == 0) {
      state_reset(stage, state);
    }
  }
}

// As unit_end_part(), for a group that runs one complete unit.
DEVICE void
unit_end(const Stage stage, const u32 unit, const u32 is_bad, LOCAL_POINTER u32* const flag)
{
  unit_end_part(stage, unit, 0, unit_word(stage, unit, UNIT_N_OUT), unit_state(stage, unit), is_bad,
                flag);
}

// ---- gains ----

// Write an output of a unit: one of its inputs times a gain; `ramp` is the gain before the block.
// By all threads, one for each frame.  Returns true if this thread stored a non-finite value.
DEVICE u32
unit_scale(const Stage stage, const u32 unit, const u32 from, const u32 to, const Ramp ramp)
{
  const Input input = unit_input(stage, unit, from);
  GLOBAL f32* const out = unit_out(stage, unit, to);
  u32 is_bad = 0;
  for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
    const f32 y = input_at(stage, input, i) * ramp_ahead(ramp, i + 1);
    is_bad |= !is_finite(y);
    out[i] = y;
  }
  return is_bad;
}

// Play a unit whose output k is its input k, or its only input, times the k-th gain.  The ramps of
// the gains follow word 0 of the state.  `flag` as for unit_end().
DEVICE void
unit_play_gains(const Stage stage, const u32 unit, const f32* const targets, const u32 n_gains,
                const u32 ramp_frames, LOCAL_POINTER u32* const flag)
{
  Ramp ramps[2];
  const u32 has_each = unit_word(stage, unit, UNIT_N_IN) == n_gains;
  u32 is_bad = 0;
  for (u32 k = 0; k < n_gains; ++k) {
    ramps[k] = unit_ramp(stage, unit, 1 + k * RAMP_WORDS, targets[k], ramp_frames);
    is_bad |= unit_scale(stage, unit, has_each ? k : 0, k, ramps[k]);
  }
  BARRIER(); // all threads have read the state
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    GLOBAL f32* const state = unit_state(stage, unit);
    for (u32 k = 0; k < n_gains; ++k) {
      ramp_skip(&ramps[k], stage.n_frames);
      ramp_store(state + 1 + k * RAMP_WORDS, ramps[k]);
    }
    state[0] = 1.0f;
  }
  unit_end(stage, unit, is_bad, flag);
}

#endif
