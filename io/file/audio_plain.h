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

/// Number of bytes of samples that a truncated file lacks, according to its header.  0 if the
/// header does not have the length, as in a file that was written to a pipe, and for FLAC.
uint64_t audio_missing_bytes(int fd);

typedef enum AudioChunkKind { CHUNK_RIFF, CHUNK_FLAC, CHUNK_OTHER } AudioChunkKind;

/// A chunk of a file, or a block of FLAC's metadata.
typedef struct AudioChunk {
  AudioChunkKind kind; ///< RIFF: little-endian WAV and RF64
  char name[5];        ///< FLAC: "TAGS" for VORBIS_COMMENT, "APPL", "CUES", "PICT", "MORE"
  uint64_t at;         ///< Offset of the content
  uint64_t n_bytes;    ///< Length of the content
} AudioChunk;

typedef void AudioChunkVisitor(void* context, const AudioChunk* chunk);

/// Visit all chunks of a file except those of the encoding, samples, padding and peaks, and those
/// whose texts libsndfile reads.
void audio_visit_chunks(int fd, AudioChunkVisitor* visit, void* context);

/// Read a number of n_bytes, at most 8.
uint64_t audio_number(const unsigned char* bytes, uint32_t n_bytes, bool is_big_endian);

/// Write a little-endian number of n_bytes, or the header of a RIFF chunk with n_bytes of content.
/// They return the place after it.
unsigned char* audio_put_number(unsigned char* at, uint64_t number, uint32_t n_bytes);
unsigned char* audio_put_chunk(unsigned char* at, const char* name, uint32_t n_bytes);

#endif
