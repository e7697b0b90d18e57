// SPDX-License-Identifier: GPL-3.0-or-later
/// What the headers of plain audio files tell beside libsndfile. [main, builder]
#ifndef WARPRACK_IO_FILE_AUDIO_PLAIN_H
#define WARPRACK_IO_FILE_AUDIO_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/// True for WAV, RF64, W64, AIFF, AU, CAF and FLAC whose header says that samples are PCM or
/// floats. Of a regular file; where it stands does not change.
bool audio_is_plain(int fd);

/// Bytes of samples that the header of such a file promises behind its end: it was cut off.  0
/// where the header does not say, as in a file that was written into a pipe, and for FLAC.
uint64_t audio_missing_bytes(int fd);

typedef enum AudioTagBlock { TAGS_NONE, TAGS_FLAC, TAGS_INFO } AudioTagBlock;

/// Where a file has its tags: FLAC's VORBIS_COMMENT block, or RIFF's INFO list from that word on.
AudioTagBlock audio_find_tags(int fd, uint64_t* at, uint64_t* n_bytes);

#endif
