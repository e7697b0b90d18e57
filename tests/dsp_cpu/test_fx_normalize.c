// SPDX-License-Identifier: GPL-3.0-or-later
// normalize measures in a first pass without a change, and in the next pass reaches its target.

#include "engine/engine.h"
#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <ebur128.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define FRAMES 48000U

static void
normalize_new(FxRig* const rig, const char* const mode, const double target_db,
              const uint32_t n_channels)
{
  const RigArg args[] = { { .id = "mode", .text = mode }, SET("target", target_db) };
  OK(rig_try(rig, "normalize", RATE, n_channels, 512, true, args, 2, &error));
}

static enum { NOTHING, INIT, ADD_FRAMES, LOUDNESS } failing; ///< The call of libebur128 that fails

__typeof__(ebur128_init) __real_ebur128_init, __wrap_ebur128_init; // --wrap in meson.build
__typeof__(ebur128_add_frames_float) __real_ebur128_add_frames_float,
    __wrap_ebur128_add_frames_float;
__typeof__(ebur128_loudness_global) __real_ebur128_loudness_global, __wrap_ebur128_loudness_global;

ebur128_state*
__wrap_ebur128_init(const unsigned n_channels, const unsigned long rate_hz, const int mode)
{
  return failing == INIT ? NULL : __real_ebur128_init(n_channels, rate_hz, mode);
}

int
__wrap_ebur128_add_frames_float(ebur128_state* const meter, const float* const frames,
                                const size_t n_frames)
{
  return failing == ADD_FRAMES ? EBUR128_ERROR_NOMEM
                               : __real_ebur128_add_frames_float(meter, frames, n_frames);
}

int
__wrap_ebur128_loudness_global(ebur128_state* const meter, double* const lufs)
{
  return failing == LOUDNESS ? EBUR128_ERROR_NOMEM : __real_ebur128_loudness_global(meter, lufs);
}

/// Finish a pass.  Returns true if the node asks for another one.
static bool
finish(const FxRig* const rig)
{
  bool again = false;
  OK(rig->fx->finish_pass(rig->node, rig->states[0], &again, &error));
  return again;
}

/// Process the file once.  Returns true if the node asks for another pass, and prepares it.
static bool
pass(FxRig* const rig, float** const in, float** const out, const uint32_t n_frames)
{
  rig_run(rig, (const float* const*)in, out, n_frames, RIG_RANDOM, 9);
  const bool again = finish(rig);
  if (again) {
    rig_reset(rig);
  }
  return again;
}

static double
peak_db(float** const x, const uint32_t n_channels, const uint32_t n_frames)
{
  double peak = 0.0;
  for (uint32_t c = 0; c < n_channels; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      peak = fmax(peak, fabs((double)x[c][i]));
    }
  }
  return decibels(peak);
}

static double
rms_db(float** const x, const uint32_t n_channels, const uint32_t n_frames)
{
  double sum = 0.0;
  for (uint32_t c = 0; c < n_channels; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      sum += (double)x[c][i] * (double)x[c][i];
    }
  }
  return 0.5 * decibels(sum / n_channels / n_frames);
}

static double
loudness_lufs(float** const x, const uint32_t n_channels, const uint32_t n_frames)
{
  ebur128_state* meter = ebur128_init(n_channels, (unsigned long)RATE, EBUR128_MODE_I);
  for (uint32_t i = 0; i < n_frames; ++i) {
    float frame[8];
    for (uint32_t c = 0; c < n_channels; ++c) {
      frame[c] = x[c][i];
    }
    if (ebur128_add_frames_float(meter, frame, 1) != EBUR128_SUCCESS) {
      ck_abort_msg("libebur128");
    }
  }
  double lufs = 0.0;
  ck_assert_int_eq(ebur128_loudness_global(meter, &lufs), EBUR128_SUCCESS);
  ebur128_destroy(&meter);
  return lufs;
}

TEST(every_mode_reaches_its_target_and_keeps_the_balance)
{
  const struct {
    const char* mode;
    double target_db;
    double (*level)(float**, uint32_t, uint32_t);
  } cases[] = { { "peak", -1.0, peak_db },
                { "peak", 0.0, peak_db },
                { "rms", -20.0, rms_db },
                { "r128", -23.0, loudness_lufs },
                { "r128", -14.0, loudness_lufs } };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    for (uint32_t n = 1; n <= 3U; ++n) {
      SCOPED_MEMORY float** const in = planar_noise(n, FRAMES, 1, 0.05);
      SCOPED_MEMORY float** const out = planar_silence(n, FRAMES);
      for (uint32_t f = 0; f < FRAMES; ++f) {
        in[n - 1U][f] *= 0.25F;
      }
      SCOPED(rig_free) FxRig rig;
      normalize_new(&rig, cases[i].mode, cases[i].target_db, n);
      ck_assert(pass(&rig, in, out, FRAMES));
      ck_assert_double_le(max_difference(in[0], out[0], FRAMES, NULL), 0.0); // measures only
      ck_assert(!pass(&rig, in, out, FRAMES));
      ck_assert_double_eq_tol(cases[i].level(out, n, FRAMES), cases[i].target_db, 1e-4);
      const double gain = (double)out[0][777] / (double)in[0][777];
      double worst = 0.0;
      for (uint32_t f = 0; f < n * FRAMES; ++f) {
        const double expected = gain * in[f / FRAMES][f % FRAMES];
        worst = fmax(worst, fabs(out[f / FRAMES][f % FRAMES] - expected));
      }
      ck_assert_double_le(worst, 1e-6);
      ck_assert(!finish(&rig)); // no further pass
    }
  }
}

TEST(a_full_scale_sine_has_its_textbook_levels)
{
  SCOPED_MEMORY float** const in = planar_silence(2, FRAMES);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  signal_sine(in[0], FRAMES, 997.0, RATE, 1.0, 0.0);
  signal_sine(in[1], FRAMES, 997.0, RATE, 1.0, 0.0);
  const struct {
    const char* mode;
    double level_db, tolerance;
  } cases[] = { { "peak", 0.0, 1e-3 },
                { "rms", -3.0103, 1e-3 },
                { "r128", 0.0, 0.1 } }; // EBU Tech 3341: 0 dBFS at 1 kHz on both channels is 0 LUFS
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    SCOPED(rig_free) FxRig rig;
    normalize_new(&rig, cases[i].mode, -30.0, 2);
    ck_assert(pass(&rig, in, out, FRAMES));
    ck_assert(!pass(&rig, in, out, FRAMES));
    const double gain_db = decibels((double)out[0][12] / (double)in[0][12]);
    ck_assert_double_eq_tol(gain_db, -30.0 - cases[i].level_db, cases[i].tolerance);
  }
}

TEST(silence_stays_silent_and_needs_no_second_pass)
{
  SCOPED_MEMORY float** const in = planar_silence(2, FRAMES);
  const char* const modes[] = { "peak", "rms", "r128" };
  for (size_t i = 0; i < ARRAY_LEN(modes); ++i) {
    for (uint32_t n_frames = 0; n_frames <= FRAMES; n_frames += FRAMES / 2U) { // also an empty file
      SCOPED_MEMORY float** const out = planar_noise(2, FRAMES, 3, 1.0);
      SCOPED(rig_free) FxRig rig;
      normalize_new(&rig, modes[i], -10.0, 2);
      ck_assert(!pass(&rig, in, out, n_frames));
      ck_assert_double_le(max_difference(in[1], out[1], n_frames, NULL), 0.0);
    }
  }
}

TEST(silence_around_the_signal_does_not_change_its_power)
{
  SCOPED_MEMORY float** const in = planar_silence(1, FRAMES);
  SCOPED_MEMORY float** const out = planar_silence(1, FRAMES);
  signal_noise(in[0] + 10000, 20000, 4);
  in[0][10000] = in[0][29999] = 0.5F;             // first and last frame that count
  memset(in[0] + 15000, 0, 1000 * sizeof(float)); // a pause between them counts
  SCOPED(rig_free) FxRig rig;
  normalize_new(&rig, "rms", -20.0, 1);
  ck_assert(pass(&rig, in, out, FRAMES));
  ck_assert(!pass(&rig, in, out, FRAMES));
  float* signal[] = { out[0] + 10000 };
  ck_assert_double_eq_tol(rms_db(signal, 1, 20000), -20.0, 1e-4);
}

TEST(a_pass_that_was_not_finished_does_not_count)
{
  // A node before this one may ask for another pass: only the last pass is to be measured.
  const char* const modes[] = { "peak", "rms", "r128" };
  SCOPED_MEMORY float** const loud = planar_noise(2, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const quiet = planar_noise(2, FRAMES, 2, 0.01);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  for (size_t i = 0; i < ARRAY_LEN(modes); ++i) {
    float sample[2];
    for (uint32_t k = 0; k < 2U; ++k) {
      SCOPED(rig_free) FxRig rig;
      normalize_new(&rig, modes[i], -20.0, 2);
      if (k) {
        rig_run(&rig, (const float* const*)loud, out, FRAMES, RIG_BLOCKS, 0);
        rig_reset(&rig);
      }
      ck_assert(pass(&rig, quiet, out, FRAMES));
      ck_assert(!pass(&rig, quiet, out, FRAMES));
      sample[k] = out[0][100];
    }
    ck_assert(sample[0] == sample[1]);
  }
}

TEST(samples_that_are_no_numbers_count_as_silence)
{
  SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 0.1);
  SCOPED_MEMORY float** const out = planar_silence(1, FRAMES);
  in[0][5] = NAN;
  in[0][6] = -INFINITY;
  const char* const modes[] = { "peak", "rms", "r128" };
  for (size_t i = 0; i < ARRAY_LEN(modes); ++i) {
    SCOPED(rig_free) FxRig rig;
    normalize_new(&rig, modes[i], -20.0, 1);
    ck_assert(pass(&rig, in, out, FRAMES));
    ck_assert(!pass(&rig, in, out, FRAMES));
    ck_assert(out[0][5] == 0.0F && out[0][6] == 0.0F);
    ck_assert(isfinite(out[0][7]) && out[0][7] != 0.0F);
  }
}

TEST(a_second_normalize_measures_the_output_of_the_first)
{
  static const char document[] = // in the reverse order of the signal
      "add last normalize rms -20\nadd first normalize peak -30\n"
      "connect in first\nconnect first last\nconnect last out\n";
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  Engine* engine = NULL;
  const EngineConfig config = { .n_in = 1, .offline = true };
  OK(engine_new(&config, &engine, &error));
  OK(engine_edit_wait(engine, rack, &error));
  OK(engine_arm(engine, RATE, 480, 1, 0, &error));
  float** const in = planar_noise(1, FRAMES, 1, 0.1);
  float** const out = planar_silence(1, FRAMES);
  uint32_t n_passes = 0;
  bool again = false;
  do {
    for (uint32_t done = 0; done < FRAMES; done += 480U) {
      const float* const ins[] = { in[0] + done };
      float* const outs[] = { out[0] + done };
      engine_process(engine, ins, outs, 480, true);
    }
    ++n_passes;
    OK(engine_finish_pass(engine, &again, &error));
  } while (again);
  ck_assert_uint_eq(n_passes, 3);
  ck_assert_double_eq_tol(rms_db(out, 1, FRAMES), -20.0, 1e-4);
  free(out);
  free(in);
  engine_free(engine);
}

TEST(without_memory_to_measure_a_pass_fails)
{
  SCOPED_MEMORY float** const in = planar_noise(2, FRAMES, 1, 0.1);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  for (failing = INIT; failing <= LOUDNESS; ++failing) {
    SCOPED(rig_free) FxRig rig;
    bool again = false;
    Error error = { STATUS_OK, "" };
    normalize_new(&rig, "r128", -23.0, 2);
    rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
    ck_assert_int_eq(rig.fx->finish_pass(rig.node, rig.states[0], &again, &error), STATUS_NO_MEM);
    ck_assert_str_eq(error.text, "normalize: out of memory");
    ck_assert(!again);
  }
}

TEST(a_mean_level_that_must_clip_is_refused)
{
  const char* const modes[] = { "rms", "r128" };
  for (size_t i = 0; i < ARRAY_LEN(modes); ++i) {
    SCOPED(rig_free) FxRig rig;
    Error error = { STATUS_OK, "" };
    const RigArg args[] = { { .id = "mode", .text = modes[i] } }; // the initial target is for peaks
    ck_assert_int_eq(rig_try(&rig, "normalize", RATE, 2, 64, true, args, 1, &error),
                     STATUS_BAD_RACK);
    normalize_new(&rig, modes[i], -3.0, 2);
  }
}

TEST(it_is_for_rendering_and_for_as_many_channels_as_the_meter_takes)
{
  ck_assert(fx_find("normalize")->offline_only);
  SCOPED(rig_free) FxRig rig;
  Error error = { STATUS_OK, "" };
  const RigArg args[] = { { .id = "mode", .text = "r128" } };
  ck_assert_int_eq(rig_try(&rig, "normalize", RATE, 65, 64, true, args, 1, &error),
                   STATUS_BAD_RACK);
  normalize_new(&rig, "r128", -20.0, 64);
  SCOPED_MEMORY float** const in = planar_noise(64, 24000, 1, 0.1);
  SCOPED_MEMORY float** const out = planar_silence(64, 24000);
  ck_assert(pass(&rig, in, out, 24000));
}

SUITE_MAIN("normalize")
