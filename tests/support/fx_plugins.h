// SPDX-License-Identifier: GPL-3.0-or-later
/// The plugins of tests of the rack language.
#ifndef WARPRACK_TESTS_FX_PLUGINS_H
#define WARPRACK_TESTS_FX_PLUGINS_H

#include <stdbool.h>

/// Let the plugin "urn:test:late" be there, or be missing, as at the start.  It has the parameters
/// thr, ... of `comp`, and the side inputs `key` and `sidechain`.
void fx_plugins_install_late(bool is_there);

#endif
