// SPDX-License-Identifier: GPL-3.0-or-later
// Files that exist in memory only.

#include "made_files.h"

#include "signals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float long_ir[30000];
static float short_ir[700];
static float taps[] = { 0.05F, 0.2F, 0.5F, 0.2F, 0.05F };
static float rotation[] = { 0.8F, -0.6F, 0.6F, 0.8F };

static const FxFile files[] = {
  { "long", 1, ARRAY_LEN(long_ir), long_ir, true, 0 },
  { "short", 1, ARRAY_LEN(short_ir), short_ir, true, 0 },
  { "taps", 1, ARRAY_LEN(taps), taps, false, 0 },
  { "rotate", 2, 2, rotation, false, 0 },
};

static void
make_ir(float* const ir, const size_t n, const uint64_t seed)
{
  signal_noise(ir, n, seed);
  for (size_t i = 0; i < n; ++i) {
    ir[i] *= (float)(exp(-6.0 * (double)i / (double)n) / sqrt((double)n / 4.0));
  }
}

void
made_files_begin(void)
{
  make_ir(long_ir, ARRAY_LEN(long_ir), 1);
  make_ir(short_ir, ARRAY_LEN(short_ir), 2);
}

static Status
load(void* const context, const char* const name, const double rate_hz, FxFile** const file,
     Error* const error)
{
  (void)context;
  (void)rate_hz;
  for (size_t f = 0; f < ARRAY_LEN(files); ++f) {
    if (!strcmp(files[f].name, name)) {
      *file = malloc(sizeof(FxFile));
      if (!*file) {
        return error_set(error, STATUS_NO_MEM, "out of memory");
      }
      **file = files[f];
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_FILE, "no file '%s'", name);
}

static void
unload(void* const context, FxFile* const file)
{
  (void)context;
  free(file);
}

const FxFiles made_files = { .load = load, .free = unload };
