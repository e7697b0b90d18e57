// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Undo and redo: the newest HISTORY_DEPTH documents.

   A moving fader sends hundreds of values.  Values of one parameter that follow each other within
   HISTORY_GESTURE_NS are a *gesture*, which is one step.
*/
#ifndef WARPRACK_CONTROL_HISTORY_H
#define WARPRACK_CONTROL_HISTORY_H

#include "values.h"

#include "engine/base/time.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_DEPTH      100U
#define HISTORY_GESTURES   4096U // gestures at the same time, in rows of HISTORY_WAYS
#define HISTORY_WAYS       8U
#define HISTORY_GESTURE_NS NS_PER_S

typedef struct HistoryStack {
  Rack* racks[HISTORY_DEPTH];
  uint32_t n;
} HistoryStack;

typedef struct Gesture {
  RackUid uid;
  uint32_t param;
  uint32_t era;     ///< History::era at that time
  uint64_t last_ns; ///< 0: free
} Gesture;

typedef struct History {
  HistoryStack undo, redo;
  Gesture gestures[HISTORY_GESTURES]; ///< By hash: each parameter has one row
  uint32_t era;                       ///< Older gestures have ended
} History;

/// Record the time of all changes.  Returns true if every change continues a gesture.
bool history_is_gesture(History* history, const Changes* changes, uint64_t now_ns);

/// Record that values, or an edit, have replaced `before` (takes ownership): adds a step to undo,
/// and clears the steps to redo.  An edit ends all gestures, so that later changes of the same
/// parameters are a new step.
void history_set(History* history, Rack* before);
void history_edited(History* history, Rack* before);

/// Record that the document of an undo (or redo) is active: removes it from its stack, and pushes
/// `before` (takes ownership) onto the other stack.
void history_undone(History* history, Rack* before);
void history_redone(History* history, Rack* before);

/// Record that the engine has reverted `before` (takes ownership) to `now`: as an undo to the
/// newest step with the same rack, over any number of steps.
void history_taken_back(History* history, Rack* before, const Rack* now);

/// The document that the next undo or redo restores; NULL if there is none.
const Rack* history_undo(const History* history);
const Rack* history_redo(const History* history);

void history_clear(History* history);

#endif
