// SPDX-License-Identifier: GPL-3.0-or-later
// The host against a reference host by lilv: the same samples, bit for bit.  The plugins of other
// packages are skipped where they are not installed.

#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/reference_lv2.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <unistd.h>

#define FOLDER    "/usr/lib/lv2/"
#define MAX_ROWS  8U
#define MAX_BLOCK 256U
#define N_BLOCKS  40U
#define CHANGE_AT 20U // block of a change of a parameter
#define MDA       "http://drobilla.net/plugins/mda/"
#define SWH       "http://plugin.org.uk/swh-plugins/"
#define KEEPER    "urn:warprack:keeper"
#define X42       "http://gareus.org/oss/lv2/"

static const struct {
  const char* bundle; ///< NULL: the fixtures
  const char* uri;
} rows[] = {
  { NULL, "urn:warprack:gain" },
  { NULL, "urn:warprack:ducker" },
  { NULL, "urn:warprack:latent" },
  { NULL, "urn:warprack:memory" },
  { "calf.lv2", "http://calf.sourceforge.net/plugins/Compressor" },
  { "calf.lv2", "http://calf.sourceforge.net/plugins/Filter" },
  { "darc.lv2", X42 "darc#stereo" },
  { "dpl.lv2", X42 "dpl#stereo" },
  { "DragonflyPlateReverb.lv2", "urn:dragonfly:plate" },
  { "fil4.lv2", X42 "fil4#stereo" },
  { "invada.lv2", "http://invadarecords.com/plugins/lv2/compressor/stereo" },
  { "invada.lv2", "http://invadarecords.com/plugins/lv2/filter/lpf/mono" },
  { "lsp-plugins.lv2", "http://lsp-plug.in/plugins/lv2/compressor_stereo" },
  { "mda.lv2", MDA "Delay" },
  { "mda.lv2", MDA "Overdrive" },
  { "amp-swh.lv2", SWH "amp" },
  { "gverb-swh.lv2", SWH "gverb" },
  { "sc4-swh.lv2", SWH "sc4" },
  { "ZamComp.lv2", "urn:zamaudio:ZamComp" },
  { "ZamEQ2.lv2", "urn:zamaudio:ZamEQ2" },
  { "ZamTube.lv2", "urn:zamaudio:ZamTube" },
};

static const struct {
  const char* bundle; ///< As in `rows`
  const char* uri;
  const char* subject; ///< The preset whose state is loaded, or the plugin for its own
} state_rows[] = {
  { NULL, KEEPER, KEEPER },
  { NULL, KEEPER, KEEPER "#quarter" },
  { "zeroconvo.lv2", X42 "zeroconvolv#Mono", X42 "zeroconvolv/pset#noopMono" },
  { "zeroconvo.lv2", X42 "zeroconvolv#Stereo", X42 "zeroconvolv/pset#noopStereo" },
};

typedef struct Rows {
  float samples[MAX_ROWS][MAX_BLOCK];
  float* pointers[MAX_ROWS];
} Rows;

static void
set_pointers(Rows* const to)
{
  for (uint32_t r = 0; r < MAX_ROWS; ++r) {
    to->pointers[r] = to->samples[r];
  }
}

/// The same noise for both hosts.
static void
make_noise(Rows* const a, Rows* const b, const uint32_t n_frames)
{
  static uint32_t seed = 1;
  for (uint32_t r = 0; r < MAX_ROWS; ++r) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      seed = seed * 1664525U + 1013904223U;
      a->samples[r][i] = b->samples[r][i] = (float)(int32_t)seed / 4294967296.0F;
    }
  }
}

/// The first parameter that moves; n_ports if there is none.
static uint32_t
find_moving(const Plugin* const plugin)
{
  const uint32_t others = PORT_OUTPUT | PORT_TOGGLED | PORT_CHOICE | PORT_INTEGER | PORT_RATE;
  uint32_t p = 0;
  while (p < plugin->n_ports &&
         (plugin->ports[p].type != PORT_CONTROL || plugin->ports[p].flags & others)) {
    ++p;
  }
  return p;
}

static void
compare(const Plugin* const plugin, Instance* const instance, ReferenceLv2* const reference,
        const uint32_t n_frames)
{
  static Rows in;
  static Rows in_reference;
  static Rows out;
  static Rows out_reference;
  Rows* const all[] = { &in, &in_reference, &out, &out_reference };
  for (size_t r = 0; r < ARRAY_LEN(all); ++r) {
    memset(all[r]->samples, 0, sizeof(all[r]->samples));
    set_pointers(all[r]);
  }
  const uint32_t moving = find_moving(plugin);
  float level = 0.0F;
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    if (b == CHANGE_AT && moving < plugin->n_ports) {
      const PluginPort* const port = &plugin->ports[moving];
      const double value = 0.25 * port->min + 0.75 * port->max;
      plugin_format_lv2.calls->set(instance, moving, value, 0U);
      reference_lv2_set(reference, port->index, (float)value);
    }
    make_noise(&in, &in_reference, n_frames);
    plugin_format_lv2.calls->run(instance, (const float* const*)in.pointers, out.pointers,
                                 n_frames);
    reference_lv2_run(reference, in_reference.pointers, out_reference.pointers, n_frames);
    for (uint32_t r = 0; r < MAX_ROWS; ++r) {
      for (uint32_t i = 0; i < n_frames; ++i) {
        ck_assert_msg(!memcmp(&out.samples[r][i], &out_reference.samples[r][i], sizeof(float)),
                      "%s, block %u, row %u, frame %u: %g, reference %g", plugin->source.id, b, r,
                      i, (double)out.samples[r][i], (double)out_reference.samples[r][i]);
        level += out.samples[r][i] * out.samples[r][i];
      }
    }
  }
  ck_assert_msg(level > 0.0F, "%s is silent", plugin->source.id);
}

/// The preset with this URI; NULL if there is none.
static const PluginPreset*
find_preset(const Plugin* const plugin, const char* const uri)
{
  for (uint32_t p = 0; uri && p < plugin->n_presets; ++p) {
    if (!strcmp(plugin->presets[p].uri, uri)) {
      return &plugin->presets[p];
    }
  }
  return NULL;
}

static Instance*
open_instance(const Plugin* const plugin, const char* const subject, const uint32_t n_frames)
{
  const PluginPreset* const preset = find_preset(plugin, subject);
  const InstanceSetup setup = {
    .rate_hz = LV2_RIG_RATE_HZ, .max_block_frames = n_frames, .offline = true, .preset = preset
  };
  Instance* instance = NULL;
  OK(plugin_format_lv2.calls->open(plugin, &setup, &instance, &error));
  for (uint32_t v = 0; preset && v < preset->n_values; ++v) {
    plugin_format_lv2.calls->set(instance, preset->ports[v], preset->values[v], 0U);
  }
  return instance;
}

/// Open the reference; with a state, run the block in which responses arrive, as the host does.
static ReferenceLv2*
open_reference(const char* const bundle, const char* const uri, const char* const subject,
               const uint32_t n_frames)
{
  static Rows silence;
  ReferenceLv2* const reference = reference_lv2_open(bundle, uri, LV2_RIG_RATE_HZ, n_frames);
  if (subject) {
    memset(silence.samples, 0, sizeof(silence.samples));
    set_pointers(&silence);
    reference_lv2_restore(reference, subject);
    reference_lv2_run(reference, silence.pointers, silence.pointers + MAX_ROWS / 2U, n_frames);
  }
  return reference;
}

/// `bundle`: of /usr/lib/lv2; NULL: the fixtures.
static void
check(const char* const bundle, const char* const uri, const char* const subject)
{
  char path[256];
  snprintf(path, sizeof(path), "%s%s", bundle ? FOLDER : lv2_rig_fixtures(), bundle ? bundle : "");
  if (access(path, R_OK) != 0) {
    suite_skip(path);
    return;
  }
  const char* const paths[] = { path };
  OK(lv2_rig_describe(paths, 1U, &error));
  const Plugin* const plugin = lv2_rig_find(uri);
  ck_assert_msg(plugin != NULL, "no %s", uri);
  for (uint32_t n_frames = 64; n_frames <= MAX_BLOCK; n_frames *= 4U) {
    Instance* const instance = open_instance(plugin, subject, n_frames);
    ReferenceLv2* const reference = open_reference(path, uri, subject, n_frames);
    compare(plugin, instance, reference, n_frames);
    plugin_format_lv2.calls->close(instance);
    reference_lv2_close(reference);
  }
}

TEST_ROWS(the_samples_are_those_of_the_reference, rows)
{
  check(rows[row].bundle, rows[row].uri, NULL);
}

TEST_ROWS(with_a_state_the_samples_are_those_of_the_reference, state_rows)
{
  check(state_rows[row].bundle, state_rows[row].uri, state_rows[row].subject);
}

SUITE_MAIN("lv2_reference")
