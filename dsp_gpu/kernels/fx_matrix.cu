// SPDX-License-Identifier: GPL-3.0-or-later
/*
  matrix: sums of inputs, each times its coefficient, in the order of the inputs.

  A group computes a tile of ROWS outputs and FRAMES frames; its number in y is tile of rows +
  n tiles of rows * tile of frames.  First it describes the inputs that any of its rows uses, with
  BATCH of them in flight for each thread.  Then it processes them, COLUMNS at a time, in two steps:
  it reads them, with all loads of a thread in flight at once, and sums four rows of one frame in
  each thread.

  Limited by latency if there are few tiles; if there are many, by local memory and by the
  second-level cache, from which each tile of rows reads the inputs.  Local memory: 26 KB.

  Sizes: ROWS and FRAMES of a tile; INPUTS, the most inputs.

  A tile silences only itself when a sum is not finite: the effect has no state that could keep the
  value.
*/

#include "stage.h"

#define COLUMNS 64
#define BATCH   8
#define HALVES  (GROUP_SIZE / FRAMES) // parts of a tile's rows: a thread sums four of them
#define READS   (COLUMNS / HALVES)    // of a thread, from the inputs half, half + HALVES, ...
#define NO_ROW  0xFFFFFFFFU           // of an input that is a sum, or whose gain moves

// Data, with n tiles of rows and m entries, which are columns of a tile with a coefficient that is
// not 0:
//   [n + 1]      first entry of each tile; m
//   [m]          column of each entry
//   from the next multiple of four on, [m][ROWS] coefficients

// Find row and gain of n inputs, whose numbers are in `columns`.
DEVICE void
describe_inputs(const Stage stage, const u32 unit, GLOBAL const f32* const columns, const u32 n,
                LOCAL_POINTER u32* const from, LOCAL_POINTER f32* const gain)
{
  const u32 inputs = unit_word(stage, unit, UNIT_IN);
  for (u32 first = LOCAL_ID; first < n; first += BATCH * GROUP_SIZE) {
    u32 at[BATCH];
    u32 links[BATCH];
    for (u32 b = 0; b < BATCH; ++b) {
      const u32 i = min(first + b * GROUP_SIZE, n - 1);
      at[b] = inputs + BITS_OF_F32(columns[i]) * INPUT_WORDS;
    }
    for (u32 b = 0; b < BATCH; ++b) {
      links[b] = stage.table[at[b] + INPUT_FIRST + TERM_LINK];
    }
    for (u32 b = 0; b < BATCH; ++b) {
      const u32 i = first + b * GROUP_SIZE;
      const u32 is_plain =
          stage.table[at[b] + INPUT_N_TERMS] == 1 && stage.live[links[b] + LINK_IS_STEADY];
      const f32 steady = F32_OF_BITS(stage.live[links[b] + LINK_GAIN]);
      if (i < n) {
        from[i] = is_plain ? stage.table[at[b] + INPUT_FIRST + TERM_FROM] : NO_ROW;
        gain[i] = steady;
      }
    }
  }
}

// Read one frame of n inputs; the threads of part h read the inputs h, h + HALVES, ...
DEVICE void
read_inputs(const Stage stage, const u32 unit, GLOBAL const f32* const columns,
            LOCAL_POINTER const u32* const from, LOCAL_POINTER const f32* const gain, const u32 n,
            const u32 frame, LOCAL_POINTER f32* const in)
{
  const u32 lane = LOCAL_ID % FRAMES;
  const u32 half_index = LOCAL_ID / FRAMES;
  f32 x[READS];
  for (u32 r = 0; r < READS; ++r) {
    const u32 c = half_index + r * HALVES;
    const u32 is_plain = c < n && from[c] != NO_ROW;
    x[r] = is_plain ? row_at(stage, from[c])[frame] * gain[c] : 0.0f;
  }
  for (u32 r = 0; r < READS; ++r) {
    in[(half_index + r * HALVES) * FRAMES + lane] = x[r];
  }
  for (u32 c = half_index; c < n; c += HALVES) {
    if (from[c] == NO_ROW) {
      const Input input = unit_input(stage, unit, BITS_OF_F32(columns[c]));
      in[c * FRAMES + lane] = input_at(stage, input, frame);
    }
  }
}

KERNEL
fx_matrix(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, in, COLUMNS * FRAMES);
  LOCAL_ARRAY(float4, coefficients, COLUMNS * HALVES);
  LOCAL_ARRAY(u32, from, INPUTS);
  LOCAL_ARRAY(f32, gain, INPUTS);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const u32 n_rows = unit_word(stage, unit, UNIT_N_OUT);
  const u32 n_tiles = (n_rows + ROWS - 1) / ROWS;
  const u32 tile = GROUP_Y % n_tiles;
  const u32 first_frame = GROUP_Y / n_tiles * FRAMES;
  const u32 lane = LOCAL_ID % FRAMES;
  const u32 half_index = LOCAL_ID / FRAMES;
  const u32 frame = first_frame + lane;
  const u32 has_frame = frame < stage.n_frames;

  GLOBAL const f32* const firsts = unit_data(stage, unit);
  GLOBAL const f32* const columns = firsts + n_tiles + 1;
  const u32 n_entries = BITS_OF_F32(firsts[n_tiles]);
  GLOBAL const float4* const halves =
      (GLOBAL const float4*)(firsts + (n_tiles + 1 + n_entries + 3) / 4 * 4);
  const u32 first = BITS_OF_F32(firsts[tile]);
  const u32 end = first_frame < stage.n_frames ? BITS_OF_F32(firsts[tile + 1]) : first;

  describe_inputs(stage, unit, columns + first, end - first, from, gain);
  float4 sum = F4(0.0f, 0.0f, 0.0f, 0.0f);
  u32 entry = first;
  do { // at least one iteration, for PoCL: see the rules in ../README.md
    const u32 n = min(end - entry, (u32)COLUMNS);
    BARRIER(); // the inputs are described, the previous ones summed
    for (u32 k = LOCAL_ID; k < n * HALVES; k += GROUP_SIZE) {
      coefficients[k] = halves[entry * HALVES + k];
    }
    read_inputs(stage, unit, columns + entry, from + (entry - first), gain + (entry - first), n,
                has_frame ? frame : 0, in);
    BARRIER();
    for (u32 c = 0; c < n; ++c) {
      const f32 x = in[c * FRAMES + lane];
      sum = FMA(coefficients[c * HALVES + half_index], F4(x, x, x, x), sum);
    }
    entry += COLUMNS;
  } while (entry < end);

  const f32 sums[4] = { sum.x, sum.y, sum.z, sum.w };
  const u32 row = tile * ROWS + half_index * 4;
  u32 is_bad = 0;
  for (u32 r = 0; r < 4; ++r) {
    is_bad |= has_frame && row + r < n_rows && !is_finite(sums[r]);
  }
  const u32 is_silent = group_any(is_bad, flag);
  for (u32 r = 0; r < 4; ++r) {
    if (has_frame && row + r < n_rows) {
      unit_out(stage, unit, row + r)[frame] = is_silent ? 0.0f : sums[r];
    }
  }
  if (is_silent && LOCAL_ID == 0) {
    unit_reset(stage, unit);
  }
}
