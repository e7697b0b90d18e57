// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The checks of racks that clients of a live run request (/rack/check): one at a time, in a child
   process, for at most LIVE_CHECKS_LIMIT_NS.
*/
#ifndef WARPRACK_TOOLS_LIVE_CHECKS_H
#define WARPRACK_TOOLS_LIVE_CHECKS_H

#include "check_child.h"

#include "engine/base/time.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LIVE_CHECKS_LIMIT_NS (60U * NS_PER_S)

typedef struct LiveChecks {
  pthread_mutex_t lock; ///< Guards the members up to `why`
  bool is_busy;         ///< A check is requested, and its result is not taken
  char* wanted;         ///< The rack of a check that has not begun
  bool has_ended;       ///< There is a result: `lines`, or `why`
  char* lines;
  Error why;
  ChildMail child;   ///< [main]
  uint64_t limit_ns; ///< [main] Of the check that runs
} LiveChecks;

/// Begin without checks. [main]
void live_checks_init(LiveChecks* checks);

/// Request a check.  STATUS_LIMIT while there is another one. [control]
NODISCARD Status live_checks_want(LiveChecks* checks, const char* text, Error* error);

/// True while a check is requested or runs, and until its result is taken. [any]
bool live_checks_are_busy(LiveChecks* checks);

/// Take the result of a check: returns false until there is one.  The caller frees `lines`; NULL:
/// it has failed, and `why` says why. [control]
bool live_checks_take(LiveChecks* checks, char** lines, Error* why);

/// Start the check that is requested; `request` is completed by its text.  Take the result of one
/// that has ended, and end one that takes too long.  Does not wait. [main]
void live_checks_poll(LiveChecks* checks, const CheckRequest* request, uint64_t now_ns);

/// Kill the check that runs, and free everything. [main, without other threads]
void live_checks_stop(LiveChecks* checks);

#endif
