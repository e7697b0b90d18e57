// SPDX-License-Identifier: GPL-3.0-or-later
#include "key_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64U
#define WITHOUT     UINT32_MAX // KeyIndexSlot::place of a key without a place

void
key_index_clear(KeyIndex* const index)
{
  free(index->slots);
  *index = (KeyIndex){ .slots = NULL };
}

void
key_index_forget(KeyIndex* const index)
{
  if (index->n_used) {
    memset(index->slots, 0, index->n_slots * sizeof(KeyIndexSlot));
    index->n_used = 0U;
  }
}

/// The slot of a key, or the free one where it belongs.
static KeyIndexSlot*
slot_of(const KeyIndex* const index, const uint32_t a, const uint32_t b)
{
  const uint64_t mixed = (((uint64_t)a << 32U) | b) * UINT64_C(0x9E3779B97F4A7C15);
  uint32_t s = (uint32_t)(mixed >> 32U) & (index->n_slots - 1U);
  while (index->slots[s].place && (index->slots[s].a != a || index->slots[s].b != b)) {
    s = (s + 1U) & (index->n_slots - 1U);
  }
  return &index->slots[s];
}

uint32_t
key_index_find(const KeyIndex* const index, const uint32_t a, const uint32_t b)
{
  const KeyIndexSlot* const slot = index->n_used ? slot_of(index, a, b) : NULL;
  return slot && slot->place && slot->place != WITHOUT ? slot->place - 1U : KEY_INDEX_NONE;
}

/// Double the table, so that at least half of it is free.
static bool
grow(KeyIndex* const index)
{
  const KeyIndex old = *index;
  const uint32_t n_slots = old.n_slots ? 2U * old.n_slots : FIRST_SLOTS;
  KeyIndexSlot* const slots = calloc(n_slots, sizeof(KeyIndexSlot));
  if (!slots) {
    return false;
  }
  *index = (KeyIndex){ slots, n_slots, old.n_used };
  for (uint32_t s = 0; s < old.n_slots; ++s) {
    if (old.slots[s].place) {
      *slot_of(index, old.slots[s].a, old.slots[s].b) = old.slots[s];
    }
  }
  free(old.slots);
  return true;
}

bool
key_index_set(KeyIndex* const index, const uint32_t a, const uint32_t b, const uint32_t place)
{
  KeyIndexSlot* slot = index->n_slots ? slot_of(index, a, b) : NULL;
  if (!slot || !slot->place) {
    if (2U * (index->n_used + 1U) > index->n_slots && !grow(index)) {
      return false;
    }
    slot = slot_of(index, a, b);
    ++index->n_used;
  }
  *slot = (KeyIndexSlot){ a, b, place == KEY_INDEX_NONE ? WITHOUT : place + 1U };
  return true;
}
