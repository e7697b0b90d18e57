// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Passes the engine's reply from the builder thread to the control thread.

   Only one edit and one save of a state are in flight at a time, so the inbox has room for one
   reply of each.  The builder may reply after the control thread has ended; the last of the two
   frees the inbox.
*/
#ifndef WARPRACK_CONTROL_INBOX_H
#define WARPRACK_CONTROL_INBOX_H

#include "engine/engine.h"

#include <stdbool.h>

typedef struct Inbox Inbox;

/// Make an inbox.  NULL with errno if memory or descriptors are exhausted. [main]
Inbox* inbox_new(void);

/// Descriptor for poll(): readable after a reply or inbox_close(). [control]
int inbox_fd(const Inbox* inbox);

/// Expect a reply.  Call it before each engine_edit() with inbox_done(), or engine_save() with
/// inbox_saved(). [control]
void inbox_expect(Inbox* inbox);

/// Stop expecting a reply, because engine_edit() or engine_save() has failed. [control]
void inbox_unexpect(Inbox* inbox);

/// Store a reply.  An EngineDone, whose context is the inbox. [builder]
void inbox_done(void* inbox, const EngineReply* reply);

/// Take the reply.  Returns false if there is none. [control]
bool inbox_take(Inbox* inbox, EngineReply* reply);

/// Store a state that is saved.  An EngineSaveDone, whose context is the inbox. [builder]
void inbox_saved(void* inbox, const EngineSaved* saved);

/// Take the state; the caller frees its bytes.  Returns false if there is none. [control]
bool inbox_take_saved(Inbox* inbox, EngineSaved* saved);

/// Ask the control thread to end. [main]
void inbox_close(Inbox* inbox);
bool inbox_is_closed(Inbox* inbox);

/// Release the inbox; the last user frees it.  Accepts NULL. [main]
void inbox_release(Inbox* inbox);

#endif
