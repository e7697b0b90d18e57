// SPDX-License-Identifier: GPL-3.0-or-later
/// Doubly linked rings of things that hold a Link: constant time to add, to move, to take out.
#ifndef WARPRACK_CONTROL_NET_LIST_H
#define WARPRACK_CONTROL_NET_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Link {
  struct Link* before;
  struct Link* behind;
} Link;

/// The thing of this type whose `member` is the link.
#define LIST_ITEM(link, type, member) ((type*)((char*)(link)-offsetof(type, member)))

static inline void
list_init(Link* const list)
{
  list->before = list;
  list->behind = list;
}

static inline bool
list_is_empty(const Link* const list)
{
  return list->behind == list;
}

/// Add a link that is in no list at the end.
static inline void
list_append(Link* const list, Link* const link)
{
  link->before = list->before;
  link->behind = list;
  list->before->behind = link;
  list->before = link;
}

/// Take a link out of the list that it is in.
static inline void
list_remove(Link* const link)
{
  link->before->behind = link->behind;
  link->behind->before = link->before;
}

static inline void
list_move(Link* const list, Link* const link)
{
  list_remove(link);
  list_append(list, link);
}

#endif
