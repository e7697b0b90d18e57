// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reads and writes racks in the server's folder on a thread of its own, one after the other: a disk
   that is slow or hangs delays who waits for it, and nobody else.
*/
#ifndef WARPRACK_CONTROL_RACK_STORE_H
#define WARPRACK_CONTROL_RACK_STORE_H

#include "folder.h"

#include "control/net/message.h"
#include "control/net/peer.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define RACK_STORE_MAX_JOBS 64U // on their way

/// One file to read or to write.
typedef struct RackStoreJob {
  struct RackStoreJob* next;
  bool is_write;
  char* name;       ///< Owned
  char* text;       ///< To write, or read from a file; owned
  Error error;      ///< How it went
  Message* message; ///< Who waits for a text; the store leaves it alone
  Peer peer;        ///< Writing: the client that gets the answer
  char* address;    ///< Writing: the address of the command that is answered; owned
  size_t n_bytes;   ///< Its size
} RackStoreJob;

typedef struct RackStore RackStore;

/// Start the thread.  The folder may be closed afterwards. [main]
NODISCARD Status rack_store_new(const Folder* folder, RackStore** store, Error* error);

/// Finish the pending jobs, and end.  If a disk blocks the thread for more than 2 s, the thread is
/// left running with its memory.  Accepts NULL. [main]
void rack_store_free(RackStore* store);

/// Readable when rack_store_take() has something new. [control]
int rack_store_fd(const RackStore* store);

/// Read a file for a message; STATUS_LIMIT or STATUS_NO_MEM when it cannot be taken on. [control]
NODISCARD Status rack_store_read(RackStore* store, const char* name, Message* message,
                                 Error* error);

/// Write a file, `text` is given away in any case, and answer this message. [control]
NODISCARD Status rack_store_write(RackStore* store, char* text, const Peer* peer,
                                  const Message* message, Error* error);

/// The oldest job that is done, freed by the caller with rack_store_job_free(); NULL: none.
/// [control]
RackStoreJob* rack_store_take(RackStore* store);

/// Accepts NULL.
void rack_store_job_free(RackStoreJob* job);

#endif
