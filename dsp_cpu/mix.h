// SPDX-License-Identifier: GPL-3.0-or-later
/// Mixes of a stage on the CPU: connections, each with its gain and its delay, into a row.
#ifndef WARPRACK_DSP_CPU_MIX_H
#define WARPRACK_DSP_CPU_MIX_H

#include "engine/contract/mix_link.h"

/// Fill a row of a step of the kind STEP_MIX for n_frames of the block.  `rows`: as
/// StageSpec::rows.  The caller advances the links. [player]
REALTIME void mix_row(float* const* rows, const MixRow* row, uint32_t n_frames);

/// True if mix_row() would only copy a row: there is one connection, with gain 1 and without delay.
/// [player]
static inline bool
mix_only_copies(const MixRow* const row, const uint32_t n_frames)
{
  const MixLink* const link = row->n_terms == 1U ? row->terms->link : NULL;
  return link && link->gain.target == 1.0F && !link->lines && mix_link_is_steady(link, n_frames);
}

#endif
