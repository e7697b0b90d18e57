// SPDX-License-Identifier: GPL-3.0-or-later
// Files are loaded completely or refused with a reason.

#include "io/file/audio_file.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FRAMES 10000U

static float noise[3][FRAMES];
static const float* const channels[] = { noise[0], noise[1], noise[2] };

static void
make_noise(void)
{
  for (unsigned c = 0; c < 3U; ++c) {
    signal_noise(noise[c], FRAMES, c + 1U);
  }
}

static FxFile*
load(const char* const path, const double rate_hz)
{
  FxFile* file = NULL;
  OK(audio_file_load(NULL, path, rate_hz, &file, &error));
  return file;
}

static void
refuses(const char* const path, const char* const reason)
{
  FxFile* file = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(audio_file_load(NULL, path, 48000.0, &file, &error), STATUS_FILE);
  ck_assert_ptr_null(file);
  assert_says(error.text, reason);
  assert_says(error.text, path);
}

/// A rack from the network may name any file below the root, and its sender receives the message.
static void
quotes_nothing(const char* const path)
{
  static const char* const words[] = { "root:", "secret", "four", "2x", "\x1B", "\x7F" };
  FxFile* file = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(audio_file_load(NULL, path, 48000.0, &file, &error), STATUS_FILE);
  const char* const named = strstr(error.text, path);
  ck_assert_ptr_nonnull(named);
  // The random path of a scratch folder may hold any short word.
  const char* const reason = named + strlen(path);
  for (unsigned w = 0; w < ARRAY_LEN(words); ++w) {
    ck_assert_msg(!strstr(reason, words[w]), "'%s' quotes '%s'", error.text, words[w]);
  }
}

TEST(a_loaded_file_is_planar_and_exact)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_noise();
  scratch_write_wav(&scratch, "a.wav", channels, 3, FRAMES, 44100);
  FxFile* const file = load(scratch_path(&scratch, "a.wav"), 44100.0);
  ck_assert(file->is_audio);
  ck_assert_uint_eq(file->n_channels, 3);
  ck_assert_uint_eq(file->n_frames, FRAMES);
  for (unsigned c = 0; c < 3U; ++c) {
    ck_assert_mem_eq(file->samples + c * FRAMES, noise[c], sizeof(noise[c]));
  }
  audio_file_free(NULL, file);
}

/// The reader delivers 65,536 frames at a time: each piece has its place in every channel.
TEST(a_file_of_several_reads_is_planar_and_exact)
{
  enum { LONG = 150001 };
  static float ramps[2][LONG];
  for (unsigned i = 0; i < LONG; ++i) {
    ramps[0][i] = (float)i / LONG;
    ramps[1][i] = -ramps[0][i];
  }
  static const float* const both[] = { ramps[0], ramps[1] };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write_wav(&scratch, "long.wav", both, 2, LONG, 44100);
  FxFile* const file = load(scratch_path(&scratch, "long.wav"), 44100.0);
  ck_assert_uint_eq(file->n_frames, LONG);
  for (unsigned c = 0; c < 2U; ++c) {
    ck_assert_mem_eq(file->samples + (size_t)c * LONG, ramps[c], sizeof(ramps[c]));
  }
  audio_file_free(NULL, file);
}

// The frequency response at f: sum h[n] e^(-j 2 pi f n / rate).
static double
magnitude(const float* const h, const uint64_t n, const double f, const double rate_hz)
{
  double real = 0.0;
  double imaginary = 0.0;
  for (uint64_t i = 0; i < n; ++i) {
    real += h[i] * cos(2.0 * M_PI * f * (double)i / rate_hz);
    imaginary += h[i] * sin(2.0 * M_PI * f * (double)i / rate_hz);
  }
  return hypot(real, imaginary);
}

TEST(a_resampled_impulse_response_keeps_its_frequency_response)
{
  static const double rates[] = { 22050.0, 48000.0, 96000.0, 192000.0 };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  float response[2000];
  for (unsigned i = 0; i < ARRAY_LEN(response); ++i) { // a decaying 1 kHz tone, rounded off
    const double t = i / 44100.0;
    response[i] =
        (float)(sin(2.0 * M_PI * 1000.0 * t) * exp(-t * 300.0) * pow(1.0 - exp(-t * 2000.0), 4.0));
  }
  const float* const only[] = { response };
  scratch_write_wav(&scratch, "ir.wav", only, 1, ARRAY_LEN(response), 44100);
  for (unsigned r = 0; r < ARRAY_LEN(rates); ++r) {
    FxFile* const file = load(scratch_path(&scratch, "ir.wav"), rates[r]);
    ck_assert_uint_eq(file->n_frames, (uint64_t)ceil(2000.0 * rates[r] / 44100.0));
    for (double f = 125.0; f <= 8000.0; f *= 2.0) {
      ck_assert_double_le(fabs(magnitude(file->samples, file->n_frames, f, rates[r]) -
                               magnitude(response, ARRAY_LEN(response), f, 44100.0)),
                          0.001 * magnitude(response, ARRAY_LEN(response), 1000.0, 44100.0));
    }
    audio_file_free(NULL, file);
  }
}

/// Load a text as a table of two columns, at this rate.
static void
expect_table(const char* const text, const double rate_hz, const float* const expected,
             const uint32_t n_rows)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "m.txt", text, strlen(text));
  FxFile* const file = load(scratch_path(&scratch, "m.txt"), rate_hz);
  ck_assert(!file->is_audio);
  ck_assert_uint_eq(file->n_channels, 2);
  ck_assert_uint_eq(file->n_frames, n_rows);
  ck_assert_mem_eq(file->samples, expected, 2U * n_rows * sizeof(*expected));
  audio_file_free(NULL, file);
}

TEST(text_is_rows_of_numbers)
{
  static const float expected[] = { 1.0F, 0.5F, -0.2F, 3.0F, 4.0F, 5.0F };
  expect_table("# a matrix\n1, 0.5;\t-2e-1 # comment\r\n\n  3 4 5\n", 48000.0, expected, 3);
}

TEST(commas_separate_the_numbers_of_a_table)
{
  static const char* const texts[] = { "1, 0\n0, 5\n", "1,0 # a\n0.0,5\n", "1,0,\n0,5,\n" };
  static const float expected[] = { 1.0F, 0.0F, 0.0F, 5.0F };
  for (unsigned t = 0; t < ARRAY_LEN(texts); ++t) {
    expect_table(texts[t], 48000.0, expected, 2);
  }
}

TEST(text_of_other_programs_is_read)
{
  static const struct {
    const char* text;
    uint32_t n_rows;
    float last;
  } texts[] = {
    { "\xEF\xBB\xBF* taps\r\n; of mine\r\n0.5\r\n  # half\r\n  -0.25\r\n", 2, -0.25F },
    { "* Impulse Response data saved by REW V5.31\n* Measurement: L\n"
      "0.05 // Peak value before normalisation\n0 // Peak index\n3 // Response length\n"
      "-1.0 // Start time (seconds)\n* Data start\n1.0\n-1.2E-2\n2E0\n",
      3, 2.0F },
    { "Impulse Response data saved by REW V5.19\nIR is normalised\nSource: Mic (Gain: 0dB)\n"
      "4.3E-4 // Peak value before normalisation\n\n1.0\n0.25\n",
      2, 0.25F },
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  for (unsigned t = 0; t < ARRAY_LEN(texts); ++t) {
    scratch_write(&scratch, "t.txt", texts[t].text, strlen(texts[t].text));
    FxFile* const file = load(scratch_path(&scratch, "t.txt"), 48000.0);
    ck_assert_uint_eq(file->n_channels, texts[t].n_rows);
    ck_assert_uint_eq(file->n_frames, 1);
    const FxFile response = fx_file_responses(file);
    ck_assert_uint_eq(response.n_channels, 1);
    ck_assert_uint_eq(response.n_frames, texts[t].n_rows);
    ck_assert_float_eq(response.samples[texts[t].n_rows - 1U], texts[t].last);
    audio_file_free(NULL, file);
  }
}

TEST(a_text_with_a_rate_is_resampled)
{
  enum { TAPS = 2000 };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  float response[TAPS];
  static char text[TAPS * 20U + 200U];
  size_t n = (size_t)snprintf(text, sizeof(text),
                              "* Impulse Response data saved by REW\n"
                              "2.2675736961451248E-5 // Sample interval (seconds)\n* Data start\n");
  for (unsigned i = 0; i < TAPS; ++i) { // a decaying 1 kHz tone, rounded off
    const double t = i / 44100.0;
    response[i] =
        (float)(sin(2.0 * M_PI * 1000.0 * t) * exp(-t * 300.0) * pow(1.0 - exp(-t * 2000.0), 4.0));
    n += (size_t)snprintf(text + n, sizeof(text) - n, "%.9g\n", response[i]);
  }
  scratch_write(&scratch, "ir.txt", text, n);
  static const double rates[] = { 44100.0, 96000.0 };
  for (unsigned r = 0; r < ARRAY_LEN(rates); ++r) {
    FxFile* const file = load(scratch_path(&scratch, "ir.txt"), rates[r]);
    ck_assert(!file->is_audio);
    const FxFile loaded = fx_file_responses(file);
    ck_assert_uint_eq(loaded.n_frames, (uint64_t)ceil(TAPS * rates[r] / 44100.0));
    for (double f = 125.0; f <= 8000.0; f *= 2.0) {
      ck_assert_double_le(fabs(magnitude(loaded.samples, loaded.n_frames, f, rates[r]) -
                               magnitude(response, TAPS, f, 44100.0)),
                          0.001 * magnitude(response, TAPS, 1000.0, 44100.0));
    }
    audio_file_free(NULL, file);
  }
}

TEST(a_table_with_a_rate_is_not_resampled)
{
  static const float expected[] = { 1.0F, 2.0F, 3.0F, 4.0F };
  expect_table("2.0833333333333333E-5 // Sample interval (seconds)\n1 2\n3 4\n", 96000.0, expected,
               2);
}

TEST(files_that_cannot_be_loaded_are_refused_with_the_reason)
{
  static const struct {
    const char* bytes;
    const char* reason;
  } texts[] = {
    { "1 2\n3\n", "line 2: 1 numbers, but 2" },
    { "1 2\n3 four\n", "line 2: no number at column 3" },
    { "1 2x\n", "line 1: no number at column 3" },
    { "1\r2\r3\r", "line 1: no number at column 1" }, // line ends of the old Mac OS
    { "0,5\n0,25\n", "commas seem to be those of decimals; write 0.5" },
    { "1 0,5\n-0,5 1\n", "commas seem to be those of decimals; write 0.5" },
    { "nan\n", "not finite" },
    { "1e99\n", "not finite" },
    { "# nothing\n* at all\n; of use\n", "no numbers" },
    { "\x01\x02\x7F\x1B[2J", "line 1: no number at column 1" },
    { "root:x:0:0\n", "line 1: no number at column 1" },
    { "0.5 // first\n0.25\n", "line 1: no number at column 5" }, // "//" begins no comment
    { "* Impulse Response data saved by REW\n1\n2 // Peak index\n",
      "line 3: no number at column 3" },
    { "* IR\n1e-9 // Sample interval (seconds)\n1\n", "sample interval is not" },
    { "* IR\nsecret // Sample interval (seconds)\n1\n", "line 2: the sample interval" },
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  refuses(scratch_path(&scratch, "missing.wav"), "No such file or directory");
  refuses(scratch.directory, "directory");
  scratch_write(&scratch, "empty.wav", "", 0);
  refuses(scratch_path(&scratch, "empty.wav"), "empty (0 bytes)");
  for (unsigned t = 0; t < ARRAY_LEN(texts); ++t) {
    scratch_write(&scratch, "bad", texts[t].bytes, strlen(texts[t].bytes));
    refuses(scratch_path(&scratch, "bad"), texts[t].reason);
    refuses(scratch_path(&scratch, "bad"), "no plain audio");
    quotes_nothing(scratch_path(&scratch, "bad"));
  }
  for (int beyond = 0; beyond < 2; ++beyond) { // 64 MiB: a number, then a hole in the file
    scratch_write(&scratch, "bad", "1\n", 2);
    ck_assert_int_eq(truncate(scratch_path(&scratch, "bad"), (64L << 20U) + beyond), 0);
    refuses(scratch_path(&scratch, "bad"), beyond ? "over 64 MiB" : "line 2: not text");
  }
  make_noise();
  scratch_write_wav(&scratch, "none.wav", channels, 1, 0, 48000);
  refuses(scratch_path(&scratch, "none.wav"), "0 frames");
  noise[1][77] = NAN;
  scratch_write_wav(&scratch, "nan.wav", channels, 2, FRAMES, 44100);
  refuses(scratch_path(&scratch, "nan.wav"), "channel 2, frame 77");
}

TEST(a_file_of_more_than_a_gibibyte_of_samples_is_refused)
{
  enum { HEADER_BYTES = 44, FRAMES_OF_TWO = (1 << 27) + 1 };
  // PCM, 2 channels, 48 kHz, 8 bits; a hole in the file holds all samples.
  static const unsigned char format[] = { 1, 0, 2, 0, 0x80, 0xBB, 0, 0, 0, 0x77, 1, 0, 2, 0, 8, 0 };
  const uint32_t sizes[] = { 2U * FRAMES_OF_TWO + HEADER_BYTES - 8U, sizeof(format),
                             2U * FRAMES_OF_TWO };
  unsigned char header[HEADER_BYTES] = "RIFF....WAVEfmt ....";
  memcpy(header + 4, &sizes[0], 4);
  memcpy(header + 16, &sizes[1], 4);
  memcpy(header + 20, format, sizeof(format));
  memcpy(header + 36, "data", 4);
  memcpy(header + 40, &sizes[2], 4);
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "long.wav");
  scratch_write(&scratch, "long.wav", header, sizeof(header));
  ck_assert_int_eq(truncate(path, HEADER_BYTES + 2LL * FRAMES_OF_TWO), 0);
  refuses(path, "134217729 frames of 2 channels are over 1 GiB");
}

TEST(a_truncated_file_is_corrupt_and_not_short)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "whole.flac");
  const AudioFormat format = { AUDIO_FLAC, AUDIO_PCM16 };
  AudioWriter* writer = NULL;
  make_noise();
  ck_assert_int_eq(audio_writer_open(path, format, 48000.0, 2, &writer, NULL), STATUS_OK);
  ck_assert_int_eq(audio_writer_write(writer, channels, FRAMES, NULL), STATUS_OK);
  ck_assert_int_eq(audio_writer_commit(writer, NULL), STATUS_OK);
  ck_assert_int_eq(truncate(path, 9000), 0);
  refuses(path, "corrupt");
}

TEST(a_file_may_get_the_descriptor_zero)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_noise();
  scratch_write_wav(&scratch, "a.wav", channels, 1, FRAMES, 48000);
  close(STDIN_FILENO);
  FxFile* file = NULL;
  OK(audio_file_load(NULL, scratch_path(&scratch, "a.wav"), 48000.0, &file, &error));
  ck_assert_uint_eq(file->n_frames, FRAMES);
  audio_file_free(NULL, file);
}

TEST(too_many_open_files_are_no_fault_of_the_file)
{
  const Scratch scratch = scratch_new();
  make_noise();
  scratch_write_wav(&scratch, "a.wav", channels, 1, FRAMES, 48000);
  const char* const path = scratch_path(&scratch, "a.wav");
  const int next = dup(STDERR_FILENO);
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit limit = { (rlim_t)next, before.rlim_max };
  close(next);
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  FxFile* file = NULL;
  AudioReader* reader = NULL;
  AudioWriter* writer = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(audio_file_load(NULL, path, 48000.0, &file, &error), STATUS_NO_MEM);
  ck_assert_int_eq(audio_reader_open(path, &reader, &error), STATUS_NO_MEM);
  ck_assert_int_eq(
      audio_writer_open(path, (AudioFormat){ AUDIO_WAV, AUDIO_FLOAT }, 48000.0, 1, &writer, &error),
      STATUS_NO_MEM);
  assert_says(error.text, "Too many open files");
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0); // the leak check at exit opens files
}

TEST(a_reader_reads_in_any_steps_and_again)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_noise();
  scratch_write_wav(&scratch, "a.wav", channels, 3, FRAMES, 48000);
  AudioReader* reader = NULL;
  ck_assert_int_eq(audio_reader_open(scratch_path(&scratch, "a.wav"), &reader, NULL), STATUS_OK);
  ck_assert_uint_eq(audio_reader_channels(reader), 3);
  ck_assert_uint_eq(audio_reader_frames(reader), FRAMES);
  ck_assert_double_eq(audio_reader_rate(reader), 48000.0);
  static float out[3][FRAMES];
  for (unsigned pass = 0; pass < 2U; ++pass) {
    memset(out, 0, sizeof(out));
    uint64_t state = pass;
    uint32_t n_read = 1;
    uint32_t done = 0;
    while (n_read) {
      float* const to[] = { out[0] + done, out[1] + done, out[2] + done };
      const uint32_t step = 1U + (uint32_t)(signal_random(&state) % 6000U);
      const uint32_t wanted = step < FRAMES - done ? step : FRAMES - done;
      ck_assert_int_eq(audio_reader_read(reader, to, wanted, &n_read, NULL), STATUS_OK);
      ck_assert_uint_eq(n_read, wanted);
      done += n_read;
    }
    ck_assert_mem_eq(out, noise, sizeof(noise));
    uint32_t n_more = 7;
    float beyond[3];
    float* const to[] = { beyond, beyond + 1, beyond + 2 };
    ck_assert_int_eq(audio_reader_read(reader, to, 1, &n_more, NULL), STATUS_OK);
    ck_assert_uint_eq(n_more, 0);
    ck_assert_int_eq(audio_reader_rewind(reader, NULL), STATUS_OK);
  }
  audio_reader_close(reader);
}

SUITE_MAIN("audio_file")
