// SPDX-License-Identifier: GPL-3.0-or-later
/// Makes the n-th allocation fail, and counts the bytes that are allocated.  Works in test programs
/// with the dependency wrapped_alloc_dep of meson.build, and only for code that is linked into the
/// program.
#ifndef WARPRACK_TESTS_WRAPPED_ALLOC_H
#define WARPRACK_TESTS_WRAPPED_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/// Let `n_good` allocations succeed and the next one fail.
void failing_alloc_arm(uint32_t n_good);

/// Let all further allocations succeed; returns whether one was made to fail.
bool failing_alloc_disarm(void);

/// Begin to count: both counters start at 0.
void counted_alloc_begin(void);

/// Bytes that were allocated since then and are not freed.
long counted_alloc_now(void);

/// The largest value that counted_alloc_now() has had since then.
long counted_alloc_peak(void);

#endif
