// SPDX-License-Identifier: GPL-3.0-or-later
// Makes, tries and frees a stage on a device.

#include "stage_private.h"

#include "dsp_gpu/kernels/layout.h"
#include "engine/base/time.h"

#include <stdlib.h>
#include <string.h>

#define N_OWN_ARGS  8U // arguments in STAGE_ARGS
#define BEGIN_GROUP 64U
#define MAX_APPLY   32U  // groups that apply changes
#define MAX_BRING   128U // groups that bring rows
#define BRING_QUADS 256U // by one group at once
#define WORD_BYTES  4U

// Extra time for a late block before its device counts as stuck.
#define LAST_WAIT_NS (500U * NS_PER_MS)

// ---- memory and recordings ----

static size_t
aligned(const size_t n_bytes)
{
  return (n_bytes + GPU_ALIGNMENT - 1U) / GPU_ALIGNMENT * GPU_ALIGNMENT;
}

/// A buffer of n words, initialised from `words` unless it is NULL.
static Status
make_buffer(Device* const device, const size_t n_words, const uint32_t* const words,
            GpuBuffer** const buffer, Error* const error)
{
  const Status status = device_buffer_take(device, n_words * WORD_BYTES, buffer, error);
  return status || !words
             ? status
             : device->api->buffer_write(*buffer, 0U, words, n_words * WORD_BYTES, error);
}

/// True if kernels access the slots, and an attached ring, directly.
static bool
is_mapped(const Stage* const stage)
{
  const StageTables* const tables = &stage->tables;
  const Device* const device = stage->device;
  const size_t n_bytes =
      ((size_t)tables->n_in + stage->spec.n_out_rows) * tables->row_stride * sizeof(float);
  return device->d_region ? device->info.reaches_host : n_bytes <= device->mapped_bytes;
}

/// True if stage_begin brings rows of the host to the device.
static bool
brings_rows(const Stage* const stage)
{
  return stage->tables.n_read > 0U && !stage->device->d_region && is_mapped(stage);
}

/// Words of the rows from the host.
static size_t
host_row_words(const Stage* const stage)
{
  return (size_t)stage->tables.n_in * stage->tables.row_stride;
}

static Status
make_buffers(Stage* const stage, Error* const error)
{
  const StageTables* const tables = &stage->tables;
  Status status =
      make_buffer(stage->device, tables->table.n, tables->table.at, &stage->table, error);
  if (!status) {
    status = make_buffer(stage->device, tables->live.n, tables->live.at, &stage->live, error);
  }
  if (!status) {
    status = make_buffer(stage->device, (size_t)tables->n_rows * tables->row_stride, NULL,
                         &stage->rows, error);
  }
  if (!status && brings_rows(stage)) {
    status = make_buffer(stage->device, host_row_words(stage), NULL, &stage->host_rows, error);
  }
  return status;
}

/// True if the rows to the host are exactly the rack's outputs, in order.
static bool
ends_the_rack(const StageSpec* const spec)
{
  bool ends = spec->n_out_rows > 0U && spec->n_out_rows == spec->n_out;
  for (uint32_t r = 0; ends && r < spec->n_out_rows; ++r) {
    ends = spec->out_rows[r] == spec->n_in + r;
  }
  return ends;
}

/// Choose the place of the rows: in the ring if possible, otherwise in the slots.
static Status
lay_out_slot(Stage* const stage, Error* const error)
{
  const StageTables* const tables = &stage->tables;
  const bool is_resident = stage->device->d_region;
  const bool reaches_ring = is_resident || (stage->device->region && is_mapped(stage));
  stage->ring_in = reaches_ring && tables->n_in > 0U && tables->n_in == stage->spec.n_in;
  stage->ring_out = reaches_ring && ends_the_rack(&stage->spec);
  if (is_resident && !(stage->ring_in && stage->ring_out)) {
    return error_set(error, STATUS_BAD_RACK,
                     "a rack whose rows stay on the device runs there as a whole");
  }
  const size_t row_bytes = (size_t)tables->row_stride * sizeof(float);
  const size_t in_bytes = stage->ring_in ? 0U : tables->n_in * row_bytes;
  const size_t out_bytes = stage->ring_out ? 0U : stage->spec.n_out_rows * row_bytes;
  stage->in_offset = aligned((CHANGES_HEAD + 2U * (size_t)tables->live.n) * WORD_BYTES);
  stage->report_offset = stage->in_offset + aligned(in_bytes + 1U);
  stage->out_offset = stage->report_offset + aligned(REPORT_WORDS * WORD_BYTES);
  stage->slot_bytes = stage->out_offset + aligned(out_bytes + 1U);
  return STATUS_OK;
}

/// A pointer into a slot, as an argument of a kernel.
static GpuArg
slot_arg(const Slot* const slot, const size_t offset)
{
  return slot->copy ? (GpuArg){ GPU_ARG_BUFFER, { .buffer = slot->copy }, offset }
                    : (GpuArg){ GPU_ARG_HOST, { .host = slot->memory }, offset };
}

static GpuArg
buffer_arg(GpuBuffer* const buffer)
{
  return (GpuArg){ GPU_ARG_BUFFER, { .buffer = buffer }, 0U };
}

static GpuArg
rows_arg(const Stage* const stage, const Slot* const slot, const bool in_ring, const size_t offset)
{
  const Device* const device = stage->device;
  if (!in_ring) {
    return slot_arg(slot, offset);
  }
  return device->d_region ? buffer_arg(device->d_region)
                          : (GpuArg){ GPU_ARG_HOST, { .host = device->h_region }, 0U };
}

/// The rows from the host where effects read them.
static GpuArg
host_rows_arg(const Stage* const stage, const Slot* const slot)
{
  return stage->host_rows ? buffer_arg(stage->host_rows)
                          : rows_arg(stage, slot, stage->ring_in, stage->in_offset);
}

static Status
describe_launch(const Stage* const stage, const Slot* const slot, const TableLaunch* const from,
                GpuLaunch* const launch, Error* const error)
{
  *launch = (GpuLaunch){
    .groups = { from->groups[0], from->groups[1] },
    .group_size = from->group_size,
    .n_args = N_OWN_ARGS + (from->reports ? 1U : 0U),
    .args = { buffer_arg(stage->live),
              buffer_arg(stage->table),
              host_rows_arg(stage, slot),
              rows_arg(stage, slot, stage->ring_out, stage->out_offset),
              buffer_arg(stage->rows),
              buffer_arg(from->chunk ? chunk_buffer(from->chunk) : stage->rows),
              { GPU_ARG_U32, { .u32 = from->first }, 0U },
              { GPU_ARG_U32, { .u32 = from->n_units }, 0U },
              slot_arg(slot, stage->report_offset) },
  };
  return device_kernel(stage->device, from->file, from->entry, from->group_size, from->sizes,
                       &launch->kernel, error);
}

static uint32_t
at_most(const uint32_t n, const uint32_t most)
{
  return n < most ? n : most;
}

static Status
describe_begin(const Stage* const stage, const Slot* const slot, GpuLaunch* const launch,
               Error* const error)
{
  static const FxKernelSize no_sizes[FX_KERNEL_SIZES] = { { NULL, 0U } };
  const StageTables* const tables = &stage->tables;
  const uint32_t n_read = stage->host_rows ? tables->n_read : 0U;
  const uint32_t n_apply = at_most((tables->live.n + BEGIN_GROUP - 1U) / BEGIN_GROUP, MAX_APPLY);
  const uint32_t n_quads = n_read * (tables->row_stride / 4U);
  const uint32_t n_bring = at_most((n_quads + BRING_QUADS - 1U) / BRING_QUADS, MAX_BRING);
  *launch = (GpuLaunch){ .groups = { n_apply + n_bring, 1U },
                         .group_size = BEGIN_GROUP,
                         .n_args = 8U,
                         .args = { slot_arg(slot, 0U),
                                   buffer_arg(stage->live),
                                   buffer_arg(stage->table),
                                   rows_arg(stage, slot, stage->ring_in, stage->in_offset),
                                   host_rows_arg(stage, slot),
                                   { GPU_ARG_U32, { .u32 = tables->read_rows }, 0U },
                                   { GPU_ARG_U32, { .u32 = n_read }, 0U },
                                   { GPU_ARG_U32, { .u32 = n_apply }, 0U } } };
  return device_kernel(stage->device, "stage.cu", "stage_begin", BEGIN_GROUP, no_sizes,
                       &launch->kernel, error);
}

static Status
record(Stage* const stage, const uint32_t index, GpuLaunch* const launches, Error* const error)
{
  Slot* const slot = &stage->slots[index];
  Status status = describe_begin(stage, slot, &launches[0], error);
  for (uint32_t l = 0; !status && l < stage->tables.n_launches; ++l) {
    status = describe_launch(stage, slot, &stage->tables.launches[l], &launches[l + 1U], error);
  }
  if (status) {
    return status;
  }
  const GpuCopy in = { slot->copy, 0U, slot->memory, 0U, stage->report_offset };
  const GpuCopy out = { slot->copy, stage->report_offset, slot->memory, stage->report_offset,
                        stage->slot_bytes - stage->report_offset };
  const uint32_t n_copies = slot->copy ? 1U : 0U;
  const GpuWork work = { .slot = index,
                         .in = &in,
                         .n_in = n_copies,
                         .launches = launches,
                         .n_launches = stage->tables.n_launches + 1U,
                         .out = &out,
                         .n_out = n_copies,
                         .is_void = stage->can_arm ? stage->live : NULL,
                         .is_void_offset = LIVE_IS_VOID * WORD_BYTES };
  return stage->device->api->record(stage->device->gpu, &work, &slot->recording, error);
}

static Status
make_slot(Stage* const stage, const uint32_t index, GpuLaunch* const launches, Error* const error)
{
  Device* const device = stage->device;
  Slot* const slot = &stage->slots[index];
  Status status = device_host_take(device, stage->slot_bytes, &slot->memory, error);
  if (!status && !is_mapped(stage)) {
    status = device_buffer_take(device, stage->slot_bytes, &slot->copy, error);
  }
  slot->out = calloc(stage->spec.n_out_rows + 1U, sizeof(float*));
  if (!status && !slot->out) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  if (status) {
    return status;
  }
  uint8_t* const memory = device->api->host_pointer(slot->memory);
  slot->changes = (uint32_t*)memory;
  memset(slot->changes, 0, CHANGES_HEAD * WORD_BYTES);
  slot->rows_in = stage->ring_in ? NULL : (float*)(memory + stage->in_offset);
  slot->report = (uint32_t*)(memory + stage->report_offset);
  slot->rows_out = stage->ring_out ? NULL : (float*)(memory + stage->out_offset);
  return record(stage, index, launches, error);
}

// From this capability on, a GPU interrupts a kernel for the work of other programs, such as a
// desktop.
#define ARM_CAPABILITY 60U

/// True if the device may wait for the stage's blocks.
static bool
can_arm(const Stage* const stage)
{
  const Device* const device = stage->device;
  return device->api->arm && device->info.capability >= ARM_CAPABILITY && device->keep_awake &&
         is_mapped(stage);
}

/// Submit both recordings with empty blocks, which do not change any state, so that the driver does
/// all its first-time work now.
static Status
try_out(Stage* const stage, Error* const error)
{
  stage->is_trial = true;
  for (uint32_t s = 0; s < N_SLOTS; ++s) {
    Slot* const slot = &stage->slots[s];
    slot->began_ns = time_now_ns();
    slot_submit(stage, slot);
    slot_wait(stage, slot);
  }
  stage->is_trial = false;
  if (stage->status) {
    stage_gpu_error(stage, error);
  }
  return stage->status;
}

static Status
take_memory(Stage* const stage, Error* const error)
{
  const StageTables* const tables = &stage->tables;
  stage->shadow = calloc(tables->live.n, WORD_BYTES);
  stage->packed = calloc(tables->max_param_words + 1U, WORD_BYTES);
  stage->node_place = calloc(stage->spec.n_nodes + 1U, sizeof(uint32_t));
  if (!stage->shadow || !stage->packed || !stage->node_place) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memcpy(stage->shadow, tables->live.at, tables->live.n * WORD_BYTES);
  for (uint32_t n = 0; n < tables->n_nodes; ++n) {
    stage->node_place[tables->nodes[n].node_index] = n + 1U;
  }
  return STATUS_OK;
}

static Status
make(Stage* const stage, Error* const error)
{
  Status status = stage_tables_new(&stage->spec, &stage->tables, error);
  status = status ? status : take_memory(stage, error);
  status = status ? status : make_buffers(stage, error);
  status = status ? status : lay_out_slot(stage, error);
  stage->can_arm = can_arm(stage);
  GpuLaunch* const launches = calloc(stage->tables.n_launches + 1U, sizeof(GpuLaunch));
  if (!status && !launches) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t s = 0; !status && s < N_SLOTS; ++s) {
    status = make_slot(stage, s, launches, error);
  }
  free(launches);
  return status ? status : try_out(stage, error);
}

Status
stage_gpu_new(const Backend* const self, const StageSpec* const spec, Pool* const pool,
              Stage** const out, Error* const error)
{
  (void)pool;
  Stage* const stage = calloc(1, sizeof(Stage));
  if (!stage) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  stage->device = (Device*)self;
  stage->spec = *spec;
  const Status status = make(stage, error);
  if (status) {
    stage_gpu_free(stage);
    return status;
  }
  *out = stage;
  return STATUS_OK;
}

const char*
stage_gpu_rows(const Stage* const stage)
{
  const bool is_attached = stage->ring_in && stage->ring_out;
  return is_attached ? "attached" : stage->slots[0].copy ? "copied" : "mapped";
}

uint32_t
stage_gpu_ns(const Stage* const stage)
{
  return stage->last_ns;
}

// ---- freeing ----

/// Wait a little longer for late blocks: drivers wait for ever when memory in use is freed.
static void
wait_once_more(Stage* const stage)
{
  const uint64_t began_ns = time_now_ns();
  bool all_done = false;
  while (!all_done && time_now_ns() - began_ns < LAST_WAIT_NS) {
    all_done = true;
    for (uint32_t s = 0; s < N_SLOTS; ++s) {
      Slot* const slot = &stage->slots[s];
      bool done = false;
      // On a lost device nothing can be running.
      if (slot->is_at_work &&
          (stage->device->api->poll(slot->recording, slot->sequence, &done) || done)) {
        slot_note_end(stage, slot);
      }
      all_done = all_done && !slot->is_at_work;
    }
    time_sleep(CPU_NAP_NS);
  }
}

static void
free_on_device(Stage* const stage)
{
  Device* const device = stage->device;
  const StageTables* const tables = &stage->tables;
  for (uint32_t s = 0; s < N_SLOTS; ++s) {
    Slot* const slot = &stage->slots[s];
    device->api->recording_free(slot->recording);
    device_buffer_give(device, stage->slot_bytes, slot->copy);
    device_host_give(device, stage->slot_bytes, slot->memory);
  }
  device_buffer_give(device, tables->table.n * WORD_BYTES, stage->table);
  device_buffer_give(device, tables->live.n * WORD_BYTES, stage->live);
  device_buffer_give(device, (size_t)tables->n_rows * tables->row_stride * WORD_BYTES, stage->rows);
  device_buffer_give(device, host_row_words(stage) * WORD_BYTES, stage->host_rows);
}

static void
clear(Stage* const stage)
{
  free_on_device(stage);
  for (uint32_t s = 0; s < N_SLOTS; ++s) {
    free(stage->slots[s].out);
  }
  stage_tables_clear(&stage->tables);
  free(stage->shadow);
  free(stage->packed);
  free(stage->node_place);
  free(stage);
}

void
stage_gpu_free(Stage* const stage)
{
  Device* const device = stage->device;
  if (atomic_load_explicit(&device->late_ns, memory_order_relaxed)) {
    wait_once_more(stage);
  }
  stage->next_left = device->left;
  device->left = stage;
  while (device->left && !device_is_stuck(device)) {
    Stage* const left = device->left;
    device->left = left->next_left;
    clear(left);
  }
}
