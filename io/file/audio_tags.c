// SPDX-License-Identifier: GPL-3.0-or-later
// Tags of audio files; see audio_tags.h.

#include "audio_tags.h"

#include "audio_plain.h"

#include "engine/base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_BYTES (1U << 20U) // of the block or list that is read
#define MAX_TEXT  8192U       // ten of them fit into libsndfile's header, which ends at 100 kB
#define N_WRITTEN 10U         // rows of `names` that are written

/// First each tag with the name that is written, then the other names that are read.
static const struct {
  int tag;
  const char* flac;
  const char* info; ///< "" if INFO has no name for it
} names[] = {
  { SF_STR_TITLE, "TITLE", "INAM" },
  { SF_STR_COPYRIGHT, "COPYRIGHT", "ICOP" },
  { SF_STR_SOFTWARE, "SOFTWARE", "ISFT" },
  { SF_STR_ARTIST, "ARTIST", "IART" },
  { SF_STR_COMMENT, "COMMENT", "ICMT" },
  { SF_STR_DATE, "DATE", "ICRD" },
  { SF_STR_ALBUM, "ALBUM", "IPRD" },
  { SF_STR_LICENSE, "LICENSE", "" },
  { SF_STR_TRACKNUMBER, "TRACKNUMBER", "ITRK" },
  { SF_STR_GENRE, "GENRE", "IGNR" },
  { SF_STR_SOFTWARE, "ENCODER", "" },
  { SF_STR_COMMENT, "DESCRIPTION", "" },
  { SF_STR_TRACKNUMBER, "TRACK", "IPRT" },
};

static uint32_t
little(const unsigned char* const bytes)
{
  return bytes[0] | (uint32_t)bytes[1] << 8U | (uint32_t)bytes[2] << 16U |
         (uint32_t)bytes[3] << 24U;
}

static bool
is_utf8(const char* text)
{
  for (size_t n = 0; (n = text_utf8_bytes(text)); text += n) {
  }
  return !*text;
}

/// A copy as UTF-8, NULL when out of memory.
static char*
copy_text(const unsigned char* const bytes, const size_t n_bytes)
{
  char* const plain = strndup((const char*)bytes, n_bytes);
  if (!plain || is_utf8(plain)) {
    return plain;
  }
  char* const text = malloc(2U * n_bytes + 1U);
  char* at = text;
  for (const char* c = plain; text && *c; ++c) { // U+0080 to U+00FF are two bytes
    const unsigned char byte = (unsigned char)*c;
    if (byte >= 0x80U) {
      *at++ = (char)(0xC0U | byte >> 6U);
    }
    *at++ = (char)(byte >= 0x80U ? 0x80U | (byte & 0x3FU) : byte);
  }
  if (text) {
    *at = '\0';
  }
  free(plain);
  return text;
}

static Status
keep(AudioTags* const tags, const int tag, const unsigned char* const bytes, const size_t n_bytes)
{
  if (tag < 0 || tags->texts[tag] || n_bytes > MAX_TEXT / 2U) { // Latin-1 may double its length
    ++tags->n_other;
    return STATUS_OK;
  }
  tags->texts[tag] = copy_text(bytes, n_bytes);
  return tags->texts[tag] ? STATUS_OK : STATUS_NO_MEM;
}

// ---- FLAC ----

static int
tag_of_flac(const unsigned char* const name, const size_t length)
{
  for (uint32_t i = 0; i < ARRAY_LEN(names); ++i) {
    if (strlen(names[i].flac) == length && !strncasecmp(names[i].flac, (const char*)name, length)) {
      return names[i].tag;
    }
  }
  return -1;
}

/// The vendor's name and the number of comments, then for each a length and "NAME=text".
static Status
read_comments(const unsigned char* const block, const size_t n_bytes, AudioTags* const tags)
{
  Status status = STATUS_OK;
  if (n_bytes < 8U || little(block) > n_bytes - 8U) {
    return STATUS_OK;
  }
  size_t at = 4U + little(block);
  uint32_t n_left = little(block + at);
  for (at += 4U; !status && n_left && n_bytes - at >= 4U; --n_left) {
    const size_t length = little(block + at);
    const unsigned char* const comment = block + at + 4U;
    if (length > n_bytes - at - 4U) {
      break;
    }
    const unsigned char* const sign = memchr(comment, '=', length);
    if (sign) {
      const size_t n_name = (size_t)(sign - comment);
      status = keep(tags, tag_of_flac(comment, n_name), sign + 1, length - n_name - 1U);
    }
    at += 4U + length;
  }
  return status;
}

// ---- INFO ----

static int
tag_of_info(const unsigned char name[const 4])
{
  for (uint32_t i = 0; i < ARRAY_LEN(names); ++i) {
    if (names[i].info[0] && !memcmp(names[i].info, name, 4)) {
      return names[i].tag;
    }
  }
  return -1;
}

/// Behind the word "INFO", each tag has a name of four letters, a length, and a text padded with
/// zeros.
static Status
read_info(const unsigned char* const list, const size_t n_bytes, AudioTags* const tags)
{
  Status status = STATUS_OK;
  for (size_t at = 4U; !status && at + 8U <= n_bytes;) {
    const size_t said = little(list + at + 4U);
    const size_t length = said < n_bytes - at - 8U ? said : n_bytes - at - 8U;
    const unsigned char* const text = list + at + 8U;
    const size_t n = strnlen((const char*)text, length);
    if (n) {
      status = keep(tags, tag_of_info(list + at), text, n);
    }
    at += 8U + length + (length & 1U);
  }
  return status;
}

// ---- either ----

Status
audio_tags_scan(const int fd, AudioTags* const tags, Error* const error)
{
  uint64_t at = 0;
  uint64_t n_said = 0;
  const AudioTagBlock kind = audio_find_tags(fd, &at, &n_said);
  const size_t n_wanted = n_said < MAX_BYTES ? (size_t)n_said : MAX_BYTES;
  unsigned char* const block = kind == TAGS_NONE ? NULL : malloc(n_wanted + 1U);
  const ssize_t n = block ? pread(fd, block, n_wanted, (off_t)at) : 0;
  Status status = kind != TAGS_NONE && !block ? STATUS_NO_MEM : STATUS_OK;
  if (!status && n > 0) {
    status = kind == TAGS_FLAC ? read_comments(block, (size_t)n, tags)
                               : read_info(block, (size_t)n, tags);
  }
  free(block);
  return status ? error_set(error, STATUS_NO_MEM, "out of memory") : STATUS_OK;
}

void
audio_tags_add(AudioTags* const tags, SNDFILE* const file)
{
  for (int tag = SF_STR_FIRST; tag <= SF_STR_LAST; ++tag) {
    const char* const text = sf_get_string(file, tag);
    if (!tags->texts[tag] && text && *text && strlen(text) <= MAX_TEXT) {
      tags->texts[tag] = strdup(text);
    }
  }
}

void
audio_tags_clear(AudioTags* const tags)
{
  for (int tag = 0; tag < AUDIO_N_TAGS; ++tag) {
    free(tags->texts[tag]);
  }
  *tags = (AudioTags){ { NULL }, 0 };
}

static size_t
put(unsigned char* const to, const char* const name, const size_t number)
{
  memcpy(to, name, 4);
  for (unsigned i = 0; i < 4U; ++i) {
    to[4U + i] = (unsigned char)(number >> 8U * i);
  }
  return 8;
}

Status
audio_tags_as_list(const AudioTags* const tags, unsigned char** const out, size_t* const n_bytes,
                   uint32_t* const n_lost)
{
  size_t room = 12U;
  for (int tag = 0; tag < AUDIO_N_TAGS; ++tag) {
    room += tags->texts[tag] ? strlen(tags->texts[tag]) + 10U : 0U;
  }
  unsigned char* const list = calloc(1, room);
  if (!list) {
    return STATUS_NO_MEM;
  }
  size_t at = 12U;
  for (uint32_t i = 0; i < N_WRITTEN; ++i) {
    const char* const text = tags->texts[names[i].tag];
    if (text && names[i].info[0]) {
      const size_t length = strlen(text) + 1U;
      at += put(list + at, names[i].info, length);
      memcpy(list + at, text, length);
      at += length + (length & 1U);
    } else {
      *n_lost += text != NULL;
    }
  }
  if (at == 12U) {
    free(list);
    return STATUS_OK;
  }
  put(list, "LIST", at - 8U);
  memcpy(list + 8, "INFO", 4);
  *n_bytes = at;
  *out = list;
  return STATUS_OK;
}
