// SPDX-License-Identifier: GPL-3.0-or-later
// CLAP plugins sound as in another host, and as other formats of the same plugin.

#include "tests/support/plugins/clap/clap_rig.h"
#include "tests/support/reference_clap.h"
#include "tests/support/plugin_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <unistd.h>

#define LONG       2048U
#define PATH_BYTES 64U

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
  const InstanceCalls* const of = plugin_format_find(plugin->origin.format)->calls;
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
         float in[const CLAP_RIG_ROWS][LONG], float out[const CLAP_RIG_ROWS][LONG])
{
  const InstanceCalls* const of = plugin_format_find(plugin->origin.format)->calls;
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ, .max_block_frames = block };
  Instance* instance = NULL;
  OK(of->open(plugin, &setup, &instance, &error));
  set_defaults(instance, plugin, other);
  for (uint32_t done = 0; done < LONG; done += block) {
    const float* from[CLAP_RIG_ROWS];
    float* to[CLAP_RIG_ROWS];
    for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
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
  static float in[CLAP_RIG_ROWS][LONG];
  static float out[CLAP_RIG_ROWS][LONG];
  static float reference[CLAP_RIG_ROWS][LONG];
  ReferenceClap work = { plugin->binary, plugin->origin.id, CLAP_RIG_RATE_HZ, block, LONG, { 0 },
                         { 0 } };
  for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
    fill(in[r], r);
    work.in[r] = in[r];
    work.out[r] = reference[r];
  }
  memset(out, 0, sizeof(out));
  ck_assert_msg(reference_clap(&work), "%s does not run", plugin->origin.id);
  run_long(plugin, plugin, block, in, out);
  for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
    for (uint32_t f = 0; f < LONG; ++f) {
      ck_assert_msg(out[r][f] == reference[r][f],
                    "%s in blocks of %u: row %u, frame %u: %g, not %g", plugin->origin.id, block, r,
                    f, out[r][f], reference[r][f]);
    }
  }
}

static const char* const plain[] = { "test.gain", "test.params", "test.delay", "test.main",
                                     "test.render" };

TEST_ROWS(fixtures_sound_as_in_the_reference_host, plain)
{
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  compare_with_reference(plugin_rig_find(plain[row]), 64);
  compare_with_reference(plugin_rig_find(plain[row]), CLAP_RIG_BLOCK);
}

static const char* const zam[] = {
  "ZaMaximX2", "ZaMultiComp",  "ZaMultiCompX2", "ZamAutoSat", "ZamComp", "ZamCompX2",
  "ZamDelay",  "ZamDynamicEQ", "ZamEQ2",        "ZamGEQ31",   "ZamGate", "ZamGateX2",
  "ZamGrains", "ZamHeadX2",    "ZamPhono",      "ZamTube",    "ZamVerb",
};

/// The plugin of a file of the system; NULL if it is not there.
static const Plugin*
find_zam(const char* const word, const char* const name)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof(path), "/usr/lib/%s/%s%s", word, name,
           !strcmp(word, "clap") ? ".clap" : "-ladspa.so");
  if (!plugin_format_find(word) || access(path, R_OK)) {
    suite_skip("no zam-plugins in /usr/lib");
    return NULL;
  }
  uint32_t n_plugins = 0;
  plugin_rig_describe(word, path);
  const Plugin* const* const plugins = plugin_rig_plugins(&n_plugins);
  ck_assert_uint_eq(n_plugins, 1);
  return plugins[0];
}

TEST_ROWS(zam_plugins_sound_as_in_the_reference_host, zam)
{
  const Plugin* const plugin = find_zam("clap", zam[row]);
  if (plugin) {
    compare_with_reference(plugin, 64);
    compare_with_reference(plugin, CLAP_RIG_BLOCK);
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
  static float in[CLAP_RIG_ROWS][LONG];
  static float out[CLAP_RIG_ROWS][LONG];
  static float twin[CLAP_RIG_ROWS][LONG];
  const Plugin* const plugin = find_zam("clap", twins[row]);
  const Plugin* const other = find_zam("ladspa", twins[row]);
  if (plugin && other) {
    for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
      fill(in[r], r);
    }
    run_long(plugin, plugin, CLAP_RIG_BLOCK, in, out);
    run_long(other, plugin, CLAP_RIG_BLOCK, in, twin);
    const double expected_energy = energy(twin[0]);
    ck_assert_double_gt(expected_energy, 0.0);
    ck_assert_double_eq_tol(energy(out[0]), expected_energy, 1e-6 * expected_energy);
  }
}

SUITE_MAIN_WITH("clap_reference", clap_rig_begin, clap_rig_end)
