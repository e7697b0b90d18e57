// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The fades of one parameter are a chain, from the earliest to the latest start.  A fade that is
  over, because a later change has taken its parameter, has `until` 0 and is in no chain; keep()
  removes it.
*/

#include "rack_fades.h"

#include "engine/contract/fade.h"

#include <stdlib.h>

#define FIRST_FADES 64U

void
rack_fades_clear(RackFades* const fades)
{
  free(fades->items);
  key_index_clear(&fades->first);
  *fades = (RackFades){ .items = NULL };
}

static uint64_t
end_of(const RackFade* const fade)
{
  const uint64_t end = fade->start + fade->n_frames;
  return end < fade->until ? end : fade->until;
}

bool
rack_fade_runs(const RackFade* const fade, const uint64_t frame)
{
  return fade->start <= frame && frame < end_of(fade);
}

double
rack_fade_value(const RackFade* const fade, const FxParam* const row, const uint64_t frame)
{
  Fade at = {
    .row = row, .start = fade->start, .n_frames = fade->n_frames, .curve = (FxCurve)fade->curve
  };
  fade_set_ends(&at, fade->from, fade->to);
  return fade->n_frames ? fade_value(&at, frame > fade->start ? frame : fade->start) : fade->to;
}

// ---- chains ----

static uint32_t
first_of(const RackFades* const fades, const RackFade* const like)
{
  return key_index_find(&fades->first, like->uid, like->param);
}

/// Find the last fade of a chain that begins at or before a frame; KEY_INDEX_NONE: none.
static uint32_t
find_before(const RackFades* const fades, const uint32_t first, const uint64_t start)
{
  uint32_t before = KEY_INDEX_NONE;
  for (uint32_t f = first; f != KEY_INDEX_NONE && fades->items[f].start <= start;
       f = fades->items[f].later) {
    before = f;
  }
  return before;
}

/// Put a fade, which has its place in the list, into its chain.  Returns false without memory.
static bool
link_in(RackFades* const fades, const uint32_t f)
{
  RackFade* const fade = &fades->items[f];
  const uint32_t first = first_of(fades, fade);
  const uint32_t before = find_before(fades, first, fade->start);
  if (before == KEY_INDEX_NONE) {
    fade->later = first;
    return key_index_set(&fades->first, fade->uid, fade->param, f);
  }
  fade->later = fades->items[before].later;
  fades->items[before].later = f;
  return true;
}

/// Remove the fades that end before or at a frame from the list.
static void
keep(RackFades* const fades, const uint64_t after)
{
  uint32_t n = 0;
  key_index_forget(&fades->first);
  fades->next_end = UINT64_MAX;
  for (uint32_t f = 0; f < fades->n; ++f) {
    const uint64_t end = end_of(&fades->items[f]);
    fades->items[n] = fades->items[f];
    if (end > after && link_in(fades, n)) {
      fades->next_end = end < fades->next_end ? end : fades->next_end;
      ++n;
    }
  }
  fades->n = n;
  fades->n_over = 0U;
}

void
rack_fades_forget(RackFades* const fades, const uint64_t now)
{
  if (fades->n && fades->next_end <= now) {
    keep(fades, now);
  }
}

// ---- changes ----

static bool
has_room(const RackFades* const fades, uint32_t first)
{
  uint32_t n = 0;
  for (; first != KEY_INDEX_NONE && n < RACK_FADES_PER_PARAM; ++n) {
    first = fades->items[first].later;
  }
  return n < RACK_FADES_PER_PARAM;
}

/// Make room for one more fade.  Half of the list is for those that are over, so that it is not
/// searched for each of many changes.
static bool
make_room(RackFades* const fades, const uint64_t now)
{
  if (fades->n - fades->n_over == FADE_MAX) {
    return false;
  }
  if (fades->n == fades->max && fades->n_over > fades->max / 2U) {
    keep(fades, now);
  }
  if (fades->n == fades->max) {
    const uint32_t max = fades->max ? 2U * fades->max : FIRST_FADES;
    RackFade* const items = realloc(fades->items, max * sizeof(RackFade));
    if (!items) {
      return false;
    }
    fades->items = items;
    fades->max = max;
  }
  return true;
}

/// End the chain of a parameter before a fade that begins now.
static void
end_before(RackFades* const fades, const RackFade* const fade)
{
  const uint32_t first = first_of(fades, fade);
  uint32_t f = first;
  for (; f != KEY_INDEX_NONE && fades->items[f].start <= fade->start; f = fades->items[f].later) {
    fades->items[f].until = 0U;
    ++fades->n_over;
  }
  if (f != first) {
    (void)key_index_set(&fades->first, fade->uid, fade->param, f); // the key was set before
  }
}

static void
add(RackFades* const fades, const RackFade* const fade, const uint64_t now)
{
  if (make_room(fades, now)) {
    fades->items[fades->n] = *fade;
    if (link_in(fades, fades->n)) {
      const uint64_t end = end_of(fade);
      fades->next_end = !fades->n || end < fades->next_end ? end : fades->next_end;
      ++fades->n;
    }
  }
}

void
rack_fades_note(RackFades* const fades, const FxParam* const row, const RackFade* const change,
                const uint64_t now)
{
  rack_fades_forget(fades, now);
  const uint32_t first = first_of(fades, change);
  if (!fx_param_fades(row) || (first == KEY_INDEX_NONE && !change->n_frames) ||
      (change->start > now && !has_room(fades, first))) {
    return;
  }
  RackFade fade = *change;
  fade.start = change->start > now ? change->start : now;
  fade.until = UINT64_MAX;
  const uint32_t before = find_before(fades, first, fade.start);
  const uint32_t after = before == KEY_INDEX_NONE ? first : fades->items[before].later;
  if (before != KEY_INDEX_NONE) {
    fade.from = rack_fade_value(&fades->items[before], row, fade.start);
    fades->items[before].until = fade.start;
  } else if (after != KEY_INDEX_NONE) {
    fade.from = fades->items[after].from;
  }
  if (after != KEY_INDEX_NONE) {
    fade.until = fades->items[after].start;
    fades->items[after].from = rack_fade_value(&fade, row, fade.until);
  }
  if (fade.start == now) {
    end_before(fades, &fade);
  }
  const bool moves = fade.n_frames && fade.from != fade.to;
  if (moves || fade.start > now) {
    add(fades, &fade, now);
  }
}

void
rack_fades_follow(RackFades* const fades, const Rack* const rack, const double rate_hz)
{
  bool any = false;
  for (uint32_t f = 0; f < fades->n; ++f) {
    const RackFade* last = &fades->items[f];
    while (last->later != KEY_INDEX_NONE) {
      last = &fades->items[last->later];
    }
    const RackNode* const node = rack_find_uid(rack, last->uid);
    if (!node || !fx_has_param(node->fx, last->param, last->param_id) ||
        rack_number(node, last->param, rate_hz) != last->to) {
      fades->items[f].until = 0U; // keep() counts it
      any = true;
    }
  }
  if (any) {
    keep(fades, 0U);
  }
}
