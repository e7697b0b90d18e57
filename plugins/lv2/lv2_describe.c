// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugins/format.h"

extern const PluginFormat plugin_format_lv2;
const PluginFormat plugin_format_lv2 = { .name = "lv2" };
