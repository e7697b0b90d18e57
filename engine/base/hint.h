// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The name nearest to a wrong word, for messages about effects, parameters, nodes, choices,
   options, commands and OSC addresses.

   A word is near a name if it differs in case only, is its name in other programs ("wet" for
   "mix", "eq" for "peaking": the table in hint.c), is mistyped (edit distance), or if one begins
   with the other; tried in this order.
*/
#ifndef WARPRACK_ENGINE_BASE_HINT_H
#define WARPRACK_ENGINE_BASE_HINT_H

#include <stdint.h>

#define HINT_BYTES 256U

/// The nearest of n names to a wrong one, or NULL if none is near. [any]
const char* nearest_name(const char* wrong, const char* const* names, uint32_t n_names);

/// `did you mean "x"?` if a name is near the wrong one, else `one of a, b, c`, cut at the end of
/// the buffer; "" without names. [any]
const char*
name_hint(char hint[HINT_BYTES], const char* wrong, const char* const* names, uint32_t n_names);

#endif
