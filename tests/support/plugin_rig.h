// SPDX-License-Identifier: GPL-3.0-or-later
/// Plugins of a bundle and instances of them, as the scan and the host use them.  All memory stays
/// until the process ends.
#ifndef WARPRACK_TESTS_PLUGIN_RIG_H
#define WARPRACK_TESTS_PLUGIN_RIG_H

#include "plugins/format.h"

#define PLUGIN_RIG_RATE   48000.0
#define PLUGIN_RIG_FRAMES 8192U // of the signals

/// Zeroed memory.
void* plugin_rig_take(size_t n, size_t size);

/// Forget all plugins.
void plugin_rig_clear(void);

/// Keep a plugin that a format describes, read from its text (PluginFound).
void plugin_rig_keep(void* context, const Plugin* plugin);

/// Describe a bundle; the plugins are read from their text.
Status plugin_rig_try_describe(const char* format, const char* bundle, Error* error);

/// As plugin_rig_try_describe(); an error fails the test.
void plugin_rig_describe(const char* format, const char* bundle);

/// The plugins that are kept: those of the last bundle.
const Plugin* const* plugin_rig_plugins(uint32_t* n_plugins);

/// The plugin of that id; fails the test if there is none.
const Plugin* plugin_rig_find(const char* id);

/// The place of a port with that name; fails the test if there is none.
uint32_t plugin_rig_port(const Plugin* plugin, const char* name);

bool plugin_rig_is_input(const PluginPort* port, PortType type);
bool plugin_rig_is_output(const PluginPort* port, PortType type);

/// The path of a library of tests/support/plugins/ladspa: "effects".
const char* plugin_rig_ladspa_path(const char* library);

/// A plugin of these libraries: "effects/gain".
const Plugin* plugin_rig_ladspa(const char* id);

/// An instance with a signal for each audio port.
typedef struct PluginRig {
  const Plugin* plugin;
  const InstanceCalls* calls;
  Instance* instance;
  uint32_t n_in, n_out;
  float** in;   ///< [n_in][PLUGIN_RIG_FRAMES] noise, different in each
  float** rows; ///< [n_in] the copies that the plugin gets
  float** out;  ///< [n_out][PLUGIN_RIG_FRAMES]
} PluginRig;

Status
plugin_rig_try(PluginRig* rig, const Plugin* plugin, uint32_t max_block_frames, Error* error);

/// As plugin_rig_try(); an error fails the test.
PluginRig plugin_rig_open(const Plugin* plugin, uint32_t max_block_frames);

void plugin_rig_close(const PluginRig* rig);

/// Set a control input.
void plugin_rig_set(const PluginRig* rig, const char* name, double value);

/// Renew; an error fails the test.
void plugin_rig_renew(const PluginRig* rig);

/// Run blocks from the start of the signals.
void plugin_rig_play(const PluginRig* rig, uint32_t n_frames, uint32_t block_frames);

#endif
