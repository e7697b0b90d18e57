// SPDX-License-Identifier: GPL-3.0-or-later
// The active rack, the one before, the pending edit, and banned racks.

#include "rack_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status
rack_history_init(RackHistory* const history)
{
  *history = (RackHistory){ .active = rack_new() };
  return history->active ? STATUS_OK : STATUS_NO_MEM;
}

void
rack_history_clear(RackHistory* const history)
{
  if (history->pending) {
    rack_history_drop_pending(history);
  }
  for (uint32_t b = 0; b < RACK_HISTORY_MAX_BANNED; ++b) {
    rack_free(history->banned[b].rack);
  }
  rack_free(history->active);
  rack_free(history->before);
  *history = (RackHistory){ 0 };
}

/// Find the ban of a rack that has not expired; NULL if there is none.
static const RackHistoryBan*
find_ban(const RackHistory* const history, const Rack* const rack, const uint64_t now_ns)
{
  for (uint32_t b = 0; b < RACK_HISTORY_MAX_BANNED; ++b) {
    const RackHistoryBan* const ban = &history->banned[b];
    if (ban->rack && now_ns < ban->until_ns && rack_sounds_equal(ban->rack, rack)) {
      return ban;
    }
  }
  return NULL;
}

Status
rack_history_add(RackHistory* const history, const uint64_t id, const Rack* const rack,
                 const uint64_t at_frame, const uint64_t now_ns)
{
  if (history->pending) {
    return STATUS_LIMIT;
  }
  RackHistoryEdit* const edit = calloc(1, sizeof(RackHistoryEdit));
  Rack* const copy = rack_copy(rack);
  if (!edit || !copy) {
    free(edit);
    rack_free(copy);
    return STATUS_NO_MEM;
  }
  *edit = (RackHistoryEdit){ .id = id, .at_frame = at_frame, .rack = copy };
  const RackHistoryBan* const ban = find_ban(history, rack, now_ns);
  if (ban) {
    error_set(&edit->refusal, STATUS_WORKER, "%s", ban->why);
  }
  history->pending = edit;
  return STATUS_OK;
}

static void
store(Rack* const rack, const ParamMessage* const message)
{
  if (message->tempo_bpm > 0.0) {
    rack_follow_tempo(rack, message->uid, message->param, message->param_id, message->tempo_bpm);
  } else {
    rack_set_value(rack, message->uid, message->param, message->param_id, message->value);
  }
}

void
rack_history_note(RackHistory* const history, const ParamMessage* const messages, const uint32_t n)
{
  for (uint32_t m = 0; m < n; ++m) {
    store(history->active, &messages[m]);
    if (history->pending) {
      store(history->pending->rack, &messages[m]);
    }
  }
}

Rack*
rack_history_for_worker(const RackHistory* const history, const Rack* const rack,
                        const uint64_t now_ns)
{
  Rack* const copy = rack_copy(rack);
  if (copy) {
    node_quarantine_apply(&history->nodes, history->active, copy, now_ns);
  }
  return copy;
}

void
rack_history_activate_pending(RackHistory* const history)
{
  node_quarantine_follow(&history->nodes, history->active, history->pending->rack);
  rack_free(history->before);
  history->before = history->active;
  history->active = history->pending->rack;
  free(history->pending);
  history->pending = NULL;
}

void
rack_history_drop_pending(RackHistory* const history)
{
  rack_free(history->pending->rack);
  free(history->pending);
  history->pending = NULL;
}

void
rack_history_refuse(RackHistory* const history, const char* const why)
{
  RackHistoryEdit* const edit = history->pending;
  if (edit && !edit->refusal.status) {
    error_set(&edit->refusal, STATUS_WORKER, "%s", why);
  }
}

/// Find a free entry for a ban, or else the entry that expires first.
static RackHistoryBan*
place_for_ban(RackHistory* const history)
{
  RackHistoryBan* place = &history->banned[0];
  for (uint32_t b = 1; b < RACK_HISTORY_MAX_BANNED; ++b) {
    place = history->banned[b].until_ns < place->until_ns ? &history->banned[b] : place;
  }
  return place;
}

bool
rack_history_quarantine(RackHistory* const history, const char* const why, const uint64_t now_ns)
{
  Rack* const good = history->before ? history->before : rack_new();
  if (!good) {
    return false;
  }
  good->next_uid =
      history->active->next_uid > good->next_uid ? history->active->next_uid : good->next_uid;
  RackHistoryBan* const ban = place_for_ban(history);
  rack_free(ban->rack);
  *ban = (RackHistoryBan){ .rack = history->active, .until_ns = now_ns + RACK_HISTORY_BAN_NS };
  snprintf(ban->why, sizeof(ban->why), "%s", why);
  node_quarantine_follow(&history->nodes, history->active, good);
  history->active = good;
  history->before = NULL;
  return true;
}
