// SPDX-License-Identifier: GPL-3.0-or-later
// What a CLAP file tells of its plugins.

#include "tests/support/plugins/clap/clap_rig.h"
#include "tests/support/plugin_rig.h"
#include "tests/support/suite.h"

static uint32_t
count_plugins(void)
{
  uint32_t n = 0;
  plugin_rig_plugins(&n);
  return n;
}

TEST(a_file_describes_its_plugins)
{
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  ck_assert_uint_eq(count_plugins(), 18);
  const Plugin* const gain = plugin_rig_find("test.gain");
  ck_assert_str_eq(gain->origin.format, "clap");
  ck_assert_str_eq(gain->name, "gain");
  ck_assert_str_eq(gain->category, "De-esser");
  ck_assert_str_eq(gain->maker, "");
  ck_assert_str_eq(gain->fault, "");
  ck_assert_str_eq(gain->notes, "");
  ck_assert_str_eq(gain->binary, clap_rig_path("fixtures"));
  ck_assert_uint_ne(gain->binary_key.inode, 0);
  ck_assert_uint_eq(gain->n_ports, 3);
}

/// The ports of test.params after those for audio.
static const PluginPort expected[] = {
  { .index = 30, .symbol = "low_gain", .name = "Low Gain", .max = 2.0, .initial = 1.0 },
  { .index = 31, .symbol = "high_gain", .name = "High Gain", .max = 2.0, .initial = 1.0 },
  { .index = 10,
    .symbol = "mode",
    .name = "Mode",
    .flags = PORT_INTEGER | PORT_CHOICE,
    .max = 2.0,
    .initial = 1.0,
    .n_points = 3 },
  { .index = 11,
    .symbol = "order",
    .name = "Order",
    .flags = PORT_INTEGER,
    .min = 4.0,
    .max = 7.0,
    .initial = 4.0,
    .n_points = 2 },
  { .index = 12,
    .symbol = "bypass",
    .name = "Bypass",
    .flags = PORT_TOGGLED | PORT_BYPASS,
    .max = 1.0 },
  { .index = 14,
    .symbol = "voices",
    .name = "Voices",
    .flags = PORT_INTEGER,
    .min = 1.0,
    .max = 8.0,
    .initial = 4.0 },
  { .index = 15,
    .symbol = "cutoff",
    .name = "Cutoff",
    .unit = UNIT_HZ,
    .min = 20.0,
    .max = 20000.0,
    .initial = 1000.0 },
  { .index = 16, .symbol = "level", .name = "Level", .unit = UNIT_DB, .min = -60.0, .max = 12.0 },
  { .index = 17,
    .symbol = "phase",
    .name = "Phase",
    .flags = PORT_STEPPED,
    .unit = UNIT_DEG,
    .max = 360.0 },
  { .index = 18,
    .symbol = "meter",
    .name = "Meter",
    .flags = PORT_OUTPUT | PORT_STEPPED,
    .max = 4.0,
    .initial = 0.25 },
  { .index = 19, .symbol = "secret", .name = "Secret", .flags = PORT_HIDDEN, .max = 1.0 },
  { .index = 20,
    .symbol = "size",
    .name = "Size",
    .flags = PORT_STEPPED,
    .max = 1.0,
    .initial = 0.5 },
  { .index = 23, .symbol = "attack", .name = "Attack", .min = 0.1, .max = 1.0, .initial = 0.3 },
  { .index = 21, .symbol = "mix", .name = "Mix", .max = 1.0, .initial = 0.5 },
  { .index = 22, .symbol = "trim", .name = "Trim", .max = 1.0 },
};

TEST_ROWS(a_parameter_is_a_port, expected)
{
  const PluginPort* const wanted = &expected[row];
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  const Plugin* const plugin = plugin_rig_find("test.params");
  ck_assert_uint_eq(plugin->n_ports, 5 + ARRAY_LEN(expected));
  const PluginPort* const port = &plugin->ports[5 + row];
  ck_assert_uint_eq(port->index, wanted->index);
  ck_assert_int_eq(port->type, PORT_CONTROL);
  ck_assert_str_eq(port->symbol, wanted->symbol);
  ck_assert_str_eq(port->name, wanted->name);
  ck_assert_uint_eq(port->flags, wanted->flags);
  ck_assert_int_eq(port->unit, wanted->unit);
  ck_assert_double_eq(port->min, wanted->min);
  ck_assert_double_eq(port->max, wanted->max);
  ck_assert_double_eq(port->initial, wanted->initial);
  ck_assert_uint_eq(port->n_points, wanted->n_points);
}

TEST(values_have_the_names_that_the_plugin_gives_them)
{
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  clap_rig.plugin = plugin_rig_find("test.params");
  const PluginPoint* const modes = clap_rig.plugin->ports[clap_rig_port_of("mode")].points;
  ck_assert_str_eq(modes[0].label, "Soft");
  ck_assert_str_eq(modes[2].label, "Hard");
  ck_assert_double_eq(modes[2].value, 2.0);
  const PluginPoint* const orders = clap_rig.plugin->ports[clap_rig_port_of("order")].points;
  ck_assert_str_eq(orders[1].label, "third");
  ck_assert_double_eq(orders[1].value, 6.0);
}

TEST(a_channel_is_a_port)
{
  static const struct {
    const char *symbol, *group;
    uint32_t flags;
  } rows[] = {
    { "main_1", "main", PORT_NO_FLAGS }, { "main_2", "main", PORT_NO_FLAGS },
    { "key", "key", PORT_SIDECHAIN },    { "main_1", "main", PORT_OUTPUT },
    { "main_2", "main", PORT_OUTPUT },
  };
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  const Plugin* const plugin = plugin_rig_find("test.params");
  for (uint32_t p = 0; p < ARRAY_LEN(rows); ++p) {
    ck_assert_int_eq(plugin->ports[p].type, PORT_AUDIO);
    ck_assert_str_eq(plugin->ports[p].symbol, rows[p].symbol);
    ck_assert_str_eq(plugin->ports[p].group, rows[p].group);
    ck_assert_uint_eq(plugin->ports[p].flags, rows[p].flags);
  }
}

TEST(notes_are_a_port_for_events)
{
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  const Plugin* const plugin = plugin_rig_find("test.notes");
  ck_assert_uint_eq(plugin->n_ports, 3);
  ck_assert_int_eq(plugin->ports[2].type, PORT_ATOM);
  ck_assert_uint_eq(plugin->ports[2].flags, PORT_EVENTS);
  const Plugin* const other = plugin_rig_find("test.midi2");
  ck_assert_uint_eq(other->n_ports, 3);
  ck_assert_uint_eq(other->ports[2].flags,
                    PORT_NO_FLAGS); // in a dialect that the host does not know
}

TEST(a_plugin_that_cannot_be_used_has_a_fault)
{
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  ck_assert_str_eq(plugin_rig_find("test.deaf")->fault, "it has no audio ports");
  plugin_rig_describe("clap", clap_rig_path("broken"));
  ck_assert_uint_eq(count_plugins(),
                    7); // not those that racks could not name, and one of a pair
  assert_says(plugin_rig_find("test.draft")->fault, "draft");
  assert_says(plugin_rig_find("test.many")->fault, "it has 10002 ports, more than 8192");
  assert_says(plugin_rig_find("test.wide")->fault, "ports, more than 8192");
  ck_assert_str_eq(plugin_rig_find("test.unmade")->fault, "it cannot be created");
  ck_assert_str_eq(plugin_rig_find("test.uninitialised")->fault, "it cannot be initialised");
  ck_assert_str_eq(plugin_rig_find("test.twice")->name, "twice");
}

TEST(wrong_facts_are_mended)
{
  plugin_rig_describe("clap", clap_rig_path("broken"));
  const Plugin* const plugin = plugin_rig_find("test.nameless");
  clap_rig.plugin = plugin;
  ck_assert_str_eq(plugin->name, "test.nameless");
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_uint_eq(plugin->n_ports, 2 + 4);
  ck_assert_double_eq(plugin->ports[clap_rig_port_of("outside")].initial, 1.0);
  ck_assert_double_eq(plugin->ports[clap_rig_port_of("unknown")].initial, 0.0);
  ck_assert_str_eq(plugin->ports[clap_rig_port_of("parameter_6")].name, "Parameter 6");
  ck_assert_str_eq(plugin->ports[5].name, "bad ? name");
  assert_says(plugin->notes, "no name: \"test.nameless\" and 1 more");
  assert_says(plugin->notes, "range that is not finite: \"Broken\" and 1 more");
  assert_says(plugin->notes, "lower bound above the upper bound: \"Inverted\"");
  assert_says(plugin->notes, "default outside the bounds: \"Outside\" and 1 more");
  assert_says(plugin->notes, "id of another parameter: \"Twice\"");
  assert_says(plugin->notes, "parameter that is not described");
}

TEST(a_description_becomes_an_effect)
{
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  const FxInfo* const fx = &plugin_rig_find("test.params")->fx;
  const int mode = fx_param_find(fx, "mode");
  ck_assert_int_ge(mode, 0);
  ck_assert_int_eq(fx->params[mode].kind, PARAM_CHOICE);
  ck_assert_str_eq(fx->params[mode].choices[2], "Hard");
  const int order = fx_param_find(fx, "order");
  ck_assert_int_ge(order, 0);
  ck_assert_int_eq(fx->params[order].kind, PARAM_INTEGER);
  ck_assert_double_eq(fx->params[order].choice_values[1], 6.0);
}

TEST(a_file_that_is_no_clap_is_refused)
{
  Error error = { 0 };
  ck_assert_int_eq(plugin_rig_try_describe("clap", clap_rig_path("draft"), &error), STATUS_FILE);
  assert_says(error.text, "draft.clap is made for CLAP 0.2, a draft of CLAP 1");
  ck_assert_int_eq(plugin_rig_try_describe("clap", clap_rig_path("refusing"), &error), STATUS_FILE);
  assert_says(error.text, "refusing.clap does not initialise its plugins");
  ck_assert_int_eq(plugin_rig_try_describe("clap", clap_rig_path("missing"), &error), STATUS_FILE);
  ck_assert_int_eq(plugin_rig_try_describe("clap", "/proc/self/exe", &error), STATUS_FILE);
  assert_says(error.text, "/proc/self/exe cannot be loaded: ");
  ck_assert_uint_eq(count_plugins(), 0);
}

SUITE_MAIN_WITH("clap_describe", clap_rig_begin, clap_rig_end)
