// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The editor: the documents, and the order of all their changes.

      bundle ──▶ [waiting, in order] ──▶ candidate ──engine_edit──▶ active ──▶ committed ──▶ history
                                             └──────────────────▶ refused: dropped

   - *committed* is the active document, with the last value of every parameter.
   - One edit at a time is in flight, as the *candidate* document.  Later edits wait, and are made
     from the committed document when their turn comes.  So a refused edit has no effect, and an
     edit that depends on it is refused in its turn.
   - Values of one structural parameter that wait at the same time are one edit, of the newest
     value; if that is refused, the others wait again.
   - While an edit that makes the rack smaller waits, an edit in flight that adds nodes is not tried
     again after the loss of a worker (engine_overtake()).
   - Parameters of active nodes are set at once, before all edits that wait, in both documents.  In
     the engine such a value overrides the edit in flight, which is older.  The values are set again
     after the edits that wait, so that the last value counts.  A parameter of a node that only a
     waiting edit adds waits behind that edit.  So does a recall of a scene.
   - A bundle is executed as a whole or not at all, and each of its messages is answered.
   - Bundles that wait behind an edit run later one by one, in order, when the owner calls
     editor_run_next().

   All functions [control].
*/
#ifndef WARPRACK_CONTROL_EDITOR_H
#define WARPRACK_CONTROL_EDITOR_H

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

// Limits for the bundles behind the edit in flight, and for their memory; see share.h.
#define EDITOR_MAX_WAITING 2048U
#define EDITOR_MAX_BYTES   (16U << 20U)

/// Events for the editor's owner.  Bundles are borrowed for the call, except where stated.
typedef struct EditorEvents {
  void* context;
  /// Pass a document to engine_edit(), and later its reply to editor_reply().
  Status (*edit)(void* context, const Rack* rack, uint64_t at_frame);
  /// Read the file that a message names, or save the state of its node, and later call
  /// editor_read().
  Status (*read)(void* context, Message* message, Error* error);
  /// The bundle's values have been set, from `frame` on; a recall made document number `revision`.
  void (*values_done)(void* context, const Bundle* bundle, uint32_t revision, uint64_t frame);
  /// The bundle's edit is active from `frame` on, as document number `revision`.
  void (*edit_done)(void* context, const Bundle* bundle, uint32_t revision, uint64_t frame);
  /// The bundle has failed as a whole.  `failing`: the message that is the reason, or NULL.
  void (*failed)(void* context, const Bundle* bundle, const Message* failing, const Error* error);
  /// The turn of a COMMAND_BEHIND has come.  The owner takes ownership of the bundle.
  void (*turn)(void* context, Bundle* bundle);
  /// `maker` has changed a parameter; NULL: scenes, whose values no client knows.
  void (*value_changed)(void* context, RackUid uid, uint32_t param, const Peer* maker);
  /// `maker` has set the tempo of the rack; NULL: its source.
  void (*tempo_changed)(void* context, const Peer* maker);
  /// An edit has replaced the document `before`.  `bundle` is NULL if the engine has reverted it.
  void (*rack_changed)(void* context, const Rack* before, const Bundle* bundle);
} EditorEvents;

typedef struct EditorConfig {
  Engine* engine; ///< Borrowed
  EditorEvents events;
} EditorConfig;

typedef struct EditorCounts {
  uint32_t revision; ///< Number of documents that were active so far, and of recalls
  uint32_t waiting;  ///< Number of bundles behind the edit in flight
  uint32_t undo, redo;
  uint64_t values_set;
  uint64_t values_merged; ///< Values that a later one replaced before the engine got them
  uint64_t values_lost;   ///< Values that overtook an edit, and could not be set again after it
  uint64_t failed;        ///< Bundles that failed
  bool in_flight;
} EditorCounts;

typedef struct Editor Editor;

/// Make an editor.  `rack` is active already; copied.
NODISCARD Status editor_new(const EditorConfig* config, const Rack* rack, Editor** out,
                            Error* error);

/// Free an editor.  Accepts NULL.  The owner must no longer pass the reply to an edit in flight.
void editor_free(Editor* editor);

/**
   Execute a bundle: messages of the kinds COMMAND_EDIT and COMMAND_SET, or one COMMAND_UNDO,
   COMMAND_REDO or COMMAND_BEHIND.

   @param bundle Takes ownership.  Its `frame` is the time to execute it.  Answered through the
   events, now or later.
   @param now_ns Monotonic time.
*/
void editor_submit(Editor* editor, Bundle* bundle, uint64_t now_ns);

/// The bundle that has waited for longest.  NULL: no bundle waits, or an edit is in flight.
const Bundle* editor_next(const Editor* editor);

/// Run the bundle of editor_next().
void editor_run_next(Editor* editor, uint64_t now_ns);

/// Result of editor_ahead() before a bundle's time.
typedef enum EditorAhead {
  AHEAD_SENT,   ///< The engine has the values; submit the bundle when its time has come
  AHEAD_SUBMIT, ///< The bundle is an edit: submit it now, with its frame
  AHEAD_LATER   ///< Submit the bundle when its time has come
} EditorAhead;

/// Send the values of a bundle to the engine before their time, with the bundle's frame.  Records
/// in the bundle whether the engine has them.
EditorAhead editor_ahead(Editor* editor, Bundle* bundle);

/// Pass the text of the file that a message of the bundle in flight names, or the name of the file
/// with the state that it has saved (takes ownership), or the error.
void editor_read(Editor* editor, Message* message, char* text, const Error* error);

/// Handle the engine's reply to the edit in flight.
void editor_reply(Editor* editor, const EngineReply* reply);

/// Continue with `rack` (takes ownership), to which the engine has reverted the active rack.
void editor_taken_back(Editor* editor, Rack* rack);

/// Set the tempo of the rack to that of its source, in range, as no step of undo.  Returns false if
/// an edit is in flight, or the engine does not take the values now: call it again later.
bool editor_follow_tempo(Editor* editor, double bpm);

/// A value by MIDI.
typedef struct MidiValue {
  ParamMessage message;
  uint64_t ring; ///< The worker of this ring has set it (engine_set_midi()); 0: none has
} MidiValue;

/// Take over values by MIDI: in the documents and the history, where a moving controller is one
/// step.  Values for nodes or parameters that are not in the document any more, and invalid ones,
/// are left out.
void editor_take_midi(Editor* editor, const MidiValue* values, uint32_t n, uint64_t now_ns);

/// Send the values that wait to the engine, if it has room for them.  Call it when no further
/// message is at hand, and every PENDING_POLL_NS while editor_holds_values().
void editor_flush(Editor* editor);

/// Send the values that wait before any other message for the engine.  STATUS_LIMIT: it takes none.
NODISCARD Status editor_flush_now(Editor* editor);

/// True while values wait for room in the engine.
bool editor_holds_values(const Editor* editor);

/// The active document; valid until the next call that is not a query.
const Rack* editor_rack(const Editor* editor);

EditorCounts editor_counts(const Editor* editor);

#endif
