// SPDX-License-Identifier: GPL-3.0-or-later
// The range of a control of a LADSPA plugin, from its hints.  ladspa.h says how the defaults follow
// from the bounds.

#include "ladspa_range.h"

#include "plugins/description.h"

#include <math.h>

/// The range of a control that states none: wide enough for any use.
static void
choose_range(const PluginPort* const port, double* const min, double* const max)
{
  static const struct {
    double min, max;
  } ranges[] = {
    [UNIT_NONE] = { -1000.0, 1000.0 }, [UNIT_HZ] = { 0.0, 20000.0 },
    [UNIT_DB] = { -120.0, 40.0 },      [UNIT_MS] = { 0.0, 10000.0 },
    [UNIT_BPM] = { 1.0, 1000.0 },      [UNIT_DEG] = { -360.0, 360.0 },
    [UNIT_S] = { 0.0, 100.0 },         [UNIT_PERCENT] = { 0.0, 100.0 },
  };
  const bool is_rate = port->flags & PORT_RATE;
  *min = is_rate ? 0.0 : ranges[port->unit].min;
  *max = is_rate ? 0.5 : ranges[port->unit].max;
}

/// True if the port states the bound, and the bound is a number.
static bool
has_bound(const int stated, const float bound, uint32_t* const mends)
{
  if (stated && !isfinite(bound)) {
    *mends |= 1U << RANGE_NOT_FINITE;
  }
  return stated && isfinite(bound);
}

static void
read_range(PluginPort* const port, const LADSPA_PortRangeHint* const hint, uint32_t* const mends)
{
  const int hints = hint->HintDescriptor;
  const bool has_min = has_bound(LADSPA_IS_HINT_BOUNDED_BELOW(hints), hint->LowerBound, mends);
  const bool has_max = has_bound(LADSPA_IS_HINT_BOUNDED_ABOVE(hints), hint->UpperBound, mends);
  double min = 0.0;
  double max = 0.0;
  choose_range(port, &min, &max);
  if (has_min) {
    min = description_shortest(hint->LowerBound);
    max = fmax(min, max);
  } else {
    *mends |= 1U << RANGE_NO_MIN;
  }
  if (has_max) {
    max = description_shortest(hint->UpperBound);
    min = has_min ? min : fmin(min, max);
  } else {
    *mends |= 1U << RANGE_NO_MAX;
  }
  if (min > max) {
    *mends |= 1U << RANGE_INVERTED;
  }
  port->min = fmin(min, max);
  port->max = fmax(min, max);
}

/// Move the bounds of whole numbers inwards: some plugins widen them a little, against rounding.
static void
round_range(PluginPort* const port)
{
  const double min = ceil(port->min);
  const double max = floor(port->max);
  port->min = fmin(min, max);
  port->max = fmax(min, max);
}

/// A part of the way from the lower to the upper bound.  Some plugins give both without the hints
/// that they are bounds.
static double
between(const LADSPA_PortRangeHint* const hint, const double part)
{
  const double lower = hint->LowerBound;
  const double upper = hint->UpperBound;
  const double number = exp(log(lower) * (1.0 - part) + log(upper) * part);
  return LADSPA_IS_HINT_LOGARITHMIC(hint->HintDescriptor) && isfinite(number)
             ? number
             : lower * (1.0 - part) + upper * part;
}

/// The stated default, or NaN.
static double
stated_default(const LADSPA_PortRangeHint* const hint)
{
  const double hz = LADSPA_IS_HINT_SAMPLE_RATE(hint->HintDescriptor) ? 1.0 / PLUGIN_RATE_HZ : 1.0;
  switch (hint->HintDescriptor & LADSPA_HINT_DEFAULT_MASK) {
  case LADSPA_HINT_DEFAULT_MINIMUM:
    return description_shortest(hint->LowerBound);
  case LADSPA_HINT_DEFAULT_LOW:
    return description_shortest((float)between(hint, 0.25));
  case LADSPA_HINT_DEFAULT_MIDDLE:
    return description_shortest((float)between(hint, 0.5));
  case LADSPA_HINT_DEFAULT_HIGH:
    return description_shortest((float)between(hint, 0.75));
  case LADSPA_HINT_DEFAULT_MAXIMUM:
    return description_shortest(hint->UpperBound);
  case LADSPA_HINT_DEFAULT_0:
    return 0.0;
  case LADSPA_HINT_DEFAULT_1:
    return hz;
  case LADSPA_HINT_DEFAULT_100:
    return 100.0 * hz;
  case LADSPA_HINT_DEFAULT_440:
    return 440.0 * hz;
  default:
    return (double)NAN;
  }
}

static double
clamp(const double number, const double min, const double max)
{
  return fmin(fmax(number, min), max);
}

static void
read_default(PluginPort* const port, const LADSPA_PortRangeHint* const hint, uint32_t* const mends)
{
  double number = stated_default(hint);
  if (!isfinite(number)) {
    *mends |= 1U << RANGE_NO_DEFAULT;
    number = clamp(0.0, port->min, port->max);
  }
  if (port->flags & PORT_TOGGLED) {
    number = number > 0.0 ? 1.0 : 0.0;
  } else if (port->flags & PORT_INTEGER) {
    number = rint(number);
  }
  if (number < port->min || number > port->max) {
    *mends |= 1U << RANGE_DEFAULT_OUTSIDE;
  }
  port->initial = clamp(number, port->min, port->max);
}

static uint32_t
hint_flags(const int hints)
{
  const bool is_rate = LADSPA_IS_HINT_SAMPLE_RATE(hints);
  if (LADSPA_IS_HINT_TOGGLED(hints)) {
    return PORT_TOGGLED;
  }
  return (is_rate ? PORT_RATE : PORT_NO_FLAGS) |
         (LADSPA_IS_HINT_INTEGER(hints) && !is_rate ? PORT_INTEGER : PORT_NO_FLAGS);
}

uint32_t
ladspa_range_read(PluginPort* const port, const LADSPA_PortRangeHint* const hint)
{
  uint32_t mends = 0;
  port->flags |= hint_flags(hint->HintDescriptor);
  if (port->flags & PORT_TOGGLED) {
    port->min = 0.0;
    port->max = 1.0;
  } else {
    read_range(port, hint, &mends);
  }
  if (port->flags & PORT_INTEGER) {
    round_range(port);
  }
  read_default(port, hint, &mends);
  // Plugins have this hint with a lower bound of 0, too, where no scale is logarithmic.
  if (LADSPA_IS_HINT_LOGARITHMIC(hint->HintDescriptor) && port->min > 0.0) {
    port->flags |= PORT_LOGARITHMIC;
  }
  return mends;
}
