// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A bank of the reverb: 16 delay lines that are written and read a chunk of up to 32 frames at a
   time, in place.

   All lines are written at the same place of their rings, which have one size, a multiple of 32:
   a chunk that does not cross a multiple of 32 frames never crosses the end of a ring.  The first
   32 frames of a ring also lie behind its end, so that a chunk is read in one piece from any place.
   Two chunks more than the longest delay leave room for stores that are rounded up to whole
   vectors.
*/
#ifndef WARPRACK_DSP_CPU_REVERB_BANK_H
#define WARPRACK_DSP_CPU_REVERB_BANK_H

#include "reverb_rows.h"

#include "dsp_cpu/shared/tap.h"
#include "engine/base/status.h"

#include <stddef.h>

typedef struct ReverbBank {
  uint32_t delay_frames[REVERB_LINES];
  uint32_t longest; ///< Of the delays
  uint32_t ring_frames;
  size_t stride;                  ///< Floats from ring to ring
  ptrdiff_t places[REVERB_LINES]; ///< Of a line's ring in floats, less its delay
} ReverbBank;

/// Rows that are read where they are if possible, else in scratch.
typedef struct ReverbSources {
  const float* rows[REVERB_LINES];
  ReverbRows scratch;
} ReverbSources;

/// Compute the sizes of a bank from its delays, which `extra_frames` may be added to.  Returns the
/// floats of its rings, a multiple of 16. [main]
size_t reverb_bank_design(ReverbBank* bank, uint32_t extra_frames);

/// Complete a write of n_frames, before `line` advances: repeat the first frames of the rings
/// behind their ends. [player]
REALTIME void
reverb_bank_wrote(const ReverbBank* bank, const DelayLine* line, float* rings, uint32_t n_frames);

/// Find the frames of a chunk in all lines, `delay` frames plus that of each line before those that
/// are written at the same time.  Frames that were never written read as silence. [player]
REALTIME void reverb_bank_read(const ReverbBank* bank, const DelayLine* line, const float* rings,
                               uint32_t delay, ReverbSources* sources);

#endif
