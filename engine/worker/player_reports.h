// SPDX-License-Identifier: GPL-3.0-or-later
/// What a player reports to the control thread (RingReport).
#ifndef WARPRACK_ENGINE_WORKER_PLAYER_REPORTS_H
#define WARPRACK_ENGINE_WORKER_PLAYER_REPORTS_H

#include "waiting_heap.h"

#include "engine/plan/plan.h"
#include "engine/ring/ring.h"

/// Report that a plan is active from a frame on.  Does nothing if `reports` is NULL. [player]
REALTIME void player_report_plan(Ring* reports, const Plan* plan, uint64_t frame);

/// Likewise: that a message applies from a frame on. [player]
REALTIME void player_report_message(Ring* reports, const WaitingMessage* entry, uint64_t frame);

#endif
