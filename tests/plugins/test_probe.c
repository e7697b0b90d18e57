// SPDX-License-Identifier: GPL-3.0-or-later
// A probe finds each property that a plugin has, and none that it has not; a plugin that crashes or
// hangs costs itself only, and the report says what it was doing.

#include "plugins/probe/probe.h"
#include "plugins/scan/scan.h"
#include "tests/support/sanitized.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOME_MS 500U // limit for plugins that hang

static Catalogue* catalogue;
static Arena arena;

// ---- probes ----

static void
use(const char* const variable, const char* const fixtures)
{
  setenv(variable, fixtures, 1);
}

static void
scan(const Catalogue* const old)
{
  const ScanRequest request = { .old = old };
  ScanCounts counts;
  char* text = NULL;
  size_t n_bytes = 0;
  OK(scan_run(&request, &text, &n_bytes, &counts, &error));
  OK(catalogue_new(text, n_bytes, &catalogue, &error));
}

static void
start(void)
{
  use("LADSPA_PATH", getenv("WARPRACK_LADSPA_FIXTURES"));
  scan(NULL);
}

static void
stop(void)
{
  catalogue_free(catalogue);
  catalogue = NULL;
  arena_clear(&arena);
  arena = (Arena){ .chunks = NULL };
}

static uint32_t
entry_of(const char* const id)
{
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  uint32_t e = 0;
  while (e < n && strcmp(entries[e].id, id) != 0) {
    ++e;
  }
  ck_assert_msg(e < n, "no plugin %s", id);
  return e;
}

/// Probe some plugins, whose reports the catalogue has from now on.
static void
probe_all(const char* const* const ids, const uint32_t n_ids, const uint32_t limit_ms)
{
  uint32_t entries[8];
  for (uint32_t i = 0; i < n_ids; ++i) {
    entries[i] = entry_of(ids[i]);
  }
  const ProbeRequest request = {
    .catalogue = catalogue, .entries = entries, .n_entries = n_ids, .limit_ms = limit_ms
  };
  char* text = NULL;
  size_t n_bytes = 0;
  Catalogue* newer = NULL;
  OK(probe_run(&request, &text, &n_bytes, &error));
  OK(catalogue_new(text, n_bytes, &newer, &error));
  catalogue_free(catalogue);
  catalogue = newer;
}

/// The plugin with its report, or without if it has none; lives until the test ends.
static const Plugin*
plugin_of_id(const char* const id)
{
  catalogue_use(catalogue);
  catalogue = NULL;
  const Plugin* plugin = NULL;
  const char* const slash = strchr(id, '/');
  const char* const format = slash ? "ladspa" : strncmp(id, "test.", 5) ? "lv2" : "clap";
  OK(catalogue_find_plugin(format, id, &plugin, &error));
  return plugin;
}

static const Plugin*
probed(const char* const id)
{
  probe_all(&id, 1, 0);
  const Plugin* const plugin = plugin_of_id(id);
  ck_assert_ptr_nonnull(plugin->report);
  return plugin;
}

static const PluginReport*
good_report(const char* const id)
{
  const PluginReport* const report = probed(id)->report;
  ck_assert_str_eq(report->fault, "");
  return report;
}

// ---- samples ----

static const struct {
  const char* id;
  bool runs_differ, blocks_differ, moves_differ;
  ReportPromise promise;
} samples[] = {
  { "effects/gain", false, false, false, REPORT_EXACT },
  { "effects/lowpass", false, false, false, REPORT_EXACT },
  { "samples/random", true, true, true, REPORT_NOTHING },
  { "samples/blocks", false, true, true, REPORT_NOTHING },
  { "samples/glides", false, false, true, REPORT_SPLITS },
};

TEST_ROWS(a_report_says_what_changes_the_samples, samples)
{
  const Plugin* const plugin = probed(samples[row].id);
  const PluginReport* const report = plugin->report;
  ck_assert_str_eq(report->fault, "");
  ck_assert_msg((report->run_error > REPORT_SAME) == samples[row].runs_differ, "runs: %g",
                report->run_error);
  ck_assert_msg((report->move_error > REPORT_SAME) == samples[row].moves_differ, "moves: %g",
                report->move_error);
  ck_assert_msg((report->block_error > REPORT_SAME) == samples[row].blocks_differ, "blocks: %g",
                report->block_error);
  ck_assert_int_eq(report_promise(report), samples[row].promise);
}

// ---- latency, tail ----

TEST(a_report_has_the_latency_and_what_moves_it)
{
  const Plugin* const plugin = probed("effects/moving");
  ck_assert_uint_eq(plugin->report->latency_frames, 100);
  ck_assert_uint_eq(plugin->report->n_moving, 1);
  const int frames = fx_param_find(&plugin->fx, "frames");
  ck_assert(plugin->fx.params[frames].structural);
  ck_assert_uint_eq(plugin->report->moving[0], (uint32_t)plugin->param_ports[frames]);
}

TEST(a_parameter_that_moves_the_latency_while_switches_are_on_is_found)
{
  const Plugin* const plugin = probed("samples/masked");
  ck_assert_uint_eq(plugin->report->latency_frames, 0);
  ck_assert(plugin->fx.params[fx_param_find(&plugin->fx, "frames")].structural);
}

TEST(no_parameter_moves_a_latency_that_stays)
{
  const PluginReport* const report = good_report("effects/delay");
  ck_assert_uint_eq(report->latency_frames, 64);
  ck_assert_uint_eq(report->n_moving, 0);
  ck_assert_uint_ge(report->tail_frames, 60); // the last frames of the noise may be low
  ck_assert_uint_le(report->tail_frames, 64);
}

// ---- remarks ----

static const struct {
  const char* id;
  uint32_t flags;
  bool allocates, locks, starts_threads;
} remarks[] = {
  { "effects/gain", REPORT_NO_FLAGS, false, false, false },
  { "faults/writes_input", REPORT_WRITES_INPUT, false, false, false },
  { "faults/nan", REPORT_NAN, false, false, false },
  { "faults/allocates", REPORT_NO_FLAGS, true, false, false },
  { "faults/locks", REPORT_NO_FLAGS, false, true, false },
  { "faults/starts_threads", REPORT_NO_FLAGS, false, false, true },
};

TEST_ROWS(a_report_has_what_a_plugin_must_not_do, remarks)
{
  if (remarks[row].starts_threads && skip_sanitized("its memory for threads exceeds the limit")) {
    return;
  }
  const PluginReport* const report = good_report(remarks[row].id);
  ck_assert_uint_eq(report->flags, remarks[row].flags);
  ck_assert_int_eq(report->n_allocations > 0, remarks[row].allocates);
  ck_assert_int_eq(report->n_locks > 0, remarks[row].locks);
  ck_assert_int_eq(report->n_threads > 0, remarks[row].starts_threads);
}

TEST(a_report_says_that_a_plugin_prints)
{
  ck_assert_uint_eq(good_report("faults/prints")->flags, REPORT_PRINTS);
}

TEST(a_report_has_the_memory_of_an_instance)
{
  ck_assert_uint_ge(good_report("samples/large")->n_bytes, UINT64_C(8) << 20U);
  stop();
  start();
  ck_assert_uint_lt(good_report("effects/gain")->n_bytes, UINT64_C(1) << 20U);
}

// ---- faults ----

static const struct {
  const char *id, *fault;
} faults[] = {
  { "faults/segv_instantiate", "crashed (SIGSEGV) while it was opened" },
  { "faults/abort_run", "crashed (SIGABRT) while it was opened" },
  { "faults/exit_activate", "ended the process with code 0 while it was opened" },
  { "faults/hang_run", "took too long while it was opened" },
  { "samples/divides", "crashed (SIGABRT) with a parameter at an end of its range" },
};

TEST(a_plugin_that_ends_the_probe_costs_itself_only)
{
  const char* ids[ARRAY_LEN(faults) + 1U];
  for (uint32_t f = 0; f < ARRAY_LEN(faults); ++f) {
    ids[f] = faults[f].id;
  }
  ids[ARRAY_LEN(faults)] = "effects/gain";
  probe_all(ids, ARRAY_LEN(ids), SOME_MS);
  catalogue_use(catalogue);
  catalogue = NULL;
  for (uint32_t f = 0; f <= ARRAY_LEN(faults); ++f) {
    const Plugin* plugin = NULL;
    OK(catalogue_find_plugin("ladspa", ids[f], &plugin, &error));
    ck_assert_ptr_nonnull(plugin->report);
    ck_assert_str_eq(plugin->report->fault, f < ARRAY_LEN(faults) ? faults[f].fault : "");
    ck_assert_int_eq(report_promise(plugin->report),
                     f < ARRAY_LEN(faults) ? REPORT_NOTHING : REPORT_EXACT);
  }
}

// ---- the catalogue ----

TEST(a_second_probe_replaces_the_report)
{
  static const char* const id[] = { "effects/gain" };
  probe_all(id, 1, 0);
  uint32_t n = 0;
  ck_assert(catalogue_entries(catalogue, &n)[entry_of(id[0])].has_report);
  probe_all(id, 1, 0);
  ck_assert_str_eq(plugin_of_id(id[0])->report->fault, "");
}

TEST(a_scan_keeps_reports_unless_all_is_described_again)
{
  static const char* const id[] = { "effects/gain" };
  probe_all(id, 1, 0);
  Catalogue* const old = catalogue;
  use("LADSPA_PATH", getenv("WARPRACK_LADSPA_FIXTURES"));
  scan(old);
  uint32_t n = 0;
  ck_assert(catalogue_entries(catalogue, &n)[entry_of(id[0])].has_report);
  TextBuffer text = { .bytes = NULL };
  Catalogue* fresh = NULL;
  const ScanRequest request = { .everything = true };
  ScanCounts counts;
  char* bytes = NULL;
  size_t n_bytes = 0;
  OK(scan_run(&request, &bytes, &n_bytes, &counts, &error));
  OK(catalogue_new(bytes, n_bytes, &fresh, &error));
  ck_assert(!catalogue_entries(fresh, &n)[entry_of(id[0])].has_report);
  OK(catalogue_keep_reports(&text, fresh, old)); // the descriptions are the same
  catalogue_free(old);
  catalogue_free(fresh);
  catalogue_free(catalogue);
  const size_t n_text = text.n;
  OK(catalogue_new(text_buffer_take(&text), n_text, &catalogue, &error));
  ck_assert(catalogue_entries(catalogue, &n)[entry_of(id[0])].has_report);
}

// ---- other formats ----

static const struct {
  const char *fixtures, *variable, *id;
  uint32_t latency_frames;
} formats[] = {
  { "WARPRACK_LV2_FIXTURES", "LV2_PATH", "urn:warprack:gain", 0 },
  { "WARPRACK_LV2_FIXTURES", "LV2_PATH", "urn:warprack:ducker", 0 },
  { "WARPRACK_CLAP_FIXTURES", "CLAP_PATH", "test.gain", 0 },
  { "WARPRACK_CLAP_FIXTURES", "CLAP_PATH", "test.delay", 64 },
};

TEST_ROWS(plugins_of_other_formats_are_probed, formats)
{
  const char* const folder = getenv(formats[row].fixtures);
  if (!folder) {
    suite_skip("a format that this build has not");
    return;
  }
  catalogue_free(catalogue);
  char path[512]; // a bundle of LV2 is a folder
  const bool is_bundle = !strcmp(formats[row].variable, "LV2_PATH");
  snprintf(path, sizeof(path), "%s%s", folder, is_bundle ? "/.." : "");
  use(formats[row].variable, path);
  scan(NULL);
  const PluginReport* const report = good_report(formats[row].id);
  ck_assert_int_eq(report_promise(report), REPORT_EXACT);
  ck_assert_uint_eq(report->latency_frames, formats[row].latency_frames);
}

// ---- plugins of Debian ----

static const struct {
  const char *file, *id;
  ReportPromise promise;
  bool allocates;
} debian[] = {
  { "amp_1181.so", "amp_1181/amp", REPORT_EXACT, false },
  { "lowpass_iir_1891.so", "lowpass_iir_1891/lowpass_iir", REPORT_EXACT, false },
  { "mbeq_1197.so", "mbeq_1197/mbeq", REPORT_EXACT, true },
  { "alias_1407.so", "alias_1407/alias", REPORT_NOTHING, false }, // counts runs
  { "decay_1886.so", "decay_1886/decay", REPORT_SPLITS, false },  // glides in a run
  { "caps.so", "caps/White", REPORT_NOTHING, false },             // noise
  { "tap_reverb.so", "tap_reverb/tap_reverb", REPORT_EXACT, false },
};

TEST_ROWS(plugins_of_debian_have_the_known_properties, debian)
{
  if (skip_sanitized("it finds faults in installed plugins, too")) {
    return;
  }
  char path[256];
  snprintf(path, sizeof(path), "/usr/lib/ladspa/%s", debian[row].file);
  if (access(path, R_OK)) {
    suite_skip("without swh-plugins, caps and tap-plugins");
    return;
  }
  SCOPED(scratch_remove) Scratch folder = scratch_new();
  ck_assert_int_eq(symlink(path, scratch_path(&folder, debian[row].file)), 0);
  catalogue_free(catalogue);
  use("LADSPA_PATH", folder.directory);
  scan(NULL);
  const PluginReport* const report = good_report(debian[row].id);
  ck_assert_int_eq(report_promise(report), debian[row].promise);
  ck_assert_int_eq(report->n_allocations > 0, debian[row].allocates);
  ck_assert_uint_eq(report->flags, REPORT_NO_FLAGS);
}

SUITE_MAIN_WITH("probe", start, stop)
