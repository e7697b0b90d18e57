// SPDX-License-Identifier: GPL-3.0-or-later
// The door between the threads of an audio driver and the engine.

#include "period_door.h"

#include <string.h>

void
period_door_silence(float* const* const out, const uint32_t n_out, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < n_out; ++c) {
    if (out[c]) {
      memset(out[c], 0, n_frames * sizeof(float));
    }
  }
}

static bool
may_enter(const PeriodDoor* const door, const void* const caller)
{
  return !atomic_load(&door->shut) && period_door_admits(door, caller);
}

/// Enter the door; true on success.  Because of the first check, a caller that may not enter does
/// not occupy the door.
static bool
enter(PeriodDoor* const door, const void* const caller)
{
  if (!may_enter(door, caller)) {
    return false;
  }
  if (atomic_exchange(&door->inside, true)) {
    atomic_fetch_add_explicit(&door->overlaps, 1U, memory_order_relaxed);
    return false;
  }
  if (may_enter(door, caller)) {
    return true;
  }
  atomic_store(&door->inside, false);
  return false;
}

void
period_door_pass(PeriodDoor* const door, const PeriodCall* const call, const PeriodFunction run,
                 void* const context)
{
  if (enter(door, call->caller)) {
    run(context, call->in, call->out, call->n_frames, call->wait, call->midi);
    atomic_store(&door->inside, false);
  } else {
    period_door_silence(call->out, call->n_out, call->n_frames);
  }
}

void
period_door_shut(PeriodDoor* const door, const PeriodDoorSide side)
{
  atomic_fetch_or(&door->shut, (uint32_t)side);
}

bool
period_door_is_shut(const PeriodDoor* const door, const PeriodDoorSide side)
{
  return atomic_load(&door->shut) & (uint32_t)side;
}

bool
period_door_is_occupied(const PeriodDoor* const door)
{
  return atomic_load(&door->inside);
}

void
period_door_open(PeriodDoor* const door, const PeriodDoorSide side)
{
  atomic_fetch_and(&door->shut, ~(uint32_t)side);
}

void
period_door_admit(PeriodDoor* const door, const void* const caller)
{
  atomic_store(&door->caller, caller);
}

bool
period_door_admits(const PeriodDoor* const door, const void* const caller)
{
  return atomic_load(&door->caller) == caller;
}

void
period_door_keep(PeriodDoor* const door)
{
  atomic_store(&door->is_kept, true);
}

bool
period_door_is_kept(const PeriodDoor* const door)
{
  return atomic_load(&door->is_kept);
}
