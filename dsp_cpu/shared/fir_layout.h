// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Layout in 32-bit words, shared by fx_fir.c and the kernel fx_fir.cu.  The constants of a node are
  a head, then the taps of each filter, padded with zeros to a multiple of four.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_FIR_LAYOUT_H
#define WARPRACK_DSP_CPU_SHARED_FIR_LAYOUT_H

// Up to this number of taps, sums of products are faster than transforms.  512 taps for 64 frames
// of 1024 channels are 34 million multiply-adds: one launch, and some microseconds on a large GPU.
// Partitions take four launches of one or two microseconds each.
#define FIR_MAX_DIRECT_TAPS 512

#define FIR_N_FILTERS 0 // 1, or one for each channel
#define FIR_TAP_QUADS 1 // of each
#define FIR_HEAD      4

#endif
