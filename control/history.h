// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Undo and redo: whole documents, the newest HISTORY_DEPTH of them.

   Turning a fader sends hundreds of values; all that follow each other on one parameter within
   HISTORY_GESTURE_NS are one step.
*/
#ifndef WARPRACK_CONTROL_HISTORY_H
#define WARPRACK_CONTROL_HISTORY_H

#include "values.h"

#include "engine/base/time.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_DEPTH      100U
#define HISTORY_GESTURES   32U // faders that may move at a time
#define HISTORY_GESTURE_NS NS_PER_S

typedef struct HistoryStack {
  Rack* racks[HISTORY_DEPTH];
  uint32_t n;
} HistoryStack;

typedef struct Gesture {
  RackUid uid;
  uint32_t param;
  uint64_t last_ns; ///< 0: free
} Gesture;

typedef struct History {
  HistoryStack undo, redo;
  Gesture gestures[HISTORY_GESTURES];
} History;

/// True when every change goes on with a gesture; notes the time of all of them either way.
bool history_is_gesture(History* history, const Changes* changes, uint64_t now_ns);

/// Values, or an edit, have replaced `before` (given away): one more step to undo, none to redo.
/// An edit ends all gestures: what is turned after it is a step after it.
void history_set(History* history, Rack* before);
void history_edited(History* history, Rack* before);

/// An undo (or a redo) has been heard: its document leaves its stack, and `before` (given away)
/// goes to the other one.
void history_undone(History* history, Rack* before);
void history_redone(History* history, Rack* before);

/// `before` (given away) has been taken back by the engine, and `now` is heard again: as an undo,
/// to the newest step that is the same rack, however many back that is.
void history_taken_back(History* history, Rack* before, const Rack* now);

/// What the next undo or redo brings back; NULL when there is none.
const Rack* history_undo(const History* history);
const Rack* history_redo(const History* history);

void history_clear(History* history);

#endif
