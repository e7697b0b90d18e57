// SPDX-License-Identifier: GPL-3.0-or-later

#include "host_notes.h"

void
host_notes_init(HostNotes* const notes, const Plugin* const plugin, Arena* const arena)
{
  notes->list = plugin->fx.event ? arena_take(arena, FX_MAX_EVENTS, sizeof(HostNote)) : NULL;
}

void
host_notes_add(HostNotes* const notes, const FxEvent* const event, const uint32_t frame)
{
  notes->list[notes->n++ % FX_MAX_EVENTS] = (HostNote){ *event, frame };
}

uint64_t
host_notes_oldest(const HostNotes* const notes, const uint64_t n_sent)
{
  return notes->n - n_sent > FX_MAX_EVENTS ? notes->n - FX_MAX_EVENTS : n_sent;
}

void
host_notes_send(const HostNotes* const notes, uint64_t* const n_sent,
                const InstanceCalls* const calls, Instance* const instance, const uint32_t first,
                const uint32_t n_frames)
{
  for (; *n_sent < notes->n; ++*n_sent) {
    const HostNote* const note = &notes->list[*n_sent % FX_MAX_EVENTS];
    if (note->frame >= first + n_frames) {
      return;
    }
    calls->event(instance, &note->event, note->frame > first ? note->frame - first : 0U);
  }
}
