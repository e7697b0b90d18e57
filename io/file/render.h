// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The offline renderer: plays a file through a rack into a file, faster than real time, with the
   same samples as a live run.

   The output is aligned with the input: the renderer removes as many frames as the rack's latency
   from the start.  The length of the output is the input plus a tail:

       input    ├──────────────────────┤
       engine   ├ latency ┼──────────────────────┼── tail ──┤ silence
       output             ├──────────────────────┼── tail ──┤

   For effects that need the whole signal first (normalize), the renderer runs another pass from the
   start.
*/
#ifndef WARPRACK_IO_FILE_RENDER_H
#define WARPRACK_IO_FILE_RENDER_H

#include "audio_file.h"

#include "engine/engine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RENDER_TAIL_AUTO (-1.0)
// Length of silence that ends an automatic tail, in seconds; longer than any echo time.
#define RENDER_HOLD_S 61.0
#define RENDER_MAX_S  600.0 // longest automatic tail

typedef struct RenderProgress {
  uint32_t pass;      ///< From 1
  uint64_t frames;    ///< Rendered in this pass
  uint64_t of_frames; ///< Input and given tail; an automatic tail may exceed it
  double rate_hz;
} RenderProgress;

/// Called before each block of an offline engine at depth 0, with the block's first frame.  May
/// change the rack and set values.
typedef Status (*RenderPlay)(void* context, Engine* engine, uint64_t frame, uint32_t n_frames,
                             Error* error);

/// What a render plays beside its input.
typedef struct RenderTake {
  RenderPlay play;      ///< NULL: nothing, and the other members do not count
  void* context;        ///< Of `play`
  double rate_hz;       ///< The input must have this rate ...
  uint32_t n_in, n_out; ///< ... and this number of channels; the outputs of the rack
} RenderTake;

typedef struct RenderConfig {
  const char* input;
  const char* output;
  AudioFormat format;
  const Rack* rack;
  uint32_t block_frames; ///< 1..FX_MAX_BLOCK
  double tail_s;         ///< At least 0, or RENDER_TAIL_AUTO: until silent
  bool strict;           ///< Refuse a truncated input
  RenderTake take;       ///< Changes while the input plays.  The latency of `rack` is removed
  EngineConfig engine;   ///< Backend, helpers and file loader; the renderer sets all other members
  void (*progress)(void* context, const RenderProgress* progress); ///< Called after each block; may
                                                                   ///< be NULL
  void* context;
  const atomic_bool* cancel; ///< Checked each block; may be NULL
} RenderConfig;

typedef struct RenderReport {
  double rate_hz;
  uint32_t n_in, n_out;
  uint64_t frames_in, frames_out;
  uint64_t missing_in;     ///< Frames that a truncated input lacks, according to its header
  uint32_t tags_lost;      ///< Tags and chunks of the input that the output lacks
  uint32_t latency_frames; ///< Removed from the beginning
  uint32_t n_passes;
  double seconds;       ///< Wall clock
  double peak;          ///< Largest absolute sample, linear
  uint64_t clipped;     ///< Samples beyond full scale that were clipped
  uint64_t bad_in;      ///< NaN or Inf samples in the input, replaced by 0
  uint64_t bad_out;     ///< NaN or Inf samples in the output, replaced by 0
  uint64_t units_reset; ///< Units of effects whose output was not finite
  bool cut;             ///< The automatic tail reached its limit before silence
  bool cancelled;       ///< `cancel` ended the render: STATUS_FILE, and no file
  char backend[16];     ///< The backend of the nodes, as in EngineStatus
  char device[256];     ///< The open GPU, "" for none
  char backend_note[640];
  char* warnings; ///< engine_warnings() at `rate_hz`; the caller frees it; NULL after an error
} RenderReport;

/// Render a file.  STATUS_FILE (also for a full disk), STATUS_BAD_ARG (the output is the input),
/// STATUS_BAD_RACK, STATUS_NO_BACKEND, STATUS_NO_MEM.  On error the output file is unchanged.
/// [main]
NODISCARD Status render(const RenderConfig* config, RenderReport* report, Error* error);

#endif
