// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The values of a state, as bytes: for each a line "KEY TYPE ELEMENT SIZE", the value, a newline.

   A value is stored as the plugin gives it, so that it is restored exactly.  (Turtle as lilv writes
   it keeps eight decimals of a number.)  Numbers for URIs differ from process to process: they are
   stored as URIs, where the host knows their place: in a URID and in the type of a vector's elements
   (ELEMENT; else "-").  A value that may have others inside, such as an object, cannot be stored.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_VALUES_H
#define WARPRACK_PLUGINS_LV2_LV2_VALUES_H

#include "engine/base/status.h"
#include "plugins/state_file.h"

#include <lv2/urid/urid.h>

#define LV2_VALUES_MAX 16384U // of a state: a plugin that asks for each searches all

/// A value of a state.
typedef struct Lv2Value {
  LV2_URID key, type;
  void* body; ///< [n_bytes], aligned for any type
  size_t n_bytes;
} Lv2Value;

/// Zeros: none.
typedef struct Lv2Values {
  Lv2Value* list; ///< [n]
  uint32_t n;
} Lv2Values;

/// Append a value.  STATUS_LIMIT if it does not fit, STATUS_FILE if it cannot be stored. [builder]
NODISCARD Status lv2_values_write(TextBuffer* part, const Lv2Value* value, Error* error);

/// Read all values, which lv2_values_clear() frees.  STATUS_FILE, STATUS_NO_MEM. [builder]
NODISCARD Status lv2_values_read(const StatePart* part, Lv2Values* values, Error* error);

/// The value of a key, or NULL. [builder]
const Lv2Value* lv2_values_find(const Lv2Values* values, LV2_URID key);

void lv2_values_clear(Lv2Values* values);

#endif
