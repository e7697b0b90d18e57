// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The dummy driver's tapes: a file that feeds its inputs, a file that keeps its outputs.

   A live tape has a thread of its own for the disk and a ring of a few seconds before it, so that
   the audio thread never waits.  A tape that is not live reads and writes on its caller's thread:
   nothing is ever missing, and the same run gives the same file.
*/
#ifndef WARPRACK_IO_FILE_TAPE_H
#define WARPRACK_IO_FILE_TAPE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct TapePlayer TapePlayer;

/// Open a file at its start; live: the ring is full on return. [main]
NODISCARD Status tape_player_open(const char* name, bool live, TapePlayer** player, Error* error);
uint32_t tape_player_channels(const TapePlayer* player);
double tape_player_rate(const TapePlayer* player);
/// The next n_frames, out[tape_player_channels()], silence after the end or a failure. [rt when
/// live]
void tape_player_read(TapePlayer* player, float* const* out, uint32_t n_frames);
/// Frames that the disk did not bring in time; live only. [any]
uint64_t tape_player_missing(const TapePlayer* player);
/// False with the reason once the file has turned out to be corrupt. [main]
bool tape_player_is_sound(const TapePlayer* player, Error* error);
/// Accepts NULL. [main]
void tape_player_close(TapePlayer* player);

typedef struct Recorder Recorder;

/// A 32-bit float file in the container that the name's ending says. [main]
NODISCARD Status recorder_open(const char* name, double rate_hz, uint32_t n_channels, bool live,
                               Recorder** recorder, Error* error);
/// Append n_frames. [rt when live]
void recorder_write(Recorder* recorder, const float* const* in, uint32_t n_frames);
/// Frames that the disk did not take in time; live only. [any]
uint64_t recorder_missing(const Recorder* recorder);
/// False with the reason once writing has failed. [main]
bool recorder_is_sound(const Recorder* recorder, Error* error);
/// Put the file in its place, or remove it after a failure; frees the recorder.  Nobody writes any
/// more.  Accepts NULL. [main]
NODISCARD Status recorder_close(Recorder* recorder, Error* error);
/// Remove the file instead.  Accepts NULL. [main]
void recorder_abandon(Recorder* recorder);

#endif
