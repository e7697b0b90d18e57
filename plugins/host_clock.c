// SPDX-License-Identifier: GPL-3.0-or-later

#include "host_clock.h"

#define FIRST_BPM 120.0

HostClock
host_clock(const double rate_hz)
{
  return (HostClock){ .rate_hz = rate_hz, .bpm = FIRST_BPM };
}

void
host_clock_restart(HostClock* const clock)
{
  clock->n_frames = clock->bpm_since = 0;
  clock->beats = 0.0;
}

double
host_clock_beats(const HostClock* const clock, const uint32_t frame)
{
  const double n_frames = (double)(clock->n_frames + frame) - (double)clock->bpm_since;
  return clock->beats + n_frames * clock->bpm / (60.0 * clock->rate_hz);
}

bool
host_clock_set(HostClock* const clock, const double bpm, const uint32_t frame)
{
  const bool is_new = bpm != clock->bpm;
  if (is_new) {
    clock->beats = host_clock_beats(clock, frame);
    clock->bpm_since = clock->n_frames + frame;
    clock->bpm = bpm;
  }
  return is_new;
}

void
host_clock_advance(HostClock* const clock, const uint32_t n_frames)
{
  clock->n_frames += n_frames;
}
