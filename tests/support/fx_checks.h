// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The properties that every effect must have, checked on one node.  If a check fails, the message
   has the effect and, where they matter, the rate, channel and frame.
*/
#ifndef WARPRACK_TESTS_FX_CHECKS_H
#define WARPRACK_TESTS_FX_CHECKS_H

#include "fx_rig.h"

/// One node to check.
typedef struct FxCase {
  const char* effect;
  double rate_hz;
  uint32_t n_channels; ///< Inputs, and as many outputs
  const RigArg* args;  ///< [n_args] Values that differ from the defaults
  uint32_t n_args;
} FxCase;

/// Planar noise [n_channels][n_frames] in one allocation, times `gain`; channel c has seed + c.
/// free() the result.
float** planar_noise(uint32_t n_channels, uint32_t n_frames, uint64_t seed, double gain);

/// Planar silence [n_channels][n_frames] in one allocation.  free() the result.
float** planar_silence(uint32_t n_channels, uint32_t n_frames);

/// The output has the same bits whether it is computed in blocks, in blocks of random length or in
/// single frames; `param` is set to `value` half-way.
void check_splits(const FxCase* fx_case, const char* param, double value);

/// For silence the output is exactly 0; for inputs of ±1e-40 (a denormal) it is finite and below
/// 1e-30.
void check_silence_and_denormals(const FxCase* fx_case);

/// After an input with NaN and infinity, unit_init() restores the unit: its output is that of a new
/// node, bit for bit.
void check_recovers(const FxCase* fx_case);

/// All three checks, with 1, 2, 3, 8 and 64 channels at 48 kHz, and in stereo at 44.1, 96 and
/// 192 kHz; with `pairs_only`, without odd numbers of channels.
void check_contract(const char* effect, const RigArg* args, uint32_t n_args, const char* param,
                    double value, bool pairs_only);

#endif
