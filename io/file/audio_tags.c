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

#define MAX_BYTES (1U << 20U) // limit for the block or list
#define MAX_TEXT  8192U
#define MAX_ALL   90000U // bytes that are written; libsndfile reads headers of at most 100 kB
#define N_WRITTEN 10U    // rows of `names` that are written

#define BEXT_BYTES    602U // without the coding history
#define BEXT_VERSION  346U
#define BEXT_LOUDNESS 412U // five numbers of 16 bits
#define CART_BYTES    2048U
#define CART_LEVEL    680U // dwLevelReference
#define CUE_BYTES     24U  // of a point

/// Names of tags: first the name to write for each tag, then other names to read.
static const struct {
  int tag;
  const char* flac;
  const char* info; ///< "": INFO has no name for the tag
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
  return (uint32_t)audio_number(bytes, 4, false);
}

static bool
is_utf8(const char* text)
{
  for (size_t n = 0; (n = text_utf8_bytes(text)); text += n) {
  }
  return !*text;
}

/// Copy a text as UTF-8; NULL if out of memory.
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

/// Read a VORBIS_COMMENT block: the vendor's name, the number of comments, then the length and
/// "NAME=text" of each.
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

/// Keep a chunk for RIFF files.  `bytes` (n_bytes): with the chunk's header.  An odd length becomes
/// even, because libsndfile does not skip the padding of all chunks of RF64.
static Status
keep_chunk(AudioTags* const tags, const unsigned char* const bytes, const size_t n_bytes,
           const bool is_info, const bool has_positions)
{
  if (tags->n_chunks == AUDIO_N_CHUNKS) {
    ++tags->n_other;
    return STATUS_OK;
  }
  const size_t n_even = n_bytes + n_bytes % 2U;
  unsigned char* const copy = calloc(1, n_even);
  if (!copy) {
    return STATUS_NO_MEM;
  }
  memcpy(copy, bytes, n_bytes);
  audio_put_chunk(copy, (const char*)bytes, (uint32_t)n_even - 8U);
  tags->chunks[tags->n_chunks].bytes = copy;
  tags->chunks[tags->n_chunks].n_bytes = n_even;
  tags->chunks[tags->n_chunks].is_info = is_info;
  tags->chunks[tags->n_chunks].has_positions = has_positions;
  ++tags->n_chunks;
  return STATUS_OK;
}

/// Read an INFO list.  After the word "INFO", each tag has a name of four letters, a length, and a
/// text padded with zeros.
static Status
read_info(const unsigned char* const list, const size_t n_bytes, AudioTags* const tags)
{
  Status status = STATUS_OK;
  for (size_t at = 4U; !status && at + 8U <= n_bytes;) {
    const size_t said = little(list + at + 4U);
    const size_t length = said < n_bytes - at - 8U ? said : n_bytes - at - 8U;
    const unsigned char* const text = list + at + 8U;
    const size_t n = strnlen((const char*)text, length);
    const int tag = tag_of_info(list + at);
    if (n && tag < 0 && said == length && length <= MAX_TEXT / 2U) {
      status = keep_chunk(tags, list + at, 8U + length, true, false);
    } else if (n) {
      status = keep(tags, tag, text, n);
    }
    at += 8U + length + (length & 1U);
  }
  return status;
}

// ---- chunks ----

/// Adapt cue points to the output: each counts from the start of the samples.  Returns false if the
/// chunk is damaged, or if a point is in another chunk, such as silence.
static bool
clean_cues(unsigned char* const content, const size_t n_bytes)
{
  const size_t n = n_bytes >= 4U ? little(content) : SIZE_MAX;
  if (n > (n_bytes - 4U) / CUE_BYTES) {
    return false;
  }
  for (size_t i = 0; i < n; ++i) {
    unsigned char* const chunk = content + 4U + i * CUE_BYTES + 8U;
    if (memcmp(chunk, "data", 4) != 0) {
      return false;
    }
    memset(chunk + 4, 0, 8); // dwChunkStart, dwBlockStart: in bytes
  }
  return true;
}

/// Keep a chunk whose content remains correct in the output.
static Status
sort_chunk(AudioTags* const tags, unsigned char* const chunk, const size_t n_bytes)
{
  unsigned char* const content = chunk + 8;
  const size_t n = n_bytes - 8U;
  const bool is_cue = !memcmp(chunk, "cue ", 4) && clean_cues(content, n);
  const bool is_labels = !memcmp(chunk, "LIST", 4) && n >= 4U && !memcmp(content, "adtl", 4);
  const bool has_positions = is_cue || is_labels || (!memcmp(chunk, "smpl", 4) && n >= 36U);
  if (has_positions || (!memcmp(chunk, "bext", 4) && n >= BEXT_BYTES) ||
      (!memcmp(chunk, "cart", 4) && n >= CART_BYTES)) {
    return keep_chunk(tags, chunk, n_bytes, false, has_positions);
  }
  ++tags->n_other;
  return STATUS_OK;
}

/// Set the loudness values of bext to "unknown" (0x7FFF), and the level reference of cart to 0,
/// because the rack changes both.  Returns 1 if a value is lost.  Zeros, which libsndfile writes,
/// do not count as values.
static uint32_t
forget_levels(unsigned char* const chunk)
{
  static const unsigned char no_loudness[10] = { 0xFF, 0x7F, 0xFF, 0x7F, 0xFF,
                                                 0x7F, 0xFF, 0x7F, 0xFF, 0x7F };
  static const unsigned char no_level[4] = { 0 };
  unsigned char* const content = chunk + 8;
  const bool is_bext = !memcmp(chunk, "bext", 4);
  const bool has_levels = is_bext ? content[BEXT_VERSION] >= 2U : memcmp(chunk, "cart", 4) == 0;
  unsigned char* const level = content + (is_bext ? BEXT_LOUDNESS : CART_LEVEL);
  const unsigned char* const none = is_bext ? no_loudness : no_level;
  const size_t n = is_bext ? sizeof(no_loudness) : sizeof(no_level);
  if (!has_levels || !memcmp(level, none, n)) {
    return 0;
  }
  const bool is_lost = level[0] || memcmp(level, level + 1, n - 1U) != 0;
  memcpy(level, none, n);
  return is_lost;
}

typedef struct Scan {
  int fd;
  AudioTags* tags;
  Status status;
} Scan;

static void
scan_chunk(void* const context, const AudioChunk* const chunk)
{
  Scan* const scan = context;
  const bool is_flac = chunk->kind == CHUNK_FLAC;
  if (scan->status) {
    return;
  }
  if (chunk->kind == CHUNK_OTHER || (is_flac && strcmp(chunk->name, "TAGS") != 0)) {
    ++scan->tags->n_other;
    return;
  }
  const size_t n_wanted = 8U + (chunk->n_bytes < MAX_BYTES ? (size_t)chunk->n_bytes : MAX_BYTES);
  unsigned char* const bytes = malloc(n_wanted + 1U);
  const ssize_t n = bytes ? pread(scan->fd, bytes, n_wanted, (off_t)chunk->at - 8) : 0;
  if (!bytes) {
    scan->status = STATUS_NO_MEM;
  } else if (n < 12) {
    ++scan->tags->n_other;
  } else if (is_flac) {
    scan->status = read_comments(bytes + 8, (size_t)n - 8U, scan->tags);
  } else if (!memcmp(bytes, "LIST", 4) && !memcmp(bytes + 8, "INFO", 4)) {
    scan->status = read_info(bytes + 8, (size_t)n - 8U, scan->tags);
  } else if ((size_t)n == 8U + chunk->n_bytes && (size_t)n <= MAX_ALL) {
    scan->status = sort_chunk(scan->tags, bytes, (size_t)n);
  } else {
    ++scan->tags->n_other;
  }
  free(bytes);
}

// ---- all formats ----

Status
audio_tags_scan(const int fd, AudioTags* const tags, Error* const error)
{
  Scan scan = { fd, tags, STATUS_OK };
  audio_visit_chunks(fd, scan_chunk, &scan);
  return scan.status ? error_set(error, scan.status, "out of memory") : STATUS_OK;
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
  for (uint32_t c = 0; c < tags->n_chunks; ++c) {
    free(tags->chunks[c].bytes);
  }
  *tags = (AudioTags){ .n_other = 0 };
}

/// Append the kept chunks, or the kept tags of the INFO list.  Returns the new length.
static size_t
put_chunks(const AudioTags* const tags, const bool is_info, const bool is_truncated,
           unsigned char* const all, size_t at, uint32_t* const n_lost)
{
  for (uint32_t c = 0; c < tags->n_chunks; ++c) {
    const size_t n = tags->chunks[c].n_bytes;
    if (tags->chunks[c].is_info != is_info) {
      continue;
    }
    if (at + n > MAX_ALL || (is_truncated && tags->chunks[c].has_positions)) {
      ++*n_lost;
      continue;
    }
    memcpy(all + at, tags->chunks[c].bytes, n);
    *n_lost += is_info ? 0U : forget_levels(all + at);
    at += n;
  }
  return at;
}

static size_t
put_texts(const AudioTags* const tags, unsigned char* const all, size_t at, uint32_t* const n_lost)
{
  for (uint32_t i = 0; i < N_WRITTEN; ++i) {
    const char* const text = tags->texts[names[i].tag];
    const size_t length = text ? strlen(text) + 1U : 0U;
    if (text && names[i].info[0] && at + 9U + length <= MAX_ALL) {
      memcpy(audio_put_chunk(all + at, names[i].info, (uint32_t)length), text, length);
      at += 8U + length + (length & 1U);
    } else {
      *n_lost += text != NULL;
    }
  }
  return at;
}

Status
audio_tags_as_chunks(const AudioTags* const tags, const bool is_truncated,
                     unsigned char** const out, size_t* const n_bytes, uint32_t* const n_lost)
{
  unsigned char* const all = calloc(1, MAX_ALL + 12U);
  if (!all) {
    return STATUS_NO_MEM;
  }
  const size_t list = put_chunks(tags, false, is_truncated, all, 0, n_lost);
  size_t end = put_texts(tags, all, list + 12U, n_lost);
  end = put_chunks(tags, true, is_truncated, all, end, n_lost);
  if (end > list + 12U) {
    memcpy(audio_put_chunk(all + list, "LIST", (uint32_t)(end - list) - 8U), "INFO", 4);
  }
  *n_bytes = end > list + 12U ? end : list;
  *out = all;
  return STATUS_OK;
}
