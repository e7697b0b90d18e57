// SPDX-License-Identifier: GPL-3.0-or-later
/// Binaries of LV2 plugins: loaded, and never unloaded.
#ifndef WARPRACK_PLUGINS_LV2_LV2_BINARY_H
#define WARPRACK_PLUGINS_LV2_LV2_BINARY_H

#include "engine/base/status.h"
#include "plugins/plugin.h"

#include <lv2/core/lv2.h>

/// A plugin of a binary.
typedef struct Lv2Binary {
  const LV2_Descriptor* descriptor;
  const LV2_Lib_Descriptor* list; ///< Has the descriptor; NULL: the binary itself has it
} Lv2Binary;

/// Load a binary and find the plugin.  `folder`: of the bundle, with a slash at its end.
/// STATUS_FILE. [builder]
NODISCARD Status binary_open(Lv2Binary* binary, const Plugin* plugin, const char* folder,
                             const LV2_Feature* const* features, Error* error);

/// Free the list. [builder]
void binary_close(Lv2Binary* binary);

#endif
