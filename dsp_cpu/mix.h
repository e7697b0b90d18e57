// SPDX-License-Identifier: GPL-3.0-or-later
/// Mixes of a stage on the CPU: connections, each with its gain and its delay, into a row.
#ifndef WARPRACK_DSP_CPU_MIX_H
#define WARPRACK_DSP_CPU_MIX_H

#include "engine/contract/backend.h"

/// Fill a row of a step of the kind STEP_MIX for n_frames of the block.  `rows`: as
/// StageSpec::rows.  The caller advances the links. [player]
REALTIME void mix_row(float* const* rows, const MixRow* row, uint32_t n_frames);

/// The row that mix_row() would only copy: there is one connection, with gain 1 and without delay.
/// NULL: there is more to do. [player]
REALTIME const float* mix_copied_row(float* const* rows, const MixRow* row, uint32_t n_frames);

#endif
