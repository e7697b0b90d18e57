// SPDX-License-Identifier: GPL-3.0-or-later
// Taps: the stages of a plan measure the nodes that the ring names.

#include "player_taps.h"

#include "engine/base/rt.h"

#include <string.h>

/// Let the stages of a plan measure the node of a tap, or no longer.
static void
set_tap(PlayerTap* const tap, const Plan* const plan, const bool is_on)
{
  const int index = plan && tap->uid ? plan_find(plan, tap->uid) : -1;
  for (uint32_t s = 0; index >= 0 && s < plan->n_stages; ++s) {
    const PlanStage* const stage = &plan->stages[s];
    if (stage->backend->stage_tap) {
      stage->backend->stage_tap(stage->stage, (uint32_t)index, is_on ? &tap->sum : NULL);
    }
  }
}

static void
set_taps(PlayerTaps* const taps, const Plan* const plan, const bool are_on)
{
  for (uint32_t t = 0; taps->n && t < RING_TAPS; ++t) {
    set_tap(&taps->taps[t], plan, are_on);
  }
}

NOINLINE void
player_taps_move(PlayerTaps* const taps, const Plan* const plan, Ring* const ring)
{
  bool has_moved[RING_TAPS];
  for (uint32_t t = 0; t < RING_TAPS; ++t) {
    PlayerTap* const tap = &taps->taps[t];
    const uint32_t uid = ring_tap_uid(ring, t);
    has_moved[t] = uid != tap->uid;
    if (has_moved[t]) {
      set_tap(tap, plan, false);
      taps->n -= tap->uid != 0U;
      taps->n += uid != 0U;
      *tap = (PlayerTap){ .uid = uid };
    }
  }
  for (uint32_t t = 0; t < RING_TAPS; ++t) { // another tap may have left the node
    if (has_moved[t]) {
      set_tap(&taps->taps[t], plan, true);
    }
  }
}

void
player_taps_follow(PlayerTaps* const taps, const Plan* const plan)
{
  set_taps(taps, plan, true);
}

NOINLINE void
player_taps_pass(PlayerTaps* const taps, Ring* const ring)
{
  for (uint32_t t = 0; t < RING_TAPS; ++t) {
    NodeTap* const sum = &taps->taps[t].sum;
    if (sum->n_samples) {
      const RingLevel block = { sum->level.energy, sum->n_samples, sum->level.peak,
                                sum->reduction_db };
      ring_tap_add(ring, t, &block);
      *sum = (NodeTap){ 0 };
    }
  }
}

void
player_taps_end(PlayerTaps* const taps, const Plan* const plan)
{
  set_taps(taps, plan, false);
  memset(taps, 0, sizeof(*taps));
}
