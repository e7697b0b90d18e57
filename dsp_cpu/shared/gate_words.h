// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The gate's words on a device, for fx_gate.c and dsp_gpu/kernels/fx_gate.cu.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_GATE_WORDS_H
#define WARPRACK_DSP_CPU_SHARED_GATE_WORDS_H

#include "state_words.h"

// Parameters
#define GATE_RANGE       0 // linear; the target of the only ramp
#define GATE_RAMP_FRAMES 1
#define GATE_OPEN        2 // linear
#define GATE_CLOSE       3 // linear
#define GATE_HOLD        4 // frames
#define GATE_ATTACK      5 // step per frame, as a fraction of the distance
#define GATE_RELEASE     6
#define GATE_PARAM_WORDS 7

// State
#define GATE_STATE_GAIN      1
#define GATE_STATE_IS_OPEN   (GATE_STATE_GAIN + SMOOTH_WORDS)
#define GATE_STATE_HOLD_LEFT (GATE_STATE_IS_OPEN + 1)
#define GATE_STATE_RAMP      (GATE_STATE_HOLD_LEFT + 1)
#define GATE_STATE_WORDS     (GATE_STATE_RAMP + RAMP_WORDS)

#endif
