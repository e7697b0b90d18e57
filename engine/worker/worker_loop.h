// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The worker process: executes the server's messages (wire.h) on its own Worker, and sends the
   Worker's events back.

   One thread receives and replies; the worker's threads send their own events.  The first thread
   also sends the status if it has changed, four times a second; during ARM and DISARM it does
   not.
*/
#ifndef WARPRACK_ENGINE_WORKER_WORKER_LOOP_H
#define WARPRACK_ENGINE_WORKER_WORKER_LOOP_H

#include "engine/base/status.h"
#include "engine/rack/rack.h"
#include "engine/wire/config.h"

/// Files and plugins, which the program of the worker process provides.
typedef struct WorkerLoopFiles {
  /// Make the catalogue of plugins in `fd` (see sealed_text_read()), which is borrowed, that of
  /// this process.  Comes before any rack that names its plugins.  An error ends the worker. [main]
  Status (*use_plugins)(int fd, Error* error);
  /// Give access to the files below `root`.  Files that `rack` (NULL: none) names may be anywhere;
  /// `rack` is borrowed until close(). [main]
  Status (*open)(const char* root, const Rack* rack, FxFiles* files, Error* error);
  void (*close)(void* context); ///< Free the context of that access, unless it is NULL [main]
} WorkerLoopFiles;

/// How a worker ends: its exit code.  The values differ from those of other programs.
typedef enum WorkerLoopEnd {
  WORKER_LOOP_CLOSED = 0,    ///< The server has closed the socket
  WORKER_LOOP_FAILED = 10,   ///< FAILED was sent
  WORKER_LOOP_PROTOCOL = 11, ///< Invalid data from the server, or no message could be made
  WORKER_LOOP_ORPHAN = 12    ///< There was no server at the start
} WorkerLoopEnd;

/// Execute messages until the server closes the socket, or until an error.  With any result other
/// than WORKER_LOOP_CLOSED, `error` has the reason.  Takes ownership of the socket. [main]
WorkerLoopEnd worker_loop_run(int socket, const WorkerLoopFiles* files, Error* error);

#endif
