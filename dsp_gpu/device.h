// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A device as a backend of the engine: an open GPU, the kernels compiled for it, and its memory,
   which is divided among nodes and delay lines.

   device.c opens and closes, device_kernels.c compiles, device_load.c does so ahead of edits,
   device_measure.c measures, device_memory.c
   allocates memory, stage_tables.c turns the steps of a stage into tables and launches,
   stage_setup.c records them, stage_gpu.c runs them.  All [builder] except where another thread is
   named.
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

/// Backend is the first member, so a pointer to it is also a pointer to the Device.
typedef struct Device {
  Backend backend;
  const GpuApi* api;
  GpuDevice* gpu;
  GpuDeviceInfo info;
  uint64_t deadline_ns; ///< A block that takes longer fails
  size_t mapped_bytes;  ///< Blocks of up to this number of bytes, input and output together, keep
                        ///< their rows in mapped memory
  void* region;         ///< The ring's region while it is attached, else NULL
  GpuHostMemory* h_region;    ///< The device's view of the region
  GpuBuffer* d_region;        ///< The buffer that replaces the region, see device_attach_buffer()
  _Atomic uint64_t late_ns;   ///< The deadline that a block missed; 0: no block did.  Once it is
                              ///< set, no block is submitted
  _Atomic uint32_t n_at_work; ///< Submissions without a known end
  Stage* left;                ///< Stages freed while a late block of them was running
  struct Device* next_left;   ///< List of all stuck devices
  SwitchTrial*
      stuck_trial; ///< Memory of device_measure_switch() after a submission that never ended
  _Atomic uint64_t used_ns; ///< Start of the last submission
  bool keep_awake;          ///< Keep the clocks high while blocks arrive, see device_awake.c
  atomic_bool plays;        ///< Real-time blocks arrive, and keep_awake
  atomic_bool is_armed;     ///< The device waits for blocks (GpuApi::arm), which keeps it awake
  bool is_kept_awake;       ///< The thread of device_awake.c runs
  atomic_bool may_sleep;    ///< Ends that thread
  pthread_t awake;
  CompiledModule* modules;
  Chunk* chunks;
  Spare* spares; ///< [n_spares]
  uint32_t n_spares;
  char summary[256];
} Device;

/// True if a late block never ended: no memory or object of the device may be freed. [builder]
static inline bool
device_is_stuck(const Device* const device)
{
  return atomic_load_explicit(&device->late_ns, memory_order_relaxed) &&
         atomic_load_explicit(&device->n_at_work, memory_order_relaxed);
}

/// A part of a chunk: the constants of a node and then its units, or the delay lines of a
/// connection.
struct DeviceMemory {
  Device* device;
  Chunk* chunk;
  uint32_t first_quad, n_quads;
  uint32_t data_quads; ///< Constants before the units
  uint32_t unit_quads; ///< Distance from one unit, or line, to the next
  uint32_t n_units;
  const FxInfo* fx;    ///< NULL for lines
  FxKernelShape shape; ///< Shape of the node; unused for lines
};

/// Where kernels find memory.
typedef struct MemoryPlace {
  const Chunk* chunk;  ///< Launches take its buffer; not always the memory's chunk
  uint32_t first_quad; ///< Of the memory, from the start of that chunk
} MemoryPlace;

/// Memories whose places have the same chunk can share launches.  Valid until more memory is
/// allocated.
MemoryPlace device_memory_place(const DeviceMemory* memory);

/// First quad of a unit or line for kernels, as in MemoryPlace.
static inline uint32_t
device_unit_quad(const DeviceMemory* const memory, const uint32_t unit)
{
  return device_memory_place(memory).first_quad + memory->data_quads + unit * memory->unit_quads;
}

/// The buffer that a chunk's quads are in.
GpuBuffer* chunk_buffer(const Chunk* chunk);

/// Get a kernel for a group size and sizes; compiled at the first request. [builder]
NODISCARD Status device_kernel(Device* device, const char* file, const char* entry,
                               uint32_t group_size, const FxKernelSize* sizes, GpuKernel** kernel,
                               Error* error);
void device_kernels_free(Device* device);

/// Call each(context, fx, shape) for some nodes of an effect that together use all sizes of its
/// kernel with blocks of this length.
typedef void DeviceShapeFn(void* context, const FxInfo* fx, const FxKernelShape* shape);
void device_list_shapes(const FxInfo* fx, double rate_hz, uint32_t block_frames,
                        DeviceShapeFn* each, void* context);

/// Measure mapped_bytes; takes some milliseconds. [main]
NODISCARD Status device_measure_switch(Device* device, Error* error);

/// For benchmarks: as Backend::attach, but for signals that stay on the device.  A row at the
/// address `region` + n is byte n of the buffer.  The caller keeps the buffer; no code accesses the
/// address range `region`.  All nodes of the rack must run on the device.  Backend::detach ends the
/// use of the buffer. [main]
void device_attach_buffer(Device* device, void* region, GpuBuffer* buffer);

// device_spares.c: memory for stages, not cleared.  Give memory back with the same n_bytes with
// which it was taken. [builder]

NODISCARD Status device_buffer_take(Device* device, size_t n_bytes, GpuBuffer** buffer,
                                    Error* error);
NODISCARD Status device_host_take(Device* device, size_t n_bytes, GpuHostMemory** host,
                                  Error* error);
/// Accept NULL.
void device_buffer_give(Device* device, size_t n_bytes, GpuBuffer* buffer);
void device_host_give(Device* device, size_t n_bytes, GpuHostMemory* host);
void device_spares_free(Device* device);
/// Allocate memory for the stages of two plans, up to 256 KiB a buffer, unless there is enough.
/// [main or builder]
NODISCARD Status device_spares_reserve(Device* device, Error* error);

// device_memory.c, as in Backend
Status
device_node_new(const Backend* self, const DeviceNode* node, DeviceMemory** memory, Error* error);
Status device_lines_new(const Backend* self, uint32_t n_lines, uint32_t n_frames,
                        DeviceMemory** memory, Error* error);
void device_memory_free(DeviceMemory* memory);
void device_memory_reset(DeviceMemory* memory);
/// Allocate a chunk if there is none. [main or builder]
NODISCARD Status device_chunk_reserve(Device* device, Error* error);
/// Free all chunks.
void device_chunks_free(Device* device);

// stage_setup.c and stage_gpu.c, as in Backend
Status
stage_gpu_new(const Backend* self, const StageSpec* spec, Pool* pool, Stage** stage, Error* error);
void stage_gpu_free(Stage* stage);
void stage_gpu_rest(Stage* stage);
void stage_gpu_leave(Stage* stage);
void stage_gpu_submit(Stage* stage, uint32_t n_frames, const StageChanges* changes);
bool stage_gpu_is_done(Stage* stage);
Status stage_gpu_collect(Stage* stage, uint32_t* n_reset);
void stage_gpu_error(const Stage* stage, Error* error);
/// Access of the kernels to the rows, for reports: "attached" (in the ring), "mapped" (the host
/// copies them to and from memory that kernels access), "copied" (also to the device and back).
/// [any]
const char* stage_gpu_rows(const Stage* stage);
/// For reports: time of the device for the last part of the last block, from the begin of the first
/// kernel to the end of the last but for the done word; 0 on OpenCL. [player]
uint32_t stage_gpu_ns(const Stage* stage);

#endif
