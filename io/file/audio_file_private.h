// SPDX-License-Identifier: GPL-3.0-or-later
/// What the files behind audio_file.h share.  Nobody else includes this.
#ifndef WARPRACK_IO_FILE_AUDIO_FILE_PRIVATE_H
#define WARPRACK_IO_FILE_AUDIO_FILE_PRIVATE_H

#include "audio_file.h"
#include "audio_tags.h"

/// Open for reading what is a file, is readable and is not empty.
NODISCARD Status source_open(const char* name, int* fd, Error* error);

/// The same for what is open already; on error it is closed.
NODISCARD Status source_check(int fd, const char* name, Error* error);

/// As audio_reader_open(), from the beginning of a file that is open; given away.
NODISCARD Status audio_reader_open_fd(int fd, const char* name, AudioReader** reader, Error* error);

/// The tags of the file, for as long as the reader is open.
const AudioTags* audio_reader_tags(const AudioReader* reader);

/// A text file with zeroed samples for [n_channels][n_frames]; free with audio_file_free().  NULL
/// when out of memory.
FxFile* loaded_file_new(const char* name, uint32_t n_channels, uint64_t n_frames);

/// The samples of such a file, for whoever fills it.
float* loaded_file_samples(FxFile* file);

/// Read a text file with rows of numbers, all of one length; `fd` is given away.  *rate_hz is what
/// REW's header says, 0 when there is none.
NODISCARD Status number_table_load(int fd, const char* name, double* rate_hz, FxFile** file,
                                   Error* error);

#endif
