// SPDX-License-Identifier: GPL-3.0-or-later
// Two stacks of documents, and the gestures, each of which is one step.

#include "history.h"

#include <string.h>

/// Push a rack.  If the stack is full, free its oldest rack.
static void
push(HistoryStack* const stack, Rack* const rack)
{
  if (stack->n == HISTORY_DEPTH) {
    rack_free(stack->racks[0]);
    memmove(stack->racks, stack->racks + 1, (HISTORY_DEPTH - 1U) * sizeof(*stack->racks));
    --stack->n;
  }
  stack->racks[stack->n++] = rack;
}

static void
drop(HistoryStack* const stack)
{
  if (stack->n) {
    rack_free(stack->racks[--stack->n]);
  }
}

static void
clear(HistoryStack* const stack)
{
  while (stack->n) {
    drop(stack);
  }
}

static void
end_gestures(History* const history)
{
  ++history->era;
}

/// Find the gesture of a parameter, or begin one in place of the one in its row that is idle for
/// longest.
static Gesture*
find_gesture(History* const history, const Change* const change)
{
  const uint64_t key = (uint64_t)change->uid << 32U | change->param;
  const uint64_t hash = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 40U;
  Gesture* const row = &history->gestures[hash % (HISTORY_GESTURES / HISTORY_WAYS) * HISTORY_WAYS];
  Gesture* oldest = row;
  for (Gesture* gesture = row; gesture < row + HISTORY_WAYS; ++gesture) {
    const bool is_over = gesture->era != history->era;
    if (!is_over && gesture->last_ns && gesture->uid == change->uid &&
        gesture->param == change->param) {
      return gesture;
    }
    gesture->last_ns = is_over ? 0U : gesture->last_ns;
    oldest = gesture->last_ns < oldest->last_ns ? gesture : oldest;
  }
  *oldest = (Gesture){ change->uid, change->param, history->era, 0 };
  return oldest;
}

bool
history_is_gesture(History* const history, const Changes* const changes, const uint64_t now_ns)
{
  bool all = true;
  for (uint32_t c = 0; c < changes->n; ++c) {
    Gesture* const gesture = find_gesture(history, &changes->items[c]);
    all = all && gesture->last_ns && now_ns - gesture->last_ns < HISTORY_GESTURE_NS;
    gesture->last_ns = now_ns;
  }
  return all;
}

void
history_set(History* const history, Rack* const before)
{
  push(&history->undo, before);
  clear(&history->redo);
}

void
history_edited(History* const history, Rack* const before)
{
  history_set(history, before);
  end_gestures(history);
}

void
history_undone(History* const history, Rack* const before)
{
  drop(&history->undo);
  push(&history->redo, before);
  end_gestures(history);
}

void
history_redone(History* const history, Rack* const before)
{
  drop(&history->redo);
  push(&history->undo, before);
  end_gestures(history);
}

/// Find the newest step on the stack that equals `rack`, counted from 1; 0 if there is none.
static uint32_t
find_step(const HistoryStack* const stack, const Rack* const rack)
{
  for (uint32_t step = stack->n; step; --step) {
    if (rack_equal(stack->racks[step - 1U], rack)) {
      return step;
    }
  }
  return 0;
}

void
history_taken_back(History* const history, Rack* const before, const Rack* const now)
{
  for (uint32_t step = find_step(&history->undo, now); step && history->undo.n >= step;) {
    drop(&history->undo);
  }
  push(&history->redo, before);
  end_gestures(history);
}

static const Rack*
top(const HistoryStack* const stack)
{
  return stack->n ? stack->racks[stack->n - 1U] : NULL;
}

const Rack*
history_undo(const History* const history)
{
  return top(&history->undo);
}

const Rack*
history_redo(const History* const history)
{
  return top(&history->redo);
}

void
history_clear(History* const history)
{
  clear(&history->undo);
  clear(&history->redo);
  end_gestures(history);
}
