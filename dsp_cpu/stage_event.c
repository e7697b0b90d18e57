// SPDX-License-Identifier: GPL-3.0-or-later
// The changes of one node in a block: merges its events with the points of its fades.

#include "stage_event.h"

size_t
change_marks_bytes(const uint32_t n_nodes)
{
  return (3U * (size_t)n_nodes + FX_MAX_EVENTS + FADE_MAX) * sizeof(uint32_t);
}

void
change_marks_init(ChangeMarks* const marks, void* const memory, const uint32_t n_nodes)
{
  *marks = (ChangeMarks){ .has_change = memory };
  if (memory) {
    marks->first_event = marks->has_change + n_nodes;
    marks->first_fade = marks->first_event + n_nodes;
    marks->next_event = marks->first_fade + n_nodes;
    marks->next_fade = marks->next_event + FX_MAX_EVENTS;
  }
}

void
change_marks_set(ChangeMarks* const marks, const StageChanges* const changes,
                 const uint32_t n_frames)
{
  for (uint32_t e = changes->n_events; e; --e) { // backwards: each list is in order
    const uint32_t node_index = changes->events[e - 1U].node_index;
    marks->next_event[e - 1U] = marks->first_event[node_index];
    marks->first_event[node_index] = e;
    marks->has_change[node_index] = 1U;
  }
  for (uint32_t f = 0; f < changes->n_fades; ++f) {
    const Fade* const fade = &changes->fades[f];
    if (fade_next(fade, changes->frame) - changes->frame < n_frames) {
      marks->next_fade[f] = marks->first_fade[fade->node_index];
      marks->first_fade[fade->node_index] = f + 1U;
      marks->has_change[fade->node_index] = 1U;
    }
  }
}

void
change_marks_clear(ChangeMarks* const marks, const StageChanges* const changes)
{
  for (uint32_t e = 0; e < changes->n_events; ++e) {
    marks->has_change[changes->events[e].node_index] = 0U;
    marks->first_event[changes->events[e].node_index] = 0U;
  }
  for (uint32_t f = 0; f < changes->n_fades; ++f) {
    marks->has_change[changes->fades[f].node_index] = 0U;
    marks->first_fade[changes->fades[f].node_index] = 0U;
  }
}

/// The event with this index + 1 if it is at an offset; else NULL.
static const StageEvent*
event_at(const NodeChanges* const changes, const uint32_t event, const uint32_t at)
{
  const StageEvent* const found = event ? &changes->block->events[event - 1U] : NULL;
  return found && found->offset == at ? found : NULL;
}

/// True for the event of a value of the effect.
static bool
has_value(const StageEvent* const event)
{
  return !event->is_note && !event->of_engine;
}

/// Offset of the next point of a fade at or after `from`.
static uint32_t
next_point(const StageChanges* const block, const Fade* const fade, const uint32_t from)
{
  const uint64_t next = fade_next(fade, block->frame + from);
  return next - block->frame < UINT32_MAX ? (uint32_t)(next - block->frame) : UINT32_MAX;
}

uint32_t
node_changes_next(const NodeChanges* const changes, const uint32_t from)
{
  const StageChanges* const block = changes->block;
  uint32_t next = changes->event ? block->events[changes->event - 1U].offset : UINT32_MAX;
  for (uint32_t f = changes->first_fade; f; f = changes->next_fade[f - 1U]) {
    const uint32_t point = next_point(block, &block->fades[f - 1U], from);
    next = point < next ? point : next;
  }
  return next;
}

bool
node_changes_have_value(const NodeChanges* const changes, const uint32_t at)
{
  const StageChanges* const block = changes->block;
  for (uint32_t e = changes->event; event_at(changes, e, at); e = changes->next_event[e - 1U]) {
    if (has_value(&block->events[e - 1U])) {
      return true;
    }
  }
  for (uint32_t f = changes->first_fade; f; f = changes->next_fade[f - 1U]) {
    if (next_point(block, &block->fades[f - 1U], at) == at) {
      return true;
    }
  }
  return false;
}

bool
node_changes_cut(const NodeChanges* const changes, const uint32_t n_frames)
{
  const StageChanges* const block = changes->block;
  for (uint32_t e = changes->event; e; e = changes->next_event[e - 1U]) {
    if (block->events[e - 1U].offset && has_value(&block->events[e - 1U])) {
      return true;
    }
  }
  for (uint32_t f = changes->first_fade; f; f = changes->next_fade[f - 1U]) {
    if (next_point(block, &block->fades[f - 1U], 1U) < n_frames) {
      return true;
    }
  }
  return false;
}

/// The length of the ramps that begin at an offset.  One length serves all values of the node: the
/// longest of the events, which state it; else the shortest of the fades, whose next points follow
/// before its end.
static uint32_t
ramp_frames_at(const NodeChanges* const changes, const uint32_t at)
{
  const StageChanges* const block = changes->block;
  uint32_t longest = 0;
  uint32_t shortest = UINT32_MAX;
  for (uint32_t e = changes->event; event_at(changes, e, at); e = changes->next_event[e - 1U]) {
    const StageEvent* const event = &block->events[e - 1U];
    const bool is_longer = has_value(event) && event->ramp_frames > longest;
    longest = is_longer ? event->ramp_frames : longest;
  }
  for (uint32_t f = changes->first_fade; f && !longest; f = changes->next_fade[f - 1U]) {
    const Fade* const fade = &block->fades[f - 1U];
    if (next_point(block, fade, at) == at) {
      const uint32_t ramp_frames = fade_point(fade, block->frame + at).ramp_frames;
      shortest = ramp_frames < shortest ? ramp_frames : shortest;
    }
  }
  return longest ? longest : shortest;
}

static void
set(const NodeChanges* const changes, const uint32_t param, const double value,
    const uint32_t ramp_frames, const uint32_t frame)
{
  if (changes->fx->set_at) {
    changes->fx->set_at(changes->node, param, value, ramp_frames, frame);
  } else {
    changes->fx->set(changes->node, param, value, ramp_frames);
  }
}

void
node_changes_pass(NodeChanges* const changes, const uint32_t at, const uint32_t value_frame,
                  const uint32_t note_frame)
{
  const StageChanges* const block = changes->block;
  const uint32_t ramp_frames = ramp_frames_at(changes, at);
  for (const StageEvent* event = NULL; (event = event_at(changes, changes->event, at));) {
    changes->event = changes->next_event[changes->event - 1U];
    if (event->is_note) {
      changes->fx->event(changes->node, &event->note, note_frame);
    } else if (has_value(event)) {
      set(changes, event->param, event->value, ramp_frames, value_frame);
    }
  }
  for (uint32_t f = changes->first_fade; f; f = changes->next_fade[f - 1U]) {
    const Fade* const fade = &block->fades[f - 1U];
    if (next_point(block, fade, at) == at) {
      set(changes, fade->param, fade_point(fade, block->frame + at).value, ramp_frames,
          value_frame);
    }
  }
}
