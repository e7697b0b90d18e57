// SPDX-License-Identifier: GPL-3.0-or-later
/// What a driver calls, played by a test: remembers what it was told, copies inputs to outputs.
#ifndef WARPRACK_TESTS_FAKE_EVENTS_H
#define WARPRACK_TESTS_FAKE_EVENTS_H

#include "io/io.h"

#include <stdatomic.h>

typedef struct FakeEvents {
  uint32_t n_in, n_out;
  PeriodGate gate;
  _Atomic uint64_t periods, frames, waited; ///< Calls of `process`, their frames, those with `wait`
  _Atomic uint32_t last_frames;             ///< Length of the last period
  atomic_bool inside, overlapped;           ///< `format` was called while `process` ran
  atomic_bool heard;                        ///< An input was not zero
  _Atomic uint32_t latency;                 ///< What `latency` answers
  uint32_t formats;                         ///< Calls of `format`
  double rate_hz;                           ///< Its last arguments
  uint32_t block_frames;
  Status refuse; ///< What `format` returns
  uint32_t notes;
  char note[512]; ///< The last one
  char log[4096]; ///< All of them, one per line
} FakeEvents;

/// `process` copies input c to output c, silence beyond.
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

/// What the driver has told the events that were made last, for messages.
const char* fake_story(void);

/// Poll every 10 ms until `condition` is true.  Fails the test after some 20 s, and says what the
/// driver has told.
#define POLL_UNTIL(io, condition)                                                                  \
  do {                                                                                             \
    for (unsigned tries_ = 0; io_poll(io), !(condition); ++tries_) {                               \
      ck_assert_msg(tries_ < 2000U, "waited in vain for " #condition "\n%s", fake_story());        \
      usleep(10000);                                                                               \
    }                                                                                              \
  } while (0)

#endif
