// SPDX-License-Identifier: GPL-3.0-or-later
/*
  fx_cascade.cu with one thread for each section of a channel: for many channels, or short blocks.

  A group processes CHANNELS chains in tiles of TILE_FRAMES frames.  Its threads read and write
  rows along the frames, so that neighbouring threads access neighbouring words.

  Between these, sections in series run side by side: in step t, the thread of part p filters the
  STEP_FRAMES frames of sub-tile t - p, which the thread before has filtered in step t - 1, in place
  in local memory.  The recursion limits the speed: in floats, a thread runs 60 instructions for
  each frame (75 if another section of the same unit follows), 11 of which depend on each other; in
  doubles 17, 2 of which do.  A chain with more than ROUND_PARTS sections takes several rounds, each
  of complete units.

  This needs a steady round: no unit begins, fades or is silenced, and no gain between units moves.
  Otherwise, or if an output is not finite, one thread for each channel runs the sections of the
  round one after the other, with the same results.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_CASCADE_CHANNELS_H
#define WARPRACK_DSP_GPU_KERNELS_CASCADE_CHANNELS_H

#include "cascade.h"

#if GROUP_SIZE != CASCADE_GROUP_CHANNELS * ROUND_PARTS
#error "a group has a thread for each part of a round of each channel"
#endif

#define CHANNELS      CASCADE_GROUP_CHANNELS
#define TILE_FRAMES   64
#define TILE_STRIDE   (TILE_FRAMES + 1)
#define TILE_WORDS    (CHANNELS * TILE_STRIDE)
#define TILE_LOADS    (CHANNELS * TILE_FRAMES / GROUP_SIZE) // of each thread
#define SCRATCH_WORDS (6 * CHANNELS + 1)

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
  const u32 is_bad = section_run_last(&section, tiles, last, first, end, 1.0f);
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

// ---- parts ----

// One section in a chain.
typedef struct Part {
  GLOBAL f32* state; // of its unit
  u32 params, link;  // words in live
  u32 index, n;      // of the unit's sections
} Part;

DEVICE Part
part_at(const Stage stage, const u32 word)
{
  Part part;
  part.state = memory_at(stage, stage.table[word + PART_STATE]);
  part.params = stage.table[word + PART_PARAMS];
  part.link = stage.table[word + PART_LINK];
  part.index = stage.table[word + PART_INDEX];
  part.n = stage.table[word + PART_N];
  return part;
}

// Word of part `place` of a round, 0: there is none.
DEVICE u32
part_word(const u32 first, const u32 n_parts, const u32 round, const u32 place)
{
  const u32 p = round * ROUND_PARTS + place;
  return p < n_parts ? first + p * PART_WORDS : 0;
}

DEVICE GLOBAL f32*
part_row(const Part part)
{
  return part.state + CASCADE_STATE_HEAD + part.index * CASCADE_ROW_WORDS;
}

// True if the unit of a part only filters, and the gain behind it rests.
DEVICE u32
part_is_steady(const Stage stage, const Part part)
{
  const u32 version = stage.live[part.params + CASCADE_VERSION];
  const u32 gain_rests = stage.live[part.link + LINK_IS_STEADY];
  return gain_rests && part.state[0] != 0.0f &&
         BITS_OF_F32(part.state[CASCADE_STATE_VERSION]) == version &&
         BITS_OF_F32(part.state[CASCADE_STATE_FADE_LEFT]) == 0;
}

// Run frames [first, end) of a part; returns true if an output of its unit is not finite.
DEVICE u32
part_run(Section* const section, const Part part, const f32 gain, const Tiles tiles,
         const u32 first, const u32 end)
{
  if (part.index + 1 < part.n) {
    section_run(section, tiles, part.index, first, end);
    return 0;
  }
  return section_run_last(section, tiles, part.index, first, end, gain);
}

// ---- a round of a chain, by one thread ----

DEVICE void
silence(const Tiles tiles, const u32 n)
{
  for (u32 i = 0; i < n; ++i) {
    tiles.out[i] = 0.0f;
  }
}

// Apply the gain behind a unit to frames [at, at + n) of the block.
DEVICE void
gain_run(const Stage stage, const u32 link, const Tiles tiles, const u32 at, const u32 n)
{
  const u32 is_steady = stage.live[link + LINK_IS_STEADY];
  const f32 steady_gain = F32_OF_BITS(stage.live[link + LINK_GAIN]);
  for (u32 i = 0; i < n; ++i) {
    tiles.out[i] *= is_steady ? steady_gain : moving_gain(stage, link, at + i + 1);
  }
}

// Run the units of `round`. silenced: a bit for each unit of the chain that had a non-finite
// output; returns it with the new bits.
DEVICE u32
units_run(Stage stage, const u32 first, const u32 n_parts, const u32 round, const Tiles tiles,
          const u32 at, const u32 n, u32 silenced)
{
  for (u32 place = 0; place < ROUND_PARTS;) {
    const u32 word = part_word(first, n_parts, round, place);
    const u32 n_sections = word ? stage.table[word + PART_N] : 0;
    if (n_sections == 0) {
      return silenced;
    }
    for (u32 i = 0; i < n && place > 0; ++i) {
      tiles.in[i] = tiles.out[i];
    }
    const u32 bit = 1U << stage.table[word + PART_UNIT];
    stage.first_unit = stage.table[word + PART_RECORD];
    if (silenced & bit) {
      silence(tiles, n);
    } else if (unit_run(stage, tiles, n)) {
      silence(tiles, n);
      unit_reset(stage, 0);
      silenced |= bit;
    }
    gain_run(stage, stage.table[word + PART_LINK], tiles, at, n);
    place += n_sections;
  }
  return silenced;
}

// ---- a group ----

// The chains of the group: one word for each.
typedef struct Chains {
  u32 first, n;                // units of the stage
  LOCAL_POINTER u32* is_plain; // its input
  LOCAL_POINTER u32* from;     // row of the first term
  LOCAL_POINTER f32* gain;
  LOCAL_POINTER u32* to;
  LOCAL_POINTER u32* parts;   // word in table
  LOCAL_POINTER u32* n_parts; // 0: no chain
  LOCAL_POINTER u32* flag;    // one word, for group_any()
} Chains;

// scratch: SCRATCH_WORDS words.
DEVICE Chains
chains_of(const Stage stage, LOCAL_POINTER u32* const scratch)
{
  Chains chains;
  chains.first = GROUP_X * CHANNELS;
  chains.n = min(stage.n_units - chains.first, (u32)CHANNELS);
  chains.from = scratch;
  chains.to = scratch + CHANNELS;
  chains.gain = (LOCAL_POINTER f32*)(scratch + 2 * CHANNELS);
  chains.parts = scratch + 3 * CHANNELS;
  chains.n_parts = scratch + 4 * CHANNELS;
  chains.is_plain = scratch + 5 * CHANNELS;
  chains.flag = scratch + 6 * CHANNELS;
  if (LOCAL_ID < CHANNELS) {
    const u32 is_there = LOCAL_ID < chains.n;
    const u32 unit = chains.first + (is_there ? LOCAL_ID : 0);
    const Input input = unit_input(stage, unit, 0);
    chains.is_plain[LOCAL_ID] = is_there && input.is_plain;
    chains.from[LOCAL_ID] = input.n_terms > 0 ? stage.table[input.terms + TERM_FROM] : 0;
    chains.gain[LOCAL_ID] = input.gain;
    chains.to[LOCAL_ID] = stage.table[unit_word(stage, unit, UNIT_OUT)];
    chains.parts[LOCAL_ID] = unit_word(stage, unit, UNIT_PARTS);
    chains.n_parts[LOCAL_ID] = is_there ? unit_word(stage, unit, UNIT_N_PARTS) : 0;
  }
  BARRIER();
  return chains;
}

// Parts of the longest chain.
DEVICE u32
most_parts(const Chains chains)
{
  u32 most = 0;
  for (u32 c = 0; c < CHANNELS; ++c) {
    most = max(most, chains.n_parts[c]);
  }
  return most;
}

// Load frames [at, at + n) of the inputs; of plain inputs with all loads of a thread in flight at
// once.
DEVICE void
tile_load(const Stage stage, const Chains chains, LOCAL_POINTER f32* const tile, const u32 at,
          const u32 n)
{
  f32 samples[TILE_LOADS];
#pragma unroll
  for (u32 l = 0; l < TILE_LOADS; ++l) {
    const u32 word = l * GROUP_SIZE + LOCAL_ID;
    const u32 frame = min(word % TILE_FRAMES, n - 1);
    samples[l] = row_at(stage, chains.from[word / TILE_FRAMES])[at + frame];
  }
#pragma unroll
  for (u32 l = 0; l < TILE_LOADS; ++l) {
    const u32 word = l * GROUP_SIZE + LOCAL_ID;
    const u32 c = word / TILE_FRAMES;
    if (chains.is_plain[c]) {
      tile[c * TILE_STRIDE + word % TILE_FRAMES] = chains.gain[c] * samples[l];
    }
  }
  for (u32 c = 0; c < chains.n; ++c) {
    if (!chains.is_plain[c]) {
      const Input input = unit_input(stage, chains.first + c, 0);
      for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
        tile[c * TILE_STRIDE + i] = input_at(stage, input, at + i);
      }
    }
  }
}

DEVICE void
tile_store(const Stage stage, const Chains chains, LOCAL_POINTER const f32* const tile,
           const u32 at, const u32 n)
{
  for (u32 word = LOCAL_ID; word < chains.n * TILE_FRAMES; word += GROUP_SIZE) {
    const u32 c = word / TILE_FRAMES;
    const u32 frame = word % TILE_FRAMES;
    if (frame < n && chains.n_parts[c] > 0) {
      stage.rows[(u64)chains.to[c] * stage.row_stride + at + frame] = tile[c * TILE_STRIDE + frame];
    }
  }
}

// Run frames [at, at + n) of a round, from tiles.in to tiles.out; `silenced` is that of the channel
// in its thread of place 0, as for units_run(), and 0 in all others.
DEVICE u32
round_run(const Stage stage, const Chains chains, const u32 round, const Tiles tiles, const u32 at,
          const u32 n, u32 silenced)
{
  const u32 channel = LOCAL_ID % CHANNELS;
  const u32 place = LOCAL_ID / CHANNELS;
  Tiles own = tiles;
  own.in = (place == 0 ? tiles.in : tiles.out) + channel * TILE_STRIDE;
  own.out += channel * TILE_STRIDE;
  own.rest += channel * TILE_STRIDE;
  const u32 first_part = chains.parts[channel];
  const u32 n_parts = chains.n_parts[channel];
  const u32 word = part_word(first_part, n_parts, round, place);
  const Part part = part_at(stage, word ? word : TABLE_HEAD);
  const u32 has_part = word && part.n > 0;
  const u32 is_moving = has_part && !part_is_steady(stage, part);
  const u32 any_moves = group_any(silenced || is_moving, chains.flag);

  // In place, the threads of a channel one step apart
  Section section = section_zero();
  f32 gain = 1.0f;
  const u32 runs = has_part && !any_moves;
  if (runs) {
    section = section_load(part_row(part));
    gain = F32_OF_BITS(stage.live[part.link + LINK_GAIN]);
  }
  const u32 n_places = min(most_parts(chains) - round * ROUND_PARTS, (u32)ROUND_PARTS);
  const u32 n_steps = any_moves ? 1 : (n + STEP_FRAMES - 1) / STEP_FRAMES + n_places - 1;
  u32 is_bad = 0;
  u32 step = 0;
  do {
    const u32 first = (step - place) * STEP_FRAMES;
    if (runs && step >= place && first < n) {
      is_bad |= part_run(&section, part, gain, own, first, min(n, first + STEP_FRAMES));
    }
    BARRIER(); // the sub-tile is filtered
    ++step;
  } while (step < n_steps);

  const u32 fails = group_any(is_bad, chains.flag) || any_moves;
  if (has_part && !fails) {
    section_store(part_row(part), section);
  }
  if (place == 0 && fails) {
    silenced = units_run(stage, first_part, n_parts, round, own, at, n, silenced);
  }
  return silenced;
}

// True if a unit of the first round of a chain moves, as round_run() sees it.
DEVICE u32
chains_move(const Stage stage, const Chains chains)
{
  const u32 channel = LOCAL_ID % CHANNELS;
  const u32 word =
      part_word(chains.parts[channel], chains.n_parts[channel], 0, LOCAL_ID / CHANNELS);
  const Part part = part_at(stage, word ? word : TABLE_HEAD);
  return group_any(word && part.n > 0 && !part_is_steady(stage, part), chains.flag);
}

// Run the block from frame `at` on, to its end or (until_steady) until no chain moves; returns the
// frame after that.  tiles: TILE_WORDS each, for the group.
DEVICE u32
chains_run(const Stage stage, const Chains chains, const Tiles tiles, u32 at,
           const u32 until_steady)
{
  const u32 n_rounds = (most_parts(chains) + ROUND_PARTS - 1) / ROUND_PARTS;
  u32 silenced = 0;
  u32 goes_on = until_steady ? chains_move(stage, chains) : 1;
  while (goes_on && at < stage.n_frames) {
    const u32 n = min(stage.n_frames - at, (u32)TILE_FRAMES);
    tile_load(stage, chains, tiles.in, at, n);
    BARRIER(); // the tile is loaded, and the previous tile is stored
    u32 round = 0;
    do {
      silenced = round_run(stage, chains, round, tiles, at, n, silenced);
      BARRIER(); // the round is complete
      ++round;
      for (u32 i = LOCAL_ID; i < TILE_WORDS && round < n_rounds; i += GROUP_SIZE) {
        tiles.in[i] = tiles.out[i];
      }
      BARRIER(); // its output is the input of the next
    } while (round < n_rounds);
    tile_store(stage, chains, tiles.out, at, n);
    at += n;
    goes_on = until_steady ? chains_move(stage, chains) : 1;
  }
  return at;
}

#endif
