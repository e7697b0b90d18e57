// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The session: the documents behind the sound, and the order of all that changes them.

       bundle ──▶ [waiting, in order] ──▶ candidate ──engine_edit──▶ heard ──▶ committed ──▶ history
                                              └──────────────────▶ refused: dropped

   - *committed* is what is heard, with every parameter as it was last set.
   - One edit at a time is in flight, as the *candidate* document; later ones wait and are made from
     what is committed when their turn comes.  So a refused edit leaves nothing behind, and one that
     needed it is refused in its turn.
   - Parameters of nodes that are heard are set at once, past all edits, in both documents; in the
     engine such a value wins over the edit in flight, which was made before it.  Once more they are
     set behind the edits that wait, so that the last word wins.  Parameters of nodes that only an
     edit on its way will bring wait behind it.
   - A bundle is done as a whole or not at all, and each of its messages is answered.
   - Bundles that wait behind an edit run later one by one, in order, when the owner calls
     session_run_next().

   One thread at a time: the control thread.
*/
#ifndef WARPRACK_CONTROL_SESSION_H
#define WARPRACK_CONTROL_SESSION_H

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

// Bundles behind the edit in flight, and their memory; of one sender as much as there is room left.
#define SESSION_MAX_WAITING 2048U
#define SESSION_MAX_BYTES   (16U << 20U)

/// Events for the session's owner.  A bundle is borrowed for the call, unless stated.
typedef struct SessionEvents {
  void* context;
  /// Give a document to engine_edit(), and its reply to session_reply().
  Status (*edit)(void* context, const Rack* rack, uint64_t at_frame);
  /// Read the file that a message names, for session_read().
  Status (*read)(void* context, Message* message, Error* error);
  /// The bundle's values have been set.
  void (*values_done)(void* context, const Bundle* bundle);
  /// The bundle's edit plays from `frame` on, as document number `revision`.
  void (*edit_done)(void* context, const Bundle* bundle, uint32_t revision, uint64_t frame);
  /// Nothing of the bundle was done.  `failing` is NULL when it failed as a whole.
  void (*failed)(void* context, const Bundle* bundle, const Message* failing, const Error* error);
  /// The turn of a COMMAND_BEHIND has come; the bundle is given away.
  void (*turn)(void* context, Bundle* bundle);
  /// `maker` has changed a parameter.
  void (*value_changed)(void* context, RackUid uid, uint32_t param, const Peer* maker);
  /// An edit has put another document in the place of `before`; `bundle` is NULL when the engine
  /// has.
  void (*rack_changed)(void* context, const Rack* before, const Bundle* bundle);
} SessionEvents;

typedef struct SessionConfig {
  Engine* engine; ///< Borrowed
  SessionEvents events;
} SessionConfig;

typedef struct SessionCounts {
  uint32_t revision; ///< Documents played so far
  uint32_t waiting;  ///< Bundles behind the edit in flight
  uint32_t undo, redo;
  uint64_t values_set;
  uint64_t values_lost; ///< Set while an edit was in flight or waited, and not set again behind it
  uint64_t failed;      ///< Bundles refused
  bool in_flight;
} SessionCounts;

typedef struct Session Session;

/// `rack` already plays; copied.
NODISCARD Status session_new(const SessionConfig* config, const Rack* rack, Session** out,
                             Error* error);

/// Accepts NULL.  An edit that is still in flight must not be brought to session_reply() any more.
void session_free(Session* session);

/**
   Carry out a bundle whose messages are all COMMAND_EDIT and COMMAND_SET, or a single one that is
   COMMAND_UNDO, COMMAND_REDO or COMMAND_BEHIND.

   @param bundle Given away; its `frame` is when to do it.  Answered through the events, now or
   later.
   @param now_ns Monotonic time.
*/
void session_submit(Session* session, Bundle* bundle, uint64_t now_ns);

/// The bundle that has waited for longest.  NULL: no bundle waits, or an edit is in flight.
const Bundle* session_next(const Session* session);

/// Run the bundle of session_next().
void session_run_next(Session* session, uint64_t now_ns);

/// Result of session_ahead() before a bundle's time.
typedef enum SessionAhead {
  AHEAD_SENT,   ///< Values are with the engine; submit the bundle when its time has come
  AHEAD_SUBMIT, ///< Holds an edit: submit it now, stamped with its frame
  AHEAD_LATER   ///< Nothing could be done yet: submit it when its time has come
} SessionAhead;

/// Hand the values of a bundle of the future to the engine, stamped with the bundle's frame.
SessionAhead session_ahead(Session* session, const Bundle* bundle);

/// The file that a message of the bundle in flight names has been read: its text, given away, or
/// why not.
void session_read(Session* session, Message* message, char* text, const Error* error);

/// The engine's answer to the edit in flight.
void session_reply(Session* session, const EngineReply* reply);

/// The engine has reverted the active rack: `rack`, given away, plays instead.
void session_taken_back(Session* session, Rack* rack);

/// The active document; valid until the next call that is not a query.
const Rack* session_rack(const Session* session);

SessionCounts session_counts(const Session* session);

#endif
