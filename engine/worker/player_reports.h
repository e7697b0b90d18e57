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

/// Publish the reports of a block that ends before `end`; if MIDI events were run, with
/// REPORT_EVENTS as the last one.  If the next block runs the rest of this block's changes, some of
/// them may be a part of an event: then the next call publishes the reports, unless so many wait
/// that some could get lost.  Returns true if REPORT_EVENTS has not followed yet.  Does nothing if
/// `reports` is NULL. [player]
REALTIME bool
player_publish_reports(Ring* reports, const WaitingHeap* waiting, bool has_run_midi, uint64_t end);

#endif
