// SPDX-License-Identifier: GPL-3.0-or-later
// The threads of a render that read ahead of the engine and write behind it.

#include "render_stages.h"

#include "engine/base/rt.h"

#include <stdlib.h>

// ---- read ahead ----

static void*
read_file(void* const context)
{
  ReadAhead* const ahead = context;
  FramePipe* const pipe = &ahead->pipe;
  for (bool at_end = false; !at_end;) {
    PipeBuffer* const buffer = frame_pipe_empty(pipe);
    if (!buffer) {
      return NULL;
    }
    buffer->status = audio_reader_read(ahead->reader, buffer->rows, pipe->capacity,
                                       &buffer->n_frames, &buffer->error);
    at_end = buffer->status || buffer->n_frames < pipe->capacity;
    frame_pipe_fill(pipe);
  }
  frame_pipe_end(pipe);
  return NULL;
}

Status
read_ahead_begin(ReadAhead* const ahead, AudioReader* const reader, const uint32_t block_frames,
                 Error* const error)
{
  *ahead = (ReadAhead){ .reader = reader, .block_frames = block_frames };
  ahead->silence = calloc(block_frames, sizeof(float));
  Status status = ahead->silence ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    status = frame_pipe_init(&ahead->pipe, audio_reader_channels(reader), block_frames, error);
  }
  if (!status) {
    status = rt_thread_start("warprack-read", read_file, ahead, &ahead->thread, error);
  }
  if (status) {
    frame_pipe_clear(&ahead->pipe);
    free(ahead->silence);
    *ahead = (ReadAhead){ 0 };
  }
  return status;
}

/// The buffer with the next frames; NULL at the end of the file.
static PipeBuffer*
current_buffer(ReadAhead* const ahead)
{
  if (ahead->buffer && ahead->at < ahead->buffer->n_frames) {
    return ahead->buffer;
  }
  if (ahead->buffer) {
    frame_pipe_give_back(&ahead->pipe);
  }
  ahead->at = 0;
  ahead->buffer = frame_pipe_full(&ahead->pipe);
  return ahead->buffer;
}

Status
read_ahead_next(ReadAhead* const ahead, const float** const rows, uint32_t* const n_read,
                Error* const error)
{
  const uint32_t block = ahead->block_frames;
  const PipeBuffer* const buffer = current_buffer(ahead);
  if (buffer && buffer->status) {
    *error = buffer->error;
    return buffer->status;
  }
  const uint32_t left = buffer ? buffer->n_frames - ahead->at : 0U;
  *n_read = left < block ? left : block;
  for (uint32_t c = 0; c < ahead->pipe.n_channels; ++c) {
    for (uint32_t i = *n_read; *n_read && i < block; ++i) {
      buffer->rows[c][ahead->at + i] = 0.0F;
    }
    rows[c] = *n_read ? buffer->rows[c] + ahead->at : ahead->silence;
  }
  ahead->at += *n_read;
  return STATUS_OK;
}

void
read_ahead_end(ReadAhead* const ahead)
{
  if (ahead->reader) {
    frame_pipe_stop(&ahead->pipe);
    pthread_join(ahead->thread, NULL);
    frame_pipe_clear(&ahead->pipe);
    free(ahead->silence);
    *ahead = (ReadAhead){ 0 };
  }
}

// ---- write behind ----

static void*
write_file(void* const context)
{
  WriteBehind* const behind = context;
  FramePipe* const pipe = &behind->pipe;
  for (const PipeBuffer* buffer = frame_pipe_full(pipe); buffer; buffer = frame_pipe_full(pipe)) {
    behind->status = audio_writer_write(behind->writer, (const float* const*)buffer->rows,
                                        buffer->n_frames, &behind->error);
    if (behind->status) {
      frame_pipe_stop(pipe);
    } else {
      frame_pipe_give_back(pipe);
    }
  }
  return NULL;
}

Status
write_behind_begin(WriteBehind* const behind, AudioWriter* const writer, const uint32_t n_channels,
                   const uint32_t block_frames, Error* const error)
{
  *behind = (WriteBehind){ .writer = writer, .block_frames = block_frames };
  Status status = frame_pipe_init(&behind->pipe, n_channels, block_frames, error);
  if (!status) {
    status = rt_thread_start("warprack-write", write_file, behind, &behind->thread, error);
  }
  if (status) {
    frame_pipe_clear(&behind->pipe);
    *behind = (WriteBehind){ 0 };
  }
  return status;
}

/// Pass on the buffer of the caller.
static void
pass_buffer(WriteBehind* const behind)
{
  if (behind->buffer) {
    frame_pipe_fill(&behind->pipe);
    behind->buffer = NULL;
  }
}

Status
write_behind_room(WriteBehind* const behind, float** const rows, Error* const error)
{
  FramePipe* const pipe = &behind->pipe;
  if (behind->buffer && behind->buffer->n_frames + behind->block_frames > pipe->capacity) {
    pass_buffer(behind);
  }
  behind->buffer = behind->buffer ? behind->buffer : frame_pipe_empty(pipe);
  if (!behind->buffer) {
    *error = behind->error;
    return behind->status;
  }
  for (uint32_t c = 0; c < pipe->n_channels; ++c) {
    rows[c] = behind->buffer->rows[c] + behind->buffer->n_frames;
  }
  return STATUS_OK;
}

void
write_behind_add(WriteBehind* const behind, const uint32_t n_frames)
{
  behind->buffer->n_frames += n_frames;
}

/// End the thread, after everything is written or at once.
static Status
end_thread(WriteBehind* const behind, Error* const error)
{
  frame_pipe_end(&behind->pipe);
  pthread_join(behind->thread, NULL);
  const Status status = behind->status;
  if (status) {
    *error = behind->error;
  }
  frame_pipe_clear(&behind->pipe);
  *behind = (WriteBehind){ 0 };
  return status;
}

Status
write_behind_finish(WriteBehind* const behind, Error* const error)
{
  if (!behind->writer) {
    return STATUS_OK;
  }
  pass_buffer(behind);
  return end_thread(behind, error);
}

void
write_behind_abandon(WriteBehind* const behind)
{
  if (behind->writer) {
    Error ignored;
    frame_pipe_stop(&behind->pipe);
    (void)end_thread(behind, &ignored);
  }
}
