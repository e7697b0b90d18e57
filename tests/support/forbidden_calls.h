// SPDX-License-Identifier: GPL-3.0-or-later
/// One call of each function that the real-time trap must count: its positive controls.
#ifndef WARPRACK_TESTS_FORBIDDEN_CALLS_H
#define WARPRACK_TESTS_FORBIDDEN_CALLS_H

#include <stdint.h>

typedef struct ForbiddenCall {
  const char* name; ///< Of the detector
  void (*call)(void);
} ForbiddenCall;

/// Make what they work on; outside of sections.
void forbidden_calls_prepare(void);

/// In their order, for some need what the one before has made; NULL after the last.
const ForbiddenCall* forbidden_call(uint32_t index);

/// Two of them.
void forbidden_allocate(void);
void forbidden_free(void);

#endif
