// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Factory presets of CLAP plugins: found by the preset providers of a file, in the file itself and
   in the folders that they name; loaded by the plugin (clap/factory/preset-discovery.h,
   clap/ext/preset-load.h).

   As PluginPreset: `uri` is the load key, "" for none; `state` is the file that has the preset,
   which is the plugin's own file for presets inside it.
*/
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_PRESETS_H
#define WARPRACK_PLUGINS_CLAP_CLAP_PRESETS_H

#include "plugins/description.h"

#include <clap/factory/preset-discovery.h>
#include <clap/plugin.h>

/// A preset for one plugin.
typedef struct ClapPreset {
  const char* plugin; ///< Its id
  const char* name;
  const char* key;  ///< "": none
  const char* file; ///< The file that has it
} ClapPreset;

/// The presets that the providers of a file know.
typedef struct ClapPresets {
  ClapPreset* list; ///< [n] in the order of the providers, their locations and sorted paths
  uint32_t n, n_reserved;
  uint32_t n_lost;        ///< Locations and presets that are left out
  const char* first_lost; ///< Path or name of the first one
  Arena arena;            ///< Memory of the texts
} ClapPresets;

/// Ask all providers.  They are code of the file, which may crash or hang.
/// @param factory NULL: no provider.
/// @param file Of the plugins and the factory; lives as long as the presets.
/// [scan, main thread of plugins]
void clap_presets_find(ClapPresets* presets, const char* file,
                       const clap_preset_discovery_factory_t* factory);

/// Add to a description the presets of its plugin, if it can load any.  Their texts are those of
/// `presets`. [scan, main thread of plugins]
void clap_presets_describe(const ClapPresets* presets, const clap_plugin_t* clap,
                           Description* description);

void clap_presets_clear(ClapPresets* presets);

/// Load a preset into a plugin that is not active.  STATUS_FILE if the plugin refuses.
/// [main thread of plugins]
NODISCARD Status clap_preset_load(const clap_plugin_t* clap, const Plugin* plugin,
                                  const PluginPreset* preset, Error* error);

#endif
