// SPDX-License-Identifier: GPL-3.0-or-later
// Each kind of port becomes the parameter that users expect; ids are distinct and none is a
// reserved word; ranges hold the port's numbers.

#include "engine/rack/rack.h"
#include "plugins/plugin.h"
#include "tests/support/plugin_sample.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define TEXTS   .group = "", .uri = ""
#define N_PORTS 300U

/// The plugin of one port, which is not destroyed before the end of the test.
static const Plugin*
plugin_of_port(const PluginPort port, Arena* const arena)
{
  return plugin_sample_of(&port, 1, arena);
}

/// A control input.
static PluginPort
control(const char* const symbol, const char* const name, const uint32_t flags)
{
  return (PluginPort){
    .type = PORT_CONTROL, .flags = flags, .symbol = symbol, .name = name, TEXTS, .max = 1.0
  };
}

TEST(a_number_has_the_range_and_the_unit_of_its_port)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  PluginPort port = control("gain", "Gain (dB)", PORT_LOGARITHMIC);
  port.unit = UNIT_DB;
  port.min = -90.5;
  port.initial = -3.0;
  port.max = 24.0;
  const Plugin* const plugin = plugin_of_port(port, &arena);
  const FxParam* const param = &plugin->fx.params[0];
  ck_assert_uint_eq(plugin->fx.n_params, 6); // with `bypass`, `group`, `mute`, `solo` and `ramp`
  ck_assert_str_eq(param->id, "gain");
  ck_assert_str_eq(param->help, "Gain (dB)");
  ck_assert_uint_eq(param->kind, PARAM_NUMBER);
  ck_assert_uint_eq(param->unit, UNIT_DB);
  ck_assert(param->min == -90.5 && param->initial == -3.0 && param->max == 24.0);
  ck_assert(!param->structural && !param->choices);
  ck_assert_int_eq(plugin->param_ports[0], 0);
}

TEST(a_logarithmic_port_has_a_log_taper_if_its_range_has_one)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  static const struct {
    double min;
    uint32_t flags;
    FxTaper taper;
  } rows[] = {
    { 20.0, PORT_LOGARITHMIC, TAPER_LOG },
    { 0.0, PORT_LOGARITHMIC, TAPER_LOG },
    { 1.0, PORT_LOGARITHMIC | PORT_INTEGER, TAPER_LOG },
    { -90.0, PORT_LOGARITHMIC, TAPER_LINEAR },
    { 20.0, PORT_NO_FLAGS, TAPER_LINEAR },
    { 0.0, PORT_LOGARITHMIC | PORT_TOGGLED, TAPER_LINEAR },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    PluginPort port = control("tone", "Tone", rows[r].flags);
    port.min = rows[r].min;
    port.initial = 100.0;
    port.max = 1000.0;
    ck_assert_uint_eq(plugin_of_port(port, &arena)->fx.params[0].taper, rows[r].taper);
  }
}

TEST(an_integer_has_whole_numbers_in_its_range)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  PluginPort port = control("n", "N", PORT_INTEGER);
  port.min = 0.5;
  port.initial = 2.6;
  port.max = 9.5;
  const FxParam* const param = plugin_sample_param(plugin_of_port(port, &arena), "n");
  ck_assert_uint_eq(param->kind, PARAM_INTEGER);
  ck_assert(param->min == 1.0 && param->initial == 3.0 && param->max == 9.0);
  port.initial = 9.5; // rounded, it would be above the range
  ck_assert(plugin_sample_param(plugin_of_port(port, &arena), "n")->initial == 9.0);
}

TEST(a_range_without_whole_numbers_is_one_of_numbers)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  PluginPort port = control("n", "N", PORT_INTEGER);
  port.min = 0.25;
  port.initial = 0.5;
  port.max = 0.75;
  const FxParam* const param = plugin_sample_param(plugin_of_port(port, &arena), "n");
  ck_assert_uint_eq(param->kind, PARAM_NUMBER);
  ck_assert(param->min == 0.25 && param->initial == 0.5 && param->max == 0.75);
}

static const struct {
  uint32_t flags;
  double min, initial, max, is_on;
} switches[] = {
  { PORT_TOGGLED, 0.0, 0.0, 1.0, 0.0 },
  { PORT_TOGGLED, 0.0, 1.0, 1.0, 1.0 },
  { PORT_TOGGLED | PORT_INTEGER, -10.0, 9.0, 10.0, 1.0 },
  { PORT_TOGGLED, 0.0, 0.5, 1.0, 0.0 },
  { PORT_TOGGLED, 3.0, 3.0, 3.0, 0.0 },
  { PORT_TRIGGER, 0.0, 0.0, 127.0, 0.0 },
};

TEST_ROWS(a_toggle_and_a_trigger_are_switches, switches)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  PluginPort port = control("on", "On", switches[row].flags);
  port.unit = UNIT_DB;
  port.min = switches[row].min;
  port.initial = switches[row].initial;
  port.max = switches[row].max;
  const FxParam* const param = plugin_sample_param(plugin_of_port(port, &arena), "on");
  ck_assert_uint_eq(param->kind, PARAM_SWITCH);
  ck_assert_uint_eq(param->unit, UNIT_NONE);
  ck_assert(param->min == 0.0 && param->max == 1.0 && param->initial == switches[row].is_on);
}

/// The parameter of a port with points from 0 to 10 that is at 2.4.
static const FxParam*
pointed(const uint32_t flags, const PluginPoint* const points, const uint32_t n, Arena* const arena)
{
  PluginPort port = control("p", "Points", flags);
  port.unit = UNIT_LINEAR;
  port.initial = 2.4;
  port.max = 10.0;
  port.n_points = n;
  port.points = points;
  return plugin_sample_param(plugin_of_port(port, arena), "p");
}

static const PluginPoint some_points[] = { { -1.0, "below" },         { 0.0, "Low pass (12 dB)" },
                                           { 2.0, "Low-pass-12-dB" }, { 2.5, "+" },
                                           { 10.0, "1/4" },           { 11.0, "above" } };

TEST(a_choice_has_the_points_in_its_range_as_words)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  const FxParam* const param =
      pointed(PORT_CHOICE | PORT_INTEGER, some_points, ARRAY_LEN(some_points), &arena);
  ck_assert_uint_eq(param->kind, PARAM_CHOICE);
  ck_assert_uint_eq(param->unit, UNIT_NONE);
  static const char* const words[] = { "Low-pass-12-dB", "Low-pass-12-dB-2", "2.5", "1/4" };
  static const double values[] = { 0.0, 2.0, 2.5, 10.0 };
  for (uint32_t c = 0; c < ARRAY_LEN(words); ++c) {
    ck_assert_str_eq(param->choices[c], words[c]);
    ck_assert(param->choice_values[c] == values[c]);
    ck_assert_uint_eq(rack_quote(param->choices[c], NULL), strlen(words[c]) + 1U); // bare
  }
  ck_assert_ptr_null(param->choices[ARRAY_LEN(words)]);
  ck_assert(param->initial == 2.5 && param->min == 0.0 && param->max == 10.0);
  ck_assert_str_eq(param->help, "Points; Low-pass-12-dB: Low pass (12 dB); "
                                "Low-pass-12-dB-2: Low-pass-12-dB; 2.5: +");
}

TEST(a_choice_without_points_in_its_range_is_a_number)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  static const PluginPoint points[] = { { -1.0, "below" }, { 11.0, "above" } };
  const FxParam* const param = pointed(PORT_CHOICE, points, ARRAY_LEN(points), &arena);
  ck_assert_uint_eq(param->kind, PARAM_NUMBER);
  ck_assert(!param->choices && param->initial == 2.4 && param->max == 10.0);
  ck_assert_uint_eq(pointed(PORT_CHOICE | PORT_INTEGER, NULL, 0, &arena)->kind, PARAM_INTEGER);
}

TEST(points_name_numbers_of_a_port_that_is_no_choice)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  static const PluginPoint points[] = { { 0.0, "Off" }, { 2.5, "Half way" }, { 4.0, "40" } };
  const FxParam* const number = pointed(PORT_NO_FLAGS, points, ARRAY_LEN(points), &arena);
  ck_assert_uint_eq(number->kind, PARAM_NUMBER);
  ck_assert(number->initial == 2.4 && number->unit == UNIT_LINEAR);
  ck_assert_str_eq(number->choices[0], "Off");
  ck_assert_str_eq(number->choices[1], "Half-way");
  ck_assert_ptr_null(number->choices[2]); // "40" is the number 40
  ck_assert(number->choice_values[1] == 2.5);
  const FxParam* const integer = pointed(PORT_INTEGER, points, ARRAY_LEN(points), &arena);
  ck_assert_uint_eq(integer->kind, PARAM_INTEGER);
  ck_assert_str_eq(integer->choices[0], "Off");
  ck_assert_ptr_null(integer->choices[1]); // 2.5 is no value of it
}

TEST(a_help_with_many_labels_ends)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  PluginPoint points[100];
  for (uint32_t i = 0; i < ARRAY_LEN(points); ++i) {
    points[i] = (PluginPoint){ i / 10.0, "the same label" };
  }
  const FxParam* const param = pointed(PORT_CHOICE, points, ARRAY_LEN(points), &arena);
  ck_assert_str_eq(param->choices[99], "the-same-label-100");
  ck_assert_uint_gt(strlen(param->help), 300);
  ck_assert_uint_lt(strlen(param->help), 410);
  ck_assert_str_eq(param->help + strlen(param->help) - 14U, "the same label");
}

static const struct {
  double min, initial, max;
  double min_hz, initial_hz, max_hz;
} rates[] = {
  { 0.0, 0.25, 0.5, 0.0, 12000.0, 96000.0 },
  { 0.001, 0.25, 0.5, 8.0, 12000.0, 96000.0 },
  { -0.5, 0.0, -0.0, -96000.0, 0.0, 0.0 },
  { -0.5, -0.25, -0.125, -96000.0, -12000.0, -1000.0 },
  { -DBL_MAX, 0.0, DBL_MAX, -DBL_MAX, 0.0, DBL_MAX },
};

TEST_ROWS(multiples_of_the_rate_become_hertz, rates)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  static const PluginPoint points[] = { { 0.25, "Half" } };
  PluginPort port = control("f", "F", PORT_RATE | PORT_CHOICE);
  port.min = rates[row].min;
  port.initial = rates[row].initial;
  port.max = rates[row].max;
  port.points = points;
  port.n_points = ARRAY_LEN(points);
  const FxParam* const param = plugin_sample_param(plugin_of_port(port, &arena), "f");
  ck_assert_uint_eq(param->kind, PARAM_NUMBER);
  ck_assert_uint_eq(param->unit, UNIT_HZ);
  ck_assert(fabs(param->min - rates[row].min_hz) <= 1e-9);
  ck_assert(param->initial == rates[row].initial_hz && param->max == rates[row].max_hz);
  ck_assert(!param->choices);
}

static const struct {
  PortType type;
  uint32_t flags;
} not_params[] = {
  { PORT_CONTROL, PORT_OUTPUT },  { PORT_CONTROL, PORT_OUTPUT | PORT_LATENCY },
  { PORT_CONTROL, PORT_LATENCY }, { PORT_CONTROL, PORT_OFFLINE },
  { PORT_CONTROL, PORT_ENABLED }, { PORT_CONTROL, PORT_BYPASS | PORT_TOGGLED },
  { PORT_PROPERTY, PORT_OUTPUT }, { PORT_AUDIO, PORT_NO_FLAGS },
  { PORT_CV, PORT_NO_FLAGS },     { PORT_ATOM, PORT_NO_FLAGS },
};

TEST_ROWS(ports_of_the_host_are_no_parameters, not_params)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  PluginPort port = control("x", "X", not_params[row].flags);
  port.type = not_params[row].type;
  const Plugin* const plugin = plugin_of_port(port, &arena);
  ck_assert_uint_eq(plugin->fx.n_params, 5);
  ck_assert_int_eq(plugin->param_ports[0], PLUGIN_BYPASS);
  ck_assert_int_eq(plugin->param_ports[1], PLUGIN_GROUP);
  ck_assert_int_eq(plugin->param_ports[2], PLUGIN_MUTE);
  ck_assert_int_eq(plugin->param_ports[3], PLUGIN_SOLO);
  ck_assert_int_eq(plugin->param_ports[4], PLUGIN_RAMP);
}

TEST(a_plugin_that_gets_the_time_has_a_tempo_that_follows)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  PluginPort port = control("x", "X", PORT_TIME);
  port.type = PORT_ATOM;
  const Plugin* plugin = plugin_of_port(port, &arena);
  ck_assert_uint_eq(plugin->fx.n_params, 6);
  ck_assert_int_eq(plugin->param_ports[2], PLUGIN_TEMPO);
  const FxParam* const param = &plugin->fx.params[2];
  ck_assert_str_eq(param->id, "host_bpm");
  ck_assert(param->follows_tempo && !param->structural && param->unit == UNIT_BPM);
  ck_assert_uint_eq(fx_own_params(&plugin->fx), 3U);
  port.flags |= PORT_OUTPUT;
  plugin = plugin_of_port(port, &arena);
  ck_assert_uint_eq(plugin->fx.n_params, 5);
}

TEST(bypass_preset_state_group_and_switches_come_after_the_ports)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  SCOPED_MEMORY char* const text = plugin_sample_text(&plugin_sample);
  Plugin* plugin = NULL;
  OK(plugin_sample_read(text, &arena, &plugin, &error));
  static const struct {
    const char* id;
    int32_t port;
    FxParamKind kind;
  } rows[] = { { "gain", 2, PARAM_NUMBER },
               { "type", 3, PARAM_CHOICE },
               { "ir", 6, PARAM_PATH },
               { "bypass", PLUGIN_BYPASS, PARAM_SWITCH },
               { "preset", PLUGIN_PRESET, PARAM_TEXT },
               { "state", PLUGIN_STATE, PARAM_PATH },
               { "group", PLUGIN_GROUP, PARAM_TEXT },
               { "host_bpm", PLUGIN_TEMPO, PARAM_NUMBER },
               { "mute", PLUGIN_MUTE, PARAM_SWITCH },
               { "solo", PLUGIN_SOLO, PARAM_SWITCH },
               { "ramp", PLUGIN_RAMP, PARAM_NUMBER } };
  ck_assert_uint_eq(plugin->fx.n_params, ARRAY_LEN(rows));
  ck_assert_uint_eq(fx_own_params(&plugin->fx), ARRAY_LEN(rows) - 3U);
  for (uint32_t p = 0; p < ARRAY_LEN(rows); ++p) {
    const FxParam* const param = &plugin->fx.params[p];
    ck_assert_str_eq(param->id, rows[p].id);
    ck_assert_int_eq(plugin->param_ports[p], rows[p].port);
    ck_assert_uint_eq(param->kind, rows[p].kind);
    const bool is_solo = rows[p].port == PLUGIN_SOLO;
    ck_assert(param->structural == (fx_param_is_text(param) || is_solo));
    ck_assert(*param->help);
  }
  ck_assert(plugin->fx.params[3].initial == 0.0);
  ck_assert_uint_eq(plugin->fx.state_param, 5);
}

TEST(a_plugin_without_ports_has_bypass_group_and_switches)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  const Plugin* const plugin = plugin_sample_of(NULL, 0, &arena);
  ck_assert_uint_eq(plugin->fx.n_params, 5);
  ck_assert_str_eq(plugin->fx.params[0].id, "bypass");
  ck_assert_str_eq(plugin->fx.params[1].id, "group");
  ck_assert_str_eq(plugin->fx.params[2].id, "mute");
  ck_assert_str_eq(plugin->fx.params[3].id, "solo");
  ck_assert_str_eq(plugin->fx.params[4].id, "ramp");
}

static const char* const reserved[] = { "backend", "bypass", "group", "mute", "preset",
                                        "presets", "ramp",   "solo",  "state" };

TEST_ROWS(a_reserved_word_gets_an_underscore, reserved)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  char expected[16];
  char number[16];
  snprintf(expected, sizeof(expected), "%s_", reserved[row]);
  snprintf(number, sizeof(number), "%s__2", reserved[row]);
  PluginPort ports[] = { control(reserved[row], "By symbol", PORT_NO_FLAGS),
                         control("", reserved[row], PORT_NO_FLAGS) };
  ports[1].index = 1;
  const Plugin* const plugin = plugin_sample_of(ports, ARRAY_LEN(ports), &arena);
  ck_assert_str_eq(plugin->fx.params[0].id, expected);
  ck_assert_str_eq(plugin->fx.params[1].id, number);
}

static const struct {
  const char *symbol, *name, *id;
} ids[] = {
  { "HPfreq", "High pass", "HPfreq" },
  { "_x1", "X", "_x1" },
  { "", "Input gain (dB)", "input_gain" },
  { "Input gain (dB)", "", "input_gain" },
  { "1st", "", "_1st" },
  { "a=b", "Gain", "a_b" },
  { "a_symbol_that_is_much_longer_than_a_name_of_a_parameter_may_be_x", "",
    "a_symbol_that_is_much_longer_than_a_name_of_a_pa" },
  { "", "", "param" },
};

TEST_ROWS(a_symbol_stays_and_a_name_becomes_an_id, ids)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  const PluginPort port = control(ids[row].symbol, ids[row].name, PORT_NO_FLAGS);
  const FxParam* const param = &plugin_of_port(port, &arena)->fx.params[0];
  ck_assert_str_eq(param->id, ids[row].id);
  ck_assert_str_eq(param->help, *ids[row].name ? ids[row].name : ids[row].id);
}

TEST(ids_that_clash_are_numbered)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  static const char* const names[] = { "Gain 2", "Gain", "Gain (dB)", "gain", "Gain 2" };
  static const char* const expected[] = { "gain_2", "gain", "gain_3", "gain_4", "gain_2_2" };
  PluginPort ports[ARRAY_LEN(names)];
  for (uint32_t p = 0; p < ARRAY_LEN(names); ++p) {
    ports[p] = control("", names[p], PORT_NO_FLAGS);
    ports[p].index = p;
  }
  const Plugin* const plugin = plugin_sample_of(ports, ARRAY_LEN(names), &arena);
  for (uint32_t p = 0; p < ARRAY_LEN(names); ++p) {
    ck_assert_str_eq(plugin->fx.params[p].id, expected[p]);
  }
}

TEST(a_plugin_may_have_as_many_ports_as_there_are_all_of_one_name)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  static PluginPort ports[PLUGIN_MAX_PORTS];
  for (uint32_t p = 0; p < PLUGIN_MAX_PORTS; ++p) {
    ports[p] = control("", "Gain", PORT_NO_FLAGS);
    ports[p].index = p;
  }
  const Plugin* const plugin = plugin_sample_of(ports, PLUGIN_MAX_PORTS, &arena);
  ck_assert_uint_eq(plugin->fx.n_params, PLUGIN_MAX_PORTS + 5U);
  ck_assert_str_eq(plugin->fx.params[PLUGIN_MAX_PORTS - 1U].id, "gain_8192");
}

TEST(a_plugin_of_300_ports_has_them_in_their_order)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  static PluginPort ports[N_PORTS];
  static char symbols[N_PORTS][16];
  for (uint32_t p = 0; p < 300U; ++p) {
    snprintf(symbols[p], sizeof(symbols[p]), "p%u", p);
    ports[p] = control(symbols[p], symbols[p], p % 3U ? PORT_NO_FLAGS : PORT_OUTPUT);
    ports[p].index = p;
  }
  const Plugin* const plugin = plugin_sample_of(ports, 300, &arena);
  ck_assert_uint_eq(plugin->fx.n_params, 205);
  for (uint32_t n = 0; n < 200U; ++n) {
    const int32_t port = (int32_t)(n / 2U * 3U + 1U + n % 2U);
    ck_assert_int_eq(plugin->param_ports[n], port);
    ck_assert_str_eq(plugin->fx.params[n].id, symbols[port]);
  }
}

SUITE_MAIN("plugin_params")
