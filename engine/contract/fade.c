// SPDX-License-Identifier: GPL-3.0-or-later
// Fades of parameters: their curves, and the grid on which they are evaluated.

#include "fade.h"

#include <math.h>

const char* const fx_curve_names[] = { "linear", "s", "in", "out", NULL };

static double
bend(const FxCurve curve, const double w)
{
  switch (curve) {
  case CURVE_S:
    return w * w * (3.0 - 2.0 * w);
  case CURVE_IN:
    return w * w;
  case CURVE_OUT:
    return w * (2.0 - w);
  default:
    return w;
  }
}

void
fade_set_ends(Fade* const fade, const double from, const double to)
{
  fade->from = from;
  fade->to = to;
  if (fade->row->taper != TAPER_LINEAR) {
    fade->from_norm = fx_param_to_norm(fade->row, from);
    fade->to_norm = fx_param_to_norm(fade->row, to);
  }
}

/// The value at a part of the time.
static double
value_at(const Fade* const fade, const double position)
{
  const double way = bend(fade->curve, position);
  const double from = fade->from;
  const double to = fade->to;
  if (position <= 0.0 || position >= 1.0) {
    return position <= 0.0 ? from : to;
  }
  if (fade->row->taper == TAPER_LINEAR) {
    return from + (to - from) * way;
  }
  const double norm = fade->from_norm + (fade->to_norm - fade->from_norm) * way;
  const double value = fx_param_from_norm(fade->row, norm);
  return fmin(fmax(value, fmin(from, to)), fmax(from, to)); // rounding passes neither end
}

double
fx_fade_value(const FxParam* const param, const double from, const double to, const FxCurve curve,
              const double position)
{
  Fade fade = { .row = param, .curve = curve };
  fade_set_ends(&fade, from, to);
  return value_at(&fade, position);
}

double
fade_value(const Fade* const fade, const uint64_t frame)
{
  return value_at(fade, (double)(frame - fade->start) / fade->n_frames);
}

/// Frames from the start to the last point.
static uint64_t
last_point(const Fade* const fade)
{
  const uint32_t before = fade->n_frames > FADE_AHEAD ? fade->n_frames - FADE_AHEAD : 0U;
  return ((uint64_t)before + FADE_GRID - 1U) / FADE_GRID * FADE_GRID;
}

uint64_t
fade_next(const Fade* const fade, const uint64_t frame)
{
  const uint64_t passed = frame > fade->start ? frame - fade->start : 0U;
  const uint64_t next = (passed + FADE_GRID - 1U) / FADE_GRID * FADE_GRID;
  const uint64_t at = fade->start + next;
  return next <= last_point(fade) && at < fade->until ? at : FADE_NEVER;
}

FadePoint
fade_point(const Fade* const fade, const uint64_t frame)
{
  const uint64_t left = fade->start + fade->n_frames - frame;
  return left <= FADE_AHEAD ? (FadePoint){ fade->to, (uint32_t)left }
                            : (FadePoint){ fade_value(fade, frame + FADE_AHEAD), FADE_AHEAD };
}
