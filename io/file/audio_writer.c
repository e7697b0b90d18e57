// SPDX-License-Identifier: GPL-3.0-or-later
// Writes audio files with libsndfile, under a temporary name, which is renamed when the file is
// complete.
//
// This file implements the writing function for libsndfile, because libsndfile loses some errors:
// if its FLAC encoder cannot flush at the end, it reports success.  This file stores the first
// failed write, and every later step reports it.
//
// The samples go to libsndfile as bytes of the file, for FLAC as integers.  Its clipping conversion
// rounds towards minus infinity, and its plain conversion scales by 32767 where reading divides by
// 32768: a 16-bit file would change when it is read and written again.
//
// It also writes the headers of WAV and RF64 (EBU Tech 3306).  libsndfile's headers for floats lack
// the length of the extension, which all formats except PCM must have (IBM and Microsoft, "New
// Multimedia Data Types and Data Techniques", 1994), and other programs warn of that.  The chunks
// with the tags precede the samples.

#include "audio_file_private.h"
#include "audio_plain.h"
#include "samples.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 131072U // more than the header and tags of a WAV
#define RIFF_BYTES   96U     // RF64, ds64, fmt, fact and data
#define DIRTY_BYTES  8388608 // Between two starts of the write-back, so that fsync() finds little

struct AudioWriter {
  SNDFILE* file;
  int fd;
  int error_number;   // errno of the first failed write
  sf_count_t n_dirty; // Bytes since the last start of the write-back
  char* name;
  char* part; // NAME.part~
  AudioFormat format;
  uint32_t rate_hz, n_channels;
  uint64_t n_frames; // Frames written so far
  uint64_t clipped;
  uint32_t header_bytes; // Size of the header of WAV and RF64, before libsndfile's output
  unsigned char* tags;   // Chunks with the tags of WAV and RF64, or NULL
  size_t tag_bytes;
  uint32_t chunk_frames; // In one write
  float* interleaved;    // [chunk_frames][n_channels]
  int32_t* integers;     // [chunk_frames][n_channels]
  unsigned char* packed; // [chunk_frames][n_channels] integers of the file, and SAMPLES_SLACK
};

static const struct {
  const char* ending;
  const char* name;
  int major;
} containers[] = {
  [AUDIO_WAV] = { ".wav", "WAV", SF_FORMAT_RAW },
  [AUDIO_W64] = { ".w64", "W64", SF_FORMAT_W64 },
  [AUDIO_RF64] = { ".rf64", "RF64", SF_FORMAT_RAW },
  [AUDIO_FLAC] = { ".flac", "FLAC", SF_FORMAT_FLAC },
};

static const struct {
  const char* name;
  int minor;
  int bits; // 0: float
} encodings[] = {
  [AUDIO_PCM16] = { "16", SF_FORMAT_PCM_16, 16 },
  [AUDIO_PCM24] = { "24", SF_FORMAT_PCM_24, 24 },
  [AUDIO_PCM32] = { "32", SF_FORMAT_PCM_32, 32 },
  [AUDIO_FLOAT] = { "float", SF_FORMAT_FLOAT, 0 },
};

static uint32_t
sample_bytes(const AudioFormat format)
{
  const int bits = encodings[format.encoding].bits;
  return bits ? (uint32_t)bits / 8U : (uint32_t)sizeof(float);
}

static Status
container_from(const char* const name, AudioFormat* const format, Error* const error)
{
  const char* const ending = strrchr(name, '.');
  for (unsigned i = 0; ending && i < ARRAY_LEN(containers); ++i) {
    if (!strcasecmp(ending, containers[i].ending)) {
      format->container = i;
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_BAD_ARG,
                   "'%s': the file name needs one of these endings: .wav .w64 .rf64 .flac", name);
}

static Status
encoding_from(const char* const encoding, AudioFormat* const format, Error* const error)
{
  for (unsigned i = 0; i < ARRAY_LEN(encodings); ++i) {
    if (!strcmp(encoding, encodings[i].name)) {
      format->encoding = i;
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_BAD_ARG, "unknown format '%s'; use 16, 24, 32 or float", encoding);
}

Status
audio_format_from(const char* const name, const char* const encoding, AudioFormat* const format,
                  Error* const error)
{
  AudioFormat found = { AUDIO_WAV, AUDIO_FLOAT };
  Status status = container_from(name, &found, error);
  if (status) {
    return status;
  }
  const bool is_flac = found.container == AUDIO_FLAC;
  status = encoding_from(encoding ? encoding : is_flac ? "24" : "float", &found, error);
  if (status) {
    return status;
  }
  if (is_flac && found.encoding != AUDIO_PCM16 && found.encoding != AUDIO_PCM24) {
    return error_set(error, STATUS_BAD_ARG,
                     "'%s': FLAC holds 16 or 24 bits; for %s end the name in .wav", name, encoding);
  }
  *format = found;
  return STATUS_OK;
}

Status
audio_format_check_length(const AudioFormat format, const char* const name,
                          const uint32_t n_channels, const uint64_t n_frames, Error* const error)
{
  const uint64_t frame_bytes = (uint64_t)sample_bytes(format) * n_channels;
  if (format.container == AUDIO_WAV && frame_bytes &&
      n_frames > (UINT32_MAX - HEADER_BYTES) / frame_bytes) {
    return error_set(error, STATUS_FILE,
                     "cannot write '%s': WAV ends at 4 GiB; end the name in .w64 or .rf64", name);
  }
  return STATUS_OK;
}

// ---- file operations for libsndfile ----

static sf_count_t
disk_length(void* const user)
{
  struct stat info;
  const AudioWriter* const writer = user;
  return fstat(writer->fd, &info) ? -1 : info.st_size - writer->header_bytes;
}

static sf_count_t
disk_seek(const sf_count_t offset, const int whence, void* const user)
{
  const AudioWriter* const writer = user;
  const off_t shift = whence == SEEK_SET ? writer->header_bytes : 0;
  return lseek(writer->fd, offset + shift, whence) - writer->header_bytes;
}

static sf_count_t
disk_read(void* const to, const sf_count_t n_bytes, void* const user)
{
  return read(((const AudioWriter*)user)->fd, to, (size_t)n_bytes);
}

/// Let the kernel write to the disk while the file grows.  fsync() reports errors.
static void
start_write_back(AudioWriter* const writer, const ssize_t n_bytes)
{
  writer->n_dirty += n_bytes;
  if (writer->n_dirty >= DIRTY_BYTES) {
    writer->n_dirty = 0;
    (void)sync_file_range(writer->fd, 0, 0, SYNC_FILE_RANGE_WRITE); // to the end of the file
  }
}

static sf_count_t
disk_write(const void* const from, const sf_count_t n_bytes, void* const user)
{
  AudioWriter* const writer = user;
  sf_count_t done = 0;
  while (done < n_bytes && !writer->error_number) {
    const ssize_t n = write(writer->fd, (const char*)from + done, (size_t)(n_bytes - done));
    if (n > 0) {
      done += n;
      start_write_back(writer, n);
    } else if (!n || errno != EINTR) {
      writer->error_number = n ? errno : ENOSPC;
    }
  }
  return done;
}

static sf_count_t
disk_tell(void* const user)
{
  return disk_seek(0, SEEK_CUR, user);
}

static SF_VIRTUAL_IO disk = { disk_length, disk_seek, disk_read, disk_write, disk_tell };

// ---- the header of WAV and RF64 ----

static bool
is_riff(const AudioFormat format)
{
  return format.container == AUDIO_WAV || format.container == AUDIO_RF64;
}

/// Write the chunk "ds64".  It has RF64's lengths in 64 bits; the usual fields have all ones.
static unsigned char*
put_ds64(unsigned char* at, const uint64_t riff_bytes, const uint64_t data_bytes,
         const uint64_t n_frames)
{
  at = audio_put_chunk(at, "ds64", 28);
  at = audio_put_number(at, riff_bytes, 8);
  at = audio_put_number(at, data_bytes, 8);
  at = audio_put_number(at, n_frames, 8);
  return audio_put_number(at, 0, 4); // no table of further chunks
}

static unsigned char*
put_format(unsigned char* at, const AudioWriter* const writer, const uint64_t frame_bytes)
{
  const unsigned bits = (unsigned)encodings[writer->format.encoding].bits;
  at = audio_put_chunk(at, "fmt ", bits ? 16U : 18U);
  at = audio_put_number(at, bits ? 1U : 3U, 2); // WAVE_FORMAT_PCM, WAVE_FORMAT_IEEE_FLOAT
  at = audio_put_number(at, writer->n_channels, 2);
  at = audio_put_number(at, writer->rate_hz, 4);
  at = audio_put_number(at, writer->rate_hz * frame_bytes, 4);
  at = audio_put_number(at, frame_bytes, 2);
  at = audio_put_number(at, bits ? bits : 32U, 2);
  if (!bits) {
    at = audio_put_number(at, 0, 2); // bytes of the extension
    at = audio_put_number(audio_put_chunk(at, "fact", 4), writer->n_frames, 4);
  }
  return at;
}

/// Build the header for the frames written so far; all numbers are little-endian.  Returns the
/// length without the header of "data", which follows.
static uint32_t
make_header(const AudioWriter* const writer, unsigned char header[static RIFF_BYTES])
{
  const uint64_t frame_bytes = (uint64_t)writer->n_channels * sample_bytes(writer->format);
  const uint64_t data_bytes = writer->n_frames * frame_bytes;
  const uint64_t riff_bytes = writer->header_bytes - 8U + data_bytes + data_bytes % 2U;
  const bool is_rf64 = writer->format.container == AUDIO_RF64;
  unsigned char* at = audio_put_chunk(header, is_rf64 ? "RF64" : "RIFF",
                                      is_rf64 ? UINT32_MAX : (uint32_t)riff_bytes);
  memcpy(at, "WAVE", 4);
  at += 4;
  if (is_rf64) {
    at = put_ds64(at, riff_bytes, data_bytes, writer->n_frames);
  }
  at = put_format(at, writer, frame_bytes);
  audio_put_chunk(at, "data", is_rf64 ? UINT32_MAX : (uint32_t)data_bytes);
  return (uint32_t)(at - header);
}

static void
write_header(AudioWriter* const writer)
{
  unsigned char header[RIFF_BYTES];
  const uint32_t n = make_header(writer, header);
  writer->header_bytes = n + (uint32_t)writer->tag_bytes + 8U;
  lseek(writer->fd, 0, SEEK_SET);
  (void)disk_write(header, n, writer);
  (void)disk_write(writer->tags, (sf_count_t)writer->tag_bytes, writer);
  (void)disk_write(header + n, 8, writer);
}

/// Write the header with the final length.
static void
complete_riff(AudioWriter* const writer)
{
  static const char pad[1] = { 0 };
  if (lseek(writer->fd, 0, SEEK_END) % 2) {
    (void)disk_write(pad, 1, writer);
  }
  write_header(writer);
}

// ---- open ----

static Status
cannot_write(const AudioWriter* const writer, const char* const reason, Error* const error)
{
  return error_set(error, STATUS_FILE, "cannot write '%s': %s", writer->name, reason);
}

static Status
open_part(AudioWriter* const writer, Error* const error)
{
  struct stat info;
  if (!stat(writer->name, &info) && !S_ISREG(info.st_mode)) { // rename() would replace a device
    return cannot_write(writer, "it is there and no regular file", error);
  }
  writer->fd = open(writer->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer->fd < 0) {
    const Status status = status_of_errno(errno, STATUS_FILE);
    return error_set(error, status, "cannot write '%s': %s", writer->name, strerror(errno));
  }
  return STATUS_OK;
}

/// libsndfile's code of a format; RAW for WAV and RF64, whose header this file writes.
static int
format_code(const AudioFormat format)
{
  return containers[format.container].major | encodings[format.encoding].minor |
         (is_riff(format) ? SF_ENDIAN_LITTLE : SF_ENDIAN_FILE);
}

static Status
open_sound(AudioWriter* const writer, const double rate_hz, Error* const error)
{
  const AudioFormat format = writer->format;
  SF_INFO info = { .samplerate = (int)lrint(rate_hz),
                   .channels = (int)writer->n_channels,
                   .format = format_code(format) };
  if (!sf_format_check(&info)) {
    return error_set(error, STATUS_FILE, "cannot write '%s': %s does not hold %u channels at %g Hz",
                     writer->name, containers[format.container].name, writer->n_channels, rate_hz);
  }
  const Status status = open_part(writer, error);
  if (status) {
    return status;
  }
  if (is_riff(format)) {
    writer->rate_hz = (uint32_t)info.samplerate;
    write_header(writer);
  }
  writer->file = sf_open_virtual(&disk, SFM_WRITE, &info, writer);
  if (!writer->file) {
    return cannot_write(
        writer, writer->error_number ? strerror(writer->error_number) : sf_strerror(NULL), error);
  }
  // Without the PEAK chunk, which contains the time of day: equal renders would differ.
  sf_command(writer->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
  return STATUS_OK;
}

Status
audio_writer_open(const char* const name, const AudioFormat format, const double rate_hz,
                  const uint32_t n_channels, AudioWriter** const out, Error* const error)
{
  AudioWriter* const writer = calloc(1, sizeof(AudioWriter));
  if (!writer) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  writer->fd = -1;
  writer->format = format;
  writer->n_channels = n_channels;
  writer->name = strdup(name);
  writer->chunk_frames =
      SAMPLES_CHUNK_BYTES / (uint32_t)sizeof(float) / (n_channels ? n_channels : 1U);
  writer->interleaved = malloc(SAMPLES_CHUNK_BYTES);
  writer->integers = malloc(SAMPLES_CHUNK_BYTES);
  writer->packed = malloc(SAMPLES_CHUNK_BYTES + SAMPLES_SLACK);
  Status status = STATUS_OK;
  if (asprintf(&writer->part, "%s.part~", name) < 0) {
    writer->part = NULL;
  }
  if (!writer->name || !writer->part || !writer->interleaved || !writer->integers ||
      !writer->packed) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  status = status ? status : open_sound(writer, rate_hz, error);
  if (status) {
    audio_writer_abandon(writer);
    return status;
  }
  *out = writer;
  return STATUS_OK;
}

/// Write tags with libsndfile, for formats whose header it writes.
static uint32_t
set_tags(SNDFILE* const file, const AudioTags* const tags)
{
  uint32_t n_lost = 0;
  for (int tag = SF_STR_FIRST; tag <= SF_STR_LAST; ++tag) {
    n_lost += tags->texts[tag] && sf_set_string(file, tag, tags->texts[tag]);
  }
  return n_lost;
}

Status
audio_writer_copy_tags(AudioWriter* const writer, const AudioReader* const reader,
                       uint32_t* const n_lost, Error* const error)
{
  const AudioTags* const tags = audio_reader_tags(reader);
  *n_lost = tags->n_other;
  if (!is_riff(writer->format)) {
    *n_lost += tags->n_chunks + set_tags(writer->file, tags);
    return STATUS_OK;
  }
  free(writer->tags);
  writer->tags = NULL;
  if (audio_tags_as_chunks(tags, audio_reader_missing(reader), &writer->tags, &writer->tag_bytes,
                           n_lost)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  write_header(writer);
  return STATUS_OK;
}

// ---- write ----

/// Write n_frames of `interleaved`.  Returns false if libsndfile has not written all.
static bool
write_chunk(AudioWriter* const writer, const uint32_t n_frames)
{
  const AudioFormat format = writer->format;
  const uint32_t n = n_frames * writer->n_channels;
  const sf_count_t n_bytes = (sf_count_t)n * sample_bytes(format);
  const uint32_t bits = (uint32_t)encodings[format.encoding].bits;
  if (!bits) {
    samples_swap_floats(writer->interleaved, n);
    return sf_write_raw(writer->file, writer->interleaved, n_bytes) == n_bytes;
  }
  writer->clipped += samples_round(writer->interleaved, bits, n, writer->integers);
  if (format.container == AUDIO_FLAC) {
    for (size_t i = 0; i < n; ++i) { // libsndfile uses the upper bits
      writer->integers[i] = (int32_t)((uint32_t)writer->integers[i] << (32U - bits));
    }
    return sf_writef_int(writer->file, writer->integers, n_frames) == n_frames;
  }
  samples_pack(writer->integers, sample_bytes(format), n, writer->packed);
  return sf_write_raw(writer->file, writer->packed, n_bytes) == n_bytes;
}

Status
audio_writer_write(AudioWriter* const writer, const float* const* const in, const uint32_t n_frames,
                   Error* const error)
{
  const Status status = audio_format_check_length(writer->format, writer->name, writer->n_channels,
                                                  writer->n_frames + n_frames, error);
  if (status) {
    return status;
  }
  for (uint32_t done = 0; done < n_frames;) {
    const uint32_t left = n_frames - done;
    const uint32_t n = left < writer->chunk_frames ? left : writer->chunk_frames;
    samples_interleave(in, writer->n_channels, done, n, writer->interleaved);
    const bool is_written = write_chunk(writer, n);
    if (writer->error_number) {
      return cannot_write(writer, strerror(writer->error_number), error);
    }
    if (!is_written) {
      return cannot_write(writer, sf_strerror(writer->file), error);
    }
    done += n;
  }
  writer->n_frames += n_frames;
  return STATUS_OK;
}

uint64_t
audio_writer_clipped(const AudioWriter* const writer)
{
  return writer->clipped;
}

// ---- close ----

static void
keep_error(AudioWriter* const writer, const int result)
{
  if (result && !writer->error_number) {
    writer->error_number = errno;
  }
}

static void
close_sound(AudioWriter* const writer)
{
  if (writer->file) {
    sf_close(writer->file); // error_number has the first error already
    writer->file = NULL;
  }
}

static void
writer_free(AudioWriter* const writer)
{
  free(writer->tags);
  free(writer->packed);
  free(writer->integers);
  free(writer->interleaved);
  free(writer->part);
  free(writer->name);
  free(writer);
}

Status
audio_writer_commit(AudioWriter* const writer, Error* const error)
{
  close_sound(writer);
  if (is_riff(writer->format)) {
    complete_riff(writer);
  }
  keep_error(writer, fsync(writer->fd));
  keep_error(writer, close(writer->fd));
  if (!writer->error_number) {
    keep_error(writer, rename(writer->part, writer->name));
  }
  if (writer->error_number) {
    const Status status = cannot_write(writer, strerror(writer->error_number), error);
    unlink(writer->part);
    writer_free(writer);
    return status;
  }
  writer_free(writer);
  return STATUS_OK;
}

void
audio_writer_abandon(AudioWriter* const writer)
{
  if (writer) {
    close_sound(writer);
    if (writer->fd >= 0) {
      close(writer->fd);
      unlink(writer->part);
    }
    writer_free(writer);
  }
}
