// SPDX-License-Identifier: GPL-3.0-or-later
/// Makes the n-th allocation fail.  Works in test programs that are linked with the options
/// failing_alloc_args of meson.build, and only in code that is linked into the program.
#ifndef WARPRACK_TESTS_FAILING_ALLOC_H
#define WARPRACK_TESTS_FAILING_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/// Let `n_good` allocations succeed and the next one fail.
void failing_alloc_arm(uint32_t n_good);

/// Let all further allocations succeed; returns whether one was made to fail.
bool failing_alloc_disarm(void);

#endif
