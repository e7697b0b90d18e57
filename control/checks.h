// SPDX-License-Identifier: GPL-3.0-or-later
/**
   /rack/check: the predicted cost of a rack, which the program finds out while the server goes on.

   One check runs at a time; its answer comes later.  Others wait in the order of their requests.  A
   client has one place, and another machine one for all its clients, so that no client keeps the
   others from their checks. [control]
*/
#ifndef WARPRACK_CONTROL_CHECKS_H
#define WARPRACK_CONTROL_CHECKS_H

#include "control/net/message.h"
#include "engine/base/status.h"

struct Control;

/// A CommandInfo::run.
Status query_check(struct Control* control, const Peer* peer, Message* message, Error* error);

/// Answer a check that has ended, and begin the next one.
void checks_run(struct Control* control);

/// Forget all checks. [main]
void checks_clear(struct Control* control);

#endif
