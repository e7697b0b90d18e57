// SPDX-License-Identifier: GPL-3.0-or-later
// The host against a reference host by lilv: the same samples, bit for bit.  The plugins of other
// packages are skipped where they are not installed.

#include "tests/support/fx_rig.h"
#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/reference_lv2.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
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
                      "%s, block %u, row %u, frame %u: %g, reference %g", plugin->origin.id, b, r,
                      i, (double)out.samples[r][i], (double)out_reference.samples[r][i]);
        level += out.samples[r][i] * out.samples[r][i];
      }
    }
  }
  ck_assert_msg(level > 0.0F, "%s is silent", plugin->origin.id);
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

// ---- side chains ----

static const struct {
  const char* bundle; ///< NULL: the fixtures
  const char* uri;
  const char* param; ///< A switch that makes it count, or NULL
  double threshold;  ///< With `param`
  uint32_t n_in, n_keys;
} keyed[] = {
  { NULL, "urn:warprack:ducker", NULL, 0.0, 2, 1 },
  { NULL, "urn:warprack:ducker", NULL, 0.0, 4, 1 },
  { NULL, "urn:warprack:ducker", NULL, 0.0, 4, 4 },
  { "ZamCompX2.lv2", "urn:zamaudio:ZamCompX2", "sidechain", -50.0, 2, 1 },
  { "ZamCompX2.lv2", "urn:zamaudio:ZamCompX2", "sidechain", -50.0, 4, 2 },
  { "ZamGate.lv2", "urn:zamaudio:ZamGate", "sidechain", -50.0, 1, 1 },
  { "lsp-plugins.lv2", "http://lsp-plug.in/plugins/lv2/sc_compressor_stereo", NULL, 0.0, 2, 2 },
};

/// Set the ports of parameters in the reference.
static void
set_ports(ReferenceLv2* const reference, const Plugin* const plugin, const RigArg* const args,
          const uint32_t n_args)
{
  for (uint32_t a = 0; a < n_args; ++a) {
    const int32_t place = plugin->param_ports[fx_param_find(&plugin->fx, args[a].id)];
    reference_lv2_set(reference, plugin->ports[place].index, (float)args[a].number);
  }
}

/// The rows for the reference: audio inputs in the order of the ports.
static void
choose_rows(const Plugin* const plugin, const Rows* const main, const Rows* const keys,
            const uint32_t unit, const uint32_t n_keys, const FxRig* const rig, float** const to)
{
  const uint32_t n_side = rig->n_side / rig->n_units;
  uint32_t n_main = 0;
  uint32_t n_found = 0;
  for (uint32_t p = 0, r = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    if (port->type == PORT_AUDIO && !(port->flags & PORT_OUTPUT)) {
      const bool is_key = (port->flags & PORT_SIDECHAIN) != 0U;
      const uint32_t key = n_keys == 1U ? 0U : unit * n_side + n_found;
      to[r++] = is_key ? keys->pointers[key] : main->pointers[unit * rig->shape.unit_in + n_main];
      n_found += is_key;
      n_main += !is_key;
    }
  }
}

/// The effect of a plugin, as from a catalogue.  Its memory stays until the process ends.
static const Plugin*
make_effect(const Plugin* const plugin)
{
  static Arena arena;
  TextBuffer text = { 0 };
  plugin_write(&text, plugin);
  Plugin* made = NULL;
  OK(plugin_read(text_buffer_take(&text), &arena, &host_functions, &made, &error));
  return made;
}

TEST_ROWS(a_side_input_is_that_of_the_reference, keyed)
{
  char bundle[256];
  snprintf(bundle, sizeof(bundle), "%s%s", keyed[row].bundle ? FOLDER : lv2_rig_fixtures(),
           keyed[row].bundle ? keyed[row].bundle : "");
  if (access(bundle, R_OK) != 0) {
    suite_skip(bundle);
    return;
  }
  const char* const bundles[] = { bundle };
  OK(lv2_rig_describe(bundles, 1U, &error));
  const Plugin* const plugin = make_effect(lv2_rig_find(keyed[row].uri));
  const uint32_t n_sides = plugin->fx.n_sides; // the ducker has "key" and one without a group
  ck_assert_uint_eq(n_sides, keyed[row].bundle ? 1 : 2);
  ck_assert_str_eq(plugin->fx.sides[n_sides - 1U].name, "sidechain");
  SCOPED(rig_free) FxRig rig;
  const RigArg args[] = { SET(keyed[row].param, 1.0), SET("thr", keyed[row].threshold) };
  const uint32_t n_args = keyed[row].param ? 2U : 0U;
  OK(rig_try_fx(&rig, &plugin->fx, LV2_RIG_RATE_HZ, keyed[row].n_in, LV2_RIG_BLOCK, true, args,
                n_args, &error));
  ReferenceLv2* references[MAX_ROWS];
  for (uint32_t u = 0; u < rig.n_units; ++u) {
    references[u] = reference_lv2_open(bundle, keyed[row].uri, LV2_RIG_RATE_HZ, LV2_RIG_BLOCK);
    set_ports(references[u], plugin, args, n_args);
  }
  static Rows main, keys, copies, key_copies, out, expected, silent;
  Rows* const all[] = { &main, &keys, &copies, &key_copies, &out, &expected, &silent };
  for (size_t r = 0; r < ARRAY_LEN(all); ++r) {
    set_pointers(all[r]);
  }
  const float* side[MAX_ROWS];
  rig.side = side;
  for (uint32_t s = 0; s < n_sides; ++s) {
    rig.n_side += rig.n_units * plugin->fx.sides[s].n_channels;
  }
  float difference = 0.0F; // from a side input without connections
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    make_noise(&main, &copies, LV2_RIG_BLOCK);
    make_noise(&keys, &key_copies, LV2_RIG_BLOCK);
    for (uint32_t s = 0; s < rig.n_side; ++s) {
      side[s] = keys.samples[keyed[row].n_keys == 1U ? 0U : s];
    }
    rig_run(&rig, (const float* const*)main.pointers, out.pointers, LV2_RIG_BLOCK, RIG_BLOCKS, 0);
    for (uint32_t u = 0; u < rig.n_units; ++u) {
      float* rows_in[MAX_ROWS];
      choose_rows(plugin, &copies, &key_copies, u, keyed[row].n_keys, &rig, rows_in);
      reference_lv2_run(references[u], rows_in, expected.pointers + u * rig.shape.unit_out,
                        LV2_RIG_BLOCK);
    }
    for (uint32_t c = 0; c < rig.n_out; ++c) {
      for (uint32_t i = 0; i < LV2_RIG_BLOCK; ++i) {
        ck_assert_msg(!memcmp(&out.samples[c][i], &expected.samples[c][i], sizeof(float)),
                      "%s, block %u, output %u, frame %u: %g, reference %g", plugin->origin.id, b,
                      c, i, (double)out.samples[c][i], (double)expected.samples[c][i]);
        difference += fabsf(out.samples[c][i] - main.samples[c][i]);
      }
    }
  }
  ck_assert_float_gt(difference, 1.0F);
  for (uint32_t u = 0; u < rig.n_units; ++u) {
    reference_lv2_close(references[u]);
  }
}

SUITE_MAIN("lv2_reference")
