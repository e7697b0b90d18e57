// SPDX-License-Identifier: GPL-3.0-or-later
/// Circular doubly linked lists of objects that contain a ListEntry.  Adding, moving and removing
/// take constant time.
#ifndef WARPRACK_CONTROL_NET_LIST_H
#define WARPRACK_CONTROL_NET_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ListEntry {
  struct ListEntry* before;
  struct ListEntry* behind;
} ListEntry;

/// The object of this type whose `member` is the entry.
#define LIST_ITEM(entry, type, member) ((type*)((char*)(entry)-offsetof(type, member)))

static inline void
list_init(ListEntry* const list)
{
  list->before = list;
  list->behind = list;
}

static inline bool
list_is_empty(const ListEntry* const list)
{
  return list->behind == list;
}

/// Append an entry, which must not be in a list.
static inline void
list_append(ListEntry* const list, ListEntry* const entry)
{
  entry->before = list->before;
  entry->behind = list;
  list->before->behind = entry;
  list->before = entry;
}

/// Remove an entry from its list.
static inline void
list_remove(ListEntry* const entry)
{
  entry->before->behind = entry->behind;
  entry->behind->before = entry->before;
}

static inline void
list_move(ListEntry* const list, ListEntry* const entry)
{
  list_remove(entry);
  list_append(list, entry);
}

#endif
