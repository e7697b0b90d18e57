// SPDX-License-Identifier: GPL-3.0-or-later
/// Counts the bytes that are allocated.  Works in test programs that are linked with the options
/// counted_alloc_args of meson.build, for the code linked into them.
#ifndef WARPRACK_TESTS_COUNTED_ALLOC_H
#define WARPRACK_TESTS_COUNTED_ALLOC_H

#include <stddef.h>

/// Begin to count from here.
void counted_alloc_begin(void);

/// Bytes allocated and not freed since then.
long counted_alloc_now(void);

/// The most that there were at a time.
long counted_alloc_peak(void);

#endif
