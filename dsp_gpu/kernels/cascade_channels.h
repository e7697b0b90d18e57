// SPDX-License-Identifier: GPL-3.0-or-later
/*
  fx_cascade.cu with one thread for each channel: for many channels, or short blocks.

  A group processes GROUP_SIZE channels in tiles of TILE_FRAMES frames.  Its threads read and write
  rows along the frames, so that neighbouring threads access neighbouring words; then each thread
  filters the frames of one channel in local memory (3 tiles, 25 KB for 32 threads).  The recursion
  limits the speed: one thread runs 50 instructions for each frame and section (75 if another
  section of the same unit follows), 10 of which depend on each other.  The hardware runs sets of
  32 neighbouring threads, and many such sets in parallel: a thousand channels take no longer than
  32.  One thread runs all filters of a chain, with the results between them in local memory.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_CASCADE_CHANNELS_H
#define WARPRACK_DSP_GPU_KERNELS_CASCADE_CHANNELS_H

#include "cascade.h"

#define TILE_FRAMES   64
#define TILE_STRIDE   (TILE_FRAMES + 1) // odd: threads with the same frame use different banks
#define TILE_WORDS    (GROUP_SIZE * TILE_STRIDE)
#define SCRATCH_WORDS (3 * GROUP_SIZE + 1)

// ---- a unit, by its thread ----

// Run frames [first, end) of a filter; returns true if an output is not finite.
DEVICE u32
filter_run(GLOBAL f32* const rows, const u32 n_sections, const Tiles tiles, const u32 first,
           const u32 end)
{
  const u32 last = n_sections - 1;
  Section section;
  for (u32 s = 0; s < last; ++s) {
    section = section_load(rows + s * CASCADE_ROW_WORDS);
    section_run(&section, tiles, s, first, end);
    section_store(rows + s * CASCADE_ROW_WORDS, section);
  }
  section = section_load(rows + last * CASCADE_ROW_WORDS);
  const u32 is_bad = section_run_last(&section, tiles, last, first, end);
  section_store(rows + last * CASCADE_ROW_WORDS, section);
  return is_bad;
}

// Run n frames of unit 0 of the stage; returns true if an output is not finite.
DEVICE u32
unit_run(const Stage stage, const Tiles tiles, const u32 n)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  GLOBAL f32* const rows = state + CASCADE_STATE_HEAD;
  const u32 n_sections = unit_param(stage, 0, CASCADE_N_SECTIONS);
  u32 is_bad = 0;
  for (u32 done = 0; done < n;) {
    const u32 left = unit_prepare(stage, n_sections);
    const u32 end = left > 0 ? min(n, done + left) : n;
    is_bad |= filter_run(rows, n_sections, tiles, done, end);
    if (left > 0) {
      is_bad |= filter_run(rows + n_sections * CASCADE_ROW_WORDS, n_sections, tiles_of_next(tiles),
                           done, end);
      fade_mix(tiles, done, end, left, BITS_OF_F32(state[CASCADE_STATE_FADE_FRAMES]));
      fade_advance(state, n_sections, left, end - done);
    }
    done = end;
  }
  return is_bad;
}

// ---- a chain of units ----

DEVICE void
silence(const Tiles tiles, const u32 n)
{
  for (u32 i = 0; i < n; ++i) {
    tiles.out[i] = 0.0f;
  }
}

// Run frames [at, at + n) of the chain that begins with unit 0 of the stage. silenced: a bit for
// each of its units that had a non-finite output; returns it with the new bits.
DEVICE u32
chain_run(Stage stage, const Tiles tiles, const u32 at, const u32 n, u32 silenced)
{
  for (u32 bit = 1;; bit <<= 1) {
    if (silenced & bit) {
      silence(tiles, n);
    } else if (unit_run(stage, tiles, n)) {
      silence(tiles, n);
      unit_reset(stage, 0);
      silenced |= bit;
    }
    const u32 next = unit_word(stage, 0, UNIT_NEXT);
    if (next == 0) {
      return silenced;
    }
    stage.first_unit = next;
    const u32 link = unit_word(stage, 0, UNIT_IN);
    const u32 is_steady = stage.live[link + LINK_IS_STEADY];
    const f32 steady_gain = F32_OF_BITS(stage.live[link + LINK_GAIN]);
    for (u32 i = 0; i < n; ++i) {
      const f32 gain = is_steady ? steady_gain : moving_gain(stage, link, at + i + 1);
      tiles.in[i] = gain * tiles.out[i];
    }
  }
}

// ---- a group ----

// Rows that the group's units read and write, one word for each unit.
typedef struct Rows {
  LOCAL_POINTER u32* from; // row of the first term
  LOCAL_POINTER f32* gain; // of a plain input, otherwise 0
  LOCAL_POINTER u32* to;
  LOCAL_POINTER u32* any_moving; // one word for the group: an input is not plain
} Rows;

// Threads without a unit get any row, times 0.
DEVICE void
rows_find(const Stage stage, const Rows rows, const u32 first, const u32 n_rows)
{
  if (LOCAL_ID == 0) {
    rows.any_moving[0] = 0;
  }
  rows.from[LOCAL_ID] = 0;
  rows.gain[LOCAL_ID] = 0.0f;
  BARRIER();
  if (LOCAL_ID < n_rows) {
    const u32 unit = first + LOCAL_ID;
    const Input input = unit_input(stage, unit, 0);
    rows.to[LOCAL_ID] = stage.table[unit_word(stage, unit, UNIT_OUT)];
    if (input.is_plain) {
      rows.from[LOCAL_ID] = stage.table[input.terms + TERM_FROM];
      rows.gain[LOCAL_ID] = input.gain;
    } else {
      rows.any_moving[0] = 1;
    }
  }
  BARRIER();
}

// Load frames [at, at + n) of n_rows inputs: first the plain inputs, with all loads of a frame in
// flight at once.
DEVICE void
tile_load(const Stage stage, const Rows rows, LOCAL_POINTER f32* const tile, const u32 first,
          const u32 n_rows, const u32 at, const u32 n)
{
  for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
    f32 samples[GROUP_SIZE];
#pragma unroll
    for (u32 u = 0; u < GROUP_SIZE; ++u) {
      samples[u] = row_at(stage, rows.from[u])[at + i];
    }
#pragma unroll
    for (u32 u = 0; u < GROUP_SIZE; ++u) {
      tile[u * TILE_STRIDE + i] = rows.gain[u] * samples[u];
    }
  }
  if (rows.any_moving[0]) {
    for (u32 u = 0; u < n_rows; ++u) {
      const Input input = unit_input(stage, first + u, 0);
      for (u32 i = LOCAL_ID; i < n && !input.is_plain; i += GROUP_SIZE) {
        tile[u * TILE_STRIDE + i] = input_at(stage, input, at + i);
      }
    }
  }
}

DEVICE void
tile_store(const Stage stage, const Rows rows, LOCAL_POINTER const f32* const tile,
           const u32 n_rows, const u32 at, const u32 n)
{
  for (u32 u = 0; u < n_rows; ++u) {
    GLOBAL f32* const row = stage.rows + (u64)rows.to[u] * stage.row_stride + at;
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      row[i] = tile[u * TILE_STRIDE + i];
    }
  }
}

// The kernel. tiles: TILE_WORDS each, for the group; scratch: SCRATCH_WORDS words.
DEVICE void
group_run(const Stage stage, const Tiles tiles, LOCAL_POINTER u32* const scratch)
{
  const u32 first = GROUP_X * GROUP_SIZE;
  const u32 n_rows = min(stage.n_units - first, (u32)GROUP_SIZE);
  Rows rows;
  rows.from = scratch;
  rows.to = scratch + GROUP_SIZE;
  rows.gain = (LOCAL_POINTER f32*)(scratch + 2 * GROUP_SIZE);
  rows.any_moving = scratch + 3 * GROUP_SIZE;
  rows_find(stage, rows, first, n_rows);

  Tiles own = tiles;
  own.in += LOCAL_ID * TILE_STRIDE;
  own.out += LOCAL_ID * TILE_STRIDE;
  own.rest += LOCAL_ID * TILE_STRIDE;
  Stage chain = stage; // its unit 0 is the unit of this thread
  chain.first_unit += (first + LOCAL_ID) * UNIT_WORDS;
  u32 silenced = 0;
  for (u32 at = 0; at < stage.n_frames; at += TILE_FRAMES) {
    const u32 n = min(stage.n_frames - at, (u32)TILE_FRAMES);
    tile_load(stage, rows, tiles.in, first, n_rows, at, n);
    BARRIER(); // the tile is loaded, and the previous tile is stored
    if (LOCAL_ID < n_rows) {
      silenced = chain_run(chain, own, at, n, silenced);
    }
    BARRIER(); // all channels are filtered
    tile_store(stage, rows, tiles.out, n_rows, at, n);
  }
}

#endif
