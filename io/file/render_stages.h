// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The two stages of a render beside the engine, each a thread: one reads the input ahead of the
   engine, one writes the output behind it.  While they run, reader and writer belong to them.
*/
#ifndef WARPRACK_IO_FILE_RENDER_STAGES_H
#define WARPRACK_IO_FILE_RENDER_STAGES_H

#include "audio_file.h"
#include "frame_pipe.h"

typedef struct ReadAhead {
  AudioReader* reader;
  FramePipe pipe;
  uint32_t block_frames;
  float* silence; ///< [block_frames] after the end
  pthread_t thread;
  PipeBuffer* buffer; ///< Of the caller; NULL: none
  uint32_t at;        ///< Frames taken of `buffer`
} ReadAhead;

/// Start to read.  STATUS_NO_MEM. [main]
NODISCARD Status read_ahead_begin(ReadAhead* ahead, AudioReader* reader, uint32_t block_frames,
                                  Error* error);
/// Wait for the next block, and point to its rows.  It has zeros after the end of the file, and
/// n_read < block_frames only there.  STATUS_FILE: the rest of the file is corrupt. [main]
NODISCARD Status read_ahead_next(ReadAhead* ahead, const float** rows, uint32_t* n_read,
                                 Error* error);
/// End the thread.  Accepts a stage that has not begun. [main]
void read_ahead_end(ReadAhead* ahead);

typedef struct WriteBehind {
  AudioWriter* writer;
  FramePipe pipe;
  uint32_t block_frames;
  pthread_t thread;
  PipeBuffer* buffer; ///< Of the caller; NULL: none
  Status status;      ///< Of the thread, which ends after a failure
  Error error;
} WriteBehind;

/// Start the thread that writes.  STATUS_NO_MEM. [main]
NODISCARD Status write_behind_begin(WriteBehind* behind, AudioWriter* writer, uint32_t n_channels,
                                    uint32_t block_frames, Error* error);
/// Wait for room for a block, and point to its rows.  STATUS_FILE: an earlier write has failed.
/// [main]
NODISCARD Status write_behind_room(WriteBehind* behind, float** rows, Error* error);
/// Let the first n_frames at those rows be written. [main]
void write_behind_add(WriteBehind* behind, uint32_t n_frames);
/// Wait until everything is written, and end the thread.  Accepts a stage that has not begun or has
/// ended.  STATUS_FILE: a write has failed. [main]
NODISCARD Status write_behind_finish(WriteBehind* behind, Error* error);
/// End the thread, and leave the rest unwritten.  Accepts the same stages as write_behind_finish().
/// [main]
void write_behind_abandon(WriteBehind* behind);

#endif
