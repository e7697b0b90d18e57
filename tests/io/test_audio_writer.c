// SPDX-License-Identifier: GPL-3.0-or-later
// Files are written completely or not at all, in the requested format.

#include "io/file/audio_file.h"
#include "tests/support/fx_checks.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAMES 10000U

static void
write_file(const char* const path, const char* const encoding, float* const* const samples,
           const unsigned n_channels, const uint32_t n_frames, uint64_t* const clipped)
{
  AudioFormat format;
  AudioWriter* writer = NULL;
  OK(audio_format_from(path, encoding, &format, &error));
  OK(audio_writer_open(path, format, 48000.0, n_channels, &writer, &error));
  OK(audio_writer_write(writer, (const float* const*)samples, n_frames, &error));
  *clipped = audio_writer_clipped(writer);
  OK(audio_writer_commit(writer, &error));
}

TEST(a_wav_over_4_gib_is_refused_and_others_are_not)
{
  AudioFormat format = { AUDIO_WAV, AUDIO_FLOAT };
  Error error;
  ck_assert_int_eq(audio_format_check_length(format, "x", 2, (1ULL << 29U) - 20000U, &error), 0);
  ck_assert_int_eq(audio_format_check_length(format, "x", 2, 1ULL << 29U, &error), STATUS_FILE);
  assert_says(error.text, ".w64");
  format.encoding = AUDIO_PCM16;
  ck_assert_int_eq(audio_format_check_length(format, "x", 2, 1ULL << 29U, &error), 0);
  format = (AudioFormat){ AUDIO_W64, AUDIO_FLOAT };
  ck_assert_int_eq(audio_format_check_length(format, "x", 2, 1ULL << 40U, &error), 0);
}

static unsigned
little(const unsigned char* const bytes)
{
  return bytes[0] | (unsigned)bytes[1] << 8U | (unsigned)bytes[2] << 16U |
         (unsigned)bytes[3] << 24U;
}

/// The header: RIFF and fmt; for all but PCM an extension of 0 bytes, and the number of frames in
/// "fact".
TEST(a_wav_has_the_header_that_its_encoding_asks_for)
{
  static const struct {
    const char* name;
    const char* encoding;
    unsigned tag, fmt_bytes, header_bytes, frame_bytes;
  } kinds[] = { { "a.wav", "16", 1, 16, 44, 2 },
                { "b.wav", "24", 1, 16, 44, 3 },
                { "c.wav", "float", 3, 18, 58, 4 },
                { "d.rf64", "float", 3, 18, 94, 4 } };
  enum { ODD = 77 };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  SCOPED_MEMORY float** const noise = planar_noise(3, FRAMES, 1, 1.0);
  for (unsigned k = 0; k < ARRAY_LEN(kinds); ++k) {
    uint64_t clipped = 0;
    const char* const path = scratch_path(&scratch, kinds[k].name);
    write_file(path, kinds[k].encoding, noise, 1, ODD, &clipped);
    unsigned char bytes[1024];
    FILE* const in = fopen(path, "re");
    const size_t n = fread(bytes, 1, sizeof(bytes), in);
    fclose(in);
    const bool is_rf64 = kinds[k].header_bytes > 58U;
    const unsigned data_bytes = ODD * kinds[k].frame_bytes;
    const unsigned char* const fmt = bytes + (is_rf64 ? 48 : 12);
    const unsigned char* const data = bytes + kinds[k].header_bytes - 8;
    ck_assert_uint_eq(n, kinds[k].header_bytes + data_bytes + data_bytes % 2U);
    ck_assert_mem_eq(bytes, is_rf64 ? "RF64" : "RIFF", 4);
    ck_assert_uint_eq(little(bytes + (is_rf64 ? 20 : 4)), n - 8U);
    ck_assert_mem_eq(fmt, "fmt ", 4);
    ck_assert_uint_eq(little(fmt + 4), kinds[k].fmt_bytes);
    ck_assert_uint_eq(fmt[8], kinds[k].tag);
    ck_assert_uint_eq(little(fmt + 12), 48000);
    ck_assert_uint_eq(little(fmt + 16), 48000 * kinds[k].frame_bytes);
    if (kinds[k].fmt_bytes == 18U) {
      ck_assert_mem_eq(fmt + 24, "\0\0fact\4\0\0\0", 10);
      ck_assert_uint_eq(little(fmt + 34), ODD);
    }
    ck_assert_mem_eq(data, "data", 4);
    ck_assert_uint_eq(little(data + 4), is_rf64 ? UINT32_MAX : data_bytes);
  }
}

TEST(every_container_and_encoding_reads_back)
{
  static const struct {
    const char* name;
    const char* encoding;
    double tolerance;
    int format; // format as libsndfile reads it back
  } cases[] = {
    { "a.wav", NULL, 0.0, SF_FORMAT_WAV | SF_FORMAT_FLOAT },
    { "b.WAV", "16", 0x1p-16, SF_FORMAT_WAV | SF_FORMAT_PCM_16 },
    { "c.wav", "24", 0x1p-24, SF_FORMAT_WAV | SF_FORMAT_PCM_24 },
    { "d.wav", "32", 0.0, SF_FORMAT_WAV | SF_FORMAT_PCM_32 },
    { "e.w64", "float", 0.0, SF_FORMAT_W64 | SF_FORMAT_FLOAT },
    { "f.rf64", NULL, 0.0, SF_FORMAT_RF64 | SF_FORMAT_FLOAT },
    { "g.flac", NULL, 0x1p-24, SF_FORMAT_FLAC | SF_FORMAT_PCM_24 },
    { "h.flac", "16", 0x1p-16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16 },
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  SCOPED_MEMORY float** const noise = planar_noise(3, FRAMES, 1, 1.0);
  for (unsigned t = 0; t < ARRAY_LEN(cases); ++t) {
    const char* const path = scratch_path(&scratch, cases[t].name);
    uint64_t clipped = 0;
    write_file(path, cases[t].encoding, noise, 3, FRAMES, &clipped);
    ck_assert_uint_eq(clipped, 0);
    SF_INFO info = { 0 };
    SNDFILE* const file = sf_open(path, SFM_READ, &info);
    ck_assert_ptr_nonnull(file);
    sf_close(file);
    ck_assert_int_eq(info.format & (SF_FORMAT_TYPEMASK | SF_FORMAT_SUBMASK), cases[t].format);

    unsigned n_channels = 0;
    size_t n_frames = 0;
    int rate_hz = 0;
    float* const samples = scratch_read(path, &n_channels, &n_frames, &rate_hz);
    ck_assert_uint_eq(n_channels, 3);
    ck_assert_uint_eq(n_frames, FRAMES);
    ck_assert_int_eq(rate_hz, 48000);
    for (unsigned i = 0; i < 3U * FRAMES; ++i) {
      ck_assert_double_le(fabs((double)samples[i] - (double)noise[i % 3U][i / 3U]),
                          cases[t].tolerance);
    }
    free(samples);
    ck_assert_uint_eq(scratch_count(&scratch), t + 1U);
  }
}

TEST(whole_numbers_survive_reading_and_writing)
{
  static float steps[65536];
  float* const only[] = { steps };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "all.wav");
  for (int i = 0; i < 65536; ++i) {
    steps[i] = (float)(i - 32768) / 32768.0F;
  }
  uint64_t clipped = 0;
  write_file(path, "16", only, 1, 65536, &clipped);
  ck_assert_uint_eq(clipped, 0);
  SF_INFO info = { 0 };
  SNDFILE* const file = sf_open(path, SFM_READ, &info);
  static short numbers[65536];
  ck_assert_int_eq(sf_readf_short(file, numbers, 65536), 65536);
  sf_close(file);
  for (int i = 0; i < 65536; ++i) {
    ck_assert_int_eq(numbers[i], i - 32768);
  }
}

TEST(samples_beyond_full_scale_are_limited_and_counted)
{
  static float loud[] = { 1.0F, -1.0F, 1.5F, -2.0F, INFINITY, NAN, 0.25F };
  static const float kept[] = { 1.0F, -1.0F, 1.0F, -1.0F, 1.0F, 0.0F, 0.25F };
  float* const only[] = { loud };
  static const char* const encodings[] = { "16", "24", "32" };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  for (unsigned e = 0; e < ARRAY_LEN(encodings); ++e) {
    const char* const path = scratch_path(&scratch, "loud.wav");
    uint64_t clipped = 0;
    write_file(path, encodings[e], only, 1, ARRAY_LEN(loud), &clipped);
    ck_assert_uint_eq(clipped, 4);
    unsigned n_channels = 0;
    size_t n_frames = 0;
    int rate_hz = 0;
    SCOPED_MEMORY float* const samples = scratch_read(path, &n_channels, &n_frames, &rate_hz);
    for (unsigned i = 0; i < ARRAY_LEN(kept); ++i) {
      ck_assert_double_le(fabs((double)samples[i] - (double)kept[i]), 0x1p-15);
    }
  }
}

TEST(the_same_samples_make_the_same_bytes)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  SCOPED_MEMORY float** const noise = planar_noise(3, FRAMES, 1, 1.0);
  char* bytes[2] = { NULL, NULL };
  size_t sizes[2] = { 0, 0 };
  for (unsigned t = 0; t < 2U; ++t) {
    uint64_t clipped = 0;
    write_file(scratch_path(&scratch, "a.wav"), NULL, noise, 2, FRAMES, &clipped);
    FILE* const file = fopen(scratch_path(&scratch, "a.wav"), "rb");
    bytes[t] = calloc(1, 1U << 20U);
    sizes[t] = fread(bytes[t], 1, 1U << 20U, file);
    fclose(file);
    sleep(t == 0U); // a header with the time of day would be different
  }
  ck_assert_uint_eq(sizes[0], sizes[1]);
  ck_assert_mem_eq(bytes[0], bytes[1], sizes[0]);
  free(bytes[0]);
  free(bytes[1]);
}

// Write until a call fails; the file must keep its previous content.
static void
fill(const Scratch* const scratch, const char* const name, const char* const reason)
{
  AudioFormat format;
  AudioWriter* writer = NULL;
  const char* const path = scratch_path(scratch, name);
  SCOPED_MEMORY float** const noise = planar_noise(3, FRAMES, 1, 1.0);
  OK(audio_format_from(path, NULL, &format, &error));
  OK(audio_writer_open(path, format, 48000.0, 3, &writer, &error));
  Status status = STATUS_OK;
  Error error = { STATUS_OK, "" };
  for (unsigned n = 0; !status && n < 100U; ++n) {
    status = audio_writer_write(writer, (const float* const*)noise, FRAMES, &error);
  }
  ck_assert_int_eq(status, STATUS_FILE);
  ck_assert_int_eq(status_exit_code(status), 5);
  assert_says(error.text, reason);
  ck_assert_int_eq(audio_writer_commit(writer, &error), STATUS_FILE); // the error persists
  ck_assert_uint_eq(scratch_count(scratch), 0);
}

static void
fill_to_the_last_byte(const Scratch* const scratch, const char* const name,
                      float* const* const noise, const rlim_t n_bytes)
{
  const struct rlimit limit = { n_bytes, n_bytes };
  AudioFormat format;
  AudioWriter* writer = NULL;
  const char* const path = scratch_path(scratch, name);
  OK(audio_format_from(path, NULL, &format, &error));
  OK(audio_writer_open(path, format, 48000.0, 3, &writer, &error));
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  Error error = { STATUS_OK, "" };
  const Status status = audio_writer_write(writer, (const float* const*)noise, FRAMES, &error);
  const Status committed = audio_writer_commit(writer, &error);
  ck_assert_msg(status || committed, "a file that was not written whole was kept");
  ck_assert_uint_eq(scratch_count(scratch), 0);
}

TEST(a_full_disk_leaves_nothing_behind)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
      mount("tmpfs", scratch.directory, "tmpfs", 0, "size=256k")) {
    printf("no private tmpfs (%s): a limit on the file's size stands for the full disk\n",
           strerror(errno));
    const struct rlimit limit = { 262144, 262144 };
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill(&scratch, "a.wav", "File too large");
    fill(&scratch, "a.flac", "File too large");
  } else {
    fill(&scratch, "a.wav", "No space left");
    fill(&scratch, "a.flac", "No space left");
    ck_assert_int_eq(umount(scratch.directory), 0);
  }
}

// FLAC writes its last block on closing: the failure comes after the last write.
TEST(a_disk_that_is_full_at_the_very_end_leaves_nothing_behind)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  SCOPED_MEMORY float** const noise = planar_noise(3, FRAMES, 1, 1.0);
  uint64_t clipped = 0;
  write_file(scratch_path(&scratch, "whole.flac"), NULL, noise, 3, FRAMES, &clipped);
  struct stat info;
  ck_assert_int_eq(stat(scratch_path(&scratch, "whole.flac"), &info), 0);
  ck_assert_int_eq(unlink(scratch_path(&scratch, "whole.flac")), 0);
  signal(SIGXFSZ, SIG_IGN);
  fill_to_the_last_byte(&scratch, "short.flac", noise, (rlim_t)info.st_size - 1U);
}

TEST(an_invalid_output_is_refused)
{
  AudioFormat format = { AUDIO_WAV, AUDIO_FLOAT };
  AudioWriter* writer = NULL;
  Error error;
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  ck_assert_int_eq(audio_format_from("x.mp3", NULL, &format, &error), STATUS_BAD_ARG);
  ck_assert_int_eq(audio_format_from("x", NULL, &format, &error), STATUS_BAD_ARG);
  ck_assert_int_eq(audio_format_from("x.wav", "12", &format, &error), STATUS_BAD_ARG);
  ck_assert_int_eq(audio_format_from("x.flac", "float", &format, &error), STATUS_BAD_ARG);

  const char* const nowhere = scratch_path(&scratch, "none/x.wav");
  ck_assert_int_eq(audio_writer_open(nowhere, format, 48000.0, 1, &writer, &error), STATUS_FILE);
  assert_says(error.text, "No such file or directory");

  const char* const pipe = scratch_path(&scratch, "pipe.wav");
  ck_assert_int_eq(mkfifo(pipe, 0600), 0);
  ck_assert_int_eq(audio_writer_open(pipe, format, 48000.0, 1, &writer, &error), STATUS_FILE);
  assert_says(error.text, "no regular file");

  const char* const flac = scratch_path(&scratch, "wide.flac");
  ck_assert_int_eq(audio_format_from(flac, NULL, &format, &error), STATUS_OK);
  ck_assert_int_eq(audio_writer_open(flac, format, 48000.0, 9, &writer, &error), STATUS_FILE);
  assert_says(error.text, "9 channels");
  ck_assert_ptr_null(writer);
  ck_assert_uint_eq(scratch_count(&scratch), 1);
}

TEST(an_abandoned_file_leaves_the_old_one_as_it_was)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "a.wav");
  const AudioFormat format = { AUDIO_WAV, AUDIO_FLOAT };
  AudioWriter* writer = NULL;
  SCOPED_MEMORY float** const noise = planar_noise(3, FRAMES, 1, 1.0);
  scratch_write(&scratch, "a.wav", "old", 3);
  ck_assert_int_eq(audio_writer_open(path, format, 48000.0, 1, &writer, NULL), STATUS_OK);
  ck_assert_int_eq(audio_writer_write(writer, (const float* const*)noise, FRAMES, NULL), STATUS_OK);
  ck_assert_uint_eq(scratch_count(&scratch), 2);
  audio_writer_abandon(writer);
  struct stat info;
  ck_assert_int_eq(stat(path, &info), 0);
  ck_assert_int_eq(info.st_size, 3);
  ck_assert_uint_eq(scratch_count(&scratch), 1);
}

SUITE_MAIN("audio_writer")
