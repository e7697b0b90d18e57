// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A call that may block for ever, made on a thread of its own: audio servers and drivers hang in
   their clients' open and close when they die at the wrong moment (jack2 #395).  Whoever started it
   waits as long as it likes and may leave it to itself.
*/
#ifndef WARPRACK_IO_ERRAND_H
#define WARPRACK_IO_ERRAND_H

#include "../engine/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef void (*ErrandCall)(void* context);

typedef struct Errand Errand;

/// Start call(context).  `context` stays the caller's, but is the thread's to use until
/// errand_wait() is true. [main]
NODISCARD Status errand_start(ErrandCall call, void* context, Errand** errand, Error* error);

/// Wait for at most timeout_ms; true when the call has returned, and then the errand is freed.
/// [main]
bool errand_wait(Errand* errand, uint32_t timeout_ms);

/// Leave it to itself: when the call returns, if ever, `discard` (may be NULL) gets the context, on
/// the errand's thread or at once. [main]
void errand_abandon(Errand* errand, ErrandCall discard);

#endif
