// SPDX-License-Identifier: GPL-3.0-or-later
/// The packages of plugins, for messages.
#ifndef WARPRACK_PLUGINS_PACKAGES_H
#define WARPRACK_PLUGINS_PACKAGES_H

/// The package of Debian 12 that has a plugin, by the form of its id; NULL: not known. [any]
const char* plugin_package(const char* format, const char* reference);

#endif
