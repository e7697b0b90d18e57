// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The offline renderer: a file through a rack to a file, faster than real time, to the same samples
   as live.

   The output is aligned with the input: the rack's latency is cut off its beginning.  It is as long
   as the input and a tail:

       input    ├──────────────────────┤
       engine   ├ latency ┼──────────────────────┼── tail ──┤ silence
       output             ├──────────────────────┼── tail ──┤

   Effects that need the whole signal first (normalize) make it run again from the start.
*/
#ifndef WARPRACK_IO_FILE_RENDER_H
#define WARPRACK_IO_FILE_RENDER_H

#include "audio_file.h"

#include "engine/engine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RENDER_TAIL_AUTO (-1.0)
#define RENDER_HOLD_S    61.0  // so long quiet ends an automatic tail: no echo comes later
#define RENDER_MAX_S     600.0 // longest automatic tail

typedef struct RenderProgress {
  uint32_t pass;      ///< From 1
  uint64_t frames;    ///< Rendered in this pass
  uint64_t of_frames; ///< Input and given tail; an automatic tail goes beyond
  double rate_hz;
} RenderProgress;

typedef struct RenderConfig {
  const char* input;
  const char* output;
  AudioFormat format;
  const Rack* rack;
  uint32_t block_frames; ///< 1..FX_MAX_BLOCK
  double tail_s;         ///< At least 0, or RENDER_TAIL_AUTO: until silent
  bool strict;           ///< Refuse an input that was cut off
  EngineConfig engine;   ///< Backend, helpers and file loader; the renderer sets the rest
  void (*progress)(void* context, const RenderProgress* progress); ///< Each block; may be NULL
  void* context;
  const atomic_bool* cancel; ///< Checked each block; may be NULL
} RenderConfig;

typedef struct RenderReport {
  double rate_hz;
  uint32_t n_in, n_out;
  uint64_t frames_in, frames_out;
  uint64_t missing_in;     ///< Frames that the input's header promises behind its end
  uint32_t tags_lost;      ///< Of the input, that the output's format has no place for
  uint32_t latency_frames; ///< Cut off
  uint32_t n_passes;
  double seconds;       ///< Wall clock
  double peak;          ///< Largest absolute sample, linear
  uint64_t clipped;     ///< Samples beyond full scale that the file cannot hold
  uint64_t bad_in;      ///< NaN or Inf samples in the input, now 0
  uint64_t bad_out;     ///< The same in the output
  uint64_t units_reset; ///< Units of effects whose output was not finite
  bool cut;             ///< Still sounding where an automatic tail ended
  bool cancelled;       ///< Ended by `cancel`: STATUS_FILE, nothing written
  char backend[16];     ///< What ran the nodes, as in EngineStatus
  char device[256];     ///< The GPU that was open, "" when none
  char backend_note[640];
  char* warnings; ///< rack_warnings() at `rate_hz`, for the caller to free; NULL after an error
} RenderReport;

/// Render.  STATUS_FILE (also with no room on the disk), STATUS_BAD_ARG (output is the input),
/// STATUS_BAD_RACK, STATUS_NO_BACKEND, STATUS_NO_MEM; on any of them the output is untouched.
/// [main]
NODISCARD Status render(const RenderConfig* config, RenderReport* report, Error* error);

#endif
