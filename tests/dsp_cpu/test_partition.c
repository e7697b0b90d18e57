// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Partitioned convolution is convolution: against direct sums in double precision and against SciPy
  (tests/data/make_convolution.py), for short and long responses, any block size, any division into
  runs, one response or a matrix.  Responses have unit energy and the input is full-scale noise, so
  that the output is near full scale, too; the error stays below -120 dB of it.
*/

#include "dsp_cpu/partition.h"
#include "tests/support/fx_checks.h"
#include "tests/support/reference.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 1e-6 // -120 dB of full scale

typedef enum Split { SPLIT_BLOCKS, SPLIT_RANDOM } Split;

static float*
response(const uint64_t n_taps, const uint64_t seed)
{
  float* const taps = calloc(n_taps, sizeof(float));
  const float scale = (float)sqrt(3.0 / (double)n_taps); // noise has a mean square of 1/3
  signal_noise(taps, n_taps, seed);
  for (uint64_t i = 0; i < n_taps; ++i) {
    taps[i] *= scale;
  }
  return taps;
}

/// A convolution with the responses taps[n_in * n_out].
static Partition*
new_partition(const PartitionSize size, float* const* const taps)
{
  Partition* partition = NULL;
  OK(partition_new(&size, (const float* const*)taps, &partition, &error));
  return partition;
}

/// A state of a convolution of that size.
static void*
new_state(const Partition* const partition, const PartitionSize size, const uint32_t number)
{
  const size_t n_bytes = partition_measure(&size).state;
  ck_assert_uint_eq(n_bytes % 64U, 0);
  void* const state = aligned_alloc(64U, n_bytes);
  memset(state, 0xA5, n_bytes); // partition_init() must not rely on zeroes
  partition_init(partition, state, number);
  return state;
}

/// Convolve planar [n_in][n_frames] to [n_out][n_frames].
static void
convolve(const Partition* const partition, void* const state, float* const* const in,
         const uint32_t n_in, float* const* const out, const uint32_t n_out, const size_t n_frames,
         const uint32_t block, const Split split)
{
  uint64_t random = block;
  for (size_t done = 0; done < n_frames;) {
    const size_t length =
        split == SPLIT_RANDOM ? 1U + (size_t)(signal_random(&random) % block) : block;
    const size_t n = length < n_frames - done ? length : n_frames - done;
    const float* in_now[4];
    float* out_now[4];
    for (uint32_t i = 0; i < n_in; ++i) {
      in_now[i] = in[i] + done;
    }
    for (uint32_t o = 0; o < n_out; ++o) {
      out_now[o] = out[o] + done;
    }
    partition_run(partition, state, in_now, out_now, (uint32_t)n);
    done += n;
  }
}

/// Convolve with one response in blocks of one size; `number` is that of partition_init().
static void
convolve_with(float* const taps, const uint64_t n_taps, const uint32_t number,
              float* const* const in, float* const* const out, const size_t n_frames,
              const uint32_t block, const Split split)
{
  const PartitionSize size = { n_taps, 1, 1, block, 1 };
  Partition* const partition = new_partition(size, &taps);
  SCOPED_MEMORY void* const state = new_state(partition, size, number);
  convolve(partition, state, in, 1, out, 1, n_frames, block, split);
  partition_free(partition);
}

static double
direct_sum(const float* const taps, const uint64_t n_taps, const float* const in,
           const size_t frame)
{
  double sum = 0.0;
  for (uint64_t k = 0; k < n_taps && k <= frame; ++k) {
    sum += (double)taps[k] * in[frame - k];
  }
  return sum;
}

/// Largest error at the first and last frames and at random frames between.
static double
worst_error(const float* const taps, const uint64_t n_taps, const float* const in,
            const float* const out, const size_t n_frames)
{
  uint64_t random = n_taps;
  double worst = 0.0;
  for (uint32_t i = 0; i < 48U; ++i) {
    const size_t frame = i < 8U    ? i
                         : i < 16U ? n_frames - 1U - (i - 8U)
                                   : (size_t)(signal_random(&random) % n_frames);
    worst = fmax(worst, fabs(direct_sum(taps, n_taps, in, frame) - out[frame]));
  }
  return worst;
}

static void
check_size(const uint64_t n_taps, const uint32_t block, const Split split)
{
  const uint32_t n_frames = (uint32_t)n_taps + 2U * block + 2000U;
  SCOPED_MEMORY float* const taps = response(n_taps, 2);
  SCOPED_MEMORY float** const in = planar_noise(1, n_frames, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(1, n_frames);
  convolve_with(taps, n_taps, block % 5U, in, out, n_frames, block, split);
  const double worst = worst_error(taps, n_taps, in[0], out[0], n_frames);
  ck_assert_msg(worst < LIMIT, "%llu taps, block %u, split %d: %.1f dB", (unsigned long long)n_taps,
                block, (int)split, decibels(worst));
}

static const uint32_t blocks[] = {
  1, 16, 31, 64, 100, 441, 480, 512, 1000, 1021, 1024, 4096, 8192
};

TEST(a_response_of_any_length_is_convolved_in_blocks_of_any_size)
{
  static const uint64_t sizes[] = { 1, 2, 63, 64, 65, 1000, 48000 };
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    for (size_t s = 0; s < ARRAY_LEN(sizes); ++s) {
      check_size(sizes[s], blocks[b], SPLIT_BLOCKS);
    }
  }
}

TEST(half_a_million_taps_are_convolved_in_blocks_of_any_size)
{
  for (size_t b = 1; b < ARRAY_LEN(blocks); b += 2U) {
    check_size(500000, blocks[b], SPLIT_BLOCKS);
  }
}

/// Only two of the three transforms round: the spectra of the response are computed in double.
TEST(the_error_of_a_long_response_is_small)
{
  enum { TAPS = 480000, FRAMES = 500000, CHECKED = 400, BLOCK = 1024 };
  SCOPED_MEMORY float* const taps = response(TAPS, 2);
  SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(1, FRAMES);
  convolve_with(taps, TAPS, 0, in, out, FRAMES, BLOCK, SPLIT_BLOCKS);
  double squares = 0.0;
  for (uint32_t i = 0; i < CHECKED; ++i) {
    const size_t frame = FRAMES - 1U - 49U * i;
    const double error = direct_sum(taps, TAPS, in[0], frame) - out[0][frame];
    squares += error * error;
  }
  ck_assert_double_le(sqrt(squares / CHECKED), 1.7e-7);
}

TEST(any_division_into_runs_gives_the_same_output)
{
  static const uint64_t sizes[] = { 65, 20000 };
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    for (size_t s = 0; s < ARRAY_LEN(sizes); ++s) {
      check_size(sizes[s], blocks[b], SPLIT_RANDOM);
    }
  }
}

TEST(the_output_agrees_with_scipy)
{
  static const struct {
    uint32_t n_taps, n_frames, first;
  } cases[] = { { 1, 2000, 0 },
                { 63, 8000, 0 },
                { 1000, 20000, 0 },
                { 48000, 60000, 40000 },
                { 500000, 520000, 500000 } };
  for (size_t c = 0; c < ARRAY_LEN(cases); ++c) {
    SCOPED_MEMORY float* const taps = response(cases[c].n_taps, 2);
    SCOPED_MEMORY float** const in = planar_noise(1, cases[c].n_frames, 1, 1.0);
    SCOPED_MEMORY float** const out = planar_silence(1, cases[c].n_frames);
    convolve_with(taps, cases[c].n_taps, 0, in, out, cases[c].n_frames, 64, SPLIT_BLOCKS);
    char name[64];
    snprintf(name, sizeof(name), "convolution_%u", cases[c].n_taps);
    float* const kept[] = { out[0] + cases[c].first };
    const double worst = reference_difference(name, kept, 1, cases[c].n_frames - cases[c].first);
    ck_assert_msg(worst < LIMIT, "%u taps: %.1f dB", cases[c].n_taps, decibels(worst));
  }
}

TEST(a_matrix_sums_every_input_into_every_output)
{
  enum { IN = 3, OUT = 2, TAPS = 9000, FRAMES = 15000 };
  static const uint32_t sizes[] = { 64, 100 };
  for (size_t b = 0; b < ARRAY_LEN(sizes); ++b) {
    float* taps[IN * OUT];
    for (uint32_t i = 0; i < IN * OUT; ++i) {
      taps[i] = response(TAPS, 10U + i);
    }
    float** const in = planar_noise(IN, FRAMES, 1, 0.5);
    float** const out = planar_silence(OUT, FRAMES);
    const PartitionSize size = { TAPS, IN, OUT, sizes[b], 1 };
    Partition* const partition = new_partition(size, taps);
    void* const state = new_state(partition, size, 0);
    convolve(partition, state, in, IN, out, OUT, FRAMES, sizes[b], SPLIT_BLOCKS);
    for (uint32_t o = 0; o < OUT; ++o) {
      for (size_t frame = 7; frame < FRAMES; frame += 601U) {
        double sum = 0.0;
        for (uint32_t i = 0; i < IN; ++i) {
          sum += direct_sum(taps[i * OUT + o], TAPS, in[i], frame);
        }
        ck_assert_double_eq_tol(out[o][frame], sum, LIMIT);
      }
    }
    partition_free(partition);
    free(state);
    free(out);
    free(in);
    for (uint32_t i = 0; i < IN * OUT; ++i) {
      free(taps[i]);
    }
  }
}

/// Check that two passages of the same sound, `rest` frames of silence apart, give the same bits.
static void
check_rest(const uint32_t rest)
{
  enum { TAPS = 5000, BLOCK = 64, SOUND = 15040, PASSAGE = 20032 };
  const uint32_t n_frames = rest + PASSAGE;
  SCOPED_MEMORY float* const taps = response(TAPS, 2);
  SCOPED_MEMORY float** const sound = planar_noise(1, PASSAGE, 3, 1.0);
  SCOPED_MEMORY float** const late = planar_silence(1, n_frames);
  SCOPED_MEMORY float** const fresh_out = planar_silence(1, PASSAGE);
  SCOPED_MEMORY float** const late_out = planar_noise(1, n_frames, 1, 1.0);
  memset(sound[0] + SOUND, 0, (PASSAGE - SOUND) * sizeof(float));
  memcpy(late[0] + rest, sound[0], PASSAGE * sizeof(float));
  const PartitionSize size = { TAPS, 1, 1, BLOCK, 1 };
  Partition* const partition = new_partition(size, &taps);
  SCOPED_MEMORY void* const fresh = new_state(partition, size, 1);
  convolve(partition, fresh, sound, 1, fresh_out, 1, PASSAGE, BLOCK, SPLIT_BLOCKS);
  convolve(partition, fresh, late, 1, late_out, 1, n_frames, BLOCK, SPLIT_BLOCKS);
  if (rest > 20U * TAPS) {
    ck_assert(max_difference(late_out[0] + rest, fresh_out[0], PASSAGE, NULL) == 0.0);
  }
  for (uint32_t i = TAPS; i < rest; ++i) {
    ck_assert(late_out[0][i] == 0.0F);
  }
  SCOPED_MEMORY void* const waiting = new_state(partition, size, 1);
  convolve(partition, waiting, late, 1, late_out, 1, n_frames, BLOCK, SPLIT_BLOCKS);
  ck_assert(max_difference(late_out[0] + rest, fresh_out[0], PASSAGE, NULL) == 0.0);
  partition_free(partition);
}

TEST(the_same_sound_gives_the_same_bits_after_any_rest)
{
  check_rest(3 * 64); // shorter than a partition
  check_rest(2001 * 64);
}

/// A partition of many states prefetches their memory.
TEST(the_bits_do_not_depend_on_the_number_of_states)
{
  enum { TAPS = 20000, FRAMES = 30000, BLOCK = 64 };
  SCOPED_MEMORY float* const taps = response(TAPS, 2);
  SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  for (uint32_t i = 0; i < 2U; ++i) {
    const PartitionSize size = { TAPS, 1, 1, BLOCK, i ? 1000 : 1 };
    float* const responses[] = { taps };
    Partition* const partition = new_partition(size, responses);
    SCOPED_MEMORY void* const state = new_state(partition, size, 0);
    convolve(partition, state, in, 1, out + i, 1, FRAMES, BLOCK, SPLIT_RANDOM);
    partition_free(partition);
  }
  ck_assert(max_difference(out[0], out[1], FRAMES, NULL) == 0.0);
}

TEST(an_impulse_gives_the_response)
{
  enum { TAPS = 3000, FRAMES = 4096 };
  SCOPED_MEMORY float* const taps = response(TAPS, 2);
  SCOPED_MEMORY float** const in = planar_silence(1, FRAMES);
  SCOPED_MEMORY float** const out = planar_silence(1, FRAMES);
  in[0][37] = 1.0F;
  convolve_with(taps, TAPS, 0, in, out, FRAMES, 100, SPLIT_BLOCKS);
  ck_assert_double_le(max_difference(out[0] + 37, taps, TAPS, NULL), 1e-7);
}

/// Noise through a response that begins late: until then a new state must output exact zeros.
TEST(before_the_response_begins_the_output_is_exactly_zero)
{
  enum { TAPS = 9000, FRAMES = 8192 };
  static const uint32_t sizes[] = { 64, 100 };
  SCOPED_MEMORY float* const taps = calloc(TAPS, sizeof(float));
  taps[TAPS - 1] = 1.0F;
  for (size_t b = 0; b < ARRAY_LEN(sizes); ++b) {
    SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 1.0);
    SCOPED_MEMORY float** const out = planar_noise(1, FRAMES, 2, 1.0);
    convolve_with(taps, TAPS, 3, in, out, FRAMES, sizes[b], SPLIT_BLOCKS);
    for (uint32_t i = 0; i < FRAMES / 2U; ++i) { // later, the last partition adds rounding errors
      ck_assert_msg(out[0][i] == 0.0F, "block %u, frame %u: %g", sizes[b], i, (double)out[0][i]);
    }
  }
}

SUITE_MAIN("partition")
