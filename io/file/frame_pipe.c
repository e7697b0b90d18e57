// SPDX-License-Identifier: GPL-3.0-or-later
// Buffers of planar frames from one thread to another.

#include "frame_pipe.h"

#include "engine/base/rows.h"

#include <stdlib.h>

// Of a buffer, unless a block is larger: so small that the second thread finds it in the caches.
#define BUFFER_BYTES 262144U

Status
frame_pipe_init(FramePipe* const pipe, const uint32_t n_channels, const uint32_t block_frames,
                Error* const error)
{
  const uint32_t n_blocks = BUFFER_BYTES / (uint32_t)sizeof(float) / n_channels / block_frames;
  const uint32_t capacity = (n_blocks ? n_blocks : 1U) * block_frames;
  const size_t distance = rows_distance(capacity);
  const size_t n_rows = (size_t)FRAME_PIPE_BUFFERS * n_channels;
  float* const memory = aligned_alloc(64U, n_rows * distance * sizeof(float));
  float** const rows = calloc(n_rows, sizeof(float*));
  if (!memory || !rows) {
    free(rows);
    free(memory);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *pipe =
      (FramePipe){ .n_channels = n_channels, .capacity = capacity, .memory = memory, .rows = rows };
  for (size_t r = 0; r < n_rows; ++r) {
    rows[r] = memory + r * distance;
  }
  for (uint32_t b = 0; b < FRAME_PIPE_BUFFERS; ++b) {
    pipe->buffers[b].rows = rows + (size_t)b * n_channels;
  }
  pthread_mutex_init(&pipe->lock, NULL);
  pthread_cond_init(&pipe->changed, NULL);
  return STATUS_OK;
}

void
frame_pipe_clear(FramePipe* const pipe)
{
  if (pipe->memory) {
    pthread_cond_destroy(&pipe->changed);
    pthread_mutex_destroy(&pipe->lock);
  }
  free(pipe->rows);
  free(pipe->memory);
  *pipe = (FramePipe){ 0 };
}

PipeBuffer*
frame_pipe_empty(FramePipe* const pipe)
{
  pthread_mutex_lock(&pipe->lock);
  while (!pipe->is_stopped && pipe->n_filled - pipe->n_emptied == FRAME_PIPE_BUFFERS) {
    pthread_cond_wait(&pipe->changed, &pipe->lock);
  }
  PipeBuffer* const buffer =
      pipe->is_stopped ? NULL : &pipe->buffers[pipe->n_filled % FRAME_PIPE_BUFFERS];
  pthread_mutex_unlock(&pipe->lock);
  if (buffer) {
    buffer->n_frames = 0;
    buffer->status = STATUS_OK;
  }
  return buffer;
}

PipeBuffer*
frame_pipe_full(FramePipe* const pipe)
{
  pthread_mutex_lock(&pipe->lock);
  while (!pipe->is_stopped && !pipe->has_ended && pipe->n_filled == pipe->n_emptied) {
    pthread_cond_wait(&pipe->changed, &pipe->lock);
  }
  PipeBuffer* const buffer = pipe->is_stopped || pipe->n_filled == pipe->n_emptied
                                 ? NULL
                                 : &pipe->buffers[pipe->n_emptied % FRAME_PIPE_BUFFERS];
  pthread_mutex_unlock(&pipe->lock);
  return buffer;
}

/// Add to the numbers of buffers, or set a flag, and wake the other thread.
static void
change(FramePipe* const pipe, const uint32_t n_filled, const uint32_t n_emptied, bool* const flag)
{
  pthread_mutex_lock(&pipe->lock);
  pipe->n_filled += n_filled;
  pipe->n_emptied += n_emptied;
  if (flag) {
    *flag = true;
  }
  pthread_cond_broadcast(&pipe->changed);
  pthread_mutex_unlock(&pipe->lock);
}

void
frame_pipe_fill(FramePipe* const pipe)
{
  change(pipe, 1U, 0U, NULL);
}

void
frame_pipe_end(FramePipe* const pipe)
{
  change(pipe, 0U, 0U, &pipe->has_ended);
}

void
frame_pipe_give_back(FramePipe* const pipe)
{
  change(pipe, 0U, 1U, NULL);
}

void
frame_pipe_stop(FramePipe* const pipe)
{
  change(pipe, 0U, 0U, &pipe->is_stopped);
}
