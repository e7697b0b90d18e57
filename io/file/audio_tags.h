// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Tags of audio files: title, copyright, software, artist, comment, date, album, licence, track
   number and genre, which libsndfile numbers from SF_STR_FIRST.

   Tags are read from FLAC's VORBIS_COMMENT block and from the INFO list of RIFF files, and from
   other formats by libsndfile.  Texts are UTF-8; a text of an INFO list that is not valid UTF-8 is
   read as Latin-1.

   From RIFF to RIFF, other tags of the INFO list are copied, and these chunks: "bext" (broadcast
   information), "cart", "cue " with its labels, and "smpl" (loops).  All positions in them count
   frames from the first one, which is also the first one of the output.

   Sources: RFC 9639, section 8.6 (Vorbis comments in FLAC); IBM and Microsoft, "Multimedia
   Programming Interface and Data Specifications 1.0" (1991), chapter 3 (INFO list, cue points); EBU
   Tech 3285, version 2 (bext); AES46 (cart).
*/
#ifndef WARPRACK_IO_FILE_AUDIO_TAGS_H
#define WARPRACK_IO_FILE_AUDIO_TAGS_H

#include "engine/base/status.h"

#include <sndfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIO_N_TAGS   (SF_STR_LAST + 1)
#define AUDIO_N_CHUNKS 64

typedef struct AudioTags {
  char* texts[AUDIO_N_TAGS]; ///< Indexed by libsndfile's number; NULL: no tag
  struct {
    unsigned char* bytes; ///< With the chunk's header and padding
    size_t n_bytes;
    bool is_info;           ///< A tag of the INFO list
    bool has_positions;     ///< Cue points, labels or loops
  } chunks[AUDIO_N_CHUNKS]; ///< For RIFF files only
  uint32_t n_chunks;
  uint32_t n_other; ///< Tags and chunks that are not stored here
} AudioTags;

/// Read the tags from the bytes of a plain file, before libsndfile takes over the descriptor.
/// [main, builder]
NODISCARD Status audio_tags_scan(int fd, AudioTags* tags, Error* error);

/// Add the tags that libsndfile has found and audio_tags_scan() has not. [main, builder]
void audio_tags_add(AudioTags* tags, SNDFILE* file);

void audio_tags_clear(AudioTags* tags);

/**
   All tags as RIFF chunks.

   @param is_truncated The input lacks frames: leave out cue points, labels and loops.
   @param chunks The caller frees it.
   @param n_lost Increased by the tags and chunks that are left out, and by each chunk whose
   statement about loudness or level is removed.
   @return STATUS_NO_MEM. [main]
*/
NODISCARD Status audio_tags_as_chunks(const AudioTags* tags, bool is_truncated,
                                      unsigned char** chunks, size_t* n_bytes, uint32_t* n_lost);

#endif
