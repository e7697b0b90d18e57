// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Convolution on a device is convolution: against the CPU at every frame and against direct sums in
  double precision at many, for responses shorter and longer than a block, a partition and the head
  of two segments; for one response, one for each channel and a matrix; for fir in the time domain
  and in partitions; for any division into blocks.  Responses have unit energy (a matrix has for
  each output), the input is full-scale noise, and the error stays below the effect's tolerance.

      WARPRACK_TEST_BACKEND=cuda|opencl (default opencl)
*/

#include "engine/contract/backend.h"
#include "tests/support/device_suite.h"
#include "tests/support/fx_checks.h"
#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_HZ   48000.0
#define MAX_IR    8U
#define TOLERANCE 1e-6 // of convolver and fir
#define N_SAMPLED 64U  // frames that are summed in double precision

static Backend* device;

/// A node with responses, its input, and how it is played.
typedef struct Case {
  const char* chain; ///< Node x; its file is called ir
  uint32_t n_in, n_out;
  uint32_t n_ir;   ///< 1, n_in, or n_in * n_out
  uint32_t n_taps; ///< Taps of each response
  uint32_t block;
  RigSplit split;
  uint32_t n_frames; ///< 0: slightly more than the taps
} Case;

/// A case during play.
typedef struct Play {
  const Case* c;
  uint32_t n_frames;
  float* taps; ///< [n_ir][n_taps]
  FxFile file;
  float** in;
  float** out[2]; ///< Device, CPU
} Play;

static Play
play_new(const Case* const c)
{
  Play play = { .c = c, .n_frames = c->n_frames ? c->n_frames : c->n_taps + 2U * c->block + 1500U };
  const bool is_matrix = c->n_ir != 1U && c->n_ir != c->n_in;
  const size_t n = (size_t)c->n_ir * c->n_taps;
  play.taps = calloc(n, sizeof(float));
  ck_assert_ptr_nonnull(play.taps);
  signal_noise(play.taps, n, 2U + c->n_taps);
  for (size_t i = 0; i < n; ++i) { // noise has a mean square of 1/3
    play.taps[i] *= (float)sqrt(3.0 / c->n_taps / (is_matrix ? c->n_in : 1U));
  }
  play.file = (FxFile){ "ir", c->n_ir, c->n_taps, play.taps, true, 0 };
  play.in = planar_noise(c->n_in, play.n_frames, 1U, 0.5);
  play.out[0] = planar_silence(c->n_out, play.n_frames);
  play.out[1] = planar_silence(c->n_out, play.n_frames);
  return play;
}

static void
play_free(Play* const play)
{
  free(play->out[0]);
  free(play->out[1]);
  free(play->in);
  free(play->taps);
}

/// Play on the device (0) or the CPU (1); returns the number of units that were reset.
static uint64_t
play_on(const Play* const play, const uint32_t which)
{
  const Case* const c = play->c;
  const Format format = { .rate_hz = RATE_HZ, .block_frames = c->block, .n_in = c->n_in };
  const RackRigFile file = { "ir", &play->file };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, which ? &backend_cpu : device, NULL, c->chain, &format, &file, 1U);
  ck_assert_uint_eq(rack_rig_n_out(&rig), c->n_out);
  rack_rig_run(&rig, (const float* const*)play->in, play->out[which], play->n_frames, c->split,
               c->block);
  const uint64_t n_reset = rig.player.counts.units_reset;
  return n_reset;
}

/// The correct value of output `o` at a frame, by a direct sum.
static double
direct_sum(const Play* const play, const uint32_t o, const uint32_t frame)
{
  const Case* const c = play->c;
  const bool is_matrix = c->n_ir != 1U && c->n_ir != c->n_in;
  double sum = 0.0;
  for (uint32_t i = 0; i < c->n_in; ++i) {
    if (!is_matrix && i != o) {
      continue;
    }
    const uint32_t response = is_matrix ? i * c->n_out + o : c->n_ir > 1U ? o : 0U;
    const float* const taps = play->taps + (size_t)response * c->n_taps;
    for (uint32_t k = 0; k < c->n_taps && k <= frame; ++k) {
      sum += (double)taps[k] * play->in[i][frame - k];
    }
  }
  return sum;
}

/// Largest error at the first and last frames and at random frames between.
static double
worst_error(const Play* const play)
{
  uint64_t random = play->c->n_taps;
  double worst = 0.0;
  for (uint32_t i = 0; i < N_SAMPLED; ++i) {
    const uint32_t frame = i < 8U    ? i
                           : i < 16U ? play->n_frames - 1U - (i - 8U)
                                     : (uint32_t)(signal_random(&random) % play->n_frames);
    const uint32_t o = i % play->c->n_out;
    worst = fmax(worst, fabs(direct_sum(play, o, frame) - play->out[0][o][frame]));
  }
  return worst;
}

static double
worst_difference(const Play* const play)
{
  double worst = 0.0;
  for (uint32_t o = 0; o < play->c->n_out; ++o) {
    worst = fmax(worst, max_difference(play->out[0][o], play->out[1][o], play->n_frames, NULL));
  }
  return worst;
}

static void
check(const Case* const c)
{
  SCOPED(play_free) Play play = play_new(c);
  ck_assert_uint_eq(play_on(&play, 0U), 0U);
  ck_assert_uint_eq(play_on(&play, 1U), 0U);
  const double error = worst_error(&play);
  const double difference = worst_difference(&play);
  printf("%-20s %2u in %2u out %u ir x %5u, block %4u, split %d: double %.1f dB, CPU %.1f dB\n",
         c->chain, c->n_in, c->n_out, c->n_ir, c->n_taps, c->block, (int)c->split, decibels(error),
         decibels(difference));
  fflush(stdout);
  ck_assert_double_le(error, TOLERANCE);
  ck_assert_double_le(difference, TOLERANCE);
}

TEST(a_response_of_any_length_is_convolved)
{
  static const uint32_t blocks[] = { 16, 64, 480 };
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    const uint32_t lengths[] = { 1, 2, blocks[b] - 1U, blocks[b], blocks[b] + 1U, 1000, 10000 };
    for (size_t l = 0; l < ARRAY_LEN(lengths); ++l) {
      check(&(Case){ "x: convolver ir", 1, 1, 1, lengths[l], blocks[b], RIG_BLOCKS, 0 });
    }
  }
}

TEST(blocks_of_any_length_are_convolved)
{
  static const uint32_t blocks[] = { 1, 31, 33, 256, 1024, 3000, 8192 };
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    check(&(Case){ "x: convolver ir", 1, 1, 1, 5000, blocks[b], RIG_BLOCKS,
                   blocks[b] == 1U ? 1000U : 0U });
  }
}

TEST(the_tail_of_two_levels_goes_round_many_times)
{
  check(&(Case){ "x: convolver ir", 1, 1, 1, 30000, 64, RIG_BLOCKS, 70000 });
  check(&(Case){ "x: convolver ir", 1, 1, 1, 9000, 128, RIG_RANDOM, 40000 });
}

TEST(units_begin_their_periods_at_any_hop)
{
  check(&(Case){ "x: convolver ir", 18, 18, 1, 5000, 64, RIG_BLOCKS, 12000 });
  check(&(Case){ "x: convolver ir", 5, 5, 1, 9000, 480, RIG_RANDOM, 30000 });
}

TEST(there_is_one_response_or_one_for_each_channel_or_a_matrix)
{
  for (uint32_t n_taps = 700; n_taps <= 7000U; n_taps *= 10U) {
    check(&(Case){ "x: convolver ir", 3, 3, 1, n_taps, 64, RIG_BLOCKS, 0 });
    check(&(Case){ "x: convolver ir", 3, 3, 3, n_taps, 64, RIG_BLOCKS, 0 });
    check(&(Case){ "x: convolver ir", 1, 2, 2, n_taps, 64, RIG_BLOCKS, 0 });
    check(&(Case){ "x: convolver ir", 2, 2, 4, n_taps, 64, RIG_BLOCKS, 0 });
    check(&(Case){ "x: convolver ir", 2, 3, 6, n_taps, 64, RIG_RANDOM, 0 });
    check(&(Case){ "x: convolver ir", 4, 2, 8, n_taps, 64, RIG_RANDOM, 0 });
  }
}

TEST(divisions_into_blocks_do_not_matter)
{
  check(&(Case){ "x: convolver ir", 2, 2, 4, 300, 64, RIG_SINGLE, 1200 });
  check(&(Case){ "x: convolver ir", 2, 2, 1, 4500, 16, RIG_SINGLE, 6000 });
  check(&(Case){ "x: convolver ir", 2, 2, 4, 10000, 64, RIG_RANDOM, 0 });
  check(&(Case){ "x: convolver ir", 1, 1, 1, 10000, 3000, RIG_RANDOM, 0 });
  check(&(Case){ "x: convolver ir", 1, 1, 1, 4000, 8192, RIG_RANDOM, 40000 });
  check(&(Case){ "x: convolver ir", 3, 3, 3, 900, 8192, RIG_RANDOM, 40000 });
}

TEST(fir_sums_few_taps_and_partitions_many)
{
  static const uint32_t lengths[] = { 1, 2, 3, 4, 5, 63, 128, 511, 512, 513, 6000 };
  for (size_t l = 0; l < ARRAY_LEN(lengths); ++l) {
    const uint32_t n = lengths[l];
    check(&(Case){ "x: fir file=ir", 3, 3, 3, n, 64, RIG_BLOCKS, 0 });
    check(&(Case){ "x: fir file=ir", 2, 2, 1, n, 480, RIG_RANDOM, 0 });
    check(&(Case){ "x: fir file=ir", 1, 1, 1, n, 1500, RIG_BLOCKS, 0 });
    check(&(Case){ "x: fir file=ir", 1, 1, 1, n, 7, RIG_RANDOM, 1500 });
  }
}

TEST(after_silence_there_is_silence_and_then_the_same_as_on_the_cpu)
{
  const uint32_t from = 3000;
  const uint32_t to = 313U * 64U; // within a block, rounding errors precede the sound
  const Case c = { "x: convolver ir", 2, 2, 4, 4500, 64, RIG_BLOCKS, 30000 };
  SCOPED(play_free) Play play = play_new(&c);
  for (uint32_t i = 0; i < c.n_in; ++i) {
    memset(play.in[i] + from, 0, (to - from) * sizeof(float));
  }
  play_on(&play, 0U);
  play_on(&play, 1U);
  ck_assert_double_le(worst_error(&play), TOLERANCE);
  ck_assert_double_le(worst_difference(&play), TOLERANCE);
  for (uint32_t o = 0; o < c.n_out; ++o) {
    // The last spectrum with sound ends two periods of 1024 later and is audible for four.
    for (uint32_t k = from + 6U * 1024U; k < to; ++k) {
      ck_assert_msg(play.out[0][o][k] == 0.0F, "frame %u is %g", k, (double)play.out[0][o][k]);
    }
  }
}

TEST(an_exchanged_response_fades_in_as_on_the_cpu)
{
  const Case first = { "x: convolver ir", 2, 2, 1, 5000, 64, RIG_BLOCKS, 12000 };
  const Case second = { "x: convolver other", 2, 2, 4, 700, 64, RIG_BLOCKS, 12000 };
  SCOPED(play_free) Play play = play_new(&first);
  SCOPED(play_free) Play other = play_new(&second);
  const RackRigFile files[] = { { "ir", &play.file }, { "other", &other.file } };
  const Format format = { .rate_hz = RATE_HZ, .block_frames = first.block, .n_in = first.n_in };
  const uint32_t half = 6016;
  for (uint32_t which = 0; which < 2U; ++which) {
    SCOPED(rack_rig_free) RackRig rig;
    rack_rig_new(&rig, which ? &backend_cpu : device, NULL, first.chain, &format, files, 2U);
    rack_rig_run(&rig, (const float* const*)play.in, play.out[which], half, RIG_BLOCKS, 0U);
    rack_rig_edit(&rig, second.chain);
    const float* const in[] = { play.in[0] + half, play.in[1] + half };
    float* const out[] = { play.out[which][0] + half, play.out[which][1] + half };
    rack_rig_run(&rig, in, out, play.n_frames - half, RIG_BLOCKS, 0U);
  }
  ck_assert_double_le(worst_difference(&play), TOLERANCE);
}

/// Play an input that is not finite at one frame.
static void
check_fault(const Case* const c, const uint32_t frame, const float fault, const uint64_t n_reset)
{
  SCOPED(play_free) Play play = play_new(c);
  play.in[c->n_in - 1U][frame] = fault;
  const uint64_t n_device = play_on(&play, 0U);
  ck_assert_uint_eq(n_device, n_reset);
  ck_assert_uint_eq(play_on(&play, 1U), n_reset);
  ck_assert_double_le(worst_difference(&play), TOLERANCE);
}

TEST(a_unit_restarts_after_a_non_finite_output)
{
  check_fault(&(Case){ "x: convolver ir", 2, 2, 1, 600, 64, RIG_BLOCKS, 6000 }, 3000U, NAN, 1U);
  check_fault(&(Case){ "x: convolver ir", 2, 2, 4, 600, 64, RIG_BLOCKS, 6000 }, 3000U, NAN, 1U);
  check_fault(&(Case){ "x: convolver ir", 2, 2, 4, 5000, 64, RIG_BLOCKS, 16000 }, 7000U, INFINITY,
              1U);
  check_fault(&(Case){ "x: convolver ir", 2, 2, 1, 600, 8192, RIG_BLOCKS, 30000 }, 9000U, NAN, 1U);
  check_fault(&(Case){ "x: fir file=ir", 3, 3, 1, 200, 64, RIG_BLOCKS, 6000 }, 3000U, NAN, 1U);
}

int
main(void)
{
  return device_suite_run("gpu_convolution", ENGINE_BACKEND_AUTO, &device);
}
