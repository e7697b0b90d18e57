// SPDX-License-Identifier: GPL-3.0-or-later
/// /rack/check: the predicted cost of a rack, which the program finds out while the server goes on.
/// One check at a time; its answer comes later. [control]
#ifndef WARPRACK_CONTROL_CHECKS_H
#define WARPRACK_CONTROL_CHECKS_H

#include "control/net/message.h"
#include "engine/base/status.h"

struct Control;

/// A CommandInfo::run.
Status query_check(struct Control* control, const Peer* peer, Message* message, Error* error);

/// Answer the check if it has ended.
void checks_run(struct Control* control);

#endif
