// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The dummy driver's tapes: a file that feeds its inputs, and a file that records its outputs.

   A live tape has a thread for the disk, and a ring of a few seconds between the audio thread and
   that thread, so that the audio thread never waits.  A tape that is not live reads and writes on
   the caller's thread: no frames are missing, and equal runs give equal files.
*/
#ifndef WARPRACK_IO_FILE_TAPE_H
#define WARPRACK_IO_FILE_TAPE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Tape Tape;

/// Open a file for reading.  If live, the ring is full on return. [main]
NODISCARD Status tape_open_player(const char* name, bool live, Tape** player, Error* error);
uint32_t tape_channels(const Tape* player);
double tape_rate(const Tape* player);
/// Read the next n_frames into out[tape_channels()]; silence after the end or a failure.
/// [rt if live]
void tape_read(Tape* player, float* const* out, uint32_t n_frames);

/// Open a 32-bit float file for writing; the name's extension selects the container. [main]
NODISCARD Status tape_open_recorder(const char* name, double rate_hz, uint32_t n_channels,
                                    bool live, Tape** recorder, Error* error);
/// Append n_frames. [rt if live]
void tape_write(Tape* recorder, const float* const* in, uint32_t n_frames);
/// Complete and rename the file, or remove it after a failure; then close the tape.  No thread may
/// write any more.  Accepts NULL. [main]
NODISCARD Status tape_commit(Tape* recorder, Error* error);

/// Number of frames that the disk did not read or write in time; live only. [any]
uint64_t tape_missing(const Tape* tape);
/// False after the first error of the file, with that error. [main]
bool tape_is_sound(const Tape* tape, Error* error);
/// Close a player, or a recorder whose file is to be removed.  Accepts NULL. [main]
void tape_close(Tape* tape);

#endif
