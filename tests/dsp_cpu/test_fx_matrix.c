// SPDX-License-Identifier: GPL-3.0-or-later
// matrix multiplies by the given rows, from text or file, and refuses invalid rows.

#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define FRAMES 1000U

/// Compare the output of a node with coefficients[n_out][n_columns] applied in double precision.
static void
check_product(FxRig* const rig, const double* const coefficients, const uint32_t n_columns)
{
  const uint32_t n_out = rig->n_out;
  SCOPED_MEMORY float** const in = planar_noise(rig->n_in, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out =
      planar_noise(n_out, FRAMES, 99, 1.0); // old content is overwritten
  rig_run(rig, (const float* const*)in, out, FRAMES, RIG_RANDOM, 3);
  double worst = 0.0;
  for (uint32_t r = 0; r < n_out; ++r) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      double sum = 0.0;
      for (uint32_t c = 0; c < rig->n_in; ++c) {
        sum += coefficients[r * n_columns + c] * in[c][i];
      }
      worst = fmax(worst, fabs(out[r][i] - sum));
    }
  }
  ck_assert_double_le(worst, rig->fx->tolerance);
}

TEST(rows_are_outputs_and_columns_are_inputs)
{
  const struct {
    const char* rows;
    uint32_t n_in, n_out, n_columns;
    double coefficients[6];
  } cases[] = {
    { "1 0; 0.5 0.5", 2, 2, 2, { 1, 0, 0.5, 0.5 } },
    { "0 1;1 0", 2, 2, 2, { 0, 1, 1, 0 } },
    { "  .5,.25\t-1 ", 3, 1, 3, { 0.5, 0.25, -1 } },
    { "1;-2 ; 3e-1", 1, 3, 1, { 1, -2, 0.3 } },
    { "-6dB 0dB; 0 -20DB", 2, 2, 2, { 0.50118723362727, 1, 0, 0.1 } },
    { "1 0.5; 2 0.25", 1, 2, 2, { 1, 0.5, 2, 0.25 } }, // input 2 does not exist: silence
    { "0 0", 2, 1, 2, { 0, 0 } },
    { NULL, 2, 2, 2, { 1, 0, 0, 1 } },
    { "", 2, 2, 2, { 1, 0, 0, 1 } },
  };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "matrix", RATE, cases[i].n_in, 64, { .id = "rows", .text = cases[i].rows });
    ck_assert_uint_eq(rig.n_out, cases[i].n_out);
    ck_assert_uint_eq(rig.n_units, 1);
    check_product(&rig, cases[i].coefficients, cases[i].n_columns);
  }
}

TEST(every_input_reaches_every_output_by_its_own_coefficient)
{
  static const uint32_t widths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 17 };
  static double coefficients[17 * 17];
  static char text[17 * 17 * 16];
  for (uint32_t w = 0; w < ARRAY_LEN(widths) * ARRAY_LEN(widths); ++w) {
    const uint32_t n_in = widths[w % ARRAY_LEN(widths)];
    const uint32_t n_out = widths[w / ARRAY_LEN(widths)];
    int at = 0;
    for (uint32_t k = 0; k < n_in * n_out; ++k) { // all different
      coefficients[k] = 0.25 + 0.001 * ((k * 89U) % 293U);
      at += sprintf(text + at, "%s%.3f", k == 0U ? "" : k % n_in ? " " : ";", coefficients[k]);
    }
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "matrix", RATE, n_in, 64, { .id = "rows", .text = text });
    ck_assert_uint_eq(rig.n_out, n_out);
    check_product(&rig, coefficients, n_in);
  }
}

TEST(rows_come_from_a_file_too)
{
  const float samples[] = { 1.0F, 0.0F, -0.5F, 0.25F, 2.0F, 0.125F };
  const double coefficients[] = { 1.0, 0.0, -0.5, 0.25, 2.0, 0.125 };
  FxFile file = { .name = "m.txt", .n_channels = 3, .n_frames = 2, .samples = samples };
  FxRig rig;
  rig_new(&rig, "matrix", RATE, 2, 64, { .id = "file", .text = "m.txt", .file = &file });
  ck_assert_uint_eq(rig.n_out, 3);
  check_product(&rig, coefficients, 2);
  rig_free(&rig);

  Error error = { STATUS_OK, "" };
  const RigArg both[] = { { .id = "rows", .text = "1 1" },
                          { .id = "file", .text = "m.txt", .file = &file } };
  ck_assert_int_eq(rig_try(&rig, "matrix", RATE, 2, 64, false, both, 2, &error), STATUS_BAD_RACK);
  file.is_audio = true;
  ck_assert_int_eq(rig_try(&rig, "matrix", RATE, 2, 64, false, both + 1, 1, &error),
                   STATUS_BAD_RACK);
  assert_says(error.text, "m.txt");
}

TEST(invalid_rows_are_refused_with_their_place)
{
  const struct {
    const char *rows, *message;
  } cases[] = {
    { "1 0; 1", "row 2 has 1 coefficients, the first has 2" },
    { "1 0; 1 2 3", "row 2 has 3 coefficients" },
    { "1 x", "row 1 has no coefficient from -1000 to 1000 in place 2" },
    { "1 2x", "in place 2" },
    { "1 0;", "row 2 has no coefficient" },
    { "; 1 0", "row 1 has no coefficient" },
    { "1 0;;1 0", "row 2 has no coefficient" },
    { "1 1001", "in place 2" },
    { "1 61dB", "in place 2" },
    { "nan 0", "in place 1" },
    { "inf 0", "in place 1" },
    { "1e999 0", "in place 1" },
    { "0,5 1", "commas seem to be those of decimals; write 0.5, and 0, 5 for two numbers" },
    { "1 0,5; 1 1", "commas seem to be those of decimals" },
    { "1", "the input has 2 channels, but rows have 1 coefficients" },
  };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    FxRig rig;
    Error error = { STATUS_OK, "" };
    const RigArg args[] = { { .id = "rows", .text = cases[i].rows } };
    ck_assert_int_eq(rig_try(&rig, "matrix", RATE, 2, 64, false, args, 1, &error), STATUS_BAD_RACK);
    ck_assert_msg(strstr(error.text, cases[i].message), "%s: %s", cases[i].rows, error.text);
  }
}

TEST(the_widest_matrix_works_and_a_wider_one_is_refused)
{
  static double coefficients[FX_MAX_CHANNELS * 2U];
  static char rows[FX_MAX_CHANNELS * 17U];
  char* to = rows;
  for (uint32_t r = 0; r < FX_MAX_CHANNELS; ++r) {
    coefficients[2U * r] = (double)r / FX_MAX_CHANNELS;
    coefficients[2U * r + 1U] = -1.0;
    to += sprintf(to, "%s%.10f -1", r ? ";" : "", (double)r / FX_MAX_CHANNELS);
  }
  FxRig rig;
  rig_new(&rig, "matrix", RATE, 2, 64, { .id = "rows", .text = rows });
  ck_assert_uint_eq(rig.n_out, FX_MAX_CHANNELS);
  check_product(&rig, coefficients, 2);
  rig_free(&rig);
  strcpy(to, "; 0 0");
  Error error = { STATUS_OK, "" };
  const RigArg args[] = { { .id = "rows", .text = rows } };
  ck_assert_int_eq(rig_try(&rig, "matrix", RATE, 2, 64, false, args, 1, &error), STATUS_LIMIT);
}

/// Read a coefficient from the words for a device: see kernels/fx_matrix.cu.
static double
device_coefficient(const uint32_t* const words, const uint32_t n_tiles, const uint32_t row,
                   const uint32_t column)
{
  enum { TILE_ROWS = 8 };
  const uint32_t n_entries = words[n_tiles];
  const uint32_t* const columns = words + n_tiles + 1U;
  const uint32_t* const coefficients = words + (n_tiles + 1U + n_entries + 3U) / 4U * 4U;
  for (uint32_t e = words[row / TILE_ROWS]; e < words[row / TILE_ROWS + 1U]; ++e) {
    if (columns[e] == column) {
      float value = 0.0F;
      memcpy(&value, coefficients + (size_t)e * TILE_ROWS + row % TILE_ROWS, sizeof(value));
      return (double)value;
    }
  }
  return 0.0;
}

TEST(a_device_finds_each_coefficient_in_its_words)
{
  enum { MOST_ROWS = 17, COLUMNS = 6 };
  for (uint32_t n_rows = 1; n_rows <= MOST_ROWS; ++n_rows) {
    float samples[MOST_ROWS * COLUMNS];
    // The second column is 0 in the first tile.
    for (uint32_t k = 0; k < ARRAY_LEN(samples); ++k) {
      samples[k] = k % COLUMNS == 1U && k < 8U * COLUMNS ? 0.0F : 0.5F + 0.01F * (float)k;
    }
    const FxFile file = {
      .name = "m.txt", .n_channels = n_rows, .n_frames = COLUMNS, .samples = samples
    };
    SCOPED(rig_free) FxRig rig;
    FxKernelShape shape;
    rig_new(&rig, "matrix", RATE, COLUMNS, 64, { .id = "file", .text = "m.txt", .file = &file });
    rig.fx->kernel->shape(rig.node, &shape);
    const uint32_t n_tiles = shape.passes[0].groups_per_unit; // of rows; one of 64 frames
    SCOPED_MEMORY uint32_t* const words = calloc(shape.data_words, sizeof(uint32_t));
    rig.fx->kernel->data(rig.node, words);
    ck_assert_uint_eq(n_tiles, (n_rows + 7U) / 8U);
    ck_assert_uint_eq(words[n_tiles], COLUMNS * n_tiles - 1U);
    ck_assert_uint_eq(shape.data_words,
                      (n_tiles + 1U + words[n_tiles] + 3U) / 4U * 4U + 8U * words[n_tiles]);
    for (uint32_t k = 0; k < n_rows * COLUMNS; ++k) {
      ck_assert_double_eq(device_coefficient(words, n_tiles, k / COLUMNS, k % COLUMNS),
                          (double)samples[k]);
    }
  }
}

TEST(it_keeps_the_rules_of_every_effect)
{
  const RigArg args[] = { { .id = "rows", .text = "1 0.5; -0.25 0.125" } };
  const FxCase fx_case = { "matrix", RATE, 2, args, 1 };
  check_silence_and_denormals(&fx_case);
  check_recovers(&fx_case);
}

SUITE_MAIN("matrix")
