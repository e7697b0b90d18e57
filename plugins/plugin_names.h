// SPDX-License-Identifier: GPL-3.0-or-later
/// Names that are made from what plugins call their parts: distinct, and words of the rack
/// language.
#ifndef WARPRACK_PLUGINS_PLUGIN_NAMES_H
#define WARPRACK_PLUGINS_PLUGIN_NAMES_H

#include "engine/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/// A set of distinct names.
typedef struct NameSet {
  Arena* arena;
  const char** names; ///< A hash table
  uint32_t* numbers;  ///< Of each name: the last number that was put after it
  uint32_t mask;
} NameSet;

/// Make a set for n names.  Its memory is valid unless Arena::failed. [any, not rt]
NameSet names_begin(Arena* arena, uint32_t n);

/// Add a name, which must live as long as the set, and return it; if the set has it, return
/// "name<separator>2" or a higher number.  NULL if out of memory. [any, not rt]
const char* names_add(NameSet* set, const char* name, char separator);

/// A word for a label, which a rack can write without quotes: "Low pass (12 dB)" is
/// `Low-pass-12-dB`.  The label itself if it is such a word; a label without letters and digits
/// gives its number.  NULL if out of memory. [any, not rt]
const char* names_word(Arena* arena, const char* label, double number);

#endif
