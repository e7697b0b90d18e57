// SPDX-License-Identifier: GPL-3.0-or-later
// Compares an output with a reference file.

#include "reference.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static FILE*
reference_open(const char* const name)
{
  const char* const folder = getenv("WARPRACK_TEST_DATA");
  ck_assert_msg(folder, "WARPRACK_TEST_DATA is not set");
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s.f64", folder, name);
  FILE* const file = fopen(path, "rb");
  ck_assert_msg(file, "cannot open %s", path);
  return file;
}

double
reference_difference(const char* const name, float* const* const channels,
                     const uint32_t n_channels, const uint32_t n_frames)
{
  FILE* const file = reference_open(name);
  double largest = 0.0;
  double expected = 0.0;
  for (uint32_t c = 0; c < n_channels; ++c) {
    for (uint32_t i = 0; i < n_frames; i += REFERENCE_STRIDE) {
      ck_assert_msg(fread(&expected, sizeof(expected), 1, file) == 1, "%s is too short", name);
      const double difference = fabs((double)channels[c][i] - expected);
      largest = difference <= largest ? largest : isnan(difference) ? INFINITY : difference;
    }
  }
  ck_assert_msg(fread(&expected, 1, 1, file) == 0, "%s is too long", name);
  fclose(file);
  return largest;
}
