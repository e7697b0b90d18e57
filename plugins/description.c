// SPDX-License-Identifier: GPL-3.0-or-later

#include "description.h"

#include "engine/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT_BYTES 256U

const char*
description_text(Description* const d, const char* const text)
{
  const size_t n = text ? strnlen(text, MAX_TEXT_BYTES - 1U) : 0U;
  char* const copy = arena_take(&d->arena, n + 1U, 1);
  if (!copy) {
    return "";
  }
  memcpy(copy, text ? text : "", n);
  text_make_printable(copy);
  return copy;
}

void
description_fault(Description* const d, const char* const format, ...)
{
  va_list args;
  va_start(args, format);
  if (!d->fault[0]) {
    vsnprintf(d->fault, sizeof(d->fault), format, args);
  }
  va_end(args);
}

void
description_mend(Description* const d, const char* const what, const char* const where)
{
  uint32_t m = 0;
  while (m < d->n_mends && strcmp(d->mends[m].what, what) != 0) {
    ++m;
  }
  if (m == d->n_mends && m < DESCRIPTION_MAX_MENDS) {
    d->mends[d->n_mends++] = (Mend){ what, description_text(d, where), 0 };
  }
  if (m < d->n_mends) {
    ++d->mends[m].n;
  }
}

double
description_shortest(const float number)
{
  const double magnitude = number != 0.0F ? floor(log10(fabs((double)number))) : 0.0;
  for (int digit = 5; digit < 9; ++digit) {
    const double power = digit - magnitude;
    const double scale = pow(10.0, fabs(power));
    const double rounded =
        power >= 0.0 ? rint(number * scale) / scale : rint(number / scale) * scale;
    if ((float)rounded == number) {
      return rounded;
    }
  }
  return number;
}

bool
description_reserve(Description* const d, const uint64_t n_ports)
{
  if (n_ports > PLUGIN_MAX_PORTS) {
    description_fault(d, "it has %lu ports, more than %u", (unsigned long)n_ports,
                      PLUGIN_MAX_PORTS);
    return false;
  }
  d->ports = arena_take(&d->arena, n_ports, sizeof(PluginPort));
  d->plugin.ports = d->ports;
  for (uint32_t set = 0; set < 4U; ++set) {
    d->symbols[set / 2U][set % 2U] = names_begin(&d->arena, (uint32_t)n_ports);
  }
  return !d->arena.failed;
}

/// A unique id for a port, among the ports of its kind.
static const char*
make_symbol(Description* const d, const PluginPort* const port)
{
  const bool is_output = port->flags & PORT_OUTPUT;
  char* const id = arena_take(&d->arena, PLUGIN_ID_BYTES, 1);
  if (!id) {
    return "";
  }
  plugin_param_id(port->name, id);
  return names_add(&d->symbols[port->type == PORT_AUDIO][is_output], id, '_');
}

PluginPort*
description_add_port(Description* const d, const PluginPort* const port)
{
  PluginPort* const added = &d->ports[d->plugin.n_ports++];
  *added = *port;
  added->symbol = make_symbol(d, added);
  return added;
}

static char*
write_notes(const Description* const d)
{
  TextBuffer notes = { 0 };
  for (uint32_t m = 0; m < d->n_mends; ++m) {
    const Mend* const mend = &d->mends[m];
    text_buffer_print(&notes, "%s%s: \"%s\"", m ? "; " : "", mend->what, mend->where);
    if (mend->n > 1U) {
      text_buffer_print(&notes, " and %u more", mend->n - 1U);
    }
  }
  return text_buffer_take(&notes);
}

Status
description_finish(Description* const d, const PluginFound found, void* const context,
                   Error* const error)
{
  Plugin* const plugin = &d->plugin;
  char* const notes = write_notes(d);
  const bool is_complete = notes && !d->arena.failed;
  const Status status =
      is_complete ? STATUS_OK
                  : error_set(error, STATUS_NO_MEM, "no memory to describe %s", plugin->bundle);
  if (is_complete) {
    plugin->fx.origin = &plugin->origin;
    plugin->fault = d->fault;
    plugin->notes = notes;
    found(context, plugin);
  }
  free(notes);
  arena_clear(&d->arena);
  return status;
}
