// SPDX-License-Identifier: GPL-3.0-or-later
// A LADSPA library is described as it is, and what is wrong in it is mended or refused; a plugin plays
// the samples that another host plays; a renewed instance has no memory.

#include "engine/base/percentiles.h"
#include "plugins/format.h"
#include "tests/support/reference_ladspa.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE_HZ     48000U
#define MAX_FRAMES  8192U
#define MAX_PLUGINS 1024U

// ---- descriptions ----

static Arena arena;
static const Plugin* plugins[MAX_PLUGINS];
static uint32_t n_plugins;

static const char*
copy(const char* const text)
{
  char* const place = arena_take(&arena, strlen(text) + 1U, 1);
  return strcpy(place, text);
}

/// Keep a description for longer than the call.
static void
keep(void* const context, const Plugin* const plugin)
{
  (void)context;
  Plugin* const kept = arena_take(&arena, 1, sizeof(Plugin));
  PluginPort* const ports = arena_take(&arena, plugin->n_ports, sizeof(PluginPort));
  *kept = *plugin;
  kept->source.id = copy(plugin->source.id);
  kept->fx.source = &kept->source;
  kept->name = copy(plugin->name);
  kept->maker = copy(plugin->maker);
  kept->licence = copy(plugin->licence);
  kept->bundle = kept->binary = copy(plugin->binary);
  kept->fault = copy(plugin->fault);
  kept->notes = copy(plugin->notes);
  kept->ports = ports;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    ports[p] = plugin->ports[p];
    ports[p].name = copy(ports[p].name);
    ports[p].symbol = copy(ports[p].symbol);
  }
  ck_assert_uint_lt(n_plugins, MAX_PLUGINS);
  plugins[n_plugins++] = kept;
}

static const PluginFormat*
ladspa(void)
{
  const PluginFormat* const format = plugin_format_find("ladspa");
  ck_assert_ptr_nonnull(format);
  return format;
}

static const char*
fixture_path(const char* const file)
{
  static char path[512];
  snprintf(path, sizeof(path), "%s/%s.so", getenv("WARPRACK_LADSPA_FIXTURES"), file);
  return path;
}

static void
describe(const char* const path)
{
  n_plugins = 0;
  OK(ladspa()->describe(path, keep, NULL, &error));
}

/// A described plugin; fails the test if it does not exist.
static const Plugin*
find(const char* const id)
{
  for (uint32_t i = 0; i < n_plugins; ++i) {
    if (!strcmp(plugins[i]->source.id, id)) {
      return plugins[i];
    }
  }
  ck_abort_msg("no plugin %s", id);
}

/// The plugin of a fixture: "effects/gain".
static const Plugin*
fixture(const char* const id)
{
  char file[64];
  snprintf(file, sizeof(file), "%.*s", (int)strcspn(id, "/"), id);
  describe(fixture_path(file));
  return find(id);
}

static uint32_t
port_of(const Plugin* const plugin, const char* const name)
{
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    if (!strcmp(plugin->ports[p].name, name)) {
      return p;
    }
  }
  ck_abort_msg("%s has no port %s", plugin->source.id, name);
}

static void
assert_range(const Plugin* const plugin, const char* const name, const double min, const double max,
             const double initial)
{
  const PluginPort* const port = &plugin->ports[port_of(plugin, name)];
  ck_assert_msg(port->min == min && port->max == max &&
                    fabs(port->initial - initial) <= fabs(initial) * 1e-6,
                "%s: %.17g..%.17g, %.17g", name, port->min, port->max, port->initial);
}

TEST(a_plugin_is_described_with_its_texts_and_ports)
{
  const Plugin* const plugin = fixture("effects/ducker");
  ck_assert_str_eq(plugin->source.format, "ladspa");
  ck_assert_str_eq(plugin->name, "ducker");
  ck_assert_str_eq(plugin->maker, "warprack");
  ck_assert_str_eq(plugin->licence, "GPL-3.0-or-later");
  ck_assert_str_eq(plugin->binary, fixture_path("effects"));
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
  const Plugin* const plugin = fixture("effects/lowpass");
  ck_assert_uint_eq(plugin->ports[2].flags, PORT_RATE | PORT_LOGARITHMIC);
  ck_assert_int_eq(plugin->ports[2].unit, UNIT_HZ);
  ck_assert_uint_eq(plugin->ports[3].flags, PORT_TOGGLED);
  ck_assert_uint_eq(plugin->ports[4].flags, PORT_INTEGER);
  assert_range(plugin, "Cutoff [Hz]", 0.0001, 0.45, 440.0 / PLUGIN_RATE_HZ);
  assert_range(plugin, "Invert", 0.0, 1.0, 0.0);
  assert_range(plugin, "Poles", 1.0, 4.0, 4.0);
  ck_assert_str_eq(plugin->notes, "");
}

TEST(the_latency_is_an_output_of_that_name)
{
  ck_assert_uint_eq(fixture("effects/delay")->ports[2].flags, PORT_OUTPUT | PORT_LATENCY);
}

TEST(every_kind_of_default_is_known)
{
  const Plugin* const plugin = fixture("effects/defaults");
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

TEST(three_hundred_controls_are_no_trouble)
{
  const Plugin* const plugin = fixture("effects/controls");
  ck_assert_uint_eq(plugin->n_ports, 301);
  ck_assert_str_eq(plugin->ports[300].symbol, "value_399");
}

// ---- broken descriptions ----

TEST(missing_and_invalid_names_are_mended)
{
  describe(fixture_path("broken"));
  const Plugin* const plugin = find("broken/names");
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
  ck_assert_str_eq(find("broken/bounds")->name, "Bounds?");
  ck_assert_uint_lt(strlen(find("broken/bounds")->maker), 300);
  ck_assert_str_eq(find("broken/bare")->fault, "");
  ck_assert_str_eq(find("broken/bare")->ports[1].name, "Port 2");
}

TEST(missing_and_invalid_bounds_are_mended)
{
  describe(fixture_path("broken"));
  const Plugin* const plugin = find("broken/bounds");
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
  ck_assert_uint_eq(plugin->ports[port_of(plugin, "Negative")].flags, PORT_NO_FLAGS);
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_str_eq(plugin->notes,
                   "bound that is not finite: \"NaN\" and 3 more; "
                   "lower bound above the upper bound: \"Inverted\"; "
                   "no lower bound: \"NaN\" and 2 more; no upper bound: \"NaN\" and 4 more; "
                   "no default: \"NaN\" and 4 more; default outside the bounds: \"Outside\"");
}

TEST(a_plugin_that_cannot_be_used_has_a_fault)
{
  static const struct {
    const char* id;
    const char* fault;
  } rows[] = {
    { "broken/#3", "another plugin of this library has its label" },
    { "broken/no_ports", "it has no audio ports" },
    { "broken/many_ports", "it has 1000000 ports, more than 8192" },
    { "broken/no_descriptors", "its ports are not described" },
    { "broken/both_ways", "its port 1 is not either input or output" },
    { "broken/no_kind", "its port 1 is not either audio or control" },
    { "broken/no_run", "it has no function run()" },
    { "broken/#10", "its label cannot be used in racks" },
    { "broken/#11", "its label cannot be used in racks" },
  };
  describe(fixture_path("broken"));
  ck_assert_uint_eq(n_plugins, 13);
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    ck_assert_str_eq(find(rows[r].id)->fault, rows[r].fault);
  }
}

TEST(a_list_of_plugins_that_does_not_end_is_cut)
{
  Error error = { STATUS_OK, "" };
  setenv("WARPRACK_FIXTURE", "again", true);
  describe(fixture_path("broken"));
  ck_assert_uint_eq(n_plugins, 1);
  setenv("WARPRACK_FIXTURE", "endless", true);
  n_plugins = 0;
  ck_assert_int_eq(ladspa()->describe(fixture_path("broken"), keep, NULL, &error), STATUS_LIMIT);
  assert_says(error.text, "more than 1024 plugins");
}

TEST(a_file_that_is_no_plugin_is_refused)
{
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(ladspa()->describe("/nowhere/none.so", keep, NULL, &error), STATUS_FILE);
  assert_says(error.text, "/nowhere/none.so");
  ck_assert_int_eq(ladspa()->describe("/proc/self/exe", keep, NULL, &error), STATUS_FILE);
  assert_says(error.text, "/proc/self/exe");
}

// ---- instances ----

/// An instance with rows for its audio ports.
typedef struct Rig {
  const Plugin* plugin;
  Instance* instance;
  uint32_t n_in, n_out;
  const float** in;
  float** out;
} Rig;

static float**
take_rows(const uint32_t n)
{
  float** const rows = arena_take(&arena, n, sizeof(float*));
  for (uint32_t r = 0; r < n; ++r) {
    rows[r] = arena_take(&arena, MAX_FRAMES, sizeof(float));
  }
  return rows;
}

/// Noise in all inputs, different in each.
static void
fill(Rig* const rig)
{
  uint32_t seed = 1;
  for (uint32_t i = 0; i < rig->n_in; ++i) {
    float* const row = arena_take(&arena, MAX_FRAMES, sizeof(float));
    for (uint32_t f = 0; f < MAX_FRAMES; ++f) {
      seed = seed * 1664525U + 1013904223U;
      row[f] = (float)(int32_t)seed / 4294967296.0F;
    }
    rig->in[i] = row;
  }
}

static Status
try_open(Rig* const rig, const Plugin* const plugin, const uint32_t block_frames,
         const double* const values, Error* const error)
{
  const InstanceSetup setup = {
    .rate_hz = RATE_HZ,
    .max_block_frames = block_frames,
    .values = values,
  };
  *rig = (Rig){ .plugin = plugin };
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const bool is_output = plugin->ports[p].flags & PORT_OUTPUT;
    rig->n_in += plugin->ports[p].type == PORT_AUDIO && !is_output;
    rig->n_out += plugin->ports[p].type == PORT_AUDIO && is_output;
  }
  rig->in = arena_take(&arena, rig->n_in, sizeof(float*));
  rig->out = take_rows(rig->n_out);
  fill(rig);
  return ladspa()->calls->open(plugin, &setup, &rig->instance, error);
}

static Rig
open_rig(const Plugin* const plugin, const uint32_t block_frames)
{
  Rig rig;
  OK(try_open(&rig, plugin, block_frames, NULL, &error));
  return rig;
}

/// Run blocks of the signal, from its start.
static void
play(const Rig* const rig, const uint32_t n_frames, const uint32_t block_frames)
{
  const float* in[64];
  float* out[64];
  ck_assert_uint_le(rig->n_in, ARRAY_LEN(in));
  ck_assert_uint_le(rig->n_out, ARRAY_LEN(out));
  for (uint32_t at = 0; at < n_frames; at += block_frames) {
    for (uint32_t i = 0; i < rig->n_in; ++i) {
      in[i] = rig->in[i] + at;
    }
    for (uint32_t o = 0; o < rig->n_out; ++o) {
      out[o] = rig->out[o] + at;
    }
    ladspa()->calls->run(rig->instance, in, out, block_frames);
  }
}

static void
set(const Rig* const rig, const char* const name, const double value)
{
  ladspa()->calls->set(rig->instance, port_of(rig->plugin, name), value, 0);
}

static void
close_rig(const Rig* const rig)
{
  ladspa()->calls->close(rig->instance);
}

TEST(controls_begin_at_their_initial_values)
{
  const Plugin* const plugin = fixture("effects/defaults");
  const Rig rig = open_rig(plugin, 64);
  play(&rig, 64, 64);
  for (uint32_t p = 1; p < plugin->n_ports; ++p) {
    const double scale = plugin->ports[p].flags & PORT_RATE ? RATE_HZ : 1.0;
    ck_assert_float_eq(rig.out[0][p - 1U], (float)(plugin->ports[p].initial * scale));
  }
  close_rig(&rig);
}

TEST(values_are_there_before_the_plugin_is_activated)
{
  static const double values[] = { 0.0, 0.0, 0.25 };
  Rig rig;
  OK(try_open(&rig, fixture("effects/held"), 64, values, &error));
  set(&rig, "Level", 0.5);
  play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][9], 0.25F * rig.in[0][9]);
  OK(ladspa()->calls->renew(rig.instance, &error));
  play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][9], 0.5F * rig.in[0][9]);
  close_rig(&rig);
}

TEST(a_value_is_set_for_the_next_run_and_stays_in_its_range)
{
  const Rig rig = open_rig(fixture("effects/controls"), 512);
  set(&rig, "Value 205", 0.25);
  set(&rig, "Value 206", 7.0);
  set(&rig, "Value 207", -7.0);
  play(&rig, 300, 300);
  ck_assert_float_eq(rig.out[0][104], 0.75F);
  ck_assert_float_eq(rig.out[0][105], 0.25F);
  ck_assert_float_eq(rig.out[0][106], 1.0F);
  ck_assert_float_eq(rig.out[0][107], 0.0F);
  close_rig(&rig);
}

TEST(a_range_in_multiples_of_the_rate_is_in_hertz_when_it_is_set)
{
  const Plugin* const plugin = fixture("effects/defaults");
  const Rig rig = open_rig(plugin, 64);
  set(&rig, "Rate low", 1000.0);
  set(&rig, "Rate high", 1e6);
  play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][port_of(plugin, "Rate low") - 1U], 1000.0F);
  ck_assert_float_eq(rig.out[0][port_of(plugin, "Rate high") - 1U], 4800.0F);
  close_rig(&rig);
}

TEST(control_outputs_are_read)
{
  const Plugin* const plugin = fixture("effects/ducker");
  const Rig rig = open_rig(plugin, 64);
  set(&rig, "Depth (%)", 50.0);
  play(&rig, 64, 64);
  float most = 0.0F;
  for (uint32_t f = 0; f < 64U; ++f) {
    most = fmaxf(most, 50.0F * fabsf(rig.in[1][f]));
  }
  ck_assert_double_eq_tol(ladspa()->calls->get(rig.instance, 4), most, 1e-4);
  close_rig(&rig);
}

TEST(channels_are_in_the_order_of_the_ports)
{
  const Rig rig = open_rig(fixture("effects/three_to_two"), 64);
  play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][9], rig.in[0][9] + 0.5F * rig.in[2][9]);
  ck_assert_float_eq(rig.out[1][9], rig.in[1][9] + 0.5F * rig.in[2][9]);
  close_rig(&rig);
}

TEST(the_latency_is_read_after_a_run)
{
  const Rig fixed = open_rig(fixture("effects/delay"), 64);
  play(&fixed, 64, 64);
  ck_assert_uint_eq(ladspa()->calls->latency(fixed.instance), 64);
  close_rig(&fixed);

  const Rig moving = open_rig(fixture("effects/moving"), 64);
  set(&moving, "Frames", 3.0);
  play(&moving, 64, 64);
  ck_assert_uint_eq(ladspa()->calls->latency(moving.instance), 3);
  ck_assert_float_eq(moving.out[0][63], moving.in[0][60]);
  close_rig(&moving);

  const Rig none = open_rig(fixture("effects/gain"), 64);
  play(&none, 64, 64);
  ck_assert_uint_eq(ladspa()->calls->latency(none.instance), 0);
  close_rig(&none);
}

TEST(a_renewed_instance_has_its_values_and_no_memory)
{
  const Rig rig = open_rig(fixture("effects/lowpass"), 64);
  float first[64];
  set(&rig, "Cutoff [Hz]", 200.0);
  play(&rig, 64, 64);
  memcpy(first, rig.out[0], sizeof(first));
  play(&rig, 64, 64);
  ck_assert_int_ne(memcmp(first, rig.out[0], sizeof(first)), 0);
  OK(ladspa()->calls->renew(rig.instance, &error));
  play(&rig, 64, 64);
  ck_assert_mem_eq(first, rig.out[0], sizeof(first));
  close_rig(&rig);
}

TEST(a_plugin_cannot_write_to_the_input_or_find_the_output_in_it)
{
  static const char* const ids[] = { "faults/writes_input", "faults/in_place" };
  for (uint32_t i = 0; i < ARRAY_LEN(ids); ++i) {
    const Rig rig = open_rig(fixture(ids[i]), 64);
    float before[64];
    memcpy(before, rig.in[0], sizeof(before));
    play(&rig, 64, 64);
    ck_assert_mem_eq(before, rig.in[0], sizeof(before));
    ck_assert_mem_eq(before, rig.out[0], sizeof(before));
    close_rig(&rig);
  }
}

TEST(two_instances_share_nothing)
{
  const Plugin* const plugin = fixture("effects/lowpass");
  const Rig alone = open_rig(plugin, 64);
  play(&alone, 256, 64);
  const Rig first = open_rig(plugin, 64);
  const Rig second = open_rig(plugin, 64);
  set(&second, "Cutoff [Hz]", 5000.0);
  play(&second, 256, 64);
  play(&first, 256, 64);
  ck_assert_mem_eq(alone.out[0], first.out[0], 256U * sizeof(float));
  close_rig(&alone);
  close_rig(&second);
  close_rig(&first);
}

TEST(a_library_that_has_changed_is_refused)
{
  Error error = { STATUS_OK, "" };
  Rig rig;
  Plugin plugin = *fixture("effects/gain");
  plugin.n_ports = 2;
  ck_assert_int_eq(try_open(&rig, &plugin, 64, NULL, &error), STATUS_FILE);
  assert_says(error.text, "has changed");
  PluginPort ports[3];
  plugin = *fixture("effects/gain");
  memcpy(ports, plugin.ports, sizeof(ports));
  ports[2].flags |= PORT_OUTPUT;
  plugin.ports = ports;
  ck_assert_int_eq(try_open(&rig, &plugin, 64, NULL, &error), STATUS_FILE);
  plugin = *fixture("effects/gain");
  plugin.source.id = "effects/gone";
  ck_assert_int_eq(try_open(&rig, &plugin, 64, NULL, &error), STATUS_FILE);
  plugin.binary = "/nowhere/effects.so";
  ck_assert_int_eq(try_open(&rig, &plugin, 64, NULL, &error), STATUS_FILE);
  assert_says(error.text, "/nowhere/effects.so");
}

TEST(a_plugin_that_makes_no_instance_is_refused)
{
  Error error = { STATUS_OK, "" };
  Rig rig;
  ck_assert_int_eq(try_open(&rig, fixture("broken/no_instance"), 64, NULL, &error), STATUS_LIMIT);
  assert_says(error.text, "broken/no_instance");
}

// ---- faults ----

/// Run a function in a child that may take half a second of processor time; returns the status of
/// its end.
static int
run_in_child(void (*const function)(const char* text), const char* const text)
{
  fflush(stdout);
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    const struct rlimit no_core = { 0, 0 };
    const struct itimerval time = { .it_value.tv_usec = 500000 };
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    setitimer(ITIMER_PROF, &time, NULL);
    function(text);
    _exit(99);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return status;
}

static void
use(const char* const id)
{
  const Rig rig = open_rig(fixture(id), 64);
  play(&rig, 64, 64);
  close_rig(&rig);
}

static void
load(const char* const fault)
{
  setenv("WARPRACK_FIXTURE", fault, true);
  describe(fixture_path("faults"));
}

static void
assert_end(const char* const name, const int status)
{
  static const struct {
    const char* name;
    int signal;
  } rows[] = { { "segv_", SIGSEGV }, { "abort_", SIGABRT }, { "hang_", SIGPROF } };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (strstr(name, rows[r].name)) {
      ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == rows[r].signal, "%s: status %x",
                    name, (unsigned)status);
      return;
    }
  }
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", name,
                (unsigned)status);
}

static const char* const ends[] = { "segv", "abort", "exit", "hang" };

TEST_ROWS(a_fixture_ends_the_process_in_the_phase_of_its_label, ends)
{
  static const char* const phases[] = { "constructor", "descriptor", "instantiate",
                                        "activate",    "run",        "cleanup" };
  for (uint32_t p = 0; p < ARRAY_LEN(phases); ++p) {
    char name[64];
    const bool is_library = p < 2U;
    snprintf(name, sizeof(name), "%s%s_%s", is_library ? "" : "faults/", ends[row], phases[p]);
    assert_end(name, run_in_child(is_library ? load : use, name));
  }
}

TEST(a_fault_waits_for_its_block)
{
  const Rig rig = open_rig(fixture("faults/nan"), 64);
  set(&rig, "After", 2.0);
  play(&rig, 192, 64);
  ck_assert_mem_eq(rig.out[0], rig.in[0], 128U * sizeof(float));
  ck_assert(isnan(rig.out[0][128]));
  close_rig(&rig);
}

// ---- another host ----

/// Deterministic plugins; those of Debian are in different packages.
static const char* const compared[] = {
  "effects/gain",
  "effects/delay",
  "effects/moving",
  "effects/ducker",
  "effects/three_to_two",
  "effects/lowpass",
  "effects/defaults",
  "effects/controls",
  "effects/held",
  "faults/in_place",
  "faults/writes_input",
  "ZamComp-ladspa/ZamComp",
  "ZamEQ2-ladspa/ZamEQ2",
  "adsr_1680/adsr_g+t",
  "caps/Compress",
  "caps/Plate",
  "cmt/freeverb3",
  "comb_1190/comb",
  "delay_1898/delay_c",
  "fast_lookahead_limiter_1913/fastLookaheadLimiter",
  "filter/lpf",
  "gverb_1216/gverb",
  "lp4pole_1671/lp4pole_fcrcia_oa",
  "plate_1423/plate",
  "sawtooth_1641/sawtooth_fc_oa",
  "sc3_1427/sc3",
  "tap_eqbw/tap_equalizer_bw",
  "tap_reverb/tap_reverb",
  "valve_1209/valve",
};

/// The path of a compared plugin's library; NULL if it is not installed.
static const char*
library_of(const char* const id)
{
  static char path[512];
  char file[64];
  snprintf(file, sizeof(file), "%.*s", (int)strcspn(id, "/"), id);
  snprintf(path, sizeof(path), "/usr/lib/ladspa/%s.so", file);
  if (!strcmp(file, "effects") || !strcmp(file, "faults")) {
    return fixture_path(file);
  }
  return access(path, R_OK) == 0 ? path : NULL;
}

/// The initial value, or a value inside the range.
static float
choose_value(const PluginPort* const port, const bool is_initial)
{
  const double rate_hz = port->flags & PORT_RATE ? RATE_HZ : 1.0;
  const double inside = port->min + 0.37 * (port->max - port->min);
  const double value = is_initial                                    ? port->initial
                       : port->flags & (PORT_INTEGER | PORT_TOGGLED) ? ceil(inside)
                                                                     : inside;
  return (float)(value * rate_hz);
}

static void
compare(const Plugin* const plugin, const uint32_t block_frames, const bool is_initial)
{
  double* const values = arena_take(&arena, plugin->n_ports, sizeof(double));
  float* const controls = arena_take(&arena, plugin->n_ports, sizeof(float));
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    if (plugin->ports[p].type == PORT_CONTROL && !(plugin->ports[p].flags & PORT_OUTPUT)) {
      values[p] = choose_value(&plugin->ports[p], is_initial);
      controls[p] = (float)values[p];
    }
  }
  Rig rig;
  OK(try_open(&rig, plugin, block_frames, values, &error));
  float* const in = arena_take(&arena, rig.n_in, MAX_FRAMES * sizeof(float));
  const ReferenceLadspa reference = {
    .path = plugin->binary,
    .label = strchr(plugin->source.id, '/') + 1,
    .rate_hz = RATE_HZ,
    .block_frames = block_frames,
    .n_frames = MAX_FRAMES,
    .controls = controls,
    .in = in,
    .out = arena_take(&arena, rig.n_out, MAX_FRAMES * sizeof(float)),
    .outputs = arena_take(&arena, plugin->n_ports, sizeof(float)),
  };
  for (uint32_t i = 0; i < rig.n_in; ++i) {
    memcpy(in + (size_t)i * MAX_FRAMES, rig.in[i], MAX_FRAMES * sizeof(float));
  }
  play(&rig, MAX_FRAMES, block_frames);
  const char* const why = reference_ladspa_play(&reference);
  ck_assert_msg(!why, "%s: %s", plugin->source.id, why);
  for (uint32_t o = 0; o < rig.n_out; ++o) {
    const float* const expected = reference.out + (size_t)o * MAX_FRAMES;
    for (uint32_t f = 0; f < MAX_FRAMES; ++f) {
      ck_assert_msg(!memcmp(&rig.out[o][f], &expected[f], sizeof(float)),
                    "%s, blocks of %u: output %u, frame %u is %.9g instead of %.9g",
                    plugin->source.id, block_frames, o, f, (double)rig.out[o][f],
                    (double)expected[f]);
    }
  }
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    if (plugin->ports[p].type == PORT_CONTROL && plugin->ports[p].flags & PORT_OUTPUT) {
      const float value = (float)ladspa()->calls->get(rig.instance, p);
      ck_assert_mem_eq(&value, &reference.outputs[p], sizeof(float));
    }
  }
  close_rig(&rig);
}

TEST_ROWS(the_samples_are_those_of_another_host, compared)
{
  const char* const path = library_of(compared[row]);
  if (!path) {
    char why[128];
    snprintf(why, sizeof(why), "%s is not installed", compared[row]);
    suite_skip(why);
    return;
  }
  describe(path);
  const Plugin* const plugin = find(compared[row]);
  ck_assert_str_eq(plugin->fault, "");
  for (uint32_t s = 0; s < 4U; ++s) {
    compare(plugin, s & 1U ? 64U : 256U, s & 2U);
  }
}

SUITE_MAIN("ladspa")
