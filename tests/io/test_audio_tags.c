// SPDX-License-Identifier: GPL-3.0-or-later
// Tags are copied between files of all formats that can store them; tags that are lost are counted.

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
  float samples[2000];
  float* const rows[] = { samples };
  uint32_t n = 0;
  uint32_t n_lost = 0;
  OK(audio_reader_open(from, &reader, &error));
  OK(audio_reader_read(reader, rows, 2000, &n, &error));
  OK(audio_format_from(to, NULL, &format, &error));
  OK(audio_writer_open(to, format, 48000.0, 1, &writer, &error));
  OK(audio_writer_copy_tags(writer, reader, &n_lost, &error));
  OK(audio_writer_write(writer, (const float* const*)rows, n, &error));
  OK(audio_writer_commit(writer, &error));
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
  AudioTags tags = { .n_other = 0 };
  SCOPED_FD const int fd = open(scratch_path(scratch, "bytes"), O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(audio_tags_scan(fd, &tags, NULL), STATUS_OK);
  return tags;
}

/// Append a length of four bytes and a text.
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
  bytes[12] = 4;                         // not the last block
  memcpy(bytes + n, "\x86\0\0\4PNG", 8); // a picture
  tags = scan(&scratch, bytes, n + 8U);
  ck_assert_uint_eq(tags.n_other, 3);
  audio_tags_clear(&tags);
  bytes[12] = '\x84';
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
  ck_assert_uint_eq(tags.n_chunks, 2); // ITCH, adtl
  ck_assert_uint_eq(tags.n_other, 0);
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
    OK(audio_reader_open(out, &reader, &error));
    ck_assert_uint_eq(audio_reader_frames(reader), 2000);
    audio_reader_close(reader);
  }
}

// ---- chunks of RIFF files ----

enum {
  BEXT = 602 + 24,
  CART = 2048 + 6,
  CUE = 4 + 24,
  ADTL = 4 + 16,
  SMPL = 36 + 24,
  INFO = 4 + 12
};

/// Append a chunk whose content begins with `begins`; returns its content.
static unsigned char*
put_chunk(unsigned char* const file, size_t* const n, const char* const name, const size_t n_bytes,
          const char* const begins)
{
  unsigned char* const at = file + *n;
  memset(at, 0, 8U + n_bytes + n_bytes % 2U);
  memcpy(at, name, 4);
  at[4] = (unsigned char)(n_bytes % 256U);
  at[5] = (unsigned char)(n_bytes / 256U);
  memcpy(at + 8, begins, strlen(begins));
  *n += 8U + n_bytes + n_bytes % 2U;
  return at + 8;
}

/// Write a file of 2000 frames with six chunks of metadata, most of them after the samples.
/// `is_truncated`: they all precede the samples, and the last frame is missing.
static void
write_broadcast(const Scratch* const scratch, const bool is_truncated)
{
  static unsigned char file[16384];
  size_t n = 12;
  memcpy(file, "RIFF\0\0\0\0WAVE", 12);
  memcpy(put_chunk(file, &n, "fmt ", 16, "\1"),
         (const unsigned char[]){ 1, 0, 1, 0, 0x80, 0xBB, 0, 0, 0, 0x77, 1, 0, 2, 0, 16, 0 }, 16);
  unsigned char* const bext = put_chunk(file, &n, "bext", BEXT - 1, "A description");
  memcpy(bext + 256, "An originator", 13);
  memcpy(bext + 338, "\1\2\3\4\5", 5); // time reference
  bext[346] = 2;                       // version
  memset(bext + 348, 'U', 64);         // UMID
  memset(bext + 412, 9, 10);           // loudness
  memcpy(bext + 602, "A=PCM,F=48000,W=16\r\n", 20);
  memcpy(put_chunk(file, &n, "cart", CART - 1, "0101A title") + 680, "\0\x80", 2); // level
  put_chunk(file, &n, "JUNK", 28, "x");
  if (!is_truncated) {
    memset(put_chunk(file, &n, "data", 4000, "x"), 7, 4000);
  }
  unsigned char* const cue = put_chunk(file, &n, "cue ", CUE, "\1");
  memcpy(cue + 12, "data\0\0\0\0\x20\3\0\0\x90\1", 14); // at frame 400, byte 800
  put_chunk(file, &n, "LIST", ADTL, "adtllabl\7");
  put_chunk(file, &n, "smpl", SMPL, "x")[28] = 1; // one loop
  memcpy(put_chunk(file, &n, "LIST", INFO, "INFOIENG") + 8, "\4\0\0\0Eva", 7);
  if (is_truncated) {
    memset(put_chunk(file, &n, "data", 4000, "x"), 7, 4000);
    n -= 2U;
  }
  file[4] = (unsigned char)((n - 8U) % 256U);
  file[5] = (unsigned char)((n - 8U) / 256U);
  scratch_write(scratch, "a.wav", file, n);
}

/// The content of a chunk; NULL if the file lacks it.  `begins`: its first bytes.
static const unsigned char*
find_chunk(const char* const path, const char* const name, const size_t n_bytes,
           const char* const begins)
{
  static unsigned char file[65536];
  FILE* const stream = fopen(path, "re");
  const size_t n = fread(file, 1, sizeof(file), stream);
  fclose(stream);
  for (size_t at = 12; at + 8U + n_bytes <= n; ++at) {
    if (!memcmp(file + at, name, 4) && file[at + 4] == n_bytes % 256U &&
        file[at + 5] == n_bytes / 256U && !memcmp(file + at + 8, begins, strlen(begins))) {
      return file + at + 8;
    }
  }
  return NULL;
}

TEST(chunks_are_kept_from_riff_to_riff)
{
  static const char* const to[] = { "b.wav", "b.rf64" };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  for (unsigned t = 0; t < 2U * ARRAY_LEN(to); ++t) { // the second time from a copy
    char in[256];
    snprintf(in, sizeof(in), "%s", scratch_path(&scratch, t % 2U ? to[t / 2U] : "a.wav"));
    const char* const out = scratch_path(&scratch, t % 2U ? "c.wav" : to[t / 2U]);
    write_broadcast(&scratch, false);
    ck_assert_uint_eq(copy(in, out), t % 2U ? 0U : 2U); // loudness of bext, level of cart
    const unsigned char* const bext = find_chunk(out, "bext", BEXT, "A description");
    ck_assert_ptr_nonnull(bext);
    ck_assert_mem_eq(bext + 256, "An originator", 14);
    ck_assert_mem_eq(bext + 338, "\1\2\3\4\5", 6);
    ck_assert_mem_eq(bext + 408, "UUUU\xFF\x7F\xFF\x7F\xFF\x7F\xFF\x7F\xFF\x7F", 15);
    ck_assert_mem_eq(bext + 602, "A=PCM,F=48000,W=16\r\n", 21);
    const unsigned char* const cart = find_chunk(out, "cart", CART, "0101A title");
    ck_assert_ptr_nonnull(cart);
    ck_assert_mem_eq(cart + 680, "\0\0\0\0", 4);
    const unsigned char* const cue = find_chunk(out, "cue ", CUE, "\1");
    ck_assert_ptr_nonnull(cue);
    ck_assert_mem_eq(cue + 12, "data\0\0\0\0\0\0\0\0\x90\1\0", 16);
    ck_assert_ptr_nonnull(find_chunk(out, "LIST", ADTL, "adtl"));
    ck_assert_ptr_nonnull(find_chunk(out, "smpl", SMPL, "x"));
    const unsigned char* const info = find_chunk(out, "LIST", INFO, "INFOIENG");
    ck_assert_ptr_nonnull(info);
    ck_assert_mem_eq(info + 8, "\4\0\0\0Eva", 8);

    SF_INFO about = { 0 };
    SNDFILE* const file = sf_open(out, SFM_READ, &about);
    ck_assert_msg(file, "%s", sf_strerror(NULL));
    ck_assert_int_eq(about.frames, 2000);
    SF_BROADCAST_INFO broadcast;
    ck_assert(sf_command(file, SFC_GET_BROADCAST_INFO, &broadcast, sizeof(broadcast)));
    ck_assert_uint_eq(broadcast.time_reference_low, 0x04030201);
    ck_assert_uint_eq(broadcast.time_reference_high, 5);
    SF_CUES cues;
    if (sf_command(file, SFC_GET_CUE, &cues, sizeof(cues))) {
      ck_assert_uint_eq(cues.cue_count, 1);
      ck_assert_uint_eq(cues.cue_points[0].sample_offset, 400);
    } else {
      ck_assert_str_eq(strrchr(out, '.'), ".rf64"); // libsndfile does not read them there
    }
    sf_close(file);
  }
}

TEST(chunks_that_the_output_cannot_hold_are_counted)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const in = scratch_path(&scratch, "a.wav");
  write_broadcast(&scratch, false);
  ck_assert_uint_eq(copy(in, scratch_path(&scratch, "b.flac")), 6);
  ck_assert_uint_eq(copy(in, scratch_path(&scratch, "b.w64")), 6);

  SF_CUES cues = { .cue_count = 1, .cue_points = { { .sample_offset = 5 } } };
  SF_INFO info = { .samplerate = 48000, .channels = 1, .format = SF_FORMAT_AIFF | SF_FORMAT_FLOAT };
  SNDFILE* const file = sf_open(in, SFM_WRITE, &info);
  ck_assert(sf_command(file, SFC_SET_CUE, &cues, sizeof(cues)));
  ck_assert_int_eq(sf_writef_float(file, (const float[]){ 0.5F }, 1), 1);
  sf_close(file);
  ck_assert_uint_eq(copy(in, scratch_path(&scratch, "b.wav")), 1); // MARK
}

TEST(positions_of_a_truncated_file_are_counted_as_lost)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const out = scratch_path(&scratch, "b.wav");
  write_broadcast(&scratch, true);
  ck_assert_uint_eq(copy(scratch_path(&scratch, "a.wav"), out), 2 + 3);
  ck_assert_ptr_null(find_chunk(out, "cue ", CUE, ""));
  ck_assert_ptr_null(find_chunk(out, "LIST", ADTL, "adtl"));
  ck_assert_ptr_null(find_chunk(out, "smpl", SMPL, ""));
  ck_assert_ptr_nonnull(find_chunk(out, "bext", BEXT, ""));
}

TEST(a_damaged_chunk_is_left_out)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  char path[256];
  snprintf(path, sizeof(path), "%s", scratch_path(&scratch, "a.wav"));
  write_broadcast(&scratch, false);
  const unsigned char* const cue = find_chunk(path, "cue ", CUE, "\1");
  const unsigned char* const bext = find_chunk(path, "bext", BEXT - 1, "");
  const unsigned char* const file = find_chunk(path, "fmt ", 16, "") - 20;
  SCOPED_FD const int fd = open(path, O_RDWR | O_CLOEXEC);
  ck_assert_int_eq(pwrite(fd, "\2", 1, cue - file), 1); // two points in the room of one
  ck_assert_uint_eq(copy(path, scratch_path(&scratch, "b.wav")), 2 + 1);
  ck_assert_int_eq(pwrite(fd, "\1", 1, cue - file), 1);
  ck_assert_int_eq(pwrite(fd, "slnt", 4, cue + 12 - file), 4);
  ck_assert_uint_eq(copy(path, scratch_path(&scratch, "b.wav")), 2 + 1);
  ck_assert_int_eq(pwrite(fd, "\0\0\0\0\0\0\0\0\0", 10, bext + 412 - file), 10); // no loudness
  ck_assert_uint_eq(copy(path, scratch_path(&scratch, "b.wav")), 1 + 1);
  ck_assert_int_eq(pwrite(fd, "bxet", 4, bext - 8 - file), 4);
  ck_assert_uint_eq(copy(path, scratch_path(&scratch, "b.wav")), 1 + 1 + 1);
}

SUITE_MAIN("audio_tags")
