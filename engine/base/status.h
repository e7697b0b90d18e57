// SPDX-License-Identifier: GPL-3.0-or-later
/**
   How every part of warprack says that something failed: one status code for the program, and an
   Error that carries the sentence for the user beside it.

   Functions that can fail return a Status and are NODISCARD; results leave by out-parameters.
   The sentence is written once, near the cause, and says what the user can do.
*/
#ifndef WARPRACK_ENGINE_BASE_STATUS_H
#define WARPRACK_ENGINE_BASE_STATUS_H

#include "macros.h"

typedef enum Status {
  STATUS_OK = 0,
  STATUS_BAD_ARG,  ///< A value out of range or a call out of order; the user's or caller's mistake
  STATUS_BAD_RACK, ///< A rack document that cannot be: syntax, names, types, ranges, cycles, widths
  STATUS_NOT_FOUND,   ///< A node, parameter or address that is not there
  STATUS_EXISTS,      ///< A name that is taken
  STATUS_LIMIT,       ///< A stated bound was reached (queue full, too many nodes, too large)
  STATUS_NO_MEM,      ///< Out of host memory, threads, processes or open files
  STATUS_AUDIO_IO,    ///< The audio server, device or driver failed
  STATUS_NO_BACKEND,  ///< A DSP backend was asked for that is not there
  STATUS_FILE,        ///< A file is missing, unreadable, corrupt, empty, or cannot be written
  STATUS_NET,         ///< A socket could not be opened, or nobody answered
  STATUS_DEVICE_LOST, ///< A GPU's context is beyond use: everything on it must be made again
  STATUS_WORKER,      ///< The process that runs the effects cannot be started, or crashed
  STATUS_N_STATUSES
} Status;

/// What went wrong, in words for the user.  `text` is one printable line without a final full stop:
/// whatever a file, an argument or a message brought into it, error_set() made it so.
typedef struct Error {
  Status status;
  char text[512];
} Error;

/// A plain sentence for a status, never NULL. [any]
const char* status_text(Status status);

/// STATUS_NO_MEM for an errno that says memory, processes or open files are short, else
/// `otherwise`. [any]
Status status_of_errno(int number, Status otherwise);

/// The program's exit code for a status: 0 done, 2 usage or rack, 3 audio or network, 4 backend, 5
/// file, 6 memory or the like.
/// [any]
int status_exit_code(Status status);

/// Fill `error` (may be NULL) and return `status`, so that a failing function can end in one line.
Status // [any, not rt]
error_set(Error* error, Status status, const char* format, ...) PRINTF_LIKE(3, 4);

#endif
