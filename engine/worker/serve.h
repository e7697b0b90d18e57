// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The worker process: executes the server's messages (wire.h) on its own Worker, and sends the
   Worker's events back.

   One thread receives and replies; the worker's threads send their own events.  Twenty times a
   second, but not while a format is planned, the status is sent if it has changed.
*/
#ifndef WARPRACK_ENGINE_WORKER_SERVE_H
#define WARPRACK_ENGINE_WORKER_SERVE_H

#include "engine/base/status.h"
#include "engine/rack/rack.h"
#include "engine/wire/config.h"

/// Access to the files that racks name: the members of EngineConfig that cannot be sent.
typedef struct ServeFiles {
  /// Make the loaders' context for names below `root`.  Files that `rack` (NULL: none) names may be
  /// anywhere; borrowed until close(). [main]
  Status (*open)(const char* root, const Rack* rack, void** context, Error* error);
  void (*close)(void* context);
  EngineLoadFile load_file; ///< With that context [builder]
  EngineReadFile read_file; ///< As EngineConfig's
  EngineFreeFile free_file;
} ServeFiles;

/// How a worker ends: its exit code.  The values differ from those of other programs.
typedef enum ServeEnd {
  SERVE_CLOSED = 0,    ///< The server has closed the socket
  SERVE_FAILED = 10,   ///< The config does not allow a worker; FAILED was sent
  SERVE_PROTOCOL = 11, ///< The server sent invalid data, or this process made some
  SERVE_ORPHAN = 12    ///< There was no server at the start
} ServeEnd;

/// Serve until the end; `error` has the reason unless SERVE_CLOSED.  Owns the socket. [main]
ServeEnd serve_worker(int socket, const ServeFiles* files, Error* error);

#endif
