// SPDX-License-Identifier: GPL-3.0-or-later
/// A private directory for a test's files, and file functions for tests.
#ifndef WARPRACK_TESTS_SCRATCH_H
#define WARPRACK_TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Scratch {
  char directory[128];
} Scratch;

/// Make a new directory under $TMPDIR, or under /tmp if it is not set.
Scratch scratch_new(void);

/// Remove the directory and its files.
void scratch_remove(const Scratch* scratch);

/// The path of `name` in the directory; the eighth call after this one overwrites it.
const char* scratch_path(const Scratch* scratch, const char* name);

/// Number of files in the directory.
unsigned scratch_count(const Scratch* scratch);

/// Write bytes to a file in the directory.
void scratch_write(const Scratch* scratch, const char* name, const void* bytes, size_t n_bytes);

/// Write planar float audio to a 32-bit float WAV file in the directory.
void scratch_write_wav(const Scratch* scratch, const char* name, const float* const* samples,
                       unsigned n_channels, size_t n_frames, int rate_hz);

/// Read an audio file.  Returns its samples, interleaved; free() them.
float* scratch_read(const char* path, unsigned* n_channels, size_t* n_frames, int* rate_hz);

#endif
