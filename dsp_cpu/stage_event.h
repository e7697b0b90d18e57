// SPDX-License-Identifier: GPL-3.0-or-later
/// Passes the events of a block to nodes.
#ifndef WARPRACK_DSP_CPU_STAGE_EVENT_H
#define WARPRACK_DSP_CPU_STAGE_EVENT_H

#include "engine/contract/backend.h"

/// Pass an event to a node, at a frame of its next run.  An effect without FxInfo::set_at gets
/// values at the start of the run only. [player]
static inline void
stage_event_pass(const FxInfo* const fx, void* const node, const StageEvent* const event,
                 const uint32_t frame)
{
  if (event->is_note) {
    fx->event(node, &event->note, frame);
  } else if (fx->set_at) {
    fx->set_at(node, event->param, event->value, frame);
  } else {
    fx->set(node, event->param, event->value);
  }
}

#endif
