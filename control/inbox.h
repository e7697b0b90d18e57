// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The engine's answer on its way from the builder thread to the control thread.

   There is one edit in flight at a time, so one place is enough.  The builder may answer after the
   control thread has ended: the inbox lives until both have let go of it.
*/
#ifndef WARPRACK_CONTROL_INBOX_H
#define WARPRACK_CONTROL_INBOX_H

#include "engine/engine.h"

#include <stdbool.h>

typedef struct Inbox Inbox;

/// NULL with errno when the system has no memory or no descriptors left. [main]
Inbox* inbox_new(void);

/// Readable when inbox_take() or inbox_is_closed() have something new to say; poll() on it.
int inbox_fd(const Inbox* inbox);

/// Before each engine_edit() with inbox_done(). [control]
void inbox_expect(Inbox* inbox);

/// The expected answer will not come: the engine refused the edit at once. [control]
void inbox_unexpect(Inbox* inbox);

/// EngineDone; the context is the inbox. [builder]
void inbox_done(void* inbox, const EngineReply* reply);

/// Take the answer; false when there is none. [control]
bool inbox_take(Inbox* inbox, EngineReply* reply);

/// Ask the control thread to end. [main]
void inbox_close(Inbox* inbox);
bool inbox_is_closed(Inbox* inbox);

/// Let go of it; the last one frees it.  Accepts NULL. [main]
void inbox_release(Inbox* inbox);

#endif
