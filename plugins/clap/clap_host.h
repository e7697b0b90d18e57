// SPDX-License-Identifier: GPL-3.0-or-later
/// Hosts CLAP plugins.
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_HOST_H
#define WARPRACK_PLUGINS_CLAP_CLAP_HOST_H

#include "clap_extensions.h"
#include "plugins/host.h"

extern const InstanceCalls clap_calls;

/// The host that an instance has. [main thread of plugins]
ClapHost* clap_instance_host(Instance* instance);

#endif
