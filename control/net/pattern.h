// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Address patterns of OSC 1.0 against one part of an address (the text between two slashes):
   `*`, `?`, `[a-z]`, `[!a-z]`, `{one,other}`.

   Ours instead of liblo's lo_pattern_match(), which backtracks: "*a*a*a*a*a*a*a*b" against a name
   of 63 characters "a" took it 2.5 s, and each further "*a" eight times as long.
*/
#ifndef WARPRACK_CONTROL_NET_PATTERN_H
#define WARPRACK_CONTROL_NET_PATTERN_H

#include <stdbool.h>

/// True when the text holds a character that makes it a pattern. [any]
bool pattern_is_magic(const char* text);

/// True when the whole name matches.  Time is linear in the sum of both lengths; names of more than
/// 63 characters, or with others than ASCII, match nothing.  Brackets must be balanced, as the gate
/// sees to. [any]
bool pattern_match(const char* pattern, const char* name);

#endif
