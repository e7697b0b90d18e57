// SPDX-License-Identifier: GPL-3.0-or-later
// Taps: the worker adds, the control thread takes (engine/base/halves.h).

#include "ring_private.h"

#include "engine/base/halves.h"

#include <string.h>

static uint32_t
uid_of(const uint64_t word)
{
  return (uint32_t)(word >> 32U);
}

bool
ring_tap(Ring* const ring, const uint32_t tap, const uint32_t uid, RingLevel* const level)
{
  RingTap* const shared = &ring->header->taps[tap];
  const uint64_t wanted = ring->wanted[tap];
  if ((uid == 0U && uid_of(wanted) == 0U) || !halves_have_begun(&shared->begun, wanted)) {
    return false;
  }
  RingLevel* const ended = &shared->halves[half_before(wanted)];
  const bool is_same = uid != 0U && ring->uid_before[tap] == uid;
  *level = *ended;
  memset(ended, 0, sizeof(*ended));
  ring->uid_before[tap] = uid_of(wanted);
  halves_ask(&shared->wanted, &ring->wanted[tap], (uint64_t)uid << 32U | (uint32_t)(wanted + 1U));
  atomic_store_explicit(&ring->header->tap_moves, ++ring->tap_moves, memory_order_release);
  return is_same;
}

bool
ring_taps_moved(Ring* const ring)
{
  const uint32_t moves = atomic_load_explicit(&ring->header->tap_moves, memory_order_acquire);
  const bool has_moved = moves != ring->tap_moves_seen;
  ring->tap_moves_seen = moves;
  return has_moved;
}

uint32_t
ring_tap_uid(Ring* const ring, const uint32_t tap)
{
  RingTap* const shared = &ring->header->taps[tap];
  (void)halves_begin(&shared->wanted, &shared->begun, &ring->begun[tap]);
  return uid_of(ring->begun[tap]);
}

void
ring_tap_add(Ring* const ring, const uint32_t tap, const RingLevel* const block)
{
  RingLevel* const sum = &ring->header->taps[tap].halves[half_of(ring->begun[tap])];
  sum->energy += block->energy;
  sum->n_samples += block->n_samples;
  sum->peak = block->peak > sum->peak ? block->peak : sum->peak;
  sum->reduction_db =
      block->reduction_db > sum->reduction_db ? block->reduction_db : sum->reduction_db;
}
