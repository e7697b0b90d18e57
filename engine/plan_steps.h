// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Second half of planning: rows for every channel of every node, and the steps that fill them.
   [builder]
*/
#ifndef WARPRACK_ENGINE_PLAN_STEPS_H
#define WARPRACK_ENGINE_PLAN_STEPS_H

#include "plan.h"

/// Fill plan->rows, steps and stages (not yet made) from its nodes and links, and count its units.
NODISCARD Status steps_make(Plan* plan, const Format* format, Arena* scratch, Error* error);

#endif
