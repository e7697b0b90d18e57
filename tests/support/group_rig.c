// SPDX-License-Identifier: GPL-3.0-or-later

#include "group_rig.h"

#include "plugin_rig.h"
#include "plugin_sample.h"
#include "suite.h"

#include "plugins/group/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_PARAMS 32U

static void
ignore(void* const context, const char* const bundle)
{
  (void)context;
  (void)bundle;
}

const Plugin*
group_rig_plugin(const char* const format, const char* const folder, const char* const file,
                 const char* const id)
{
  static Arena arena;
  char path[512];
  const char* const bundle = path;
  const PluginFormat* const of = plugin_format_find(format);
  Plugin* plugin = NULL;
  snprintf(path, sizeof(path), "%s%s", getenv(folder), file);
  if (of->prepare) {
    OK(of->prepare(&bundle, 1U, ignore, NULL, &error));
  }
  plugin_rig_describe(format, path);
  char* const text = plugin_sample_text(plugin_rig_find(id)); // stays until the process ends
  OK(plugin_read(text, &arena, &host_functions, &plugin, &error));
  return plugin;
}

const Plugin*
group_rig_ladspa(const char* const id)
{
  char file[64];
  snprintf(file, sizeof(file), "/%.*s.so", (int)strcspn(id, "/"), id);
  return group_rig_plugin("ladspa", "WARPRACK_LADSPA_FIXTURES", file, id);
}

void
group_rig_start(void)
{
  groups_start(getenv("WARPRACK_PROGRAM"));
  fx_wait(FX_WAIT_THREAD, true);
}

static void
fill_inputs(GroupRig* const rig)
{
  for (uint32_t c = 0; c < GROUP_RIG_CHANNELS; ++c) {
    for (uint32_t f = 0; f < GROUP_RIG_BLOCKS * GROUP_RIG_BLOCK; ++f) {
      rig->in[c][f] = 0.5F * sinf(0.05F * (float)f + (float)c);
    }
  }
}

Status
group_rig_try(GroupRig* const rig, const Plugin* const plugin, const GroupRigSetup* const setup,
              Error* const error)
{
  double values[MAX_PARAMS];
  bool given[MAX_PARAMS] = { false };
  const char* texts[MAX_PARAMS] = { NULL };
  const char* paths[MAX_PARAMS] = { NULL };
  ck_assert_uint_le(plugin->fx.n_params, MAX_PARAMS);
  for (uint32_t p = 0; p < plugin->fx.n_params; ++p) {
    given[p] = setup->has_after && !strcmp(plugin->fx.params[p].id, "after");
    values[p] = given[p] ? setup->after : plugin->fx.params[p].initial;
    texts[p] = plugin->param_ports[p] == PLUGIN_GROUP    ? setup->group
               : plugin->param_ports[p] == PLUGIN_PRESET ? setup->preset
                                                         : NULL;
    if (plugin->param_ports[p] == PLUGIN_STATE) {
      texts[p] = paths[p] = setup->state;
    }
  }
  const FxSetup fx_setup = { .fx = &plugin->fx,
                             .rate_hz = GROUP_RIG_RATE,
                             .max_block_frames = GROUP_RIG_BLOCK,
                             .n_in = setup->n_in,
                             .values = values,
                             .given = given,
                             .texts = texts,
                             .paths = paths,
                             .offline = setup->offline,
                             .uid = setup->uid ? setup->uid : GROUP_RIG_UID,
                             .access = setup->access };
  *rig = (GroupRig){ .fx = &plugin->fx };
  fill_inputs(rig);
  const Status status = rig->fx->create(&fx_setup, &rig->shape, &rig->node, error);
  const uint32_t n_in = rig->shape.unit_in ? rig->shape.unit_in : 1U;
  rig->n_units = status ? 0U : setup->n_in > n_in ? setup->n_in / n_in : 1U;
  rig->input_line =
      dry_rig_new(&rig->shape, status || rig->fx->is_source ? 0U : setup->n_in, GROUP_RIG_BLOCK);
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    rig->states[u] = plugin_rig_take(1U, (rig->shape.unit_bytes + 63U) / 64U * 64U);
    rig->fx->unit_init(rig->node, rig->states[u], u);
  }
  return status;
}

GroupRig*
group_rig_open(const Plugin* const plugin, const GroupRigSetup* const setup)
{
  GroupRig* const rig = plugin_rig_take(1U, sizeof(GroupRig));
  OK(group_rig_try(rig, plugin, setup, &error));
  return rig;
}

void
group_rig_close(const GroupRig* const rig)
{
  rig->fx->destroy(rig->node);
  free(rig->input_line.samples);
}

void
group_rig_play(GroupRig* const rig, const uint32_t n_frames)
{
  const float* in[GROUP_RIG_CHANNELS];
  float* out[GROUP_RIG_CHANNELS];
  FxUnit units[GROUP_RIG_CHANNELS];
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    in[u] = rig->in[u] + rig->n_played;
    out[u] = rig->out[u] + rig->n_played;
  }
  dry_rig_put(&rig->input_line, rig->fx, rig->node, in, rig->n_units, n_frames);
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    units[u] = (FxUnit){ .node = rig->node,
                         .state = rig->states[u],
                         .in = &in[u],
                         .out = &out[u],
                         .dry = dry_rig_unit(&rig->input_line, &rig->shape, u) };
  }
  rig->fx->run(units, rig->n_units, n_frames);
  dry_rig_advance(&rig->input_line, n_frames);
  rig->n_played += n_frames;
}

void
group_rig_play_blocks(GroupRig* const rig, const uint32_t n_blocks)
{
  for (uint32_t b = 0; b < n_blocks; ++b) {
    group_rig_play(rig, GROUP_RIG_BLOCK);
  }
}

void
group_rig_set(const GroupRig* const rig, const char* const id, const double value)
{
  rig->fx->set_at(rig->node, (uint32_t)fx_param_find(rig->fx, id), value,
                  fx_ramp_frames(GROUP_RIG_RATE), 0U);
}
