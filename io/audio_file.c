// SPDX-License-Identifier: GPL-3.0-or-later
// Whole files for effects: audio by libsndfile, brought to the engine's rate by libsamplerate, or
// text with rows of numbers.

#include "audio_file.h"

#include "audio_file_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <samplerate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SAMPLES ((1ULL << 30U) / sizeof(float)) // 1 GiB: 23 minutes of 4 channels at 48 kHz
#define READ_FRAMES 65536U

typedef struct LoadedFile {
  FxFile file; // First, so that a pointer to one is a pointer to the other
  char* name;
  float* samples;
} LoadedFile;

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
source_open(const char* const name, int* const fd, Error* const error)
{
  // Not to wait for who writes into a pipe.
  *fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  return *fd < 0 ? error_set(error, STATUS_FILE, "cannot read '%s': %s", name, strerror(errno))
                 : source_check(*fd, name, error);
}

FxFile*
loaded_file_new(const char* const name, const uint32_t n_channels, const uint64_t n_frames,
                const bool is_audio)
{
  LoadedFile* const loaded = calloc(1, sizeof(LoadedFile));
  if (!loaded) {
    return NULL;
  }
  loaded->name = strdup(name);
  loaded->samples = calloc((size_t)n_channels * n_frames, sizeof(float));
  loaded->file = (FxFile){ .name = loaded->name,
                           .n_channels = n_channels,
                           .n_frames = n_frames,
                           .samples = loaded->samples,
                           .is_audio = is_audio };
  if (!loaded->name || !loaded->samples) {
    audio_file_free(NULL, &loaded->file);
    return NULL;
  }
  return &loaded->file;
}

float*
loaded_file_samples(FxFile* const file)
{
  return ((LoadedFile*)file)->samples;
}

void
audio_file_free(void* const context, FxFile* const file)
{
  (void)context;
  LoadedFile* const loaded = (LoadedFile*)file;
  if (loaded) {
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
check_finite(const FxFile* const file, Error* const error)
{
  for (uint32_t c = 0; c < file->n_channels; ++c) {
    for (uint64_t i = 0; i < file->n_frames; ++i) {
      if (!isfinite(file->samples[c * file->n_frames + i])) {
        return error_set(error, STATUS_FILE,
                         "'%s' holds a sample that is no number (channel %u, frame %llu); "
                         "write it anew from its source",
                         file->name, c + 1U, (unsigned long long)i);
      }
    }
  }
  return STATUS_OK;
}

static Status
read_samples(AudioReader* const reader, FxFile* const file, Error* const error)
{
  float** const to = calloc(file->n_channels, sizeof(float*));
  if (!to) {
    return error_set(error, STATUS_NO_MEM, "'%s': out of memory", file->name);
  }
  Status status = STATUS_OK;
  for (uint64_t done = 0; !status && done < file->n_frames;) {
    const uint64_t left = file->n_frames - done;
    for (uint32_t c = 0; c < file->n_channels; ++c) {
      to[c] = loaded_file_samples(file) + c * file->n_frames + done;
    }
    uint32_t n_read = 0;
    status = audio_reader_read(reader, to, left < READ_FRAMES ? (uint32_t)left : READ_FRAMES,
                               &n_read, error);
    done += n_read;
  }
  free(to);
  return status ? status : check_finite(file, error);
}

static Status
read_audio(const char* const name, AudioReader* const reader, FxFile** const out,
           Error* const error)
{
  const uint32_t n_channels = audio_reader_channels(reader);
  const uint64_t n_frames = audio_reader_frames(reader);
  Status status = check_size(name, n_channels, n_frames, error);
  if (!status) {
    status = audio_reader_check_whole(reader, error);
  }
  if (status) {
    return status;
  }
  FxFile* const file = loaded_file_new(name, n_channels, n_frames, true);
  if (!file) {
    return error_set(error, STATUS_NO_MEM, "'%s': out of memory for %llu frames", name,
                     (unsigned long long)n_frames);
  }
  status = read_samples(reader, file, error);
  if (status) {
    audio_file_free(NULL, file);
    return status;
  }
  *out = file;
  return STATUS_OK;
}

// An impulse response is samples of a function of time, times the time between two of them: twice
// the rate, half the taps.  So a frequency response stays what it was at every rate.
static Status
resample_channel(const FxFile* const from, FxFile* const to, const uint32_t channel,
                 const double ratio, Error* const error)
{
  float* const out = loaded_file_samples(to) + channel * to->n_frames;
  SRC_DATA data = { .data_in = from->samples + channel * from->n_frames,
                    .input_frames = (long)from->n_frames,
                    .data_out = out,
                    .output_frames = (long)to->n_frames,
                    .src_ratio = ratio };
  const int failure = src_simple(&data, SRC_SINC_BEST_QUALITY, 1);
  if (failure) {
    return error_set(error, STATUS_FILE, "'%s' cannot be resampled: %s", from->name,
                     src_strerror(failure));
  }
  for (uint64_t i = 0; i < to->n_frames; ++i) {
    out[i] = (float)(out[i] / ratio);
  }
  return STATUS_OK;
}

static Status
resample(FxFile** const file, const double from_hz, const double to_hz, Error* const error)
{
  const double ratio = to_hz / from_hz;
  FxFile* const from = *file;
  if (!src_is_valid_ratio(ratio)) {
    return error_set(error, STATUS_FILE, "'%s' cannot be resampled from %g to %g Hz", from->name,
                     from_hz, to_hz);
  }
  const uint64_t n_frames = (uint64_t)ceil((double)from->n_frames * ratio);
  Status status = check_size(from->name, from->n_channels, n_frames, error);
  FxFile* const to =
      status ? NULL : loaded_file_new(from->name, from->n_channels, n_frames, from->is_audio);
  if (!status && !to) {
    status = error_set(error, STATUS_NO_MEM, "'%s': out of memory", from->name);
  }
  for (uint32_t c = 0; !status && c < from->n_channels; ++c) {
    status = resample_channel(from, to, c, ratio, error);
  }
  if (status) {
    audio_file_free(NULL, to);
    return status;
  }
  audio_file_free(NULL, from);
  *file = to;
  return STATUS_OK;
}

/// Bring a file that was read at `from_hz` (0: unknown, stays as it is) to another rate; frees it
/// on error.
static Status
finish(FxFile* file, const double from_hz, const double to_hz, FxFile** const out,
       Error* const error)
{
  const Status status =
      from_hz > 0.0 && from_hz != to_hz ? resample(&file, from_hz, to_hz, error) : STATUS_OK;
  if (status) {
    audio_file_free(NULL, file);
    return status;
  }
  *out = file;
  return STATUS_OK;
}

/// Audio, or rows of numbers; `again` is the same file for the second try.  Both are given away.
static Status
load_any(const int fd, const int again, const char* const name, const double rate_hz,
         FxFile** const file, Error* const error)
{
  AudioReader* reader = NULL;
  Error no_audio = { STATUS_OK, "" };
  if (!audio_reader_open_fd(fd, name, &reader, &no_audio)) {
    close(again);
    FxFile* samples = NULL;
    const Status status = read_audio(name, reader, &samples, error);
    const double from_hz = audio_reader_rate(reader);
    audio_reader_close(reader);
    return status ? status : finish(samples, from_hz, rate_hz, file, error);
  }
  Error no_text = { STATUS_OK, "" };
  FxFile* numbers = NULL;
  double from_hz = 0.0;
  (void)lseek(again, 0, SEEK_SET);
  const Status status = number_table_load(again, name, &from_hz, &numbers, &no_text);
  return status ? error_set(error, status, "%.250s; nor is it rows of numbers: %.200s",
                            no_audio.text, no_text.text)
                : finish(numbers, from_hz, rate_hz, file, error);
}

Status
audio_file_load_fd(const int fd, const char* const name, const double rate_hz, FxFile** const file,
                   Error* const error)
{
  const Status status = source_check(fd, name, error);
  if (status) {
    return status;
  }
  const int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (again < 0) {
    close(fd);
    return error_set(error, STATUS_FILE, "cannot read '%s': %s", name, strerror(errno));
  }
  (void)lseek(fd, 0, SEEK_SET);
  return load_any(fd, again, name, rate_hz, file, error);
}

Status
audio_file_load(void* const context, const char* const name, const double rate_hz,
                FxFile** const file, Error* const error)
{
  (void)context;
  int fd = -1;
  const Status status = source_open(name, &fd, error);
  return status ? status : audio_file_load_fd(fd, name, rate_hz, file, error);
}
