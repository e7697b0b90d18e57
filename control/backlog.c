// SPDX-License-Identifier: GPL-3.0-or-later
// The parameters that an edit has changed, as a sorted list without duplicates.

#include "backlog.h"

#include <stdlib.h>
#include <string.h>

static bool
value_differs(const RackNode* const a, const RackNode* const b, const uint32_t param)
{
  const RackValue* const v = &a->values[param];
  const RackValue* const w = &b->values[param];
  return v->kind != w->kind || v->number != w->number ||
         (v->kind == VALUE_TEXT && strcmp(v->text, w->text) != 0);
}

static uint32_t
count_params(const Rack* const rack)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < rack->n_nodes; ++i) {
    n += rack->nodes[i].fx->n_params;
  }
  return n;
}

/// Append the parameters of a node whose values differ from those in `before`.
static void
add_node(Backlog* const backlog, const Rack* const before, const RackNode* const node)
{
  const RackNode* old = before ? rack_find(before, node->name) : NULL;
  old = old && old->fx == node->fx ? old : NULL;
  for (uint32_t p = 0; p < node->fx->n_params; ++p) {
    if (!old || value_differs(old, node, p)) {
      backlog->keys[backlog->n++] = (NotifyKey){ node->uid, p };
    }
  }
}

static int
compare_keys(const void* const a, const void* const b)
{
  const NotifyKey* const x = a;
  const NotifyKey* const y = b;
  return x->uid != y->uid ? (x->uid > y->uid) - (x->uid < y->uid)
                          : (x->param > y->param) - (x->param < y->param);
}

static void
sort(Backlog* const backlog)
{
  qsort(backlog->keys, backlog->n, sizeof(NotifyKey), compare_keys);
  uint32_t n_kept = 0;
  for (uint32_t k = 0; k < backlog->n; ++k) {
    if (n_kept == 0U || compare_keys(&backlog->keys[n_kept - 1U], &backlog->keys[k]) != 0) {
      backlog->keys[n_kept++] = backlog->keys[k];
    }
  }
  backlog->n = n_kept;
}

bool
backlog_add(Backlog* const backlog, const Rack* const before, const Rack* const now,
            const Peer* const maker)
{
  const uint32_t n_waiting = backlog->n - backlog->next;
  NotifyKey* const keys = malloc((n_waiting + count_params(now) + 1U) * sizeof(NotifyKey));
  if (!keys) {
    return false;
  }
  Backlog all = { .keys = keys };
  if (maker && (n_waiting == 0U || (backlog->has_maker && peer_equal(&backlog->maker, maker)))) {
    all.maker = *maker;
    all.has_maker = true;
  }
  for (uint32_t k = backlog->next; k < backlog->n; ++k) {
    if (rack_find_uid(now, backlog->keys[k].uid)) {
      keys[all.n++] = backlog->keys[k];
    }
  }
  for (uint32_t n = 0; n < now->n_nodes; ++n) {
    add_node(&all, before, &now->nodes[n]);
  }
  sort(&all);
  backlog_clear(backlog);
  *backlog = all;
  return true;
}

bool
backlog_take(Backlog* const backlog, NotifyKey* const key)
{
  if (backlog_is_empty(backlog)) {
    return false;
  }
  *key = backlog->keys[backlog->next++];
  return true;
}

bool
backlog_is_empty(const Backlog* const backlog)
{
  return backlog->next == backlog->n;
}

void
backlog_clear(Backlog* const backlog)
{
  free(backlog->keys);
  *backlog = (Backlog){ .keys = NULL };
}
