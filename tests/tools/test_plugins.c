// SPDX-License-Identifier: GPL-3.0-or-later
// The commands for plugins, on a folder that changes: scan, list plugins and info show the plugins
// in it, and report those with a fault.

#include "engine/base/text.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Scratch folder; ///< LADSPA_PATH
static Scratch cache;  ///< XDG_CACHE_HOME

/// Put a library of fixtures into the folder.
static void
put(const char* const name)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/%s", getenv("WARPRACK_LADSPA_FIXTURES"), name);
  ck_assert_int_eq(symlink(path, scratch_path(&folder, name)), 0);
}

/// Put a library that cannot be loaded into the folder.
static void
put_bad(const char* const name)
{
  scratch_write(&folder, name, "no library", 10);
}

static void
start(void)
{
  folder = scratch_new();
  cache = scratch_new();
  setenv("LADSPA_PATH", folder.directory, 1);
  setenv("XDG_CACHE_HOME", cache.directory, 1);
}

static void
stop(void)
{
  program_clear(&program);
  char line[256];
  snprintf(line, sizeof(line), "rm -rf %s/warprack", cache.directory);
  ck_assert_int_eq(system(line), 0);
  scratch_remove(&cache);
  scratch_remove(&folder);
}

/// Run the program, whose stdout is one JSON document; free it with json_decref().
#define RUN_JSON(json, ...)                                                                        \
  do {                                                                                             \
    RUN_GOOD(__VA_ARGS__);                                                                         \
    (json) = json_loads(program.out, 0, NULL);                                                     \
    ck_assert_msg((json) != NULL, "no JSON: %s", program.out);                                     \
  } while (0)

static const char*
member(const json_t* const object, const char* const key)
{
  const char* const text = json_string_value(json_object_get(object, key));
  ck_assert_msg(text != NULL, "no text '%s'", key);
  return text;
}

TEST(scan_counts_the_bundles_and_names_what_failed)
{
  put("effects.so");
  put_bad("bad.so");
  RUN_GOOD("scan");
  assert_says(program.out, "/bad.so: ");
  assert_says(program.out, "2 bundles: 2 described, 0 unchanged, 1 failed\n");
  RUN_GOOD("scan");
  assert_says(program.out, "/bad.so: ");
  assert_says(program.out, "2 bundles: 0 described, 2 unchanged, 1 failed\n");
  RUN_GOOD("scan", "--all");
  assert_says(program.out, "2 bundles: 2 described, 0 unchanged, 1 failed\n");
}

TEST(scan_prints_json)
{
  put("effects.so");
  put_bad("bad.so");
  json_t* report;
  RUN_JSON(report, "scan", "--json");
  ck_assert_int_eq(json_integer_value(json_object_get(report, "bundles")), 2);
  ck_assert_int_eq(json_integer_value(json_object_get(report, "described")), 2);
  const json_t* const of_format = json_object_get(json_object_get(report, "plugins"), "ladspa");
  ck_assert_int_gt(json_integer_value(of_format), 1);
  const json_t* const failed = json_object_get(report, "failed");
  ck_assert_uint_eq(json_array_size(failed), 1);
  assert_says(member(json_array_get(failed, 0), "path"), "/bad.so");
  ck_assert_str_ne(member(json_array_get(failed, 0), "fault"), "");
  json_decref(report);
}

/// Number of reports in the catalogue, which is in the folder of `cache`.
static unsigned
count_reports(void)
{
  RUN_GOOD("list", "plugins");
  char line[256];
  snprintf(line, sizeof(line), "grep -c ^report %s/warprack/plugins-*.txt", cache.directory);
  FILE* const pipe = popen(line, "r");
  unsigned n = 0;
  ck_assert_int_eq(fscanf(pipe, "%u", &n), 1);
  pclose(pipe);
  return n;
}

TEST(scan_probes_each_plugin_once)
{
  put("effects.so");
  RUN_GOOD("info", "ladspa", "effects/moving");
  assert_says(program.out, "probed      not yet; `warprack scan --probe`");
  RUN_GOOD("scan", "--probe");
  assert_says(program.out, " play the same samples live and offline");
  const unsigned n_effects = count_reports();
  ck_assert_uint_gt(n_effects, 5);
  RUN_GOOD("info", "ladspa", "effects/moving");
  assert_says(program.out, "latency     100 frames; changes with frames\n");
  assert_says(program.out, "a change cross-fades to a new node");
  RUN_GOOD("info", "ladspa", "effects/gain");
  assert_says(program.out, "samples     the same live and offline, with blocks of any length\n");
  put("samples.so");
  RUN_GOOD("scan");
  ck_assert_uint_eq(count_reports(), n_effects); // kept
  RUN_GOOD("scan", "--probe");
  assert_says(program.out, "ladspa \"samples/divides\" could not be probed: crashed (SIGABRT)");
  ck_assert_uint_gt(count_reports(), n_effects);
  RUN_GOOD("info", "ladspa", "samples/blocks");
  assert_says(program.out, "samples     not promised: they depend on the lengths of blocks\n");
  RUN_GOOD("info", "ladspa", "samples/divides");
  assert_says(program.out,
              "probe       crashed (SIGABRT) with a parameter at an end of its range\n");
  json_t* plugin;
  RUN_JSON(plugin, "info", "--json", "ladspa", "samples/random");
  const json_t* const report = json_object_get(plugin, "report");
  ck_assert(json_is_false(json_object_get(report, "same_samples")));
  ck_assert_double_gt(json_number_value(json_object_get(report, "run_error")), 0.01);
  json_decref(plugin);
}

TEST(check_probes_the_plugins_of_the_rack)
{
  put("effects.so");
  put("samples.so");
  RUN_GOOD("scan");
  RUN_GOOD("check", "ladspa effects/gain | blocks: ladspa samples/blocks | gain 0dB");
  assert_says(program.err, "warprack check: measures 2 new plugins\n");
  assert_says(program.out, "# plugin gain: ");
  assert_says(program.out, "; samples the same live and offline\n");
  assert_says(program.out, "; samples not promised: they depend on the lengths of blocks\n");
  ck_assert_uint_eq(count_reports(), 2);
  RUN_GOOD("check", "ladspa effects/gain | blocks: ladspa samples/blocks");
  ck_assert_str_eq(program.err, "");
  RUN_GOOD("check", "ladspa samples/divides");
  assert_says(program.out, "# plugin divides: samples not promised: it could not be probed: it "
                           "crashed (SIGABRT) with a parameter at an end of its range\n");
  json_t* rack;
  RUN_JSON(rack, "check", "--json", "blocks: ladspa samples/blocks");
  const json_t* const node = json_array_get(json_object_get(rack, "plugins"), 0);
  ck_assert_str_eq(member(node, "node"), "blocks");
  ck_assert(json_is_false(json_object_get(node, "missing")));
  ck_assert(json_is_false(json_object_get(json_object_get(node, "report"), "same_samples")));
  json_decref(rack);
}

TEST(a_catalogue_that_cannot_be_written_fails_the_scan_only)
{
  put("effects.so");
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  RUN("scan");
  program_expect_end(5, "", "XDG_CACHE_HOME");
  RUN_GOOD("list", "plugins");
  assert_says(program.out, "effects/gain");
  assert_says(program.err, "XDG_CACHE_HOME");
}

TEST(two_scans_at_once_leave_a_catalogue)
{
  static const char* const words[] = { "scan", "--all", NULL };
  put("effects.so");
  Program other = { .pid = 0 };
  program_start(&other, words);
  program_start(&program, words);
  program_wait(&other);
  program_wait(&program);
  ck_assert_int_eq(other.exit_code, 0);
  ck_assert_int_eq(program.exit_code, 0);
  program_clear(&other);
  RUN_GOOD("list", "plugins");
  ck_assert_str_eq(program.err, "");
}

TEST(list_plugins_scans_when_the_plugins_changed)
{
  RUN_GOOD("list", "plugins");
  ck_assert_str_eq(program.out, "");
  ck_assert_str_eq(program.err, "warprack list: no plugins here\n");
  put("effects.so");
  RUN_GOOD("list", "plugins");
  assert_says(program.out, "effects/gain");
  ck_assert_str_eq(program.err, "warprack list: plugins are new, changed or gone; scanning\n");
  RUN_GOOD("list", "plugins");
  assert_says(program.out, "effects/gain");
  ck_assert_str_eq(program.err, "");
  unlink(scratch_path(&folder, "effects.so"));
  RUN_GOOD("list", "plugins");
  ck_assert_str_eq(program.out, "");
}

/// Replace a library by a copy, as an update of its package does.
static void
update(const char* const name)
{
  char line[1024];
  snprintf(line, sizeof(line), "cp -L '%s/%s' '%s/new' && mv '%s/new' '%s/%s'",
           getenv("WARPRACK_LADSPA_FIXTURES"), name, folder.directory, folder.directory,
           folder.directory, name);
  ck_assert_int_eq(system(line), 0);
}

/// The name of the only file in the folder of the catalogue.
static const char*
catalogue_name(void)
{
  static char name[NAME_MAX + 1];
  DIR* const entries = opendir(scratch_path(&cache, "warprack"));
  ck_assert_ptr_nonnull(entries);
  for (const struct dirent* entry = NULL; (entry = readdir(entries));) {
    if (entry->d_name[0] != '.') {
      snprintf(name, sizeof(name), "%s", entry->d_name);
    }
  }
  closedir(entries);
  return name;
}

#define SCANNING "warprack check: plugins are new, changed or gone; scanning\n"

TEST(check_renews_the_catalogue_if_the_rack_has_plugins)
{
  update("effects.so");
  RUN_GOOD("check", "ladspa gain");
  assert_says(program.err, SCANNING);
  RUN_GOOD("check", "ladspa gain");
  ck_assert_ptr_null(strstr(program.err, SCANNING));
  update("effects.so");
  RUN_GOOD("check", "ladspa gain");
  assert_says(program.err, SCANNING);
}

TEST(a_catalogue_of_another_version_is_renewed)
{
  static const char old[] = "warprack-plugins\t1\t0.0\n";
  char name[NAME_MAX + 16];
  update("effects.so");
  RUN_GOOD("scan");
  snprintf(name, sizeof(name), "warprack/%s", catalogue_name());
  scratch_write(&cache, name, old, strlen(old));
  RUN_GOOD("check", "ladspa gain");
  assert_says(program.err, SCANNING);
}

TEST(a_rack_whose_plugin_is_missing_is_refused_or_bypassed)
{
  static const char rack[] = "a: ladspa tap_x/tap_x 1 b=2 | gain -3dB";
  put("effects.so");
  RUN("check", rack);
  program_expect_end(2, "",
                     "no ladspa plugin \"tap_x/tap_x\"; Debian has it in the package tap-plugins");
  RUN("check", "--missing", "refuse", rack);
  program_expect_end(2, "", "no ladspa plugin \"tap_x/tap_x\"");
  RUN_GOOD("check", "--missing", "bypass", rack);
  assert_says(program.out, "add a ladspa tap_x/tap_x 1 b=2\n");
  assert_says(program.out, "# warning: a only passes its input on: no ladspa plugin");
  RUN_GOOD("check", "--missing", "bypass", "ladspa gain");
  ck_assert_ptr_null(strstr(program.out, "# warning"));
  json_t* report;
  RUN_JSON(report, "check", "--json", "--missing", "bypass", rack);
  const json_t* const node = json_array_get(json_object_get(report, "plugins"), 0);
  ck_assert_str_eq(member(node, "node"), "a");
  ck_assert(json_is_true(json_object_get(node, "missing")));
  json_decref(report);
}

TEST(a_rack_without_plugins_scans_nothing)
{
  update("effects.so");
  RUN_GOOD("check", "gain -3dB");
  ck_assert_str_eq(program.err, "");
  RUN("check", "gian -3dB");
  program_expect_end(2, "", "did you mean \"gain\"?");
  ck_assert_ptr_null(strstr(program.err, "scanning"));
  ck_assert_int_ne(access(scratch_path(&cache, "warprack"), F_OK), 0);
}

TEST(a_rack_has_its_plugins_although_the_catalogue_cannot_be_written)
{
  put("effects.so");
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  RUN_GOOD("check", "ladspa gain");
  assert_says(program.out, "gain");
  assert_says(program.err, "set XDG_CACHE_HOME");
}

TEST(list_plugins_says_that_no_plugin_has_the_words)
{
  put("effects.so");
  RUN_GOOD("list", "plugins", "zzz");
  ck_assert_str_eq(program.out, "");
  assert_says(program.err, "no plugin has this word; `warprack list plugins` shows all");
  RUN_GOOD("list", "plugins", "zzz", "gain");
  assert_says(program.err, "no plugin has all these words");
}

TEST(scan_names_the_folders_that_it_leaves_out)
{
  setenv("LV2_PATH", "relative:/nowhere", 1);
  RUN_GOOD("scan");
  assert_says(program.err, "LV2_PATH: \"relative\" is left out");
}

TEST(list_plugins_finds_all_words_in_any_case)
{
  put("effects.so");
  json_t* rows;
  RUN_JSON(rows, "list", "plugins", "--json", "GAIN", "effects/");
  ck_assert_uint_eq(json_array_size(rows), 1);
  ck_assert_str_eq(member(json_array_get(rows, 0), "id"), "effects/gain");
  ck_assert_str_eq(member(json_array_get(rows, 0), "short_name"), "gain");
  ck_assert_str_eq(member(json_array_get(rows, 0), "format"), "ladspa");
  json_decref(rows);
  RUN_JSON(rows, "list", "plugins", "--json", "gain", "nothing");
  ck_assert_uint_eq(json_array_size(rows), 0);
  json_decref(rows);
}

/// Number of rows with a fault among those of plugins, or of bundles.
static unsigned
count_faults(const json_t* const rows, const bool of_bundles)
{
  unsigned n = 0;
  for (size_t r = 0; r < json_array_size(rows); ++r) {
    const json_t* const row = json_array_get(rows, r);
    n += *member(row, "fault") && (member(row, "id")[0] == '/') == of_bundles;
  }
  return n;
}

TEST(list_plugins_shows_those_that_cannot_be_used_on_request)
{
  put("broken.so");
  put_bad("bad.so");
  json_t* rows;
  RUN_JSON(rows, "list", "plugins", "--json");
  ck_assert_uint_eq(count_faults(rows, false) + count_faults(rows, true), 0);
  json_decref(rows);
  RUN_JSON(rows, "list", "plugins", "--json", "--all");
  ck_assert_uint_gt(count_faults(rows, false), 0);
  ck_assert_uint_eq(count_faults(rows, true), 1);
  json_decref(rows);
  RUN_GOOD("list", "plugins", "--all", "bad.so");
  assert_says(program.out, "/bad.so");
  ck_assert_ptr_null(strstr(program.out, "broken/"));
}

TEST(no_name_of_a_file_controls_the_terminal)
{
  put_bad("a\x1B[2J\xC2\x9B.so");
  static const char* const lines[][3] = { { "scan" }, { "list", "plugins", "--all" } };
  for (unsigned l = 0; l < ARRAY_LEN(lines); ++l) {
    const char* words[4] = { NULL };
    memcpy(words, lines[l], sizeof(lines[l]));
    program_start(&program, words);
    program_wait(&program);
    ck_assert_int_eq(program.exit_code, 0);
    for (char* line = strtok(program.out, "\n"); line; line = strtok(NULL, "\n")) {
      ck_assert_msg(text_is_printable(line), "%s", line);
    }
  }
}

/// Arguments that are refused, and a part of the message.
static const struct {
  const char* words[4];
  const char* message;
} refused[] = {
  { { "list", "effects", "gain" }, "unexpected argument 'gain'" },
  { { "list", "--all", "effects" }, "--all goes with plugins" },
  { { "list", "--format=ladspa", "effects" }, "--format goes with plugins" },
  { { "list", "--format=vst", "plugins" }, "--format takes one of " },
  { { "info", "duckr" }, "did you mean \"ducker\"?" },
  { { "info", "gian" }, "did you mean \"gain\"?" },
  { { "info", "ladspa", "duckr" }, "did you mean \"ducker\"?" },
  { { "info", "vst", "gain" }, "no format \"vst\"" },
};

TEST_ROWS(mistakes_are_refused, refused)
{
  put("effects.so");
  RUN_GOOD("scan");
  program_start(&program, refused[row].words);
  program_wait(&program);
  ck_assert_int_ne(program.exit_code, 0);
  ck_assert_str_eq(program.out, "");
  assert_says(program.err, refused[row].message);
}

TEST(info_shows_an_effect_without_a_scan)
{
  put("effects.so");
  RUN_GOOD("info", "gain");
  assert_says(program.out, "gain: Change the level");
  assert_says(program.out, "-120 to 40 dB, taper dB, default 0; a change is ramped");
  assert_says(program.out,
              "off|on, default off; a change is an edit, which fades connections"); // solo
  ck_assert_str_eq(program.err, "");
}

TEST(info_shows_a_plugin_by_its_id_and_by_its_names)
{
  put("effects.so");
  RUN_GOOD("scan");
  RUN_GOOD("info", "ladspa", "gain");
  assert_says(program.out, "-60 to 24 dB, default 0; a change is ramped");
  assert_says(program.out, "in a rack   ladspa effects/gain\n");
  assert_says(program.out, "id          effects/gain\n");
  assert_says(program.out, "inputs      1\n");
  assert_says(program.out, "outputs     1\n");
  assert_says(program.out, "latency     not reported\n");
  char* const by_name = strdup(program.out);
  RUN_GOOD("info", "effects/gain");
  ck_assert_str_eq(program.out, by_name);
  free(by_name);
  RUN_GOOD("info", "LADSPA", "gain");
  assert_says(program.out, "id          effects/gain\n");
  RUN_GOOD("info", "Ducker");
  assert_says(program.out, "id          effects/ducker\n");
}

TEST(info_of_a_plugin_has_the_same_facts_in_json)
{
  put("effects.so");
  json_t* info;
  RUN_JSON(info, "info", "--json", "ladspa", "gain");
  ck_assert_str_eq(member(info, "format"), "ladspa");
  ck_assert_str_eq(member(info, "id"), "effects/gain");
  ck_assert_str_eq(member(info, "fault"), "");
  assert_says(member(info, "file"), "/effects.so");
  ck_assert_int_eq(json_integer_value(json_object_get(info, "inputs")), 1);
  ck_assert(json_is_false(json_object_get(info, "reports_latency")));
  const json_t* const gain = json_array_get(json_object_get(info, "params"), 0);
  ck_assert_str_eq(member(gain, "unit"), "dB");
  ck_assert_double_eq(json_number_value(json_object_get(gain, "min")), -60.0);
  ck_assert_str_eq(member(gain, "taper"), "linear");
  json_decref(info);
}

static size_t
count_presets(void)
{
  json_t* info;
  RUN_JSON(info, "info", "--json", "urn:warprack:gain");
  const size_t n = json_array_size(json_object_get(info, "presets"));
  json_decref(info);
  return n;
}

/// The bundle of the plugin does not change.
TEST(a_preset_in_a_bundle_of_its_own_is_found)
{
  static const char manifest[] = "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n"
                                 "@prefix pset: <http://lv2plug.in/ns/ext/presets#> .\n"
                                 "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
                                 "<urn:test:preset> a pset:Preset ; lv2:appliesTo "
                                 "<urn:warprack:gain> ; rdfs:label \"Loud\" ;\n"
                                 "  lv2:port [ lv2:symbol \"gain\" ; pset:value 6.0 ] .\n";
  const char* const fixtures = getenv("WARPRACK_LV2_FIXTURES");
  if (!fixtures) {
    suite_skip("this build has no LV2");
    return;
  }
  setenv("LV2_PATH", folder.directory, 1);
  ck_assert_int_eq(symlink(fixtures, scratch_path(&folder, "fixtures.lv2")), 0);
  const size_t n_before = count_presets();
  ck_assert_int_eq(mkdir(scratch_path(&folder, "presets.lv2"), 0700), 0);
  scratch_write(&folder, "presets.lv2/manifest.ttl", manifest, strlen(manifest));
  ck_assert_uint_eq(count_presets(), n_before + 1U);
  RUN_GOOD("info", "urn:warprack:gain");
  assert_says(program.out, "Loud\n");
  unlink(scratch_path(&folder, "presets.lv2/manifest.ttl"));
  rmdir(scratch_path(&folder, "presets.lv2"));
}

SUITE_MAIN_WITH("plugins", start, stop)
