// SPDX-License-Identifier: GPL-3.0-or-later
/// The racks that test_gpu_effects.c plays: at least one for each effect with a kernel.
#ifndef WARPRACK_TESTS_EFFECT_CASES_H
#define WARPRACK_TESTS_EFFECT_CASES_H

#include "engine/contract/effect.h"
#include "tests/support/rack_rig.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_SETS 8U

/// A change of a parameter during play.
typedef struct EffectSet {
  const char* param;
  double value;
  uint32_t frame;       ///< Below 1200, the shortest play of few channels; a ramp takes 960
  uint32_t fade_frames; ///< 0: by a ramp.  Each 64 frames are a part of a block; a block has 8
} EffectSet;

/// A rack with a node x of the effect, and the changes of its parameters.
typedef struct EffectCase {
  const char* chain;
  EffectSet sets[MOST_SETS];              ///< Unused ones have no param
  uint32_t least_channels, most_channels; ///< 0: any
  double rate_hz;                         ///< 0: 48000
  double seconds;    ///< Length, with LONG_BLOCK only; 0: some blocks of each size
  bool pairs_only;   ///< Odd numbers of channels are refused
  float loud;        ///< Level of the loud part of bursts; 0: the level of Play
  double ceiling_db; ///< Upper limit of all samples; 0: none
} EffectCase;

/// Make all cases.  Only inside a test.
const EffectCase* effect_cases(size_t* n_cases);

/// Make the files that cases name.
const RackRigFile* effect_case_files(uint32_t* n_files);

/// The effect of node x.
const FxInfo* effect_case_fx(const EffectCase* effect_case);

#endif
