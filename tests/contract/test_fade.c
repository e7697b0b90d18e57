// SPDX-License-Identifier: GPL-3.0-or-later
// A fade goes from value to value on its curve; its points are a grid from its own start, and the
// ramps between them end with it.

#include "engine/contract/fade.h"
#include "tests/support/suite.h"

static const FxParam number = { .id = "gain", .kind = PARAM_NUMBER, .min = -60.0, .max = 20.0 };

static Fade
fade_of(const uint32_t n_frames)
{
  return (Fade){ .row = &number,
                 .from = -40.0,
                 .to = 20.0,
                 .start = 1001,
                 .until = FADE_NEVER,
                 .n_frames = n_frames };
}

TEST(curves_begin_and_end_at_the_values)
{
  static const double quarters[FX_N_CURVES] = { 0.25, 0.15625, 0.0625, 0.4375 };
  for (uint32_t c = 0; c < FX_N_CURVES; ++c) {
    ck_assert_ptr_nonnull(fx_curve_names[c]);
    ck_assert_double_eq(fx_fade_value(&number, -3.0, 0.1, c, 0.0), -3.0);
    ck_assert_double_eq(fx_fade_value(&number, -3.0, 0.1, c, 1.0), 0.1); // exactly
    ck_assert_double_eq(fx_fade_value(&number, 0.0, 1.0, c, 0.25), quarters[c]);
  }
  ck_assert_ptr_null(fx_curve_names[FX_N_CURVES]);
}

TEST(values_move_by_the_taper_of_the_parameter)
{
  static const FxParam hz = {
    .kind = PARAM_NUMBER, .min = 1.0, .max = 20000.0, .taper = TAPER_LOG
  };
  static const FxParam db = { .kind = PARAM_NUMBER, .min = -120.0, .max = 40.0, .taper = TAPER_DB };
  ck_assert_double_eq_tol(fx_fade_value(&hz, 100.0, 10000.0, CURVE_LINEAR, 0.5), 1000.0, 1e-9);
  ck_assert_double_eq_tol(fx_fade_value(&db, 0.0, -120.0, CURVE_LINEAR, 0.5), -30.0, 1e-9);
  ck_assert_double_eq(fx_fade_value(&db, 0.1, -119.9, CURVE_LINEAR, 1.0), -119.9);
  ck_assert_double_ge(fx_fade_value(&hz, 0.1 + 0.2 + 1.0, 9.0, CURVE_LINEAR, 0.0), 1.3);
}

TEST(points_are_a_grid_from_the_start_of_the_fade)
{
  const Fade fade = fade_of(1000);
  uint64_t at = fade_next(&fade, 0);
  ck_assert_uint_eq(at, fade.start);
  for (uint32_t n = 0; n <= 13; ++n) {
    const FadePoint point = fade_point(&fade, at);
    ck_assert_uint_eq(at, fade.start + n * FADE_GRID);
    ck_assert_uint_eq(point.ramp_frames, FADE_AHEAD);
    ck_assert_double_eq(point.value, fade_value(&fade, at + FADE_AHEAD));
    ck_assert_uint_eq(fade_next(&fade, at), at);
    at = fade_next(&fade, at + 1U);
  }
  const FadePoint last = fade_point(&fade, at);
  ck_assert_uint_eq(at, fade.start + 14U * FADE_GRID);
  ck_assert_uint_eq(at + last.ramp_frames, fade.start + fade.n_frames);
  ck_assert_double_eq(last.value, fade.to);
  ck_assert_uint_eq(fade_next(&fade, at + 1U), FADE_NEVER);
}

TEST(a_short_fade_is_one_ramp)
{
  for (uint32_t n = 1; n <= FADE_AHEAD; ++n) {
    const Fade fade = fade_of(n);
    const FadePoint only = fade_point(&fade, fade.start);
    ck_assert_uint_eq(fade_next(&fade, 7), fade.start);
    ck_assert_uint_eq(only.ramp_frames, n);
    ck_assert_double_eq(only.value, fade.to);
    ck_assert_uint_eq(fade_next(&fade, fade.start + 1U), FADE_NEVER);
  }
}

TEST(a_fade_that_another_message_ends_has_no_further_points)
{
  Fade fade = fade_of(1000);
  fade.until = fade.start + 2U * FADE_GRID;
  ck_assert_uint_eq(fade_next(&fade, fade.start + 1U), fade.start + FADE_GRID);
  ck_assert_uint_eq(fade_next(&fade, fade.start + FADE_GRID + 1U), FADE_NEVER);
}

SUITE_MAIN("fade")
