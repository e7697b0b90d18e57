// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Files that an instance of a plugin makes for its state, such as a recording: in a folder of the
   instance below $TMPDIR or /tmp, which is removed with the instance.  A file that a saved state
   names is copied into the state's package (engine/contract/package.h), so that the rack has it.

   The folder is made with the first file.  It is locked while its process lives: a folder that a
   killed process has left is removed when the next one is made.  All instances of a process
   together may have HOST_MADE_MAX_BYTES: with more, none gets another path, and no state is saved
   that names a file.
*/
#ifndef WARPRACK_PLUGINS_HOST_MADE_H
#define WARPRACK_PLUGINS_HOST_MADE_H

#include "engine/base/status.h"
#include "engine/base/text_buffer.h"

#include <pthread.h>

#define HOST_MADE_MAX_BYTES (1ULL << 30U) // as of all states in the server's folder

typedef struct HostMade {
  pthread_mutex_t lock; ///< Of all members: plugins ask for paths on any thread
  char* folder;         ///< Absolute, without links; NULL: none yet
  int fd;               ///< Of the folder, with its lock; -1
  Error error;          ///< The first since host_made_take_error()
} HostMade;

void host_made_init(HostMade* made);

/// The absolute path for a file of this name, whose folders exist then; the caller frees it.  NULL,
/// with an error for host_made_take_error(), if the name leads out of the folder or through a link,
/// there are too many bytes, or nothing can be made. [any but rt]
char* host_made_path(HostMade* made, const char* name);

/// The name of a path in the folder, a part of `path`; NULL if it is not in it. [any but rt]
const char* host_made_name(HostMade* made, const char* path);

/// Read a file of the folder: a regular one, without links, of at most `max_bytes`.  STATUS_FILE,
/// STATUS_LIMIT, STATUS_NO_MEM. [builder]
NODISCARD Status host_made_read(HostMade* made, const char* name, size_t max_bytes,
                                TextBuffer* content, Error* error);

/// The first error since the last call. [builder]
Error host_made_take_error(HostMade* made);

/// Remove the folder. [builder]
void host_made_clear(HostMade* made);

#endif
