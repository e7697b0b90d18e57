// SPDX-License-Identifier: GPL-3.0-or-later
/// Counts the bytes that are allocated.  Works in test programs that are linked with the options
/// counted_alloc_args of meson.build, and counts only code that is linked into the program.
#ifndef WARPRACK_TESTS_COUNTED_ALLOC_H
#define WARPRACK_TESTS_COUNTED_ALLOC_H

#include <stddef.h>

/// Begin to count: both counters start at 0.
void counted_alloc_begin(void);

/// Bytes that were allocated since then and are not freed.
long counted_alloc_now(void);

/// The largest value that counted_alloc_now() has had since then.
long counted_alloc_peak(void);

#endif
