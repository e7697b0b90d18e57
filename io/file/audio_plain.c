// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the encoding and the number of samples from headers of audio files.  RIFF and WAVE: IBM and
// Microsoft, "Multimedia Programming Interface and Data Specifications 1.0" (1991); RF64: EBU Tech
// 3306; W64: Sony Pictures Digital; AIFF-C: Apple (1991); AU: Sun, audio_filehdr(3); CAF: Apple
// Core Audio Format Specification 1.0; FLAC: RFC 9639.

#include "audio_plain.h"

#include "engine/base/macros.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CHUNKS 256U // limit for the search

#define UNKNOWN_FIRST 0x7FFFF000U // lengths from here
#define UNKNOWN_LAST  0x80000000U // to here mean "unknown"

/// The chunk format of a container.
typedef struct Chunks {
  uint64_t first;        ///< Offset of the first chunk
  uint32_t header_bytes; ///< Size of a chunk's name (4 bytes, or a GUID that begins with them) and
                         ///< length
  bool is_big_endian;    ///< Byte order of the length and the content
  bool counts_header;    ///< The length includes the chunk's header
  uint32_t align;        ///< Alignment of the next chunk
} Chunks;

static const Chunks riff = { 12, 8, false, false, 2 };
static const Chunks iff = { 12, 8, true, false, 2 }; // RIFX and AIFF
static const Chunks w64 = { 40, 24, false, true, 8 };
static const Chunks caf = { 8, 12, true, false, 1 };

static bool
read_at(const int fd, const uint64_t offset, unsigned char* const bytes, const size_t n_bytes)
{
  return offset <= INT64_MAX && pread(fd, bytes, n_bytes, (off_t)offset) == (ssize_t)n_bytes;
}

uint64_t
audio_number(const unsigned char* const bytes, const uint32_t n_bytes, const bool is_big_endian)
{
  uint64_t value = 0;
  for (uint32_t i = 0; i < n_bytes; ++i) {
    value = value << 8U | bytes[is_big_endian ? i : n_bytes - 1U - i];
  }
  return value;
}

unsigned char*
audio_put_number(unsigned char* at, const uint64_t number, const uint32_t n_bytes)
{
  for (uint32_t i = 0; i < n_bytes; ++i) {
    *at++ = (unsigned char)(number >> 8U * i);
  }
  return at;
}

unsigned char*
audio_put_chunk(unsigned char* const at, const char* const name, const uint32_t n_bytes)
{
  memcpy(at, name, 4);
  return audio_put_number(at + 4, n_bytes, 4);
}

/// A place in a list of chunks.
typedef struct Cursor {
  int fd;
  const Chunks* chunks;
  uint64_t next;   ///< Offset of the next chunk
  uint32_t n_left; ///< Limit for the search
} Cursor;

/// Go to the next chunk.  Returns false at the end.
static bool
next_chunk(Cursor* const cursor, AudioChunk* const chunk)
{
  const Chunks* const chunks = cursor->chunks;
  const uint32_t length_at = chunks->header_bytes == 24U ? 16U : 4U;
  unsigned char header[24];
  if (!cursor->n_left || !read_at(cursor->fd, cursor->next, header, chunks->header_bytes)) {
    return false;
  }
  const uint64_t length =
      audio_number(header + length_at, chunks->header_bytes - length_at, chunks->is_big_endian);
  const uint64_t in_front = chunks->counts_header ? 0U : chunks->header_bytes;
  memcpy(chunk->name, header, 4);
  chunk->at = cursor->next + chunks->header_bytes;
  chunk->n_bytes = length;
  --cursor->n_left;
  if (length > INT64_MAX / 2 || in_front + length < chunks->header_bytes) {
    cursor->n_left = 0; // the last chunk
  }
  cursor->next += (in_front + length + chunks->align - 1U) / chunks->align * chunks->align;
  return true;
}

/// Find the content of the first chunk with a name.  Returns false if there is none.
static bool
find_chunk(const int fd, const Chunks* const chunks, const char* const name, uint64_t* const at,
           uint64_t* const n_bytes)
{
  Cursor cursor = { fd, chunks, chunks->first, MAX_CHUNKS };
  AudioChunk chunk = { 0 };
  while (next_chunk(&cursor, &chunk)) {
    *at = chunk.at;
    *n_bytes = chunk.n_bytes;
    if (!memcmp(chunk.name, name, 4)) {
      return true;
    }
  }
  return false;
}

/// True for WAVE_FORMAT_PCM and WAVE_FORMAT_IEEE_FLOAT, in the tag or in the GUID of
/// WAVE_FORMAT_EXTENSIBLE.
static bool
is_plain_wave(const int fd, const Chunks* const chunks)
{
  uint64_t at = 0;
  uint64_t n_bytes = 0;
  unsigned char format[26];
  if (!find_chunk(fd, chunks, "fmt ", &at, &n_bytes) || !read_at(fd, at, format, 2)) {
    return false;
  }
  uint64_t tag = audio_number(format, 2, chunks->is_big_endian);
  if (tag == 0xFFFE && read_at(fd, at, format, sizeof(format))) {
    tag = audio_number(format + 24, 2, chunks->is_big_endian);
  }
  return tag == 1U || tag == 3U;
}

/// AIFF has no encoding field; AIFF-C has one after the fields that both have.
static bool
is_plain_aiff(const int fd, const Chunks* const chunks)
{
  static const char codings[][5] = { "NONE", "twos", "sowt", "raw ", "in24", "in32",
                                     "42n1", "23ni", "fl32", "FL32", "fl64", "FL64" };
  uint64_t at = 0;
  uint64_t n_bytes = 0;
  unsigned char coding[4];
  if (!find_chunk(fd, chunks, "COMM", &at, &n_bytes)) {
    return false;
  }
  if (n_bytes < 22U) {
    return true;
  }
  bool is_plain = false;
  for (uint32_t c = 0; read_at(fd, at + 18U, coding, 4) && c < ARRAY_LEN(codings); ++c) {
    is_plain |= !memcmp(coding, codings[c], 4);
  }
  return is_plain;
}

/// Encodings 2 to 5 are PCM of 8 to 32 bits, 6 and 7 floats.
static bool
is_plain_au(const int fd, const Chunks* const chunks)
{
  (void)chunks; // the format has none
  unsigned char coding[4];
  const uint64_t code = read_at(fd, 12, coding, 4) ? audio_number(coding, 4, true) : 0U;
  return code >= 2U && code <= 7U;
}

/// The first chunk is "desc"; the encoding follows the rate.
static bool
is_plain_caf(const int fd, const Chunks* const chunks)
{
  unsigned char header[24];
  return read_at(fd, chunks->first, header, sizeof(header)) && !memcmp(header, "desc", 4) &&
         !memcmp(header + 20, "lpcm", 4);
}

// ---- where the samples end ----

/// The end of a chunk.  0 if there is none, or if its length is unknown because the file was
/// written to a pipe: then the header has 0, all ones, or the 2 GiB of sox and arecord.
static uint64_t
end_of_chunk(const int fd, const Chunks* const chunks, const char* const name)
{
  uint64_t at = 0;
  uint64_t n_bytes = 0;
  if (!find_chunk(fd, chunks, name, &at, &n_bytes) || !n_bytes || n_bytes > INT64_MAX / 2 ||
      n_bytes == UINT32_MAX || (n_bytes >= UNKNOWN_FIRST && n_bytes <= UNKNOWN_LAST)) {
    return 0;
  }
  return at + n_bytes - (chunks->counts_header ? chunks->header_bytes : 0U);
}

/// The length of "data" is the second number of the chunk "ds64".
static uint64_t
end_of_rf64(const int fd)
{
  uint64_t ds64 = 0;
  uint64_t data = 0;
  uint64_t n_bytes = 0;
  unsigned char length[8];
  if (!find_chunk(fd, &riff, "ds64", &ds64, &n_bytes) || !read_at(fd, ds64 + 8U, length, 8) ||
      !find_chunk(fd, &riff, "data", &data, &n_bytes)) {
    return 0;
  }
  n_bytes = n_bytes == UINT32_MAX ? audio_number(length, 8, false) : n_bytes;
  return n_bytes && n_bytes <= INT64_MAX / 2 ? data + n_bytes : 0U;
}

/// Offset and length of the samples are the first two numbers of the header.
static uint64_t
end_of_au(const int fd)
{
  unsigned char header[8];
  if (!read_at(fd, 4, header, sizeof(header))) {
    return 0;
  }
  const uint64_t n_bytes = audio_number(header + 4, 4, true);
  return n_bytes && n_bytes != UINT32_MAX ? audio_number(header, 4, true) + n_bytes : 0U;
}

// ---- any container ----

typedef struct Container {
  char begins[5];
  char then[5];                                   ///< At 8
  const Chunks* chunks;                           ///< NULL: the format has none
  const char* samples;                            ///< Name of the samples' chunk
  bool (*is_plain)(int fd, const Chunks* chunks); ///< NULL: the format has no other encoding
  uint64_t (*end)(int fd); ///< End of the samples if their chunk does not have it, else NULL
  const char* skipped;     ///< Names of the chunks that audio_visit_chunks() leaves out
  bool is_flac;
} Container;

#define RIFF_SKIPPED "fmt data fact ds64 JUNK junk PAD  FLLR PEAK levl"
#define AIFF_SKIPPED "COMM SSND FVER PEAK CHAN NAME AUTH (c)  ANNO APPL"
#define CAF_SKIPPED  "desc data chan free pakt peak info"

static const Container*
find_container(const int fd)
{
  static const Container containers[] = {
    { "RIFF", "WAVE", &riff, "data", is_plain_wave, NULL, RIFF_SKIPPED, false },
    { "RIFX", "WAVE", &iff, "data", is_plain_wave, NULL, RIFF_SKIPPED " LIST", false },
    { "RF64", "WAVE", &riff, "data", is_plain_wave, end_of_rf64, RIFF_SKIPPED, false },
    { "riff", "", &w64, "data", is_plain_wave, NULL, RIFF_SKIPPED, false },
    { "FORM", "AIFF", &iff, "SSND", is_plain_aiff, NULL, AIFF_SKIPPED, false },
    { "FORM", "AIFC", &iff, "SSND", is_plain_aiff, NULL, AIFF_SKIPPED, false },
    { ".snd", "", NULL, NULL, is_plain_au, end_of_au, NULL, false },
    { "caff", "", &caf, "data", is_plain_caf, NULL, CAF_SKIPPED, false },
    { "fLaC", "", NULL, NULL, NULL, NULL, NULL, true },
  };
  unsigned char header[12];
  if (!read_at(fd, 0, header, sizeof(header))) {
    return NULL;
  }
  for (uint32_t c = 0; c < ARRAY_LEN(containers); ++c) {
    if (!memcmp(header, containers[c].begins, 4) &&
        !memcmp(header + 8, containers[c].then, strlen(containers[c].then))) {
      return &containers[c];
    }
  }
  return NULL;
}

bool
audio_is_plain(const int fd)
{
  const Container* const container = find_container(fd);
  return container && (!container->is_plain || container->is_plain(fd, container->chunks));
}

/// Offset of the end of the samples.  0 if the header does not have it, as that of FLAC, where the
/// decoder finds the end.
static uint64_t
samples_end(const Container* const container, const int fd)
{
  if (container->end) {
    return container->end(fd);
  }
  return container->chunks ? end_of_chunk(fd, container->chunks, container->samples) : 0U;
}

uint64_t
audio_missing_bytes(const int fd)
{
  const Container* const container = find_container(fd);
  const uint64_t end = container ? samples_end(container, fd) : 0U;
  struct stat info;
  return fstat(fd, &info) || end <= (uint64_t)info.st_size ? 0U : end - (uint64_t)info.st_size;
}

/// Each block of FLAC's metadata has a kind, a bit that marks the last block, and a length.
static void
visit_flac(const int fd, AudioChunkVisitor* const visit, void* const context)
{
  static const char names[][5] = { "", "", "APPL", "", "TAGS", "CUES", "PICT", "MORE" };
  AudioChunk chunk = { .kind = CHUNK_FLAC, .at = 4 };
  unsigned char header[4] = { 0 };
  for (uint32_t b = 0; b < MAX_CHUNKS && !(header[0] & 0x80U); ++b) {
    if (!read_at(fd, chunk.at + chunk.n_bytes, header, sizeof(header))) {
      return;
    }
    chunk.at += chunk.n_bytes + sizeof(header);
    chunk.n_bytes = audio_number(header + 1, 3, true);
    const uint32_t kind = header[0] & 0x7FU;
    memcpy(chunk.name, names[kind < ARRAY_LEN(names) ? kind : ARRAY_LEN(names) - 1U], 5);
    if (chunk.name[0]) {
      visit(context, &chunk);
    }
  }
}

void
audio_visit_chunks(const int fd, AudioChunkVisitor* const visit, void* const context)
{
  const Container* const container = find_container(fd);
  if (container && container->is_flac) {
    visit_flac(fd, visit, context);
  }
  if (!container || !container->chunks) {
    return;
  }
  const uint64_t end = container->end ? container->end(fd) : 0U;
  Cursor cursor = { fd, container->chunks, container->chunks->first, MAX_CHUNKS };
  AudioChunk chunk = { .kind = container->chunks == &riff ? CHUNK_RIFF : CHUNK_OTHER };
  while (next_chunk(&cursor, &chunk)) {
    if (end && !memcmp(chunk.name, container->samples, 4)) {
      cursor.next = end + end % 2U; // RF64: the chunk itself has all ones
    }
    if (!strstr(container->skipped, chunk.name)) {
      visit(context, &chunk);
    }
  }
}
