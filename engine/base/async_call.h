// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A function that may block for ever, made on a thread of its own: audio servers and drivers hang
   in their clients' open and close when they die at the wrong moment (jack2 #395).  Whoever started
   it waits as long as it likes and may leave it to itself.
*/
#ifndef WARPRACK_ENGINE_BASE_ASYNC_CALL_H
#define WARPRACK_ENGINE_BASE_ASYNC_CALL_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

typedef void (*AsyncFunction)(void* context);

typedef struct AsyncCall AsyncCall;

/// Start function(context).  `context` stays the caller's, but is the thread's to use until
/// async_call_wait() is true. [main]
NODISCARD Status async_call_start(AsyncFunction function, void* context, AsyncCall** call,
                                  Error* error);

/// Wait for at most timeout_ms; true when the function has returned, and then the call is freed.
/// [main]
bool async_call_wait(AsyncCall* call, uint32_t timeout_ms);

/// Leave it to itself: when the function returns, if ever, `discard` (may be NULL) gets the
/// context, on the call's thread or at once. [main]
void async_call_abandon(AsyncCall* call, AsyncFunction discard);

#endif
