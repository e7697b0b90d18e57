// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A GPU fails: a live run plays the dry signal within a block, then the same sound from the CPU,
  reports it once and counts it, and tries the GPU again after a rest; a render prints one message
  and leaves no file.

  Runs a second program that was built with faults (engine/base/faults.h), on OpenCL.
*/

#include "engine/base/status.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE       48000
#define BLOCK      256U
#define SECONDS    8U
#define DRY_BLOCKS 5U // least number: eight before wet returns, less three of the bridge

#define DRY       0.5F
#define WET       0.25F
#define OVERSHOOT (0.1F * DRY)           // two bridges of 0.4 dB
#define RACK      "x: gain -6.0205999dB" // a factor of 1/2

static Scratch scratch;

static uint32_t
count(const char* text, const char* const words)
{
  uint32_t n = 0;
  for (; (text = strstr(text, words)) != NULL; ++text) {
    ++n;
  }
  return n;
}

static void
make_input(void)
{
  static float constant[SECONDS * RATE];
  for (uint32_t i = 0; i < SECONDS * RATE; ++i) {
    constant[i] = DRY;
  }
  scratch = scratch_new();
  scratch_write_wav(&scratch, "in.wav", (const float* const[]){ constant }, 1, SECONDS * RATE,
                    RATE);
}

/// Start a live run of the rack, whose fallback differs from its sound; its JSON events are read
/// from program.out.  `option` may be NULL.
static void
start(const char* const faults, const char* const option)
{
  make_input();
  setenv("WARPRACK_FAULTS", faults, 1);
  const char* const words[] = { "run",       "--backend",
                                "opencl",    "--io",
                                "dummy",     "--block",
                                "256",       "--channels",
                                "1:1",       "--osc-port",
                                "0",         "--json",
                                "--on-late", "dry",
                                "--play",    scratch_path(&scratch, "in.wav"),
                                "--record",  scratch_path(&scratch, "out.wav"),
                                RACK,        option,
                                NULL };
  program_start(&program, words);
  program_expect(&program, "\"event\":\"running\"");
}

/// The reply to /server/status.
static void
ask_status(char* const text, const size_t n_bytes)
{
  char port[8] = "";
  ck_assert_int_eq(
      sscanf(strstr(program_peek(&program), "\"osc_port\":"), "\"osc_port\":%7[0-9]", port), 1);
  SCOPED(program_clear) Program sender = { .pid = 0 };
  PROGRAM_RUN(&sender, "send", "--osc-port", port, "/server/status");
  ck_assert_msg(sender.exit_code == 0, "%s", sender.err);
  snprintf(text, n_bytes, "%s", sender.out);
}

/// Wait until the CPU has played for a while.
static void
await_cpu(void)
{
  program_expect(&program, "\"backend\":\"cpu\"");
  usleep(300000);
}

/// End the run; returns its recording.
static float*
stop(size_t* const n_frames)
{
  kill(program.pid, SIGTERM);
  program_wait(&program);
  ck_assert_msg(program.exit_code == 0, "%d: %s", program.exit_code, program.err);
  unsigned n_channels = 0;
  int rate_hz = 0;
  return scratch_read(scratch_path(&scratch, "out.wav"), &n_channels, n_frames, &rate_hz);
}

/// The number of errors when the run ended.
static uint32_t
n_device_errors(void)
{
  uint32_t n = 0;
  const char* const stopped = strstr(program.out, "\"event\":\"stopped\"");
  ck_assert_ptr_nonnull(stopped);
  ck_assert_int_eq(sscanf(strstr(stopped, "\"device_errors\":"), "\"device_errors\":%u", &n), 1);
  return n;
}

static void
clear(float* const out)
{
  free(out);
  scratch_remove(&scratch);
}

/// First frame, from `from` on, of `length` frames at this level; n_frames if there is none.
static size_t
find_for(const float* const out, const size_t from, const size_t n_frames, const float level,
         const size_t length)
{
  size_t n = 0;
  for (size_t i = from; i < n_frames; ++i) {
    n = fabsf(out[i] - level) <= 1e-5F ? n + 1U : 0U;
    if (n == length) {
      return i + 1U - length;
    }
  }
  return n_frames;
}

/// Check for wet, then dry for a while, then wet again, without a step.  On a busy machine more
/// blocks are late; if one is late during a fade, the bridge continues the fade and may exceed its
/// end by 0.4 dB (bridge.h), and the next bridge may exceed that.
static void
assert_dry_between(const float* const out, const size_t n_frames)
{
  const size_t wet = find_for(out, 0U, n_frames, WET, BLOCK);
  const size_t dry = find_for(out, wet, n_frames, DRY, DRY_BLOCKS * BLOCK);
  const size_t back = find_for(out, dry, n_frames, WET, BLOCK);
  ck_assert_msg(back < n_frames, "wet from frame %zu, dry from %zu, wet again from %zu of %zu", wet,
                dry, back, n_frames);
  printf("dry for %.0f ms\n", 1e3 * (double)(back - dry) / RATE);
  for (size_t i = wet; i < back; ++i) {
    ck_assert_msg(out[i] >= WET - OVERSHOOT && out[i] <= DRY + OVERSHOOT, "frame %zu: %g", i,
                  (double)out[i]);
    // The fades are cubics or cosines over a block: less than 2 (DRY - WET) / BLOCK per frame.
    ck_assert_msg(fabsf(out[i + 1U] - out[i]) <= 2.0F * (DRY - WET) / BLOCK, "a jump at %zu", i);
  }
}

TEST(an_error_plays_the_dry_signal_for_a_moment)
{
  char status[8192];
  start("gpu.error@100=700", NULL);
  program_expect(&program, "effects run on the CPU");
  await_cpu();
  do { // the device is tried again, and fails again: between the two, its note is another one
    ask_status(status, sizeof(status));
  } while (!strstr(status, "error 700"));
  size_t n_frames = 0;
  float* const out = stop(&n_frames);
  assert_dry_between(out, n_frames);
  assert_says(program.out, "opencl: error 700, a fault on demand; effects run on the CPU");
  ck_assert_uint_le(count(program.out, "; effects run on the CPU"), n_device_errors());
  assert_says(status, "device_errors");
  clear(out);
}

TEST(after_a_rest_the_device_is_used_again)
{
  start("gpu.error@100=700", NULL);
  program_expect(&program, "; effects run on the CPU");
  program_expect(&program, "in use again");
  program_expect(&program, "\"device_errors\":2"); // the fault counts from 0 again
  size_t n_frames = 0;
  float* const out = stop(&n_frames);
  ck_assert_uint_eq(count(program.out, "; effects run on the CPU"), 2);
  clear(out);
}

TEST(a_hang_is_detected_and_the_device_abandoned)
{
  start("gpu.hang@100", "--in-process"); // with a process, the worker would be replaced
  program_expect(&program, "not used until the next start");
  await_cpu();
  size_t n_frames = 0;
  float* const out = stop(&n_frames);
  assert_dry_between(out, n_frames);
  assert_says(program.out, "a block did not come back within 1e+03 ms");
  clear(out);
}

TEST(rendering_ends_with_a_message_and_without_a_file)
{
  static const char* const cases[][2] = {
    { "gpu.error@10=700", "opencl: error 700" },
    { "gpu.nomem@1", "bytes requested, 0 free" },
    { "gpu.build@1", "stage.cu:" },
    { "gpu.record@1", "refused to record" },
  };
  make_input();
  for (uint32_t c = 0; c < ARRAY_LEN(cases); ++c) {
    setenv("WARPRACK_FAULTS", cases[c][0], 1);
    RUN("render", "--backend", "opencl", RACK, scratch_path(&scratch, "in.wav"),
        scratch_path(&scratch, "out.wav"));
    ck_assert_int_gt(program.exit_code, 0);
    assert_says(program.err, cases[c][1]);
    ck_assert_uint_eq(scratch_count(&scratch), 1);
  }
  unsetenv("WARPRACK_FAULTS");
  RUN_GOOD("render", "--backend", "opencl", RACK, scratch_path(&scratch, "in.wav"),
           scratch_path(&scratch, "out.wav"));
  scratch_remove(&scratch);
}

int
main(void)
{
  unsetenv("WARPRACK_FAULTS");
  if (system("\"$WARPRACK_PROGRAM\" check --backend opencl gain") != 0) { // which prints the reason
    return TEST_SKIPPED;
  }
  return suite_run("gpu_failure");
}
