// SPDX-License-Identifier: GPL-3.0-or-later
/// Shared by the files behind audio_file.h; no other file includes this.
#ifndef WARPRACK_IO_FILE_AUDIO_FILE_PRIVATE_H
#define WARPRACK_IO_FILE_AUDIO_FILE_PRIVATE_H

#include "audio_file.h"
#include "audio_tags.h"

/// Set the error of a file from errno.
Status source_fail(const char* name, Error* error);

/// Open a regular file for reading.  Fails if it is empty.
NODISCARD Status source_open(const char* name, int* fd, Error* error);

/// Check an open file as source_open() does; closes it on error.
NODISCARD Status source_check(int fd, const char* name, Error* error);

/// As audio_reader_open(), for an open file, which is read from its start.  Takes ownership of
/// `fd`.
NODISCARD Status audio_reader_open_fd(int fd, const char* name, AudioReader** reader, Error* error);

/// The tags of the file, valid until the reader is closed.
const AudioTags* audio_reader_tags(const AudioReader* reader);

/// A text file with rows of numbers, all of one length.
typedef struct NumberTable {
  float* values; ///< [n_rows][n_columns], for the caller to free
  uint32_t n_rows, n_columns;
  double rate_hz; ///< In REW's header; 0: the file has none
} NumberTable;

/// Read rows of numbers.  Takes ownership of `fd`.
NODISCARD Status number_table_load(int fd, NumberTable* table, Error* error);

#endif
