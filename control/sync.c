// SPDX-License-Identifier: GPL-3.0-or-later
// Replies to /server/sync, once the earlier changes are audible.

#include "sync.h"

Status
syncs_add(Syncs* const syncs, Engine* const engine, const Peer* const peer,
          const Message* const message, const uint64_t now_ns, Error* const error)
{
  if (syncs->n == SYNC_MAX) {
    return error_set(error, STATUS_LIMIT, "%u of these commands wait already", SYNC_MAX);
  }
  const double number = message_number(message, 0);
  if (number < INT32_MIN || number > INT32_MAX) {
    return error_set(error, STATUS_BAD_ARG, "the number must fit 32 bits");
  }
  EngineStatus status;
  engine_status(engine, &status);
  const uint64_t n_blocks = status.armed ? status.depth + 1U : 0U; // without audio, do not wait
  syncs->items[syncs->n++] = (Sync){
    .peer = *peer,
    .number = (int32_t)number,
    .request_bytes = message->n_bytes,
    .frame = engine_frame_now(engine) + n_blocks * status.block_frames,
    .limit_ns = now_ns + SYNC_TIMEOUT_NS,
  };
  return STATUS_OK;
}

bool
syncs_take(Syncs* const syncs, Engine* const engine, const uint64_t now_ns, Sync* const sync,
           Status* const status)
{
  const uint64_t frame = engine_frame_now(engine);
  for (uint32_t i = 0; i < syncs->n; ++i) {
    const bool is_audible = frame >= syncs->items[i].frame;
    if (is_audible || now_ns >= syncs->items[i].limit_ns) {
      *sync = syncs->items[i];
      *status = is_audible ? STATUS_OK : STATUS_AUDIO_IO;
      for (--syncs->n; i < syncs->n; ++i) {
        syncs->items[i] = syncs->items[i + 1U];
      }
      return true;
    }
  }
  return false;
}
