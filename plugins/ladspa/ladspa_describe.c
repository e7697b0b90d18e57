// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugins/format.h"

extern const PluginFormat plugin_format_ladspa;
const PluginFormat plugin_format_ladspa = { .name = "ladspa" };
