// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Partitioned convolution without added latency, of one response or a matrix of them, for the
  kernels of fx_convolver.cu and fx_convolver_steps.cu.

  Input is processed in hops of about one block (dsp_cpu/partition_kernel.h), counted from the
  start of the unit: a hop becomes a spectrum in the delay line of its input, sums of products of
  these with the spectra of the response become samples.

  - Overlap-save with the right-angle transform of dsp_cpu/segment.h: the halves of a real window
    fold into POINTS complex numbers, and the imaginary part of the result is the late half.
  - A block may end within a hop: the rest of the hop then counts as silence, and its spectrum is
    computed again in the next block.  A block of several hops is divided into *pieces*.
  - The tail's partitions of TAIL_POINTS begin two periods after the start of the response, so that
    there is one period of time for the products of a partition.  The bins are divided into as many
    slices as the period has hops; each hop computes one slice of all partitions.  Successive units
    begin their periods in different blocks, so that their transforms do not coincide.
  - No memory is cleared when a unit begins: counts show which spectra and samples are valid.

  Memory limits the speed: 16 bytes for each multiply-add of complex numbers.  A hop reads all rows
  of the head, of filters and delay lines, and the share of the tail's rows that a hop has of the
  period (usually a sixteenth).  With blocks of 64 frames this is about 127 KB for a response of 2
  s at 48 kHz; one segment would read 1.5 MB.  Each thread loads four floats at a time, next to
  those of its neighbour.  A group has threads for PHASES rows, and each thread has BATCH loads in
  flight: enough for a memory latency of one microsecond.

  Sizes: POINTS and TAIL_POINTS, powers of two from 32 to 2048, TAIL_POINTS 0 for one segment.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_CONVOLVER_H
#define WARPRACK_DSP_GPU_KERNELS_CONVOLVER_H

#include "fft.h"
#include "stage.h"

#include "dsp_cpu/shared/partition_layout.h"

#if TAIL_POINTS > POINTS
#define MOST_POINTS TAIL_POINTS
#else
#define MOST_POINTS POINTS
#endif

#define ROW_QUADS (POINTS / 2)
#define LANES     (ROW_QUADS < GROUP_SIZE ? ROW_QUADS : GROUP_SIZE) // threads for one row
#define PHASES    (GROUP_SIZE / LANES)                              // rows at once
#define BATCH     4                                                 // loads in flight per thread

// A unit at the start of the launch.
typedef struct Place {
  GLOBAL f32* state;
  GLOBAL const f32* data;
  u32 n_in;
  u32 n_out;
  u32 hop; // frames
  u32 fill;
  u32 clock;
  u32 age;
  u32 newest;
  u32 n_done;
  u32 n_slots;
  u32 n_pieces;
  u32 ring_mask;
  // The tail's work belongs to the hop that starts in this launch; at most one hop does.
  u32 tail_hops;
  u32 tail_hop;    // of the first piece
  u32 ticks;       // at the first piece
  u32 tail_newest; // for the products of this launch
  u32 starts;      // piece that starts a hop; n_pieces: none
  u32 tail_slice;  // of the hop that starts
  u32 new_ticks;   // ticks after that hop has started
} Place;

DEVICE u32
word_of(GLOBAL const f32* const words, const u32 word)
{
  return BITS_OF_F32(words[word]);
}

DEVICE void
word_set(GLOBAL f32* const words, const u32 word, const u32 value)
{
  words[word] = F32_OF_BITS(value);
}

DEVICE Place
place_of(const Stage stage, const u32 unit)
{
  Place place;
  place.state = unit_state(stage, unit);
  place.data = unit_data(stage, unit);
  const u32 begins = place.state[0] == 0.0f;
  place.n_in = word_of(place.data, PARTITION_N_IN);
  place.n_out = word_of(place.data, PARTITION_N_OUT);
  place.hop = word_of(place.data, PARTITION_HOP);
  place.n_slots = word_of(place.data, PARTITION_N_SLOTS);
  place.ring_mask = word_of(place.data, PARTITION_RING_MASK);
  place.fill = begins ? 0 : word_of(place.state, PARTITION_STATE_FILL);
  place.clock = begins ? 0 : word_of(place.state, PARTITION_STATE_CLOCK);
  place.age = begins ? 0 : word_of(place.state, PARTITION_STATE_AGE);
  place.newest = begins ? 0 : word_of(place.state, PARTITION_STATE_NEWEST);
  place.n_done = begins ? 0 : word_of(place.state, PARTITION_STATE_N_DONE);
  place.n_pieces = stage.n_frames ? (place.fill + stage.n_frames + place.hop - 1) / place.hop : 0;
  place.starts = min(place.fill ? 1U : 0U, place.n_pieces);
  place.tail_hops = place.tail_hop = place.ticks = place.new_ticks = 0;
  place.tail_newest = place.tail_slice = 0;
  if (TAIL_POINTS) {
    place.tail_hops = word_of(place.data, PARTITION_TAIL_HOPS);
    place.tail_hop =
        begins ? unit & (place.tail_hops - 1) : word_of(place.state, PARTITION_STATE_TAIL_HOP);
    place.ticks = begins ? 0 : word_of(place.state, PARTITION_STATE_TICKS);
    place.tail_newest = begins ? 0 : word_of(place.state, PARTITION_STATE_TAIL_NEWEST);
    place.tail_slice = (place.tail_hop + place.starts) & (place.tail_hops - 1);
    place.new_ticks = place.ticks;
    if (place.starts < place.n_pieces && place.tail_slice == 0) {
      ++place.new_ticks;
      ++place.tail_newest;
      if (place.tail_newest == word_of(place.data, PARTITION_TAIL_PARTS)) {
        place.tail_newest = 0;
      }
    }
  }
  return place;
}

// Time of the first frame of a piece's hop, from the block's first frame.
DEVICE i32
piece_time(const Place place, const u32 piece)
{
  return (i32)(piece * place.hop) - (i32)place.fill;
}

// Slot of a piece in the delay lines of the head.
DEVICE u32
piece_slot(const Place place, const u32 piece)
{
  return (place.newest + piece) % place.n_slots;
}

// The head or the tail.
typedef struct Segment {
  u32 n_points; // of its transforms
  u32 n_frames; // of its partitions
  u32 n_parts;
  u32 n_slots;                 // rows of an input's delay line
  u32 n_slices;                // groups that share the products of one output
  u32 n_pieces;                // pieces in this launch
  GLOBAL const float2* tables; // [n_points] roots, [n_points] folds
  GLOBAL float2* lines;
  GLOBAL float2* sums;
} Segment;

DEVICE Segment
segment_of(const Place place, const u32 is_tail)
{
  GLOBAL const f32* const data = place.data;
  GLOBAL f32* const state = place.state;
  Segment segment;
  segment.n_points = is_tail ? TAIL_POINTS : POINTS;
  segment.n_frames = is_tail ? place.hop * place.tail_hops : place.hop;
  segment.n_parts = word_of(data, is_tail ? PARTITION_TAIL_PARTS : PARTITION_N_PARTS);
  segment.n_slots = is_tail ? segment.n_parts : place.n_slots;
  segment.n_slices = word_of(data, is_tail ? PARTITION_TAIL_SLICES : PARTITION_SLICES);
  segment.n_pieces = is_tail ? (place.starts < place.n_pieces ? 1U : 0U) : place.n_pieces;
  segment.tables = (GLOBAL const float2*)(data + word_of(data, is_tail ? PARTITION_TAIL_TABLES
                                                                       : PARTITION_TABLES));
  segment.lines =
      (GLOBAL float2*)(state + word_of(data, is_tail ? PARTITION_TAIL_LINES : PARTITION_LINES));
  segment.sums =
      (GLOBAL float2*)(state + word_of(data, is_tail ? PARTITION_TAIL_SUMS : PARTITION_SUMS));
  return segment;
}

// ---- in ----

// The sample of an input at a time, which may be before or after the block.
DEVICE f32
sample_at(const Stage stage, const Place place, const Input input, GLOBAL const f32* const ring,
          const i32 time)
{
  if (time >= 0) {
    return (u32)time < stage.n_frames ? input_at(stage, input, (u32)time) : 0.0f;
  }
  return (u32)-time <= place.age ? ring[(place.clock + (u32)time) & place.ring_mask] : 0.0f;
}

// The ring of an input.
DEVICE GLOBAL f32*
ring_of(const Place place, const u32 channel)
{
  return place.state + word_of(place.data, PARTITION_RINGS) + channel * (place.ring_mask + 1);
}

// Transform the last two partitions before the time `end`.  By all threads; returns a or b.
DEVICE LOCAL_POINTER float2*
transform_window(const Stage stage, const Place place, const Segment segment, const Input input,
                 GLOBAL const f32* const ring, const i32 end, LOCAL_POINTER float2* const a,
                 LOCAL_POINTER float2* const b)
{
  const u32 n = segment.n_points;
  for (u32 k = LOCAL_ID; k < 2 * n; k += GROUP_SIZE) {
    const i32 back = (i32)(2 * n - k); // from the end
    const f32 x =
        back > 2 * (i32)segment.n_frames ? 0.0f : sample_at(stage, place, input, ring, end - back);
    if (k < n) {
      b[k].x = x;
    } else {
      b[k - n].y = -x;
    }
  }
  BARRIER();
  for (u32 k = LOCAL_ID; k < n; k += GROUP_SIZE) {
    a[k] = complex_times(b[k], segment.tables[n + k]);
  }
  BARRIER();
  return fft(a, b, segment.tables, n, 1.0f);
}

// Store a spectrum in the delay line of an input.
DEVICE void
store_spectrum(const Place place, const Segment segment, const u32 is_tail, const u32 channel,
               const u32 piece, LOCAL_POINTER const float2* const spectrum)
{
  const u32 slot = is_tail ? place.tail_newest : piece_slot(place, piece);
  for (u32 k = LOCAL_ID; k < segment.n_points; k += GROUP_SIZE) {
    const u32 row = (k / POINTS * place.n_in + channel) * segment.n_slots + slot;
    segment.lines[row * POINTS + k % POINTS] = spectrum[k];
  }
}

// Store those samples of the block in the ring that a later block reads: the last two partitions.
// Group `group` of n_groups.  The ring is so long that this launch does not read what it writes.
DEVICE void
keep_samples(const Stage stage, const Place place, const Input input, GLOBAL f32* const ring,
             const u32 group, const u32 n_groups)
{
  const u32 past = 2 * place.hop * max(place.tail_hops, 1U);
  const u32 first = stage.n_frames > past ? stage.n_frames - past : 0;
  for (u32 i = first + group * GROUP_SIZE + LOCAL_ID; i < stage.n_frames;
       i += n_groups * GROUP_SIZE) {
    ring[(place.clock + i) & place.ring_mask] = input_at(stage, input, i);
  }
}

// Transform those pieces that group `group` of n_groups takes, or the tail's partition when its
// period starts.  By all threads; the caller has a barrier before it reads the spectra.
DEVICE void
take_in(const Stage stage, const Place place, const u32 is_tail, const u32 unit, const u32 channel,
        const u32 group, const u32 n_groups, LOCAL_POINTER float2* const a,
        LOCAL_POINTER float2* const b)
{
  const Segment segment = segment_of(place, is_tail);
  const u32 n_pieces = is_tail && place.tail_slice ? 0 : segment.n_pieces;
  const Input input = unit_input(stage, unit, channel);
  GLOBAL f32* const ring = ring_of(place, channel);
  for (u32 piece = is_tail ? 0 : group; piece < n_pieces; piece += n_groups) {
    const i32 end = is_tail ? piece_time(place, place.starts) : piece_time(place, piece + 1);
    LOCAL_POINTER const float2* const spectrum =
        transform_window(stage, place, segment, input, ring, end, a, b);
    store_spectrum(place, segment, is_tail, channel, piece, spectrum);
    BARRIER(); // before the next piece takes the arrays
  }
  if (!is_tail) {
    keep_samples(stage, place, input, ring, group, n_groups);
  }
}

// ---- products ----

// The products that one group sums: rows [first, end) of an output's filters, numbered over inputs
// and partitions, each times a row of the delay lines.
typedef struct Rows {
  GLOBAL const float4* filters;
  GLOBAL const float4* lines;
  u32 n_parts; // partitions of each input
  u32 n_slots; // slots of each input's delay line
  u32 newest;  // slot of the first partition
  u32 n_valid; // partitions whose slots are filled
  u32 first;
  u32 end;
} Rows;

// The row of the delay lines for row `row` of the filters; zeros if the row is not filled or does
// not exist.  The load happens in any case, so that it does not wait for this decision.
DEVICE float4
delayed_quad(const Rows share, const u32 row, const u32 quad)
{
  const u32 there = min(row, share.end - 1);
  const u32 input = there / share.n_parts;
  const u32 part = there - input * share.n_parts;
  const u32 slot = share.newest >= part ? share.newest - part : share.newest + share.n_slots - part;
  const float4 read = share.lines[(input * share.n_slots + slot) * ROW_QUADS + quad];
  const u32 counts = row < share.end && part < share.n_valid;
  return F4(counts ? read.x : 0.0f, counts ? read.y : 0.0f, counts ? read.z : 0.0f,
            counts ? read.w : 0.0f);
}

// sum + x times h: two complex numbers each.
DEVICE float4
add_products(const float4 sum, const float4 x, const float4 h)
{
  return F4(FMA(-x.y, h.y, FMA(x.x, h.x, sum.x)), FMA(x.y, h.x, FMA(x.x, h.y, sum.y)),
            FMA(-x.w, h.w, FMA(x.z, h.z, sum.z)), FMA(x.w, h.z, FMA(x.z, h.w, sum.w)));
}

// Sum a group's products.  to: [POINTS]; scratch: [GROUP_SIZE].  By all threads; the caller has a
// barrier before it reads the sums.
DEVICE void
sum_rows(const Rows share, LOCAL_POINTER float4* const to, LOCAL_POINTER float4* const scratch)
{
  const u32 lane = LOCAL_ID % LANES;
  const u32 phase = LOCAL_ID / LANES;
  for (u32 quads = 0; quads < ROW_QUADS; quads += LANES) {
    const u32 quad = quads + lane;
    float4 sum = F4(0.0f, 0.0f, 0.0f, 0.0f);
    for (u32 row = share.first + phase; row < share.end; row += BATCH * PHASES) {
      float4 x[BATCH];
      float4 h[BATCH];
      for (u32 b = 0; b < BATCH; ++b) {
        x[b] = delayed_quad(share, row + b * PHASES, quad);
        h[b] = share.filters[(u64)min(row + b * PHASES, share.end - 1) * ROW_QUADS + quad];
      }
      for (u32 b = 0; b < BATCH; ++b) {
        sum = add_products(sum, x[b], h[b]);
      }
    }
    BARRIER(); // all threads have read the scratch of the previous quads
    scratch[LOCAL_ID] = sum;
    BARRIER();
    if (phase == 0) {
      for (u32 p = 1; p < PHASES; ++p) {
        sum = sum + scratch[p * LANES + lane];
      }
      to[quad] = sum;
    }
  }
}

// Which of the unit's responses it uses.
DEVICE u32
set_of(const Stage stage, const Place place, const u32 unit)
{
  return word_of(place.data, PARTITION_N_SETS) > 1 ? unit_word(stage, unit, UNIT_CHANNEL) : 0;
}

// The slice of the bins that this launch processes.
DEVICE u32
bin_slice_of(const Place place, const u32 is_tail)
{
  return is_tail ? place.tail_slice : 0;
}

// The rows of slice `slice` of an output's products in a piece.
DEVICE Rows
rows_of(const Place place, const Segment segment, const u32 is_tail, const u32 set,
        const u32 output, const u32 slice, const u32 piece)
{
  const u32 n_rows = place.n_in * segment.n_parts;
  const u32 n_each = (n_rows + segment.n_slices - 1) / segment.n_slices;
  const u32 n_bin_slices = segment.n_points / POINTS;
  const u32 bin_slice = bin_slice_of(place, is_tail);
  Rows share;
  share.n_parts = segment.n_parts;
  share.n_slots = segment.n_slots;
  share.first = min(slice * n_each, n_rows);
  share.end = min(share.first + n_each, n_rows);
  share.filters =
      (GLOBAL const float4*)(place.data +
                             word_of(place.data, is_tail ? PARTITION_TAIL : PARTITION_FILTERS)) +
      ((u64)(set * place.n_out + output) * n_bin_slices + bin_slice) * n_rows * ROW_QUADS;
  share.lines = (GLOBAL const float4*)segment.lines +
                (u64)bin_slice * place.n_in * segment.n_slots * ROW_QUADS;
  share.newest = is_tail ? place.tail_newest : piece_slot(place, piece);
  share.n_valid = is_tail ? place.new_ticks : place.n_done + piece + 1;
  return share;
}

// The spectrum of a piece times that of the response, in place of products of several partitions.
DEVICE void
multiply(const Rows share, LOCAL_POINTER const float2* const spectrum,
         LOCAL_POINTER float2* const to)
{
  GLOBAL const float2* const filter = (GLOBAL const float2*)share.filters;
  for (u32 k = LOCAL_ID; k < POINTS; k += GROUP_SIZE) {
    const float2 x = spectrum[k];
    const float2 h = filter[k];
    to[k] = F2(FMA(-x.y, h.y, x.x * h.x), FMA(x.y, h.x, x.x * h.y));
  }
}

// Store the sums of an output's slice in a piece.
DEVICE void
store_sums(const Place place, const Segment segment, const u32 is_tail, const u32 group,
           const u32 piece, LOCAL_POINTER const float2* const sums)
{
  const u32 sum = piece * place.n_out * segment.n_slices + group;
  GLOBAL float2* const to =
      segment.sums + (sum * (segment.n_points / POINTS) + bin_slice_of(place, is_tail)) * POINTS;
  for (u32 k = LOCAL_ID; k < POINTS; k += GROUP_SIZE) {
    to[k] = sums[k];
  }
}

// Sum the products of slice `slice` of an output in those pieces that group `group` of n_groups
// takes.  sums: [POINTS]; scratch: [GROUP_SIZE].  By all threads.
DEVICE void
sum_products(const Stage stage, const Place place, const u32 is_tail, const u32 unit,
             const u32 output, const u32 slice, const u32 group, const u32 n_groups,
             LOCAL_POINTER float4* const sums, LOCAL_POINTER float4* const scratch)
{
  const Segment segment = segment_of(place, is_tail);
  const u32 set = set_of(stage, place, unit);
  for (u32 piece = is_tail ? 0 : group; piece < segment.n_pieces; piece += n_groups) {
    sum_rows(rows_of(place, segment, is_tail, set, output, slice, piece), sums, scratch);
    BARRIER();
    store_sums(place, segment, is_tail, output * segment.n_slices + slice, piece,
               (LOCAL_POINTER const float2*)sums);
  }
}

// ---- out ----

// Sample k of the late half of a window.
DEVICE f32
unfolded(LOCAL_POINTER const float2* const points, const Segment segment, const u32 k)
{
  return -complex_over(points[k], segment.tables[segment.n_points + k]).y;
}

// The tail's samples of an output's period: n_frames of TAIL_POINTS.  Two periods use two buffers
// in turn.
DEVICE GLOBAL f32*
tail_out(const Place place, const u32 output, const u32 ticks)
{
  return place.state + word_of(place.data, PARTITION_TAIL_OUT) +
         ((ticks & 1) * place.n_out + output) * TAIL_POINTS;
}

// The tail's contribution to a frame of a piece's hop.
DEVICE f32
tail_at(const Place place, const u32 output, const u32 piece, const u32 frame_of_hop)
{
  const u32 ticks = piece >= place.starts ? place.new_ticks : place.ticks;
  const u32 hop = (place.tail_hop + piece) & (place.tail_hops - 1);
  return ticks >= 2 ? tail_out(place, output, ticks)[hop * place.hop + frame_of_hop] : 0.0f;
}

DEVICE Ramp
mix_ramp(const Stage stage, const u32 unit, const u32 param, const u32 word)
{
  return unit_ramp(stage, unit, word, unit_param_f32(stage, unit, param),
                   unit_param(stage, unit, PARTITION_PARAM_RAMP_FRAMES));
}

// What the samples of an output are mixed with.
typedef struct Mix {
  Ramp dry;
  Ramp wet;
  Input input;
  u32 is_mixed;
  GLOBAL f32* out;
} Mix;

DEVICE Mix
mix_of(const Stage stage, const Place place, const u32 unit, const u32 output)
{
  Mix mix;
  mix.dry = mix_ramp(stage, unit, PARTITION_PARAM_DRY, PARTITION_STATE_DRY);
  mix.wet = mix_ramp(stage, unit, PARTITION_PARAM_WET, PARTITION_STATE_WET);
  mix.is_mixed = place.n_in == 1 || output < place.n_in;
  mix.input = unit_input(stage, unit, place.n_in == 1 || !mix.is_mixed ? 0 : output);
  mix.out = unit_out(stage, unit, output);
  return mix;
}

// Mix a piece's samples with the input; true if a result is not finite.
DEVICE u32
play_piece(const Stage stage, const Place place, const Segment segment, const Mix mix,
           const u32 output, const u32 piece, LOCAL_POINTER const float2* const points)
{
  const i32 time = piece_time(place, piece);
  u32 is_bad = 0;
  for (u32 i = LOCAL_ID; i < place.hop; i += GROUP_SIZE) {
    const u32 frame = (u32)(time + (i32)i); // before the block, wraps to a large number
    if (frame < stage.n_frames) {
      f32 y = unfolded(points, segment, POINTS - place.hop + i) + tail_at(place, output, piece, i);
      y *= ramp_ahead(mix.wet, frame + 1);
      if (mix.is_mixed) {
        y = FMA(input_at(stage, mix.input, frame), ramp_ahead(mix.dry, frame + 1), y);
      }
      is_bad |= !is_finite(y);
      mix.out[frame] = y;
    }
  }
  return is_bad;
}

// Add up the slices of an output's sums in a piece.  to: [n_points].
DEVICE void
load_sums(const Place place, const Segment segment, const u32 output, const u32 piece,
          LOCAL_POINTER float2* const to)
{
  const u32 n = segment.n_points;
  GLOBAL const float2* const sums =
      segment.sums + (piece * place.n_out + output) * segment.n_slices * n;
  for (u32 k = LOCAL_ID; k < n; k += GROUP_SIZE) {
    float2 sum = sums[k];
    for (u32 slice = 1; slice < segment.n_slices; ++slice) {
      sum = sum + sums[slice * n + k];
    }
    to[k] = sum;
  }
}

// Store the tail's samples for the next period.
DEVICE void
store_tail(const Place place, const Segment segment, const u32 output,
           LOCAL_POINTER const float2* const points)
{
  GLOBAL f32* const next = tail_out(place, output, place.new_ticks + 1);
  for (u32 i = LOCAL_ID; i < segment.n_frames; i += GROUP_SIZE) {
    next[i] = unfolded(points, segment, segment.n_points - segment.n_frames + i);
  }
}

// True if this launch ends a period of the tail, whose products are complete then.
DEVICE u32
ends_period(const Place place)
{
  return place.tail_slice == place.tail_hops - 1 && place.new_ticks > 0;
}

// Note a result that is not finite, for end_unit().
DEVICE void
note_bad(const Place place, const u32 output)
{
  word_set(place.state, word_of(place.data, PARTITION_IS_BAD) + output, 1); // by any thread
}

// Play those pieces of an output that group `group` of n_groups takes, or compute the tail's
// samples at the end of its period.  True if a result is not finite.  By all threads.
DEVICE u32
give_out(const Stage stage, const Place place, const u32 is_tail, const u32 unit, const u32 output,
         const u32 group, const u32 n_groups, LOCAL_POINTER float2* const a,
         LOCAL_POINTER float2* const b)
{
  const Segment segment = segment_of(place, is_tail);
  const Mix mix = mix_of(stage, place, unit, output);
  const u32 n_pieces = is_tail && !ends_period(place) ? 0 : segment.n_pieces;
  u32 is_bad = 0;
  for (u32 piece = is_tail ? 0 : group; piece < n_pieces; piece += n_groups) {
    load_sums(place, segment, output, piece, a);
    BARRIER();
    LOCAL_POINTER const float2* const points = fft(a, b, segment.tables, segment.n_points, -1.0f);
    if (is_tail) {
      store_tail(place, segment, output, points);
    } else {
      is_bad |= play_piece(stage, place, segment, mix, output, piece, points);
    }
    BARRIER(); // before the next piece takes the arrays
  }
  return is_bad;
}

// ---- progress ----

DEVICE void
move_on(const Stage stage, const Place place, const u32 unit)
{
  GLOBAL f32* const state = place.state;
  const u32 filled = place.fill + stage.n_frames;
  const u32 n_hops = filled / place.hop;
  Ramp dry = mix_ramp(stage, unit, PARTITION_PARAM_DRY, PARTITION_STATE_DRY);
  Ramp wet = mix_ramp(stage, unit, PARTITION_PARAM_WET, PARTITION_STATE_WET);
  ramp_skip(&dry, stage.n_frames);
  ramp_skip(&wet, stage.n_frames);
  ramp_store(state + PARTITION_STATE_DRY, dry);
  ramp_store(state + PARTITION_STATE_WET, wet);
  word_set(state, PARTITION_STATE_FILL, filled - n_hops * place.hop);
  word_set(state, PARTITION_STATE_CLOCK, (place.clock + stage.n_frames) & place.ring_mask);
  word_set(state, PARTITION_STATE_AGE, min(place.age + stage.n_frames, place.ring_mask + 1));
  word_set(state, PARTITION_STATE_NEWEST, piece_slot(place, n_hops));
  word_set(state, PARTITION_STATE_N_DONE, min(place.n_done + n_hops, place.n_slots));
  if (TAIL_POINTS) {
    const u32 far_up = 1U << 30;
    word_set(state, PARTITION_STATE_TAIL_HOP, (place.tail_hop + n_hops) & (place.tail_hops - 1));
    word_set(state, PARTITION_STATE_TICKS,
             place.new_ticks == far_up ? far_up - 2 : place.new_ticks);
    word_set(state, PARTITION_STATE_TAIL_NEWEST, place.tail_newest);
  }
  state[0] = 1.0f;
}

// The end of a block whose outputs several groups have written: reset the unit if one of them is
// not finite, and store its progress.  By all threads.
DEVICE void
end_unit(const Stage stage, const u32 unit, LOCAL_POINTER u32* const flag)
{
  const Place place = place_of(stage, unit);
  GLOBAL f32* const bad = place.state + word_of(place.data, PARTITION_IS_BAD);
  u32 is_bad = 0;
  for (u32 o = LOCAL_ID; o < place.n_out && stage.n_frames > 0; o += GROUP_SIZE) {
    is_bad |= word_of(bad, o);
    word_set(bad, o, 0);
  }
  BARRIER(); // all threads have read the state
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    move_on(stage, place, unit);
  }
  unit_end(stage, unit, is_bad, flag);
}

// The end of a group that computes all outputs of a unit, or shares them with other groups in y.
// By all threads.
DEVICE void
end_if_alone(const Stage stage, const Place place, const u32 unit, const u32 is_bad,
             LOCAL_POINTER u32* const flag)
{
  if (N_GROUPS_Y > 1) {
    if (is_bad) {
      note_bad(place, 0);
    }
  } else {
    BARRIER(); // all threads have read the state
    if (LOCAL_ID == 0 && stage.n_frames > 0) {
      move_on(stage, place, unit);
    }
    unit_end(stage, unit, is_bad, flag);
  }
}

#endif
