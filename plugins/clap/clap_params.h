// SPDX-License-Identifier: GPL-3.0-or-later
/// Describes the parameters of a CLAP plugin.
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_PARAMS_H
#define WARPRACK_PLUGINS_CLAP_CLAP_PARAMS_H

#include "plugins/description.h"

#include <clap/plugin.h>

/// The number of parameters. [scan]
uint32_t clap_params_count(const clap_plugin_t* clap);

/// Add the parameters, for which there is room, to the ports. [scan]
void clap_params_describe(Description* description, const clap_plugin_t* clap);

#endif
