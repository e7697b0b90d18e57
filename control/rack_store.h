// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reads and writes racks, and writes states and takes, in the server's folder on a separate thread,
   one after the other.  A disk that is slow or hangs delays only the clients that wait for it.
*/
#ifndef WARPRACK_CONTROL_RACK_STORE_H
#define WARPRACK_CONTROL_RACK_STORE_H

#include "folder.h"

#include "control/net/message.h"
#include "control/net/peer.h"
#include "engine/base/status.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>

#define RACK_STORE_MAX_JOBS 64U // queued, in progress or finished

typedef enum RackStoreKind {
  STORE_READ,  ///< A rack
  STORE_WRITE, ///< A rack
  STORE_STATE, ///< Write a state, which stays as it is
  STORE_TAKE   ///< Write a part of a take
} RackStoreKind;

/// Steps in which a file of a take is written.  The steps after one that has failed fail, too.
typedef enum RackStoreStep {
  STORE_FIRST, ///< Make the file; STATUS_EXISTS if there is one
  STORE_NEXT,
  STORE_LAST ///< Then the file is on the disk
} RackStoreStep;

/// A part of a file of a take.
typedef struct RackStorePart {
  uint64_t take; ///< Number of the take, which the client of the store chooses
  bool is_audio; ///< A part of the take's input
  RackStoreStep step;
} RackStorePart;

/// One file to read or to write.
typedef struct RackStoreJob {
  struct RackStoreJob* next;
  RackStoreKind kind;
  RackStorePart part; ///< Of a take
  char* name;         ///< Owned
  char* text;         ///< Text or state to write, or text that was read; owned
  size_t n_text;      ///< Of a state, or of a part
  const FxInfo* fx;   ///< Of a state: the effect that has saved it
  Error error;        ///< Result
  Message*
      message;    ///< Reading, and of a state: the message that waits for the file; the store does
                  ///< not use it
  Peer peer;      ///< Writing: the client that gets the answer
  char* address;  ///< Writing: the address of the command that is answered; owned.  NULL: nobody
                  ///< waits for it
  size_t n_bytes; ///< Writing: size of the command
} RackStoreJob;

typedef struct RackStore RackStore;

/// Start the thread.  The folder may be closed afterwards. [main]
NODISCARD Status rack_store_new(const Folder* folder, RackStore** store, Error* error);

/// Finish the pending jobs, and end the thread.  If a disk blocks the thread for more than 2 s, the
/// thread and its memory stay behind.  Accepts NULL. [main]
void rack_store_free(RackStore* store);

/// Descriptor for poll(): readable when rack_store_take() has a new job. [control]
int rack_store_fd(const RackStore* store);

/// Queue the reading of a file for a message.  STATUS_LIMIT if the queue is full; STATUS_NO_MEM.
/// [control]
NODISCARD Status rack_store_read(RackStore* store, const char* name, Message* message,
                                 Error* error);

/// Queue the writing of a file, and the answer to a message.  Takes ownership of `text`, also on
/// error. [control]
NODISCARD Status rack_store_write(RackStore* store, char* text, const Peer* peer,
                                  const Message* message, Error* error);

/// Queue the writing of a state of FxInfo::save with its files, for which a message waits.  Takes
/// ownership of `bytes`, also on error.  STATUS_FILE if the package is damaged; as
/// rack_store_read(). [control]
NODISCARD Status rack_store_keep(RackStore* store, const FxInfo* fx, unsigned char* bytes,
                                 size_t n_bytes, Message* message, Error* error);

/// Queue a part of the take in the file `name`, or of its input, directly in the folder, and the
/// answer to `message` (NULL: none).  The first part of the take goes before that of the input.
/// Takes ownership of `text`, which may be NULL, also on error; as rack_store_write(). [control]
NODISCARD Status rack_store_take_part(RackStore* store, const RackStorePart* part, const char* name,
                                      char* text, size_t n_text, const Peer* peer,
                                      const Message* message, Error* error);

/// Take the oldest finished job, for rack_store_job_free(); NULL if there is none. [control]
RackStoreJob* rack_store_take(RackStore* store);

/// Free a job.  Accepts NULL.
void rack_store_job_free(RackStoreJob* job);

#endif
