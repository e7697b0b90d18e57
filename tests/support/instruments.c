// SPDX-License-Identifier: GPL-3.0-or-later

#include "instruments.h"

#include "plugin_sample.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

const Instrument instruments[N_INSTRUMENTS] = {
  { "lv2", "WARPRACK_LV2_TONES", "", "urn:warprack:tones:tone" },
  { "lv2", "WARPRACK_LV2_TONES", "", "urn:warprack:tones:midi" },
  { "clap", "WARPRACK_CLAP_FIXTURES", "/tones.clap", "test.tones.tone" },
  { "clap", "WARPRACK_CLAP_FIXTURES", "/tones.clap", "test.tones.midi" },
};

static Arena arena;
static const Plugin* described;

/// Keep the plugin with the id that is wanted.
static void
keep(void* const context, const Plugin* const plugin)
{
  if (!strcmp(plugin->origin.id, context)) {
    Plugin* kept = NULL;
    char* const text = plugin_sample_text(plugin); // stays until the process ends
    OK(plugin_read(text, &arena, &host_functions, &kept, &error));
    described = kept;
  }
}

static void
ignore(void* const context, const char* const bundle)
{
  (void)context;
  (void)bundle;
}

const Plugin*
instrument_describe(const int index)
{
  const Instrument* const instrument = &instruments[index];
  const PluginFormat* const format = plugin_format_find(instrument->format);
  if (!format) {
    suite_skip("no such format in this build");
    return NULL;
  }
  char path[512];
  snprintf(path, sizeof(path), "%s%s", getenv(instrument->folder), instrument->file);
  const char* const bundle = path;
  if (format->prepare) {
    OK(format->prepare(&bundle, 1U, ignore, NULL, &error));
  }
  described = NULL;
  OK(format->describe(path, keep, (void*)instrument->id, &error));
  ck_assert_ptr_nonnull(described);
  return described;
}
