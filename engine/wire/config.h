// SPDX-License-Identifier: GPL-3.0-or-later
/// How an engine is configured: what both of its halves, the server and the worker, go by.
#ifndef WARPRACK_ENGINE_WIRE_CONFIG_H
#define WARPRACK_ENGINE_WIRE_CONFIG_H

#include "engine/base/status.h"
#include "engine/contract/backend.h"
#include "engine/contract/effect.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct PlacementCosts;

/// Loads a file for an effect: audio (resampled to rate_hz) or a text file of numbers.  Samples of
/// audio may be left out, so that the file's size is known before they take memory. [builder]
typedef Status (*EngineLoadFile)(void* context, const char* name, double rate_hz, FxFile** file,
                                 Error* error);
/// Reads the samples of one that was loaded without. [builder]
typedef Status (*EngineReadFile)(void* context, FxFile* file, Error* error);
typedef void (*EngineFreeFile)(void* context, FxFile* file);

typedef struct EngineConfig {
  uint32_t n_in, n_out; ///< Channels of the driver; n_out 0: as wide as the rack makes it (offline)
  uint32_t depth;       ///< Blocks in flight, 0..2; offline 0 or 1, and with 1 all of block_frames
  double deadline_fraction; ///< depth 0: fraction of a period to wait
  float ceiling_lin;        ///< Linear; 0: none (offline)
  RackFallback on_late;     ///< Of outputs that the rack has no word on
  bool
      offline; ///< No worker thread: engine_process() runs the block itself, on its caller's thread
  bool realtime;       ///< SCHED_FIFO and locked memory
  int priority;        ///< Of the worker, when realtime
  size_t memory_bytes; ///< That plans may take, the old and the new one together; 0: memory_share()
  uint32_t n_helpers;  ///< Further cores for the worker pool; UINT32_MAX: one less than there are
  EngineBackend backend;
  uint32_t gpu_index;       ///< As `warprack list devices` counts; UINT32_MAX: the best
  uint64_t gpu_deadline_ns; ///< A GPU's block that takes longer has failed; 0: eight periods, 100
                            ///< ms at least (1 s where it is no GPU), 60 s offline
  bool gpu_may_sleep;       ///< Its clocks may fall between blocks, and blocks take longer
  bool gpu_may_be_lost; ///< When it cannot be opened, begin as after a loss: on the CPU, and try
                        ///< it again.  For a worker that takes the place of one that had it
  const struct PlacementCosts*
      costs;                ///< AUTO chooses by these, copied; NULL: measured, once per machine
  EngineLoadFile load_file; ///< May be NULL: racks that name files are refused
  EngineReadFile read_file; ///< NULL where load_file() leaves nothing out
  EngineFreeFile free_file;
  void* file_context;
  void (*note)(void* context, const char* text); ///< engine_new() takes long, and why; may be NULL
  void* note_context;
  const char* const* worker_argv; ///< Program and its arguments, NULL-terminated: a process of its
                                  ///< own plans and runs the rack; NULL: this one does.  Borrowed
  const char* worker_root; ///< Folder that file names are relative to there; NULL: ".".  Borrowed
  const Rack* worker_rack; ///< Files that this one names may be elsewhere; may be NULL.  Borrowed
} EngineConfig;

#endif
