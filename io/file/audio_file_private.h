// SPDX-License-Identifier: GPL-3.0-or-later
/// Shared by the files behind audio_file.h; no other file includes this.
#ifndef WARPRACK_IO_FILE_AUDIO_FILE_PRIVATE_H
#define WARPRACK_IO_FILE_AUDIO_FILE_PRIVATE_H

#include "audio_file.h"
#include "audio_tags.h"

/// Open a regular file for reading.  Fails if it is empty.
NODISCARD Status source_open(const char* name, int* fd, Error* error);

/// Check an open file as source_open() does; closes it on error.
NODISCARD Status source_check(int fd, const char* name, Error* error);

/// As audio_reader_open(), for an open file, which is read from its start.  Takes ownership of
/// `fd`.
NODISCARD Status audio_reader_open_fd(int fd, const char* name, AudioReader** reader, Error* error);

/// The tags of the file, valid until the reader is closed.
const AudioTags* audio_reader_tags(const AudioReader* reader);

/// Make a text file with zeroed samples [n_channels][n_frames]; free with audio_file_free().  NULL
/// if out of memory.
FxFile* loaded_file_new(const char* name, uint32_t n_channels, uint64_t n_frames);

/// The samples of a file from loaded_file_new(), for writing.
float* loaded_file_samples(FxFile* file);

/// Read a text file with rows of numbers, all of one length.  Takes ownership of `fd`. *rate_hz is
/// the rate in REW's header, 0 without one.
NODISCARD Status number_table_load(int fd, const char* name, double* rate_hz, FxFile** file,
                                   Error* error);

#endif
