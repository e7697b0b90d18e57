// SPDX-License-Identifier: GPL-3.0-or-later
// Reads audio files as a stream of planar blocks, with libsndfile.  The samples of WAV, RF64 and
// W64 come from it as bytes; samples.h converts them in a third of the time that libsndfile takes.

#include "audio_file_private.h"
#include "audio_plain.h"
#include "samples.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CHANNELS 1024 // libsndfile's own limit

struct AudioReader {
  SNDFILE* file;
  SF_INFO info;
  char* name;
  uint64_t position; // Frames read so far
  uint64_t missing;  // Frames beyond the end of a truncated file
  AudioTags tags;
  uint32_t chunk_frames; // In one read
  uint32_t raw_bytes;    // Of a sample that is read as bytes; 0: libsndfile converts
  bool is_float;         // The bytes are floats
  float* interleaved;    // [chunk_frames][channels]
  unsigned char* raw;    // [chunk_frames][channels] integers, and SAMPLES_SLACK
};

// ---- opening ----

Status
source_check(const int fd, const char* const name, Error* const error)
{
  struct stat info;
  if (fstat(fd, &info)) {
    error_set(error, STATUS_FILE, "cannot read '%s': %s", name, strerror(errno));
  } else if (S_ISREG(info.st_mode) && info.st_size > 0) {
    return STATUS_OK;
  } else {
    error_set(error, STATUS_FILE, "cannot read '%s': it is %s", name,
              S_ISREG(info.st_mode)   ? "empty (0 bytes)"
              : S_ISDIR(info.st_mode) ? "a directory"
                                      : "no regular file");
  }
  close(fd);
  return STATUS_FILE;
}

Status
source_fail(const char* const name, Error* const error)
{
  return error_set(error, status_of_errno(errno, STATUS_FILE), "cannot read '%s': %s", name,
                   strerror(errno));
}

Status
source_open(const char* const name, int* const fd, Error* const error)
{
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  *fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  return *fd < 0 ? source_fail(name, error) : source_check(*fd, name, error);
}

/// Bytes of a sample in libsndfile's format; 0 if that format is not one that audio_is_plain()
/// accepts.
static uint64_t
sample_bytes(const int format)
{
  switch (format & SF_FORMAT_SUBMASK) {
  case SF_FORMAT_PCM_S8:
  case SF_FORMAT_PCM_U8:
    return 1;
  case SF_FORMAT_PCM_16:
    return 2;
  case SF_FORMAT_PCM_24:
    return 3;
  case SF_FORMAT_PCM_32:
  case SF_FORMAT_FLOAT:
    return 4;
  case SF_FORMAT_DOUBLE:
    return 8;
  default:
    return 0;
  }
}

/// True if the samples are little-endian integers of 16 to 32 bits or floats.
static bool
is_raw(const SF_INFO* const info)
{
  const int container = info->format & SF_FORMAT_TYPEMASK;
  const int encoding = info->format & SF_FORMAT_SUBMASK;
  return (container == SF_FORMAT_WAV || container == SF_FORMAT_WAVEX ||
          container == SF_FORMAT_RF64 || container == SF_FORMAT_W64) &&
         (info->format & SF_FORMAT_ENDMASK) != SF_ENDIAN_BIG &&
         (encoding == SF_FORMAT_PCM_16 || encoding == SF_FORMAT_PCM_24 ||
          encoding == SF_FORMAT_PCM_32 || encoding == SF_FORMAT_FLOAT);
}

static Status
make_buffers(AudioReader* const reader, Error* const error)
{
  const uint32_t n_channels = (uint32_t)reader->info.channels;
  const int encoding = reader->info.format & SF_FORMAT_SUBMASK;
  reader->chunk_frames = SAMPLES_CHUNK_BYTES / (uint32_t)sizeof(float) / n_channels;
  reader->raw_bytes = is_raw(&reader->info) ? (uint32_t)sample_bytes(reader->info.format) : 0U;
  reader->is_float = encoding == SF_FORMAT_FLOAT;
  reader->interleaved = malloc(SAMPLES_CHUNK_BYTES);
  reader->raw = reader->is_float ? NULL : malloc(SAMPLES_CHUNK_BYTES + SAMPLES_SLACK);
  return reader->interleaved && (reader->raw || reader->is_float)
             ? STATUS_OK
             : error_set(error, STATUS_NO_MEM, "out of memory");
}

static Status
fail_not_plain(const AudioReader* const reader, Error* const error)
{
  return error_set(error, STATUS_FILE,
                   "'%s' is no plain audio: WAV, RF64, W64, AIFF, AU and CAF of PCM or floats, and "
                   "FLAC, are read; make it one of them first",
                   reader->name);
}

static Status
open_by_libsndfile(AudioReader* const reader, const int fd, Error* const error)
{
  if (!audio_is_plain(fd)) {
    close(fd);
    return fail_not_plain(reader, error);
  }
  const uint64_t missing_bytes = audio_missing_bytes(fd);
  const Status status = audio_tags_scan(fd, &reader->tags, error);
  if (status) {
    close(fd);
    return status;
  }
  // Closes the descriptor also on error.
  reader->file = sf_open_fd(fd, SFM_READ, &reader->info, SF_TRUE);
  if (!reader->file) {
    return error_set(error, STATUS_FILE, "'%s' is not audio that libsndfile reads (\"%s\")",
                     reader->name, sf_strerror(NULL));
  }
  if (!sample_bytes(reader->info.format)) {
    return fail_not_plain(reader, error);
  }
  if (reader->info.channels < 1 || reader->info.channels > MAX_CHANNELS ||
      reader->info.samplerate < 1) {
    return error_set(error, STATUS_FILE, "'%s' is corrupt: its header has %d channels at %d Hz",
                     reader->name, reader->info.channels, reader->info.samplerate);
  }
  audio_tags_add(&reader->tags, reader->file);
  const uint64_t frame_bytes = sample_bytes(reader->info.format) * (uint64_t)reader->info.channels;
  reader->missing = (missing_bytes + frame_bytes - 1U) / frame_bytes;
  return make_buffers(reader, error);
}

Status
audio_reader_open_fd(const int fd, const char* const name, AudioReader** const out,
                     Error* const error)
{
  AudioReader* const reader = calloc(1, sizeof(AudioReader));
  char* const copy = strdup(name);
  if (!reader || !copy) {
    free(copy);
    free(reader);
    close(fd);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  reader->name = copy;
  const Status status = open_by_libsndfile(reader, fd, error);
  if (status) {
    audio_reader_close(reader);
    return status;
  }
  *out = reader;
  return STATUS_OK;
}

Status
audio_reader_open(const char* const name, AudioReader** const out, Error* const error)
{
  int fd = -1;
  const Status status = source_open(name, &fd, error);
  return status ? status : audio_reader_open_fd(fd, name, out, error);
}

uint32_t
audio_reader_channels(const AudioReader* const reader)
{
  return (uint32_t)reader->info.channels;
}

double
audio_reader_rate(const AudioReader* const reader)
{
  return reader->info.samplerate;
}

// libsndfile returns SF_COUNT_MAX if it does not know the number.
uint64_t
audio_reader_frames(const AudioReader* const reader)
{
  const sf_count_t frames = reader->info.frames;
  return frames > 0 && frames < SF_COUNT_MAX ? (uint64_t)frames : 0U;
}

uint64_t
audio_reader_missing(const AudioReader* const reader)
{
  return reader->missing;
}

Status
audio_reader_check_whole(const AudioReader* const reader, Error* const error)
{
  const unsigned long long present = audio_reader_frames(reader);
  return reader->missing
             ? error_set(error, STATUS_FILE,
                         "'%s' is truncated: it ends after %llu of the %llu frames that its header "
                         "promises",
                         reader->name, present, present + (unsigned long long)reader->missing)
             : STATUS_OK;
}

const AudioTags*
audio_reader_tags(const AudioReader* const reader)
{
  return &reader->tags;
}

// Fewer frames than requested: the end of the file, or corrupt data.
static Status
check_end(AudioReader* const reader, Error* const error)
{
  const unsigned long long position = reader->position;
  if (sf_error(reader->file)) {
    return error_set(error, STATUS_FILE, "'%s' is corrupt after frame %llu: %s", reader->name,
                     position, sf_strerror(reader->file));
  }
  if (position < audio_reader_frames(reader)) {
    return error_set(error, STATUS_FILE,
                     "'%s' is corrupt: it ends after %llu of the %llu frames that it promises",
                     reader->name, position, (unsigned long long)audio_reader_frames(reader));
  }
  return STATUS_OK;
}

/// Read up to `wanted` frames as floats; returns the number of frames, or an invalid one.
static sf_count_t
read_chunk(AudioReader* const reader, const uint32_t wanted)
{
  if (!reader->raw_bytes) {
    return sf_readf_float(reader->file, reader->interleaved, wanted);
  }
  const uint32_t frame_bytes = reader->raw_bytes * audio_reader_channels(reader);
  void* const to = reader->is_float ? (void*)reader->interleaved : reader->raw;
  const sf_count_t got =
      sf_read_raw(reader->file, to, (sf_count_t)wanted * frame_bytes) / frame_bytes;
  const size_t n = got > 0 && got <= wanted ? (size_t)got * audio_reader_channels(reader) : 0U;
  if (reader->is_float) {
    samples_swap_floats(reader->interleaved, n);
  } else {
    samples_unpack(reader->raw, reader->raw_bytes, n, reader->interleaved);
  }
  return got;
}

Status
audio_reader_read(AudioReader* const reader, float* const* const out, const uint32_t n_frames,
                  uint32_t* const n_read, Error* const error)
{
  const uint32_t n_channels = audio_reader_channels(reader);
  *n_read = 0;
  while (*n_read < n_frames) {
    const uint32_t left = n_frames - *n_read;
    const uint32_t wanted = left < reader->chunk_frames ? left : reader->chunk_frames;
    const sf_count_t got = read_chunk(reader, wanted);
    const uint32_t n = got > 0 && got <= wanted ? (uint32_t)got : 0U;
    samples_deinterleave(reader->interleaved, n_channels, out, *n_read, n);
    *n_read += n;
    reader->position += n;
    if (n < wanted) {
      return check_end(reader, error);
    }
  }
  return STATUS_OK;
}

Status
audio_reader_rewind(AudioReader* const reader, Error* const error)
{
  if (sf_seek(reader->file, 0, SEEK_SET) != 0) {
    return error_set(error, STATUS_FILE, "'%s' cannot be read a second time: %s", reader->name,
                     sf_strerror(reader->file));
  }
  reader->position = 0;
  return STATUS_OK;
}

void
audio_reader_close(AudioReader* const reader)
{
  if (reader) {
    if (reader->file) {
      sf_close(reader->file);
    }
    audio_tags_clear(&reader->tags);
    free(reader->raw);
    free(reader->interleaved);
    free(reader->name);
    free(reader);
  }
}
