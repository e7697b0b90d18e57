// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Calls a function that may block for ever on a separate thread: audio servers and drivers hang in
   their clients' open and close calls when they die at the wrong moment (jack2 #395).  The caller
   waits with a timeout, and may abandon the call.
*/
#ifndef WARPRACK_ENGINE_BASE_ASYNC_CALL_H
#define WARPRACK_ENGINE_BASE_ASYNC_CALL_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

typedef void (*AsyncFunction)(void* context);

typedef struct AsyncCall AsyncCall;

/// Start function(context) on a thread with this name (at most 15 characters).  The caller keeps
/// the ownership of `context`, but only the thread may use it until async_call_wait() returns true,
/// except for members that do not change or are under a lock of the caller. [main]
NODISCARD Status async_call_start(const char* name, AsyncFunction function, void* context,
                                  AsyncCall** call, Error* error);

/// Wait for at most timeout_ms.  Returns true if the function has returned; the call is freed
/// then. [main]
bool async_call_wait(AsyncCall* call, uint32_t timeout_ms);

/// Abandon the call: when the function returns, if ever, `discard` (may be NULL) gets the context,
/// on the call's thread or at once. [main]
void async_call_abandon(AsyncCall* call, AsyncFunction discard);

#endif
