// SPDX-License-Identifier: GPL-3.0-or-later
// Denormals are flushed while a rack runs, so that a signal whose products are denormal costs no
// more than silence.

#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS   8U
#define BLOCKS   400U
#define N_FRAMES ((size_t)BLOCKS * DRIVER_BLOCK)
#define FIVE     "reverb | reverb | reverb | reverb | reverb | "
#define RACK     FIVE FIVE FIVE "gain -3dB"

/// Fill the inputs with noise of magnitude FLT_MIN to 2 FLT_MIN: the samples are normal, but their
/// products with values below 0.5 are denormal.
static void
be_tiny(TestDriver* const driver, const uint64_t seed)
{
  for (uint32_t c = 0; c < driver->n_in; ++c) {
    float* const in = driver->in[c];
    signal_noise(in, N_FRAMES, seed + c);
    for (size_t i = 0; i < N_FRAMES; ++i) {
      in[i] = copysignf(FLT_MIN * (1.0F + fabsf(in[i])), in[i]);
    }
  }
}

TEST(the_output_of_a_rack_is_never_denormal)
{
  for (int offline = 1; offline >= 0; --offline) { // live, this thread runs the callback
    SCOPED(driver_free) TestDriver driver = driver_new(RACK, 2, 2, 1, offline, N_FRAMES);
    be_tiny(&driver, 1);
    driver_play(&driver, BLOCKS);
    for (size_t i = 0; i < N_FRAMES; ++i) {
      ck_assert_int_ne(fpclassify(driver.out[0][i]), FP_SUBNORMAL);
    }
    EngineStatus status;
    engine_status(driver.engine, &status);
    ck_assert_uint_eq(status.counts.denormal_in, 0); // the input has no denormals
    ck_assert_uint_eq(status.counts.denormal_out, 0);
  }
}

/// The median load of BLOCKS blocks.
static double
median_load(TestDriver* const driver)
{
  EngineStatus status;
  driver->position = 0;
  driver_play(driver, BLOCKS); // until the previous signal has decayed
  driver->position = 0;
  engine_reset_load(driver->engine);
  driver_play(driver, BLOCKS);
  engine_status(driver->engine, &status);
  return status.load_p50;
}

// Compares both signals in the same run, in alternating rounds, by the smallest medians.  So the
// result depends little on the machine.
TEST(denormals_cost_no_more_than_silence)
{
  SCOPED(driver_free) TestDriver driver = driver_new(RACK, 2, 2, 1, false, N_FRAMES);
  double silent = INFINITY;
  double tiny = INFINITY;
  for (uint32_t round = 0; round < ROUNDS; ++round) {
    for (uint32_t c = 0; c < driver.n_in; ++c) {
      memset(driver.in[c], 0, N_FRAMES * sizeof(float));
    }
    silent = fmin(silent, median_load(&driver));
    be_tiny(&driver, 2U * round);
    tiny = fmin(tiny, median_load(&driver));
  }
  printf("load %.4f in silence, %.4f with denormals\n", silent, tiny);
  ck_assert_double_le(tiny, 1.5 * silent);
}

SUITE_MAIN("denormals")
