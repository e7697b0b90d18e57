// SPDX-License-Identifier: GPL-3.0-or-later
// The channel rules of a response, and responses that break them; mix, gain and predelay; tails;
// changes without clicks; silence, denormals, NaN.

#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

#define RATE      48000.0
#define FRAMES    4096U
#define IR_FRAMES 700U
#define MAX_IR    8U

static float ir_samples[MAX_IR * IR_FRAMES];

/// Responses of noise, so quiet that the sum of a few stays near full scale.
static FxFile
noise_ir(const uint32_t n_channels)
{
  signal_noise(ir_samples, (size_t)MAX_IR * IR_FRAMES, 5);
  for (uint32_t i = 0; i < MAX_IR * IR_FRAMES; ++i) {
    ir_samples[i] *= 0.05F;
  }
  return (FxFile){ "hall.wav", n_channels, IR_FRAMES, ir_samples, true, 0 };
}

static double
direct_sum(const float* const ir, const float* const in, const size_t frame)
{
  double sum = 0.0;
  for (size_t k = 0; k < IR_FRAMES && k <= frame; ++k) {
    sum += (double)ir[k] * in[frame - k];
  }
  return sum;
}

/// Check a response of n_ir channels on n_in channels: output o is the sum over all inputs i,
/// convolved with channel ir_of[i * n_out + o] of the response; -1: no such path.
static void
check_rule(const uint32_t n_ir, const uint32_t n_in, const uint32_t n_out, const int* const ir_of)
{
  const FxFile ir = noise_ir(n_ir);
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "convolver", RATE, n_in, 64, { .id = "ir", .text = "hall.wav", .file = &ir });
  ck_assert_uint_eq(rig.n_out, n_out);
  SCOPED_MEMORY float** const in = planar_noise(n_in, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(n_out, FRAMES);
  rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t o = 0; o < n_out; ++o) {
    for (size_t frame = 0; frame < FRAMES; frame += 97U) {
      double sum = 0.0;
      for (uint32_t i = 0; i < n_in; ++i) {
        const int c = ir_of[i * n_out + o];
        sum += c < 0 ? 0.0 : direct_sum(ir_samples + (size_t)c * IR_FRAMES, in[i], frame);
      }
      ck_assert_msg(fabs(sum - out[o][frame]) < rig.fx->tolerance,
                    "%u channels of response on %u: output %u frame %zu is %g, not %g", n_ir, n_in,
                    o, frame, (double)out[o][frame], sum);
    }
  }
}

TEST(one_response_serves_every_channel)
{
  check_rule(1, 1, 1, (const int[]){ 0 });
  check_rule(1, 3, 3, (const int[]){ 0, -1, -1, -1, 0, -1, -1, -1, 0 });
}

TEST(as_many_responses_as_channels_serve_one_each)
{
  check_rule(2, 2, 2, (const int[]){ 0, -1, -1, 1 });
  check_rule(3, 3, 3, (const int[]){ 0, -1, -1, -1, 1, -1, -1, -1, 2 });
}

TEST(more_responses_are_a_matrix_input_by_input)
{
  check_rule(2, 1, 2, (const int[]){ 0, 1 });
  check_rule(4, 2, 2, (const int[]){ 0, 1, 2, 3 });
  check_rule(6, 2, 3, (const int[]){ 0, 1, 2, 3, 4, 5 });
}

static void
assert_refused(const FxFile* const ir, const uint32_t n_in, const Status status,
               const char* const first, const char* const second)
{
  FxRig rig;
  Error error = { STATUS_OK, "" };
  const RigArg arg = { .id = "ir", .text = "hall.wav", .file = ir };
  ck_assert(rig_try(&rig, "convolver", RATE, n_in, 64, false, &arg, ir ? 1 : 0, &error) == status);
  assert_says(error.text, first);
  assert_says(error.text, second);
}

TEST(responses_that_do_not_fit_are_refused_with_both_numbers)
{
  const FxFile three = noise_ir(3);
  assert_refused(&three, 2, STATUS_BAD_RACK, "3 channels", "2 input channels");
  const FxFile five = noise_ir(5);
  assert_refused(&five, 4, STATUS_BAD_RACK, "5 channels", "4 input channels");
  const FxFile two = noise_ir(2);
  assert_refused(&two, 4, STATUS_BAD_RACK, "2 channels", "4 input channels");
  const FxFile empty = { "hall.wav", 1, 0, NULL, true, 0 };
  assert_refused(&empty, 1, STATUS_FILE, "hall.wav", "empty");
  assert_refused(NULL, 1, STATUS_BAD_RACK, "no impulse response", "convolver hall.wav");
}

TEST(a_text_makes_twice_as_many_channels_at_most)
{
  static const float zeros[5000] = { 0.0F };
  const FxFile table = { "curve.txt", 1000, 3, zeros, false, 0 };
  const FxFile nine = { "nine.txt", 10, 500, zeros, false, 0 };
  const FxFile twice = { "twice.txt", 8, 500, zeros, false, 0 };
  const FxFile commas = { "commas.txt", 3, 2, zeros, false, 0 }; // 0,5
  const FxFile audio = { "nine.wav", 10, 500, zeros, true, 0 };
  assert_refused(&table, 2, STATUS_BAD_RACK, "1000 rows of 3 numbers", "not fit 2 inputs");
  assert_refused(&nine, 2, STATUS_BAD_RACK, "10 rows of 500 numbers", "one number per line");
  assert_refused(&commas, 2, STATUS_BAD_RACK, "3 rows of 2 numbers", "behind a point");
  for (uint32_t i = 0; i < 2U; ++i) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "convolver", RATE, 2, 64,
            { .id = "ir", .text = "x", .file = i ? &audio : &twice });
    ck_assert_uint_eq(rig.n_out, i ? 5 : 4);
  }
}

TEST(one_number_per_line_is_one_response)
{
  static const float taps[] = { 0.5F, 0.0F, -0.25F };
  const FxFile file = { "taps.txt", 3, 1, taps, false, 0 };
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "convolver", RATE, 2, 64, { .id = "ir", .text = "taps.txt", .file = &file });
  ck_assert_uint_eq(rig.n_out, 2);
  SCOPED_MEMORY float** const in = planar_noise(2, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t c = 0; c < 2U; ++c) {
    for (uint32_t i = 2; i < FRAMES; ++i) {
      ck_assert_double_eq_tol(out[c][i], 0.5 * in[c][i] - 0.25 * in[c][i - 2U], 1e-6);
    }
  }
}

TEST(mix_gain_and_predelay_apply_to_the_right_part)
{
  static const float one = 0.5F;
  const FxFile ir = { "half.wav", 1, 1, &one, true, 0 };
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "convolver", RATE, 1, 100, { .id = "ir", .text = "half.wav", .file = &ir },
          SET("mix", 0.25), SET("gain", 6.0), SET("predelay", 10.0));
  SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(1, FRAMES);
  rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    const double late = i < 480U ? 0.0 : 0.5 * pow(10.0, 6.0 / 20.0) * in[0][i - 480U];
    ck_assert_double_eq_tol(out[0][i], 0.75 * in[0][i] + 0.25 * late, rig.fx->tolerance);
  }
  ck_assert_uint_eq(rig.shape.tail_frames, 481);
  ck_assert_uint_eq(rig.shape.latency_frames, 0);
}

TEST(a_single_input_is_mixed_to_every_output)
{
  const FxFile ir = noise_ir(2);
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "convolver", RATE, 1, 64, { .id = "ir", .text = "hall.wav", .file = &ir },
          SET("mix", 0.0));
  SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
  ck_assert(max_difference(out[0], in[0], FRAMES, NULL) == 0.0);
  ck_assert(max_difference(out[1], in[0], FRAMES, NULL) == 0.0);
}

TEST(zeros_at_the_end_of_a_response_cost_nothing)
{
  static float samples[2][1000]; // channel 0 is 300 frames long, channel 1 is silent
  samples[0][299] = 1.0F;
  const FxFile ir = { "short.wav", 2, 1000, samples[0], true, 0 };
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "convolver", RATE, 2, 64, { .id = "ir", .text = "short.wav", .file = &ir });
  ck_assert_uint_eq(rig.shape.tail_frames, 300);
  SCOPED_MEMORY float** const in = planar_noise(2, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_noise(2, FRAMES, 9, 1.0);
  rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_le(max_difference(out[0] + 299, in[0], FRAMES - 299U, NULL), rig.fx->tolerance);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[1][i] == 0.0F);
  }
}

TEST(a_change_of_mix_or_gain_does_not_click)
{
  static const struct {
    const char* id;
    double from, to;
  } changes[] = { { "mix", 0.0, 1.0 }, { "gain", -120.0, 0.0 }, { "gain", 0.0, -120.0 } };
  static float one = 1.0F;
  const FxFile ir = { "one.wav", 1, 1, &one, true, 0 };
  const uint32_t half = FRAMES / 2U;
  for (size_t c = 0; c < ARRAY_LEN(changes); ++c) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "convolver", RATE, 1, 64, { .id = "ir", .text = "one.wav", .file = &ir },
            SET(changes[c].id, changes[c].from));
    SCOPED_MEMORY float** const in = planar_silence(1, FRAMES);
    SCOPED_MEMORY float** const out = planar_silence(1, FRAMES);
    signal_sine(in[0], FRAMES, 1000.0, RATE, 0.5, 0.0);
    rig_run(&rig, (const float* const*)in, out, half, RIG_BLOCKS, 0);
    rig_set(&rig, changes[c].id, changes[c].to);
    const float* const in_late[] = { in[0] + half };
    float* const out_late[] = { out[0] + half };
    rig_run(&rig, in_late, out_late, half, RIG_RANDOM, 0);
    ck_assert_double_le(max_second_difference(out[0], FRAMES),
                        1.05 * max_second_difference(in[0], FRAMES));
    const float last = changes[c].to < 0.0 ? 0.0F : in[0][FRAMES - 1U];
    ck_assert_double_eq_tol(out[0][FRAMES - 1U], last, rig.fx->tolerance);
  }
}

TEST(divisions_into_runs_agree_to_the_tolerance)
{
  const FxFile ir = noise_ir(4);
  SCOPED_MEMORY float** const in = planar_noise(2, FRAMES, 1, 0.5);
  float** const out[2] = { planar_silence(2, FRAMES), planar_silence(2, FRAMES) };
  for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "convolver", RATE, 2, 64, { .id = "ir", .text = "hall.wav", .file = &ir });
    float** const now = out[split == RIG_BLOCKS ? 0 : 1];
    rig_run(&rig, (const float* const*)in, now, FRAMES, (RigSplit)split, 3);
    for (uint32_t c = 0; c < 2U; ++c) {
      ck_assert_double_le(max_difference(now[c], out[0][c], FRAMES, NULL), rig.fx->tolerance);
    }
  }
  free(out[0]);
  free(out[1]);
}

TEST(silence_denormals_and_faults)
{
  for (uint32_t n_ir = 1; n_ir <= 4U; n_ir *= 2U) {
    const FxFile ir = noise_ir(n_ir);
    const RigArg arg = { .id = "ir", .text = "hall.wav", .file = &ir };
    const FxCase fx_case = { "convolver", RATE, 2, &arg, 1 };
    check_silence_and_denormals(&fx_case);
    check_recovers(&fx_case);
  }
}

SUITE_MAIN("convolver")
