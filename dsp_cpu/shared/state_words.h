// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Sizes of the parts of a kernel's state, in 32-bit words.  Word 0 of a state is nonzero once the
  unit is initialised.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_STATE_WORDS_H
#define WARPRACK_DSP_CPU_SHARED_STATE_WORDS_H

#define RAMP_WORDS       5 // the members of engine/contract/ramp.h, in their order
#define SMOOTH_WORDS     2 // dsp_gpu/kernels/sidechain.h
#define DELAY_LINE_WORDS 2 // dsp_gpu/kernels/delay_line.h
#define TAP_WORDS        (2 + RAMP_WORDS)

#endif
