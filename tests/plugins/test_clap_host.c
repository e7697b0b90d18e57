// SPDX-License-Identifier: GPL-3.0-or-later
// How CLAP plugins run: samples, changes, threads, faults.

#include "plugins/clap/clap_threads.h"
#include "tests/support/plugins/clap/clap_rig.h"
#include "tests/support/plugin_rig.h"
#include "tests/support/suite.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- sound ----

TEST(a_change_takes_effect_at_its_frame)
{
  clap_rig_open_plugin("test.gain");
  clap_rig_set("gain", 2.0, 0);
  clap_rig_set("gain", 3.0, 17);
  clap_rig_set("gain", 0.5, 255);
  clap_rig_run(CLAP_RIG_BLOCK);
  for (uint32_t f = 0; f < CLAP_RIG_BLOCK; ++f) {
    ck_assert_float_eq(clap_rig.out[0][f], f < 17U ? 2.0F : f < 255U ? 3.0F : 0.5F);
  }
  clap_rig_run(1); // no change is given twice
  ck_assert_float_eq(clap_rig.out[0][0], 0.5F);
  clap_rig_set("gain", 4.0, 0);
  clap_rig_run(1);
  ck_assert_float_eq(clap_rig.out[0][0], 4.0F);
}

TEST(more_changes_than_a_block_has_room_for_keep_the_last_values)
{
  clap_rig_open_plugin("test.gain");
  for (uint32_t i = 0; i <= 2000U; ++i) {
    clap_rig_set("gain", i / 1000.0, i / 10U);
  }
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][200], 2.0F);
  ck_assert_float_eq(clap_rig.out[0][CLAP_RIG_BLOCK - 1U], 2.0F);
  ck_assert_float_gt(clap_rig.out[0][199], 1.98F);
}

TEST(changes_of_several_parameters_survive_a_full_list)
{
  clap_rig_open_plugin("test.params");
  clap_rig_set("low_gain", 1.5, 200);
  for (uint32_t i = 0; i < 1000U; ++i) {
    clap_rig_set("cutoff", 20.0 + i, 210);
  }
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 1.5F); // at the start of the block
}

TEST(an_instance_begins_with_the_initial_values)
{
  clap_rig_open_plugin("test.initial");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 1.0F);
}

TEST(a_plugin_gets_its_channels_and_its_side_chain)
{
  clap_rig_open_plugin("test.params");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 1.0F);
  ck_assert_float_eq(clap_rig.out[1][0], 2.0F + 0.5F * 3.0F);
}

TEST(a_value_that_the_plugin_reports_is_kept)
{
  clap_rig_open_plugin("test.params");
  ck_assert_double_eq(clap_rig_get("meter"), 0.25);
  clap_rig_set("low_gain", 2.0, 0);
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_double_eq(clap_rig_get("meter"), 2.0);
}

TEST(the_latency_is_that_of_the_active_plugin)
{
  clap_rig_open_plugin("test.delay");
  ck_assert_uint_eq(clap_rig_calls()->latency(clap_rig.instance), 64);
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][63], 0.0F);
  ck_assert_float_eq(clap_rig.out[0][64], 1.0F);
}

TEST(a_block_that_fails_is_not_finite_so_that_the_node_is_renewed)
{
  clap_rig_open_plugin("test.failing");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 1.0F);
  clap_rig_set("gain", 0.0, 100);
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_nan(clap_rig.out[0][0]);
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_FAILED), 1);
  clap_rig_set("gain", 2.0, 0);
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 2.0F);
}

TEST(a_renewed_instance_has_no_past_but_its_values)
{
  clap_rig_open_plugin("test.nan");
  clap_rig_set("gain", 2.0, 0);
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_nan(clap_rig.out[0][0]);
  clap_rig_set("gain", 0.5, 0);
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_nan(clap_rig.out[0][0]);
  OK(clap_rig_calls()->renew(clap_rig.instance, &error));
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 0.5F);
}

TEST(an_instance_that_cannot_be_renewed_is_not_finite)
{
  Error error = { 0 };
  clap_rig_open_plugin("test.once");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_int_eq(clap_rig_calls()->renew(clap_rig.instance, &error), STATUS_LIMIT);
  clap_rig_calls()->idle(); // a plugin that is not active is not asked for its latency
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_nan(clap_rig.out[0][0]);
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_FAILED), 1);
}

TEST(a_plugin_knows_that_a_file_is_rendered)
{
  const InstanceSetup offline = { .rate_hz = CLAP_RIG_RATE_HZ,
                                  .max_block_frames = CLAP_RIG_BLOCK,
                                  .offline = true };
  OK(clap_rig_try_open("test.render", &offline, &error));
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 1.0F);
  clap_rig_calls()->close(clap_rig.instance);
  clap_rig_open_plugin("test.render");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 0.0F);
}

// ---- tempo ----

TEST(the_tempo_changes_at_its_frame_and_the_clock_goes_on)
{
  const double beats_of_frame = 1.0 / (60.0 * CLAP_RIG_RATE_HZ);
  clap_rig_open_plugin("test.clock");
  const uint32_t tempo = clap_rig.plugin->n_ports;
  ck_assert(plugin_takes_tempo(clap_rig.plugin));
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 120.0F);
  ck_assert_double_eq(clap_rig_get("signature"), 4.0);
  clap_rig_calls()->set(clap_rig.instance, tempo, 90.0, 0U);
  clap_rig_calls()->set(clap_rig.instance, tempo, 150.0, 17U);
  clap_rig_calls()->set(clap_rig.instance, tempo, 150.0, 18U); // no change
  clap_rig_calls()->set(clap_rig.instance, tempo, 60.0, 200U);
  clap_rig_run(CLAP_RIG_BLOCK);
  for (uint32_t f = 0; f < CLAP_RIG_BLOCK; ++f) {
    ck_assert_float_eq(clap_rig.out[0][f], f < 17U ? 90.0F : f < 200U ? 150.0F : 60.0F);
  }
  const double begin = CLAP_RIG_BLOCK * 120.0 * beats_of_frame;
  const double changed = begin + (17U * 90.0 + 183U * 150.0) * beats_of_frame;
  ck_assert_double_eq_tol(clap_rig_get("beats"), begin, 1e-8);
  ck_assert_double_eq_tol(clap_rig_get("changed"), changed, 1e-8);
  for (uint32_t b = 0; b < 1000U; ++b) {
    clap_rig_run(CLAP_RIG_BLOCK);
  }
  const double beats = changed + (56U + 999U * CLAP_RIG_BLOCK) * 60.0 * beats_of_frame;
  ck_assert_float_eq(clap_rig.out[0][0], 60.0F);
  ck_assert_double_eq_tol(clap_rig_get("beats"), beats, 1e-6);
  ck_assert_double_eq_tol(clap_rig_get("seconds"), 1001.0 * CLAP_RIG_BLOCK / CLAP_RIG_RATE_HZ,
                          1e-8);
  ck_assert_double_eq(clap_rig_get("bar"), floor(beats / 4.0));
  ck_assert_double_eq(clap_rig_get("bar_start"), 4.0 * floor(beats / 4.0));
  OK(clap_rig_calls()->renew(clap_rig.instance, &error));
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][0], 60.0F); // it stays
  ck_assert_double_eq(clap_rig_get("beats"), 0.0);
}

TEST(more_tempos_than_a_block_has_room_for_keep_the_last_one)
{
  clap_rig_open_plugin("test.clock");
  for (uint32_t i = 0; i <= 2000U; ++i) {
    clap_rig_calls()->set(clap_rig.instance, clap_rig.plugin->n_ports, 100.0 + i / 100.0, i / 10U);
  }
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][CLAP_RIG_BLOCK - 1U], 120.0F);
  ck_assert_float_eq(clap_rig.out[0][200], 120.0F);
}

TEST(a_plugin_that_cannot_be_activated_is_refused)
{
  const InstanceSetup setup = { .rate_hz = 44100.0, .max_block_frames = 64 };
  Error error = { 0 };
  ck_assert_int_eq(clap_rig_try_open("test.refusing", &setup, &error), STATUS_LIMIT);
  ck_assert_ptr_null(clap_rig.instance);
  assert_says(error.text, "clap test.refusing does not run at 44100 Hz in blocks of 64 frames");
}

TEST(a_plugin_that_is_not_as_described_is_refused)
{
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ, .max_block_frames = CLAP_RIG_BLOCK };
  Error error = { 0 };
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  Plugin plugin = *plugin_rig_find("test.params");
  --plugin.n_ports;
  ++plugin.ports; // without one input
  ck_assert_int_eq(clap_rig_calls()->open(&plugin, &setup, &clap_rig.instance, &error),
                   STATUS_FILE);
  assert_says(error.text,
              "fixtures.clap has changed since the last scan; run `warprack scan`, and ");
  plugin = *plugin_rig_find("test.gain");
  plugin.origin.id = "test.gone";
  ck_assert_int_eq(clap_rig_calls()->open(&plugin, &setup, &clap_rig.instance, &error),
                   STATUS_FILE);
}

TEST(a_file_is_initialised_once)
{
  clap_rig_open_plugin("test.gain");
  Instance* second = NULL;
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ, .max_block_frames = CLAP_RIG_BLOCK };
  OK(clap_rig_calls()->open(clap_rig.plugin, &setup, &second, &error));
  void* const library = dlopen(clap_rig.plugin->binary, RTLD_NOW | RTLD_NOLOAD);
  const int* const n_inits = dlsym(library, "fixture_n_inits");
  ck_assert_int_eq(*n_inits, 1);
  clap_rig_calls()->close(second);
}

// ---- threads ----

TEST(timers_descriptors_and_callbacks_run_on_the_main_thread)
{
  clap_rig_open_plugin("test.main");
  clap_rig_run(CLAP_RIG_BLOCK);
  AWAIT((clap_rig_calls()->idle(), clap_rig_run(CLAP_RIG_BLOCK), clap_rig_get("timers") >= 2.0));
  ck_assert_double_eq(clap_rig_get("descriptors"), 1.0);
  ck_assert_double_ge(clap_rig_get("callbacks"), 1.0);
  OK(clap_rig_calls()->renew(clap_rig.instance, &error));
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_double_eq(clap_rig_get("right"), 1.0);
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_WRONG_THREAD), 0);
}

TEST(every_instance_gets_its_timers)
{
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ, .max_block_frames = CLAP_RIG_BLOCK };
  clap_rig_open_plugin("test.main");
  Instance* const first = clap_rig.instance;
  Instance* second = NULL;
  OK(clap_rig_calls()->open(clap_rig.plugin, &setup, &second, &error));
  AWAIT((clap_rig_calls()->idle(), clap_rig_run(1), clap_rig_get("timers") >= 1.0));
  clap_rig.instance = second;
  AWAIT((clap_rig_calls()->idle(), clap_rig_run(1), clap_rig_get("timers") >= 1.0));
  clap_rig_calls()->close(second);
  clap_rig.instance = first;
  const double n_before = clap_rig_get("timers");
  AWAIT((clap_rig_calls()->idle(), clap_rig_run(1), clap_rig_get("timers") > n_before));
}

TEST(a_thread_of_the_host_is_none_of_a_plugin)
{
  clap_rig_open_plugin("test.main");
  ck_assert_int_eq(clap_thread(), CLAP_THREAD_OTHER);
  clap_rig_run(1);
  ck_assert_int_eq(clap_thread(), CLAP_THREAD_OTHER);
}

static void
close_instance(void)
{
  clap_rig_calls()->close(clap_rig.instance);
  clap_rig.instance = NULL;
}

/// The lines that a call writes to stderr.
static uint32_t
count_lines(void (*const call)(void), char* const text, const size_t n_bytes)
{
  FILE* const file = tmpfile();
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  call();
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
  clap_rig_open_plugin("test.threads");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_double_eq(clap_rig_get("timers"), 0.0);
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_WRONG_THREAD), 3);
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_CHANGED), 0);
  ck_assert_uint_eq(count_lines(clap_rig_calls()->idle, text, sizeof(text)), 2);
  assert_says(text, "plugin clap test.threads: a word from?another thread\n");
  assert_says(text, "plugin clap test.threads: called the host from a wrong thread");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_uint_eq(count_lines(clap_rig_calls()->idle, text, sizeof(text)), 1);
}

TEST(a_log_has_an_end)
{
  char text[1024];
  clap_rig_open_plugin("test.threads");
  for (uint32_t i = 0; i < CLAP_MAX_LOG_LINES; ++i) {
    clap_rig_run(1);
    ck_assert_uint_ge(count_lines(clap_rig_calls()->idle, text, sizeof(text)), 1);
  }
  clap_rig_run(1);
  ck_assert_uint_eq(count_lines(clap_rig_calls()->idle, text, sizeof(text)), 1);
  assert_says(text, "wrote more to its log than is shown");
  clap_rig_run(1);
  ck_assert_uint_eq(count_lines(clap_rig_calls()->idle, text, sizeof(text)), 0);
}

TEST(a_restart_that_is_asked_for_is_reported_unless_it_comes)
{
  char text[1024];
  clap_rig_open_plugin("test.restless");
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_RESTART), 1);
  ck_assert(clap_rig_calls()->wants_restart(clap_rig.instance));
  OK(clap_rig_calls()->renew(clap_rig.instance, &error));
  ck_assert(!clap_rig_calls()->wants_restart(clap_rig.instance));
  ck_assert_uint_eq(count_lines(clap_rig_calls()->idle, text, sizeof(text)), 0);
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_uint_eq(count_lines(close_instance, text, sizeof(text)), 1);
  assert_says(text, "plugin clap test.restless: asked to be activated again");
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
    clap_rig_open_plugin("test.fault");
    setenv("CLAP_FIXTURE", wanted, 1);
    clap_rig_run(1);
    clap_rig_calls()->close(clap_rig.instance);
    clap_rig_open_plugin("test.fault");
    _exit(0);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

SUITE_MAIN_WITH("clap_host", clap_rig_begin, clap_rig_end)
