// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The worker process: carries out what the server asks for over a wire (wire.h) on a Worker of its
   own, and tells what it hears from it.

   One thread receives and answers; the worker's threads send what they have to tell themselves.
   Twenty times a second, but not while a format is planned, the status goes over when something in
   it is new.
*/
#ifndef WARPRACK_ENGINE_WORKER_SERVE_H
#define WARPRACK_ENGINE_WORKER_SERVE_H

#include "engine/base/status.h"
#include "engine/rack/rack.h"
#include "engine/wire/config.h"

/// How the worker comes by the files that racks name: what of an EngineConfig cannot travel.
typedef struct ServeFiles {
  /// Make the loaders' context for names below `root`.  Files that `rack` (NULL: none) names may be
  /// anywhere; borrowed until close(). [main]
  Status (*open)(const char* root, const Rack* rack, void** context, Error* error);
  void (*close)(void* context);
  EngineLoadFile load_file; ///< With that context [builder]
  EngineReadFile read_file; ///< As EngineConfig's
  EngineFreeFile free_file;
} ServeFiles;

/// How a worker ends: its exit code.  None is one that a program ends with by itself.
typedef enum ServeEnd {
  SERVE_CLOSED = 0,    ///< The server has closed the socket
  SERVE_FAILED = 10,   ///< No worker can be made of the config; FAILED was sent
  SERVE_PROTOCOL = 11, ///< The server sent invalid data, or this end made some
  SERVE_ORPHAN = 12    ///< There was no server any more at the start
} ServeEnd;

/// Serve until the end; `error` says why it is another one than SERVE_CLOSED.  Owns the socket.
/// [main]
ServeEnd serve_worker(int socket, const ServeFiles* files, Error* error);

#endif
