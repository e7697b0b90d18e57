// SPDX-License-Identifier: GPL-3.0-or-later
// Loudness and true peak are those of EBU Tech 3341, and of ffmpeg if that is installed.

#include "control/loudness.h"
#include "tests/support/fake_engine.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE   48000U
#define LENGTH (20U * RATE)

static float sound[2U * LENGTH];

static LoudnessValues
measure(const float* const samples, const uint32_t n_channels, const uint32_t n_frames)
{
  Engine* const engine = fake_engine_new();
  Loudness* loudness = NULL;
  OK(loudness_new(engine, &loudness, &error));
  loudness_measure(loudness, 0U, &(PortRange){ .is_output = true, .n = n_channels });
  ck_assert(isinf(loudness_values(loudness, 0U).integrated));
  fake_engine_play(engine, samples, n_frames);
  AWAIT(isfinite(loudness_values(loudness, 0U).true_peak));
  const LoudnessValues values = loudness_values(loudness, 0U);
  ck_assert_uint_eq(loudness_lost(loudness), 0);
  loudness_measure(loudness, 0U, &(PortRange){ .n = 0 });
  ck_assert(isinf(loudness_values(loudness, 0U).integrated));
  loudness_free(loudness);
  fake_engine_free(engine);
  return values;
}

TEST(a_stereo_sine_at_minus_23_dBFS_has_minus_23_LUFS)
{
  for (uint32_t i = 0; i < LENGTH; ++i) { // Tech 3341, test 1
    sound[2U * i] = sound[2U * i + 1U] =
        (float)(pow(10.0, -23.0 / 20.0) * sin(2.0 * M_PI * 1000.0 * i / RATE));
  }
  const LoudnessValues values = measure(sound, 2U, LENGTH);
  ck_assert_double_eq_tol(values.momentary, -23.0, 0.1);
  ck_assert_double_eq_tol(values.short_term, -23.0, 0.1);
  ck_assert_double_eq_tol(values.integrated, -23.0, 0.1);
  ck_assert_double_eq_tol(values.true_peak, -23.0, 0.1);
}

TEST(the_true_peak_is_between_the_samples)
{
  for (uint32_t i = 0; i < RATE; ++i) { // Tech 3341, test 16: the samples reach -9 dBFS only
    sound[i] = (float)(0.5 * sin(0.5 * M_PI * i + 0.25 * M_PI));
  }
  const LoudnessValues values = measure(sound, 1U, RATE);
  ck_assert_double_eq_tol(values.true_peak, -6.0, 0.4);
}

/// Loud and quiet parts, and silence, which the gates leave out.
static void
make_programme(void)
{
  static const double parts_db[] = { -30.0, -18.0, -24.0, -60.0, -12.0, -20.0, -90.0, -26.0 };
  signal_noise(sound, 2U * LENGTH, 5);
  float low = 0.0F;
  for (uint32_t i = 0; i < 2U * LENGTH; ++i) {
    const double part_db = parts_db[i / 2U * ARRAY_LEN(parts_db) / LENGTH];
    low += 0.2F * (sound[i] - low);
    sound[i] = low * (float)pow(10.0, part_db / 20.0);
  }
}

/// The number after `key` in the summary of ffmpeg.
static double
number_after(const char* const text, const char* const key)
{
  const char* const summary = strstr(text, "Summary:");
  const char* const at = summary ? strstr(summary, key) : NULL;
  ck_assert_msg(at != NULL, "no \"%s\" in: %s", key, text);
  return strtod(at + strlen(key), NULL);
}

TEST(a_programme_is_as_loud_as_ffmpeg_measures)
{
  if (system("ffmpeg -version >/dev/null 2>&1") != 0) {
    printf("no ffmpeg\n");
    return;
  }
  Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "programme.wav");
  make_programme();
  SF_INFO info = { .samplerate = RATE, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
  SNDFILE* const file = sf_open(path, SFM_WRITE, &info);
  ck_assert_int_eq(sf_writef_float(file, sound, LENGTH), LENGTH);
  sf_close(file);
  char command[1024];
  snprintf(command, sizeof(command),
           "ffmpeg -nostdin -nostats -hide_banner -loglevel info -i '%s' "
           "-af ebur128=peak=true:framelog=verbose -f null - 2>&1",
           path);
  static char text[65536];
  FILE* const output = popen(command, "r");
  ck_assert_ptr_nonnull(output);
  text[fread(text, 1, sizeof(text) - 1U, output)] = '\0';
  pclose(output);
  const LoudnessValues values = measure(sound, 2U, LENGTH);
  ck_assert_double_eq_tol(values.integrated, number_after(text, "I:"), 0.1);
  ck_assert_double_eq_tol(values.true_peak, number_after(text, "Peak:"), 0.1);
  scratch_remove(&scratch);
}

SUITE_MAIN("loudness")
