// SPDX-License-Identifier: GPL-3.0-or-later
// Every sample keeps its place and its bits, whatever the number of channels and frames; numbers
// are converted as the definitions say, which this file computes one by one.

#include "io/file/samples.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_CHANNELS 11U
#define MAX_FRAMES   37U
#define FIRST        3U // frame of the rows where the moved frames begin
#define ROW_FRAMES   (FIRST + MAX_FRAMES + 1U)

static float rows[MAX_CHANNELS][ROW_FRAMES];
static float interleaved[MAX_CHANNELS * MAX_FRAMES + 1U];

static void
clear(void)
{
  memset(rows, 0, sizeof(rows));
  memset(interleaved, 0, sizeof(interleaved));
}

/// A number that no other place has.
static float
mark(const uint32_t channel, const uint32_t frame)
{
  return (float)(1000U * (channel + 1U) + frame);
}

static void
check_deinterleave(const uint32_t n_channels, const uint32_t n_frames)
{
  float* to[MAX_CHANNELS];
  clear();
  for (uint32_t c = 0; c < n_channels; ++c) {
    to[c] = rows[c];
    for (uint32_t i = 0; i < n_frames; ++i) {
      interleaved[i * n_channels + c] = mark(c, i);
    }
  }
  samples_deinterleave(interleaved, n_channels, to, FIRST, n_frames);
  for (uint32_t c = 0; c < MAX_CHANNELS; ++c) {
    for (uint32_t i = 0; i < ROW_FRAMES; ++i) {
      const bool is_moved = c < n_channels && i >= FIRST && i < FIRST + n_frames;
      ck_assert_msg(rows[c][i] == (is_moved ? mark(c, i - FIRST) : 0.0F),
                    "%u channels, %u frames: channel %u, frame %u", n_channels, n_frames, c, i);
    }
  }
}

static void
check_interleave(const uint32_t n_channels, const uint32_t n_frames)
{
  const float* from[MAX_CHANNELS];
  clear();
  for (uint32_t c = 0; c < n_channels; ++c) {
    from[c] = rows[c];
    for (uint32_t i = 0; i < n_frames; ++i) {
      rows[c][FIRST + i] = mark(c, i);
    }
  }
  samples_interleave(from, n_channels, FIRST, n_frames, interleaved);
  for (uint32_t at = 0; at < ARRAY_LEN(interleaved); ++at) {
    const bool is_moved = at < n_channels * n_frames;
    ck_assert_msg(interleaved[at] == (is_moved ? mark(at % n_channels, at / n_channels) : 0.0F),
                  "%u channels, %u frames: sample %u", n_channels, n_frames, at);
  }
}

TEST(each_sample_goes_to_its_channel_and_frame)
{
  for (uint32_t n_channels = 1; n_channels <= MAX_CHANNELS; ++n_channels) {
    for (uint32_t n_frames = 0; n_frames <= MAX_FRAMES; ++n_frames) {
      check_deinterleave(n_channels, n_frames);
      check_interleave(n_channels, n_frames);
    }
  }
}

/// The integers that the tests convert: the ends, steps around 0, and some in between.
static int32_t
integer_of(const uint32_t bits, const uint32_t i)
{
  const int32_t last = (int32_t)((1U << (bits - 1U)) - 1U);
  const int32_t few[] = { 0, 1, -1, 2, -2, last, -last, -last - 1, last - 1 };
  return i < ARRAY_LEN(few) ? few[i] : last / 1000 * (int32_t)(i * 37U % 1999U) - last;
}

TEST(integers_of_each_size_are_packed_and_unpacked)
{
  enum { N = 67 };
  for (uint32_t n_bytes = 2; n_bytes <= 4U; ++n_bytes) {
    int32_t integers[N];
    unsigned char bytes[4U * N + SAMPLES_SLACK];
    float floats[N];
    for (uint32_t i = 0; i < N; ++i) {
      integers[i] = integer_of(8U * n_bytes, i);
    }
    samples_pack(integers, n_bytes, N, bytes);
    samples_unpack(bytes, n_bytes, N, floats);
    for (uint32_t i = 0; i < N; ++i) {
      for (uint32_t b = 0; b < n_bytes; ++b) {
        ck_assert_uint_eq(bytes[i * n_bytes + b], (uint32_t)integers[i] >> 8U * b & 0xFFU);
      }
      ck_assert_msg(floats[i] == (float)ldexp(integers[i], 1 - (int)(8U * n_bytes)),
                    "%u bytes: %d became %.9g", n_bytes, integers[i], (double)floats[i]);
    }
  }
}

/// The integer that a sample becomes.
static int32_t
rounded(const float x, const uint32_t bits)
{
  const double full = ldexp(1.0, (int)bits - 1);
  return isnan(x) ? 0 : (int32_t)fmax(-full, fmin(rint((double)x * full), full - 1.0));
}

TEST(samples_are_rounded_to_the_nearest_step_and_limited)
{
  const float odd[] = { 0.0F, -0.0F,    1.0F,      -1.0F,     nextafterf(1.0F, 0.0F),
                        1.5F, -1.5F,    FLT_MAX,   -FLT_MAX,  nextafterf(1.0F, 2.0F),
                        NAN,  INFINITY, -INFINITY, 1e-40F,    -FLT_MIN,
                        -NAN, 0x1p-16F, 0x3p-16F,  -0x1p-16F, -0x3p-16F,
                        0.5F, 0x1p-24F, 0x3p-24F,  0x5p-24F,  nextafterf(-1.0F, -2.0F),
                        0.1F, 0x1p-32F, 0x3p-32F,  -0x3p-32F, nextafterf(-1.0F, 0.0F) };
  enum { N = 1000 };
  float in[N];
  signal_noise(in, N, 3);
  memcpy(in, odd, sizeof(odd));
  for (uint32_t bits = 16; bits <= 32U; bits += 8U) {
    for (uint32_t n = N - 9U; n <= N; ++n) {
      int32_t out[N];
      ck_assert_uint_eq(samples_round(in, bits, n, out), 10U);
      for (uint32_t i = 0; i < n; ++i) {
        ck_assert_msg(out[i] == rounded(in[i], bits), "%u bits: %.9g became %d", bits,
                      (double)in[i], out[i]);
      }
    }
  }
}

SUITE_MAIN("samples")
