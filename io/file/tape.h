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

typedef struct Tape Tape;

/// Open a file at its start; live: the ring is full on return. [main]
NODISCARD Status tape_open_player(const char* name, bool live, Tape** player, Error* error);
uint32_t tape_channels(const Tape* player);
double tape_rate(const Tape* player);
/// The next n_frames, out[tape_channels()], silence after the end or a failure. [rt when live]
void tape_read(Tape* player, float* const* out, uint32_t n_frames);

/// Open a 32-bit float file, in the container that the name's ending says. [main]
NODISCARD Status tape_open_recorder(const char* name, double rate_hz, uint32_t n_channels,
                                    bool live, Tape** recorder, Error* error);
/// Append n_frames. [rt when live]
void tape_write(Tape* recorder, const float* const* in, uint32_t n_frames);
/// Put the file in its place, or remove it after a failure; close the tape.  No thread may write
/// any more.  Accepts NULL. [main]
NODISCARD Status tape_commit(Tape* recorder, Error* error);

/// Frames that the disk did not bring or take in time; live only. [any]
uint64_t tape_missing(const Tape* tape);
/// False, with the reason, after the first error of the file. [main]
bool tape_is_sound(const Tape* tape, Error* error);
/// Close a player, or a recorder whose file is to be removed.  Accepts NULL. [main]
void tape_close(Tape* tape);

#endif
