// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A file with the state of a node: what its instances have beside the values of their parameters.

       # warprack state 1
       # lv2 urn:example:plugin
       # parts 2: 120 118
       # hash 0123456789abcdef
       ... the bytes of the parts, which belong to the format of the plugin

   There is one part for each instance, or one for all if they are the same.  The hash is that of
   the parts, so that a file that is cut off or damaged is refused.  A file comes from anywhere: all
   of it is checked.
*/
#ifndef WARPRACK_PLUGINS_STATE_FILE_H
#define WARPRACK_PLUGINS_STATE_FILE_H

#include "engine/base/status.h"
#include "engine/base/text_buffer.h"
#include "engine/contract/effect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_MAX_PARTS FX_MAX_CHANNELS

/// A part; not a text.
typedef struct StatePart {
  const char* bytes; ///< [n_bytes], and a zero
  size_t n_bytes;
} StatePart;

/// A file that was read; zeros: none.
typedef struct StateFile {
  StatePart* parts; ///< [n_parts]
  uint32_t n_parts;
} StateFile;

/// Append bytes.  Returns false, without a change, if the buffer has failed, or would have more
/// than FX_STATE_MAX_BYTES. [any, not rt]
bool state_append(TextBuffer* buffer, const void* bytes, size_t n_bytes);

/// STATUS_LIMIT, for a state that is larger than FX_STATE_MAX_BYTES. [any]
Status state_too_large(Error* error);

/// Write a file.  STATUS_LIMIT, STATUS_NO_MEM. [any, not rt]
NODISCARD Status state_file_write(const FxOrigin* origin, const StatePart* parts, uint32_t n_parts,
                                  TextBuffer* file, Error* error);

/// Take a file apart: its parts, copied.  STATUS_FILE if it is no such file, is damaged or belongs
/// to another plugin; STATUS_NO_MEM. [any, not rt]
NODISCARD Status state_file_parse(const FxOrigin* origin, const char* bytes, size_t n_bytes,
                                  StateFile* file, Error* error);

/// Read the file at a path, a regular one without links.  `name`: for messages.  Also STATUS_LIMIT.
/// [builder]
NODISCARD Status state_file_read(const FxOrigin* origin, const char* path, const char* name,
                                 StateFile* file, Error* error);

/// The part of an instance. [any]
const StatePart* state_file_part(const StateFile* file, uint32_t instance);

/// Memory of the parts, in bytes. [any]
size_t state_file_bytes(const StateFile* file);

/// Replace the parts by copies of others.  STATUS_NO_MEM, without a change. [any, not rt]
NODISCARD Status state_file_set(StateFile* file, const StatePart* parts, uint32_t n_parts);

void state_file_clear(StateFile* file);

#endif
