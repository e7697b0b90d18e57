// SPDX-License-Identifier: GPL-3.0-or-later
/// The mixes of a stage on the CPU: connections, each with its gain and its delay, into rows.
#ifndef WARPRACK_DSP_CPU_MIX_H
#define WARPRACK_DSP_CPU_MIX_H

#include "engine/contract/backend.h"

/// Run a step of the kind STEP_MIX for n_frames of the block.  `rows`: as StageSpec::rows. [player]
REALTIME void mix_run(float* const* rows, const StageStep* step, uint32_t n_frames);

#endif
