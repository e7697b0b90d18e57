// SPDX-License-Identifier: GPL-3.0-or-later
/// The functions that a driver calls (IoEvents), played by a test: they record their arguments and
/// copy the inputs to the outputs.
#ifndef WARPRACK_TESTS_FAKE_EVENTS_H
#define WARPRACK_TESTS_FAKE_EVENTS_H

#include "io/io.h"
#include "suite.h"

#include <stdatomic.h>
#include <unistd.h>

typedef struct FakeEvents {
  uint32_t n_in, n_out;
  PeriodDoor door;
  _Atomic uint64_t periods, frames, waited; ///< `process`: calls, sum of frames, calls with `wait`
  _Atomic uint32_t last_frames;             ///< Length of the last period
  atomic_bool inside, overlapped;           ///< `process` runs; `format` was called while it ran
  atomic_bool has_input;                    ///< Some input sample was not 0
  _Atomic uint32_t latency;                 ///< What `latency` returns
  uint32_t formats;                         ///< Calls of `format`
  double rate_hz;                           ///< Argument of the last `format`
  uint32_t block_frames;                    ///< Argument of the last `format`
  Status refuse;                            ///< What `format` returns
  uint32_t notes;
  MidiEvent midi[256];       ///< [n_midi] events that have come, ...
  uint64_t midi_frames[256]; ///< ... and their frames since the first period
  _Atomic uint32_t n_midi, midi_lost, midi_skipped;
  char note[512]; ///< The last note
  char log[4096]; ///< All notes, one per line
} FakeEvents;

/// The functions, with *fake as their context.  `process` copies input c to output c, fills outputs
/// without an input with silence, and sends back the MIDI that it gets.
IoEvents fake_events(FakeEvents* fake, uint32_t n_in, uint32_t n_out);

static inline IoStatus
driver_status(const Io* const io)
{
  IoStatus status;
  io_status(io, &status);
  return status;
}

static inline bool
driver_is_running(const Io* const io)
{
  return driver_status(io).state == IO_STATE_RUNNING;
}

/// For SCOPED().
static inline void
driver_close(Io* const* const io)
{
  io_close(*io);
}

/// Poll `n` times, every 10 ms.
static inline void
poll_for(Io* const io, const unsigned n)
{
  for (unsigned i = 0; i < n; ++i) {
    io_poll(io);
    usleep(10000);
  }
}

/// A summary of the calls that the driver has made to the newest `fake_events()`, for messages.
const char* fake_story(void);

/// Poll every 10 ms until `condition` is true.  After the time of AWAIT() it fails the test and
/// prints fake_story().
#define POLL_UNTIL(io, condition)                                                                  \
  do {                                                                                             \
    const uint64_t end_ns_ = time_now_ns() + suite_limit_ns();                                     \
    while (io_poll(io), !(condition)) {                                                            \
      ck_assert_msg(time_now_ns() < end_ns_, "waited in vain for " #condition "\n%s",              \
                    fake_story());                                                                 \
      usleep(10000);                                                                               \
    }                                                                                              \
  } while (0)

#endif
