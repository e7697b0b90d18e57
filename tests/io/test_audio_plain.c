// SPDX-License-Identifier: GPL-3.0-or-later
// Plain audio files are read by copying their samples; of all other files only the header is read.

#include "io/file/audio_file.h"
#include "io/file/audio_plain.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <sndfile.h>
#include <string.h>
#include <unistd.h>

static void
refuses(const char* const path)
{
  FxFile* file = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(audio_file_load(NULL, path, 48000.0, &file, &error), STATUS_FILE);
  assert_says(error.text, "is no plain audio");
  assert_says(error.text, path);
}

/// Check that the file can be read and that its first sample is 0.5.
static void
reads_one_half(const char* const path)
{
  FxFile* file = NULL;
  OK(audio_file_load(NULL, path, 48000.0, &file, &error));
  ck_assert_float_eq_tol(file->samples[0], 0.5F, 0x1p-6F);
  audio_file_free(NULL, file);
}

/// Write a short file with libsndfile.
static void
write_as(const Scratch* const scratch, const char* const name, const int format)
{
  const float silence[4800] = { 0.5F };
  SF_INFO info = { .samplerate = 48000, .channels = 1, .format = format };
  SNDFILE* const file = sf_open(scratch_path(scratch, name), SFM_WRITE, &info);
  ck_assert_msg(file, "%x: %s", (unsigned)format, sf_strerror(NULL));
  ck_assert_int_eq(sf_writef_float(file, silence, 4800), 4800);
  sf_close(file);
}

TEST(plain_audio_is_read)
{
  static const int containers[] = { SF_FORMAT_WAV,
                                    SF_FORMAT_WAVEX,
                                    SF_FORMAT_RF64,
                                    SF_FORMAT_W64,
                                    SF_FORMAT_AIFF,
                                    SF_FORMAT_AU,
                                    SF_FORMAT_CAF,
                                    SF_FORMAT_FLAC,
                                    SF_FORMAT_WAV | SF_ENDIAN_BIG,
                                    SF_FORMAT_AIFF | SF_ENDIAN_LITTLE,
                                    SF_FORMAT_CAF | SF_ENDIAN_LITTLE };
  static const int codings[] = { SF_FORMAT_PCM_S8, SF_FORMAT_PCM_U8, SF_FORMAT_PCM_16,
                                 SF_FORMAT_PCM_24, SF_FORMAT_PCM_32, SF_FORMAT_FLOAT,
                                 SF_FORMAT_DOUBLE };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  unsigned n_read = 0;
  for (unsigned c = 0; c < ARRAY_LEN(containers) * ARRAY_LEN(codings); ++c) {
    const SF_INFO info = { .samplerate = 48000,
                           .channels = 1,
                           .format = containers[c / ARRAY_LEN(codings)] |
                                     codings[c % ARRAY_LEN(codings)] };
    if (sf_format_check(&info)) {
      write_as(&scratch, "plain", info.format);
      reads_one_half(scratch_path(&scratch, "plain"));
      ++n_read;
    }
  }
  ck_assert_uint_ge(n_read, 50);
}

TEST(audio_that_has_to_be_decoded_is_refused)
{
  static const int formats[] = {
    SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM,
    SF_FORMAT_WAV | SF_FORMAT_GSM610,    SF_FORMAT_WAV | SF_FORMAT_ULAW,
    SF_FORMAT_WAVEX | SF_FORMAT_ALAW,    SF_FORMAT_W64 | SF_FORMAT_IMA_ADPCM,
    SF_FORMAT_RF64 | SF_FORMAT_ALAW,     SF_FORMAT_AIFF | SF_FORMAT_IMA_ADPCM,
    SF_FORMAT_AIFF | SF_FORMAT_ULAW,     SF_FORMAT_AU | SF_FORMAT_G721_32,
    SF_FORMAT_CAF | SF_FORMAT_ALAC_24,   SF_FORMAT_CAF | SF_FORMAT_ALAW,
    SF_FORMAT_OGG | SF_FORMAT_VORBIS,    SF_FORMAT_OGG | SF_FORMAT_OPUS,
    SF_FORMAT_VOC | SF_FORMAT_PCM_16,    SF_FORMAT_NIST | SF_FORMAT_PCM_16,
    SF_FORMAT_PAF | SF_FORMAT_PCM_24,    SF_FORMAT_SVX | SF_FORMAT_PCM_16,
    SF_FORMAT_MAT5 | SF_FORMAT_DOUBLE,   SF_FORMAT_SDS | SF_FORMAT_PCM_16,
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  for (unsigned f = 0; f < ARRAY_LEN(formats); ++f) {
    write_as(&scratch, "coded", formats[f]);
    const int fd = open(scratch_path(&scratch, "coded"), O_RDONLY | O_CLOEXEC);
    ck_assert_msg(!audio_is_plain(fd), "%x", (unsigned)formats[f]); // before libsndfile opens it
    close(fd);
    refuses(scratch_path(&scratch, "coded"));
  }
}

// Chunks before the data are skipped as libsndfile does, also chunks of odd length.
TEST(the_format_chunk_may_follow_other_chunks)
{
  static const unsigned char riff[] = "RIFF\x34\0\0\0"
                                      "WAVE"
                                      "junk\3\0\0\0"
                                      "xyz\0" //
                                      "fmt \x10\0\0\0"
                                      "\1\0\1\0"
                                      "\x80\xBB\0\0"
                                      "\0\x77\1\0"
                                      "\2\0\x10\0" //
                                      "data\4\0\0\0"
                                      "\0\x40\0\0";
  static const unsigned char w64[] = "riff\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\4\xC1\0\0"
                                     "\xA0\0\0\0\0\0\0\0"
                                     "wave\xF3\xAC\xD3\x11\x8C\xD1\0\xC0\x4F\x8E\xDB\x8A"
                                     "junk\xF3\xAC\xD3\x11\x8C\xD1\0\xC0\x4F\x8E\xDB\x8A"
                                     "\x1B\0\0\0\0\0\0\0"
                                     "xyz\0\0\0\0\0"
                                     "fmt \xF3\xAC\xD3\x11\x8C\xD1\0\xC0\x4F\x8E\xDB\x8A"
                                     "\x28\0\0\0\0\0\0\0"
                                     "\1\0\1\0"
                                     "\x80\xBB\0\0"
                                     "\0\x77\1\0"
                                     "\2\0\x10\0"
                                     "data\xF3\xAC\xD3\x11\x8C\xD1\0\xC0\x4F\x8E\xDB\x8A"
                                     "\x1C\0\0\0\0\0\0\0"
                                     "\0\x40\0\0";
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "late.wav", riff, sizeof(riff) - 1U);
  reads_one_half(scratch_path(&scratch, "late.wav"));
  scratch_write(&scratch, "late.w64", w64, sizeof(w64) - 1U);
  reads_one_half(scratch_path(&scratch, "late.w64"));
}

// libsndfile uses the last of two such chunks.
TEST(a_header_that_contradicts_itself_is_refused)
{
  static const unsigned char bytes[] = "FORM\0\0\0\x68"
                                       "AIFC"
                                       "COMM\0\0\0\x18"
                                       "\0\1\0\0\0\4\0\x10\x40\x0E\xBB\x80\0\0\0\0\0\0"
                                       "NONE\0\0"
                                       "COMM\0\0\0\x18"
                                       "\0\1\0\0\0\4\0\x10\x40\x0E\xBB\x80\0\0\0\0\0\0"
                                       "ulaw\0\0"
                                       "SSND\0\0\0\x0C"
                                       "\0\0\0\0\0\0\0\0"
                                       "\1\2\3\4";
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "two.aiff", bytes, sizeof(bytes) - 1U);
  refuses(scratch_path(&scratch, "two.aiff"));
}

static uint64_t
missing_frames(const char* const path)
{
  AudioReader* reader = NULL;
  OK(audio_reader_open(path, &reader, &error));
  const uint64_t missing = audio_reader_missing(reader);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(audio_reader_check_whole(reader, &error), missing ? STATUS_FILE : STATUS_OK);
  audio_reader_close(reader);
  return missing;
}

/// Of 4800 frames, 1000 are left when the last 3800, and 1 byte, are cut off.
TEST(a_file_shorter_than_its_header_says_is_truncated)
{
  static const struct {
    int format;
    unsigned frame_bytes;
  } kinds[] = { { SF_FORMAT_WAV | SF_FORMAT_PCM_16, 2 },
                { SF_FORMAT_WAV | SF_FORMAT_FLOAT, 4 },
                { SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, 3 },
                { SF_FORMAT_WAV | SF_ENDIAN_BIG | SF_FORMAT_PCM_16, 2 },
                { SF_FORMAT_RF64 | SF_FORMAT_DOUBLE, 8 },
                { SF_FORMAT_W64 | SF_FORMAT_PCM_32, 4 },
                { SF_FORMAT_AIFF | SF_FORMAT_PCM_S8, 1 },
                { SF_FORMAT_AU | SF_FORMAT_PCM_16, 2 },
                { SF_FORMAT_CAF | SF_FORMAT_PCM_16, 2 } };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "cut");
  for (unsigned k = 0; k < ARRAY_LEN(kinds); ++k) {
    write_as(&scratch, "cut", kinds[k].format);
    ck_assert_uint_eq(missing_frames(path), 0);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const off_t length = lseek(fd, 0, SEEK_END);
    close(fd);
    ck_assert_int_eq(truncate(path, length - 3800 * (off_t)kinds[k].frame_bytes - 1), 0);
    FxFile* file = NULL;
    Error error = { STATUS_OK, "" };
    ck_assert_int_eq(audio_file_load(NULL, path, 48000.0, &file, &error), STATUS_FILE);
    if (strstr(error.text, "truncated")) { // otherwise libsndfile refuses it
      ck_assert_uint_eq(missing_frames(path), 3801);
      assert_says(error.text, "of the 4800 frames");
    } else {
      ck_assert_int_eq(kinds[k].format & SF_FORMAT_TYPEMASK, SF_FORMAT_CAF);
    }
  }
}

/// A program that writes into a pipe does not know the length for the header.
TEST(an_unknown_length_is_not_checked)
{
  static const unsigned char unknown[][4] = {
    { 0xFF, 0xFF, 0xFF, 0xFF }, { 0x00, 0xF0, 0xFF, 0x7F }, { 0x00, 0x00, 0x00, 0x80 }, { 0 }
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "pipe.wav");
  for (unsigned u = 0; u < ARRAY_LEN(unknown); ++u) {
    write_as(&scratch, "pipe.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, unknown[u], 4, 40), 4);
    ck_assert_int_eq(pwrite(fd, "\x08\0\0", 4, 4), 4); // the recorder did not update it
    close(fd);
    ck_assert_uint_eq(missing_frames(path), 0);
    reads_one_half(path);
  }
}

SUITE_MAIN("audio_plain")
