// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins that take notes: every format gets them with their frames, however the signal is split.

#include "tests/support/fx_rig.h"
#include "tests/support/instruments.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdbool.h>

#define RATE_HZ   48000.0
#define FRAMES    4096U
#define MAX_BLOCK 256U
#define N_NOTES   200U

/// An event of the signal.
typedef struct TimedEvent {
  uint32_t frame;
  FxEvent event;
} TimedEvent;

#define RANDOM(n) ((uint32_t)(signal_random(&random) % (n)))

static TimedEvent events[N_NOTES];
static float out[FRAMES], other[FRAMES];

static void
open_rig(FxRig* const rig, const Plugin* const plugin)
{
  OK(rig_try_fx(rig, &plugin->fx, RATE_HZ, 0U, MAX_BLOCK, false, NULL, 0U, &error));
  ck_assert_uint_eq(rig->n_units, 1);
}

/// Open the instrument of a row.  Returns false if the build lacks its format.
static bool
open_row(FxRig* const rig, const int row)
{
  const Plugin* const plugin = instrument_describe(row);
  if (plugin) {
    open_rig(rig, plugin);
  }
  return plugin != NULL;
}

static void
run(const FxRig* const rig, float* const to, const uint32_t n_frames)
{
  float* const outs[] = { to };
  const FxUnit unit = { .node = rig->node, .state = rig->states[0], .out = outs };
  rig->fx->run(&unit, 1U, n_frames);
}

static void
press(const FxRig* const rig, const uint32_t key, const float velocity, const uint32_t frame)
{
  const FxEvent event = { velocity > 0.0F ? FX_NOTE_ON : FX_NOTE_OFF, key, velocity };
  rig->fx->event(rig->node, &event, frame);
}

/// Random keys that are pressed or released at random frames.
static void
make_events(void)
{
  uint64_t random = 7;
  bool is_pressed[FX_KEYS] = { false };
  uint32_t frame = 0;
  for (uint32_t e = 0; e < N_NOTES; ++e) {
    const uint32_t key = 40U + RANDOM(40U);
    frame += RANDOM(2U * FRAMES / N_NOTES - 1U);
    const float velocity = is_pressed[key] ? 0.0F : (float)(1U + RANDOM(127U)) / 127.0F;
    events[e] =
        (TimedEvent){ frame, { velocity > 0.0F ? FX_NOTE_ON : FX_NOTE_OFF, key, velocity } };
    is_pressed[key] = !is_pressed[key];
  }
}

/// Play the events, in runs of at most `longest` frames; 0: of random length.
static void
play_events(const FxRig* const rig, float* const to, const uint32_t longest)
{
  uint64_t random = longest;
  uint32_t next = 0;
  for (uint32_t done = 0; done < FRAMES;) {
    uint32_t n = longest ? longest : 1U + RANDOM(MAX_BLOCK);
    n = n < FRAMES - done ? n : FRAMES - done;
    for (; next < N_NOTES && events[next].frame < done + n; ++next) {
      rig->fx->event(rig->node, &events[next].event, events[next].frame - done);
    }
    run(rig, to + done, n);
    done += n;
  }
}

/// What the tones of the events are, computed apart from the plugin.
static double
expected(const uint32_t frame)
{
  double sum = 0.0;
  for (uint32_t key = 0; key < FX_KEYS; ++key) {
    double velocity = 0.0;
    uint32_t begin = 0;
    for (uint32_t e = 0; e < N_NOTES && events[e].frame <= frame; ++e) {
      if (events[e].event.key == key) {
        velocity = (double)events[e].event.velocity;
        begin = events[e].frame;
      }
    }
    const double hz = 440.0 * pow(2.0, ((double)key - 69.0) / 12.0);
    sum += velocity * cos(2.0 * 3.14159265358979323846 * hz * (frame - begin) / RATE_HZ);
  }
  return sum;
}

TEST_ROWS(notes_are_exact_to_the_frame_in_runs_of_any_length, instruments)
{
  const Plugin* const plugin = instrument_describe(row);
  if (!plugin) {
    return;
  }
  make_events();
  const uint32_t lengths[] = { MAX_BLOCK, 0U, 64U, 37U, 1U };
  for (size_t l = 0; l < ARRAY_LEN(lengths); ++l) {
    SCOPED(rig_free) FxRig rig;
    open_rig(&rig, plugin);
    play_events(&rig, l ? other : out, lengths[l]);
    ck_assert_msg(!l || !memcmp(out, other, sizeof(out)), "runs of %u frames differ", lengths[l]);
  }
  for (uint32_t f = 0; f < FRAMES; ++f) {
    ck_assert_double_eq_tol((double)out[f], expected(f), 1e-5);
  }
}

TEST_ROWS(values_and_notes_go_together, instruments)
{
  SCOPED(rig_free) FxRig rig = { 0 };
  if (!open_row(&rig, row)) {
    return;
  }
  rig_set(&rig, "level", 0.0); // its ramp cuts the runs of some formats
  for (uint32_t offset = 0; offset < MAX_BLOCK; offset += 51U) {
    press(&rig, 69, 1.0F, offset);
    run(&rig, out, MAX_BLOCK);
    for (uint32_t f = 0; f < MAX_BLOCK; ++f) {
      ck_assert(f >= offset || out[f] == 0.0F);
    }
    ck_assert_float_gt(out[offset], 0.0F);
    press(&rig, 69, 0.0F, 0);
    run(&rig, out, MAX_BLOCK);
    rig_set(&rig, "level", offset % 2U ? 0.5 : 1.0);
  }
}

TEST_ROWS(a_bypass_leaves_no_note_behind, instruments)
{
  SCOPED(rig_free) FxRig rig = { 0 };
  if (!open_row(&rig, row)) {
    return;
  }
  press(&rig, 60, 1.0F, 0);
  run(&rig, out, MAX_BLOCK);
  ck_assert_float_eq(out[0], 1.0F);
  rig_set(&rig, "bypass", 1.0);
  for (uint32_t b = 0; b < 4U; ++b) {
    run(&rig, out, MAX_BLOCK);
  }
  ck_assert_float_eq(out[MAX_BLOCK - 1U], 0.0F);
  press(&rig, 60, 0.0F, 10);
  run(&rig, out, MAX_BLOCK);
  rig_set(&rig, "bypass", 0.0);
  for (uint32_t b = 0; b < 4U; ++b) {
    run(&rig, out, MAX_BLOCK);
    for (uint32_t f = 0; f < MAX_BLOCK; ++f) {
      ck_assert_float_eq(out[f], 0.0F);
    }
  }
}

TEST_ROWS(a_renewal_ends_all_notes, instruments)
{
  SCOPED(rig_free) FxRig rig = { 0 };
  if (!open_row(&rig, row)) {
    return;
  }
  press(&rig, 60, 1.0F, 0);
  run(&rig, out, MAX_BLOCK);
  press(&rig, 61, 1.0F, 0); // not played before the renewal
  OK(rig.fx->renew(rig.node, &error));
  rig_reset(&rig);
  run(&rig, out, MAX_BLOCK);
  ck_assert_float_eq(out[0], 0.0F);
  press(&rig, 62, 0.25F, 3);
  run(&rig, out, MAX_BLOCK);
  ck_assert_float_eq(out[2], 0.0F);
  ck_assert_float_eq_tol(out[3], 0.25F, 0.005F); // MIDI has steps of 1/127
}

TEST_ROWS(a_run_has_room_for_all_events, instruments)
{
  SCOPED(rig_free) FxRig rig = { 0 };
  if (!open_row(&rig, row)) {
    return;
  }
  for (uint32_t round = 0; round < 3U; ++round) {
    for (uint32_t e = 0; e < FX_MAX_EVENTS; ++e) {
      const bool is_last = e + 1U == FX_MAX_EVENTS;
      press(&rig, e / 2U % FX_KEYS, e % 2U && !is_last ? 0.0F : 1.0F, e / 8U);
    }
    run(&rig, out, MAX_BLOCK);
    ck_assert_float_eq(out[MAX_BLOCK - 1U], 1.0F); // the last key alone
    press(&rig, (FX_MAX_EVENTS - 1U) / 2U % FX_KEYS, 0.0F, 0);
    run(&rig, out, MAX_BLOCK);
    ck_assert_float_eq(out[MAX_BLOCK - 1U], 0.0F);
  }
}

TEST_ROWS(the_quietest_note_is_no_end, instruments)
{
  SCOPED(rig_free) FxRig rig = { 0 };
  if (!open_row(&rig, row)) {
    return;
  }
  press(&rig, 60, 1e-6F, 0);
  run(&rig, out, MAX_BLOCK);
  ck_assert_float_gt(out[0], 0.0F);
}

SUITE_MAIN("instruments")
