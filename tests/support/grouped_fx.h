// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A test effect whose units have several channels, as those of plugins.  Output c of a unit is the
   sum of its inputs, times the gain, times c + 1.  Its calls are logged.
*/
#ifndef WARPRACK_TESTS_GROUPED_FX_H
#define WARPRACK_TESTS_GROUPED_FX_H

#include "engine/rack/rack.h"

#include <stdatomic.h>

enum { GROUPED_GAIN, GROUPED_POISON, GROUPED_IN, GROUPED_OUT, GROUPED_N_PARAMS };

typedef struct GroupedNode {
  uint32_t unit_in, unit_out;
  double gain;
  bool is_poisoned;  ///< The last unit gives NaN
  bool cannot_renew; ///< grouped_renew() fails
  uint32_t n_renewed;
  _Atomic uint32_t latency_frames; ///< grouped_latency()
} GroupedNode;

/// Without FxInfo::set_at and FxInfo::renew.
extern const FxInfo grouped_fx;

void grouped_set_at(void* node, uint32_t param, double value, uint32_t ramp_frames, uint32_t frame);
uint32_t grouped_latency(const void* node);
Status grouped_renew(void* node, Error* error);

/// As grouped_fx.run, but each unit takes 50 us.
void grouped_run_slowly(const FxUnit* units, uint32_t n_units, uint32_t n_frames);

/// Parse `text`; nodes whose names begin with "x" have the effect `fx`, gain 1, and units of this
/// size.  `previous` (or NULL): a rack with the same nodes,
/// whose uids they keep.
Rack* grouped_rack_of(const char* text, const FxInfo* fx, uint32_t unit_in, uint32_t unit_out,
                      const Rack* previous);

/// The calls since the last grouped_log(): "run 4x64 " for four units of 64 frames, "set 0=2 ",
/// "set 0=2@10 " by grouped_set_at(), "renew ".
const char* grouped_log(void);

#endif
