// SPDX-License-Identifier: GPL-3.0-or-later
// A file that feeds inputs.

#include "audio_file.h"
#include "frame_ring.h"
#include "tape.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <stdlib.h>
#include <string.h>

#define RING_SECONDS 2.0
#define CHUNK_FRAMES 4096U
#define PAUSE_NS     (10U * NS_PER_MS) // the ring holds two hundred times as much

struct TapePlayer {
  AudioReader* reader; // Used by the disk thread once it runs
  bool live;
  FrameRing ring;
  float* memory; // [channels][CHUNK_FRAMES]
  float** chunk; // [channels] into it
  pthread_t thread;
  bool has_thread;
  atomic_bool stop;
  atomic_bool complete; // The ring holds the rest of the file (release: after the last write)
  atomic_bool failed;   // `error` holds the reason (release)
  Error error;
  _Atomic uint64_t missing;
};

static void
fail(TapePlayer* const player)
{
  atomic_store_explicit(&player->failed, true, memory_order_release);
}

// Move chunks from the file to the ring until the ring is full or the file ends.
static void
fill_ring(TapePlayer* const player)
{
  while (!player->complete && frame_ring_space(&player->ring) >= CHUNK_FRAMES) {
    uint32_t n_read = 0;
    const Status status =
        audio_reader_read(player->reader, player->chunk, CHUNK_FRAMES, &n_read, &player->error);
    frame_ring_write(&player->ring, (const float* const*)player->chunk, n_read);
    if (status) {
      fail(player);
    }
    if (status || n_read < CHUNK_FRAMES) {
      atomic_store_explicit(&player->complete, true, memory_order_release);
    }
  }
}

static void*
keep_ring_full(void* const context)
{
  TapePlayer* const player = context;
  while (!player->stop && !player->complete) {
    fill_ring(player);
    time_sleep(PAUSE_NS);
  }
  return NULL;
}

static Status
start_disk(TapePlayer* const player, Error* const error)
{
  const uint32_t n_channels = tape_player_channels(player);
  player->memory = calloc((size_t)n_channels * CHUNK_FRAMES, sizeof(float));
  player->chunk = calloc(n_channels, sizeof(float*));
  const uint32_t n_frames = (uint32_t)(RING_SECONDS * tape_player_rate(player)) + CHUNK_FRAMES;
  if (!player->memory || !player->chunk || frame_ring_init(&player->ring, n_channels, n_frames)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t c = 0; c < n_channels; ++c) {
    player->chunk[c] = player->memory + (size_t)c * CHUNK_FRAMES;
  }
  fill_ring(player);
  const Status status = rt_thread_start("play", keep_ring_full, player, &player->thread, error);
  player->has_thread = !status;
  return status;
}

Status
tape_player_open(const char* const name, const bool live, TapePlayer** const out,
                 Error* const error)
{
  TapePlayer* const player = calloc(1, sizeof(TapePlayer));
  if (!player) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  player->live = live;
  Status status = audio_reader_open(name, &player->reader, error);
  if (!status) {
    status = audio_reader_check_whole(player->reader, error);
  }
  if (!status && live) {
    status = start_disk(player, error);
  }
  if (status) {
    tape_player_close(player);
    return status;
  }
  *out = player;
  return STATUS_OK;
}

uint32_t
tape_player_channels(const TapePlayer* const player)
{
  return audio_reader_channels(player->reader);
}

double
tape_player_rate(const TapePlayer* const player)
{
  return audio_reader_rate(player->reader);
}

static uint32_t
read_live(TapePlayer* const player, float* const* const out, const uint32_t n_frames)
{
  const bool complete = atomic_load_explicit(&player->complete, memory_order_acquire);
  const uint32_t n = frame_ring_read(&player->ring, out, n_frames);
  if (n < n_frames && !complete) {
    atomic_fetch_add_explicit(&player->missing, n_frames - n, memory_order_relaxed);
  }
  return n;
}

static uint32_t
read_file(TapePlayer* const player, float* const* const out, const uint32_t n_frames)
{
  uint32_t n = 0;
  if (!player->failed && audio_reader_read(player->reader, out, n_frames, &n, &player->error)) {
    fail(player);
  }
  return n;
}

void
tape_player_read(TapePlayer* const player, float* const* const out, const uint32_t n_frames)
{
  const uint32_t n =
      player->live ? read_live(player, out, n_frames) : read_file(player, out, n_frames);
  for (uint32_t c = 0; c < tape_player_channels(player); ++c) {
    memset(out[c] + n, 0, (n_frames - n) * sizeof(float));
  }
}

uint64_t
tape_player_missing(const TapePlayer* const player)
{
  return atomic_load_explicit(&player->missing, memory_order_relaxed);
}

bool
tape_player_is_sound(const TapePlayer* const player, Error* const error)
{
  if (!atomic_load_explicit(&player->failed, memory_order_acquire)) {
    return true;
  }
  *error = player->error;
  return false;
}

void
tape_player_close(TapePlayer* const player)
{
  if (player) {
    player->stop = true;
    if (player->has_thread) {
      pthread_join(player->thread, NULL);
    }
    audio_reader_close(player->reader);
    frame_ring_clear(&player->ring);
    free(player->chunk);
    free(player->memory);
    free(player);
  }
}
