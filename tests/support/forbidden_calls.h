// SPDX-License-Identifier: GPL-3.0-or-later
/// One call of each function that the real-time trap must count: its positive controls.
#ifndef WARPRACK_TESTS_FORBIDDEN_CALLS_H
#define WARPRACK_TESTS_FORBIDDEN_CALLS_H

#include <stdint.h>

typedef struct ForbiddenCall {
  const char* name; ///< The detector that must count the call
  void (*call)(void);
} ForbiddenCall;

/// Make the objects that the calls use.  Call it outside of sections.
void forbidden_calls_prepare(void);

/// Call number `index`; NULL after the last one.  Run them in order: some calls need what the
/// previous one has made.
const ForbiddenCall* forbidden_call(uint32_t index);

/// Two of these calls, malloc() and free().
void forbidden_allocate(void);
void forbidden_free(void);

#endif
