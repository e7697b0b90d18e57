// SPDX-License-Identifier: GPL-3.0-or-later
/*
  fx_cascade_long.cu: the frames of a block cut into segments that play side by side.

  A steady chain is linear.  So its state after a segment is the sum of two states: that after the
  same input from a zero state, and that after silence from the true state before the segment.
  Hence five launches:

  cascade_begin   plays the block until the chain is steady, as fx_cascade.cu does
  cascade_probe   plays each segment of the rest from a zero state, and as many frames of silence
                  from each state that has a 1 in one place: the columns of the matrix of a segment
  cascade_starts  computes the state before each segment, one segment after the other
  cascade_play    plays each segment from that state, and writes the output
  cascade_end     keeps the state after the last segment; if an output was not finite, plays the
                  rest of the block from the state before it, as fx_cascade.cu does

  Probe and play have one thread for each section of a signal, as in cascade_channels.h; a signal
  is a segment or a column.  A group has one chain (GROUP_X) and at most SIGNALS signals (GROUP_Y):
  the fewer sections the chain has, the more signals.

  The states between segments are kept as sums of two floats, and the probe carries signals from one
  unit to the next as such sums, too: the two parts of a state may be far larger than their sum, for
  example after a constant through a high-pass.  The matrix has an error of about 2^-47 for each
  frame of a segment.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_CASCADE_SEGMENTS_H
#define WARPRACK_DSP_GPU_KERNELS_CASCADE_SEGMENTS_H

#include "cascade_channels.h"

#define SIGNALS      32 // of a group, most
#define COLUMNS      (2 * ROUND_PARTS)
#define SIGNAL_WORDS (SIGNALS * TILE_STRIDE)
#define LOADS        4 // of a thread at once
#define BATCH        8 // segments whose states are read at once

// ---- a chain ----

// The chain of the group, and how this block is cut.
typedef struct Chain {
  GLOBAL f32* head;   // state of its first unit
  u32 parts, n_parts; // as UNIT_PARTS
  u32 begin;          // the first frame of the first segment
  u32 n_segments;     // 0: no frame is left
  u32 segment_frames; // a multiple of TILE_FRAMES
} Chain;

DEVICE Chain
chain_of(const Stage stage)
{
  Chain chain;
  chain.head = unit_state(stage, GROUP_X);
  chain.parts = unit_word(stage, GROUP_X, UNIT_PARTS);
  chain.n_parts = unit_word(stage, GROUP_X, UNIT_N_PARTS);
  chain.begin = stage.n_frames > 0 ? BITS_OF_F32(chain.head[CASCADE_STATE_BEGIN]) : 0;
  const u32 n_left = stage.n_frames - chain.begin;
  const u32 n_most = max(unit_param(stage, GROUP_X, CASCADE_N_SEGMENTS), 1U); // 0 in a trial run
  const u32 n_tiles = ((n_left + n_most - 1) / n_most + TILE_FRAMES - 1) / TILE_FRAMES;
  chain.segment_frames = n_tiles * TILE_FRAMES;
  chain.n_segments = n_left > 0 ? (n_left + chain.segment_frames - 1) / chain.segment_frames : 0;
  return chain;
}

// The state of a section in a record of its chain: as ROW_V, ROW_D.  Records: the columns of the
// matrix, the state after the last segment, the states before each segment.
DEVICE GLOBAL f32*
record_at(const Part part, const u32 record)
{
  GLOBAL f32* const records = part.state + CASCADE_STATE_HEAD + 2 * part.n * CASCADE_ROW_WORDS;
  return records + (record * part.n + part.index) * CASCADE_RECORD_WORDS;
}

#define RECORD_END   COLUMNS
#define RECORD_FIRST (COLUMNS + 1)

// ---- signals ----

// A signal of the group.
typedef struct Signal {
  u32 is_column;
  u32 number;   // of the column or of the segment
  u32 first, n; // frames of the block; of a column, frames of silence; n is 0: no signal
} Signal;

DEVICE Signal
signal_of(const Stage stage, const Chain chain, const u32 place)
{
  const u32 n_columns = 2 * chain.n_parts;
  Signal signal;
  signal.is_column = place < n_columns;
  signal.number = signal.is_column ? place : place - n_columns;
  signal.first = chain.begin + signal.number * chain.segment_frames;
  signal.n = signal.is_column ? chain.segment_frames
             : signal.number < chain.n_segments
                 ? min(chain.segment_frames, stage.n_frames - signal.first)
                 : 0;
  return signal;
}

// The frame of the block that is frame `frame` of a signal; n_frames: silence.  `frame` is below
// segment_frames.
DEVICE u32
signal_frame(const Stage stage, const Chain chain, const u32 place, const u32 frame)
{
  const u32 n_columns = 2 * chain.n_parts;
  const u32 in_block = chain.begin + (place - n_columns) * chain.segment_frames + frame;
  return place < n_columns ? stage.n_frames : min(in_block, stage.n_frames);
}

// Load frames [at, at + TILE_FRAMES) of the group's signals, of a plain input with LOADS of them in
// flight at once.  n_signals is a multiple of 8.
DEVICE void
signals_load(const Stage stage, const Chain chain, const Input input, LOCAL_POINTER f32* const tile,
             const u32 n_signals, const u32 at)
{
  const u32 place = GROUP_Y * n_signals;
  for (u32 word = LOCAL_ID; word < n_signals * TILE_FRAMES; word += LOADS * GROUP_SIZE) {
    f32 x[LOADS];
#pragma unroll
    for (u32 l = 0; l < LOADS; ++l) {
      const u32 w = word + l * GROUP_SIZE;
      const u32 frame = signal_frame(stage, chain, place + w / TILE_FRAMES, at + w % TILE_FRAMES);
      x[l] = input.is_plain && frame < stage.n_frames ? input.gain * input.row[frame] : 0.0f;
    }
#pragma unroll
    for (u32 l = 0; l < LOADS; ++l) {
      const u32 w = word + l * GROUP_SIZE;
      tile[w / TILE_FRAMES * TILE_STRIDE + w % TILE_FRAMES] = x[l];
    }
  }
  for (u32 w = LOCAL_ID; w < n_signals * TILE_FRAMES && !input.is_plain; w += GROUP_SIZE) {
    const u32 frame = signal_frame(stage, chain, place + w / TILE_FRAMES, at + w % TILE_FRAMES);
    if (frame < stage.n_frames) {
      tile[w / TILE_FRAMES * TILE_STRIDE + w % TILE_FRAMES] = input_at(stage, input, frame);
    }
  }
}

DEVICE void
signals_store(const Stage stage, const Chain chain, GLOBAL f32* const row,
              LOCAL_POINTER const f32* const tile, const u32 n_signals, const u32 at)
{
  const u32 place = GROUP_Y * n_signals;
  for (u32 w = LOCAL_ID; w < n_signals * TILE_FRAMES; w += GROUP_SIZE) {
    const u32 frame = signal_frame(stage, chain, place + w / TILE_FRAMES, at + w % TILE_FRAMES);
    if (frame < stage.n_frames) {
      row[frame] = tile[w / TILE_FRAMES * TILE_STRIDE + w % TILE_FRAMES];
    }
  }
}

// A section at the beginning of a signal.
DEVICE Section
section_begin(const Part part, const Signal signal, const u32 place, const u32 plays)
{
  Section section = section_load(part_row(part));
  const u32 unit_state = signal.is_column ? signal.number : 2 * COLUMNS;
  section.v = precise(unit_state == 2 * place ? 1.0f : 0.0f, 0.0f);
  section.d = precise(unit_state == 2 * place + 1 ? 1.0f : 0.0f, 0.0f);
  if (plays) {
    GLOBAL const f32* const before = record_at(part, RECORD_FIRST + signal.number);
    section.v = precise(before[0], before[1]);
    section.d = precise(before[2], before[3]);
  }
  return section;
}

// Multiply the output of a section by a gain.
DEVICE void
section_amplify(Section* const section, const f32 gain)
{
  const Precise zero = precise_of(0.0f);
  const Precise factor = precise_of(gain);
  section->b0 = precise_add(zero, section->b0, factor);
  section->cv = precise_add(zero, section->cv, factor);
  section->cd = precise_add(zero, section->cd, factor);
}

// Keep the state at the end of a signal.
DEVICE void
section_end(const Chain chain, const Part part, const Signal signal, const Section section,
            const u32 plays)
{
  if (!plays) {
    section_store(record_at(part, signal.is_column ? signal.number : RECORD_FIRST + signal.number) -
                      ROW_V,
                  section);
  } else if (signal.number + 1 == chain.n_segments) {
    section_store(record_at(part, RECORD_END) - ROW_V, section);
  }
}

// Run the group's signals: from a zero state, or (plays) from the true state, with output.
// tiles.out, tiles.rest: SIGNAL_WORDS each; tiles.in is tiles.out.  flag: one word.
DEVICE void
signals_run(const Stage stage, const Tiles tiles, const u32 plays, LOCAL_POINTER u32* const flag)
{
  const Chain chain = chain_of(stage);
  const u32 n_signals = chain.n_parts <= 4 ? 32 : chain.n_parts <= 8 ? 16 : 8;
  const u32 place = LOCAL_ID / n_signals;
  const u32 own = LOCAL_ID % n_signals;
  const Signal signal = signal_of(stage, chain, GROUP_Y * n_signals + own);
  const Part part = part_at(stage, chain.parts + (place < chain.n_parts ? place : 0) * PART_WORDS);
  const Input input = unit_input(stage, GROUP_X, 0);
  GLOBAL f32* const row = unit_out(stage, GROUP_X, 0);
  const u32 is_off =
      chain.n_segments == 0 || (plays && BITS_OF_F32(chain.head[CASCADE_STATE_FAILED]) > 0);
  const u32 n = is_off || (plays && signal.is_column) ? 0 : signal.n;
  const u32 runs = n > 0 && place < chain.n_parts;
  Section section = section_zero();
  f32 gain = 1.0f;
  if (runs) {
    section = section_begin(part, signal, place, plays);
    gain = F32_OF_BITS(stage.live[part.link + LINK_GAIN]);
    if (!plays && part.index + 1 == part.n) {
      section_amplify(&section, gain);
    }
  }
  Tiles own_tiles = tiles;
  own_tiles.in += own * TILE_STRIDE;
  own_tiles.out += own * TILE_STRIDE;
  own_tiles.rest += own * TILE_STRIDE;

  const u32 has_any = !is_off && GROUP_Y * n_signals < 2 * chain.n_parts + chain.n_segments;
  const u32 n_steps = has_any ? TILE_FRAMES / STEP_FRAMES + chain.n_parts - 1 : 1;
  u32 is_bad = 0;
  u32 at = 0;
  do {
    if (has_any) {
      signals_load(stage, chain, input, tiles.out, n_signals, at);
    }
    BARRIER(); // the tile is loaded
    const u32 end = n > at ? min(n - at, (u32)TILE_FRAMES) : 0;
    u32 step = 0;
    do {
      const u32 first = (step - place) * STEP_FRAMES;
      if (runs && step >= place && first < end) {
        const u32 after = min(end, first + STEP_FRAMES);
        if (plays) {
          is_bad |= part_run(&section, part, gain, own_tiles, first, after);
        } else {
          section_run(&section, own_tiles, place, first, after);
        }
      }
      BARRIER(); // the sub-tile is filtered
      ++step;
    } while (step < n_steps);
    if (plays && has_any) {
      signals_store(stage, chain, row, tiles.out, n_signals, at);
    }
    BARRIER(); // the tile is stored
    at += TILE_FRAMES;
  } while (has_any && at < chain.segment_frames);

  if (runs) {
    section_end(chain, part, signal, section, plays);
  }
  const u32 any_bad = group_any(is_bad, flag);
  if (plays && any_bad && LOCAL_ID == 0) {
    chain.head[CASCADE_STATE_BAD] = 1.0f; // each group that writes it writes this
  }
}

// ---- the states before the segments ----

// One number of the state in each of the first 2 n_parts threads.  turn: the matrix, [COLUMNS
// columns][COLUMNS], in two words; now: the state.  flag: one word.
DEVICE void
starts_run(const Stage stage, LOCAL_POINTER f32* const turn, LOCAL_POINTER f32* const now,
           LOCAL_POINTER u32* const flag)
{
  const Chain chain = chain_of(stage);
  const u32 n_columns = 2 * chain.n_parts;
  const u32 is_there = chain.n_segments > 0 && LOCAL_ID < n_columns;
  const u32 i = is_there ? LOCAL_ID : 0;
  const Part part = part_at(stage, chain.parts + i / 2 * PART_WORDS);
  const u32 which = i % 2 * 2; // v or d
  Precise state = precise_of(0.0f);
  if (is_there) {
    state = precise(part_row(part)[ROW_V + which], part_row(part)[ROW_V + which + 1]);
    for (u32 k = 0; k < n_columns; ++k) {
      GLOBAL const f32* const column = record_at(part, k) + which;
      const float2 words = precise_words(precise(column[0], column[1]));
      turn[k * COLUMNS + i] = words.x;
      turn[(COLUMNS + k) * COLUMNS + i] = words.y;
    }
  }
  u32 is_bad = 0;
  u32 first = 0;
  do {
    Precise from_zero[BATCH];
#pragma unroll
    for (u32 b = 0; b < BATCH; ++b) {
      const u32 segment = min(first + b, max(chain.n_segments, 1U) - 1);
      GLOBAL const f32* const record = record_at(part, RECORD_FIRST + segment) + which;
      from_zero[b] = is_there ? precise(record[0], record[1]) : precise_of(0.0f);
    }
#pragma unroll
    for (u32 b = 0; b < BATCH; ++b) {
      if (is_there) {
        const float2 words = precise_words(state);
        now[i] = words.x;
        now[COLUMNS + i] = words.y;
      }
      BARRIER(); // the state before the segment is complete
      if (is_there && first + b < chain.n_segments) {
        const float2 kept = settled(two_floats(state));
        GLOBAL f32* const record = record_at(part, RECORD_FIRST + first + b) + which;
        record[0] = kept.x;
        record[1] = kept.y;
        is_bad |= !is_finite(kept.x);
        state = from_zero[b];
        for (u32 k = 0; k < n_columns; ++k) {
          const Precise factor =
              precise_of_words(turn[k * COLUMNS + i], turn[(COLUMNS + k) * COLUMNS + i]);
          state = precise_add(state, factor, precise_of_words(now[k], now[COLUMNS + k]));
        }
      }
      BARRIER(); // all have read it
    }
    first += BATCH;
  } while (first < chain.n_segments);
  const u32 any_bad = group_any(is_bad, flag);
  if (chain.n_segments > 0 && any_bad && LOCAL_ID == 0) {
    chain.head[CASCADE_STATE_FAILED] = 1.0f;
  }
}

// ---- before and after the segments ----

// scratch: SCRATCH_WORDS words.
DEVICE void
block_begin(const Stage stage, const Tiles tiles, LOCAL_POINTER u32* const scratch)
{
  const Chains chains = chains_of(stage, scratch);
  const u32 begin = chains_run(stage, chains, tiles, 0, 1);
  if (LOCAL_ID < chains.n && stage.n_frames > 0) {
    GLOBAL f32* const head = unit_state(stage, chains.first + LOCAL_ID);
    head[CASCADE_STATE_BEGIN] = F32_OF_BITS(begin);
    head[CASCADE_STATE_FAILED] = 0.0f;
    head[CASCADE_STATE_BAD] = 0.0f;
  }
}

DEVICE void
block_end(const Stage stage, const Tiles tiles, LOCAL_POINTER u32* const scratch)
{
  const Chains chains = chains_of(stage, scratch);
  const u32 channel = LOCAL_ID % CHANNELS;
  const u32 is_there = channel < chains.n && stage.n_frames > 0;
  GLOBAL const f32* const head = unit_state(stage, chains.first + (is_there ? channel : 0));
  u32 begin = stage.n_frames;
  u32 is_bad = 0;
  if (is_there) {
    begin = BITS_OF_F32(head[CASCADE_STATE_BEGIN]); // the same for all chains of the group
    is_bad =
        BITS_OF_F32(head[CASCADE_STATE_FAILED]) > 0 || BITS_OF_F32(head[CASCADE_STATE_BAD]) > 0;
  }
  const u32 place = LOCAL_ID / CHANNELS;
  if (begin < stage.n_frames && !is_bad && place < chains.n_parts[channel]) {
    const Part part = part_at(stage, chains.parts[channel] + place * PART_WORDS);
    ((GLOBAL float4*)part_row(part))[ROW_V / 4] =
        *(GLOBAL const float4*)record_at(part, RECORD_END);
  }
  const u32 any_bad = group_any(is_bad, chains.flag);
  if (LOCAL_ID < CHANNELS && !is_bad) {
    chains.n_parts[LOCAL_ID] = 0; // only the others play
  }
  BARRIER();
  GLOBAL const f32* const any_head = unit_state(stage, chains.first);
  const u32 from =
      stage.n_frames > 0 && any_bad ? BITS_OF_F32(any_head[CASCADE_STATE_BEGIN]) : stage.n_frames;
  chains_run(stage, chains, tiles, from, 0);
}

#endif
