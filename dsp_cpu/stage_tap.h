// SPDX-License-Identifier: GPL-3.0-or-later
/// Measures the nodes of a stage that clients watch.
#ifndef WARPRACK_DSP_CPU_STAGE_TAP_H
#define WARPRACK_DSP_CPU_STAGE_TAP_H

#include "stage_guard.h"

/// Backend::stage_tap. [player]
REALTIME bool stage_tap(Stage* stage, uint32_t node_index, NodeTap* tap);

/// Add this block of the nodes of a batch to their taps, after the guard. [player]
REALTIME void stage_tap_measure(const Batch* batch, uint32_t n_frames);

#endif
