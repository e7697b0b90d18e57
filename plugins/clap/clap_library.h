// SPDX-License-Identifier: GPL-3.0-or-later
/// Files of CLAP plugins.  A file stays loaded for the life of the process, because plugins leave
/// threads, handlers and exit functions behind.
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_LIBRARY_H
#define WARPRACK_PLUGINS_CLAP_CLAP_LIBRARY_H

#include "engine/base/status.h"

#include <clap/factory/plugin-factory.h>

/// Load a file, initialise it once, and find the factory of its plugins.  STATUS_FILE,
/// STATUS_NO_MEM. [scan, builder; in clap_main_enter()]
NODISCARD Status clap_library_open(const char* path, const clap_plugin_factory_t** factory,
                                   Error* error);

#endif
