// SPDX-License-Identifier: GPL-3.0-or-later
// Records outputs to a file.

#include "audio_file.h"
#include "frame_ring.h"
#include "tape.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <stdlib.h>

#define RING_SECONDS 4.0
#define CHUNK_FRAMES 4096U
#define PAUSE_NS     (10U * NS_PER_MS)

struct Recorder {
  AudioWriter* writer; // Used by the disk thread while it runs
  bool live;
  FrameRing ring;
  float* memory; // [channels][CHUNK_FRAMES]
  float** chunk; // [channels] into it
  pthread_t thread;
  bool has_thread;
  atomic_bool stop;
  atomic_bool failed; // `error` holds the reason (release)
  Error error;
  _Atomic uint64_t missing;
};

static void
write_file(Recorder* const recorder, const float* const* const in, const uint32_t n_frames)
{
  if (!recorder->failed && audio_writer_write(recorder->writer, in, n_frames, &recorder->error)) {
    atomic_store_explicit(&recorder->failed, true, memory_order_release);
  }
}

static void
empty_ring(Recorder* const recorder)
{
  for (uint32_t n = 1; n;) {
    n = frame_ring_read(&recorder->ring, recorder->chunk, CHUNK_FRAMES);
    write_file(recorder, (const float* const*)recorder->chunk, n);
  }
}

static void*
keep_ring_empty(void* const context)
{
  Recorder* const recorder = context;
  while (!recorder->stop) {
    empty_ring(recorder);
    time_sleep(PAUSE_NS);
  }
  empty_ring(recorder);
  return NULL;
}

static Status
start_disk(Recorder* const recorder, const double rate_hz, const uint32_t n_channels,
           Error* const error)
{
  recorder->memory = calloc((size_t)n_channels * CHUNK_FRAMES, sizeof(float));
  recorder->chunk = calloc(n_channels, sizeof(float*));
  if (!recorder->memory || !recorder->chunk ||
      frame_ring_init(&recorder->ring, n_channels, (uint32_t)(RING_SECONDS * rate_hz))) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t c = 0; c < n_channels; ++c) {
    recorder->chunk[c] = recorder->memory + (size_t)c * CHUNK_FRAMES;
  }
  const Status status =
      rt_thread_start("record", keep_ring_empty, recorder, &recorder->thread, error);
  recorder->has_thread = !status;
  return status;
}

static void
stop_disk(Recorder* const recorder)
{
  if (recorder->has_thread) {
    recorder->stop = true;
    pthread_join(recorder->thread, NULL);
    recorder->has_thread = false;
  }
}

void
recorder_abandon(Recorder* const recorder)
{
  if (recorder) {
    stop_disk(recorder);
    audio_writer_abandon(recorder->writer);
    frame_ring_clear(&recorder->ring);
    free(recorder->chunk);
    free(recorder->memory);
    free(recorder);
  }
}

Status
recorder_open(const char* const name, const double rate_hz, const uint32_t n_channels,
              const bool live, Recorder** const out, Error* const error)
{
  Recorder* const recorder = calloc(1, sizeof(Recorder));
  if (!recorder) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  recorder->live = live;
  AudioFormat format;
  Status status = audio_format_from(name, "float", &format, error);
  if (!status) {
    status = audio_writer_open(name, format, rate_hz, n_channels, &recorder->writer, error);
  }
  if (!status && live) {
    status = start_disk(recorder, rate_hz, n_channels, error);
  }
  if (status) {
    recorder_abandon(recorder);
    return status;
  }
  *out = recorder;
  return STATUS_OK;
}

void
recorder_write(Recorder* const recorder, const float* const* const in, const uint32_t n_frames)
{
  if (!recorder->live) {
    write_file(recorder, in, n_frames);
    return;
  }
  const uint32_t n = frame_ring_write(&recorder->ring, in, n_frames);
  if (n < n_frames) {
    atomic_fetch_add_explicit(&recorder->missing, n_frames - n, memory_order_relaxed);
  }
}

uint64_t
recorder_missing(const Recorder* const recorder)
{
  return atomic_load_explicit(&recorder->missing, memory_order_relaxed);
}

bool
recorder_is_sound(const Recorder* const recorder, Error* const error)
{
  if (!atomic_load_explicit(&recorder->failed, memory_order_acquire)) {
    return true;
  }
  *error = recorder->error;
  return false;
}

Status
recorder_close(Recorder* const recorder, Error* const error)
{
  if (!recorder) {
    return STATUS_OK;
  }
  stop_disk(recorder);
  Status status = STATUS_OK;
  if (recorder_is_sound(recorder, error)) {
    status = audio_writer_commit(recorder->writer, error);
    recorder->writer = NULL;
  } else {
    status = error->status;
  }
  recorder_abandon(recorder);
  return status;
}
