// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Tags of audio files: title, copyright, software, artist, comment, date, album, licence, track
   number and genre, which libsndfile numbers from SF_STR_FIRST.

   Tags are read from FLAC's VORBIS_COMMENT block and from the INFO list of RIFF files, and from
   other formats by libsndfile.  Texts are UTF-8; a text of an INFO list that is not valid UTF-8 is
   read as Latin-1.

   Sources: RFC 9639, section 8.6 (Vorbis comments in FLAC); IBM and Microsoft, "Multimedia
   Programming Interface and Data Specifications 1.0" (1991), chapter 3 (INFO list).
*/
#ifndef WARPRACK_IO_FILE_AUDIO_TAGS_H
#define WARPRACK_IO_FILE_AUDIO_TAGS_H

#include "engine/base/status.h"

#include <sndfile.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIO_N_TAGS (SF_STR_LAST + 1)

typedef struct AudioTags {
  char* texts[AUDIO_N_TAGS]; ///< By libsndfile's number; NULL for no tag
  uint32_t n_other;          ///< Tags with other names, and repeated tags
} AudioTags;

/// Read the tags from the bytes of a plain file, before libsndfile takes over the descriptor.
/// [main, builder]
NODISCARD Status audio_tags_scan(int fd, AudioTags* tags, Error* error);

/// Add tags that only libsndfile found. [main, builder]
void audio_tags_add(AudioTags* tags, SNDFILE* file);

void audio_tags_clear(AudioTags* tags);

/// All tags as a RIFF chunk "LIST", which the caller frees; NULL without tags.  Adds to `n_lost`
/// the tags for which INFO has no name.  STATUS_NO_MEM. [main]
NODISCARD Status audio_tags_as_list(const AudioTags* tags, unsigned char** list, size_t* n_bytes,
                                    uint32_t* n_lost);

#endif
