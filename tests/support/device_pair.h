// SPDX-License-Identifier: GPL-3.0-or-later
/// Two rigs that play the same rack, on a device and on the CPU, for comparison.
#ifndef WARPRACK_TESTS_DEVICE_PAIR_H
#define WARPRACK_TESTS_DEVICE_PAIR_H

#include "rack_rig.h"

typedef struct DevicePair {
  RackRig rigs[2]; ///< Device, CPU
  float** in;      ///< Planar [n_in][n_frames]
  float** outs[2]; ///< Planar [n_out][n_frames], silence until it is played
  uint32_t n_out;
  uint32_t n_frames;
} DevicePair;

/// Plan a rack without files on both rigs.  The pair frees `in`, planar [n_in][n_frames].
DevicePair device_pair_new(const Backend* device, const char* rack, const Format* format,
                           float** in, uint32_t n_frames);
void device_pair_free(DevicePair* pair);

/// Play frames [first, first + n).
void device_pair_play(DevicePair* pair, size_t first, size_t n, RigSplit split, uint64_t seed);

/// rack_rig_set() and rack_rig_edit() of both rigs.
void device_pair_set(DevicePair* pair, const char* node, const char* param, double value,
                     uint64_t frame);
void device_pair_edit(DevicePair* pair, const char* rack);

/// The largest difference between the outputs, in all frames.
double device_pair_difference(const DevicePair* pair);

#endif
