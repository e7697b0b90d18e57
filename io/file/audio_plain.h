// SPDX-License-Identifier: GPL-3.0-or-later
/// Information from the headers of plain audio files that libsndfile does not provide. [main,
/// builder]
#ifndef WARPRACK_IO_FILE_AUDIO_PLAIN_H
#define WARPRACK_IO_FILE_AUDIO_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/// True for WAV, RF64, W64, AIFF, AU, CAF and FLAC whose header declares PCM or float samples.
/// Regular files only; the file position does not change.
bool audio_is_plain(int fd);

/// Bytes of samples that the header promises beyond the end of a truncated file. 0 if the header
/// does not have the length, as in a file that was written into a pipe, and for FLAC.
uint64_t audio_missing_bytes(int fd);

typedef enum AudioTagBlock { TAGS_NONE, TAGS_FLAC, TAGS_INFO } AudioTagBlock;

/// Find the tags of a file: FLAC's VORBIS_COMMENT block, or RIFF's INFO list from the word INFO
/// on.
AudioTagBlock audio_find_tags(int fd, uint64_t* at, uint64_t* n_bytes);

#endif
