// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps what the format describes, as text of the catalogue.

#include "lv2_rig.h"

#include "tests/support/plugin_rig.h"
#include "tests/support/suite.h"

#include <stdlib.h>

const char*
lv2_rig_fixtures(void)
{
  const char* const path = getenv("WARPRACK_LV2_FIXTURES");
  ck_assert_msg(path != NULL, "no WARPRACK_LV2_FIXTURES: run meson test");
  return path;
}

static void
on_announce(void* const context, const char* const bundle)
{
  (void)context;
  ck_assert_str_ne(bundle, "");
}

Status
lv2_rig_describe(const char* const* const bundles, const uint32_t n_bundles, Error* const error)
{
  plugin_rig_clear();
  Status status = plugin_format_lv2.prepare(bundles, n_bundles, on_announce, NULL, error);
  for (uint32_t b = 0; b < n_bundles; ++b) {
    Error other = { STATUS_OK, "" };
    const Status failed = plugin_format_lv2.describe(bundles[b], plugin_rig_keep, NULL, &other);
    if (failed && !status) {
      status = error_set(error, failed, "%s", other.text);
    }
  }
  return status;
}

const InstanceCalls*
lv2_rig_begin(void)
{
  const char* const bundle = lv2_rig_fixtures();
  OK(lv2_rig_describe(&bundle, 1U, &error));
  return plugin_format_lv2.calls;
}

const Plugin*
lv2_rig_find(const char* const id)
{
  uint32_t n_plugins = 0;
  const Plugin* const* const plugins = plugin_rig_plugins(&n_plugins);
  for (uint32_t p = 0; p < n_plugins; ++p) {
    if (!strcmp(plugins[p]->origin.id, id)) {
      return plugins[p];
    }
  }
  return NULL;
}

uint32_t
lv2_rig_count(void)
{
  uint32_t n_plugins = 0;
  (void)plugin_rig_plugins(&n_plugins);
  return n_plugins;
}

uint32_t
lv2_rig_place(const Plugin* const plugin, const char* const symbol)
{
  ck_assert_ptr_nonnull(plugin);
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    if (!strcmp(plugin->ports[p].symbol, symbol)) {
      return p;
    }
  }
  ck_abort_msg("%s has no port %s", plugin->origin.id, symbol);
}

const PluginPort*
lv2_rig_port(const Plugin* const plugin, const char* const symbol)
{
  return &plugin->ports[lv2_rig_place(plugin, symbol)];
}

Instance*
lv2_rig_open(const char* const id, const bool offline)
{
  const InstanceSetup setup = { .rate_hz = LV2_RIG_RATE_HZ,
                                .max_block_frames = LV2_RIG_BLOCK,
                                .offline = offline };
  Instance* instance = NULL;
  OK(plugin_format_lv2.calls->open(lv2_rig_find(id), &setup, &instance, &error));
  return instance;
}

void
lv2_rig_close(Instance* const* const instance)
{
  plugin_format_lv2.calls->close(*instance);
}

void
lv2_rig_set(Instance* const instance, const char* const id, const char* const symbol,
            const double value)
{
  plugin_format_lv2.calls->set(instance, lv2_rig_place(lv2_rig_find(id), symbol), value, 0U);
}

double
lv2_rig_get(const Instance* const instance, const char* const id, const char* const symbol)
{
  return plugin_format_lv2.calls->get(instance, lv2_rig_place(lv2_rig_find(id), symbol));
}

// ---- instances with a state ----

Status
lv2_rig_state_open(Lv2StateRig* const rig, Error* const error)
{
  const InstanceSetup setup = { .rate_hz = LV2_RIG_RATE_HZ,
                                .max_block_frames = LV2_RIG_BLOCK,
                                .state = &rig->state,
                                .paths = &rig->paths };
  const Plugin* const plugin = lv2_rig_find(rig->id);
  rig->paths.bundle = plugin->bundle;
  rig->paths.files = rig->files;
  return plugin_format_lv2.calls->open(plugin, &setup, &rig->instance, error);
}

void
lv2_rig_state_close(Lv2StateRig* const rig)
{
  plugin_format_lv2.calls->close(rig->instance);
  state_file_clear(&rig->state);
  host_paths_clear(&rig->paths);
}

float
lv2_rig_state_play(const Lv2StateRig* const rig, const float sample)
{
  float in[LV2_RIG_BLOCK];
  float out[LV2_RIG_BLOCK];
  const float* const ins[] = { in };
  float* const outs[] = { out };
  for (uint32_t i = 0; i < LV2_RIG_BLOCK; ++i) {
    in[i] = sample;
  }
  plugin_format_lv2.calls->run(rig->instance, ins, outs, LV2_RIG_BLOCK);
  return out[LV2_RIG_BLOCK - 1U];
}

Status
lv2_rig_state_save(const Lv2StateRig* const rig, const double mode, TextBuffer* const part,
                   Error* const error)
{
  lv2_rig_set(rig->instance, rig->id, "mode", mode);
  lv2_rig_state_play(rig, 0.0F); // which reads the mode
  *part = (TextBuffer){ 0 };
  return plugin_format_lv2.calls->save(rig->instance, part, error);
}

void
lv2_rig_state_expect_half(const char* const id, const FxFiles* const files,
                          const TextBuffer* const part)
{
  Lv2StateRig rig = { .id = id, .files = files };
  OK(state_file_set(&rig.state, &(StatePart){ part->bytes, part->n }, 1));
  OK(lv2_rig_state_open(&rig, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.25F), 0.375F);
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.75F), 1.3125F);
  OK(plugin_format_lv2.calls->renew(rig.instance, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.25F), 0.375F);
  lv2_rig_state_close(&rig);
}
