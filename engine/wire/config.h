// SPDX-License-Identifier: GPL-3.0-or-later
/// The configuration of an engine, used by both of its halves, the server and the worker.
#ifndef WARPRACK_ENGINE_WIRE_CONFIG_H
#define WARPRACK_ENGINE_WIRE_CONFIG_H

#include "engine/base/status.h"
#include "engine/base/time.h"
#include "engine/contract/backend.h"
#include "engine/contract/effect.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct PlacementCosts;

// Default and upper bound of EngineConfig::plugin_start_s.
#define ENGINE_PLUGIN_START_S         45U
#define ENGINE_PLUGIN_START_LONGEST_S 300U
// Default of EngineConfig::priority: that of the clients of `jackd -R`.  A worker with a higher one
// preempts the callback that wakes it, and delays all clients; with a lower one, more of its blocks
// are late.
#define ENGINE_PRIORITY 5

typedef struct EngineConfig {
  uint32_t n_in, n_out;     ///< Channels of the driver; n_out 0: as many as the rack has (offline)
  uint32_t depth;           ///< Blocks in flight, 0..2; offline 0 or 1, with 1 in whole blocks
  double deadline_fraction; ///< depth 0: fraction of a period to wait
  float ceiling_lin;        ///< Linear; 0: none (offline)
  RackFallback on_late;     ///< For outputs without a `late` statement
  bool offline;             ///< No worker thread: engine_process() runs the block itself
  bool realtime;            ///< SCHED_FIFO and locked memory
  int priority;             ///< Of the worker, when realtime
  size_t memory_bytes;      ///< Limit for the old and the new plan together; 0: memory_share()
  uint32_t n_helpers; ///< Cores of the worker pool besides the player's; UINT32_MAX: the machine's
                      ///< cores less one
  EngineBackend backend;
  uint32_t gpu_index;       ///< Index in `warprack list devices`; UINT32_MAX: the best device
  uint64_t gpu_deadline_ns; ///< A GPU block that takes longer has failed; 0: eight periods, but at
                            ///< least 100 ms (1 s for a device that is not a GPU); offline 60 s
  uint32_t plugin_start_s;  ///< Seconds that the plugins of a rack have to start, after an edit and
                            ///< when the engine is armed; offline they have any time.  0:
                            ///< ENGINE_PLUGIN_START_S
  bool gpu_may_sleep;       ///< Let the GPU lower its clock rate between blocks, which then take
                            ///< longer
  bool no_fusion;           ///< Let every node on the CPU run by itself, to compare
  bool gpu_may_be_lost; ///< If the GPU cannot be opened, start on the CPU and try again, as after a
                        ///< device loss.  For a worker that replaces one that used the GPU
  const struct PlacementCosts* costs; ///< For AUTO; copied; NULL: measured, once per machine
  FxFiles files;
  void (*note)(void* context, const char* text); ///< Called with the reason when engine_new() takes
                                                 ///< long; may be NULL
  void* note_context;
  const char* const* worker_argv; ///< Program and its arguments, NULL-terminated: a separate
                                  ///< process plans and runs the rack; NULL: this process does.
                                  ///< Borrowed
  const char* worker_root; ///< Folder of relative file names in that process; NULL: ".".  Borrowed
  int plugins_fd; ///< The catalogue of plugins for that process, as sealed_text_new() makes it; 0 or
                  ///< less: none.  Borrowed until engine_new() returns
  const Rack* worker_rack; ///< Files that this rack names may be outside of worker_root; may be
                           ///< NULL.  Borrowed
} EngineConfig;

/// EngineConfig::plugin_start_s in ns. [any]
static inline uint64_t
engine_plugin_start_ns(const EngineConfig* const config)
{
  const uint32_t seconds = config->plugin_start_s;
  return (seconds ? seconds : ENGINE_PLUGIN_START_S) * NS_PER_S;
}

#endif
