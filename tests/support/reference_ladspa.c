// SPDX-License-Identifier: GPL-3.0-or-later

#include "reference_ladspa.h"

#include <dlfcn.h>
#include <ladspa.h>
#include <stdlib.h>
#include <string.h>

#define AUDIO_IN  (LADSPA_PORT_AUDIO | LADSPA_PORT_INPUT)
#define AUDIO_OUT (LADSPA_PORT_AUDIO | LADSPA_PORT_OUTPUT)

static const LADSPA_Descriptor*
load(const char* const path, const char* const label)
{
  union {
    void* address;
    const LADSPA_Descriptor* (*call)(unsigned long index);
  } list = { .address = NULL };
  void* const library = dlopen(path, RTLD_LAZY);
  list.address = library ? dlsym(library, "ladspa_descriptor") : NULL;
  for (unsigned long i = 0; list.address; ++i) {
    const LADSPA_Descriptor* const plugin = list.call(i);
    if (!plugin || strcmp(plugin->Label, label) == 0) {
      return plugin;
    }
  }
  return NULL;
}

static unsigned
count(const LADSPA_Descriptor* const plugin, const int kind)
{
  unsigned n = 0;
  for (unsigned long p = 0; p < plugin->PortCount; ++p) {
    n += plugin->PortDescriptors[p] == kind;
  }
  return n;
}

/// Connect every port to its place at frame `at`.
static void
connect(const LADSPA_Descriptor* const plugin, const LADSPA_Handle handle,
        const ReferenceLadspa* const play, float* const in, float* const controls,
        const uint32_t at)
{
  size_t n_in = 0;
  size_t n_out = 0;
  for (unsigned long p = 0; p < plugin->PortCount; ++p) {
    float* place = &controls[p];
    if (plugin->PortDescriptors[p] == AUDIO_IN) {
      place = in + n_in++ * play->n_frames + at;
    } else if (plugin->PortDescriptors[p] == AUDIO_OUT) {
      place = play->out + n_out++ * play->n_frames + at;
    }
    plugin->connect_port(handle, p, place);
  }
}

static void
run_blocks(const LADSPA_Descriptor* const plugin, const LADSPA_Handle handle,
           const ReferenceLadspa* const play, float* const in, float* const controls)
{
  connect(plugin, handle, play, in, controls, 0);
  if (plugin->activate) {
    plugin->activate(handle);
  }
  for (uint32_t at = 0; at < play->n_frames; at += play->block_frames) {
    connect(plugin, handle, play, in, controls, at);
    plugin->run(handle, play->block_frames);
  }
  if (plugin->deactivate) {
    plugin->deactivate(handle);
  }
}

const char*
reference_ladspa_play(const ReferenceLadspa* const play)
{
  const LADSPA_Descriptor* const plugin = load(play->path, play->label);
  if (!plugin) {
    return "there is no such plugin";
  }
  const size_t in_bytes = count(plugin, AUDIO_IN) * play->n_frames * sizeof(float);
  const size_t control_bytes = plugin->PortCount * sizeof(float);
  float* const in = malloc(in_bytes + 1U);
  float* const controls = malloc(control_bytes + 1U);
  const LADSPA_Handle handle = plugin->instantiate(plugin, play->rate_hz);
  if (handle && in && controls) {
    memcpy(in, play->in, in_bytes); // a plugin may write to its inputs
    memcpy(controls, play->controls, control_bytes);
    run_blocks(plugin, handle, play, in, controls);
    memcpy(play->outputs, controls, control_bytes);
    if (plugin->cleanup) {
      plugin->cleanup(handle);
    }
  }
  free(in);
  free(controls);
  return handle ? NULL : "instantiate() fails";
}
