// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A live run from start to end: one engine between one audio driver and one OSC port.

       driver's thread ── IoEvents::process ──▶ engine_run()
       control's thread ── edits, parameters ─▶ engine
                        └─ active rack ───────▶ state's thread ──▶ disk
       main thread: signals, io_poll() every 50 ms, events ──▶ log's thread ──▶ stdout, stderr
                                                └─▶ service manager
*/
#ifndef WARPRACK_TOOLS_LIVE_H
#define WARPRACK_TOOLS_LIVE_H

#include "control/net/allow.h"
#include "control/net/listeners.h"
#include "engine/base/status.h"
#include "engine/engine.h"
#include "io/io.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct LiveConfig {
  const char* rack;           ///< RACK as on the command line
  uint32_t missing;           ///< Whether plugins of racks may be missing, see MISSING_OPTION
  const IoDriver* driver;     ///< NULL: the first that opens, in the order of io_drivers()
  IoConfig io;                ///< The channels are also the engine's
  EngineConfig engine;        ///< live_run() sets channels and file loaders
  const char* state;          ///< Folder to keep the rack in, NULL: none
  bool fresh;                 ///< Start with `rack` in any case, see first_rack.h
  uint16_t osc_port;          ///< 0: any free port
  const char* bind_address;   ///< Of the OSC port, numeric
  bool any_port;              ///< Under a session manager: take another port if it is in use
  const char* nsm_url;        ///< Session manager, see live_nsm.h; NULL: none
  const char* root;           ///< Folder for file names, NULL: the folder of the rack file
  const Allow* osc_allow;     ///< See ControlConfig
  const Listeners* listeners; ///< See ControlConfig
  bool json, verbose;
} LiveConfig;

/// Run until a signal, /server/quit or the end of the duration.  Logs its errors.  Blocks the
/// signals that it waits for in the calling thread and in all threads that it starts. [main]
NODISCARD Status live_run(const LiveConfig* config);

#endif
