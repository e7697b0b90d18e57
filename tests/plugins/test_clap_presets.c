// SPDX-License-Identifier: GPL-3.0-or-later
// Presets of CLAP plugins: inside their file and in folders, what is left out, and loading one.

#include "tests/support/plugin_rig.h"
#include "tests/support/plugins/clap/clap_rig.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <sys/stat.h>

static Scratch scratch;

/// A folder with presets of test.learner, and with other files.
static void
begin(void)
{
  clap_rig_begin();
  scratch = scratch_new();
  ck_assert_int_eq(mkdir(scratch_path(&scratch, "more"), 0700), 0);
  scratch_write(&scratch, "more/third.gain", "3", 1);
  scratch_write(&scratch, "named.gain", "0.25", 4);
  scratch_write(&scratch, "broken.gain", "", 0);
  scratch_write(&scratch, "unread\a.gain", "1", 1);
  scratch_write(&scratch, "other.txt", "1", 1);
  setenv("CLAP_FIXTURE_PRESETS", scratch.directory, 1);
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
}

static void
end(void)
{
  clap_rig_end();
  scratch_remove(&scratch);
}

static const PluginPreset*
find(const char* const name)
{
  const Plugin* const plugin = plugin_rig_find("test.learner");
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    if (!strcmp(plugin->presets[p].name, name)) {
      return &plugin->presets[p];
    }
  }
  ck_abort_msg("no preset %s", name);
}

static const struct {
  const char *name, *key, *file; ///< NULL: the plugins' own file
} known[] = {
  { "Half", "0.5", NULL },
  { "Twice", "2", NULL },
  { "Refused", "much", NULL },
  { "third.gain", "", "more/" },
  { "From a file", "", "named.gain" },
};

TEST(presets_are_listed_in_the_order_of_providers_and_files)
{
  const Plugin* const plugin = plugin_rig_find("test.learner");
  ck_assert_uint_eq(plugin->n_presets, ARRAY_LEN(known));
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    const PluginPreset* const preset = &plugin->presets[p];
    ck_assert_str_eq(preset->name, known[p].name);
    ck_assert_str_eq(preset->uri, known[p].key);
    ck_assert_uint_eq(preset->n_values, 0);
    if (known[p].file) {
      assert_says(preset->state, scratch.directory);
      assert_says(preset->state, known[p].file);
    } else {
      ck_assert_str_eq(preset->state, plugin->binary);
    }
  }
}

TEST(what_is_left_out_is_noted)
{
  const Plugin* const learner = plugin_rig_find("test.learner");
  const Plugin* const delay = plugin_rig_find("test.delay");
  // A relative location and one inside the plugin with a path, an unprintable key and path, a
  // broken file, a provider that is not made, a descriptor that is missing.
  assert_says(learner->notes, "presets that are left out");
  ck_assert_uint_eq(delay->n_presets, 0);
  ck_assert_str_eq(delay->notes, "presets that it cannot load: \"Unloadable\"");
  ck_assert_uint_eq(plugin_rig_find("test.gain")->n_presets, 0);
  ck_assert_str_eq(plugin_rig_find("test.gain")->notes, "");
}

static Status
open_with(const PluginPreset* const preset, Error* const error)
{
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ,
                                .max_block_frames = CLAP_RIG_BLOCK,
                                .preset = preset };
  clap_rig.plugin = plugin_rig_find("test.learner");
  return clap_rig_calls()->open(clap_rig.plugin, &setup, &clap_rig.instance, error);
}

static const struct {
  const char* name;
  double gain;
} loaded[] = { { "Half", 0.5 }, { "Twice", 2.0 }, { "third.gain", 3.0 }, { "From a file", 0.25 } };

TEST_ROWS(a_preset_gives_the_plugin_its_values, loaded)
{
  OK(open_with(find(loaded[row].name), &error));
  ck_assert_double_eq(clap_rig_get("gain"), loaded[row].gain);
  for (uint32_t f = 0; f < CLAP_RIG_BLOCK; ++f) {
    clap_rig.in[0][f] = 0.5F;
  }
  clap_rig_run(CLAP_RIG_BLOCK);
  ck_assert_float_eq(clap_rig.out[0][CLAP_RIG_BLOCK - 1U],
                     0.5F * (float)loaded[row].gain + 0.25F); // no initial value follows
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_WRONG_THREAD), 0);
}

TEST(a_preset_that_the_plugin_refuses_makes_no_instance)
{
  Error why = { STATUS_OK, "" };
  ck_assert_int_eq(open_with(find("Refused"), &why), STATUS_FILE);
  ck_assert_str_eq(why.text, "clap test.learner does not load its preset \"Refused\"");
  const PluginPreset* const gone = find("From a file");
  scratch_write(&scratch, "named.gain", "", 0);
  ck_assert_int_eq(open_with(gone, &why), STATUS_FILE);
  ck_assert_ptr_null(clap_rig.instance);
}

SUITE_MAIN_WITH("clap_presets", begin, end)
