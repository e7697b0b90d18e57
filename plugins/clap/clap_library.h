// SPDX-License-Identifier: GPL-3.0-or-later
/// Files of CLAP plugins.  A file stays loaded for the life of the process, because plugins leave
/// threads, handlers and exit functions behind.
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_LIBRARY_H
#define WARPRACK_PLUGINS_CLAP_CLAP_LIBRARY_H

#include "engine/base/status.h"

#include <clap/factory/plugin-factory.h>
#include <clap/factory/preset-discovery.h>

/// What a file offers.
typedef struct ClapFactories {
  const clap_plugin_factory_t* plugins;
  const clap_preset_discovery_factory_t* presets; ///< NULL: it has no presets
} ClapFactories;

/// Load a file, initialise it once, and find its factories.  STATUS_FILE, STATUS_NO_MEM.
/// [scan, builder; in clap_main_enter()]
NODISCARD Status clap_library_open(const char* path, ClapFactories* factories, Error* error);

#endif
