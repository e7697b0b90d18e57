// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What must hold for every effect, checked on one node of one effect.  Each function fails the test
   with the effect, rate, channel and frame of the fault.
*/
#ifndef WARPRACK_TESTS_FX_CHECKS_H
#define WARPRACK_TESTS_FX_CHECKS_H

#include "fx_rig.h"

/// One node to check.
typedef struct FxCase {
  const char* effect;
  double rate_hz;
  uint32_t n_channels; ///< In and out
  const RigArg* args;  ///< [n_args] Values that differ from the initial ones
  uint32_t n_args;
} FxCase;

/// Planar noise [n_channels][n_frames] in one allocation, times `gain`; channel c has seed + c.
/// free() the result.
float** planar_noise(uint32_t n_channels, uint32_t n_frames, uint64_t seed, double gain);

/// Planar silence, the same way.
float** planar_silence(uint32_t n_channels, uint32_t n_frames);

/// Blocks, random blocks and single frames give the same bits, with `param` set to `value`
/// half-way.
void check_splits(const FxCase* fx_case, const char* param, double value);

/// Silence in gives exact silence out; inputs of 1e-40 (a denormal) give finite outputs below
/// 1e-30.
void check_silence_and_denormals(const FxCase* fx_case);

/// After NaN and infinity came in, unit_init brings back the output of a new node, bit for bit.
void check_recovers(const FxCase* fx_case);

/// All three for 1, 2, 3, 8 and 64 channels at 48 kHz and for 44.1, 96 and 192 kHz in stereo.
/// Odd widths are left out when `pairs_only`.
void check_contract(const char* effect, const RigArg* args, uint32_t n_args, const char* param,
                    double value, bool pairs_only);

#endif
