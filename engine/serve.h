// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The worker process: carries out what the server asks for over a wire (wire.h) on a Runner of its
   own, and tells what it hears from it.
*/
#ifndef WARPRACK_ENGINE_SERVE_H
#define WARPRACK_ENGINE_SERVE_H

#include "engine.h"
#include "effect.h"
#include "status.h"

/// What of an EngineConfig cannot travel.
typedef struct ServeCalls {
  /// Make the context of the loaders for file names relative to `root`. [main]
  Status (*open_root)(void** context, const char* root, Error* error);
  void (*close_root)(void* context);
  EngineLoadFile load_file; ///< With that context
  EngineFreeFile free_file;
} ServeCalls;

/// How a worker ends: its exit code.
typedef enum ServeEnd {
  SERVE_CLOSED = 0,   ///< The server has closed the socket
  SERVE_FAILED = 3,   ///< The config cannot be carried out; the server was told why
  SERVE_PROTOCOL = 4, ///< The server sent what cannot be
  SERVE_NO_MEMORY = 5,
  SERVE_ORPHAN = 6 ///< There was no server any more at the start
} ServeEnd;

/// Serve until the end; says on stderr why it is another one than SERVE_CLOSED.  Owns the socket.
/// [main]
ServeEnd serve_worker(int socket, const ServeCalls* calls);

#endif
