// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reports of failures in all of warprack: a status code for the program, and an Error with the
   sentence for the user.

   Functions that can fail return a Status and are NODISCARD; out-parameters hold their results.
   The function that detects the error writes the sentence, which says how the user can correct it.
*/
#ifndef WARPRACK_ENGINE_BASE_STATUS_H
#define WARPRACK_ENGINE_BASE_STATUS_H

#include "macros.h"

typedef enum Status {
  STATUS_OK = 0,
  STATUS_BAD_ARG,     ///< A value out of range or a call out of order; an error of the user or the
                      ///< caller
  STATUS_BAD_RACK,    ///< An invalid rack document: syntax, names, types, ranges, cycles, widths
  STATUS_NOT_FOUND,   ///< A node, parameter or address that does not exist
  STATUS_EXISTS,      ///< A name that is in use
  STATUS_LIMIT,       ///< A stated bound was reached (queue full, too many nodes, too large)
  STATUS_NO_MEM,      ///< Out of host memory, threads, processes or open files
  STATUS_AUDIO_IO,    ///< The audio server, device or driver failed
  STATUS_NO_BACKEND,  ///< A requested DSP backend is not available
  STATUS_FILE,        ///< A file is missing, unreadable, corrupt, empty, or cannot be written
  STATUS_NET,         ///< A socket could not be opened, or there was no reply
  STATUS_DEVICE_LOST, ///< A GPU's context is unusable: all its objects must be made again
  STATUS_WORKER,      ///< The process that runs the effects cannot be started, or crashed
  STATUS_N_STATUSES
} Status;

/// The error text for the user: one printable line without a final full stop. error_set() replaces
/// unprintable characters that came from a file, an argument or a message.
typedef struct Error {
  Status status;
  char text[512];
} Error;

/// A plain sentence for a status, never NULL. [any]
const char* status_text(Status status);

/// STATUS_NO_MEM for an errno that means a lack of memory, processes or open files, else
/// `otherwise`. [any]
Status status_of_errno(int number, Status otherwise);

/// The program's exit code for a status: 0 success, 2 usage or rack, 3 audio or network, 4
/// backend, 5 file, 6 memory and similar. [any]
int status_exit_code(Status status);

/// Fill `error` (may be NULL) and return `status`, so that a failing function can end in one line.
Status // [any, not rt]
error_set(Error* error, Status status, const char* format, ...) PRINTF_LIKE(3, 4);

#endif
