// SPDX-License-Identifier: GPL-3.0-or-later
// convolver, and fir with many taps: one group does all the work of a unit, from samples to
// samples; convolver.h has the method.
//
// If one partition holds the response, a piece of a block depends on no other piece, and its
// spectrum stays in local memory: fx_convolver_short.  Several groups in y take the pieces of a
// long block in turn; then a second launch, fx_convolver_end, stores the progress.
//
// Sizes: those of convolver.h.  Local memory: two transforms of the larger size, 32 KB at most, and
// 4 KB for products.

#include "convolver.h"

// One piece of the head, or the tail's work in a block, from samples to samples; true if a result
// is not finite.  A step that is not due has no points: for PoCL, no barrier depends on that.
DEVICE u32
run_segment(const Stage stage, const Place place, const u32 is_tail, const u32 set, const Mix mix,
            const u32 piece, LOCAL_POINTER float4* const quads, LOCAL_POINTER float2* const b,
            LOCAL_POINTER float4* const scratch)
{
  LOCAL_POINTER float2* const a = (LOCAL_POINTER float2*)quads;
  const Segment segment = segment_of(place, is_tail);
  const u32 n_points = stage.n_frames > 0 ? segment.n_points : 0;
  Segment in = segment;
  in.n_points = is_tail && place.tail_slice > 0 ? 0 : n_points;
  LOCAL_POINTER const float2* const spectrum =
      transform_window(stage, place, in, mix.input, ring_of(place, 0),
                       piece_time(place, is_tail ? place.starts : piece + 1), a, b);
  store_spectrum(place, in, is_tail, 0, piece, spectrum);
  BARRIER();
  sum_rows(rows_of(place, segment, is_tail, set, 0, 0, piece), quads, scratch);
  BARRIER();
  if (is_tail) {
    store_sums(place, segment, is_tail, 0, piece, a);
  }
  BARRIER();
  Segment out = segment;
  out.n_points = is_tail && !ends_period(place) ? 0 : n_points;
  if (is_tail) {
    load_sums(place, out, 0, piece, a);
  }
  BARRIER();
  LOCAL_POINTER const float2* const points = fft(a, b, segment.tables, out.n_points, -1.0f);
  u32 is_bad = 0;
  if (!is_tail) {
    is_bad = play_piece(stage, place, segment, mix, 0, piece, points);
  } else if (out.n_points > 0) {
    store_tail(place, segment, 0, points);
  }
  BARRIER(); // before the next piece takes the arrays
  return is_bad;
}

KERNEL_OF(512)
fx_convolver(STAGE_ARGS)
{
  LOCAL_ARRAY(float4, quads, MOST_POINTS / 2);
  LOCAL_ARRAY(float2, b, MOST_POINTS);
  LOCAL_ARRAY(float4, scratch, GROUP_SIZE);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const Place place = place_of(stage, unit);
  const Mix mix = mix_of(stage, place, unit, 0);
  const u32 set = set_of(stage, place, unit);
  const u32 n_works = place.n_pieces + (TAIL_POINTS && place.starts < place.n_pieces ? 1 : 0);
  u32 work = 0;
  u32 is_bad = 0;
  // At least one iteration, for PoCL: see the rules in DIALECT.md.
  do {
    const u32 is_tail = TAIL_POINTS && work > 0 && work == place.n_pieces;
    is_bad |= run_segment(stage, place, is_tail, set, mix, is_tail ? 0 : work, quads, b, scratch);
    ++work;
  } while (work < n_works);
  keep_samples(stage, place, mix.input, ring_of(place, 0), 0, 1);
  end_if_alone(stage, place, unit, is_bad, flag);
}

KERNEL_OF(512)
fx_convolver_short(STAGE_ARGS)
{
  LOCAL_ARRAY(float2, a, POINTS);
  LOCAL_ARRAY(float2, b, POINTS);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const Place place = place_of(stage, unit);
  const Segment segment = segment_of(place, 0);
  const Mix mix = mix_of(stage, place, unit, 0);
  const Rows share = rows_of(place, segment, 0, set_of(stage, place, unit), 0, 0, 0);
  GLOBAL f32* const ring = ring_of(place, 0);
  u32 piece = GROUP_Y;
  u32 is_bad = 0;
  // At least one iteration, for PoCL: see the rules in DIALECT.md.
  do {
    LOCAL_POINTER const float2* const spectrum = transform_window(
        stage, place, segment, mix.input, ring, piece_time(place, piece + 1), a, b);
    multiply(share, spectrum, a);
    BARRIER();
    LOCAL_POINTER const float2* const points = fft(a, b, segment.tables, POINTS, -1.0f);
    is_bad |= play_piece(stage, place, segment, mix, 0, piece, points);
    BARRIER(); // before the next piece takes the arrays
    piece += N_GROUPS_Y;
  } while (piece < place.n_pieces);
  keep_samples(stage, place, mix.input, ring, GROUP_Y, N_GROUPS_Y);
  end_if_alone(stage, place, unit, is_bad, flag);
}

KERNEL
fx_convolver_end(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  end_unit(stage, GROUP_X, flag);
}
