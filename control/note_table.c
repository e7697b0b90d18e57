// SPDX-License-Identifier: GPL-3.0-or-later
// A hash table with linear probing.

#include "note_table.h"

#include "engine/base/hash.h"

#include <stdlib.h>

#define FIRST_PLACES 64U

static bool
is_of(const NoteEntry* const entry, const ParamMessage* const message)
{
  return entry->uid == message->uid && entry->kind == (uint32_t)message->kind &&
         entry->param == message->param;
}

/// The place at which the search for a message begins.
static uint32_t
home(const NoteTable* const table, const RackUid uid, const uint32_t kind, const uint32_t param)
{
  const uint32_t words[] = { uid, kind, param };
  return (uint32_t)hash_bytes(HASH64_START, words, sizeof(words)) & (table->n_places - 1U);
}

/// The place of a message, or the free one where it would be.
static uint32_t
find_place(const NoteTable* const table, const ParamMessage* const message)
{
  uint32_t at = home(table, message->uid, (uint32_t)message->kind, message->param);
  while (table->entries[at].uid != RACK_UID_NONE && !is_of(&table->entries[at], message)) {
    at = (at + 1U) & (table->n_places - 1U);
  }
  return at;
}

NoteEntry*
note_table_find(const NoteTable* const table, const ParamMessage* const message)
{
  NoteEntry* const entry = table->n ? &table->entries[find_place(table, message)] : NULL;
  return entry && entry->uid != RACK_UID_NONE ? entry : NULL;
}

static ParamMessage
message_of(const NoteEntry* const entry)
{
  return (ParamMessage){ .uid = entry->uid, .kind = entry->kind, .param = entry->param };
}

static bool
grow(NoteTable* const table)
{
  NoteTable larger = { .n = table->n,
                       .n_places = table->n_places ? 2U * table->n_places : FIRST_PLACES };
  larger.entries = calloc(larger.n_places, sizeof(NoteEntry));
  if (!larger.entries) {
    return false;
  }
  for (uint32_t e = 0; e < table->n_places; ++e) {
    const ParamMessage message = message_of(&table->entries[e]);
    if (message.uid != RACK_UID_NONE) {
      larger.entries[find_place(&larger, &message)] = table->entries[e];
    }
  }
  free(table->entries);
  *table = larger;
  return true;
}

NoteEntry*
note_table_add(NoteTable* const table, const ParamMessage* const message)
{
  NoteEntry* const found = note_table_find(table, message);
  if (found) {
    return found;
  }
  if (2U * (table->n + 1U) > table->n_places && !grow(table)) {
    return NULL;
  }
  NoteEntry* const entry = &table->entries[find_place(table, message)];
  *entry = (NoteEntry){ message->uid, (uint32_t)message->kind, message->param, 0U };
  ++table->n;
  return entry;
}

/// Free a place, and move later entries that a search would no longer find.
static void
free_place(NoteTable* const table, uint32_t hole)
{
  const uint32_t mask = table->n_places - 1U;
  table->entries[hole].uid = RACK_UID_NONE;
  --table->n;
  for (uint32_t at = (hole + 1U) & mask; table->entries[at].uid != RACK_UID_NONE;
       at = (at + 1U) & mask) {
    const NoteEntry* const entry = &table->entries[at];
    const uint32_t first = home(table, entry->uid, entry->kind, entry->param);
    if (((at - first) & mask) >= ((at - hole) & mask)) {
      table->entries[hole] = *entry;
      table->entries[at].uid = RACK_UID_NONE;
      hole = at;
    }
  }
}

void
note_table_remove(NoteTable* const table, const ParamMessage* const message)
{
  const NoteEntry* const entry = note_table_find(table, message);
  if (entry) {
    free_place(table, (uint32_t)(entry - table->entries));
  }
}

void
note_table_prune(NoteTable* const table,
                 bool (*const ends)(const NoteEntry* entry, const void* context),
                 const void* const context)
{
  NoteTable kept = { .n_places = table->n_places };
  kept.entries = table->n ? calloc(table->n_places, sizeof(NoteEntry)) : NULL;
  if (!kept.entries) {
    return; // nothing to remove, or no memory: the entries stay
  }
  for (uint32_t e = 0; e < table->n_places; ++e) {
    const NoteEntry* const entry = &table->entries[e];
    const ParamMessage message = message_of(entry);
    if (entry->uid != RACK_UID_NONE && !ends(entry, context)) {
      kept.entries[find_place(&kept, &message)] = *entry;
      ++kept.n;
    }
  }
  free(table->entries);
  *table = kept;
}

void
note_table_clear(NoteTable* const table)
{
  free(table->entries);
  *table = (NoteTable){ NULL, 0, 0 };
}
