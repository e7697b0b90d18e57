// SPDX-License-Identifier: GPL-3.0-or-later

#include "clap_rig.h"

#include "tests/support/plugin_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

ClapRig clap_rig;

const InstanceCalls*
clap_rig_calls(void)
{
  return plugin_format_find("clap")->calls;
}

const char*
clap_rig_path(const char* const name)
{
  static char path[512];
  snprintf(path, sizeof(path), "%s/%s.clap", getenv("WARPRACK_CLAP_FIXTURES"), name);
  return path;
}

uint32_t
clap_rig_port_of(const char* const symbol)
{
  for (uint32_t p = 0; p < clap_rig.plugin->n_ports; ++p) {
    if (clap_rig.plugin->ports[p].type == PORT_CONTROL &&
        !strcmp(clap_rig.plugin->ports[p].symbol, symbol)) {
      return p;
    }
  }
  ck_abort_msg("no parameter %s", symbol);
}

Status
clap_rig_try_open(const char* const id, const InstanceSetup* const setup, Error* const error)
{
  plugin_rig_describe("clap", clap_rig_path("fixtures"));
  clap_rig.plugin = plugin_rig_find(id);
  return clap_rig_calls()->open(clap_rig.plugin, setup, &clap_rig.instance, error);
}

void
clap_rig_open_plugin(const char* const id)
{
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ, .max_block_frames = CLAP_RIG_BLOCK };
  OK(clap_rig_try_open(id, &setup, &error));
}

void
clap_rig_set(const char* const symbol, const double value, const uint32_t frame)
{
  clap_rig_calls()->set(clap_rig.instance, clap_rig_port_of(symbol), value, frame);
}

double
clap_rig_get(const char* const symbol)
{
  return clap_rig_calls()->get(clap_rig.instance, clap_rig_port_of(symbol));
}

void
clap_rig_run(const uint32_t n_frames)
{
  const float* in[CLAP_RIG_ROWS];
  float* out[CLAP_RIG_ROWS];
  for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
    in[r] = clap_rig.in[r];
    out[r] = clap_rig.out[r];
  }
  clap_rig_calls()->run(clap_rig.instance, in, out, n_frames);
}

uint32_t
clap_rig_n_reports(const ClapReport report)
{
  return clap_instance_host(clap_rig.instance)->n_reports[report];
}

void
clap_rig_begin(void)
{
  for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
    for (uint32_t f = 0; f < CLAP_RIG_BLOCK; ++f) {
      clap_rig.in[r][f] = (float)(r + 1U);
    }
  }
}

void
clap_rig_end(void)
{
  if (clap_rig.instance) {
    clap_rig_calls()->close(clap_rig.instance);
    clap_rig.instance = NULL;
  }
}
