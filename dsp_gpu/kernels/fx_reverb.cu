// SPDX-License-Identifier: GPL-3.0-or-later
/*
  reverb: the network of dsp_cpu/fx_reverb.c in three launches.

      fx_reverb_spread   channels --> sums over 4 groups of 16 channels, a row for each line
      fx_reverb_network  sums --> scattering --> lines --> their outputs, a row for each
      fx_reverb_gather   these rows and the dry channels --> outputs

  The first and the last launch divide the channels of a unit, and the frames of long blocks, among
  several groups.  Their threads read and write along channels; to mix 16 rows, each thread handles
  one frame.

  The network runs as one group for each unit, because every frame of a line depends on all lines.
  Its tiles are no longer than the shortest line, so that all frames of a tile can be read before
  one is written.  Each thread handles one frame, except for the damping, in which 16 threads
  process the frames of 16 lines.  On any GPU this recursion takes about 30 cycles for each frame;
  other units run in parallel.

  - All rings of a bank have one size, so that its lines are one DelayLine.
  - The state of a damper is the sum of two floats, where the CPU has a double.
  - Angles come from integers, see dsp_cpu/shared/swing.h.
*/

#include "delay_line.h"
#include "stage.h"

typedef u64 uint64_t;
#define SWING_FUNCTION DEVICE
#include "dsp_cpu/shared/reverb_words.h"
#include "dsp_cpu/shared/swing.h"

// Angles of a tile: the beginning and end of its first grid interval, and the ends of at most four
// more.
#define GRID_POINTS (2 + (REVERB_GRID - 1 + REVERB_TILE) / REVERB_GRID)
#define GRID_WORDS  (2 * REVERB_PAIRS) // of a point: cosines, sines

#define GROUP_TILE (REVERB_LINES * REVERB_ROWS_TILE) // words of a tile of sixteen channels

// In local memory: odd, so that 16 threads on 16 rows use different banks.
#define ROW_WORDS (REVERB_TILE + 1)

// ---- rows: one thread has the 16 values of one frame ----

// As hadamard() on the CPU.
DEVICE void
hadamard(f32* const rows)
{
  for (u32 apart = 1; apart < REVERB_LINES; apart *= 2) {
    for (u32 r = 0; r < REVERB_LINES; ++r) {
      if (!(r & apart)) {
        const f32 sum = rows[r] + rows[r + apart];
        rows[r + apart] = rows[r] - rows[r + apart];
        rows[r] = sum;
      }
    }
  }
}

DEVICE f32
with_sign(const f32 x, const u32 signs, const u32 line)
{
  return F32_OF_BITS(BITS_OF_F32(x) ^ (signs >> line & 1U) << 31U);
}

DEVICE void
store_rows(GLOBAL f32* const to, const u32 stride, const f32* const rows)
{
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    to[l * stride] = rows[l];
  }
}

DEVICE void
tile_column(LOCAL_POINTER const f32* const tile, const u32 row_words, const u32 i, f32* const rows)
{
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    rows[l] = tile[l * row_words + i];
  }
}

DEVICE void
tile_set_column(LOCAL_POINTER f32* const tile, const u32 row_words, const u32 i,
                const f32* const rows)
{
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    tile[l * row_words + i] = rows[l];
  }
}

// ---- words ----

DEVICE u32
data_word(GLOBAL const f32* const data, const u32 word)
{
  return BITS_OF_F32(data[word]);
}

DEVICE u64
data_u64(GLOBAL const f32* const words)
{
  return (u64)BITS_OF_F32(words[1]) << 32U | BITS_OF_F32(words[0]);
}

// ---- channels ----

DEVICE u32
groups_of(const u32 n_channels)
{
  return (n_channels + REVERB_LINES - 1) / REVERB_LINES;
}

// Number of slices, REVERB_SLICE_GROUPS groups of channels each.
DEVICE u32
slices_of(const u32 n_channels)
{
  return (groups_of(n_channels) + REVERB_SLICE_GROUPS - 1) / REVERB_SLICE_GROUPS;
}

// Load rows of channels from `channel` on, a tile of frames from `first` on; zeros behind the last
// channel.
DEVICE void
load_channels(const Stage stage, const u32 unit, const u32 channel, const u32 n_rows,
              const u32 first, LOCAL_POINTER f32* const tile)
{
  const u32 n_in = unit_word(stage, unit, UNIT_N_IN);
  for (u32 t = LOCAL_ID; t < n_rows * REVERB_ROWS_TILE; t += GROUP_SIZE) {
    const u32 c = channel + t / REVERB_ROWS_TILE;
    const u32 frame = first + t % REVERB_ROWS_TILE;
    tile[t] = c < n_in && frame < stage.n_frames
                  ? input_at(stage, unit_input(stage, unit, c), frame)
                  : 0.0f;
  }
}

// sum += a frame of sixteen channels, mixed.
DEVICE void
add_group(LOCAL_POINTER const f32* const tile, const u32 i, const u32 signs, f32* const sum)
{
  f32 rows[REVERB_LINES];
  tile_column(tile, REVERB_ROWS_TILE, i, rows);
  hadamard(rows);
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    sum[l] += with_sign(rows[l], signs, l);
  }
}

// GROUP_Y: a slice of the channels, and a share of the tiles of that slice.
KERNEL
fx_reverb_spread(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, tile, REVERB_SLICE_GROUPS * GROUP_TILE);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  GLOBAL const f32* const data = unit_data(stage, unit);
  const u32 n_in = unit_word(stage, unit, UNIT_N_IN);
  const u32 n_slices = slices_of(n_in);
  const u32 slice = GROUP_Y % n_slices;
  const u32 first_group = slice * REVERB_SLICE_GROUPS;
  const u32 n_groups = min((u32)REVERB_SLICE_GROUPS, groups_of(n_in) - first_group);
  const u32 stride = data_word(data, REVERB_STRIDE);
  GLOBAL f32* const sums =
      unit_state(stage, unit) + data_word(data, REVERB_SUMS) + slice * REVERB_LINES * stride;

  const u32 step = N_GROUPS_Y / n_slices * REVERB_ROWS_TILE;
  for (u32 first = GROUP_Y / n_slices * REVERB_ROWS_TILE; first < stage.n_frames; first += step) {
    const u32 n = min((u32)REVERB_ROWS_TILE, stage.n_frames - first);
    load_channels(stage, unit, first_group * REVERB_LINES, n_groups * REVERB_LINES, first, tile);
    BARRIER(); // the tile is loaded
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      f32 sum[REVERB_LINES] = { 0.0f };
      for (u32 g = 0; g < n_groups; ++g) {
        const u32 signs = data_word(data, REVERB_SIGNS + first_group + g);
        add_group(tile + g * GROUP_TILE, i, signs, sum);
      }
      store_rows(sums + first + i, stride, sum);
    }
    BARRIER(); // the tile has been read
  }
}

// ---- values that all threads of the network share ----

// Sixteen delay lines in lock step.
typedef struct Bank {
  DelayLine line;
  GLOBAL f32* rings;              // [REVERB_LINES][line.size]
  GLOBAL const f32* delay_frames; // [REVERB_LINES]
} Bank;

typedef struct Reverb {
  u64 frame; // since the start
  Bank early, late, lines;
  Tap predelay;
  Ramp input_gain, mix;
  Ramp depth; // in steps of REVERB_GRID frames
} Reverb;

DEVICE Bank
bank_load(GLOBAL f32* const state, GLOBAL const f32* const data, const u32 bank, const u32 begins)
{
  const u32 size = data_word(data, REVERB_SIZE + bank);
  Bank result;
  result.line = begins ? delay_line_at_start(size)
                       : delay_line_load(state + REVERB_PUT + bank * DELAY_LINE_WORDS, size);
  result.rings = state + data_word(data, REVERB_RINGS + bank);
  result.delay_frames = data + REVERB_DELAY + bank * REVERB_LINES;
  return result;
}

DEVICE void
bank_put(const Bank bank, const u32 i, const f32* const rows)
{
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    delay_line_put(bank.line, bank.rings + l * bank.line.size, i, rows[l]);
  }
}

DEVICE void
bank_get(const Bank bank, const Tap tap, const u32 i, f32* const rows)
{
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    rows[l] = tap_get(tap, bank.line, bank.rings + l * bank.line.size,
                      BITS_OF_F32(bank.delay_frames[l]), i);
  }
}

DEVICE Reverb
reverb_load(const Stage stage, const u32 unit, GLOBAL f32* const state,
            GLOBAL const f32* const data)
{
  const u32 begins = state[0] == 0.0f;
  Reverb reverb;
  reverb.early = bank_load(state, data, 0, begins);
  reverb.late = bank_load(state, data, 1, begins);
  reverb.lines = bank_load(state, data, 2, begins);
  const f32 input_gain = unit_param_f32(stage, unit, REVERB_INPUT_GAIN);
  const f32 mix = unit_param_f32(stage, unit, REVERB_MIX);
  if (begins) {
    reverb.frame = 0;
    reverb.predelay = tap_at(unit_param(stage, unit, REVERB_PREDELAY));
    reverb.input_gain = ramp_at(input_gain);
    reverb.mix = ramp_at(mix);
    reverb.depth = ramp_at(unit_param_f32(stage, unit, REVERB_DEPTH));
  } else {
    reverb.frame = data_u64(state + REVERB_FRAME);
    reverb.predelay = tap_load(state + REVERB_TAP);
    reverb.input_gain = ramp_load(state + REVERB_INPUT_GAIN_RAMP);
    reverb.mix = ramp_load(state + REVERB_MIX_RAMP);
    reverb.depth = ramp_load(state + REVERB_DEPTH_RAMP);
  }
  const u32 ramp_frames = unit_param(stage, unit, REVERB_RAMP_FRAMES);
  ramp_aim(&reverb.input_gain, input_gain, ramp_frames);
  ramp_aim(&reverb.mix, mix, ramp_frames);
  return reverb;
}

DEVICE void
reverb_store(GLOBAL f32* const state, const Reverb reverb)
{
  state[0] = 1.0f;
  state[REVERB_FRAME] = F32_OF_BITS((u32)reverb.frame);
  state[REVERB_FRAME + 1] = F32_OF_BITS((u32)(reverb.frame >> 32U));
  delay_line_store(state + REVERB_PUT, reverb.early.line);
  delay_line_store(state + REVERB_PUT + DELAY_LINE_WORDS, reverb.late.line);
  delay_line_store(state + REVERB_PUT + 2 * DELAY_LINE_WORDS, reverb.lines.line);
  tap_store(state + REVERB_TAP, reverb.predelay);
  ramp_store(state + REVERB_INPUT_GAIN_RAMP, reverb.input_gain);
  ramp_store(state + REVERB_MIX_RAMP, reverb.mix);
  ramp_store(state + REVERB_DEPTH_RAMP, reverb.depth);
}

// Advance by a tile in which n_grids grid intervals began.
DEVICE void
reverb_advance(Reverb* const reverb, const u32 n_frames, const u32 n_grids)
{
  reverb->frame += n_frames;
  delay_line_advance(&reverb->early.line, n_frames);
  delay_line_advance(&reverb->late.line, n_frames);
  delay_line_advance(&reverb->lines.line, n_frames);
  tap_skip(&reverb->predelay, n_frames);
  ramp_skip(&reverb->input_gain, n_frames);
  ramp_skip(&reverb->mix, n_frames);
  ramp_skip(&reverb->depth, n_grids);
}

// ---- angles ----

// Frames of the current grid interval that have passed; REVERB_GRID if the next interval begins.
DEVICE u32
grid_offset(const u64 frame)
{
  const u32 phase = (u32)frame % REVERB_GRID;
  return phase ? phase : REVERB_GRID;
}

// Cosine and sine of a pair at a point of the grid, the count-th from the start, to cosines and
// sines.
DEVICE float2
swing_pair(GLOBAL const f32* const data, const u32 pair, const f32 depth, const u64 count)
{
  const u64 step = data_u64(data + REVERB_STEP + 2 * pair);
  const u64 start = data_u64(data + REVERB_START + 2 * pair);
  const u32 angle = swing_angle(depth, swing_phase(step, start, count));
  return F2(sine_of(angle + 0x40000000U), sine_of(angle));
}

// The point where the first grid interval begins, for grid_make(): the end of the last one.
DEVICE void
grid_begin(GLOBAL f32* const state, GLOBAL const f32* const data, const f32 depth)
{
  if (LOCAL_ID < REVERB_PAIRS) {
    const float2 cos_sin = swing_pair(data, LOCAL_ID, depth, 0);
    GLOBAL f32* const to = state + REVERB_TURN + GRID_WORDS;
    to[LOCAL_ID] = cos_sin.x;
    to[REVERB_PAIRS + LOCAL_ID] = cos_sin.y;
  }
}

// Compute the grid points that a tile needs: the last two and n_new more.  One thread for each
// pair.
DEVICE void
grid_make(GLOBAL const f32* const state, GLOBAL const f32* const data, const Reverb reverb,
          const u32 n_new, LOCAL_POINTER f32* const grid)
{
  const u32 point = LOCAL_ID / REVERB_PAIRS;
  const u32 pair = LOCAL_ID % REVERB_PAIRS;
  LOCAL_POINTER f32* const to = grid + point * GRID_WORDS + pair;
  if (point < 2) {
    GLOBAL const f32* const from = state + REVERB_TURN + point * GRID_WORDS + pair;
    to[0] = from[0];
    to[REVERB_PAIRS] = from[REVERB_PAIRS];
  } else if (point < 2 + n_new) {
    const u64 first = reverb.frame - grid_offset(reverb.frame); // of point 0; may be negative
    const u64 count = (first + point * REVERB_GRID) / REVERB_GRID;
    const float2 cos_sin = swing_pair(data, pair, ramp_ahead(reverb.depth, point - 1), count);
    to[0] = cos_sin.x;
    to[REVERB_PAIRS] = cos_sin.y;
  }
}

// Store the last two points for the next tile.
DEVICE void
grid_keep(GLOBAL f32* const state, const u32 n_new, LOCAL_POINTER const f32* const grid)
{
  if (LOCAL_ID < 2 * GRID_WORDS) {
    state[REVERB_TURN + LOCAL_ID] = grid[n_new * GRID_WORDS + LOCAL_ID];
  }
}

// Rotate each pair of rows by its angle at `place` frames after the first point of the grid.
DEVICE void
turn_pairs(LOCAL_POINTER const f32* const grid, const u32 place, f32* const rows)
{
  LOCAL_POINTER const f32* const from = grid + place / REVERB_GRID * GRID_WORDS;
  LOCAL_POINTER const f32* const to = from + GRID_WORDS;
  const f32 at = (f32)(place % REVERB_GRID);
  for (u32 p = 0; p < REVERB_PAIRS; ++p) {
    const f32 c = from[p] + (to[p] - from[p]) / (f32)REVERB_GRID * at;
    const u32 q = p + REVERB_PAIRS;
    const f32 s = from[q] + (to[q] - from[q]) / (f32)REVERB_GRID * at;
    const f32 turned = c * rows[p] - s * rows[q];
    rows[q] = s * rows[p] + c * rows[q];
    rows[p] = turned;
  }
}

// ---- damping: one thread for each line ----

typedef struct Damper {
  Ramp gain, pole;
  f32 high, low; // y is the sum of the two
} Damper;

DEVICE Damper
damper_load(const Stage stage, const u32 unit, const u32 line, GLOBAL const f32* const state,
            const u32 ramp_frames)
{
  GLOBAL const f32* const words = state + REVERB_DAMPERS + line * REVERB_DAMPER_WORDS;
  const u32 begins = state[0] == 0.0f;
  const f32 gain = unit_param_f32(stage, unit, REVERB_GAIN + line);
  const f32 pole = unit_param_f32(stage, unit, REVERB_POLE + line);
  Damper damper;
  damper.gain = begins ? ramp_at(gain) : ramp_load(words + REVERB_DAMPER_GAIN);
  damper.pole = begins ? ramp_at(pole) : ramp_load(words + REVERB_DAMPER_POLE);
  damper.high = begins ? 0.0f : words[REVERB_DAMPER_HIGH];
  damper.low = begins ? 0.0f : words[REVERB_DAMPER_LOW];
  ramp_aim(&damper.gain, gain, ramp_frames);
  ramp_aim(&damper.pole, pole, ramp_frames);
  return damper;
}

DEVICE void
damper_store(GLOBAL f32* const words, const Damper damper)
{
  ramp_store(words + REVERB_DAMPER_GAIN, damper.gain);
  ramp_store(words + REVERB_DAMPER_POLE, damper.pole);
  words[REVERB_DAMPER_HIGH] = damper.high;
  words[REVERB_DAMPER_LOW] = damper.low;
}

// y = gain x + pole y, in place, as y += gain x - (1 - pole) y, with y in two floats and only the
// step rounded to one.  In one float a constant could have an error of half a unit in y's last
// place over 1 - pole: 1.6e-5 of it at 192 kHz, a damping of 200 Hz and a gain of 1/2.
DEVICE void
damp(Damper* const damper, LOCAL_POINTER f32* const x, const u32 n_frames)
{
  const u32 n_moving = max(damper->gain.frames_left, damper->pole.frames_left);
  f32 gain = damper->gain.target;
  f32 pole = damper->pole.target;
  f32 high = damper->high;
  f32 low = damper->low;
  for (u32 i = 0; i < n_frames; ++i) {
    if (i < n_moving) { // the clamp keeps the gain of a pass at or below 1 while a ramp overshoots
      pole = FMIN(FMAX(ramp_ahead(damper->pole, i + 1), 0.0f), 1.0f);
      gain = FMIN(ramp_ahead(damper->gain, i + 1), 1.0f - pole);
    }
    const f32 loss = 1.0f - pole;
    const f32 rest = 1.0f - loss - pole; // its rounding error
    const f32 step = (gain * x[i] - loss * high) - rest * high + pole * low;
    const float2 y = exact_sum(high, step);
    high = y.x;
    low = y.y;
    x[i] = high;
  }
  damper->high = flush_denormal(high);
  damper->low = flush_denormal(low);
  ramp_skip(&damper->gain, n_frames);
  ramp_skip(&damper->pole, n_frames);
}

// ---- the network ----

// Sum the slices: the channels, mixed into the lines.
DEVICE void
add_slices(GLOBAL const f32* const sums, const u32 stride, const u32 n_slices, f32* const rows)
{
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    rows[l] = sums[l * stride];
  }
  for (u32 s = 1; s < n_slices; ++s) {
    for (u32 l = 0; l < REVERB_LINES; ++l) {
      rows[l] += sums[(s * REVERB_LINES + l) * stride];
    }
  }
}

// Write frame i to the first bank.  Returns true if a channel is not finite: then no row is
// written.
DEVICE u32
enter(const Reverb reverb, const u32 i, GLOBAL const f32* const sums, const u32 stride,
      const u32 n_slices)
{
  f32 rows[REVERB_LINES];
  add_slices(sums, stride, n_slices, rows);
  const u32 is_bad = !is_finite(rows[0]);
  const f32 gain = ramp_ahead(reverb.input_gain, i + 1);
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    rows[l] *= gain;
  }
  bank_put(reverb.early, i, rows);
  return is_bad;
}

// Write frame i to the second bank; the outputs of the lines go to `wet` and into the tile.
DEVICE void
pass(const Reverb reverb, const u32 i, GLOBAL f32* const wet, const u32 stride,
     LOCAL_POINTER f32* const tile)
{
  f32 rows[REVERB_LINES];
  bank_get(reverb.early, reverb.predelay, i, rows);
  hadamard(rows);
  bank_put(reverb.late, i, rows);
  bank_get(reverb.lines, tap_at(0), i, rows);
  store_rows(wet, stride, rows);
  wet[REVERB_LINES * stride] = FMIN(FMAX(ramp_ahead(reverb.mix, i + 1), 0.0f), 1.0f);
  tile_set_column(tile, ROW_WORDS, i, rows);
}

// Write frame i, damped, plus the output of the second bank to the lines.  Returns true if a line
// was not finite: then none is written.
DEVICE u32
close_loop(const Reverb reverb, const u32 i, LOCAL_POINTER const f32* const grid,
           LOCAL_POINTER const f32* const tile)
{
  f32 rows[REVERB_LINES];
  f32 bus[REVERB_LINES];
  tile_column(tile, ROW_WORDS, i, rows);
  turn_pairs(grid, grid_offset(reverb.frame) + i, rows);
  hadamard(rows);
  bank_get(reverb.late, tap_at(0), i, bus);
  hadamard(bus);
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    rows[l] = flush_denormal(0.25f * rows[l] + bus[l]);
  }
  bank_put(reverb.lines, i, rows);
  return !is_finite(rows[0]);
}

KERNEL
fx_reverb_network(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, tile, REVERB_LINES * ROW_WORDS);
  LOCAL_ARRAY(f32, grid, GRID_POINTS * GRID_WORDS);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  // The line that this thread damps, if it is one of the first.
  const u32 line = LOCAL_ID % REVERB_LINES;
  GLOBAL f32* const state = unit_state(stage, unit);
  GLOBAL const f32* const data = unit_data(stage, unit);
  const u32 n_slices = slices_of(unit_word(stage, unit, UNIT_N_IN));
  const u32 stride = data_word(data, REVERB_STRIDE);
  const u32 ramp_frames = unit_param(stage, unit, REVERB_RAMP_FRAMES);
  GLOBAL const f32* const sums = state + data_word(data, REVERB_SUMS);
  GLOBAL f32* const wet = state + data_word(data, REVERB_WET);
  Reverb reverb = reverb_load(stage, unit, state, data);
  Damper damper = damper_load(stage, unit, line, state, ramp_frames);
  u32 is_bad = 0;
  BARRIER(); // all threads have read the state
  if (reverb.frame == 0 && stage.n_frames > 0) {
    grid_begin(state, data, reverb.depth.target);
  }

  u32 n = 0; // frames of the tile
  for (u32 first = 0; first < stage.n_frames; first += n) {
    tap_aim(&reverb.predelay, unit_param(stage, unit, REVERB_PREDELAY), ramp_frames);
    n = min(stage.n_frames - first, data_word(data, REVERB_TILE_FRAMES));
    n = tap_span(&reverb.predelay, n);
    // Intervals that begin in the tile.
    const u32 n_grids = (grid_offset(reverb.frame) + n - 1) / REVERB_GRID;
    if (n_grids > 0) {
      ramp_aim(&reverb.depth, unit_param_f32(stage, unit, REVERB_DEPTH),
               data_word(data, REVERB_DEPTH_STEPS));
    }
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      is_bad |= enter(reverb, i, sums + first + i, stride, n_slices);
    }
    BARRIER(); // the frames are in the first bank; the last tile is finished
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      pass(reverb, i, wet + first + i, stride, tile);
    }
    grid_make(state, data, reverb, n_grids, grid);
    // The frames are in the second bank; the tile has the outputs of the lines; the angles are
    // complete.
    BARRIER();
    if (LOCAL_ID < REVERB_LINES) {
      damp(&damper, tile + line * ROW_WORDS, n);
    }
    grid_keep(state, n_grids, grid);
    BARRIER(); // the tile is damped
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      is_bad |= close_loop(reverb, i, grid, tile);
    }
    reverb_advance(&reverb, n, n_grids);
  }

  if (stage.n_frames > 0 && LOCAL_ID < REVERB_LINES) {
    damper_store(state + REVERB_DAMPERS + line * REVERB_DAMPER_WORDS, damper);
  }
  if (stage.n_frames > 0 && LOCAL_ID == 0) {
    reverb_store(state, reverb);
  }
  if (group_any(is_bad, flag) && LOCAL_ID == 0) {
    unit_reset(stage, unit); // then fx_reverb_gather writes silence
  }
}

// ---- gather ----

// Mix the outputs of the lines at frame i for the group's channels into the tile, a channel in
// each row.
DEVICE void
share_lines(GLOBAL const f32* const wet, const u32 stride, const u32 signs, const u32 i,
            LOCAL_POINTER f32* const tile)
{
  f32 rows[REVERB_LINES];
  for (u32 l = 0; l < REVERB_LINES; ++l) {
    rows[l] = with_sign(wet[l * stride + i], signs, l);
  }
  hadamard(rows);
  tile_set_column(tile, REVERB_ROWS_TILE, i, rows);
}

// Write outputs from `channel` on: the tile mixed with the inputs, or silence without `mix`.
// Returns true if a sample is not finite.
DEVICE u32
store_channels(const Stage stage, const u32 unit, const u32 channel, const u32 first,
               GLOBAL const f32* const mix, LOCAL_POINTER const f32* const tile)
{
  const u32 n_out = unit_word(stage, unit, UNIT_N_OUT);
  u32 is_bad = 0;
  for (u32 t = LOCAL_ID; t < GROUP_TILE; t += GROUP_SIZE) {
    const u32 c = channel + t / REVERB_ROWS_TILE;
    const u32 frame = first + t % REVERB_ROWS_TILE;
    if (c < n_out && frame < stage.n_frames) {
      f32 y = 0.0f;
      if (mix) {
        const f32 x = input_at(stage, unit_input(stage, unit, c), frame);
        y = (1.0f - mix[frame]) * x + mix[frame] * tile[t];
      }
      is_bad |= !is_finite(y);
      unit_out(stage, unit, c)[frame] = y;
    }
  }
  return is_bad;
}

// GROUP_Y: a group of channels, and a share of the tiles of that group.
KERNEL
fx_reverb_gather(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, tile, GROUP_TILE);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  GLOBAL f32* const state = unit_state(stage, unit);
  GLOBAL const f32* const data = unit_data(stage, unit);
  const u32 n_groups = groups_of(unit_word(stage, unit, UNIT_N_IN));
  const u32 group = GROUP_Y % n_groups;
  const u32 signs = data_word(data, REVERB_SIGNS + group);
  const u32 stride = data_word(data, REVERB_STRIDE);
  GLOBAL const f32* const wet = state + data_word(data, REVERB_WET);
  GLOBAL const f32* const mix = state[0] == 0.0f ? 0 : wet + REVERB_LINES * stride;
  u32 is_bad = 0;

  const u32 step = N_GROUPS_Y / n_groups * REVERB_ROWS_TILE;
  for (u32 first = GROUP_Y / n_groups * REVERB_ROWS_TILE; first < stage.n_frames; first += step) {
    const u32 n = min((u32)REVERB_ROWS_TILE, stage.n_frames - first);
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      share_lines(wet + first, stride, signs, i, tile);
    }
    BARRIER(); // the tile is loaded
    is_bad |= store_channels(stage, unit, group * REVERB_LINES, first, mix, tile);
    BARRIER(); // the tile has been read
  }
  // The network found all other non-finite values; this finds a sum beyond the range of float.
  unit_end(stage, unit, is_bad, flag);
}
