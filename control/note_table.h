// SPDX-License-Identifier: GPL-3.0-or-later
/// A table of notes by node and key, or of the ends of all notes of a node. [control]
#ifndef WARPRACK_CONTROL_NOTE_TABLE_H
#define WARPRACK_CONTROL_NOTE_TABLE_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

/// An entry: messages of the same uid, kind and param share one.
typedef struct NoteEntry {
  RackUid uid; ///< RACK_UID_NONE: free
  uint32_t kind, param;
  uint64_t frame;
} NoteEntry;

/// Zeros: empty.
typedef struct NoteTable {
  NoteEntry* entries; ///< [n_places], a power of two, at most half of them in use
  uint32_t n, n_places;
} NoteTable;

/// The entry of a message; NULL: none.
NoteEntry* note_table_find(const NoteTable* table, const ParamMessage* message);

/// The entry of a message, new ones with frame 0; NULL if out of memory.
NoteEntry* note_table_add(NoteTable* table, const ParamMessage* message);

/// Remove the entry of a message, if there is one.
void note_table_remove(NoteTable* table, const ParamMessage* message);

/// Remove all entries for which `ends` returns true.
void note_table_prune(NoteTable* table, bool (*ends)(const NoteEntry* entry, const void* context),
                      const void* context);

void note_table_clear(NoteTable* table);

#endif
