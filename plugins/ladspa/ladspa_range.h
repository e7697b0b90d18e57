// SPDX-License-Identifier: GPL-3.0-or-later
/// The range of a control of a LADSPA plugin, from its hints.
#ifndef WARPRACK_PLUGINS_LADSPA_LADSPA_RANGE_H
#define WARPRACK_PLUGINS_LADSPA_LADSPA_RANGE_H

#include "plugins/plugin.h"

#include <ladspa.h>

/// What is mended in hints.
typedef enum RangeMend {
  RANGE_NOT_FINITE,
  RANGE_INVERTED,
  RANGE_NO_MIN,
  RANGE_NO_MAX,
  RANGE_NO_DEFAULT,
  RANGE_DEFAULT_OUTSIDE,
  N_RANGE_MENDS
} RangeMend;

/// Fill in the range, the initial value and the flags of a control input, whose unit is known.
/// Returns what was mended: the bits 1 << RangeMend. [scan]
uint32_t ladspa_range_read(PluginPort* port, const LADSPA_PortRangeHint* hint);

#endif
