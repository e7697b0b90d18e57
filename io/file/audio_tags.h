// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Tags of audio files: title, copyright, software, artist, comment, date, album, licence, track
   number and genre, which libsndfile numbers from SF_STR_FIRST.

   They are read from FLAC's VORBIS_COMMENT block and from the INFO list of RIFF files, from others
   as libsndfile has them.  Texts are UTF-8: what is not in an INFO list is taken as Latin-1.

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
  char* texts[AUDIO_N_TAGS]; ///< By libsndfile's number; NULL where there is none
  uint32_t n_other;          ///< Tags under other names, and more than one of a name
} AudioTags;

/// Read what the bytes of a plain file say, before libsndfile has the descriptor. [main, builder]
NODISCARD Status audio_tags_scan(int fd, AudioTags* tags, Error* error);

/// Add what only libsndfile found. [main, builder]
void audio_tags_add(AudioTags* tags, SNDFILE* file);

void audio_tags_clear(AudioTags* tags);

/// All of them as a RIFF chunk "LIST", to be freed; NULL when there are none.  Adds to `n_lost`
/// those that INFO has no name for.  STATUS_NO_MEM. [main]
NODISCARD Status audio_tags_as_list(const AudioTags* tags, unsigned char** list, size_t* n_bytes,
                                    uint32_t* n_lost);

#endif
