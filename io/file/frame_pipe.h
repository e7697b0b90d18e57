// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Buffers of planar frames from one thread to another, in order: the first thread fills them, the
   second one empties them.  Each waits for the other, so neither may be an audio thread.
*/
#ifndef WARPRACK_IO_FILE_FRAME_PIPE_H
#define WARPRACK_IO_FILE_FRAME_PIPE_H

#include "engine/base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define FRAME_PIPE_BUFFERS 4U

typedef struct PipeBuffer {
  float** rows;      ///< [n_channels], each of FramePipe::capacity frames
  uint32_t n_frames; ///< Filled
  Status status;     ///< After these frames; not STATUS_OK: `error` has the reason
  Error error;
} PipeBuffer;

typedef struct FramePipe {
  uint32_t n_channels;
  uint32_t capacity; ///< Frames of a buffer, a multiple of the block
  float* memory;
  float** rows; ///< [FRAME_PIPE_BUFFERS][n_channels]
  PipeBuffer buffers[FRAME_PIPE_BUFFERS];
  pthread_mutex_t lock; ///< Of the members below
  pthread_cond_t changed;
  uint64_t n_filled, n_emptied; ///< Buffers so far
  bool has_ended;               ///< No further buffer will be filled
  bool is_stopped;              ///< Nobody waits any more
} FramePipe;

/// Allocate the buffers.  STATUS_NO_MEM: nothing is allocated. [main]
NODISCARD Status frame_pipe_init(FramePipe* pipe, uint32_t n_channels, uint32_t block_frames,
                                 Error* error);
/// Free the buffers.  Accepts a pipe of zeros. [main]
void frame_pipe_clear(FramePipe* pipe);

/// Wait for the next empty buffer, which then has no frames.  NULL if the pipe is stopped. [first]
PipeBuffer* frame_pipe_empty(FramePipe* pipe);
/// Pass on the buffer of the last frame_pipe_empty(). [first]
void frame_pipe_fill(FramePipe* pipe);
/// Fill no further buffer. [first]
void frame_pipe_end(FramePipe* pipe);

/// Wait for the next full buffer.  NULL if the pipe is stopped, or has ended and is empty. [second]
PipeBuffer* frame_pipe_full(FramePipe* pipe);
/// Give back the buffer of the last frame_pipe_full(). [second]
void frame_pipe_give_back(FramePipe* pipe);

/// End all waits. [any]
void frame_pipe_stop(FramePipe* pipe);

#endif
