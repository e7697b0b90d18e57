// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The values of a state, as bytes: a line "uri URI" for each URI, before the first value that has
   it, and for each value a line "value KEY TYPE SIZE", its bytes, and a newline.

   A value is stored as the plugin gives it, so that it is restored exactly.  (Turtle as lilv writes
   it keeps eight decimals of a number.)  Numbers for URIs differ from process to process: KEY, TYPE
   and those inside of values are the numbers of the lines with their URIs, from 1.

   A line "file STORED NAME": the file that values call NAME is STORED in the rack's folder.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_VALUES_H
#define WARPRACK_PLUGINS_LV2_LV2_VALUES_H

#include "engine/base/status.h"
#include "plugins/state_file.h"

#include <lv2/urid/urid.h>

#define LV2_VALUES_MAX 16384U // of a state: a plugin that asks for each searches all
#define LV2_URIS_MAX   32768U // of a state: LSP multisamplers have more than 4096
#define LV2_FILES_MAX  64U    // of a state

/// Writes a state; begins with `part`, the rest zeros.
typedef struct Lv2ValueWriter {
  TextBuffer* part;
  LV2_URID* uris; ///< [n_uris] in the order of their lines
  uint32_t n_uris;
  uint32_t n_values;
} Lv2ValueWriter;

/// A value of a state.
typedef struct Lv2Value {
  LV2_URID key, type;
  void* body; ///< [n_bytes], aligned for any type; once read, with a zero after the last byte
  size_t n_bytes;
} Lv2Value;

/// A file that the plugin has made for its state.
typedef struct Lv2File {
  char* name;   ///< In values
  char* stored; ///< Without spaces
} Lv2File;

/// Zeros: none.
typedef struct Lv2Values {
  Lv2Value* list; ///< [n]
  uint32_t n;
  Lv2File* files; ///< [n_files]
  uint32_t n_files;
} Lv2Values;

/// Append a value.  STATUS_LIMIT if it does not fit, STATUS_FILE if it cannot be stored,
/// STATUS_NO_MEM. [builder]
NODISCARD Status lv2_values_write(Lv2ValueWriter* writer, const Lv2Value* value, Error* error);

/// Append the name of a file, printable.  STATUS_LIMIT. [builder]
NODISCARD Status lv2_values_write_file(Lv2ValueWriter* writer, const char* name, const char* stored,
                                       Error* error);

void lv2_values_end(Lv2ValueWriter* writer);

/// Read all values, which lv2_values_clear() frees.  STATUS_FILE, STATUS_LIMIT, STATUS_NO_MEM.
/// [builder]
NODISCARD Status lv2_values_read(const StatePart* part, Lv2Values* values, Error* error);

/// The value of a key, or NULL. [builder]
const Lv2Value* lv2_values_find(const Lv2Values* values, LV2_URID key);

/// Where the file that values call `name` is stored, or NULL. [builder]
const char* lv2_values_stored(const Lv2Values* values, const char* name);

void lv2_values_clear(Lv2Values* values);

#endif
