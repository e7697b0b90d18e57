// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Hosts LV2 plugins (https://lv2plug.in).  Everything that the host knows of a plugin is in its
   Plugin: nothing here reads Turtle.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_HOST_H
#define WARPRACK_PLUGINS_LV2_LV2_HOST_H

#include "plugins/host.h"

extern const InstanceCalls lv2_calls;

#endif
