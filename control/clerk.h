// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reads and writes racks in the server's folder on a thread of its own, one after the other: a disk
   that is slow or hangs delays who waits for it, and nobody else.
*/
#ifndef WARPRACK_CONTROL_CLERK_H
#define WARPRACK_CONTROL_CLERK_H

#include "folder.h"
#include "message.h"
#include "peer.h"

#include "../engine/status.h"

#include <stdbool.h>
#include <stddef.h>

#define CLERK_MAX_JOBS 64U // on their way

/// One file to read or to write.
typedef struct ClerkJob {
  struct ClerkJob* next;
  bool is_write;
  char* name;       ///< Owned
  char* text;       ///< To write, or what was read; owned
  Error error;      ///< How it went
  Message* message; ///< Who waits for a text; the clerk leaves it alone
  Peer peer;        ///< Who is told that a text is written ...
  char* address;    ///< ... as the answer to this; owned
  size_t n_bytes;   ///< Its size
} ClerkJob;

typedef struct Clerk Clerk;

/// Start the thread.  The folder may be closed afterwards. [main]
NODISCARD Status clerk_new(const Folder* folder, Clerk** clerk, Error* error);

/// Finish what has been asked for, and end.  A thread that hangs on a disk for more than 2 s is
/// left to itself with all that it uses.  Accepts NULL. [main]
void clerk_free(Clerk* clerk);

/// Readable when clerk_take() has something new. [control]
int clerk_fd(const Clerk* clerk);

/// Read a file for a message; STATUS_LIMIT or STATUS_NO_MEM when it cannot be taken on. [control]
NODISCARD Status clerk_read(Clerk* clerk, const char* name, Message* message, Error* error);

/// Write a file, `text` is given away in any case, and answer this message. [control]
NODISCARD Status clerk_write(Clerk* clerk, char* text, const Peer* peer, const Message* message,
                             Error* error);

/// The oldest job that is done, freed by the caller with clerk_job_free(); NULL: none. [control]
ClerkJob* clerk_take(Clerk* clerk);

/// Accepts NULL.
void clerk_job_free(ClerkJob* job);

#endif
