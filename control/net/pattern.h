// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Matches address patterns of OSC 1.0 against one part of an address (the text between two
   slashes): `*`, `?`, `[a-z]`, `[!a-z]`, `{one,other}`.

   Replaces liblo's lo_pattern_match(), which backtracks: with "*a*a*a*a*a*a*a*b" and a name of 63
   characters "a" it took 2.5 s, and eight times as long with each further "*a".
*/
#ifndef WARPRACK_CONTROL_NET_PATTERN_H
#define WARPRACK_CONTROL_NET_PATTERN_H

#include <stdbool.h>

/// True if the text has a character that makes it a pattern. [any]
bool pattern_is_magic(const char* text);

/// True if the whole name matches.  The time is linear in the sum of both lengths.  Names of more
/// than 63 characters, or with characters outside of ASCII, match no pattern.  Brackets must be
/// balanced, which packet_check() has checked. [any]
bool pattern_match(const char* pattern, const char* name);

#endif
