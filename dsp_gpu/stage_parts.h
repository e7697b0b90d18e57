// SPDX-License-Identifier: GPL-3.0-or-later
/// The parts of chains (kernels/layout.h): for each chain a list, so that a thread finds its part
/// with one read. [builder]
#ifndef WARPRACK_DSP_GPU_STAGE_PARTS_H
#define WARPRACK_DSP_GPU_STAGE_PARTS_H

#include "stage_words.h"

#include "dsp_gpu/kernels/layout.h"

#define UNITY_LINK LIVE_HEAD ///< Word in live: a connection with a constant gain of 1

/// Add the parts of n chains to the table; `first` is the word of the first unit of the first one.
/// Their units are complete, and UNIT_N_PARTS is that of the unit.
void stage_parts_add(Words* table, uint32_t first, uint32_t n);

#endif
