// SPDX-License-Identifier: GPL-3.0-or-later
// The calls of the program to a driver, and the functions that all drivers share.

#include "io_driver.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/contract/effect.h"

#include <stdarg.h>
#include <stdio.h>

#define SHUT_TRIES 1000U    // of 1 ms each
#define TELL_NS    NS_PER_S // between two notes about the same problem

Status
io_open(const IoDriver* const driver, const IoConfig* const config, const IoEvents* const events,
        Io** const io, Error* const error)
{
  if (config->n_in > FX_MAX_CHANNELS || config->n_out > FX_MAX_CHANNELS) {
    return error_set(error, STATUS_BAD_ARG, "%u in and %u out are too many channels; at most %u",
                     config->n_in, config->n_out, FX_MAX_CHANNELS);
  }
  if (config->block_frames > FX_MAX_BLOCK) {
    return error_set(error, STATUS_BAD_ARG, "a block of %u frames is too long; at most %u",
                     config->block_frames, FX_MAX_BLOCK);
  }
  period_door_shut(events->door, PERIOD_DOOR_DRIVER);
  return driver->open(config, events, io, error);
}

static uint64_t
count_overlaps(const Io* const io)
{
  return atomic_load_explicit(&io->events.door->overlaps, memory_order_relaxed);
}

static void
report_overlaps(Io* const io)
{
  const uint64_t overlaps = count_overlaps(io);
  const uint64_t now_ns = time_now_ns();
  if (overlaps != io->told_overlaps && now_ns - io->told_ns >= TELL_NS) {
    io_note(io, "two audio threads called at once: %llu periods were silenced so far",
            (unsigned long long)overlaps);
    io->told_overlaps = overlaps;
    io->told_ns = now_ns;
  }
}

void
io_poll(Io* const io)
{
  io->driver->poll(io);
  report_overlaps(io);
}

void
io_status(const Io* const io, IoStatus* const status)
{
  io->driver->status(io, status);
  status->overlaps = count_overlaps(io);
}

void
io_latency_changed(Io* const io)
{
  if (io->driver->latency_changed) {
    io->driver->latency_changed(io);
  }
}

Status
io_close(Io* const io)
{
  return io ? io->driver->close(io) : STATUS_OK;
}

void
io_process(Io* const io, const void* const caller, const float* const* const in,
           float* const* const out, const uint32_t n_frames, const bool wait,
           MidiPeriod* const midi)
{
  if (n_frames == 0) {
    return;
  }
  const PeriodCall call = { caller, in, out, io->n_out, n_frames, wait, midi };
  // libjack may cancel its thread at any instruction (JackPosixThread.h).  A thread that is
  // cancelled inside the door would leave the door occupied.
  const CancelMode before = rt_hold_cancel();
  if (!wait) {
    rt_section_enter();
  }
  period_door_pass(io->events.door, &call, io->events.process, io->events.context);
  if (!wait) {
    rt_section_leave();
  }
  rt_allow_cancel(before);
}

Status
io_shut(Io* const io, Error* const error)
{
  period_door_shut(io->events.door, PERIOD_DOOR_DRIVER);
  for (unsigned n = 0; period_door_is_occupied(io->events.door); ++n) {
    if (n == SHUT_TRIES) {
      return error_set(error, STATUS_AUDIO_IO, "the audio thread hangs in a period");
    }
    time_sleep(NS_PER_MS);
  }
  return STATUS_OK;
}

Status
io_arm(Io* const io, const void* const caller, const double rate_hz, const uint32_t block_frames,
       Error* const error)
{
  Status status = io_shut(io, error);
  status = status ? status : io->events.format(io->events.context, rate_hz, block_frames, error);
  if (!status) {
    io->rate_hz = rate_hz;
    io->block_frames = block_frames;
    period_door_admit(io->events.door, caller);
    period_door_open(io->events.door, PERIOD_DOOR_DRIVER);
  }
  return status;
}

void
io_note(const Io* const io, const char* const format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (io->events.note) {
    io->events.note(io->events.context, text);
  }
}
