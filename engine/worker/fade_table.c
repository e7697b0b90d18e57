// SPDX-License-Identifier: GPL-3.0-or-later
// The fades that run in the player: one table, and in each node the place of each parameter's fade.

#include "fade_table.h"

#include "engine/base/rt.h"

#include <stdlib.h>

Status
fade_table_init(FadeTable* const table, Error* const error)
{
  table->fades = rt_memory(FADE_MAX * sizeof(Fade));
  table->nodes = rt_memory(FADE_MAX * sizeof(Node*));
  return table->fades && table->nodes ? STATUS_OK
                                      : error_set(error, STATUS_NO_MEM, "out of memory");
}

void
fade_table_clear(FadeTable* const table)
{
  free(table->fades);
  free(table->nodes);
  *table = (FadeTable){ 0 };
}

/// The place in its node that names a fade while it is the last one of its parameter.
static uint32_t*
place_of(const FadeTable* const table, const uint32_t f)
{
  return &table->nodes[f]->fades[table->fades[f].param];
}

/// Remove a fade; the last one takes its place.
static void
drop(FadeTable* const table, const uint32_t f)
{
  const uint32_t last = --table->n;
  if (*place_of(table, f) == f + 1U) {
    *place_of(table, f) = 0U;
  }
  if (f != last) {
    if (*place_of(table, last) == last + 1U) {
      *place_of(table, last) = f + 1U;
    }
    table->fades[f] = table->fades[last];
    table->nodes[f] = table->nodes[last];
  }
}

double
fade_table_take(FadeTable* const table, Node* const node, const uint32_t param,
                const uint64_t frame)
{
  const uint32_t place = node->fades[param];
  if (!place) {
    return node->targets[param];
  }
  Fade* const fade = &table->fades[place - 1U];
  fade->until = frame;
  node->fades[param] = 0U;
  return fade_value(fade, frame > fade->start ? frame : fade->start);
}

bool
fade_table_add(FadeTable* const table, Node* const node, const uint32_t node_index,
               const ParamMessage* const message, const uint64_t frame, const double from)
{
  if (table->n == FADE_MAX) {
    return false;
  }
  Fade fade = { .node_index = node_index,
                .param = message->param,
                .row = &node->fx->params[message->param],
                .start = frame,
                .until = FADE_NEVER,
                .n_frames = message->fade_frames,
                .curve = (FxCurve)message->curve };
  fade_set_ends(&fade, from, message->value);
  table->nodes[table->n] = node;
  table->fades[table->n++] = fade;
  node->fades[message->param] = table->n;
  return true;
}

void
fade_table_follow(FadeTable* const table, const Plan* const plan)
{
  for (uint32_t f = table->n; f-- > 0U;) {
    Fade* const fade = &table->fades[f];
    const Node* const node = table->nodes[f];
    const int index = plan_find(plan, node->uid);
    if (index < 0 || plan->nodes[index].node != node || node->targets[fade->param] != fade->to) {
      drop(table, f);
    } else {
      fade->node_index = (uint32_t)index;
    }
  }
}

void
fade_table_drop_ended(FadeTable* const table, const uint64_t frame)
{
  for (uint32_t f = table->n; f-- > 0U;) {
    const Fade* const fade = &table->fades[f];
    if (fade->until <= frame || fade->start + fade->n_frames <= frame) {
      drop(table, f);
    }
  }
}

void
fade_table_end_all(FadeTable* const table)
{
  while (table->n) {
    const uint32_t f = table->n - 1U;
    const Fade* const fade = &table->fades[f];
    if (fade->until == FADE_NEVER) {
      node_set(table->nodes[f], fade->param, fade->to);
    }
    drop(table, f);
  }
}
