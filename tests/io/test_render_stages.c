// SPDX-License-Identifier: GPL-3.0-or-later
// The stages beside the engine pass on every frame in order, in blocks of any size; the error of a
// file arrives behind the frames before it; a stage ends at any time without waiting.

#include "io/file/render_stages.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_CHANNELS 3U
#define MAX_BLOCK    8192U
#define FRAMES       150001U // more than all buffers have

static float rows[MAX_CHANNELS][FRAMES];
static const float* const channels[] = { rows[0], rows[1], rows[2] };

/// Give each frame its number.
static void
number_frames(void)
{
  for (uint32_t c = 0; c < MAX_CHANNELS; ++c) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      rows[c][i] = (float)(i + c * FRAMES) * 0x1p-20F;
    }
  }
}

static AudioReader*
open_frames(const Scratch* const scratch, const uint32_t n_channels, const uint32_t n_frames)
{
  AudioReader* reader = NULL;
  scratch_write_wav(scratch, "in.wav", channels, n_channels, n_frames, 48000);
  OK(audio_reader_open(scratch_path(scratch, "in.wav"), &reader, &error));
  return reader;
}

static AudioWriter*
open_output(const Scratch* const scratch, const char* const name, const uint32_t n_channels)
{
  AudioFormat format;
  AudioWriter* writer = NULL;
  OK(audio_format_from(name, NULL, &format, &error));
  OK(audio_writer_open(scratch_path(scratch, name), format, 48000.0, n_channels, &writer, &error));
  return writer;
}

/// True if a block holds the frames from `at` on, and zeros from frame n_frames on.
static bool
is_block(const float* const* const in, const uint32_t n_channels, const uint32_t block,
         const uint32_t at, const uint32_t n_frames)
{
  bool is_equal = true;
  for (uint32_t c = 0; c < n_channels; ++c) {
    for (uint32_t i = 0; i < block; ++i) {
      is_equal &= in[c][i] == (at + i < n_frames ? rows[c][at + i] : 0.0F);
    }
  }
  return is_equal;
}

static void
check_reading(const uint32_t n_channels, const uint32_t n_frames, const uint32_t block)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  AudioReader* const reader = open_frames(&scratch, n_channels, n_frames);
  ReadAhead ahead;
  for (uint32_t pass = 0; pass < 2U; ++pass) {
    OK(audio_reader_rewind(reader, &error));
    OK(read_ahead_begin(&ahead, reader, block, &error));
    for (uint32_t at = 0; at < n_frames + 2U * block; at += block) {
      const float* in[MAX_CHANNELS];
      uint32_t n_read = 0;
      OK(read_ahead_next(&ahead, in, &n_read, &error));
      const uint32_t left = at < n_frames ? n_frames - at : 0U;
      ck_assert_msg(n_read == (left < block ? left : block) &&
                        is_block(in, n_channels, block, at, n_frames),
                    "%u frames in blocks of %u: wrong from frame %u on", n_frames, block, at);
    }
    read_ahead_end(&ahead);
  }
  audio_reader_close(reader);
}

TEST(every_frame_is_read_and_zeros_follow)
{
  static const uint32_t counts[] = { 1, 8191, 8192, 65536, FRAMES };
  static const uint32_t blocks[] = { 77, 1024, MAX_BLOCK };
  number_frames();
  for (uint32_t n = 0; n < ARRAY_LEN(counts); ++n) {
    for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
      check_reading(n % 2U ? 1U : MAX_CHANNELS, counts[n], blocks[b]);
    }
  }
}

/// Write all frames, in every block some of its frames.
static void
write_frames(WriteBehind* const behind, const uint32_t block)
{
  for (uint32_t at = 0, step = 0; at < FRAMES; at += step) {
    float* out[MAX_CHANNELS];
    const uint32_t some = 1U + at % block;
    step = some < FRAMES - at ? some : FRAMES - at;
    OK(write_behind_room(behind, out, &error));
    for (uint32_t c = 0; c < MAX_CHANNELS; ++c) {
      memset(out[c], 0x7F, block * sizeof(float)); // the room is the whole block
      memcpy(out[c], rows[c] + at, step * sizeof(float));
    }
    write_behind_add(behind, step);
  }
}

TEST(every_frame_is_written_in_order)
{
  static const uint32_t blocks[] = { 64, 1000, MAX_BLOCK };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  number_frames();
  for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    AudioWriter* const writer = open_output(&scratch, "out.wav", MAX_CHANNELS);
    WriteBehind behind;
    OK(write_behind_begin(&behind, writer, MAX_CHANNELS, blocks[b], &error));
    write_frames(&behind, blocks[b]);
    OK(write_behind_finish(&behind, &error));
    OK(write_behind_finish(&behind, &error)); // has no effect
    OK(audio_writer_commit(writer, &error));
    unsigned n_channels = 0;
    size_t n_frames = 0;
    int rate_hz = 0;
    SCOPED_MEMORY float* const samples =
        scratch_read(scratch_path(&scratch, "out.wav"), &n_channels, &n_frames, &rate_hz);
    ck_assert_uint_eq(n_frames, FRAMES);
    uint32_t n_wrong = 0;
    for (uint32_t i = 0; i < FRAMES * MAX_CHANNELS; ++i) {
      n_wrong += samples[i] != rows[i % MAX_CHANNELS][i / MAX_CHANNELS];
    }
    ck_assert_uint_eq(n_wrong, 0);
  }
}

TEST(a_corrupt_file_fails_behind_its_good_frames)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  AudioReader* const reader = open_frames(&scratch, 1, FRAMES);
  ck_assert_int_eq(truncate(scratch_path(&scratch, "in.wav"), 4 * FRAMES / 2), 0);
  ReadAhead ahead;
  OK(read_ahead_begin(&ahead, reader, 64, &error));
  Error error = { STATUS_OK, "" };
  Status status = STATUS_OK;
  uint32_t n_good = 0;
  for (uint32_t n_read = 0; !status && n_good < FRAMES; n_good += n_read) {
    const float* in[MAX_CHANNELS];
    n_read = 0;
    status = read_ahead_next(&ahead, in, &n_read, &error);
  }
  ck_assert_int_eq(status, STATUS_FILE);
  assert_says(error.text, "corrupt: it ends after 7");
  ck_assert_uint_gt(n_good, 0);
  ck_assert_uint_lt(n_good, FRAMES / 2U);
  read_ahead_end(&ahead);
  audio_reader_close(reader);
}

TEST(a_write_that_fails_is_reported_and_the_stage_ends)
{
  const struct rlimit limit = { 100000, 100000 };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  AudioWriter* const writer = open_output(&scratch, "out.wav", 1);
  WriteBehind behind;
  OK(write_behind_begin(&behind, writer, 1, 1024, &error));
  Error error = { STATUS_OK, "" };
  Status status = STATUS_OK;
  for (uint32_t b = 0; !status && b < 10000U; ++b) {
    float* out[1];
    status = write_behind_room(&behind, out, &error);
    if (!status) {
      memset(out[0], 0, 1024U * sizeof(float));
      write_behind_add(&behind, 1024);
    }
  }
  ck_assert_int_eq(status, STATUS_FILE);
  assert_says(error.text, "File too large");
  ck_assert_int_eq(write_behind_finish(&behind, &error), STATUS_FILE); // the error persists
  audio_writer_abandon(writer);
}

TEST(stages_end_while_their_threads_wait)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  AudioReader* const reader = open_frames(&scratch, 2, FRAMES);
  AudioWriter* const writer = open_output(&scratch, "out.wav", 2);
  for (uint32_t n = 0; n < 20U; ++n) {
    ReadAhead ahead;
    WriteBehind behind;
    float* out[2];
    OK(audio_reader_rewind(reader, &error));
    OK(read_ahead_begin(&ahead, reader, 64, &error));
    OK(write_behind_begin(&behind, writer, 2, 64, &error));
    OK(write_behind_room(&behind, out, &error));
    write_behind_abandon(&behind);
    write_behind_abandon(&behind); // has no effect
    read_ahead_end(&ahead);
    read_ahead_end(&ahead);
  }
  audio_writer_abandon(writer);
  audio_reader_close(reader);
}

SUITE_MAIN("render_stages")
