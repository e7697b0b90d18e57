// SPDX-License-Identifier: GPL-3.0-or-later

#include "reference_ladspa.h"

#include <dlfcn.h>
#include <ladspa.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS 64U
#define AUDIO_IN   (LADSPA_PORT_AUDIO | LADSPA_PORT_INPUT)
#define AUDIO_OUT  (LADSPA_PORT_AUDIO | LADSPA_PORT_OUTPUT)

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

/// Connect every port to its place at frame `at`.
static void
connect(const LADSPA_Descriptor* const plugin, const LADSPA_Handle handle,
        const ReferenceLadspa* const play, float* const* const in, const uint32_t at)
{
  uint32_t n_in = 0;
  uint32_t n_out = 0;
  for (unsigned long p = 0; p < plugin->PortCount; ++p) {
    float* place = &play->values[p];
    if (plugin->PortDescriptors[p] == AUDIO_IN) {
      place = in[n_in++] + at;
    } else if (plugin->PortDescriptors[p] == AUDIO_OUT) {
      place = play->out[n_out++] + at;
    }
    plugin->connect_port(handle, p, place);
  }
}

static void
run_blocks(const LADSPA_Descriptor* const plugin, const LADSPA_Handle handle,
           const ReferenceLadspa* const play, float* const* const in)
{
  connect(plugin, handle, play, in, 0);
  if (plugin->activate) {
    plugin->activate(handle);
  }
  for (uint32_t at = 0; at < play->n_frames; at += play->block_frames) {
    connect(plugin, handle, play, in, at);
    if (play->before_run) {
      play->before_run();
    }
    plugin->run(handle, play->block_frames);
  }
  if (plugin->deactivate) {
    plugin->deactivate(handle);
  }
  if (plugin->cleanup) {
    plugin->cleanup(handle);
  }
}

const char*
reference_ladspa_play(const ReferenceLadspa* const play)
{
  float* in[MAX_INPUTS] = { NULL }; // copies, as a plugin may write to its inputs
  const LADSPA_Descriptor* const plugin = load(play->path, play->label);
  if (!plugin) {
    return "there is no such plugin";
  }
  const LADSPA_Handle handle = plugin->instantiate(plugin, play->rate_hz);
  if (!handle || play->n_in > MAX_INPUTS) {
    return "instantiate() fails, or too many inputs";
  }
  for (uint32_t i = 0; i < play->n_in; ++i) {
    in[i] = play->in_place ? play->out[i] : malloc(play->n_frames * sizeof(float));
    memcpy(in[i], play->in[i], play->n_frames * sizeof(float));
  }
  run_blocks(plugin, handle, play, in);
  for (uint32_t i = 0; i < play->n_in && !play->in_place; ++i) {
    free(in[i]);
  }
  return NULL;
}
