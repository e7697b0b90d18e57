// SPDX-License-Identifier: GPL-3.0-or-later
/// States of CLAP plugins: the bytes that a plugin writes to a stream.
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_STATE_H
#define WARPRACK_PLUGINS_CLAP_CLAP_STATE_H

#include "plugins/state_file.h"

#include <clap/plugin.h>

/// True if the plugin saves and loads states. [main thread of plugins]
bool clap_state_exists(const clap_plugin_t* clap);

/// Append the state.  STATUS_LIMIT if it is too large, STATUS_FILE if the plugin fails.
/// [main thread of plugins]
NODISCARD Status clap_state_save(const clap_plugin_t* clap, TextBuffer* part, Error* error);

/// Load a state.  STATUS_FILE if the plugin refuses it. [main thread of plugins]
NODISCARD Status clap_state_load(const clap_plugin_t* clap, const StatePart* part, Error* error);

#endif
