// SPDX-License-Identifier: GPL-3.0-or-later
/// The session's state, shared by session.c (edits and their order) and session_values.c.
#ifndef WARPRACK_CONTROL_SESSION_PRIVATE_H
#define WARPRACK_CONTROL_SESSION_PRIVATE_H

#include "history.h"
#include "session.h"
#include "values.h"

struct Session {
  SessionConfig config;
  Rack* committed;
  Rack* candidate;       ///< NULL: nothing in flight
  Bundle* flight;        ///< The bundle that made the candidate, or waits for its files
  uint32_t n_reads;      ///< Files that it waits for
  const Message* unread; ///< The first of its messages whose file could not be read ...
  Error read_error;      ///< ... and why
  Bundle* first;         ///< Waiting, in order
  Bundle** last;         ///< Where the next one goes
  size_t n_bytes;        ///< Memory of the bundles that wait
  History history;
  RackUid next_uid; ///< Of all documents so far, refused and undone ones too
  SessionCounts counts;
};

/// Times in frames fit their ranges at the rate that the engine runs at; before that there is none.
NODISCARD Status session_check_frames(const Session* session, const Rack* rack, Error* error);

/// Send the present values of `changes` to the engine, all of them or none.
NODISCARD Status session_send_values(Session* session, const Changes* changes, uint64_t frame,
                                     Error* error);

/// Set a bundle's values, all of them parameters of active nodes: in the engine, in the documents,
/// in the history.  On error nothing has been set.
NODISCARD Status session_set_values(Session* session, const Bundle* bundle, Targets* targets,
                                    uint64_t now_ns, const Message** failing, Error* error);

#endif
