// SPDX-License-Identifier: GPL-3.0-or-later
// write_turtle BINARY > manifest.ttl: describes the fixtures that this program is linked with.

#include "tests/support/plugins/fixture.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

static void
write_symbol(const char* const name)
{
  for (const char* c = name; *c; ++c) {
    putchar(isalnum((unsigned char)*c) ? tolower((unsigned char)*c) : '_');
  }
}

static void
write_control(const FixturePort* const port)
{
  const double step = port->hints & FIXTURE_INTEGER ? 1.0 : 1e-6;
  printf(" ; lv2:minimum %.6f ; lv2:maximum %.6f ; lv2:default %.6f",
         ceil((double)port->min / step) * step, floor((double)port->max / step) * step,
         (double)fixture_initial(port));
  printf("%s%s", port->hints & FIXTURE_INTEGER ? " ; lv2:portProperty lv2:integer" : "",
         port->hints & FIXTURE_TOGGLED ? " ; lv2:portProperty lv2:toggled" : "");
}

static void
write_port(const FixturePort* const port, const uint32_t index)
{
  static const char* const classes[] = {
    [FIXTURE_INPUT] = "lv2:AudioPort , lv2:InputPort",
    [FIXTURE_OUTPUT] = "lv2:AudioPort , lv2:OutputPort",
    [FIXTURE_SIDECHAIN] = "lv2:AudioPort , lv2:InputPort",
    [FIXTURE_CONTROL] = "lv2:ControlPort , lv2:InputPort",
    [FIXTURE_LATENCY] = "lv2:ControlPort , lv2:OutputPort",
    [FIXTURE_METER] = "lv2:ControlPort , lv2:OutputPort",
    [FIXTURE_NOTES] = "atom:AtomPort , lv2:InputPort",
  };
  printf("%s\n    [ a %s ; lv2:index %u ; lv2:name \"%s\" ; lv2:symbol \"", index ? " ," : "",
         classes[port->kind], index, port->name);
  write_symbol(port->name);
  putchar('"');
  if (port->kind == FIXTURE_CONTROL) {
    write_control(port);
  }
  printf("%s ]", port->kind == FIXTURE_SIDECHAIN ? " ; lv2:portProperty lv2:isSideChain"
                 : port->kind == FIXTURE_LATENCY ? " ; lv2:portProperty lv2:reportsLatency"
                 : port->kind == FIXTURE_NOTES
                     ? " ; atom:bufferType atom:Sequence ; atom:supports midi:MidiEvent"
                     : "");
}

int
main(const int argc, char** const argv)
{
  if (argc != 2) {
    return 2;
  }
  puts("@prefix atom: <http://lv2plug.in/ns/ext/atom#> .\n"
       "@prefix doap: <http://usefulinc.com/ns/doap#> .\n"
       "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n"
       "@prefix midi: <http://lv2plug.in/ns/ext/midi#> .");
  for (uint32_t f = 0; f < n_fixtures; ++f) {
    printf("\n<" FIXTURE_URI "%s>\n  a lv2:Plugin ; lv2:binary <%s> ; doap:name \"%s\" ;\n"
           "  lv2:port",
           fixtures[f].label, argv[1], fixtures[f].label);
    for (uint32_t p = 0; p < fixtures[f].n_ports; ++p) {
      write_port(&fixtures[f].ports[p], p);
    }
    puts(" .");
  }
  return 0;
}
