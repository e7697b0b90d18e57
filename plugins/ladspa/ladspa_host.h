// SPDX-License-Identifier: GPL-3.0-or-later
/// Hosts LADSPA plugins.
#ifndef WARPRACK_PLUGINS_LADSPA_LADSPA_HOST_H
#define WARPRACK_PLUGINS_LADSPA_LADSPA_HOST_H

#include "plugins/host.h"

extern const InstanceCalls ladspa_calls;

#endif
