// SPDX-License-Identifier: GPL-3.0-or-later
/// A private directory for a test's files, and file functions for tests.
#ifndef WARPRACK_TESTS_SCRATCH_H
#define WARPRACK_TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Scratch {
  char directory[128];
} Scratch;

/// Make a new directory under $TMPDIR, else /tmp.
Scratch scratch_new(void);

/// Remove it with all that is in it.
void scratch_remove(const Scratch* scratch);

/// The path of a name in it; valid until 8 further calls.
const char* scratch_path(const Scratch* scratch, const char* name);

/// Number of files in it.
unsigned scratch_count(const Scratch* scratch);

/// Write bytes to a file in it.
void scratch_write(const Scratch* scratch, const char* name, const void* bytes, size_t n_bytes);

/// Write planar float audio to a 32-bit float WAV file in it.
void scratch_write_wav(const Scratch* scratch, const char* name, const float* const* samples,
                       unsigned n_channels, size_t n_frames, int rate_hz);

/// Read an audio file: interleaved samples, to be freed.
float* scratch_read(const char* path, unsigned* n_channels, size_t* n_frames, int* rate_hz);

#endif
