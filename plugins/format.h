// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The interface of a plugin format: how the scan describes a bundle, and the functions that host a
   plugin.  A format is a room, plugins/<name>/, that defines plugin_format_<name>.
*/
#ifndef WARPRACK_PLUGINS_FORMAT_H
#define WARPRACK_PLUGINS_FORMAT_H

#include "host.h"
#include "plugin.h"

/// Receives the plugins of a bundle, one after the other.
typedef void (*PluginFound)(void* context, const Plugin* plugin);

typedef struct PluginFormat {
  const char* name;            ///< "ladspa", "lv2", "clap": the word in racks
  const char* path_variable;   ///< Environment variable with folders, separated by colons
  const char* default_folders; ///< "~" is the user's home
  bool keeps_defaults;         ///< The variable adds folders to those; false: replaces them
  bool is_folder;              ///< A bundle is a folder; false: a file
  bool is_deep;                ///< Bundles are also in folders of these folders
  const char* extension;       ///< Of a bundle's name: ".lv2", ".so"
  const char* marker;          ///< A folder with a file of this name is a bundle, too; NULL: none
  /// Read what describes bundles without code, such as manifests, for all later calls of describe()
  /// in this process and its children.  `announce` names the bundle before it is read, because a
  /// broken one may crash the process.  NULL: nothing to prepare. [scan]
  Status (*prepare)(const char* const* bundles, uint32_t n_bundles,
                    void (*announce)(void* context, const char* bundle), void* context,
                    Error* error);
  /// Describe all plugins of a bundle.  Runs code of the bundle, in a process of its own that may
  /// crash or hang. [scan]
  Status (*describe)(const char* bundle, PluginFound found, void* context, Error* error);
  const InstanceCalls* calls; ///< Hosts a plugin
} PluginFormat;

/// All formats of this build, in alphabetical order.  [any]
const PluginFormat* const* plugin_formats(uint32_t* n_formats);

/// A format of this build by its name, in any case; or NULL. [any]
const PluginFormat* plugin_format_find(const char* name);

#endif
