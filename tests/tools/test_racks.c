// SPDX-License-Identifier: GPL-3.0-or-later
// The racks in racks/, which the README shows: each renders stereo noise, stays below the ceiling
// of its limiter, and has the number of outputs that the README says.  The rack of plugins needs
// Debian's package x42-plugins.

#include "engine/base/status.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <glob.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE      48000
#define FRAMES    24000U
#define IR_FRAMES 4800U
#define PLUGINS   "mix.rack" // the rack that needs installed plugins
#define LV2       "/usr/lib/lv2/"
#define CEILING   0.8913 // -1 dB, rounded up by more than the precision of a float

static Scratch scratch;

/// Copy a rack file to the scratch folder, which also has the impulse response for hall.rack.
static void
copy_rack(const char* const path, const char* const name)
{
  FILE* const file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  char text[4096];
  const size_t n = fread(text, 1, sizeof(text), file);
  fclose(file);
  ck_assert_uint_lt(n, sizeof(text));
  scratch_write(&scratch, name, text, n);
}

static void
write_inputs(void)
{
  static float left[FRAMES];
  static float right[FRAMES];
  static float ir[IR_FRAMES];
  signal_noise(left, FRAMES, 1);
  signal_noise(right, FRAMES, 2);
  signal_noise(ir, IR_FRAMES, 3);
  for (uint32_t i = 0; i < IR_FRAMES; ++i) {
    ir[i] *= 0.05F * expf(-5.0F * (float)i / (float)IR_FRAMES);
  }
  const float* const stereo[] = { left, right };
  const float* const mono[] = { ir };
  scratch_write_wav(&scratch, "in.wav", stereo, 2, FRAMES, RATE);
  scratch_write_wav(&scratch, "hall.wav", mono, 1, IR_FRAMES, RATE);
}

static void
render_rack(const char* const name)
{
  RUN("render", scratch_path(&scratch, name), scratch_path(&scratch, "in.wav"),
      scratch_path(&scratch, "out.wav"));
  ck_assert_msg(program.exit_code == 0, "%s: %s", name, program.err);
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  SCOPED_MEMORY float* const out =
      scratch_read(scratch_path(&scratch, "out.wav"), &n_channels, &n_frames, &rate_hz);
  ck_assert_msg(n_channels == (strcmp(name, "crossover.rack") ? 2U : 4U), "%s: %u channels", name,
                n_channels);
  ck_assert_uint_ge(n_frames, FRAMES);
  double sum = 0.0;
  for (size_t i = 0; i < n_frames * n_channels; ++i) {
    ck_assert_msg(fabs((double)out[i]) <= CEILING, "%s: %g", name, (double)out[i]);
    sum += (double)out[i] * (double)out[i];
  }
  ck_assert_msg(sum / (double)(FRAMES * n_channels) > 1e-3, "%s: almost silent", name);
}

TEST(every_rack_renders)
{
  scratch = scratch_new();
  write_inputs();
  char pattern[512];
  snprintf(pattern, sizeof(pattern), "%s/*.rack", getenv("WARPRACK_RACKS"));
  glob_t found;
  ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
  ck_assert_uint_ge(found.gl_pathc, 6);
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    const char* const name = strrchr(found.gl_pathv[i], '/') + 1;
    if (strcmp(name, PLUGINS) != 0) {
      copy_rack(found.gl_pathv[i], name);
      render_rack(name);
    }
  }
  globfree(&found);
  scratch_remove(&scratch);
}

/// Let the program find one bundle of the system.  Returns false if it is not installed.
static bool
link_bundle(const char* const name)
{
  char path[128];
  snprintf(path, sizeof(path), LV2 "%s", name);
  return !access(path, R_OK) && !symlink(path, scratch_path(&scratch, name));
}

TEST(the_rack_of_plugins_renders)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/" PLUGINS, getenv("WARPRACK_RACKS"));
  scratch = scratch_new();
  if (link_bundle("fil4.lv2") && link_bundle("darc.lv2")) {
    setenv("LV2_PATH", scratch.directory, 1);
    setenv("XDG_CACHE_HOME", scratch.directory, 1);
    RUN_GOOD("scan");
    write_inputs();
    copy_rack(path, PLUGINS);
    render_rack(PLUGINS);
  } else {
    suite_skip("x42-plugins is not installed");
  }
  scratch_remove(&scratch);
}

TEST(the_crossover_adds_up_flat)
{
  scratch = scratch_new();
  const char* const chain =
      "chain low: lowpass 2200 type=linkwitz-riley order=4 + high: highpass 2200 "
      "type=linkwitz-riley order=4\n";
  scratch_write(&scratch, "sum.rack", chain, strlen(chain));
  static float impulse[FRAMES];
  impulse[0] = 1.0F;
  const float* const mono[] = { impulse };
  scratch_write_wav(&scratch, "in.wav", mono, 1, FRAMES, RATE);
  RUN_GOOD("render", scratch_path(&scratch, "sum.rack"), scratch_path(&scratch, "in.wav"),
           scratch_path(&scratch, "out.wav"));
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  SCOPED_MEMORY float* const out =
      scratch_read(scratch_path(&scratch, "out.wav"), &n_channels, &n_frames, &rate_hz);
  double energy = 0.0; // the sum is an allpass: it keeps the energy of an impulse
  for (size_t i = 0; i < n_frames; ++i) {
    energy += (double)out[i] * (double)out[i];
  }
  ck_assert_double_eq_tol(energy, 1.0, 1e-5);
  scratch_remove(&scratch);
}

SUITE_MAIN("racks")
