// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The plugins of a live run: a scan in a child process renews the user's catalogue while audio
   runs, and the server and its worker change to it.  Scans run on request, on SIGHUP, and after the
   loss of a worker whose rack has plugins, because a plugin that has changed cannot be loaded again
   with its old description.  Clients may request scans as often as they like: one rests before the
   next.
*/
#ifndef WARPRACK_TOOLS_LIVE_PLUGINS_H
#define WARPRACK_TOOLS_LIVE_PLUGINS_H

#include "live_log.h"
#include "scan_child.h"

#include "engine/base/time.h"
#include "plugins/catalogue.h"

#include <stdatomic.h>

#define LIVE_PLUGINS_REST_NS (5U * NS_PER_S) // a scan uses all cores that audio leaves it

/// A scan that the reload of the rack file waits for.
typedef enum LivePluginsReload {
  LIVE_PLUGINS_NO_RELOAD,
  LIVE_PLUGINS_RELOAD_WANTED, ///< The next scan is the one
  LIVE_PLUGINS_RELOAD_RUNS,
} LivePluginsReload;

typedef struct LivePlugins {
  ChildMail child;
  LivePluginsReload reload;
  uint64_t rest_until_ns; ///< For scans that no reload waits for
  atomic_bool is_wanted;  ///< [any] sets, [main] clears
} LivePlugins;

/// The result of a scan.
typedef struct PluginsNews {
  char text[256]; ///< What was found, or why the scan failed
  bool has_failed;
  uint32_t n_plugins; ///< That can be used
  uint32_t n_unusable;
  uint32_t n_failed; ///< Bundles that could not be described
} PluginsNews;

/// Request a scan; one that runs is followed by another, after LIVE_PLUGINS_REST_NS. [any]
void live_plugins_want(LivePlugins* plugins);

/// Request a scan without that rest, for a reload. [main]
void live_plugins_want_for_reload(LivePlugins* plugins);

/// True until the scan that the last reload requested has ended. [main]
bool live_plugins_delay_reload(const LivePlugins* plugins);

/// Start the scan that is requested, and use the result of one that has ended: returns true, with
/// `news`.  Does not wait for the scan. [main]
bool live_plugins_poll(LivePlugins* plugins, Engine* engine, uint64_t now_ns, PluginsNews* news);

/// Give the worker of an Engine a catalogue.  A CatalogueShare. [any, not rt]
NODISCARD Status live_plugins_share(void* engine, const Catalogue* catalogue,
                                    const CatalogueChange* change, Error* error);

/// Kill the scan that runs. [main]
void live_plugins_stop(LivePlugins* plugins);

/// True if the rack that plays has plugins. [main]
bool live_plugins_are_used(Engine* engine);

#endif
