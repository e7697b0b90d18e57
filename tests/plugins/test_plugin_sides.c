// SPDX-License-Identifier: GPL-3.0-or-later
// From the audio inputs of a plugin to the side inputs of its effect.

#include "plugins/plugin.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define MAX_PORTS 8U
#define MAIN(group_)                                                                               \
  {                                                                                                \
    .type = PORT_AUDIO, .symbol = "in", .name = "In", .group = (group_)                            \
  }
#define SIDE(symbol_, group_)                                                                      \
  {                                                                                                \
    .type = PORT_AUDIO, .flags = PORT_SIDECHAIN, .symbol = (symbol_), .name = (symbol_),           \
    .group = (group_)                                                                              \
  }
#define OUT                                                                                        \
  {                                                                                                \
    .type = PORT_AUDIO, .flags = PORT_OUTPUT, .symbol = "out", .name = "Out", .group = ""          \
  }
#define CONTROL                                                                                    \
  {                                                                                                \
    .type = PORT_CONTROL, .flags = PORT_SIDECHAIN, .symbol = "x", .name = "X", .group = ""         \
  }

static const struct {
  PluginPort ports[MAX_PORTS];
  uint32_t n_ports;
  const char* sides; ///< "name:channels "...
  bool is_source;
} rows[] = {
  { { MAIN(""), OUT }, 2, "", false },
  { { MAIN(""), SIDE("sc", ""), OUT }, 3, "sidechain:1 ", false },
  { { SIDE("sc_l", "Key"), MAIN(""), SIDE("sc_r", "Key"), OUT, CONTROL },
    5,
    "sidechain:2 ",
    false },
  { { SIDE("a", ""), SIDE("b", ""), MAIN(""), OUT }, 4, "sidechain:2 ", false },
  { { SIDE("a", "Key in"), SIDE("b", "Duck"), SIDE("c", "Key in"), MAIN("") },
    4,
    "key_in:2 duck:1 ",
    false },
  { { SIDE("a", "Key"), SIDE("b", ""), MAIN("") }, 3, "key:1 sidechain:1 ", false },
  { { SIDE("a", "Key"), SIDE("b", "key"), MAIN("") }, 3, "key:1 key_2:1 ", false },
  { { OUT, CONTROL }, 2, "", true },
  { { OUT, SIDE("a", "") }, 2, "sidechain:1 ", true },
};

TEST_ROWS(ports_of_one_group_are_one_side_input, rows)
{
  Arena arena = { 0 };
  Plugin plugin = { .ports = rows[row].ports, .n_ports = rows[row].n_ports };
  OK(plugin_make_sides(&plugin, &arena, &error));
  char text[256] = "";
  for (uint32_t s = 0; s < plugin.fx.n_sides; ++s) {
    const size_t n = strlen(text);
    snprintf(text + n, sizeof(text) - n, "%s:%u ", plugin.fx.sides[s].name,
             plugin.fx.sides[s].n_channels);
  }
  ck_assert_str_eq(text, rows[row].sides);
  ck_assert_int_eq(plugin.fx.is_source, rows[row].is_source);
  arena_clear(&arena);
}

TEST(each_port_knows_its_side_input)
{
  Arena arena = { 0 };
  Plugin plugin = { .ports = rows[4].ports, .n_ports = rows[4].n_ports };
  OK(plugin_make_sides(&plugin, &arena, &error));
  static const uint32_t expected[] = { 0, 1, 0 };
  ck_assert(memcmp(plugin.side_of, expected, sizeof(expected)) == 0);
  arena_clear(&arena);
}

SUITE_MAIN("plugin_sides")
