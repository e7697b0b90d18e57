// SPDX-License-Identifier: GPL-3.0-or-later
// The fades that run in the worker, each as the message that lets another worker go on with it.

#include "fade_list.h"

#include "engine/contract/fade.h"

#include <stdlib.h>

#define FIRST_FADES 64U

void
fade_list_clear(FadeList* const list)
{
  free(list->fades);
  *list = (FadeList){ 0 };
}

static void
drop(FadeList* const list, const uint32_t f)
{
  list->fades[f] = list->fades[--list->n];
}

static uint64_t
end_of(const ParamMessage* const fade)
{
  return fade->frame + fade->fade_frames;
}

/// The index of the fade of a message's parameter; n if there is none.
static uint32_t
find(const FadeList* const list, const ParamMessage* const message)
{
  uint32_t f = 0;
  while (f < list->n &&
         (list->fades[f].uid != message->uid || list->fades[f].param != message->param)) {
    ++f;
  }
  return f;
}

/// The value of a fade at a frame.
static double
value_at(const ParamMessage* const message, const FxParam* const row, const uint64_t frame)
{
  const Fade fade = { .row = row,
                      .from = message->from,
                      .to = message->value,
                      .start = message->frame,
                      .n_frames = message->fade_frames,
                      .curve = (FxCurve)message->curve };
  return fade_value(&fade, frame > fade.start ? frame : fade.start);
}

static void
add(FadeList* const list, const ParamMessage* const fade)
{
  if (list->n == list->max) {
    const uint32_t max = list->max ? 2U * list->max : FIRST_FADES;
    ParamMessage* const fades =
        max <= FADE_MAX ? realloc(list->fades, max * sizeof(ParamMessage)) : NULL;
    if (!fades) {
      return;
    }
    list->fades = fades;
    list->max = max;
  }
  list->fades[list->n++] = *fade;
}

static void
note(FadeList* const list, const Rack* const rack, const double rate_hz,
     const ParamMessage* const message, const uint64_t now)
{
  const RackNode* const node = rack_find_uid(rack, message->uid);
  const bool is_known = node && fx_has_param(node->fx, message->param, message->param_id);
  const FxParam* const row = is_known ? &node->fx->params[message->param] : NULL;
  const uint32_t f = find(list, message);
  if (!row || row->kind != PARAM_NUMBER || row->structural) {
    return;
  }
  ParamMessage fade = *message;
  fade.frame = message->frame > now ? message->frame : now;
  fade.is_running = 1U;
  fade.from = f < list->n ? value_at(&list->fades[f], row, fade.frame)
                          : rack_number(node, message->param, rate_hz);
  if (f < list->n) {
    drop(list, f);
  }
  if (fade.fade_frames && fade.from != fade.value) {
    add(list, &fade);
  }
}

void
fade_list_note(FadeList* const list, const Rack* const rack, const double rate_hz,
               const ParamMessage* const messages, const uint32_t n, const uint64_t now)
{
  for (uint32_t f = list->n; f-- > 0U;) {
    if (end_of(&list->fades[f]) <= now) {
      drop(list, f);
    }
  }
  for (uint32_t m = 0; m < n; ++m) {
    if (list->n || messages[m].fade_frames) {
      note(list, rack, rate_hz, &messages[m], now);
    }
  }
}

void
fade_list_follow(FadeList* const list, const Rack* const rack, const double rate_hz)
{
  for (uint32_t f = list->n; f-- > 0U;) {
    const ParamMessage* const fade = &list->fades[f];
    const RackNode* const node = rack_find_uid(rack, fade->uid);
    if (!node || !fx_has_param(node->fx, fade->param, fade->param_id) ||
        rack_number(node, fade->param, rate_hz) != fade->value) {
      drop(list, f);
    }
  }
}
