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

/// True if every change continues a gesture; records the time of all of them either way.
bool history_is_gesture(History* history, const Changes* changes, uint64_t now_ns);

/// Values, or an edit, have replaced `before` (given away): one more step to undo, none to redo.
/// An edit ends all gestures: later changes of the same parameters are a new step.
void history_set(History* history, Rack* before);
void history_edited(History* history, Rack* before);

/// An undo (or a redo) plays: its document leaves its stack, and `before` (given away) goes to the
/// other one.
void history_undone(History* history, Rack* before);
void history_redone(History* history, Rack* before);

/// The engine has reverted `before` (given away), and `now` plays again: as an undo to the newest
/// step with the same rack, however many steps back.
void history_taken_back(History* history, Rack* before, const Rack* now);

/// The document that the next undo or redo restores; NULL if there is none.
const Rack* history_undo(const History* history);
const Rack* history_redo(const History* history);

void history_clear(History* history);

#endif
