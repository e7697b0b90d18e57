// SPDX-License-Identifier: GPL-3.0-or-later
/// Makes the n-th call of liblo fail with NULL or -1, as when memory runs out.  Only the functions
/// that create, fill, serialise and deserialise messages and bundles count, on all threads.  Works
/// in test programs that use failing_lo_dep of meson.build.
#ifndef WARPRACK_TESTS_FAILING_LO_H
#define WARPRACK_TESTS_FAILING_LO_H

#include <stdbool.h>
#include <stdint.h>

/// Let `n_good` calls succeed and the next one fail.
void failing_lo_arm(uint32_t n_good);

/// True when a call has failed since failing_lo_arm().
bool failing_lo_has_failed(void);

/// Let all further calls succeed; returns whether one has failed.
bool failing_lo_disarm(void);

#endif
