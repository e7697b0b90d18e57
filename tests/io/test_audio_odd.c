// SPDX-License-Identifier: GPL-3.0-or-later
// The reader checks the reports of libsndfile: an impossible number of channels, rate or number of
// frames, and more frames than were requested, are reported as errors of the file.  From a file
// with more frames than reported it reads the reported number.

#include "io/file/audio_file.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <sndfile.h>
#include <stdio.h>

#define N_FRAMES    20000U // more than one call of sf_read_raw() returns
#define READ_FRAMES 65536U // as in audio_file.c

static SF_INFO odd;          ///< Nonzero members replace the report; OF_ZERO stands for 0
static sf_count_t odd_bytes; ///< Reported by each read call, unless GOOD_BYTES
enum { OF_ZERO = -4711, GOOD_BYTES = 4711 };

SNDFILE* __real_sf_open_fd(int fd, int mode, SF_INFO* info, int is_closed);
SNDFILE* __wrap_sf_open_fd(int fd, int mode, SF_INFO* info, int is_closed);
sf_count_t __real_sf_read_raw(SNDFILE* file, void* to, sf_count_t n_bytes);
sf_count_t __wrap_sf_read_raw(SNDFILE* file, void* to, sf_count_t n_bytes);

SNDFILE*
__wrap_sf_open_fd(const int fd, const int mode, SF_INFO* const info, const int is_closed)
{
  SNDFILE* const file = __real_sf_open_fd(fd, mode, info, is_closed);
  info->channels = odd.channels ? odd.channels : info->channels;
  info->channels = odd.channels == OF_ZERO ? 0 : info->channels;
  info->samplerate = odd.samplerate ? odd.samplerate : info->samplerate;
  info->samplerate = odd.samplerate == OF_ZERO ? 0 : info->samplerate;
  info->frames = odd.frames ? odd.frames : info->frames;
  info->frames = odd.frames == OF_ZERO ? 0 : info->frames;
  return file;
}

sf_count_t
__wrap_sf_read_raw(SNDFILE* const file, void* const to, const sf_count_t n_bytes)
{
  const sf_count_t got = __real_sf_read_raw(file, to, n_bytes);
  return odd_bytes == GOOD_BYTES ? got : odd_bytes;
}

/// Load a good file.  Returns the status, and the message in *error.
static Status
load(Error* const error)
{
  static float silence[N_FRAMES];
  const float* const samples[] = { silence, silence };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  FxFile* file = NULL;
  scratch_write_wav(&scratch, "x.wav", samples, 2, N_FRAMES, 48000);
  const Status status =
      audio_file_load(NULL, scratch_path(&scratch, "x.wav"), 44100.0, &file, error);
  ck_assert(!status == !!file);
  audio_file_free(NULL, file);
  return status;
}

TEST(an_invalid_header_is_refused)
{
  static const struct {
    SF_INFO info;
    const char* words;
  } rows[] = {
    { { .channels = OF_ZERO }, "0 channels at 48000 Hz" },
    { { .channels = -1 }, "-1 channels" },
    { { .channels = 0x7F7F7F7F }, "2139062143 channels" },
    { { .samplerate = OF_ZERO }, "2 channels at 0 Hz" },
    { { .samplerate = -1 }, "at -1 Hz" },
    { { .frames = OF_ZERO }, "0 frames" },
    { { .frames = -1 }, "0 frames" },
    { { .frames = SF_COUNT_MAX }, "0 frames" },
    { { .frames = SF_COUNT_MAX - 1 }, "too long" },
  };
  odd_bytes = GOOD_BYTES;
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    Error error = { STATUS_OK, "" };
    odd = rows[r].info;
    ck_assert_int_eq(load(&error), STATUS_FILE);
    assert_says(error.text, rows[r].words);
  }
  odd = (SF_INFO){ 0 };
  OK(load(&error));
}

TEST(an_invalid_count_of_read_frames_is_an_error)
{
  static const sf_count_t counts[] = { -1, 0, 5000, 131080, SF_COUNT_MAX };
  for (size_t c = 0; c < ARRAY_LEN(counts); ++c) {
    Error error = { STATUS_OK, "" };
    odd_bytes = counts[c];
    ck_assert_int_eq(load(&error), STATUS_FILE);
    assert_says(error.text, "corrupt");
  }
}

TEST(frames_behind_those_of_the_header_are_left)
{
  enum { SOME = READ_FRAMES + 500, ALL = READ_FRAMES + 510 };
  static float rows[2][ALL];
  const float* const samples[] = { rows[0], rows[1] };
  for (uint32_t i = 0; i < ALL; ++i) {
    rows[0][i] = 0.25F;
    rows[1][i] = -0.25F;
  }
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  FxFile* file = NULL;
  scratch_write_wav(&scratch, "x.wav", samples, 2, ALL, 48000);
  odd = (SF_INFO){ .frames = SOME };
  odd_bytes = GOOD_BYTES;
  OK(audio_file_load(NULL, scratch_path(&scratch, "x.wav"), 48000.0, &file, &error));
  ck_assert_uint_eq(file->n_frames, SOME);
  for (uint32_t i = 0; i < SOME; ++i) {
    ck_assert_msg(file->samples[i] == 0.25F && file->samples[SOME + i] == -0.25F, "frame %u", i);
  }
  audio_file_free(NULL, file);
}

SUITE_MAIN("audio_odd")
