// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of control ports and properties: unit, scale points, range, default value.

#include "lv2_description.h"

#include <lv2/units/units.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_RDF  "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define NS_RDFS "http://www.w3.org/2000/01/rdf-schema#"

static const struct {
  const char* uri;
  FxMeasure unit;
} units[] = {
  { LV2_UNITS__bpm, UNIT_BPM },    { LV2_UNITS__coef, UNIT_LINEAR }, { LV2_UNITS__db, UNIT_DB },
  { LV2_UNITS__degree, UNIT_DEG }, { LV2_UNITS__hz, UNIT_HZ },       { LV2_UNITS__ms, UNIT_MS },
  { LV2_UNITS__pc, UNIT_PERCENT }, { LV2_UNITS__s, UNIT_S },
};

/// Outputs are mended without a note: their range is only for display.
static void
note(Lv2Description* const description, const PluginPort* const port, const char* const what)
{
  if (!(port->flags & PORT_OUTPUT)) {
    description_mend(&description->common, what, port->symbol);
  }
}

static FxMeasure
read_unit(const LilvNode* const node)
{
  FxMeasure unit = UNIT_NONE;
  LilvNode* const written = turtle_object(node, LV2_UNITS__unit);
  for (size_t u = 0; written && u < ARRAY_LEN(units); ++u) {
    unit = strcmp(lilv_node_as_string(written), units[u].uri) ? unit : units[u].unit;
  }
  lilv_node_free(written);
  return unit;
}

/// Read a number of a port.  Those of control ports are floats, which many descriptions write with
/// all their digits: 0.10000000149.
static bool
port_number(const PluginPort* const port, const LilvNode* const node, const char* const predicate,
            double* const number)
{
  if (!turtle_number(node, predicate, number)) {
    return false;
  }
  if (port->type == PORT_CONTROL && isfinite((float)*number)) {
    *number = description_shortest((float)*number);
  }
  return port->type != PORT_CONTROL || isfinite((float)*number);
}

// ---- scale points ----

static int
compare_points(const void* const a, const void* const b)
{
  const PluginPoint* const x = a;
  const PluginPoint* const y = b;
  return x->value < y->value ? -1 : x->value > y->value ? 1 : strcmp(x->label, y->label);
}

/// Sort the points by their values, and keep one of each value.
static uint32_t
sort_points(PluginPoint* const points, const uint32_t n_points)
{
  qsort(points, n_points, sizeof(*points), compare_points);
  uint32_t n_kept = 0;
  for (uint32_t p = 0; p < n_points; ++p) {
    if (n_kept == 0 || points[p].value > points[n_kept - 1U].value) {
      points[n_kept++] = points[p];
    }
  }
  return n_kept;
}

static void
read_points(Lv2Description* const description, const LilvNode* const node, PluginPort* const port)
{
  LilvNodes* const nodes = turtle_objects(node, LV2_CORE__scalePoint);
  PluginPoint* const points =
      arena_take(&description->common.arena, lilv_nodes_size(nodes), sizeof(PluginPoint));
  uint32_t n_points = 0;
  LILV_FOREACH(nodes, i, nodes)
  {
    const LilvNode* const from = lilv_nodes_get(nodes, i);
    PluginPoint point = { .label = turtle_text(&description->common.arena, from, NS_RDFS "label") };
    if (points && n_points < PLUGIN_MAX_POINTS && point.label[0] &&
        port_number(port, from, NS_RDF "value", &point.value)) {
      points[n_points++] = point;
    }
  }
  if (n_points < lilv_nodes_size(nodes)) {
    note(description, port, "scale points without label or value");
  }
  lilv_nodes_free(nodes);
  port->points = points;
  port->n_points = points ? sort_points(points, n_points) : 0U;
}

// ---- range ----

double
lv2_port_nearest(const PluginPort* const port, const double number)
{
  if (port->flags & PORT_TOGGLED) {
    return number > 0.0 ? 1.0 : 0.0;
  }
  if (port->flags & PORT_CHOICE) {
    double nearest = port->points[0].value;
    for (uint32_t p = 1; p < port->n_points; ++p) {
      const double value = port->points[p].value;
      nearest = fabs(value - number) < fabs(nearest - number) ? value : nearest;
    }
    return nearest;
  }
  const double inside = fmin(fmax(number, port->min), port->max);
  return port->flags & PORT_INTEGER ? fmin(fmax(rint(inside), ceil(port->min)), floor(port->max))
                                    : inside;
}

/// A bound or default value; NaN if it is not written, or no finite number.
static double
read_number(Lv2Description* const description, const LilvNode* const node,
            const PluginPort* const port, const char* const predicate, const char* const missing)
{
  double number = 0.0;
  if (port_number(port, node, predicate, &number)) {
    return number;
  }
  note(description, port, missing);
  return NAN;
}

/// Replace missing bounds: 0 to 1, and wider where other numbers of the port are outside.
static void
mend_range(Lv2Description* const description, PluginPort* const port)
{
  const uint32_t n = port->n_points;
  const double lowest = n ? port->points[0].value : NAN;
  const double highest = n ? port->points[n - 1U].value : NAN;
  // fmin() and fmax() ignore NaN.
  if (isnan(port->min)) {
    port->min = fmin(fmin(0.0, port->max), fmin(port->initial, lowest));
  }
  if (isnan(port->max)) {
    port->max = fmax(fmax(1.0, port->min), fmax(port->initial, highest));
  }
  if (port->min > port->max) {
    note(description, port, "minimum above maximum");
    const double max = port->min;
    port->min = port->max;
    port->max = max;
  }
  if (port->flags & PORT_CHOICE) {
    port->min = lowest;
    port->max = highest;
  }
  if (port->flags & PORT_INTEGER && ceil(port->min) > floor(port->max)) {
    note(description, port, "no whole number in its range");
    port->flags &= ~PORT_INTEGER;
  }
}

static void
mend_initial(Lv2Description* const description, PluginPort* const port)
{
  const double written = port->initial;
  port->initial = lv2_port_nearest(port, isnan(written) ? 0.0 : written);
  if (port->flags & PORT_TOGGLED || isnan(written)) {
    return;
  }
  if (written < port->min || written > port->max) {
    note(description, port, "default out of range");
  } else if (port->initial < written || port->initial > written) {
    note(description, port,
         port->flags & PORT_CHOICE ? "default is no scale point" : "default is no whole number");
  }
}

/// Remove scale points outside the range, which no value can have.
static void
trim_points(Lv2Description* const description, PluginPort* const port)
{
  const uint32_t n_before = port->n_points;
  while (port->n_points && port->points[0].value < port->min) {
    ++port->points;
    --port->n_points;
  }
  while (port->n_points && port->points[port->n_points - 1U].value > port->max) {
    --port->n_points;
  }
  if (port->n_points < n_before) {
    note(description, port, "scale points out of range");
  }
}

void
lv2_read_numbers(Lv2Description* const description, const LilvNode* const node,
                 PluginPort* const port)
{
  port->unit = read_unit(node);
  read_points(description, node, port);
  if (port->flags & PORT_CHOICE && (port->n_points == 0 || port->flags & PORT_TOGGLED)) {
    port->flags &= ~PORT_CHOICE;
  }
  port->initial = read_number(description, node, port, LV2_CORE__default, "no default");
  if (port->flags & PORT_TOGGLED) {
    port->max = 1.0;
  } else {
    port->min = read_number(description, node, port, LV2_CORE__minimum, "no minimum");
    port->max = read_number(description, node, port, LV2_CORE__maximum, "no maximum");
  }
  mend_range(description, port);
  mend_initial(description, port);
  trim_points(description, port);
}
