// SPDX-License-Identifier: GPL-3.0-or-later
// The tempo of a MIDI clock is exact for exact pulses, steady for pulses with jitter, and new
// within a beat of the new tempo.

#include "control/midi_clock.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>

#define RATE 48000.0

/// A clock that sends pulses.
typedef struct Sender {
  MidiClock clock;
  double frame; ///< Of the next pulse
  uint64_t random;
} Sender;

/// Send n pulses of a tempo, each late by up to `late` frames.
static void
send(Sender* const sender, const uint32_t n, const double bpm, const uint32_t late)
{
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t by = late ? (uint32_t)(signal_random(&sender->random) % late) : 0U;
    midi_clock_pulse(&sender->clock, (uint64_t)lrint(sender->frame) + by);
    sender->frame += 60.0 * RATE / (MIDI_CLOCK_PER_BEAT * bpm);
  }
}

static double
bpm_of(const Sender* const sender)
{
  return midi_clock_bpm(&sender->clock, RATE);
}

static const double tempos[] = { 20.0, 59.94, 90.0, 120.0, 133.3, 174.0, 240.0, 300.0 };

TEST_ROWS(exact_pulses_give_the_tempo_after_a_beat, tempos)
{
  Sender sender = { .frame = 1e9, .random = 1U };
  send(&sender, 24U, tempos[row], 0U);
  ck_assert(bpm_of(&sender) == 0.0); // 23 intervals
  send(&sender, 1U, tempos[row], 0U);
  ck_assert_double_eq_tol(bpm_of(&sender), tempos[row], 5e-4 * tempos[row]);
  send(&sender, 1000U, tempos[row], 0U);
  ck_assert_double_eq_tol(bpm_of(&sender), tempos[row], 5e-4 * tempos[row]);
}

TEST(jitter_of_a_millisecond_stays_within_the_dead_band)
{
  Sender sender = { .random = 7U };
  send(&sender, 25U, 120.0, 48U);
  for (uint32_t i = 0; i < 20000U; ++i) {
    ck_assert_double_eq_tol(bpm_of(&sender), 120.0, 0.5);
    send(&sender, 1U, 120.0, 48U);
  }
}

TEST(one_late_pulse_hardly_moves_the_tempo)
{
  Sender sender = { .random = 1U };
  send(&sender, 40U, 120.0, 0U);
  midi_clock_pulse(&sender.clock, (uint64_t)sender.frame + 600U); // of 1000 to the next one
  sender.frame += 1000.0;
  for (uint32_t i = 0; i < 40U; ++i) {
    ck_assert_double_eq_tol(bpm_of(&sender), 120.0, 0.01);
    send(&sender, 1U, 120.0, 0U);
  }
}

TEST(a_lost_pulse_is_no_slower_tempo)
{
  Sender sender = { .random = 1U };
  send(&sender, 40U, 120.0, 0U);
  sender.frame += 1000.0; // of the lost one
  send(&sender, 1U, 120.0, 0U);
  ck_assert(bpm_of(&sender) == 0.0); // until 24 intervals are known
  send(&sender, 24U, 120.0, 0U);
  ck_assert_double_eq(bpm_of(&sender), 120.0);
}

TEST(a_new_tempo_is_known_within_a_beat)
{
  Sender sender = { .random = 1U };
  send(&sender, 40U, 120.0, 0U);
  send(&sender, 24U, 150.0, 0U);
  double before = bpm_of(&sender);
  ck_assert_double_eq_tol(before, 150.0, 0.1);
  for (uint32_t i = 0; i < 100U; ++i) { // a slow change never goes back
    send(&sender, 1U, 150.0 + 0.5 * i, 0U);
    ck_assert_double_ge(bpm_of(&sender), before - 0.1);
    before = bpm_of(&sender);
  }
}

TEST(a_pause_a_start_and_a_frame_in_the_past_begin_again)
{
  Sender sender = { .frame = 1e6, .random = 1U };
  send(&sender, 40U, 120.0, 0U);
  midi_clock_restart(&sender.clock);
  ck_assert(bpm_of(&sender) == 0.0);
  send(&sender, 25U, 90.0, 0U);
  ck_assert_double_eq_tol(bpm_of(&sender), 90.0, 0.05);
  sender.frame += 10.0 * RATE;
  send(&sender, 1U, 60.0, 0U);
  ck_assert(bpm_of(&sender) == 0.0);
  send(&sender, 24U, 60.0, 0U);
  ck_assert_double_eq(bpm_of(&sender), 60.0);
  sender.frame = 0.0; // of another worker or driver
  send(&sender, 25U, 100.0, 0U);
  ck_assert_double_eq_tol(bpm_of(&sender), 100.0, 0.05);
}

TEST(pulses_at_one_frame_have_no_tempo)
{
  MidiClock clock = { .n = 0 };
  for (uint32_t i = 0; i < 100U; ++i) {
    midi_clock_pulse(&clock, 77U);
    ck_assert(midi_clock_bpm(&clock, RATE) == 0.0);
  }
}

SUITE_MAIN("midi_clock")
