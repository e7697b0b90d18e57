// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Finds the place of an entry in a list by two numbers, such as a node and its parameter, without a
   search through the list: a table with open addressing.
*/
#ifndef WARPRACK_ENGINE_BASE_KEY_INDEX_H
#define WARPRACK_ENGINE_BASE_KEY_INDEX_H

#include <stdbool.h>
#include <stdint.h>

/// No entry has the key.
#define KEY_INDEX_NONE UINT32_MAX

typedef struct KeyIndexSlot {
  uint32_t a, b;  ///< The key
  uint32_t place; ///< From 1; 0: the slot is free
} KeyIndexSlot;

/// Begins as zeros.
typedef struct KeyIndex {
  KeyIndexSlot* slots; ///< [n_slots]
  uint32_t n_slots;    ///< A power of two, or 0
  uint32_t n_used;     ///< Slots with a key
} KeyIndex;

/// Free the memory. [any, not rt]
void key_index_clear(KeyIndex* index);

/// Forget all keys, and keep the memory. [any]
void key_index_forget(KeyIndex* index);

/// The place of a key; KEY_INDEX_NONE if it has none. [any]
uint32_t key_index_find(const KeyIndex* index, uint32_t a, uint32_t b);

/// Set the place of a key, below KEY_INDEX_NONE - 1, or KEY_INDEX_NONE.  Returns false, without a
/// change, if out of memory; never for a key that was set before. [any, not rt]
bool key_index_set(KeyIndex* index, uint32_t a, uint32_t b, uint32_t place);

#endif
