// SPDX-License-Identifier: GPL-3.0-or-later
// CLAP plugins: what a file tells of them, and how they run.

#include "plugins/clap/clap_host.h"
#include "plugins/format.h"
#include "tests/support/reference_clap.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE_HZ    48000.0
#define BLOCK      256U
#define MAX_FOUND  16U
#define ROWS       REFERENCE_CLAP_ROWS
#define PATH_BYTES 512U

// ---- rig ----

/// Copies of the plugins of a file, and one instance.
typedef struct Rig {
  char path[PATH_BYTES];
  Arena arena;
  Plugin plugins[MAX_FOUND];
  uint32_t n_plugins;
  const Plugin* plugin;
  Instance* instance;
  float in[ROWS][BLOCK], out[ROWS][BLOCK];
} Rig;

static Rig rig;

static const PluginFormat*
format(void)
{
  return plugin_format_find("clap");
}

static const InstanceCalls*
calls(void)
{
  return format()->calls;
}

static const char*
copy_text(const char* const text)
{
  char* const copy = arena_take(&rig.arena, strlen(text) + 1U, 1);
  return strcpy(copy, text);
}

static void
copy_port(PluginPort* const port)
{
  PluginPoint* const points = arena_take(&rig.arena, port->n_points, sizeof(PluginPoint));
  for (uint32_t i = 0; i < port->n_points; ++i) {
    points[i] = (PluginPoint){ port->points[i].value, copy_text(port->points[i].label) };
  }
  port->points = points;
  port->symbol = copy_text(port->symbol);
  port->name = copy_text(port->name);
  port->group = copy_text(port->group);
  port->uri = copy_text(port->uri);
}

static void
keep_plugin(void* const context, const Plugin* const plugin)
{
  (void)context;
  ck_assert_uint_lt(rig.n_plugins, MAX_FOUND);
  ck_assert_ptr_eq(plugin->fx.source, &plugin->source);
  Plugin* const copy = &rig.plugins[rig.n_plugins++];
  PluginPort* const ports = arena_take(&rig.arena, plugin->n_ports, sizeof(PluginPort));
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    ports[p] = plugin->ports[p];
    copy_port(&ports[p]);
  }
  *copy = *plugin;
  copy->ports = ports;
  copy->source = (FxSource){ copy_text(plugin->source.format), copy_text(plugin->source.id) };
  copy->name = copy_text(plugin->name);
  copy->maker = copy_text(plugin->maker);
  copy->licence = copy_text(plugin->licence);
  copy->category = copy_text(plugin->category);
  copy->fault = copy_text(plugin->fault);
  copy->notes = copy_text(plugin->notes);
  copy->bundle = copy_text(plugin->bundle);
  copy->binary = copy_text(plugin->binary);
}

static Status
describe(const char* const path, Error* const error)
{
  snprintf(rig.path, sizeof(rig.path), "%s", path);
  return format()->describe(rig.path, keep_plugin, NULL, error);
}

/// Describe a file of fixtures.
static Status
describe_fixture(const char* const name, Error* const error)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof(path), "%s/%s.clap", getenv("WARPRACK_CLAP_FIXTURES"), name);
  return describe(path, error);
}

static const Plugin*
find_plugin(const char* const id)
{
  for (uint32_t p = 0; p < rig.n_plugins; ++p) {
    if (!strcmp(rig.plugins[p].source.id, id)) {
      return &rig.plugins[p];
    }
  }
  ck_abort_msg("no plugin %s", id);
}

static uint32_t
port_of(const char* const symbol)
{
  for (uint32_t p = 0; p < rig.plugin->n_ports; ++p) {
    if (rig.plugin->ports[p].type == PORT_CONTROL && !strcmp(rig.plugin->ports[p].symbol, symbol)) {
      return p;
    }
  }
  ck_abort_msg("no parameter %s", symbol);
}

static Status
try_open(const char* const id, const InstanceSetup* const setup, Error* const error)
{
  ck_assert_int_eq(describe_fixture("fixtures", error), STATUS_OK);
  rig.plugin = find_plugin(id);
  return calls()->open(rig.plugin, setup, &rig.instance, error);
}

static void
open_plugin(const char* const id)
{
  const InstanceSetup setup = { .rate_hz = RATE_HZ, .max_block_frames = BLOCK };
  OK(try_open(id, &setup, &error));
}

static void
set(const char* const symbol, const double value, const uint32_t frame)
{
  calls()->set(rig.instance, port_of(symbol), value, frame);
}

static double
get(const char* const symbol)
{
  return calls()->get(rig.instance, port_of(symbol));
}

static void
run(const uint32_t n_frames)
{
  const float* in[ROWS];
  float* out[ROWS];
  for (uint32_t r = 0; r < ROWS; ++r) {
    in[r] = rig.in[r];
    out[r] = rig.out[r];
  }
  calls()->run(rig.instance, in, out, n_frames);
}

static uint32_t
n_reports(const ClapReport report)
{
  return clap_instance_host(rig.instance)->n_reports[report];
}

static void
begin(void)
{
  for (uint32_t r = 0; r < ROWS; ++r) {
    for (uint32_t f = 0; f < BLOCK; ++f) {
      rig.in[r][f] = (float)(r + 1U);
    }
  }
}

static void
end(void)
{
  if (rig.instance) {
    calls()->close(rig.instance);
  }
  arena_clear(&rig.arena);
}

// ---- description ----

TEST(a_file_describes_its_plugins)
{
  OK(describe_fixture("fixtures", &error));
  ck_assert_uint_eq(rig.n_plugins, 14);
  const Plugin* const gain = find_plugin("test.gain");
  ck_assert_str_eq(gain->source.format, "clap");
  ck_assert_str_eq(gain->name, "gain");
  ck_assert_str_eq(gain->category, "De-esser");
  ck_assert_str_eq(gain->maker, "");
  ck_assert_str_eq(gain->fault, "");
  ck_assert_str_eq(gain->notes, "");
  ck_assert_str_eq(gain->binary, rig.path);
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
    .max = 6.0,
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
    .max = 4.0 },
  { .index = 19, .symbol = "secret", .name = "Secret", .flags = PORT_HIDDEN, .max = 1.0 },
  { .index = 20,
    .symbol = "size",
    .name = "Size",
    .flags = PORT_STEPPED,
    .max = 1.0,
    .initial = 0.5 },
  { .index = 21, .symbol = "mix", .name = "Mix", .max = 1.0, .initial = 0.5 },
};

TEST_ROWS(a_parameter_is_a_port, expected)
{
  const PluginPort* const wanted = &expected[row];
  OK(describe_fixture("fixtures", &error));
  const Plugin* const plugin = find_plugin("test.params");
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
  OK(describe_fixture("fixtures", &error));
  rig.plugin = find_plugin("test.params");
  const PluginPoint* const modes = rig.plugin->ports[port_of("mode")].points;
  ck_assert_str_eq(modes[0].label, "Soft");
  ck_assert_str_eq(modes[2].label, "Hard");
  ck_assert_double_eq(modes[2].value, 2.0);
  const PluginPoint* const orders = rig.plugin->ports[port_of("order")].points;
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
    { "key", "", PORT_SIDECHAIN },       { "main_1", "main", PORT_OUTPUT },
    { "main_2", "main", PORT_OUTPUT },
  };
  OK(describe_fixture("fixtures", &error));
  const Plugin* const plugin = find_plugin("test.params");
  for (uint32_t p = 0; p < ARRAY_LEN(rows); ++p) {
    ck_assert_int_eq(plugin->ports[p].type, PORT_AUDIO);
    ck_assert_str_eq(plugin->ports[p].symbol, rows[p].symbol);
    ck_assert_str_eq(plugin->ports[p].group, rows[p].group);
    ck_assert_uint_eq(plugin->ports[p].flags, rows[p].flags);
  }
}

TEST(notes_are_a_port_for_events)
{
  OK(describe_fixture("fixtures", &error));
  const Plugin* const plugin = find_plugin("test.notes");
  ck_assert_uint_eq(plugin->n_ports, 3);
  ck_assert_int_eq(plugin->ports[2].type, PORT_ATOM);
  ck_assert_uint_eq(plugin->ports[2].flags, PORT_EVENTS);
}

TEST(a_plugin_that_cannot_be_used_has_a_fault)
{
  OK(describe_fixture("fixtures", &error));
  ck_assert_str_eq(find_plugin("test.deaf")->fault, "it has no audio ports");
  rig.n_plugins = 0;
  OK(describe_fixture("broken", &error));
  ck_assert_uint_eq(rig.n_plugins, 7); // not those that racks could not name, and one of a pair
  assert_says(find_plugin("test.draft")->fault, "draft");
  assert_says(find_plugin("test.many")->fault, "it has 10002 ports, more than 8192");
  assert_says(find_plugin("test.wide")->fault, "ports, more than 8192");
  ck_assert_str_eq(find_plugin("test.unmade")->fault, "it cannot be created");
  ck_assert_str_eq(find_plugin("test.uninitialised")->fault, "it cannot be initialised");
  ck_assert_str_eq(find_plugin("test.twice")->name, "twice");
}

TEST(wrong_facts_are_mended)
{
  OK(describe_fixture("broken", &error));
  const Plugin* const plugin = find_plugin("test.nameless");
  rig.plugin = plugin;
  ck_assert_str_eq(plugin->name, "test.nameless");
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_uint_eq(plugin->n_ports, 2 + 4);
  ck_assert_double_eq(plugin->ports[port_of("outside")].initial, 1.0);
  ck_assert_double_eq(plugin->ports[port_of("unknown")].initial, 0.0);
  ck_assert_str_eq(plugin->ports[port_of("parameter_6")].name, "Parameter 6");
  ck_assert_str_eq(plugin->ports[5].name, "bad ? name");
  assert_says(plugin->notes, "no name: \"test.nameless\" and 1 more");
  assert_says(plugin->notes, "range that is not finite: \"Broken\" and 1 more");
  assert_says(plugin->notes, "lower bound above the upper bound: \"Inverted\"");
  assert_says(plugin->notes, "default outside the bounds: \"Outside\" and 1 more");
  assert_says(plugin->notes, "id of another parameter: \"Twice\"");
  assert_says(plugin->notes, "parameter that is not described");
}

TEST(a_file_that_is_no_clap_is_refused)
{
  Error error = { 0 };
  ck_assert_int_eq(describe_fixture("draft", &error), STATUS_FILE);
  assert_says(error.text, "draft.clap is made for CLAP 0.2, a draft of CLAP 1");
  ck_assert_int_eq(describe_fixture("refusing", &error), STATUS_FILE);
  assert_says(error.text, "refusing.clap does not initialise its plugins");
  ck_assert_int_eq(describe_fixture("missing", &error), STATUS_FILE);
  ck_assert_int_eq(describe("/proc/self/exe", &error), STATUS_FILE);
  assert_says(error.text, "/proc/self/exe cannot be loaded: ");
  ck_assert_uint_eq(rig.n_plugins, 0);
}

// ---- sound ----

TEST(a_change_takes_effect_at_its_frame)
{
  open_plugin("test.gain");
  set("gain", 2.0, 0);
  set("gain", 3.0, 17);
  set("gain", 0.5, 255);
  run(BLOCK);
  for (uint32_t f = 0; f < BLOCK; ++f) {
    ck_assert_float_eq(rig.out[0][f], f < 17U ? 2.0F : f < 255U ? 3.0F : 0.5F);
  }
  run(1); // no change is given twice
  ck_assert_float_eq(rig.out[0][0], 0.5F);
  set("gain", 4.0, 0);
  run(1);
  ck_assert_float_eq(rig.out[0][0], 4.0F);
}

TEST(more_changes_than_a_block_has_room_for_keep_the_last_values)
{
  open_plugin("test.gain");
  for (uint32_t i = 0; i <= 2000U; ++i) {
    set("gain", i / 1000.0, i / 10U);
  }
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][200], 2.0F);
  ck_assert_float_eq(rig.out[0][BLOCK - 1U], 2.0F);
  ck_assert_float_gt(rig.out[0][199], 1.98F);
}

TEST(changes_of_several_parameters_survive_a_full_list)
{
  open_plugin("test.params");
  set("low_gain", 1.5, 0);
  for (uint32_t i = 0; i < 1000U; ++i) {
    set("cutoff", 20.0 + i, 3);
  }
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 1.5F);
}

TEST(an_instance_begins_with_the_initial_values)
{
  open_plugin("test.initial");
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 1.0F);
}

TEST(a_plugin_gets_its_channels_and_its_side_chain)
{
  open_plugin("test.params");
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 1.0F);
  ck_assert_float_eq(rig.out[1][0], 2.0F + 0.5F * 3.0F);
}

TEST(a_value_that_the_plugin_reports_is_kept)
{
  open_plugin("test.params");
  ck_assert_double_eq(get("meter"), 0.0);
  set("low_gain", 2.0, 0);
  run(BLOCK);
  ck_assert_double_eq(get("meter"), 2.0);
}

TEST(the_latency_is_that_of_the_active_plugin)
{
  open_plugin("test.delay");
  ck_assert_uint_eq(calls()->latency(rig.instance), 64);
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][63], 0.0F);
  ck_assert_float_eq(rig.out[0][64], 1.0F);
}

TEST(a_block_that_fails_is_silent)
{
  open_plugin("test.failing");
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 1.0F);
  set("gain", 0.0, 100);
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 0.0F);
  ck_assert_uint_eq(n_reports(CLAP_REPORT_FAILED), 1);
  set("gain", 2.0, 0);
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 2.0F);
}

TEST(a_renewed_instance_has_no_past_but_its_values)
{
  open_plugin("test.nan");
  set("gain", 2.0, 0);
  run(BLOCK);
  ck_assert_float_nan(rig.out[0][0]);
  set("gain", 0.5, 0);
  run(BLOCK);
  ck_assert_float_nan(rig.out[0][0]);
  OK(calls()->renew(rig.instance, &error));
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 0.5F);
}

TEST(a_plugin_knows_that_a_file_is_rendered)
{
  const InstanceSetup offline = { .rate_hz = RATE_HZ, .max_block_frames = BLOCK, .offline = true };
  OK(try_open("test.render", &offline, &error));
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 1.0F);
  calls()->close(rig.instance);
  rig.n_plugins = 0;
  open_plugin("test.render");
  run(BLOCK);
  ck_assert_float_eq(rig.out[0][0], 0.0F);
}

TEST(a_plugin_that_cannot_be_activated_is_refused)
{
  const InstanceSetup setup = { .rate_hz = 44100.0, .max_block_frames = 64 };
  Error error = { 0 };
  ck_assert_int_eq(try_open("test.refusing", &setup, &error), STATUS_LIMIT);
  ck_assert_ptr_null(rig.instance);
  assert_says(error.text, "clap test.refusing does not run at 44100 Hz in blocks of 64 frames");
}

TEST(a_plugin_that_is_not_as_described_is_refused)
{
  const InstanceSetup setup = { .rate_hz = RATE_HZ, .max_block_frames = BLOCK };
  Error error = { 0 };
  ck_assert_int_eq(describe_fixture("fixtures", &error), STATUS_OK);
  Plugin plugin = *find_plugin("test.params");
  --plugin.n_ports;
  ++plugin.ports; // without one input
  ck_assert_int_eq(calls()->open(&plugin, &setup, &rig.instance, &error), STATUS_FILE);
  assert_says(error.text, "fixtures.clap has changed: run warprack scan");
  plugin = *find_plugin("test.gain");
  plugin.source.id = "test.gone";
  ck_assert_int_eq(calls()->open(&plugin, &setup, &rig.instance, &error), STATUS_FILE);
}

TEST(a_file_is_initialised_once)
{
  open_plugin("test.gain");
  Instance* second = NULL;
  const InstanceSetup setup = { .rate_hz = RATE_HZ, .max_block_frames = BLOCK };
  OK(calls()->open(rig.plugin, &setup, &second, &error));
  void* const library = dlopen(rig.path, RTLD_NOW | RTLD_NOLOAD);
  const int* const n_inits = dlsym(library, "fixture_n_inits");
  ck_assert_int_eq(*n_inits, 1);
  calls()->close(second);
}

// ---- threads ----

TEST(timers_descriptors_and_callbacks_run_on_the_main_thread)
{
  open_plugin("test.main");
  run(BLOCK);
  AWAIT((calls()->idle(), run(BLOCK), get("timers") >= 2.0));
  ck_assert_double_eq(get("descriptors"), 1.0);
  ck_assert_double_ge(get("callbacks"), 1.0);
  OK(calls()->renew(rig.instance, &error));
  run(BLOCK);
  ck_assert_double_eq(get("wrong"), 0.0);
  ck_assert_uint_eq(n_reports(CLAP_REPORT_WRONG_THREAD), 0);
}

/// The lines that idle() writes to stderr.
static uint32_t
idle_lines(char* const text, const size_t n_bytes)
{
  FILE* const file = tmpfile();
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  calls()->idle();
  dup2(before, STDERR_FILENO);
  close(before);
  rewind(file);
  const size_t n = fread(text, 1, n_bytes - 1U, file);
  text[n] = '\0';
  fclose(file);
  uint32_t n_lines = 0;
  for (size_t i = 0; i < n; ++i) {
    n_lines += text[i] == '\n';
  }
  return n_lines;
}

TEST(a_call_from_a_wrong_thread_is_refused_and_reported_once)
{
  char text[1024];
  open_plugin("test.threads");
  run(BLOCK);
  ck_assert_double_eq(get("timers"), 0.0);
  ck_assert_uint_eq(n_reports(CLAP_REPORT_WRONG_THREAD), 3);
  ck_assert_uint_eq(n_reports(CLAP_REPORT_CHANGED), 0);
  ck_assert_uint_eq(idle_lines(text, sizeof(text)), 2);
  assert_says(text, "plugin clap test.threads: a word from?another thread\n");
  assert_says(text, "plugin clap test.threads: called the host from a wrong thread");
  run(BLOCK);
  ck_assert_uint_eq(idle_lines(text, sizeof(text)), 1);
}

TEST(a_log_has_an_end)
{
  char text[1024];
  open_plugin("test.threads");
  for (uint32_t i = 0; i < CLAP_MAX_LOG_LINES; ++i) {
    run(1);
    ck_assert_uint_ge(idle_lines(text, sizeof(text)), 1);
  }
  run(1);
  ck_assert_uint_eq(idle_lines(text, sizeof(text)), 1);
  assert_says(text, "wrote more to its log than is shown");
  run(1);
  ck_assert_uint_eq(idle_lines(text, sizeof(text)), 0);
}

TEST(a_restart_that_is_asked_for_is_reported)
{
  open_plugin("test.restless");
  run(BLOCK);
  ck_assert_uint_eq(n_reports(CLAP_REPORT_RESTART), 1);
}

// ---- faults ----

static const char* const steps[] = { "init", "activate", "process", "destroy" };

/// What the fixture for faults does in tests of scans and of worker processes.
TEST_ROWS(a_fixture_crashes_where_it_shall, steps)
{
  char wanted[32];
  snprintf(wanted, sizeof(wanted), "crash %s", steps[row]);
  const pid_t child = fork();
  if (!child) {
    open_plugin("test.fault");
    setenv("CLAP_FIXTURE", wanted, 1);
    run(1);
    calls()->close(rig.instance);
    rig.n_plugins = 0;
    open_plugin("test.fault");
    _exit(0);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

// ---- the same samples as other hosts ----

#define LONG 2048U

/// The input of one row: noise, then silence.
static void
fill(float samples[const LONG], const uint32_t row)
{
  uint32_t seed = row + 1U;
  for (uint32_t f = 0; f < LONG; ++f) {
    seed = seed * 1664525U + 1013904223U;
    samples[f] = f < LONG / 2U ? (float)(seed >> 8U) / 16777216.0F - 0.5F : 0.0F;
  }
}

/// Set the parameters to the defaults of another plugin that has them, too.
static void
set_defaults(Instance* const instance, const Plugin* const plugin, const Plugin* const other)
{
  const InstanceCalls* const of = plugin_format_find(plugin->source.format)->calls;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    for (uint32_t o = 0; o < other->n_ports; ++o) {
      if (plugin->ports[p].type == PORT_CONTROL && other->ports[o].type == PORT_CONTROL &&
          !(plugin->ports[p].flags & PORT_OUTPUT) &&
          !strcmp(plugin->ports[p].symbol, other->ports[o].symbol)) {
        of->set(instance, p, other->ports[o].initial, 0);
      }
    }
  }
}

/// Run a plugin for LONG frames, with the defaults of another one.
static void
run_long(const Plugin* const plugin, const Plugin* const other, const uint32_t block,
         float in[const ROWS][LONG], float out[const ROWS][LONG])
{
  const InstanceCalls* const of = plugin_format_find(plugin->source.format)->calls;
  const InstanceSetup setup = { .rate_hz = RATE_HZ, .max_block_frames = block };
  Instance* instance = NULL;
  OK(of->open(plugin, &setup, &instance, &error));
  set_defaults(instance, plugin, other);
  for (uint32_t done = 0; done < LONG; done += block) {
    const float* from[ROWS];
    float* to[ROWS];
    for (uint32_t r = 0; r < ROWS; ++r) {
      from[r] = &in[r][done];
      to[r] = &out[r][done];
    }
    of->run(instance, from, to, block);
  }
  of->close(instance);
}

static void
compare_with_reference(const Plugin* const plugin, const uint32_t block)
{
  static float in[ROWS][LONG];
  static float out[ROWS][LONG];
  static float reference[ROWS][LONG];
  ReferenceClap work = { plugin->binary, plugin->source.id, RATE_HZ, block, LONG, { 0 }, { 0 } };
  for (uint32_t r = 0; r < ROWS; ++r) {
    fill(in[r], r);
    work.in[r] = in[r];
    work.out[r] = reference[r];
  }
  memset(out, 0, sizeof(out));
  ck_assert_msg(reference_clap(&work), "%s does not run", plugin->source.id);
  run_long(plugin, plugin, block, in, out);
  for (uint32_t r = 0; r < ROWS; ++r) {
    for (uint32_t f = 0; f < LONG; ++f) {
      ck_assert_msg(out[r][f] == reference[r][f],
                    "%s in blocks of %u: row %u, frame %u: %g, not %g", plugin->source.id, block, r,
                    f, out[r][f], reference[r][f]);
    }
  }
}

static const char* const plain[] = { "test.gain", "test.params", "test.delay", "test.main",
                                     "test.render" };

TEST_ROWS(fixtures_sound_as_in_the_reference_host, plain)
{
  OK(describe_fixture("fixtures", &error));
  compare_with_reference(find_plugin(plain[row]), 64);
  compare_with_reference(find_plugin(plain[row]), BLOCK);
}

static const char* const zam[] = {
  "ZaMaximX2", "ZaMultiComp",  "ZaMultiCompX2", "ZamAutoSat", "ZamComp", "ZamCompX2",
  "ZamDelay",  "ZamDynamicEQ", "ZamEQ2",        "ZamGEQ31",   "ZamGate", "ZamGateX2",
  "ZamGrains", "ZamHeadX2",    "ZamPhono",      "ZamTube",    "ZamVerb",
};

/// Describe a file of the system; false if it is not there.
static bool
describe_zam(const char* const name)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof(path), "/usr/lib/clap/%s.clap", name);
  if (access(path, R_OK)) {
    suite_skip("no CLAP plugins of zam-plugins in /usr/lib/clap");
    return false;
  }
  OK(describe(path, &error));
  ck_assert_uint_eq(rig.n_plugins, 1);
  rig.plugin = &rig.plugins[0];
  return true;
}

TEST_ROWS(zam_plugins_sound_as_in_the_reference_host, zam)
{
  if (describe_zam(zam[row])) {
    compare_with_reference(rig.plugin, 64);
    compare_with_reference(rig.plugin, BLOCK);
  }
}

/// The plugins of `zam` that are LADSPA plugins, too.  ZamGrains is not here: as a CLAP plugin it
/// runs as if the rate were 44.1 kHz.
static const char* const twins[] = {
  "ZaMaximX2",    "ZaMultiCompX2", "ZamAutoSat", "ZamComp", "ZamCompX2", "ZamDelay",
  "ZamDynamicEQ", "ZamEQ2",        "ZamGEQ31",   "ZamGate", "ZamGateX2", "ZamTube",
};

static double
energy(const float samples[const LONG])
{
  double sum = 0.0;
  for (uint32_t f = 0; f < LONG; ++f) {
    sum += (double)samples[f] * (double)samples[f];
  }
  return sum;
}

TEST_ROWS(zam_plugins_are_as_loud_as_their_ladspa_twins, twins)
{
  static float in[ROWS][LONG];
  static float out[ROWS][LONG];
  static float twin[ROWS][LONG];
  const PluginFormat* const ladspa = plugin_format_find("ladspa");
  char path[PATH_BYTES];
  snprintf(path, sizeof(path), "/usr/lib/ladspa/%s-ladspa.so", twins[row]);
  if (!ladspa || !ladspa->describe || access(path, R_OK)) {
    suite_skip("no LADSPA plugins of zam-plugins in /usr/lib/ladspa, or no host for them");
  } else if (describe_zam(twins[row])) {
    for (uint32_t r = 0; r < ROWS; ++r) {
      fill(in[r], r);
    }
    OK(ladspa->describe(path, keep_plugin, NULL, &error));
    run_long(&rig.plugins[0], &rig.plugins[0], BLOCK, in, out);
    run_long(&rig.plugins[1], &rig.plugins[0], BLOCK, in, twin);
    const double expected_energy = energy(twin[0]);
    ck_assert_double_gt(expected_energy, 0.0);
    ck_assert_double_eq_tol(energy(out[0]), expected_energy, 1e-6 * expected_energy);
  }
}

SUITE_MAIN_WITH("clap", begin, end)
