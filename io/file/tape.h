// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The dummy driver's tapes: a file that feeds its inputs, a file that records its outputs.

   A live tape has a thread for the disk and a ring of a few seconds, so that the audio thread
   never waits.  A tape that is not live reads and writes on its caller's thread: no frame is ever
   missing, and the same run gives the same file.
*/
#ifndef WARPRACK_IO_FILE_TAPE_H
#define WARPRACK_IO_FILE_TAPE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct TapePlayer TapePlayer;

/// Open a file at its start; a live tape has a full ring on return. [main]
NODISCARD Status tape_player_open(const char* name, bool live, TapePlayer** player, Error* error);
uint32_t tape_player_channels(const TapePlayer* player);
double tape_player_rate(const TapePlayer* player);
/// Read the next n_frames into out[tape_player_channels()]; silence after the end or an error. [rt
/// when live]
void tape_player_read(TapePlayer* player, float* const* out, uint32_t n_frames);
/// Frames that were missing because the disk was too slow; live only. [any]
uint64_t tape_player_missing(const TapePlayer* player);
/// False, with the reason, once the file has turned out to be corrupt. [main]
bool tape_player_is_sound(const TapePlayer* player, Error* error);
/// Accepts NULL. [main]
void tape_player_close(TapePlayer* player);

typedef struct Recorder Recorder;

/// Open a 32-bit float file; the extension chooses the container. [main]
NODISCARD Status recorder_open(const char* name, double rate_hz, uint32_t n_channels, bool live,
                               Recorder** recorder, Error* error);
/// Append n_frames. [rt when live]
void recorder_write(Recorder* recorder, const float* const* in, uint32_t n_frames);
/// Frames lost because the disk was too slow; live only. [any]
uint64_t recorder_missing(const Recorder* recorder);
/// False, with the reason, once writing has failed. [main]
bool recorder_is_sound(const Recorder* recorder, Error* error);
/// Complete the file, or remove it after an error; frees the recorder.  No other thread may still
/// write.  Accepts NULL. [main]
NODISCARD Status recorder_close(Recorder* recorder, Error* error);
/// Remove the file and free the recorder.  Accepts NULL. [main]
void recorder_abandon(Recorder* recorder);

#endif
