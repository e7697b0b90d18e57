// SPDX-License-Identifier: GPL-3.0-or-later
/// A plugin with every kind of port, and presets: no binary, only a description.
#ifndef WARPRACK_TESTS_PLUGIN_SAMPLE_H
#define WARPRACK_TESTS_PLUGIN_SAMPLE_H

#include "plugins/plugin.h"

/// Without FxInfo.
extern const Plugin plugin_sample;

/// The text of a plugin; the caller frees it.
char* plugin_sample_text(const Plugin* plugin);

/// Read a text, which is copied to the arena.
Status plugin_sample_read(const char* text, Arena* arena, Plugin** plugin, Error* error);

/// A plugin without presets that has these ports, read from its own text.
const Plugin* plugin_sample_of(const PluginPort* ports, uint32_t n_ports, Arena* arena);

/// The parameter of that id; fails the test if there is none.
const FxParam* plugin_sample_param(const Plugin* plugin, const char* id);

#endif
