// SPDX-License-Identifier: GPL-3.0-or-later
/// The state of a live run, shared by live_start.c (what it is made of) and live.c (running, end).
#ifndef WARPRACK_TOOLS_LIVE_PRIVATE_H
#define WARPRACK_TOOLS_LIVE_PRIVATE_H

#include "live.h"
#include "live_log.h"
#include "live_watch.h"
#include "rack_arg.h"
#include "reload.h"
#include "service.h"
#include "state.h"

#include "control/control.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

typedef struct Live {
  const LiveConfig* config;
  LiveLog log;
  LiveWatch watch;
  Service service;
  sigset_t signals; ///< Taken by sigtimedwait() in the main loop only
  RackArg rack;     ///< Of the command line; which files may be read goes by it
  Rack* first;      ///< What the run begins with
  State* state;     ///< NULL: nothing is kept
  Engine* engine;
  Control* control;
  const IoDriver* driver;
  Io* io;
  IoState io_state;  ///< As it was at the last look
  char io_note[640]; ///< What the driver said last; "" when that has been passed on
  Reload reload;     ///< Open when the rack came from a file
  atomic_bool muted; ///< [main] writes, [rt] reads: the output is silent
  uint64_t muted_until_ns;
  atomic_bool quit;            ///< [control] writes, [main] reads
  atomic_bool latency_changed; ///< [any] sets, [main] clears
  pthread_mutex_t audio_lock;  ///< Guards `audio`: [main] writes, [control] reads
  ControlAudio audio;
  _Atomic uint64_t watchdog_fed; ///< [main] writes, [control] reads
  char backend_note[640];        ///< As it was said last
  char late_note[512];           ///< As it was said last
} Live;

/// Open what a run is made of; what is made is in `live` also on error.  The engine first, so that
/// a bad rack opens nothing; then the port, so that a busy one opens no audio. [main]
NODISCARD Status live_start(Live* live, Error* error);

/// The RACK of the command line is this one: what is kept from now on was begun with it. [main]
void live_set_origin(Live* live, const Rack* rack);

/// Say what the driver has said last, unless that is done. [main]
void live_pass_on_note(Live* live, LiveEvent event);

#endif
