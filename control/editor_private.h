// SPDX-License-Identifier: GPL-3.0-or-later
/// The editor's state, shared by editor.c (edits and their order) and editor_values.c.
#ifndef WARPRACK_CONTROL_EDITOR_PRIVATE_H
#define WARPRACK_CONTROL_EDITOR_PRIVATE_H

#include "history.h"
#include "editor.h"
#include "pending.h"
#include "values.h"

#include "engine/rack/rack_fades.h"

struct Editor {
  EditorConfig config;
  Rack* committed;
  Rack* candidate;       ///< NULL: no edit in flight
  Bundle* flight;        ///< The bundle that made the candidate, or waits for its files
  uint32_t n_reads;      ///< Number of files that it waits for
  const Message* unread; ///< The first of its messages whose file could not be read ...
  Error read_error;      ///< ... and why
  Bundle* first;         ///< Waiting, in order
  Bundle** last;         ///< Place of the next waiting bundle
  size_t n_bytes;        ///< Memory of the bundles that wait
  History history;
  RackFades fades;  ///< Of recalls
  Pending pending;  ///< Values that the engine gets with the next flush
  RackUid next_uid; ///< Of all documents so far, also refused and undone ones
  EditorCounts counts;
};

/// Let a bundle wait, behind all that wait already.
void editor_append(Editor* editor, Bundle* bundle);

/// Take the bundle at a place from those that wait: &Editor::first, or the `next` of another one.
/// Returns NULL if there is none.
Bundle* editor_take(Editor* editor, Bundle** place);

/// If `first`, which no longer waits, only sets one parameter: take all bundles from the queue that
/// only set the same one, at the same frame.  The search ends at the first bundle that does more
/// than set one parameter, names it by a pattern, or has another frame; it passes those with
/// Bundle::is_echo.  Returns the newest of them, of which `first` and the others become
/// Bundle::older; `first` if there is none.
Bundle* editor_newest(Editor* editor, Bundle* first);

/// Let the bundles that `bundle` has replaced (Bundle::older) wait again, before all others.
void editor_put_back(Editor* editor, Bundle* bundle);

/// Check times in frames at the engine's rate.  Does nothing before the engine has a rate.
NODISCARD Status editor_check_frames(const Editor* editor, const Rack* rack, Error* error);

/// True while an undo or redo is in flight.  Values set meanwhile belong to the document that it
/// restores, and are not a step of their own.
bool editor_is_stepping(const Editor* editor);

/// Send the current values of `changes` to the engine, all of them or none; those without a time
/// with the next flush.
NODISCARD Status editor_send_values(Editor* editor, const Changes* changes, uint64_t frame,
                                    Error* error);

/// Let the messages of a bundle that stop recalls find their fades, at a frame that the player has
/// not reached yet.
void editor_find_fades(Editor* editor, Bundle* bundle);

/// Set a bundle's values, which are all parameters of active nodes: in the engine, the documents
/// and the history.  On error no value is set.
NODISCARD Status editor_set_values(Editor* editor, const Bundle* bundle, Targets* targets,
                                   uint64_t now_ns, const Message** failing, Error* error);

#endif
