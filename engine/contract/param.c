// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of parameters, positions of controllers for them, and words.

#include "effect.h"

#include <math.h>

#define ZERO_RATIO 1000.0 // of TAPER_LOG from 0: max / ZERO_RATIO is at 1 % of the way

/// Corners of TAPER_DB between its ends.
#define FADER_LOW_DB  -40.0
#define FADER_LOW     0.25
#define FADER_HIGH_DB 0.0
#define FADER_HIGH    0.75

/// The place of a number between two others, 0 at the first.  Halves: the difference of two doubles
/// may exceed the range.
static double
place(const double number, const double from, const double to)
{
  return to > from ? (0.5 * number - 0.5 * from) / (0.5 * to - 0.5 * from) : 0.0;
}

static double
between(const double from, const double to, const double x)
{
  return (1.0 - x) * from + x * to;
}

// ---- tapers ----

static double
log_at(const double min, const double max, const double x)
{
  return min > 0.0 ? exp(between(log(min), log(max), x))
                   : max * (pow(ZERO_RATIO, x) - 1.0) / (ZERO_RATIO - 1.0);
}

static double
log_place(const double min, const double max, const double number)
{
  return min > 0.0 ? place(log(number), log(min), log(max))
                   : log1p(number / max * (ZERO_RATIO - 1.0)) / log(ZERO_RATIO);
}

static double
fader_at(const double min, const double max, const double x)
{
  return x < FADER_LOW    ? between(min, FADER_LOW_DB, x / FADER_LOW)
         : x < FADER_HIGH ? between(FADER_LOW_DB, FADER_HIGH_DB, place(x, FADER_LOW, FADER_HIGH))
                          : between(FADER_HIGH_DB, max, place(x, FADER_HIGH, 1.0));
}

static double
fader_place(const double min, const double max, const double number)
{
  return number < FADER_LOW_DB ? FADER_LOW * place(number, min, FADER_LOW_DB)
         : number < FADER_HIGH_DB
             ? between(FADER_LOW, FADER_HIGH, place(number, FADER_LOW_DB, FADER_HIGH_DB))
             : between(FADER_HIGH, 1.0, place(number, FADER_HIGH_DB, max));
}

static double
number_at(const FxParam* const param, const double x)
{
  switch (param->taper) {
  case TAPER_LOG:
    return log_at(param->min, param->max, x);
  case TAPER_DB:
    return fader_at(param->min, param->max, x);
  default:
    return between(param->min, param->max, x);
  }
}

static double
place_of(const FxParam* const param, const double number)
{
  switch (param->taper) {
  case TAPER_LOG:
    return log_place(param->min, param->max, number);
  case TAPER_DB:
    return fader_place(param->min, param->max, number);
  default:
    return place(number, param->min, param->max);
  }
}

// ---- steps ----

/// The last step: the number of steps less 1, as a double, because integers of plugins may have any
/// range.  0: the parameter has no steps.
static double
last_step(const FxParam* const param, const double min, const double max)
{
  if (param->kind == PARAM_CHOICE) {
    uint32_t n = 0;
    while (param->choices[n]) {
      ++n;
    }
    return n - 1.0;
  }
  const bool has_steps =
      param->kind == PARAM_SWITCH || (param->kind == PARAM_INTEGER && param->taper == TAPER_LINEAR);
  return has_steps ? max - min : 0.0;
}

// ---- numbers ----

double
fx_param_from_norm(const FxParam* const param, const double norm)
{
  const double x = norm > 0.0 ? fmin(norm, 1.0) : 0.0; // 0 for NaN
  double min = 0.0;
  double max = 0.0;
  if (!fx_param_range(param, &min, &max)) {
    return 0.0;
  }
  const double last = last_step(param, min, max);
  const double step = fmin(floor(x * (last + 1.0)), last);
  if (param->kind == PARAM_CHOICE) {
    return fx_choice_number(param, (uint32_t)step);
  }
  if (last > 0.0) {
    return fmin(min + step, max);
  }
  if (x == 0.0 || x == 1.0) {
    return x == 0.0 ? min : max; // exactly
  }
  const double number = number_at(param, x);
  return fmin(fmax(param->kind == PARAM_INTEGER ? rint(number) : number, min), max);
}

double
fx_param_to_norm(const FxParam* const param, const double number)
{
  double min = 0.0;
  double max = 0.0;
  if (!fx_param_range(param, &min, &max)) {
    return 0.0;
  }
  const double last = last_step(param, min, max);
  if (param->kind == PARAM_CHOICE) {
    const int choice = fx_choice_find(param, number);
    return choice > 0 ? choice / last : 0.0;
  }
  const double clipped = fmin(fmax(number, min), max);
  const double x = last > 0.0 ? (clipped - min) / last : place_of(param, clipped);
  return fmin(fmax(x, 0.0), 1.0);
}

// ---- words ----

const char* const fx_unit_words[] = {
  [UNIT_NONE] = "", [UNIT_HZ] = "Hz",     [UNIT_DB] = "dB",
  [UNIT_MS] = "ms", [UNIT_BPM] = "bpm",   [UNIT_DEG] = "deg",
  [UNIT_S] = "s",   [UNIT_PERCENT] = "%", [UNIT_LINEAR] = "",
};

const char* const fx_kind_words[] = {
  [PARAM_NUMBER] = "number", [PARAM_INTEGER] = "integer", [PARAM_SWITCH] = "switch",
  [PARAM_CHOICE] = "choice", [PARAM_FILE] = "file",       [PARAM_PATH] = "file",
  [PARAM_TEXT] = "text",
};

const char* const fx_taper_words[] = {
  [TAPER_LINEAR] = "linear",
  [TAPER_LOG] = "log",
  [TAPER_DB] = "dB",
  [TAPER_DB + 1] = NULL,
};
