// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Memory of nodes and delay lines on the device.

  A kernel can take few buffers but many units, and OpenCL 1.2 has no pointers in memory.  So units
  are in few large buffers, called chunks, and a launch takes the units of one chunk.  On CUDA all
  buffers are in one space of addresses, so a launch takes the units of all chunks within the reach
  of 32-bit numbers of quads: it gets the lowest of these chunks.  Allocation is first fit and
  reuses freed pieces; a new chunk is made if no existing one has room.

  This memory outlives plans, as on the CPU.  Stages hold no state and can be made again at any
  time.
*/

#include "device.h"

#include "dsp_gpu/kernels/layout.h"

#include <stdlib.h>

#define WORD_BYTES    4U
#define QUAD_BYTES    (QUAD_WORDS * WORD_BYTES)
#define CHUNK_BYTES   ((uint64_t)256 << 20U) // for a GPU: most racks need only one
#define CPU_CHUNK     ((uint64_t)8 << 20U)   // for other devices, which use the host's memory
#define CHUNK_PART    8U                     // a chunk has at most this part of the device's memory
#define PIECE_QUADS   (GPU_ALIGNMENT / QUAD_BYTES) // pieces begin and end at multiples of this
#define ZEROES_WORDS  16384U
#define UNIT_ALIGNING 4U // quads: 64 bytes

/// A free range of a chunk.
typedef struct Gap {
  struct Gap* next;  ///< The next gap at a higher address
  uint32_t first, n; ///< Quads
} Gap;

struct Chunk {
  Chunk* next;
  GpuBuffer* buffer;
  uint64_t address; ///< GpuApi::buffer_address()
  uint32_t n_quads;
  uint32_t clean_from; ///< Quads from here on were never used and are zero
  Gap* gaps;
};

GpuBuffer*
chunk_buffer(const Chunk* const chunk)
{
  return chunk->buffer;
}

MemoryPlace
device_memory_place(const DeviceMemory* const memory)
{
  const Chunk* const own = memory->chunk;
  const Chunk* lowest = own;
  for (const Chunk* chunk = memory->device->chunks; chunk; chunk = chunk->next) {
    const bool is_lower = chunk->address && chunk->address < lowest->address;
    if (is_lower && (own->address - chunk->address) / QUAD_BYTES + own->n_quads <= UINT32_MAX) {
      lowest = chunk;
    }
  }
  const uint64_t above = (own->address - lowest->address) / QUAD_BYTES;
  return (MemoryPlace){ lowest, (uint32_t)above + memory->first_quad };
}

// ---- chunks ----

static uint64_t
least(const uint64_t a, const uint64_t b)
{
  return a < b ? a : b;
}

/// Default size of a chunk.
static uint64_t
usual_bytes(const Device* const device)
{
  const GpuDeviceInfo* const info = &device->info;
  const uint64_t n_bytes = least(info->is_gpu ? CHUNK_BYTES : CPU_CHUNK,
                                 least(info->memory_bytes / CHUNK_PART, info->largest_bytes));
  return n_bytes - n_bytes % GPU_ALIGNMENT;
}

static Status
chunk_new(Device* const device, const uint64_t quads_needed, Chunk** const out, Error* const error)
{
  const uint64_t needed = quads_needed * QUAD_BYTES;
  uint64_t n_bytes = needed > usual_bytes(device) ? needed : usual_bytes(device);
  Chunk* const chunk = calloc(1, sizeof(Chunk));
  Gap* const gap = calloc(1, sizeof(Gap));
  if (!chunk || !gap) {
    free(chunk);
    free(gap);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Status status = device->api->buffer_new(device->gpu, n_bytes, &chunk->buffer, error);
  // The remaining memory of the device may suffice.
  if (status == STATUS_NO_MEM && n_bytes > needed) {
    n_bytes = needed;
    status = device->api->buffer_new(device->gpu, n_bytes, &chunk->buffer, error);
  }
  if (status) {
    free(chunk);
    free(gap);
    return status;
  }
  chunk->address = device->api->buffer_address(chunk->buffer);
  chunk->n_quads = (uint32_t)(n_bytes / QUAD_BYTES);
  *gap = (Gap){ NULL, 0U, chunk->n_quads };
  chunk->gaps = gap;
  chunk->next = device->chunks;
  device->chunks = chunk;
  *out = chunk;
  return STATUS_OK;
}

Status
device_chunk_reserve(Device* const device, Error* const error)
{
  Chunk* chunk = NULL;
  return device->chunks ? STATUS_OK : chunk_new(device, PIECE_QUADS, &chunk, error);
}

void
device_chunks_free(Device* const device)
{
  while (device->chunks) {
    Chunk* const chunk = device->chunks;
    device->chunks = chunk->next;
    while (chunk->gaps) {
      Gap* const gap = chunk->gaps;
      chunk->gaps = gap->next;
      free(gap);
    }
    device->api->buffer_free(chunk->buffer);
    free(chunk);
  }
}

static bool
take_from(Chunk* const chunk, const uint32_t n_quads, uint32_t* const first)
{
  for (Gap** at = &chunk->gaps; *at; at = &(*at)->next) {
    Gap* const gap = *at;
    if (gap->n >= n_quads) {
      *first = gap->first;
      gap->first += n_quads;
      gap->n -= n_quads;
      if (gap->n == 0U) {
        *at = gap->next;
        free(gap);
      }
      return true;
    }
  }
  return false;
}

/// Free a range and merge it with its neighbours.  Without memory for the Gap, the range is lost
/// until the chunk is freed.
static void
give_back(Chunk* const chunk, const uint32_t first, const uint32_t n)
{
  Gap** at = &chunk->gaps;
  Gap* below = NULL;
  while (*at && (*at)->first < first) {
    below = *at;
    at = &below->next;
  }
  Gap* const above = *at;
  if (below && below->first + below->n == first) {
    below->n += n;
    if (above && below->first + below->n == above->first) {
      below->n += above->n;
      below->next = above->next;
      free(above);
    }
  } else if (above && first + n == above->first) {
    above->first = first;
    above->n += n;
  } else {
    Gap* const gap = malloc(sizeof(Gap));
    if (gap) {
      *gap = (Gap){ above, first, n };
      *at = gap;
    }
  }
}

/// Write zeros to a range.
static Status
clear(const DeviceMemory* const memory, const uint32_t first, const uint32_t n, Error* const error)
{
  static const uint32_t zeroes[ZEROES_WORDS];
  size_t at = (size_t)first * QUAD_BYTES;
  const size_t end = at + (size_t)n * QUAD_BYTES;
  Status status = STATUS_OK;
  while (!status && at < end) {
    const size_t n_bytes = end - at < sizeof(zeroes) ? end - at : sizeof(zeroes);
    status = memory->device->api->buffer_write(memory->chunk->buffer, at, zeroes, n_bytes, error);
    at += n_bytes;
  }
  return status;
}

/// Allocate memory->n_quads zeroed quads.
static Status
place(DeviceMemory* const memory, const uint64_t n_quads, Error* const error)
{
  Device* const device = memory->device;
  const uint64_t whole = (n_quads + PIECE_QUADS - 1U) / PIECE_QUADS * PIECE_QUADS;
  if (whole > UINT32_MAX || whole * QUAD_BYTES > device->info.largest_bytes) {
    return error_set(error, STATUS_NO_MEM,
                     "needs %.0f MiB of the device in one piece, which has %.0f MiB at most",
                     (double)whole * QUAD_BYTES / 1048576.0,
                     (double)device->info.largest_bytes / 1048576.0);
  }
  memory->n_quads = (uint32_t)whole;
  Chunk* chunk = device->chunks;
  while (chunk && !take_from(chunk, memory->n_quads, &memory->first_quad)) {
    chunk = chunk->next;
  }
  if (!chunk) {
    const Status status = chunk_new(device, whole, &chunk, error);
    if (status) {
      return status;
    }
    take_from(chunk, memory->n_quads, &memory->first_quad);
  }
  memory->chunk = chunk;
  const uint32_t end = memory->first_quad + memory->n_quads;
  const uint32_t used_end = end < chunk->clean_from ? end : chunk->clean_from;
  chunk->clean_from = end > chunk->clean_from ? end : chunk->clean_from;
  return used_end > memory->first_quad
             ? clear(memory, memory->first_quad, used_end - memory->first_quad, error)
             : STATUS_OK;
}

// ---- pieces ----

static uint64_t
quads_of(const uint64_t n_words)
{
  const uint64_t n = (n_words + QUAD_WORDS - 1U) / QUAD_WORDS;
  return (n + UNIT_ALIGNING - 1U) / UNIT_ALIGNING * UNIT_ALIGNING;
}

/// Allocate n_units units after n_data words of constants.
static Status
memory_new(Device* const device, const uint64_t n_data, const uint64_t n_unit,
           const uint32_t n_units, DeviceMemory** const out, Error* const error)
{
  DeviceMemory* const memory = calloc(1, sizeof(DeviceMemory));
  if (!memory) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memory->device = device;
  memory->n_units = n_units;
  memory->data_quads = (uint32_t)quads_of(n_data);
  memory->unit_quads = (uint32_t)quads_of(n_unit);
  const Status status = place(memory, quads_of(n_data) + quads_of(n_unit) * n_units, error);
  if (status) {
    device_memory_free(memory);
    return status;
  }
  *out = memory;
  return STATUS_OK;
}

/// Copy the node's constants to the device.
static Status
upload(const DeviceMemory* const memory, void* const node, Error* const error)
{
  const size_t n_words = memory->shape.data_words;
  uint32_t* const words = calloc(n_words, WORD_BYTES);
  if (!words) {
    return error_set(error, STATUS_NO_MEM, "out of memory for %zu words to send to the device",
                     n_words);
  }
  memory->fx->kernel->data(node, words);
  const Status status = memory->device->api->buffer_write(memory->chunk->buffer,
                                                          (size_t)memory->first_quad * QUAD_BYTES,
                                                          words, n_words * WORD_BYTES, error);
  free(words);
  return status;
}

Status
device_node_new(const Backend* const self, const DeviceNode* const node, DeviceMemory** const out,
                Error* const error)
{
  FxKernelShape shape = { .n_passes = 0 };
  node->fx->kernel->shape(node->node, &shape);
  DeviceMemory* memory = NULL;
  Status status =
      memory_new((Device*)self, shape.data_words, shape.state_words, node->n_units, &memory, error);
  if (status) {
    return status;
  }
  memory->fx = node->fx;
  memory->shape = shape;
  if (shape.data_words) {
    status = upload(memory, node->node, error);
  }
  if (status) {
    device_memory_free(memory);
    return status;
  }
  *out = memory;
  return STATUS_OK;
}

Status
device_lines_new(const Backend* const self, const uint32_t n_lines, const uint32_t n_frames,
                 DeviceMemory** const memory, Error* const error)
{
  return memory_new((Device*)self, 0U, LINE_HEAD + (uint64_t)n_frames, n_lines, memory, error);
}

void
device_memory_free(DeviceMemory* const memory)
{
  if (memory && memory->chunk) {
    give_back(memory->chunk, memory->first_quad, memory->n_quads);
  }
  free(memory);
}

void
device_memory_reset(DeviceMemory* const memory)
{
  Error error = { STATUS_OK, "" };
  if (device_is_stuck(memory->device)) {
    return;
  }
  if (clear(memory, memory->first_quad + memory->data_quads, memory->n_units * memory->unit_quads,
            &error)) {
    // The device is lost; the next block reports it.
  }
}
