// SPDX-License-Identifier: GPL-3.0-or-later
// Descriptions of LV2 plugins: what their Turtle files say, in the words of plugin.h.

#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static Scratch scratch;

static void
start(void)
{
  scratch = scratch_new();
}

static void
stop(void)
{
  scratch_remove(&scratch);
}

static const Plugin*
fixture(const char* const id)
{
  lv2_rig_begin();
  const Plugin* const plugin = lv2_rig_find(id);
  ck_assert_msg(plugin != NULL, "no %s", id);
  return plugin;
}

TEST(a_plugin_has_its_texts)
{
  const Plugin* const plugin = fixture("urn:warprack:gain");
  ck_assert_str_eq(plugin->origin.format, "lv2");
  ck_assert_str_eq(plugin->name, "Gain"); // not the German name
  ck_assert_str_eq(plugin->maker, "warprack");
  ck_assert_str_eq(plugin->licence, "http://opensource.org/licenses/isc");
  ck_assert_str_eq(plugin->bundle, lv2_rig_fixtures());
  assert_says(plugin->binary, "/fixtures.lv2/fixtures.so");
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_str_eq(plugin->notes, "");
  ck_assert_uint_ne(plugin->binary_key.inode, 0);
}

TEST(all_plugins_are_described_except_bridges)
{
  fixture("urn:warprack:gain");
  ck_assert_uint_eq(lv2_rig_count(), 17);
  ck_assert_ptr_null(lv2_rig_find("urn:ladspa:1"));
}

TEST(ports_are_in_the_order_of_their_indices)
{
  const Plugin* const plugin = fixture("urn:warprack:gain");
  static const char* const symbols[] = { "in", "out", "gain", "bypass", "mode" };
  ck_assert_uint_eq(plugin->n_ports, ARRAY_LEN(symbols));
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    ck_assert_str_eq(plugin->ports[p].symbol, symbols[p]);
    ck_assert_uint_eq(plugin->ports[p].index, p);
  }
}

TEST(a_control_port_has_range_unit_and_points)
{
  const PluginPort* const gain = lv2_rig_port(fixture("urn:warprack:gain"), "gain");
  ck_assert_int_eq(gain->type, PORT_CONTROL);
  ck_assert_uint_eq(gain->flags, PORT_NO_FLAGS);
  ck_assert_str_eq(gain->name, "Gain");
  ck_assert_int_eq(gain->unit, UNIT_DB);
  ck_assert_double_eq(gain->min, -60.0);
  ck_assert_double_eq(gain->max, 24.0);
  ck_assert_double_eq(gain->initial, 0.0);
  ck_assert_uint_eq(gain->n_points, 1);
  ck_assert_str_eq(gain->points[0].label, "unity");
}

static const struct {
  const char* plugin;
  const char* symbol;
  PortType type;
  uint32_t flags;
} flag_rows[] = {
  { "gain", "in", PORT_AUDIO, PORT_NO_FLAGS },
  { "gain", "out", PORT_AUDIO, PORT_OUTPUT },
  { "gain", "bypass", PORT_CONTROL, PORT_TOGGLED | PORT_BYPASS },
  { "gain", "mode", PORT_CONTROL, PORT_INTEGER | PORT_STEPPED | PORT_HIDDEN },
  { "ducker", "in_l", PORT_AUDIO, PORT_NO_FLAGS },
  { "ducker", "key", PORT_AUDIO, PORT_SIDECHAIN },
  { "ducker", "key2", PORT_AUDIO, PORT_SIDECHAIN },
  { "ducker", "on", PORT_CONTROL, PORT_TOGGLED | PORT_ENABLED },
  { "latent", "latency", PORT_CONTROL, PORT_OUTPUT | PORT_LATENCY | PORT_INTEGER },
  { "properties", "events", PORT_ATOM, PORT_EVENTS | PORT_TIME },
  { "properties", "control", PORT_ATOM, PORT_PATCH },
  { "properties", "notify", PORT_ATOM, PORT_PATCH | PORT_OUTPUT },
  { "properties", "float", PORT_PROPERTY, PORT_STEPPED },
  { "properties", "int", PORT_PROPERTY, PORT_STEPPED | PORT_INTEGER },
  { "properties", "bool", PORT_PROPERTY, PORT_STEPPED | PORT_TOGGLED },
  { "properties", "path", PORT_PROPERTY, PORT_FILE },
  { "properties", "string", PORT_PROPERTY, PORT_TEXT },
  { "clock", "control", PORT_ATOM, PORT_TIME },
  { "optional", "cv_in", PORT_CV, PORT_NO_FLAGS },
  { "optional", "cv_out", PORT_CV, PORT_OUTPUT },
  { "optional", "cv_free", PORT_CV, PORT_OPTIONAL },
  { "optional", "odd", PORT_ATOM, PORT_OPTIONAL },
  { "choices", "wave", PORT_CONTROL, PORT_CHOICE | PORT_INTEGER },
  { "choices", "freq", PORT_CONTROL, PORT_RATE | PORT_LOGARITHMIC },
  { "choices", "go", PORT_CONTROL, PORT_TRIGGER },
  { "choices", "free", PORT_CONTROL, PORT_OFFLINE | PORT_TOGGLED },
};

TEST_ROWS(a_port_has_its_type_and_flags, flag_rows)
{
  char id[64];
  snprintf(id, sizeof(id), "urn:warprack:%s", flag_rows[row].plugin);
  const PluginPort* const port = lv2_rig_port(fixture(id), flag_rows[row].symbol);
  ck_assert_int_eq(port->type, flag_rows[row].type);
  ck_assert_uint_eq(port->flags, flag_rows[row].flags);
}

TEST(audio_ports_have_the_names_of_their_groups)
{
  const Plugin* const plugin = fixture("urn:warprack:ducker");
  ck_assert_str_eq(lv2_rig_port(plugin, "in_r")->group, "Main");
  ck_assert_str_eq(lv2_rig_port(plugin, "key")->group, "Key");
  ck_assert_str_eq(lv2_rig_port(plugin, "key2")->group, "");
}

TEST(scale_points_are_sorted_and_differ)
{
  const PluginPort* const wave = lv2_rig_port(fixture("urn:warprack:choices"), "wave");
  ck_assert_uint_eq(wave->n_points, 3);
  ck_assert_double_eq(wave->points[0].value, 1.0);
  ck_assert_str_eq(wave->points[1].label, "square");
  ck_assert_double_eq(wave->points[2].value, 5.0);
}

static const struct {
  const char* symbol;
  double min, max, initial;
  FxMeasure unit;
  const char* note; ///< NULL: none
} mended_rows[] = {
  { "wave", 1.0, 5.0, 3.0, UNIT_NONE, "default is no scale point: \"wave\"" },
  { "freq", 0.001, 0.5, 0.25, UNIT_HZ, NULL },
  { "free", 0.0, 1.0, 0.0, UNIT_NONE, NULL },
  { "high", 0.0, 1.0, 1.0, UNIT_LINEAR, "default out of range: \"high\"" },
  { "open", 0.0, 7.0, 7.0, UNIT_S, "no minimum: \"open\" and 1 more; no maximum: \"open\"" },
  { "wrong", 0.0, 4.0, 1.0, UNIT_PERCENT, "no minimum: \"open\" and 1 more" },
  { "swapped", 2.0, 4.0, 3.0, UNIT_MS, "minimum above maximum: \"swapped\"" },
  { "whole", 0.0, 4.0, 3.0, UNIT_DEG,
    "default is no whole number: \"whole\"; scale points out of range: \"whole\"" },
  { "none", 2.0, 4.0, 2.0, UNIT_NONE, "no default: \"none\"" },
};

TEST_ROWS(wrong_numbers_are_mended_and_noted, mended_rows)
{
  const Plugin* const plugin = fixture("urn:warprack:choices");
  const PluginPort* const port = lv2_rig_port(plugin, mended_rows[row].symbol);
  ck_assert_double_eq(port->min, mended_rows[row].min);
  ck_assert_double_eq(port->max, mended_rows[row].max);
  ck_assert_double_eq(port->initial, mended_rows[row].initial);
  ck_assert_int_eq(port->unit, mended_rows[row].unit);
  if (mended_rows[row].note) {
    assert_says(plugin->notes, mended_rows[row].note);
  } else {
    char quoted[32];
    snprintf(quoted, sizeof(quoted), "\"%s\"", mended_rows[row].symbol);
    ck_assert_ptr_null(strstr(plugin->notes, quoted));
  }
  ck_assert_str_eq(plugin->fault, "");
}

TEST(a_float_with_all_its_digits_is_the_number_that_was_meant)
{
  // 0.0010000000475 in the file
  const PluginPort* const freq = lv2_rig_port(fixture("urn:warprack:choices"), "freq");
  ck_assert_double_eq(freq->min, 0.001);
}

TEST(properties_are_ports_after_the_others)
{
  const Plugin* const plugin = fixture("urn:warprack:properties");
  ck_assert_uint_eq(plugin->n_ports, 8U + 7U); // without the vector
  const PluginPort* const port = lv2_rig_port(plugin, "float");
  ck_assert_str_eq(port->uri, "urn:warprack:fixtures#float");
  ck_assert_str_eq(port->name, "A float");
  ck_assert_double_eq(port->min, -1.0);
  ck_assert_double_eq(port->initial, 0.5);
  ck_assert_int_eq(port->unit, UNIT_HZ);
  ck_assert_uint_eq(port->n_bytes, 4);
  ck_assert_uint_eq(lv2_rig_port(plugin, "long")->n_bytes, 8);
  ck_assert_double_eq(lv2_rig_port(plugin, "bool")->initial, 1.0);
  assert_says(plugin->notes, "property whose type cannot be set: \"urn:warprack:fixtures#vector\"");
}

TEST(event_ports_have_the_size_of_their_buffers)
{
  const Plugin* const plugin = fixture("urn:warprack:properties");
  ck_assert_uint_eq(lv2_rig_port(plugin, "notify")->n_bytes, 100000);
  ck_assert_uint_eq(lv2_rig_port(plugin, "control")->n_bytes, 0);
}

TEST(a_required_feature_that_the_host_has_not_is_named)
{
  ck_assert_str_eq(fixture("urn:warprack:needy")->fault, "needs the feature urn:warprack:unknown");
  ck_assert_str_eq(fixture("urn:warprack:options")->fault, "");
  ck_assert_str_eq(fixture("urn:warprack:optional")->fault, "");
}

/// Write a bundle with one file, and return its path.
static const char*
write_bundle(const char* const name, const char* const manifest)
{
  const char* const path = scratch_path(&scratch, name);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  char file[64];
  snprintf(file, sizeof(file), "%s/manifest.ttl", name);
  scratch_write(&scratch, file, manifest, strlen(manifest));
  return path;
}

TEST(presets_come_from_any_bundle)
{
  const char* const presets = write_bundle(
      "presets.lv2",
      "@prefix lv2: <http://lv2plug.in/ns/lv2core#> ."
      "@prefix pset: <http://lv2plug.in/ns/ext/presets#> ."
      "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
      "@prefix state: <http://lv2plug.in/ns/ext/state#> ."
      "<urn:warprack:loud> a pset:Preset ; lv2:appliesTo <urn:warprack:gain> ; rdfs:label \"Loud\" "
      ";"
      "  lv2:port [ lv2:symbol \"gain\" ; pset:value 100.0 ] , [ lv2:symbol \"mode\" ; pset:value "
      "2 ] ,"
      "    [ lv2:symbol \"old\" ; pset:value 2 ] , [ lv2:symbol \"in\" ; pset:value 2 ] ."
      "<urn:warprack:more> a pset:Preset ; lv2:appliesTo <urn:warprack:gain> ; rdfs:label \"More\" "
      ";"
      "  state:state [ <urn:warprack:key> 1 ] ."
      "<urn:warprack:else> a pset:Preset ; lv2:appliesTo <urn:warprack:memory> .");
  const char* const bundles[] = { lv2_rig_fixtures(), presets };
  OK(lv2_rig_describe(bundles, 2U, &error));
  const Plugin* const gain = lv2_rig_find("urn:warprack:gain");
  ck_assert_uint_eq(gain->n_presets, 2);
  const PluginPreset* const loud = &gain->presets[0];
  ck_assert_str_eq(loud->name, "Loud");
  ck_assert_str_eq(loud->uri, "urn:warprack:loud");
  ck_assert_str_eq(loud->state, "");
  ck_assert_uint_eq(loud->n_values, 2); // without ports that the plugin has not
  for (uint32_t v = 0; v < 2U; ++v) {
    const bool is_gain = loud->ports[v] == lv2_rig_place(gain, "gain");
    ck_assert_double_eq(loud->values[v], is_gain ? 24.0 : 2.0); // in range
  }
  ck_assert_str_eq(gain->presets[1].state, "");
  assert_says(gain->notes, "a state for a plugin that takes none: \"urn:warprack:more\"");
  ck_assert_str_eq(lv2_rig_find("urn:warprack:memory")->presets[0].name, "urn:warprack:else");
}

TEST(values_of_a_preset_are_in_the_order_of_the_ports_and_each_once)
{
  const char* const presets = write_bundle(
      "presets.lv2", "@prefix lv2: <http://lv2plug.in/ns/lv2core#> ."
                     "@prefix pset: <http://lv2plug.in/ns/ext/presets#> ."
                     "<urn:warprack:twice> a pset:Preset ; lv2:appliesTo <urn:warprack:gain> ;"
                     "  lv2:port [ lv2:symbol \"mode\" ; pset:value 2 ] ,"
                     "    [ lv2:symbol \"gain\" ; pset:value 3.0 ] ,"
                     "    [ lv2:symbol \"mode\" ; pset:value 2 ] ,"
                     "    [ lv2:symbol \"gain\" ; pset:value -3.0 ] ,"
                     "    [ lv2:symbol \"bypass\" ; pset:value 1 ] .");
  const char* const bundles[] = { lv2_rig_fixtures(), presets };
  OK(lv2_rig_describe(bundles, 2U, &error));
  const PluginPreset* const twice = &lv2_rig_find("urn:warprack:gain")->presets[0];
  static const double values[] = { -3.0, 1.0, 2.0 };
  ck_assert_uint_eq(twice->n_values, ARRAY_LEN(values));
  for (uint32_t v = 0; v < ARRAY_LEN(values); ++v) {
    ck_assert_uint_eq(twice->ports[v], 2U + v); // gain, bypass, mode
    ck_assert_double_eq(twice->values[v], values[v]);
  }
}

TEST(states_are_files_that_name_their_subject)
{
  lv2_rig_begin();
  const Plugin* const keeper = lv2_rig_find("urn:warprack:keeper");
  ck_assert_str_eq(keeper->fault, "");
  ck_assert(keeper->takes_state);
  assert_says(keeper->state, "fixtures.lv2/keeper.ttl");
  ck_assert_uint_eq(keeper->n_presets, 3);
  ck_assert_str_eq(keeper->presets[2].name, "Quarter");
  ck_assert_uint_eq(keeper->presets[2].n_values, 1);
  ck_assert_str_eq(keeper->presets[2].state, keeper->state);
  ck_assert(!lv2_rig_find("urn:warprack:gain")->takes_state);
}

TEST(presets_have_frequencies_in_hertz)
{
  const char* const presets = write_bundle(
      "presets.lv2", "@prefix lv2: <http://lv2plug.in/ns/lv2core#> ."
                     "@prefix pset: <http://lv2plug.in/ns/ext/presets#> ."
                     "<urn:warprack:high> a pset:Preset ; lv2:appliesTo <urn:warprack:choices> ;"
                     "  lv2:port [ lv2:symbol \"freq\" ; pset:value 440.0 ] .");
  const char* const bundles[] = { lv2_rig_fixtures(), presets };
  OK(lv2_rig_describe(bundles, 2U, &error));
  const Plugin* const choices = lv2_rig_find("urn:warprack:choices");
  ck_assert_double_eq(choices->presets[0].values[0], 440.0);
}

TEST(dynamic_manifests_do_not_run)
{
  const char* const bundle = write_bundle(
      "dynamic.lv2", "@prefix lv2: <http://lv2plug.in/ns/lv2core#> ."
                     "<urn:warprack:dynamic> a <http://lv2plug.in/ns/ext/dynmanifest#DynManifest> ;"
                     "  lv2:binary <missing.so> .");
  // lilv would print that it cannot open the binary.
  const char* const log = scratch_path(&scratch, "log");
  ck_assert_ptr_nonnull(freopen(log, "w", stderr));
  OK(lv2_rig_describe(&bundle, 1U, &error));
  fflush(stderr);
  struct stat facts;
  ck_assert_int_eq(stat(log, &facts), 0);
  ck_assert_int_eq(facts.st_size, 0);
  ck_assert_uint_eq(lv2_rig_count(), 0);
}

SUITE_MAIN_WITH("lv2_describe", start, stop)
