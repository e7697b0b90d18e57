// SPDX-License-Identifier: GPL-3.0-or-later
// A LADSPA plugin plays the samples that another host plays, wherever its rows are; a renewed
// instance has its values and no memory.  The fixtures fail as their names say.

#include "tests/support/plugin_rig.h"
#include "tests/support/reference_ladspa.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(controls_begin_at_their_initial_values)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/defaults");
  const PluginRig rig = plugin_rig_open(plugin, 64);
  plugin_rig_play(&rig, 64, 64);
  for (uint32_t p = 1; p < plugin->n_ports; ++p) {
    const double scale = plugin->ports[p].flags & PORT_RATE ? PLUGIN_RIG_RATE : 1.0;
    ck_assert_float_eq(rig.out[0][p - 1U], (float)(plugin->ports[p].initial * scale));
  }
  plugin_rig_close(&rig);
}

TEST(a_renewed_instance_has_its_values_when_it_is_activated)
{
  const PluginRig rig = plugin_rig_open(plugin_rig_ladspa("effects/held"), 64);
  plugin_rig_set(&rig, "Level", 0.5);
  plugin_rig_play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][9], rig.in[0][9]);
  plugin_rig_renew(&rig);
  plugin_rig_play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][9], 0.5F * rig.in[0][9]);
  plugin_rig_close(&rig);
}

TEST(a_value_is_set_for_the_next_run)
{
  const PluginRig rig = plugin_rig_open(plugin_rig_ladspa("effects/controls"), 512);
  plugin_rig_set(&rig, "Value 205", 0.25);
  plugin_rig_play(&rig, 300, 300);
  ck_assert_float_eq(rig.out[0][104], 0.75F);
  ck_assert_float_eq(rig.out[0][105], 0.25F);
  ck_assert_float_eq(rig.out[0][106], 0.75F);
  plugin_rig_close(&rig);
}

TEST(a_value_of_a_range_in_multiples_of_the_rate_is_in_hertz)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/defaults");
  const PluginRig rig = plugin_rig_open(plugin, 64);
  plugin_rig_set(&rig, "Rate low", 1000.0);
  plugin_rig_play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][plugin_rig_port(plugin, "Rate low") - 1U], 1000.0F);
  plugin_rig_close(&rig);
}

TEST(control_outputs_are_read)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/ducker");
  const PluginRig rig = plugin_rig_open(plugin, 64);
  plugin_rig_set(&rig, "Depth (%)", 50.0);
  plugin_rig_play(&rig, 64, 64);
  float most = 0.0F;
  for (uint32_t f = 0; f < 64U; ++f) {
    most = fmaxf(most, 50.0F * fabsf(rig.in[1][f]));
  }
  ck_assert_double_eq_tol(rig.calls->get(rig.instance, 4), most, 1e-4);
  plugin_rig_close(&rig);
}

TEST(channels_are_in_the_order_of_the_ports)
{
  const PluginRig rig = plugin_rig_open(plugin_rig_ladspa("effects/three_to_two"), 64);
  plugin_rig_play(&rig, 64, 64);
  ck_assert_float_eq(rig.out[0][9], rig.in[0][9] + 0.5F * rig.in[2][9]);
  ck_assert_float_eq(rig.out[1][9], rig.in[1][9] + 0.5F * rig.in[2][9]);
  plugin_rig_close(&rig);
}

TEST(the_latency_is_read_after_a_run)
{
  const PluginRig fixed = plugin_rig_open(plugin_rig_ladspa("effects/delay"), 64);
  plugin_rig_play(&fixed, 64, 64);
  ck_assert_uint_eq(fixed.calls->latency(fixed.instance), 64);
  plugin_rig_close(&fixed);

  const PluginRig moving = plugin_rig_open(plugin_rig_ladspa("effects/moving"), 64);
  plugin_rig_set(&moving, "Frames", 3.0);
  plugin_rig_play(&moving, 64, 64);
  ck_assert_uint_eq(moving.calls->latency(moving.instance), 3);
  ck_assert_float_eq(moving.out[0][63], moving.in[0][60]);
  plugin_rig_close(&moving);

  const PluginRig none = plugin_rig_open(plugin_rig_ladspa("effects/gain"), 64);
  plugin_rig_play(&none, 64, 64);
  ck_assert_uint_eq(none.calls->latency(none.instance), 0);
  plugin_rig_close(&none);
}

TEST(a_renewed_instance_has_its_values_and_no_memory)
{
  const PluginRig rig = plugin_rig_open(plugin_rig_ladspa("effects/lowpass"), 64);
  float first[64];
  plugin_rig_set(&rig, "Cutoff [Hz]", 200.0);
  plugin_rig_play(&rig, 64, 64);
  memcpy(first, rig.out[0], sizeof(first));
  plugin_rig_play(&rig, 64, 64);
  ck_assert_int_ne(memcmp(first, rig.out[0], sizeof(first)), 0);
  plugin_rig_renew(&rig);
  plugin_rig_play(&rig, 64, 64);
  ck_assert_mem_eq(first, rig.out[0], sizeof(first));
  plugin_rig_close(&rig);
}

TEST(two_instances_share_nothing)
{
  const Plugin* const plugin = plugin_rig_ladspa("effects/lowpass");
  const PluginRig alone = plugin_rig_open(plugin, 64);
  plugin_rig_play(&alone, 256, 64);
  const PluginRig first = plugin_rig_open(plugin, 64);
  const PluginRig second = plugin_rig_open(plugin, 64);
  plugin_rig_set(&second, "Cutoff [Hz]", 5000.0);
  plugin_rig_play(&second, 256, 64);
  plugin_rig_play(&first, 256, 64);
  ck_assert_mem_eq(alone.out[0], first.out[0], 256U * sizeof(float));
  plugin_rig_close(&alone);
  plugin_rig_close(&second);
  plugin_rig_close(&first);
}

TEST(a_library_that_has_changed_is_refused)
{
  Error error = { STATUS_OK, "" };
  PluginRig rig;
  Plugin plugin = *plugin_rig_ladspa("effects/gain");
  plugin.n_ports = 2;
  ck_assert_int_eq(plugin_rig_try(&rig, &plugin, 64, &error), STATUS_FILE);
  assert_says(error.text, "has changed since the last scan; run `warprack scan`, and ");
  PluginPort ports[3];
  plugin = *plugin_rig_ladspa("effects/gain");
  memcpy(ports, plugin.ports, sizeof(ports));
  ports[2].flags |= PORT_OUTPUT;
  plugin.ports = ports;
  ck_assert_int_eq(plugin_rig_try(&rig, &plugin, 64, &error), STATUS_FILE);
  ports[2] = plugin.ports[0];
  ck_assert_int_eq(plugin_rig_try(&rig, &plugin, 64, &error), STATUS_FILE);
  plugin = *plugin_rig_ladspa("effects/gain");
  plugin.origin.id = "effects/gone";
  ck_assert_int_eq(plugin_rig_try(&rig, &plugin, 64, &error), STATUS_FILE);
  plugin.binary = "/nowhere/effects.so";
  ck_assert_int_eq(plugin_rig_try(&rig, &plugin, 64, &error), STATUS_FILE);
  assert_says(error.text, "/nowhere/effects.so");
}

TEST(a_plugin_that_makes_no_instance_is_refused)
{
  Error error = { STATUS_OK, "" };
  PluginRig rig;
  ck_assert_int_eq(plugin_rig_try(&rig, plugin_rig_ladspa("broken/no_instance"), 64, &error),
                   STATUS_LIMIT);
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
  const PluginRig rig = plugin_rig_open(plugin_rig_ladspa(id), 64);
  plugin_rig_play(&rig, 64, 64);
  plugin_rig_close(&rig);
}

static void
load(const char* const fault)
{
  setenv("WARPRACK_FIXTURE", fault, true);
  plugin_rig_describe("ladspa", plugin_rig_ladspa_path("faults"));
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
  const PluginRig rig = plugin_rig_open(plugin_rig_ladspa("faults/nan"), 64);
  plugin_rig_set(&rig, "After", 2.0);
  plugin_rig_play(&rig, 192, 64);
  ck_assert_mem_eq(rig.out[0], rig.in[0], 128U * sizeof(float));
  ck_assert(isnan(rig.out[0][128]));
  plugin_rig_close(&rig);
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

/// Whether a plugin is one of the tests' own.
static bool
is_fixture(const char* const id)
{
  return !strncmp(id, "effects/", 8) || !strncmp(id, "faults/", 7);
}

/// The path of a compared plugin's library; NULL if it is not installed.
static const char*
library_of(const char* const id)
{
  static char path[512];
  char file[64];
  snprintf(file, sizeof(file), "%.*s", (int)strcspn(id, "/"), id);
  snprintf(path, sizeof(path), "/usr/lib/ladspa/%s.so", file);
  return is_fixture(id) ? plugin_rig_ladspa_path(file) : access(path, R_OK) == 0 ? path : NULL;
}

/// The initial value, or a value inside the range.
static float
choose_value(const PluginPort* const port, const bool is_initial)
{
  const double rate_hz = port->flags & PORT_RATE ? PLUGIN_RIG_RATE : 1.0;
  const double inside = port->min + 0.37 * (port->max - port->min);
  const double value = is_initial                                    ? port->initial
                       : port->flags & (PORT_INTEGER | PORT_TOGGLED) ? ceil(inside)
                                                                     : inside;
  return (float)(value * rate_hz);
}

/// Set all control inputs of both hosts.
static void
choose_values(const PluginRig* const rig, const ReferenceLadspa* const reference,
              const bool is_initial)
{
  for (uint32_t p = 0; p < rig->plugin->n_ports; ++p) {
    const PluginPort* const port = &rig->plugin->ports[p];
    if (plugin_rig_is_input(port, PORT_CONTROL)) {
      reference->values[p] = choose_value(port, is_initial);
      rig->calls->set(rig->instance, p, reference->values[p], 0);
    }
  }
}

static void
compare_samples(const PluginRig* const rig, const ReferenceLadspa* const reference)
{
  for (uint32_t o = 0; o < rig->n_out; ++o) {
    for (uint32_t f = 0; f < PLUGIN_RIG_FRAMES; ++f) {
      ck_assert_msg(!memcmp(&rig->out[o][f], &reference->out[o][f], sizeof(float)),
                    "%s, blocks of %u: output %u, frame %u is %.9g instead of %.9g",
                    rig->plugin->origin.id, reference->block_frames, o, f, (double)rig->out[o][f],
                    (double)reference->out[o][f]);
    }
  }
  for (uint32_t p = 0; p < rig->plugin->n_ports; ++p) {
    if (plugin_rig_is_output(&rig->plugin->ports[p], PORT_CONTROL)) {
      const float value = (float)rig->calls->get(rig->instance, p);
      ck_assert_mem_eq(&value, &reference->values[p], sizeof(float));
    }
  }
}

static void
compare(const Plugin* const plugin, const uint32_t block_frames, const bool is_initial)
{
  const PluginRig rig = plugin_rig_open(plugin, block_frames);
  float** const out = plugin_rig_take(rig.n_out, sizeof(float*));
  const ReferenceLadspa reference = {
    .path = plugin->binary,
    .label = strchr(plugin->origin.id, '/') + 1,
    .rate_hz = (unsigned long)PLUGIN_RIG_RATE,
    .block_frames = block_frames,
    .n_frames = PLUGIN_RIG_FRAMES,
    .n_in = rig.n_in,
    .in = rig.in,
    .out = out,
    .values = plugin_rig_take(plugin->n_ports, sizeof(float)),
  };
  for (uint32_t o = 0; o < rig.n_out; ++o) {
    out[o] = plugin_rig_take(PLUGIN_RIG_FRAMES, sizeof(float));
  }
  choose_values(&rig, &reference, is_initial);
  plugin_rig_renew(&rig); // some plugins read values only when they are activated
  plugin_rig_play(&rig, PLUGIN_RIG_FRAMES, block_frames);
  const char* const why = reference_ladspa_play(&reference);
  ck_assert_msg(!why, "%s: %s", plugin->origin.id, why);
  compare_samples(&rig, &reference);
  plugin_rig_close(&rig);
}

TEST_ROWS(the_samples_are_those_of_another_host, compared)
{
  const char* const path = library_of(compared[row]);
  if (!is_fixture(compared[row]) && skip_sanitized("it finds faults in installed plugins, too")) {
    return;
  }
  if (!path) {
    char why[128];
    snprintf(why, sizeof(why), "%s is not installed", compared[row]);
    suite_skip(why);
    return;
  }
  plugin_rig_describe("ladspa", path);
  const Plugin* const plugin = plugin_rig_find(compared[row]);
  ck_assert_str_eq(plugin->fault, "");
  for (uint32_t s = 0; s < 4U; ++s) {
    compare(plugin, s & 1U ? 64U : 256U, s & 2U);
  }
}

SUITE_MAIN("ladspa_host")
