// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The plugins of a live run: a scan in a child process renews the user's catalogue while audio runs,
   and the server and its worker change to it.  Scans run on request, on SIGHUP, and after the loss
   of a worker whose rack has plugins, because a plugin that has changed cannot be loaded again with
   its old description.
*/
#ifndef WARPRACK_TOOLS_LIVE_PLUGINS_H
#define WARPRACK_TOOLS_LIVE_PLUGINS_H

#include "live_log.h"
#include "scan_child.h"

#include <stdatomic.h>

typedef struct LivePlugins {
  ScanChild child;
  atomic_bool is_wanted; ///< [any] sets, [main] clears
} LivePlugins;

/// The result of a scan.
typedef struct PluginsNews {
  char text[256]; ///< What was found, or why the scan failed
  bool has_failed;
  uint32_t n_plugins; ///< That can be used
  uint32_t n_unusable;
  uint32_t n_failed; ///< Bundles that could not be described
} PluginsNews;

/// Request a scan; one that runs is followed by another. [any]
void live_plugins_want(LivePlugins* plugins);

/// True while a scan is requested or runs. [main]
bool live_plugins_are_open(const LivePlugins* plugins);

/// Start the scan that is requested, and use the result of one that has ended: returns true, with
/// `news`.  Does not wait for the scan. [main]
bool live_plugins_poll(LivePlugins* plugins, Engine* engine, PluginsNews* news);

/// Kill the scan that runs. [main]
void live_plugins_stop(LivePlugins* plugins);

/// True if this process knows plugins. [main]
bool live_plugins_are_known(void);

/// True if the rack that plays has plugins. [main]
bool live_plugins_are_used(Engine* engine);

#endif
