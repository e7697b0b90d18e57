// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reports a live run to its service manager, if there is one: ready, status, keep-alive, reload,
   stopping. [main]

   A keep-alive message feeds the manager's watchdog: after half of its interval, and only if the
   counters of all parts have advanced since the last message.  While the driver waits for an audio
   server or device, the audio callback and the worker have no work and are not checked; the main
   loop (which calls this code) and the control thread still are.  A worker is not checked while its
   supervisor starts it or waits before a restart, because the fallbacks that play meanwhile are
   better than a restart of the service.
*/
#ifndef WARPRACK_TOOLS_SERVICE_H
#define WARPRACK_TOOLS_SERVICE_H

#include "notify_socket.h"

#include "engine/engine.h"
#include "io/io.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct VitalSigns {
  bool has_audio;           ///< The driver runs, so that blocks are due
  bool has_worker;          ///< A worker accepts blocks
  uint64_t callback_blocks; ///< Periods that the audio callback has completed
  uint64_t worker_blocks;   ///< Blocks that the worker has completed
  uint64_t control_rounds;  ///< Rounds of the control thread
} VitalSigns;

typedef struct Service {
  NotifySocket socket;
  pthread_mutex_t starting_lock; ///< service_slow_start() may run on another thread
  bool is_ready;
  uint64_t slow_ns; ///< Time of the last message about a slow start; 0: none
  uint64_t feed_ns; ///< Time between two keep-alive messages; 0: none are due
  uint64_t fed_ns;  ///< Time of the last one, or of service_ready()
  VitalSigns fed;   ///< The counters at that time
  uint64_t n_fed;   ///< Keep-alive messages sent to the manager
  bool was_lost;    ///< Result of the last service_is_lost()
} Service;

/// Find the service manager.  STATUS_NET if it cannot be reached.
NODISCARD Status service_open(Service* service, Error* error);

void service_close(Service* service);

/// Returns true once each time that the manager stops accepting messages, with the reason in `why`.
bool service_is_lost(Service* service, Error* why);

/// Report that the start takes longer than the manager expects, with the reason.  Sends at most one
/// message per second, and none after service_ready(). [any, not rt]
void service_slow_start(Service* service, const char* why, uint64_t now_ns);

/// Report that the start is over: the server accepts commands, and audio runs or the driver waits
/// for it.
void service_ready(Service* service, const VitalSigns* signs, uint64_t now_ns);

/// Send keep-alive messages and state changes when they are due.  Call it at least four times a
/// second.
void service_poll(Service* service, const VitalSigns* signs, const char* driver, const IoStatus* io,
                  const EngineStatus* engine, uint64_t now_ns);

void service_reloading(Service* service, uint64_t now_ns);
void service_reloaded(Service* service);

void service_stopping(Service* service, const char* why);

#endif
