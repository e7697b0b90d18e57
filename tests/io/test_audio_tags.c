// SPDX-License-Identifier: GPL-3.0-or-later
// Tags are copied from a file to a file of any format that can store them; the others are counted.

#include "io/file/audio_file.h"
#include "io/file/audio_tags.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* const texts[] = {
  [SF_STR_TITLE] = "T\xC3\xA4nze", [SF_STR_COPYRIGHT] = "(c) 2020",
  [SF_STR_ARTIST] = "An artist",   [SF_STR_COMMENT] = "Two lines:\nthis is the second",
  [SF_STR_DATE] = "2020-02-29",    [SF_STR_ALBUM] = "Odd",
  [SF_STR_LICENSE] = "CC0",        [SF_STR_TRACKNUMBER] = "7",
  [SF_STR_GENRE] = "Noise",
};

static void
write_tagged(const char* const path, const int format)
{
  static const float silence[2000] = { 0.5F };
  SF_INFO info = { .samplerate = 48000, .channels = 1, .format = format };
  SNDFILE* const file = sf_open(path, SFM_WRITE, &info);
  ck_assert_msg(file, "%s", sf_strerror(NULL));
  for (int tag = SF_STR_FIRST; tag <= SF_STR_LAST; ++tag) {
    if ((size_t)tag < ARRAY_LEN(texts) && texts[tag]) {
      sf_set_string(file, tag, texts[tag]);
    }
  }
  ck_assert_int_eq(sf_writef_float(file, silence, 2000), 2000);
  sf_close(file);
}

/// Copy tags as `render` does; returns the number of lost tags.
static uint32_t
copy(const char* const from, const char* const to)
{
  AudioReader* reader = NULL;
  AudioWriter* writer = NULL;
  AudioFormat format;
  Error error = { STATUS_OK, "" };
  float samples[2000];
  float* const rows[] = { samples };
  uint32_t n = 0;
  uint32_t n_lost = 0;
  ck_assert_msg(!audio_reader_open(from, &reader, &error), "%s", error.text);
  ck_assert_msg(!audio_reader_read(reader, rows, 2000, &n, &error), "%s", error.text);
  ck_assert_int_eq(audio_format_from(to, NULL, &format, &error), STATUS_OK);
  ck_assert_msg(!audio_writer_open(to, format, 48000.0, 1, &writer, &error), "%s", error.text);
  ck_assert_int_eq(audio_writer_copy_tags(writer, reader, &n_lost, &error), STATUS_OK);
  ck_assert_int_eq(audio_writer_write(writer, (const float* const*)rows, n, &error), STATUS_OK);
  ck_assert_msg(!audio_writer_commit(writer, &error), "%s", error.text);
  audio_reader_close(reader);
  return n_lost;
}

TEST(tags_are_kept_between_formats)
{
  static const int from[] = { SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_PCM_24,
                              SF_FORMAT_WAVEX | SF_FORMAT_FLOAT,
                              SF_FORMAT_AIFF | SF_FORMAT_PCM_16 };
  static const char* const to[] = { "b.wav", "b.rf64", "b.flac", "b.w64" };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  for (unsigned f = 0; f < ARRAY_LEN(from) * ARRAY_LEN(to); ++f) {
    const char* const in = scratch_path(&scratch, "a");
    const char* const out = scratch_path(&scratch, to[f % ARRAY_LEN(to)]);
    write_tagged(in, from[f / ARRAY_LEN(to)]);
    uint32_t n_lost = copy(in, out);
    SF_INFO info = { 0 };
    SNDFILE* const source = sf_open(in, SFM_READ, &info);
    SNDFILE* const file = sf_open(out, SFM_READ, &info);
    ck_assert_msg(file, "%s: %s", out, sf_strerror(NULL));
    ck_assert_int_eq(info.frames, 2000);
    for (int tag = SF_STR_FIRST; tag <= SF_STR_LAST; ++tag) {
      const char* const before = sf_get_string(source, tag);
      const char* const after = sf_get_string(file, tag);
      if (before && !after) {
        ck_assert_msg(n_lost-- > 0, "%s: tag %d is lost without a word", out, tag);
        ck_assert(f % ARRAY_LEN(to) == 3U || tag == SF_STR_LICENSE);
      } else if (before) {
        ck_assert_str_eq(before, after);
      }
    }
    ck_assert_uint_eq(n_lost, 0);
    sf_close(file);
    sf_close(source);
  }
}

static AudioTags
scan(const Scratch* const scratch, const char* const bytes, const size_t n_bytes)
{
  scratch_write(scratch, "bytes", bytes, n_bytes);
  AudioTags tags = { { NULL }, 0 };
  SCOPED_FD const int fd = open(scratch_path(scratch, "bytes"), O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(audio_tags_scan(fd, &tags, NULL), STATUS_OK);
  return tags;
}

/// A length of four bytes, and a text.
static size_t
put_text(char* const to, const char* const text)
{
  const size_t length = strlen(text);
  memcpy(to, (const unsigned char[]){ (unsigned char)length, 0, 0, 0 }, 4);
  memcpy(to + 4, text, length);
  return 4U + length;
}

TEST(flac_has_tags_under_other_names)
{
  static const char* const comments[] = { "description=hey", "Track=7", "MOOD=", "comment=two",
                                          "x" };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  char bytes[256] = "fLaC\0\0\0\4info\x84\0\0";
  size_t n = 16;
  n += put_text(bytes + n, "encoder of this test");
  memcpy(bytes + n, "\5\0\0\0", 4);
  n += 4;
  for (unsigned c = 0; c < ARRAY_LEN(comments); ++c) {
    n += put_text(bytes + n, comments[c]);
  }
  bytes[15] = (char)(n - 16U);
  AudioTags tags = scan(&scratch, bytes, n);
  ck_assert_str_eq(tags.texts[SF_STR_COMMENT], "hey");
  ck_assert_str_eq(tags.texts[SF_STR_TRACKNUMBER], "7");
  ck_assert_uint_eq(tags.n_other, 2); // MOOD, and the second comment
  audio_tags_clear(&tags);
  for (size_t cut = 0; cut <= n; ++cut) { // every length, and lengths beyond the file
    tags = scan(&scratch, bytes, cut ? cut : n);
    audio_tags_clear(&tags);
  }
  for (size_t at = 12; at < n; ++at) {
    bytes[at] = (char)~bytes[at];
    tags = scan(&scratch, bytes, n);
    audio_tags_clear(&tags);
    bytes[at] = (char)~bytes[at];
  }
}

TEST(info_has_tags_under_other_names_and_in_latin_1)
{
  static const char wave[] = "RIFF\x64\0\0\0WAVE"
                             "LIST\4\0\0\0adtl"
                             "LIST\x32\0\0\0INFO"
                             "INAM\6\0\0\0T\xE4nze\0"
                             "IPRT\1\0\0\0"
                             "7\0"
                             "ITCH\3\0\0\0me\0\0"
                             "ICMT\0\0\0\0";
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const size_t n = sizeof(wave) - 1U;
  AudioTags tags = scan(&scratch, wave, n);
  ck_assert_str_eq(tags.texts[SF_STR_TITLE], "T\xC3\xA4nze");
  ck_assert_str_eq(tags.texts[SF_STR_TRACKNUMBER], "7");
  ck_assert_ptr_null(tags.texts[SF_STR_COMMENT]);
  ck_assert_uint_eq(tags.n_other, 1); // ITCH
  audio_tags_clear(&tags);
  for (size_t cut = 1; cut < n; ++cut) {
    tags = scan(&scratch, wave, cut);
    audio_tags_clear(&tags);
  }
}

TEST(a_tag_of_any_length_leaves_a_file_that_can_be_read)
{
  enum { LONG = 300000 };
  static char text[LONG + 64U];
  static const char* const to[] = { "b.wav", "b.rf64", "b.flac" };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const in = scratch_path(&scratch, "a.wav");
  write_tagged(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
  memset(text, 'x', sizeof(text));
  memcpy(text, "LIST\xEC\x93\4\0INFOIKEY\xE0\x93\4\0", 20); // 300000 of one letter
  for (unsigned t = 0; t < ARRAY_LEN(to); ++t) {
    FILE* const file = fopen(in, "ae");
    memcpy(text + 12, t ? "IART" : "IKEY", 4);
    ck_assert_uint_eq(fwrite(text, 1, LONG + 20U, file), LONG + 20U);
    fclose(file);
    const char* const out = scratch_path(&scratch, to[t]);
    (void)copy(in, out);
    AudioReader* reader = NULL;
    Error error = { STATUS_OK, "" };
    ck_assert_msg(!audio_reader_open(out, &reader, &error), "%s", error.text);
    ck_assert_uint_eq(audio_reader_frames(reader), 2000);
    audio_reader_close(reader);
  }
}

SUITE_MAIN("audio_tags")
