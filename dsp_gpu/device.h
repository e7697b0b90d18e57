// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A device as a backend of the engine: an open GPU, the kernels that were compiled for it, and its
   memory, from which nodes and delay lines get their pieces.

   device.c opens, closes and compiles, device_measure.c measures, device_memory.c deals out memory,
   stage_tables.c turns the steps of a stage into tables and launches, stage_setup.c records them,
   stage_gpu.c runs them.  All [builder] except where another thread is named.
*/
#ifndef WARPRACK_DSP_GPU_DEVICE_H
#define WARPRACK_DSP_GPU_DEVICE_H

#include "gpu.h"

#include "engine/contract/backend.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct CompiledModule CompiledModule;
typedef struct SwitchTrial SwitchTrial;
typedef struct Chunk Chunk;
typedef struct Spare Spare;

/// The base comes first: a Backend of this kind is a Device.
typedef struct Device {
  Backend backend;
  const GpuApi* api;
  GpuDevice* gpu;
  GpuDeviceInfo info;
  uint64_t deadline_ns; ///< A block that takes longer has failed
  size_t mapped_bytes;  ///< Rows of a block up to this, in and out together, stay in mapped memory
  void* region;         ///< Attached, or NULL
  GpuHostMemory* h_region;    ///< The same for the device
  GpuBuffer* d_region;        ///< Or what takes its place, see device_attach_buffer()
  _Atomic uint64_t late_ns;   ///< Deadline that a block missed: nothing more is submitted; else 0
  _Atomic uint32_t n_at_work; ///< Submissions that were not seen to end
  Stage* left;                ///< Freed while a late block was at work, of whichever stage
  struct Device* next_left;   ///< Of all devices that are stuck for good
  SwitchTrial*
      stuck_trial; ///< What device_measure_switch() held when a submission did not come back
  _Atomic uint64_t used_ns; ///< When the last submission began
  bool keep_awake;          ///< While blocks come, see device_awake.c
  bool is_kept_awake;       ///< Its thread runs
  atomic_bool may_sleep;    ///< Ends it
  pthread_t awake;
  CompiledModule* modules;
  Chunk* chunks;
  Spare* spares; ///< [n_spares]
  uint32_t n_spares;
  char summary[256];
} Device;

/// A late block was not seen to come back: all that the device holds is left as it is. [builder]
static inline bool
device_is_stuck(const Device* const device)
{
  return atomic_load_explicit(&device->late_ns, memory_order_relaxed) &&
         atomic_load_explicit(&device->n_at_work, memory_order_relaxed);
}

/// A piece of a chunk: the units of a node behind its constants, or the delay lines of a
/// connection.
struct DeviceMemory {
  Device* device;
  Chunk* chunk;
  uint32_t first_quad, n_quads;
  uint32_t data_quads; ///< Constants in front of the units
  uint32_t unit_quads; ///< From one unit, or line, to the next
  uint32_t n_units;
  const FxInfo* fx;    ///< NULL for lines
  FxKernelShape shape; ///< Of a node
};

/// First quad of a unit or line.
static inline uint32_t
device_unit_quad(const DeviceMemory* const memory, const uint32_t unit)
{
  return memory->first_quad + memory->data_quads + unit * memory->unit_quads;
}

/// The buffer that a chunk's quads are in.
GpuBuffer* chunk_buffer(const Chunk* chunk);

/// A kernel, compiled for a size of group and for sizes; compiled once. [builder]
NODISCARD Status device_kernel(Device* device, const char* file, const char* entry,
                               uint32_t group_size, const FxKernelSize* sizes, GpuKernel** kernel,
                               Error* error);

/// Find mapped_bytes: some milliseconds. [main]
NODISCARD Status device_measure_switch(Device* device, Error* error);

/// As Backend::attach, but the rack's rows are on the device: a stage reads and writes byte n of
/// the buffer, which stays the caller's, for address `region` + n, which nobody touches.  Racks
/// must run on the device as a whole.  For signals that stay there; Backend::detach ends it. [main]
void device_attach_buffer(Device* device, void* region, GpuBuffer* buffer);

// device_spares.c: memory of stages, which may hold anything; n_bytes is what was asked for.
// [builder]

NODISCARD Status device_buffer_take(Device* device, size_t n_bytes, GpuBuffer** buffer,
                                    Error* error);
NODISCARD Status device_host_take(Device* device, size_t n_bytes, GpuHostMemory** host,
                                  Error* error);
/// Accept NULL.
void device_buffer_give(Device* device, size_t n_bytes, GpuBuffer* buffer);
void device_host_give(Device* device, size_t n_bytes, GpuHostMemory* host);
void device_spares_free(Device* device);

// device_memory.c, as in Backend
Status
device_node_new(const Backend* self, const DeviceNode* node, DeviceMemory** memory, Error* error);
Status device_lines_new(const Backend* self, uint32_t n_lines, uint32_t n_frames,
                        DeviceMemory** memory, Error* error);
void device_memory_free(DeviceMemory* memory);
void device_memory_reset(DeviceMemory* memory);
/// Free all chunks.
void device_chunks_free(Device* device);

// stage_setup.c and stage_gpu.c, as in Backend
Status
stage_gpu_new(const Backend* self, const StageSpec* spec, Pool* pool, Stage** stage, Error* error);
void stage_gpu_free(Stage* stage);
void stage_gpu_submit(Stage* stage, uint32_t n_frames, const StageEvent* events, uint32_t n_events);
bool stage_gpu_is_done(Stage* stage);
Status stage_gpu_collect(Stage* stage, uint32_t* n_reset);
void stage_gpu_error(const Stage* stage, Error* error);
/// Where its kernels find the rows, for reports: "attached" (where they lie), "mapped" (the host
/// copies them to and from memory that kernels reach), "copied" (also to the device and back).
/// [any]
const char* stage_gpu_rows(const Stage* stage);

#endif
