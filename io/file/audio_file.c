// SPDX-License-Identifier: GPL-3.0-or-later
// Loads files for effects: audio with libsndfile, resampled to the engine's rate with
// libsamplerate, or text with rows of numbers.

#include "audio_file.h"

#include "audio_file_private.h"

#include <fcntl.h>
#include <math.h>
#include <samplerate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SAMPLES ((1ULL << 30U) / sizeof(float)) // 1 GiB: 23 minutes of 4 channels at 48 kHz
#define READ_FRAMES 65536U

typedef struct LoadedFile {
  FxFile file; // First member, so that an FxFile* is a LoadedFile*
  char* name;
  float* samples;
  AudioReader* reader; // Until the samples are read; NULL for text
  uint64_t n_frames;   // Of the reader
  double rate_hz;      // Target of the resampling
} LoadedFile;

/// Make a file without samples; NULL if out of memory.
static LoadedFile*
header_new(const char* const name, const uint32_t n_channels, const uint64_t n_frames,
           const bool is_audio)
{
  LoadedFile* const loaded = calloc(1, sizeof(LoadedFile));
  char* const copy = strdup(name);
  if (!loaded || !copy) {
    free(copy);
    free(loaded);
    return NULL;
  }
  *loaded = (LoadedFile){
    .name = copy,
    .file = { .name = copy, .n_channels = n_channels, .n_frames = n_frames, .is_audio = is_audio }
  };
  return loaded;
}

void
audio_file_free(void* const context, FxFile* const file)
{
  (void)context;
  LoadedFile* const loaded = (LoadedFile*)file;
  if (loaded) {
    audio_reader_close(loaded->reader);
    free(loaded->samples);
    free(loaded->name);
    free(loaded);
  }
}

static Status
check_size(const char* const name, const uint32_t n_channels, const uint64_t n_frames,
           Error* const error)
{
  if (!n_frames) {
    return error_set(error, STATUS_FILE, "'%s' holds no audio (0 frames)", name);
  }
  if (n_frames > MAX_SAMPLES / n_channels) {
    return error_set(error, STATUS_FILE,
                     "'%s' is too long: %llu frames of %u channels are over 1 GiB of samples", name,
                     (unsigned long long)n_frames, n_channels);
  }
  return STATUS_OK;
}

static Status
check_finite(const LoadedFile* const loaded, Error* const error)
{
  for (uint32_t c = 0; c < loaded->file.n_channels; ++c) {
    for (uint64_t i = 0; i < loaded->n_frames; ++i) {
      if (!isfinite(loaded->samples[c * loaded->n_frames + i])) {
        return error_set(error, STATUS_FILE,
                         "'%s' has a sample that is NaN or infinite (channel %u, frame %llu); "
                         "export it again from its source",
                         loaded->name, c + 1U, (unsigned long long)i);
      }
    }
  }
  return STATUS_OK;
}

/// Read the samples at the file's own rate.
static Status
read_samples(LoadedFile* const loaded, Error* const error)
{
  const uint32_t n_channels = loaded->file.n_channels;
  float** const to = calloc(n_channels, sizeof(float*));
  loaded->samples = calloc((size_t)n_channels * loaded->n_frames, sizeof(float));
  if (!to || !loaded->samples) {
    free(to);
    return error_set(error, STATUS_NO_MEM, "'%s': out of memory for %llu frames", loaded->name,
                     (unsigned long long)loaded->n_frames);
  }
  Status status = STATUS_OK;
  for (uint64_t done = 0; !status && done < loaded->n_frames;) {
    const uint64_t left = loaded->n_frames - done;
    for (uint32_t c = 0; c < n_channels; ++c) {
      to[c] = loaded->samples + c * loaded->n_frames + done;
    }
    uint32_t n_read = 0;
    status = audio_reader_read(loaded->reader, to,
                               left < READ_FRAMES ? (uint32_t)left : READ_FRAMES, &n_read, error);
    done += n_read;
  }
  free(to);
  return status ? status : check_finite(loaded, error);
}

// The taps of an impulse response are samples of a function of time, multiplied by the sampling
// interval: at twice the rate, each tap is half as large.  The frequency response is then the same
// at every rate.
static Status
resample_channel(const LoadedFile* const loaded, const uint32_t channel, const double ratio,
                 float* const out, Error* const error)
{
  SRC_DATA data = { .data_in = loaded->samples + channel * loaded->n_frames,
                    .input_frames = (long)loaded->n_frames,
                    .data_out = out,
                    .output_frames = (long)loaded->file.n_frames,
                    .src_ratio = ratio };
  const int failure = src_simple(&data, SRC_SINC_BEST_QUALITY, 1);
  if (failure) {
    const char* const words = src_strerror(failure);
    return error_set(error, STATUS_FILE, "'%s' cannot be resampled: %s", loaded->name,
                     words ? words : "libsamplerate gives no reason");
  }
  for (uint64_t i = 0; i < loaded->file.n_frames; ++i) {
    out[i] = (float)(out[i] / ratio);
  }
  return STATUS_OK;
}

/// Resample n_frames to file.n_frames.
static Status
resample(LoadedFile* const loaded, const double from_hz, Error* const error)
{
  const uint64_t n_frames = loaded->file.n_frames;
  const double ratio = loaded->rate_hz / from_hz;
  float* const samples = calloc((size_t)loaded->file.n_channels * n_frames, sizeof(float));
  Status status =
      samples ? STATUS_OK : error_set(error, STATUS_NO_MEM, "'%s': out of memory", loaded->name);
  for (uint32_t c = 0; !status && c < loaded->file.n_channels; ++c) {
    status = resample_channel(loaded, c, ratio, samples + c * n_frames, error);
  }
  if (status) {
    free(samples);
    return status;
  }
  free(loaded->samples);
  loaded->samples = samples;
  loaded->file.samples = samples;
  return STATUS_OK;
}

/// Set the number of frames that a file at `from_hz` has at `to_hz`.
static Status
plan_resampling(LoadedFile* const loaded, const double from_hz, const double to_hz,
                Error* const error)
{
  FxFile* const file = &loaded->file;
  const double ratio = to_hz / from_hz;
  if (!src_is_valid_ratio(ratio)) {
    return error_set(error, STATUS_FILE, "'%s' cannot be resampled from %g to %g Hz", file->name,
                     from_hz, to_hz);
  }
  loaded->rate_hz = to_hz;
  loaded->n_frames = file->n_frames;
  file->n_frames = (uint64_t)ceil((double)file->n_frames * ratio);
  file->read_bytes += file->n_channels * file->n_frames * sizeof(float);
  return check_size(file->name, file->n_channels, file->n_frames, error);
}

Status
audio_file_read(void* const context, FxFile* const file, Error* const error)
{
  (void)context;
  LoadedFile* const loaded = (LoadedFile*)file;
  if (!loaded->reader) {
    return STATUS_OK;
  }
  const double from_hz = audio_reader_rate(loaded->reader);
  Status status = read_samples(loaded, error);
  if (!status && from_hz != loaded->rate_hz) {
    status = resample(loaded, from_hz, error);
  }
  if (status) {
    free(loaded->samples);
    loaded->samples = NULL;
    return status;
  }
  audio_reader_close(loaded->reader);
  loaded->reader = NULL;
  loaded->file.samples = loaded->samples;
  return STATUS_OK;
}

/// Make a file from the header of an audio file.  Takes ownership of the reader.
static Status
open_audio(AudioReader* const reader, const char* const name, const double rate_hz,
           FxFile** const out, Error* const error)
{
  const uint32_t n_channels = audio_reader_channels(reader);
  const uint64_t n_frames = audio_reader_frames(reader);
  const double from_hz = audio_reader_rate(reader);
  LoadedFile* const loaded = header_new(name, n_channels, n_frames, true);
  if (!loaded) {
    audio_reader_close(reader);
    return error_set(error, STATUS_NO_MEM, "'%s': out of memory", name);
  }
  loaded->reader = reader;
  loaded->n_frames = n_frames;
  loaded->rate_hz = from_hz;
  loaded->file.read_bytes = n_channels * n_frames * sizeof(float);
  Status status = check_size(name, n_channels, n_frames, error);
  status = status ? status : audio_reader_check_whole(reader, error);
  if (!status && from_hz != rate_hz) {
    status = plan_resampling(loaded, from_hz, rate_hz, error);
  }
  if (status) {
    audio_file_free(NULL, &loaded->file);
    return status;
  }
  *out = &loaded->file;
  return STATUS_OK;
}

/// Read rows of numbers, and resample them if the text states their rate.  Takes ownership of `fd`.
static Status
open_text(const int fd, const char* const name, const double rate_hz, FxFile** const out,
          Error* const error)
{
  NumberTable table = { 0 };
  Status status = number_table_load(fd, &table, error);
  if (status) {
    return status;
  }
  const bool is_response = table.rate_hz > 0.0 && table.n_columns == 1U;
  LoadedFile* const loaded = is_response ? header_new(name, 1U, table.n_rows, false)
                                         : header_new(name, table.n_rows, table.n_columns, false);
  if (!loaded) {
    free(table.values);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  loaded->file.samples = loaded->samples = table.values;
  if (is_response && table.rate_hz != rate_hz) {
    status = plan_resampling(loaded, table.rate_hz, rate_hz, error);
    status = status ? status : resample(loaded, table.rate_hz, error);
    loaded->file.read_bytes = 0;
  }
  if (status) {
    audio_file_free(NULL, &loaded->file);
    return status;
  }
  *out = &loaded->file;
  return STATUS_OK;
}

/// Read audio or, if that fails, rows of numbers from `again`, a second descriptor of the same
/// file.  Takes ownership of both descriptors.
static Status
open_any(const int fd, const int again, const char* const name, const double rate_hz,
         FxFile** const file, Error* const error)
{
  AudioReader* reader = NULL;
  Error no_audio = { STATUS_OK, "" };
  if (!audio_reader_open_fd(fd, name, &reader, &no_audio)) {
    close(again);
    return open_audio(reader, name, rate_hz, file, error);
  }
  Error no_text = { STATUS_OK, "" };
  (void)lseek(again, 0, SEEK_SET);
  const Status status = open_text(again, name, rate_hz, file, &no_text);
  return status ? error_set(error, status, "%.250s; nor is it rows of numbers: %.200s",
                            no_audio.text, no_text.text)
                : STATUS_OK;
}

Status
audio_file_open_fd(const int fd, const char* const name, const double rate_hz, FxFile** const file,
                   Error* const error)
{
  const Status status = source_check(fd, name, error);
  if (status) {
    return status;
  }
  const int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (again < 0) {
    const Status short_of = source_fail(name, error);
    close(fd);
    return short_of;
  }
  (void)lseek(fd, 0, SEEK_SET);
  return open_any(fd, again, name, rate_hz, file, error);
}

Status
audio_file_load(void* const context, const char* const name, const double rate_hz,
                FxFile** const out, Error* const error)
{
  int fd = -1;
  FxFile* file = NULL;
  Status status = source_open(name, &fd, error);
  status = status ? status : audio_file_open_fd(fd, name, rate_hz, &file, error);
  status = status ? status : audio_file_read(context, file, error);
  if (status) {
    audio_file_free(context, file);
    return status;
  }
  *out = file;
  return STATUS_OK;
}
