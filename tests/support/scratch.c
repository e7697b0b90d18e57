// SPDX-License-Identifier: GPL-3.0-or-later
// A private directory for a test's files, and file functions for tests.

#include "scratch.h"

#include <check.h>
#include <dirent.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Scratch
scratch_new(void)
{
  const char* const parent = getenv("TMPDIR");
  Scratch scratch;
  snprintf(scratch.directory, sizeof(scratch.directory), "%.90s/warprack-test-XXXXXX",
           parent ? parent : "/tmp");
  ck_assert_msg(mkdtemp(scratch.directory), "cannot make a directory %s", scratch.directory);
  return scratch;
}

// Returns the number of files, and calls `visit`, unless it is NULL, with the path of each.
static unsigned
for_each(const Scratch* const scratch, int (*const visit)(const char*))
{
  DIR* const directory = opendir(scratch->directory);
  ck_assert_ptr_nonnull(directory);
  unsigned n = 0;
  for (const struct dirent* entry; (entry = readdir(directory));) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      ++n;
      if (visit) {
        visit(scratch_path(scratch, entry->d_name));
      }
    }
  }
  closedir(directory);
  return n;
}

void
scratch_remove(const Scratch* const scratch)
{
  for_each(scratch, unlink);
  rmdir(scratch->directory);
}

const char*
scratch_path(const Scratch* const scratch, const char* const name)
{
  static char paths[8][512];
  static unsigned next;
  char* const path = paths[next++ % 8U];
  snprintf(path, sizeof(paths[0]), "%s/%s", scratch->directory, name);
  return path;
}

unsigned
scratch_count(const Scratch* const scratch)
{
  return for_each(scratch, NULL);
}

void
scratch_write(const Scratch* const scratch, const char* const name, const void* const bytes,
              const size_t n_bytes)
{
  FILE* const file = fopen(scratch_path(scratch, name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, n_bytes, file), n_bytes);
  ck_assert_int_eq(fclose(file), 0);
}

void
scratch_write_wav(const Scratch* const scratch, const char* const name,
                  const float* const* const samples, const unsigned n_channels,
                  const size_t n_frames, const int rate_hz)
{
  SF_INFO info = { .samplerate = rate_hz,
                   .channels = (int)n_channels,
                   .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
  SNDFILE* const file = sf_open(scratch_path(scratch, name), SFM_WRITE, &info);
  ck_assert_ptr_nonnull(file);
  float* const frames = calloc(n_frames * n_channels + 1U, sizeof(float));
  for (size_t i = 0; i < n_frames * n_channels; ++i) {
    frames[i] = samples[i % n_channels][i / n_channels];
  }
  // In one call: each one writes to the file.
  ck_assert_int_eq(sf_writef_float(file, frames, (sf_count_t)n_frames), (sf_count_t)n_frames);
  free(frames);
  sf_close(file);
}

float*
scratch_read(const char* const path, unsigned* const n_channels, size_t* const n_frames,
             int* const rate_hz)
{
  SF_INFO info = { 0 };
  SNDFILE* const file = sf_open(path, SFM_READ, &info);
  ck_assert_msg(file, "%s: %s", path, sf_strerror(NULL));
  float* const samples = calloc((size_t)(info.frames * info.channels) + 1U, sizeof(float));
  ck_assert_int_eq(sf_readf_float(file, samples, info.frames), info.frames);
  sf_close(file);
  *n_channels = (unsigned)info.channels;
  *n_frames = (size_t)info.frames;
  *rate_hz = info.samplerate;
  return samples;
}
