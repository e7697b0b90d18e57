// SPDX-License-Identifier: GPL-3.0-or-later
// A LADSPA library is described as it is; what is wrong in it is mended or refused, and the
// description says so.

#include "engine/base/percentiles.h"
#include "tests/support/plugin_rig.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t
count(void)
{
  uint32_t n_plugins = 0;
  (void)plugin_rig_plugins(&n_plugins);
  return n_plugins;
}

static void
assert_range(const Plugin* const plugin, const char* const name, const double min, const double max,
             const double initial)
{
  const PluginPort* const port = &plugin->ports[plugin_rig_port(plugin, name)];
  ck_assert_msg(port->min == min && port->max == max &&
                    fabs(port->initial - initial) <= fabs(initial) * 1e-6,
                "%s: %.17g..%.17g, %.17g", name, port->min, port->max, port->initial);
}

TEST(a_plugin_is_described_with_its_texts_and_ports)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/ducker");
  ck_assert_str_eq(plugin->origin.format, "ladspa");
  ck_assert_str_eq(plugin->name, "ducker");
  ck_assert_str_eq(plugin->maker, "warprack");
  ck_assert_str_eq(plugin->licence, "GPL-3.0-or-later");
  ck_assert_str_eq(plugin->binary, plugin_rig_ladspa_path("effects"));
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_str_eq(plugin->notes, "");
  ck_assert_uint_ne(plugin->binary_key.inode, 0);
  ck_assert_uint_eq(plugin->n_ports, 5);
  static const struct {
    PortType type;
    uint32_t flags;
    FxMeasure unit;
    const char* symbol;
  } rows[] = {
    { PORT_AUDIO, PORT_NO_FLAGS, UNIT_NONE, "input" },
    { PORT_AUDIO, PORT_SIDECHAIN, UNIT_NONE, "sidechain" },
    { PORT_AUDIO, PORT_OUTPUT, UNIT_NONE, "output" },
    { PORT_CONTROL, PORT_NO_FLAGS, UNIT_PERCENT, "depth" },
    { PORT_CONTROL, PORT_OUTPUT, UNIT_PERCENT, "reduction" },
  };
  for (uint32_t p = 0; p < ARRAY_LEN(rows); ++p) {
    ck_assert_uint_eq(plugin->ports[p].index, p);
    ck_assert_int_eq(plugin->ports[p].type, rows[p].type);
    ck_assert_uint_eq(plugin->ports[p].flags, rows[p].flags);
    ck_assert_int_eq(plugin->ports[p].unit, rows[p].unit);
    ck_assert_str_eq(plugin->ports[p].symbol, rows[p].symbol);
  }
}

TEST(hints_become_flags_ranges_and_units)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/lowpass");
  ck_assert_uint_eq(plugin->ports[2].flags, PORT_RATE | PORT_LOGARITHMIC);
  ck_assert_int_eq(plugin->ports[2].unit, UNIT_HZ);
  ck_assert_uint_eq(plugin->ports[3].flags, PORT_TOGGLED);
  ck_assert_uint_eq(plugin->ports[4].flags, PORT_INTEGER);
  assert_range(plugin, "Cutoff [Hz]", 0.0001, 0.45, 440.0 / PLUGIN_RATE_HZ);
  assert_range(plugin, "Invert", 0.0, 1.0, 0.0);
  assert_range(plugin, "Poles", 1.0, 4.0, 4.0);
  ck_assert_str_eq(plugin->notes, "");
}

TEST(the_unit_is_in_brackets_at_the_end_of_a_name)
{
  static const FxMeasure units[] = { UNIT_NONE, UNIT_DB,      UNIT_HZ,   UNIT_MS,   UNIT_S,
                                     UNIT_S,    UNIT_PERCENT, UNIT_DEG,  UNIT_BPM,  UNIT_NONE,
                                     UNIT_NONE, UNIT_NONE,    UNIT_NONE, UNIT_NONE, UNIT_NONE };
  plugin_rig_describe("ladspa", plugin_rig_ladspa_path("broken"));
  const Plugin* const plugin = plugin_rig_find("broken/units");
  ck_assert_uint_eq(plugin->n_ports, ARRAY_LEN(units));
  for (uint32_t p = 0; p < ARRAY_LEN(units); ++p) {
    ck_assert_msg(plugin->ports[p].unit == units[p], "%s: %u", plugin->ports[p].name,
                  plugin->ports[p].unit);
  }
  assert_range(plugin, "C (ms)", 0.0, 10000.0, 0.0); // none is stated
}

TEST(the_latency_is_an_output_of_that_name)
{
  ck_assert_uint_eq(plugin_rig_ladspa("effects/delay")->ports[2].flags, PORT_OUTPUT | PORT_LATENCY);
}

TEST(every_kind_of_default_is_known)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/defaults");
  assert_range(plugin, "Linear minimum", 10.0, 1000.0, 10.0);
  assert_range(plugin, "Linear low", 10.0, 1000.0, 257.5);
  assert_range(plugin, "Linear middle", 10.0, 1000.0, 505.0);
  assert_range(plugin, "Linear high", 10.0, 1000.0, 752.5);
  assert_range(plugin, "Linear maximum", 10.0, 1000.0, 1000.0);
  assert_range(plugin, "Logarithmic minimum", 10.0, 1000.0, 10.0);
  assert_range(plugin, "Logarithmic low", 10.0, 1000.0, pow(10.0, 1.5));
  assert_range(plugin, "Logarithmic middle", 10.0, 1000.0, 100.0);
  assert_range(plugin, "Logarithmic high", 10.0, 1000.0, pow(10.0, 2.5));
  assert_range(plugin, "Logarithmic maximum", 10.0, 1000.0, 1000.0);
  assert_range(plugin, "Integer minimum", 1.0, 8.0, 1.0);
  assert_range(plugin, "Integer low", 1.0, 8.0, 3.0);
  assert_range(plugin, "Integer maximum", 1.0, 8.0, 8.0);
  assert_range(plugin, "Rate middle", 0.001, 0.1, 0.0505);
  assert_range(plugin, "Small middle", 0.1, 0.7, 0.4);
  assert_range(plugin, "Zero", -1.0, 1000.0, 0.0);
  assert_range(plugin, "One", -1.0, 1000.0, 1.0);
  assert_range(plugin, "Hundred", -1.0, 1000.0, 100.0);
  assert_range(plugin, "Concert pitch", -1.0, 1000.0, 440.0);
  assert_range(plugin, "On", 0.0, 1.0, 1.0);
  ck_assert_str_eq(plugin->notes, "");
}

TEST(a_plugin_with_300_controls_is_described)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/controls");
  ck_assert_uint_eq(plugin->n_ports, 301);
  ck_assert_str_eq(plugin->ports[300].symbol, "value_399");
}

// ---- broken descriptions ----

TEST(missing_and_invalid_names_are_mended)
{
  plugin_rig_describe("ladspa", plugin_rig_ladspa_path("broken"));
  const Plugin* const plugin = plugin_rig_find("broken/names");
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_str_eq(plugin->name, "broken/names");
  ck_assert_str_eq(plugin->maker, "");
  ck_assert_str_eq(plugin->licence, "");
  ck_assert_str_eq(plugin->ports[0].name, "Port 1");
  ck_assert_str_eq(plugin->ports[1].name, "Port 2");
  ck_assert_str_eq(plugin->ports[2].name, "Gain? (dB)");
  ck_assert_str_eq(plugin->ports[3].symbol, "gain_2");
  ck_assert_str_eq(plugin->ports[4].symbol, "gain_3");
  assert_says(plugin->notes,
              "no name: \"Port 1\" and 1 more; name that is not UTF-8: \"Gain? (dB)\"");
  ck_assert_str_eq(plugin_rig_find("broken/bounds")->name, "Bounds?");
  ck_assert_uint_lt(strlen(plugin_rig_find("broken/bounds")->maker), 300);
  ck_assert_str_eq(plugin_rig_find("broken/bare")->fault, "");
  ck_assert_str_eq(plugin_rig_find("broken/bare")->ports[1].name, "Port 2");
}

TEST(missing_and_invalid_bounds_are_mended)
{
  plugin_rig_describe("ladspa", plugin_rig_ladspa_path("broken"));
  const Plugin* const plugin = plugin_rig_find("broken/bounds");
  assert_range(plugin, "NaN", -1000.0, 1000.0, 0.0);
  assert_range(plugin, "Infinite", -1000.0, 1000.0, 0.0);
  assert_range(plugin, "Inverted", 4.0, 8.0, 7.0);
  assert_range(plugin, "Outside", 0.0, 10.0, 10.0);
  assert_range(plugin, "Neither", -1000.0, 1000.0, 0.0);
  assert_range(plugin, "No upper", 0.0, 1000.0, 5.0); // some plugins give a bound without its hint
  assert_range(plugin, "Part", 0.0, 1.0, 0.0);
  assert_range(plugin, "Negative", -10.0, 20.0, 5.0);
  assert_range(plugin, "Ninth (Hz)", 30000.0, 30000.0, 30000.0);
  assert_range(plugin, "Unknown", 2.0, 3.0, 2.0);
  ck_assert_uint_eq(plugin->ports[plugin_rig_port(plugin, "Negative")].flags, PORT_NO_FLAGS);
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_str_eq(
      plugin->notes,
      "bound that is not finite: \"NaN\" and 1 more; "
      "no lower bound: \"NaN\" and 2 more; no upper bound: \"NaN\" and 4 more; "
      "no default: \"NaN\" and 4 more; lower bound above the upper bound: \"Inverted\"; "
      "default outside the bounds: \"Outside\"");
}

TEST(a_plugin_that_cannot_be_used_has_a_fault)
{
  static const struct {
    const char* id;
    const char* fault;
  } rows[] = {
    { "broken/#4", "another plugin of this library has its label" },
    { "broken/no_ports", "it has no audio ports" },
    { "broken/many_ports", "it has 1000000 ports, more than 8192" },
    { "broken/no_descriptors", "its ports are not described" },
    { "broken/both_ways", "its port 1 is both or neither of input and output" },
    { "broken/no_kind", "its port 1 is both or neither of audio and control" },
    { "broken/no_run", "it has no function run()" },
    { "broken/#11", "its label cannot be used in racks" },
    { "broken/#12", "its label cannot be used in racks" },
  };
  plugin_rig_describe("ladspa", plugin_rig_ladspa_path("broken"));
  ck_assert_uint_eq(count(), 14);
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    ck_assert_str_eq(plugin_rig_find(rows[r].id)->fault, rows[r].fault);
  }
}

TEST(a_list_of_plugins_that_does_not_end_is_cut)
{
  Error error = { STATUS_OK, "" };
  setenv("WARPRACK_FIXTURE", "again", true);
  plugin_rig_describe("ladspa", plugin_rig_ladspa_path("broken"));
  ck_assert_uint_eq(count(), 1);
  setenv("WARPRACK_FIXTURE", "endless", true);
  ck_assert_int_eq(plugin_rig_try_describe("ladspa", plugin_rig_ladspa_path("broken"), &error),
                   STATUS_LIMIT);
  assert_says(error.text, "more than 1024 plugins");
}

TEST(a_file_that_is_no_plugin_is_refused)
{
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(plugin_rig_try_describe("ladspa", "/nowhere/none.so", &error), STATUS_FILE);
  assert_says(error.text, "/nowhere/none.so");
  ck_assert_int_eq(plugin_rig_try_describe("ladspa", "/proc/self/exe", &error), STATUS_FILE);
  assert_says(error.text, "/proc/self/exe");
}

// ---- installed plugins ----

#define FOLDER    "/usr/lib/ladspa"
#define MAX_FILES 1024U
#define LIMIT_S   60U

/// What the children have found.
typedef struct Sweep {
  uint32_t n_libraries, n_failed, n_refused, n_plugins, n_faults, n_noted, n_latent, n_controls;
  double ms[MAX_FILES]; ///< [n_libraries] how long a description took
} Sweep;

static void
check_port(const Plugin* const plugin, const PluginPort* const port)
{
  ck_assert_msg(port->symbol[0] && port->name[0], "%s: port without name", plugin->origin.id);
  ck_assert_msg(isfinite(port->min) && isfinite(port->max) && port->min <= port->initial &&
                    port->initial <= port->max,
                "%s: %s: %g..%g, %g", plugin->origin.id, port->name, port->min, port->max,
                port->initial);
}

static void
check_plugin(Sweep* const sweep, const Plugin* const plugin)
{
  const char* const label = strchr(plugin->origin.id, '/');
  ck_assert_msg(label && label[1], "%s: no label", plugin->origin.id);
  ++sweep->n_plugins;
  sweep->n_faults += plugin->fault[0] != '\0';
  sweep->n_noted += plugin->notes[0] != '\0';
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    check_port(plugin, &plugin->ports[p]);
    sweep->n_controls += plugin_rig_is_input(&plugin->ports[p], PORT_CONTROL);
    sweep->n_latent += (plugin->ports[p].flags & PORT_LATENCY) != 0U;
  }
}

/// The work of a child.  Debian has libraries that the system's linker does not load any more:
/// these are refused with its reason.
static void
check_library(Sweep* const sweep, const char* const path)
{
  uint32_t n_plugins = 0;
  const uint64_t began_ns = time_now_ns();
  Error error;
  const Status status = plugin_rig_try_describe("ladspa", path, &error);
  sweep->ms[sweep->n_libraries] = (double)(time_now_ns() - began_ns) / (double)NS_PER_MS;
  if (status) {
    assert_says(error.text, "cannot be loaded: ");
    ++sweep->n_refused;
  }
  const Plugin* const* const plugins = plugin_rig_plugins(&n_plugins);
  for (uint32_t i = 0; i < n_plugins; ++i) {
    check_plugin(sweep, plugins[i]);
  }
}

static void
check_in_child(Sweep* const sweep, const char* const path)
{
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    alarm(LIMIT_S);
    check_library(sweep, path);
    _exit(EXIT_SUCCESS);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  if (status) {
    printf("%s: status %x\n", path, (unsigned)status);
    ++sweep->n_failed;
  }
  ++sweep->n_libraries;
}

static int
is_library(const struct dirent* const entry)
{
  const char* const dot = strrchr(entry->d_name, '.');
  return dot && !strcmp(dot, ".so");
}

TEST(all_installed_plugins_are_described)
{
  struct dirent** entries = NULL;
  const int n_entries = scandir(FOLDER, &entries, is_library, alphasort);
  if (n_entries <= 0) {
    suite_skip("no plugins in " FOLDER);
    return;
  }
  Sweep* const sweep =
      mmap(NULL, sizeof(Sweep), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(sweep, MAP_FAILED);
  for (int e = 0; e < n_entries && e < (int)MAX_FILES; ++e) {
    char path[512];
    snprintf(path, sizeof(path), FOLDER "/%s", entries[e]->d_name);
    check_in_child(sweep, path);
    free(entries[e]);
  }
  free(entries);
  const Percentiles ms = percentiles_of(sweep->ms, sweep->n_libraries);
  printf("%u libraries (%u refused), %u plugins: %u with a fault, %u mended, %u with a latency; %u "
         "controls; "
         "%.2f ms per library, at most %.2f ms\n",
         sweep->n_libraries, sweep->n_refused, sweep->n_plugins, sweep->n_faults, sweep->n_noted,
         sweep->n_latent, sweep->n_controls, ms.p50, ms.max);
  ck_assert_uint_eq(sweep->n_failed, 0);
}

SUITE_MAIN("ladspa_describe")
