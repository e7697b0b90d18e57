// SPDX-License-Identifier: GPL-3.0-or-later
/// Tests that are impossible in a program with a sanitizer.
#ifndef WARPRACK_TESTS_SANITIZED_H
#define WARPRACK_TESTS_SANITIZED_H

#include "suite.h"

#include <stdbool.h>

/// Skip the current test in a build with AddressSanitizer or ThreadSanitizer.  `why` says what the
/// sanitizer does.  Returns true if this is such a build; then the caller returns from the test.
static inline bool
skip_sanitized(const char* const why)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  suite_skip(why);
  return true;
#else
  (void)why;
  return false;
#endif
}

#endif
