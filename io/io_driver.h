// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the drivers: the first members of every Io, and the calls of IoEvents::process through
   the door.  The door (period_door.h) ensures, without a lock on the audio thread, that `process`
   never runs while `format` does.
*/
#ifndef WARPRACK_IO_IO_DRIVER_H
#define WARPRACK_IO_IO_DRIVER_H

#include "io.h"

#include <stdatomic.h>

struct Io {
  const IoDriver* driver;
  IoEvents events;
  uint32_t n_in, n_out;
  double rate_hz;                ///< Of the last io_arm()
  _Atomic uint32_t block_frames; ///< Of the last io_arm()
  uint64_t told_overlaps;        ///< PeriodDoor::overlaps in the last report, at told_ns [main]
  uint64_t told_ns;
};

#define IO_DRIVER_DECLARED(name) extern const IoDriver io_##name;
IO_DRIVERS(IO_DRIVER_DECLARED)

/// Run one period of any length; 0 does nothing.  Calls `process`, or writes silence if the door
/// does not admit `caller` (a session, or NULL in a driver without sessions).  Each call may come
/// from another thread. [rt]
REALTIME void io_process(Io* io, const void* caller, const float* const* in, float* const* out,
                         uint32_t n_frames, bool wait, MidiPeriod* midi);

/// Shut the door and wait until no period is inside.  STATUS_AUDIO_IO if one does not leave within
/// a second. [main]
NODISCARD Status io_shut(Io* io, Error* error);

/// Shut the door, call `format`, and open the door for the periods of `caller`.  On error the door
/// stays shut. [main]
NODISCARD Status io_arm(Io* io, const void* caller, double rate_hz, uint32_t block_frames,
                        Error* error);

/// Write one line to the log. [main]
void io_note(const Io* io, const char* format, ...) PRINTF_LIKE(2, 3);

#endif
