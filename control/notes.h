// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Notes for instruments: /note/<node> and /note/<node>/off.

   A note is no change of the document.  The end of a note is never refused for lack of room,
   because the note would go on: an end that finds no room in the engine waits here, and goes there
   before any later note.  A note with a length takes room in the player until its end; if too many
   sound, another one is refused, so that other messages have room.  All functions [control].
*/
#ifndef WARPRACK_CONTROL_NOTES_H
#define WARPRACK_CONTROL_NOTES_H

#include "note_table.h"

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/base/time.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTES_MAX_SECONDS 3600.0           // longest note with a length
#define NOTES_MAX_LENGTHS 2048U            // that sound: half of the player's room for messages
#define NOTES_POLL_NS     (5U * NS_PER_MS) // between two attempts to send what waits

typedef struct Notes {
  ParamMessage* ends; ///< [n] the ends that wait for room in the engine
  uint32_t n, capacity;
  NoteTable waiting; ///< The same ends
  NoteTable lengths; ///< Notes with a length that sound, and the frame of their end
} Notes;

/// What the messages of a bundle address.
typedef struct NotesTo {
  Engine* engine;
  const Rack* rack;
  double rate_hz; ///< 0: unknown, because no audio has run yet
} NotesTo;

/**
   Play the notes of a bundle of COMMAND_NOTE messages at its frame: all, or after an error only
   those that end notes.

   @param[out] failing Set on error: the message that is the reason, or NULL.
   @return STATUS_BAD_ARG, STATUS_NOT_FOUND; STATUS_LIMIT if too many messages wait or too many
   notes with a length sound, STATUS_AUDIO_IO
   or STATUS_WORKER if nothing plays, except for a bundle that only ends notes; STATUS_NO_MEM.
*/
NODISCARD Status notes_play(Notes* notes, const NotesTo* to, const Bundle* bundle,
                            const Message** failing, Error* error);

/// Send the notes of a bundle whose frame is near.  Returns false, without any effect, if
/// notes_play() has to be called when its time has come.
bool notes_ahead(Notes* notes, const NotesTo* to, const Bundle* bundle);

/// Play only the ends of notes in a bundle that was refused.
void notes_end(Notes* notes, const NotesTo* to, const Bundle* bundle);

/// Send the ends that wait, as far as there is room.
void notes_flush(Notes* notes, Engine* engine);

/// All notes have ended, because the worker or the audio has.
void notes_ended(Notes* notes);

void notes_clear(Notes* notes);

#endif
