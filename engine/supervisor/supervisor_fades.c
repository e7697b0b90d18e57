// SPDX-License-Identifier: GPL-3.0-or-later
// The fades that run in the worker: recorded as they are sent, for another worker that goes on with
// them as if it had begun them.

#include "supervisor_private.h"

#include <stdlib.h>

void
supervisor_note_fades(Supervisor* const supervisor, const ParamMessage* const messages,
                      const uint32_t n, const uint64_t now)
{
  RackFades* const fades = &supervisor->fades;
  const Rack* const rack = supervisor->history.active;
  for (uint32_t m = 0; m < n; ++m) {
    const ParamMessage* const message = &messages[m];
    const bool may_change = fades->n || message->fade_frames;
    const RackNode* const node = may_change ? rack_find_uid(rack, message->uid) : NULL;
    if (node && fx_has_param(node->fx, message->param, message->param_id)) {
      const RackFade change = { .uid = message->uid,
                                .param = message->param,
                                .param_id = message->param_id,
                                .from = rack_number(node, message->param,
                                                    supervisor->wanted.format.rate_hz),
                                .to = message->value,
                                .start = message->frame,
                                .n_frames = message->fade_frames,
                                .curve = message->curve };
      rack_fades_note(fades, &node->fx->params[message->param], &change, now);
    }
  }
}

/// The message that lets a worker go on with a fade, or begin it.
static ParamMessage
message_of(const RackFade* const fade)
{
  const bool moves = fade->n_frames;
  return (ParamMessage){ .frame = fade->start,
                         .uid = fade->uid,
                         .param = fade->param,
                         .value = fade->to,
                         .param_id = fade->param_id,
                         .fade_frames = fade->n_frames,
                         .curve = fade->curve,
                         .is_running = moves,
                         .from = moves ? fade->from : 0.0 };
}

/// Copy the values that a child has missed, except those that fade.
static uint32_t
copy_missed(const RackFades* const fades, const Child* const child, ParamMessage* const messages)
{
  uint32_t n = 0;
  for (uint32_t m = 0; m < child->n_missed; ++m) {
    const ParamMessage* const missed = &child->missed[m];
    if (key_index_find(&fades->first, missed->uid, missed->param) == KEY_INDEX_NONE) {
      messages[n] = *missed;
      messages[n++].fade_frames = 0U; // its fade has ended
    }
  }
  return n;
}

ParamMessage*
supervisor_first_messages(Supervisor* const supervisor, const Child* const child, uint32_t* const n)
{
  RackFades* const fades = &supervisor->fades;
  rack_fades_follow(fades, supervisor->history.active, supervisor->wanted.format.rate_hz);
  const size_t most = (size_t)child->n_missed + fades->n + 1U; // + 1: never 0 bytes
  ParamMessage* const messages = malloc(most * sizeof(ParamMessage));
  const uint32_t room = supervisor->wanted.shape.n_messages;
  *n = messages ? copy_missed(fades, child, messages) : 0U;
  for (uint32_t f = 0; messages && f < fades->n && *n < room; ++f) {
    if (fades->items[f].until) {
      messages[(*n)++] = message_of(&fades->items[f]);
    }
  }
  return messages;
}
