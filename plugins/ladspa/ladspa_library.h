// SPDX-License-Identifier: GPL-3.0-or-later
/// Libraries of LADSPA plugins.  A library stays loaded for the life of the process, because
/// plugins leave threads, handlers and exit functions behind.
#ifndef WARPRACK_PLUGINS_LADSPA_LADSPA_LIBRARY_H
#define WARPRACK_PLUGINS_LADSPA_LADSPA_LIBRARY_H

#include "engine/base/status.h"

#include <ladspa.h>

/// Load a library and find the function that lists its plugins.  STATUS_FILE. [scan, builder]
NODISCARD Status ladspa_library_open(const char* path, LADSPA_Descriptor_Function* list,
                                     Error* error);

/// The first plugin with that label, or NULL. [scan, builder]
const LADSPA_Descriptor* ladspa_library_find(LADSPA_Descriptor_Function list, const char* label);

#define LADSPA_MAX_PLUGINS 1024U // of a library; some functions never end their list

#endif
