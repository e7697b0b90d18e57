// SPDX-License-Identifier: GPL-3.0-or-later
/// The state of a live run, shared by live_start.c (set-up) and live.c (running, end).
#ifndef WARPRACK_TOOLS_LIVE_PRIVATE_H
#define WARPRACK_TOOLS_LIVE_PRIVATE_H

#include "live.h"
#include "live_checks.h"
#include "live_log.h"
#include "live_nsm.h"
#include "live_plugins.h"
#include "live_watch.h"
#include "rack_arg.h"
#include "rack_request.h"
#include "service.h"
#include "state.h"

#include "control/control.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct Live {
  const LiveConfig* config;
  LiveLog* log;
  LiveWatch watch;
  Service* service;
  LiveNsm* nsm;
  RackArg rack; ///< The RACK of the command line, which also decides which files may be read
  Rack* first;  ///< The rack at the start
  State* state; ///< NULL: no state folder
  Engine* engine;
  Control* control;
  const IoDriver* driver;
  Io* io;
  IoState io_state;   ///< At the last poll
  char io_note[640];  ///< The driver's last note; "" once it is logged
  RackRequest reload; ///< For SIGHUP; open if the RACK is a file
  LivePlugins plugins;
  LiveChecks checks;
  ControlScan scan;  ///< Guarded by `audio_lock`: [main] writes, [control] reads
  atomic_bool muted; ///< [main] writes, [control] reads: the engine is faded out
  uint64_t muted_until_ns;
  atomic_bool quit;            ///< [control] writes, [main] reads
  atomic_bool latency_changed; ///< [any] sets, [main] clears
  pthread_mutex_t audio_lock;  ///< Guards `audio`: [main] writes, [control] reads
  ControlAudio audio;
  _Atomic uint64_t watchdog_fed; ///< [main] writes, [control] reads
  char backend_note[640];        ///< Last logged text
  char late_note[512];           ///< Last logged text
} Live;

/// Open all parts of a run; on error `live` has the parts that are open.  The engine is opened
/// first, so that a bad rack ends the run before anything else is open; then the port, so that a
/// busy port ends it before audio is open. [main]
NODISCARD Status live_start(Live* live, Error* error);

/// Set the RACK of the command line as the origin of the state that is saved from now on. [main]
void live_set_origin(Live* live, const RackArg* rack);

/// Log the driver's last note, unless it is logged already. [main]
void live_pass_on_note(Live* live, LiveEvent event);

#endif
