// SPDX-License-Identifier: GPL-3.0-or-later
// A file that feeds inputs, and a file that records outputs.

#include "tape.h"

#include "audio_file.h"
#include "frame_ring.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <stdlib.h>
#include <string.h>

#define PLAYER_SECONDS   2.0
#define RECORDER_SECONDS 4.0
#define CHUNK_FRAMES     4096U
#define PAUSE_NS         (10U * NS_PER_MS) // the ring has room for 200 times as long

struct Tape {
  AudioReader* reader; // Of a player; belongs to its thread while it runs
  AudioWriter* writer; // Of a recorder; belongs to its thread while it runs
  bool live;
  FrameRing ring;
  float* memory; // [channels][CHUNK_FRAMES]
  float** chunk; // [channels] pointers into `memory`
  pthread_t thread;
  bool has_thread;
  atomic_bool stop;
  atomic_bool complete; // The ring has all remaining frames (release: after the last write)
  atomic_bool failed;   // `error` holds the reason (release)
  Error error;
  _Atomic uint64_t missing;
};

static Status
make_ring(Tape* const tape, const uint32_t n_channels, const uint32_t n_frames, Error* const error)
{
  tape->memory = calloc((size_t)n_channels * CHUNK_FRAMES, sizeof(float));
  tape->chunk = calloc(n_channels, sizeof(float*));
  if (!tape->memory || !tape->chunk || frame_ring_init(&tape->ring, n_channels, n_frames)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t c = 0; c < n_channels; ++c) {
    tape->chunk[c] = tape->memory + (size_t)c * CHUNK_FRAMES;
  }
  return STATUS_OK;
}

static Status
start_thread(Tape* const tape, const char* const name, void* (*body)(void*), Error* const error)
{
  const Status status = rt_thread_start(name, body, tape, &tape->thread, error);
  tape->has_thread = !status;
  return status;
}

static void
stop_thread(Tape* const tape)
{
  if (tape->has_thread) {
    tape->stop = true;
    pthread_join(tape->thread, NULL);
    tape->has_thread = false;
  }
}

static void
fail(Tape* const tape)
{
  atomic_store_explicit(&tape->failed, true, memory_order_release);
}

static void
count_missing(Tape* const tape, const uint32_t n_frames)
{
  atomic_fetch_add_explicit(&tape->missing, n_frames, memory_order_relaxed);
}

// ---- a file that feeds inputs ----

// Move chunks from the file to the ring until the ring is full or the file ends.
static void
fill_ring(Tape* const tape)
{
  while (!tape->complete && frame_ring_space(&tape->ring) >= CHUNK_FRAMES) {
    uint32_t n_read = 0;
    const Status status =
        audio_reader_read(tape->reader, tape->chunk, CHUNK_FRAMES, &n_read, &tape->error);
    frame_ring_write(&tape->ring, (const float* const*)tape->chunk, n_read);
    if (status) {
      fail(tape);
    }
    if (status || n_read < CHUNK_FRAMES) {
      atomic_store_explicit(&tape->complete, true, memory_order_release);
    }
  }
}

static void*
keep_ring_full(void* const context)
{
  Tape* const tape = context;
  while (!tape->stop && !tape->complete) {
    fill_ring(tape);
    time_sleep(PAUSE_NS);
  }
  return NULL;
}

static Status
start_playing(Tape* const tape, Error* const error)
{
  const uint32_t ring_frames = (uint32_t)(PLAYER_SECONDS * tape_rate(tape)) + CHUNK_FRAMES;
  const Status status = make_ring(tape, tape_channels(tape), ring_frames, error);
  if (status) {
    return status;
  }
  fill_ring(tape);
  return start_thread(tape, "play", keep_ring_full, error);
}

Status
tape_open_player(const char* const name, const bool live, Tape** const out, Error* const error)
{
  Tape* const tape = calloc(1, sizeof(Tape));
  if (!tape) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  tape->live = live;
  Status status = audio_reader_open(name, &tape->reader, error);
  status = status ? status : audio_reader_check_whole(tape->reader, error);
  if (!status && live) {
    status = start_playing(tape, error);
  }
  if (status) {
    tape_close(tape);
    return status;
  }
  *out = tape;
  return STATUS_OK;
}

uint32_t
tape_channels(const Tape* const player)
{
  return audio_reader_channels(player->reader);
}

double
tape_rate(const Tape* const player)
{
  return audio_reader_rate(player->reader);
}

static uint32_t
read_ring(Tape* const tape, float* const* const out, const uint32_t n_frames)
{
  const bool complete = atomic_load_explicit(&tape->complete, memory_order_acquire);
  const uint32_t n = frame_ring_read(&tape->ring, out, n_frames);
  if (n < n_frames && !complete) {
    count_missing(tape, n_frames - n);
  }
  return n;
}

static uint32_t
read_file(Tape* const tape, float* const* const out, const uint32_t n_frames)
{
  uint32_t n = 0;
  if (!tape->failed && audio_reader_read(tape->reader, out, n_frames, &n, &tape->error)) {
    fail(tape);
  }
  return n;
}

void
tape_read(Tape* const player, float* const* const out, const uint32_t n_frames)
{
  const uint32_t n =
      player->live ? read_ring(player, out, n_frames) : read_file(player, out, n_frames);
  for (uint32_t c = 0; c < tape_channels(player); ++c) {
    memset(out[c] + n, 0, (n_frames - n) * sizeof(float));
  }
}

// ---- a file that records outputs ----

static void
write_file(Tape* const tape, const float* const* const in, const uint32_t n_frames)
{
  if (!tape->failed && audio_writer_write(tape->writer, in, n_frames, &tape->error)) {
    fail(tape);
  }
}

static void
empty_ring(Tape* const tape)
{
  for (uint32_t n = 1; n;) {
    n = frame_ring_read(&tape->ring, tape->chunk, CHUNK_FRAMES);
    write_file(tape, (const float* const*)tape->chunk, n);
  }
}

static void*
keep_ring_empty(void* const context)
{
  Tape* const tape = context;
  while (!tape->stop) {
    empty_ring(tape);
    time_sleep(PAUSE_NS);
  }
  empty_ring(tape);
  return NULL;
}

static Status
start_recording(Tape* const tape, const double rate_hz, const uint32_t n_channels,
                Error* const error)
{
  const uint32_t ring_frames = (uint32_t)(RECORDER_SECONDS * rate_hz);
  const Status status = make_ring(tape, n_channels, ring_frames, error);
  return status ? status : start_thread(tape, "record", keep_ring_empty, error);
}

Status
tape_open_recorder(const char* const name, const double rate_hz, const uint32_t n_channels,
                   const bool live, Tape** const out, Error* const error)
{
  Tape* const tape = calloc(1, sizeof(Tape));
  if (!tape) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  tape->live = live;
  AudioFormat format;
  Status status = audio_format_from(name, "float", &format, error);
  if (!status) {
    status = audio_writer_open(name, format, rate_hz, n_channels, &tape->writer, error);
  }
  if (!status && live) {
    status = start_recording(tape, rate_hz, n_channels, error);
  }
  if (status) {
    tape_close(tape);
    return status;
  }
  *out = tape;
  return STATUS_OK;
}

void
tape_write(Tape* const recorder, const float* const* const in, const uint32_t n_frames)
{
  if (!recorder->live) {
    write_file(recorder, in, n_frames);
    return;
  }
  const uint32_t n = frame_ring_write(&recorder->ring, in, n_frames);
  if (n < n_frames) {
    count_missing(recorder, n_frames - n);
  }
}

Status
tape_commit(Tape* const recorder, Error* const error)
{
  if (!recorder) {
    return STATUS_OK;
  }
  stop_thread(recorder);
  Status status = STATUS_OK;
  if (tape_is_sound(recorder, error)) {
    status = audio_writer_commit(recorder->writer, error);
    recorder->writer = NULL;
  } else {
    status = error->status;
  }
  tape_close(recorder);
  return status;
}

// ---- both ----

uint64_t
tape_missing(const Tape* const tape)
{
  return atomic_load_explicit(&tape->missing, memory_order_relaxed);
}

bool
tape_is_sound(const Tape* const tape, Error* const error)
{
  if (!atomic_load_explicit(&tape->failed, memory_order_acquire)) {
    return true;
  }
  *error = tape->error;
  return false;
}

void
tape_close(Tape* const tape)
{
  if (tape) {
    stop_thread(tape);
    audio_reader_close(tape->reader);
    audio_writer_abandon(tape->writer);
    frame_ring_clear(&tape->ring);
    free(tape->chunk);
    free(tape->memory);
    free(tape);
  }
}
