// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A GPU's way to run a stage: one submission for each block.

  What a submission does is recorded twice, for two slots of host memory that take turns:

      slot in host memory:  changes ── rows in ──                  ── report ── rows out
                              │          │                               ▲
      recording:         stage_begin     └──▶ kernels of effects ──▶ stage_end ──▶ done

  Small blocks are read and written where they lie, in mapped memory; when the rows of the stage are
  the rack's and its ring is attached, they lie in the ring, and nothing is copied at all.  For
  large blocks, and where the device cannot reach host memory, the recording copies the slot to the
  device and back, and the kernels get the copies; copies of one slot run beside the kernels of the
  other.

  Host nodes keep the parameters: whenever one was set, its words are packed anew and those that
  differ from what the device has go into the slot's changes.  Connections on the move likewise.

  A block with parameter changes inside runs in parts, one submission each.
*/

#include "stage_tables.h"

#include "kernels/layout.h"

#include "../engine/mix_link.h"
#include "../engine/rt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_SLOTS     2U
#define MAX_PARTS   8U // of a block; more changes than this share an eighth of it
#define N_OWN_ARGS  8U // of STAGE_ARGS
#define BEGIN_GROUP 64U
#define MAX_BEGINS  32U // groups that take over changes
#define WORD_BYTES  4U

#define CPU_NAP_NS 20000 // between two looks at a device that is the host's own processor

// Some drivers compile when a kernel is launched for the first time.
#define TRIAL_NS 20000000000U

#define LAST_WAIT_NS 500000000U // for a block that is late, before a device counts as stuck

typedef struct Slot {
  GpuHostMemory* memory;
  uint32_t* changes; ///< In it
  float* rows_in;    ///< [n_in][row_stride], NULL when they are in the ring
  uint32_t* report;  ///< [REPORT_WORDS]
  float* rows_out;   ///< [n_out][row_stride], NULL when they are in the ring
  GpuBuffer* copy;   ///< The same on the device; NULL when the kernels reach the slot
  GpuRecording* recording;
  uint64_t sequence; ///< Of the last submission
  bool is_at_work;   ///< That was not seen to end
  uint64_t began_ns;
  uint32_t n_frames;
  float** out; ///< [n_out] where the rows go that come back
} Slot;

/// A block that was begun.
typedef struct Block {
  Slot* slot; ///< Of its last part; NULL once that has come back
  uint32_t n_reset;
} Block;

struct Stage {
  Device* device;
  StageSpec spec;
  StageTables tables;
  GpuBuffer* table;
  GpuBuffer* live;
  GpuBuffer* rows;
  size_t in_offset, report_offset, out_offset, slot_bytes; ///< Within a slot
  bool ring_in, ring_out; ///< The kernels read, and write, the attached ring
  Slot slots[N_SLOTS];
  uint32_t next_slot;
  Block blocks[N_SLOTS]; ///< Begun and not collected: n_blocks from `oldest` on, in turn
  uint32_t oldest, n_blocks;
  uint32_t* shadow;     ///< `live` as the device will have it after the last submission
  uint32_t* packed;     ///< [max_param_words]
  uint32_t* node_place; ///< [n_nodes] index of tables.nodes + 1, or 0
  uint64_t sequence;
  uint32_t n_resets; ///< LIVE_N_RESETS of the last report
  Status status;     ///< What went wrong
  Stage* next_left;  ///< Of device->left
  bool is_trial;     ///< Nobody waits for a block
};

// ---- what changes ----

static void
change(Stage* const stage, Slot* const slot, const uint32_t word, const uint32_t value)
{
  if (stage->shadow[word] != value) {
    stage->shadow[word] = value;
    uint32_t* const pair = slot->changes + CHANGES_HEAD + 2U * slot->changes[CHANGES_N]++;
    pair[0] = word;
    pair[1] = value;
  }
}

static void
bring_params(Stage* const stage, Slot* const slot)
{
  for (uint32_t n = 0; n < stage->tables.n_nodes; ++n) {
    TableNode* const node = &stage->tables.nodes[n];
    if (node->is_dirty || node->seen != *node->n_sets) {
      node->is_dirty = false;
      node->seen = *node->n_sets;
      node->kernel->pack(node->node, stage->packed);
      for (uint32_t w = 0; w < node->n_words; ++w) {
        change(stage, slot, node->live + w, stage->packed[w]);
      }
    }
  }
}

static void
bring_links(Stage* const stage, Slot* const slot, const uint32_t n_frames)
{
  for (uint32_t l = 0; l < stage->tables.n_links; ++l) {
    const TableLink* const link = &stage->tables.links[l];
    const uint32_t live = link->live;
    float gain = 0.0F;
    memcpy(&gain, &stage->shadow[live + LINK_GAIN], sizeof(gain));
    const bool rests = stage->shadow[live + LINK_IS_STEADY] && gain == link->link->gain.target &&
                       mix_link_is_steady(link->link, n_frames);
    if (!rests) {
      uint32_t words[LINK_WORDS];
      stage_link_words(link->link, n_frames, words);
      for (uint32_t w = 0; w < LINK_WORDS; ++w) {
        change(stage, slot, live + w, words[w]);
      }
    }
    mix_link_advance(link->link, n_frames);
  }
}

// ---- submissions ----

static void
fail(Stage* const stage, const Status status)
{
  stage->status = stage->status ? stage->status : status;
}

static uint32_t
word_in_region(const Stage* const stage, const float* const sample)
{
  return (uint32_t)(sample - (const float*)stage->device->region);
}

/// Rows to where the kernels look for them.
static void
bring_rows(Stage* const stage, Slot* const slot, const uint32_t first, const uint32_t n_frames)
{
  const StageTables* const tables = &stage->tables;
  float* const* const rows = stage->spec.rows;
  if (stage->ring_in) {
    change(stage, slot, LIVE_IN_AT, word_in_region(stage, rows[0] + first));
  } else {
    for (uint32_t r = 0; r < tables->n_in; ++r) {
      memcpy(slot->rows_in + (size_t)r * tables->row_stride, rows[tables->in_rows[r]] + first,
             n_frames * sizeof(float));
    }
  }
  for (uint32_t r = 0; r < stage->spec.n_out_rows; ++r) {
    slot->out[r] = rows[stage->spec.out_rows[r]] + first;
  }
  if (stage->ring_out) {
    change(stage, slot, LIVE_OUT_AT, word_in_region(stage, slot->out[0]));
  }
}

/// A device that was late once gets nothing more: every stage would wait for the deadline.
static void
submit(Stage* const stage, Slot* const slot)
{
  if (atomic_load_explicit(&stage->device->late_ns, memory_order_relaxed)) {
    fail(stage, STATUS_DEVICE_LOST);
  }
  if (!stage->status) {
    atomic_store_explicit(&stage->device->used_ns, slot->began_ns, memory_order_relaxed);
    slot->sequence = ++stage->sequence;
    fail(stage, stage->device->api->submit(slot->recording, slot->sequence));
    slot->is_at_work = !stage->status;
    atomic_fetch_add_explicit(&stage->device->n_at_work, slot->is_at_work, memory_order_relaxed);
  }
}

/// Submit frames [first, first + n_frames) of the rows.
static Slot*
submit_part(Stage* const stage, const uint32_t first, const uint32_t n_frames)
{
  Slot* const slot = &stage->slots[stage->next_slot];
  stage->next_slot = (stage->next_slot + 1U) % N_SLOTS;
  slot->changes[CHANGES_N_FRAMES] = n_frames;
  slot->changes[CHANGES_N] = 0;
  bring_params(stage, slot);
  bring_links(stage, slot, n_frames);
  bring_rows(stage, slot, first, n_frames);
  slot->n_frames = n_frames;
  slot->began_ns = rt_now_ns();
  submit(stage, slot);
  return slot;
}

/// A submission has ended, or was lost.
static void
note_end(Stage* const stage, Slot* const slot)
{
  atomic_fetch_sub_explicit(&stage->device->n_at_work, slot->is_at_work, memory_order_relaxed);
  slot->is_at_work = false;
}

/// Look at a slot once; fails when it is not done in time.  The processor of a device that is the
/// host's own is left to it for a moment.
static bool
look(Stage* const stage, Slot* const slot)
{
  Device* const device = stage->device;
  bool done = false;
  if (!stage->status) {
    fail(stage, device->api->poll(slot->recording, slot->sequence, &done));
  }
  if (done) {
    note_end(stage, slot);
  }
  if (done || stage->status) {
    return true;
  }
  if (device->info.is_gpu) {
    rt_pause();
  } else {
    const struct timespec nap = { 0, CPU_NAP_NS };
    nanosleep(&nap, NULL);
  }
  const uint64_t deadline_ns = stage->is_trial ? TRIAL_NS : device->deadline_ns;
  if (rt_now_ns() - slot->began_ns > deadline_ns) {
    atomic_store_explicit(&device->late_ns, deadline_ns, memory_order_relaxed);
    fail(stage, STATUS_DEVICE_LOST);
  }
  return stage->status != STATUS_OK;
}

static void
wait_for(Stage* const stage, Slot* const slot)
{
  while (!look(stage, slot)) {
  }
}

/// Wait for a slot and take its rows, silence after an error.  Returns the units that were begun
/// anew.
static uint32_t
settle(Stage* const stage, Slot* const slot)
{
  wait_for(stage, slot);
  const bool is_resident = stage->device->d_region;
  for (uint32_t r = 0; !is_resident && r < stage->spec.n_out_rows; ++r) {
    if (stage->status) {
      memset(slot->out[r], 0, slot->n_frames * sizeof(float));
    } else if (!stage->ring_out) {
      memcpy(slot->out[r], slot->rows_out + (size_t)r * stage->tables.row_stride,
             slot->n_frames * sizeof(float));
    }
  }
  if (stage->status) {
    return 0U;
  }
  const uint32_t n_reset = slot->report[REPORT_N_RESETS] - stage->n_resets;
  stage->n_resets += n_reset;
  return n_reset;
}

static void
settle_block(Stage* const stage, Block* const block)
{
  if (block->slot) {
    block->n_reset += settle(stage, block->slot);
    block->slot = NULL;
  }
}

static bool
is_ours(const Stage* const stage, const StageEvent* const event)
{
  return stage->node_place[event->node_index] != 0U;
}

/// Frames that a part has at least: 1, or so many that there are not too many parts.
static uint32_t
least_part(const Stage* const stage, const uint32_t n_frames, const StageEvent* const events,
           const uint32_t n_events)
{
  uint32_t n_parts = 1;
  uint32_t last = 0;
  for (uint32_t e = 0; e < n_events; ++e) {
    if (is_ours(stage, &events[e]) && events[e].offset != last) {
      last = events[e].offset;
      ++n_parts;
    }
  }
  return n_parts > MAX_PARTS ? (n_frames + MAX_PARTS - 1U) / MAX_PARTS : 1U;
}

void
stage_gpu_submit(Stage* const stage, const uint32_t n_frames, const StageEvent* const events,
                 const uint32_t n_events)
{
  Block* const block = &stage->blocks[(stage->oldest + stage->n_blocks++) % N_SLOTS];
  *block = (Block){ .slot = NULL };
  const uint32_t least = least_part(stage, n_frames, events, n_events);
  uint32_t done = 0;
  for (uint32_t e = 0; e < n_events; ++e) {
    if (!is_ours(stage, &events[e])) {
      continue;
    }
    if (events[e].offset >= done + least) {
      settle_block(stage, &stage->blocks[stage->oldest]); // its slot may be needed
      block->n_reset += settle(stage, submit_part(stage, done, events[e].offset - done));
      done = events[e].offset;
    }
    TableNode* const node = &stage->tables.nodes[stage->node_place[events[e].node_index] - 1U];
    node->fx->set(node->node, events[e].param, events[e].value);
    node->is_dirty = true;
  }
  block->slot = submit_part(stage, done, n_frames - done);
}

bool
stage_gpu_is_done(Stage* const stage)
{
  Slot* const slot = stage->blocks[stage->oldest].slot;
  return !slot || look(stage, slot);
}

Status
stage_gpu_collect(Stage* const stage, uint32_t* const n_reset)
{
  Block* const block = &stage->blocks[stage->oldest];
  stage->oldest = (stage->oldest + 1U) % N_SLOTS;
  --stage->n_blocks;
  settle_block(stage, block);
  *n_reset = block->n_reset;
  return stage->status;
}

void
stage_gpu_error(const Stage* const stage, Error* const error)
{
  const Device* const device = stage->device;
  const uint64_t late_ns = atomic_load_explicit(&device->late_ns, memory_order_relaxed);
  if (late_ns) {
    error_set(error, STATUS_DEVICE_LOST, "%s: a block did not come back within %.3g ms",
              device->summary, (double)late_ns * 1e-6);
  } else if (stage->status) {
    device->api->last_error(device->gpu, error);
  }
}

const char*
stage_gpu_rows(const Stage* const stage)
{
  const bool is_attached = stage->ring_in && stage->ring_out;
  return is_attached ? "attached" : stage->slots[0].copy ? "copied" : "mapped";
}

// ---- set-up ----

static size_t
aligned(const size_t n_bytes)
{
  return (n_bytes + GPU_ALIGNMENT - 1U) / GPU_ALIGNMENT * GPU_ALIGNMENT;
}

/// A buffer for n words, which may be given.
static Status
make_buffer(Device* const device, const size_t n_words, const uint32_t* const words,
            GpuBuffer** const buffer, Error* const error)
{
  const Status status = device_buffer_take(device, n_words * WORD_BYTES, buffer, error);
  return status || !words
             ? status
             : device->api->buffer_write(*buffer, 0U, words, n_words * WORD_BYTES, error);
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
  return status;
}

/// Whether kernels reach the slots, and an attached ring.
static bool
is_mapped(const Stage* const stage)
{
  const StageTables* const tables = &stage->tables;
  const Device* const device = stage->device;
  const size_t n_bytes =
      ((size_t)tables->n_in + stage->spec.n_out_rows) * tables->row_stride * sizeof(float);
  return device->d_region ? device->info.reaches_host : n_bytes <= device->mapped_bytes;
}

/// True when what goes to the host is the rack's output, all of it and in order.
static bool
ends_the_rack(const StageSpec* const spec)
{
  bool ends = spec->n_out_rows > 0U && spec->n_out_rows == spec->n_out;
  for (uint32_t r = 0; ends && r < spec->n_out_rows; ++r) {
    ends = spec->out_rows[r] == spec->n_in + r;
  }
  return ends;
}

/// Where things lie: rows in the ring if they can, the rest in the slots.
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

/// A pointer into a slot as the kernels see it.
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
              rows_arg(stage, slot, stage->ring_in, stage->in_offset),
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

static Status
describe_begin(const Stage* const stage, const Slot* const slot, GpuLaunch* const launch,
               Error* const error)
{
  static const FxKernelSize no_sizes[FX_KERNEL_SIZES] = { { NULL, 0U } };
  const uint32_t n_groups = (stage->tables.live.n + BEGIN_GROUP - 1U) / BEGIN_GROUP;
  *launch = (GpuLaunch){ .groups = { n_groups < MAX_BEGINS ? n_groups : MAX_BEGINS, 1U },
                         .group_size = BEGIN_GROUP,
                         .n_args = 2U,
                         .args = { slot_arg(slot, 0U), buffer_arg(stage->live) } };
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
                         .n_out = n_copies };
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

/// Submit both recordings with blocks of no frames, which change nothing: whatever a driver does
/// at the first time is done now.
static Status
try_out(Stage* const stage, Error* const error)
{
  stage->is_trial = true;
  for (uint32_t s = 0; s < N_SLOTS; ++s) {
    Slot* const slot = &stage->slots[s];
    slot->began_ns = rt_now_ns();
    submit(stage, slot);
    wait_for(stage, slot);
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
  if (!status) {
    status = take_memory(stage, error);
  }
  if (!status) {
    status = make_buffers(stage, error);
  }
  if (!status) {
    status = lay_out_slot(stage, error);
  }
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

/// Wait for late blocks a little longer: drivers wait for ever when what still runs is freed.
static void
wait_once_more(Stage* const stage)
{
  const uint64_t began_ns = rt_now_ns();
  bool all_done = false;
  while (!all_done && rt_now_ns() - began_ns < LAST_WAIT_NS) {
    all_done = true;
    for (uint32_t s = 0; s < N_SLOTS; ++s) {
      Slot* const slot = &stage->slots[s];
      bool done = false;
      // A device that is lost has nothing left that could be running.
      if (slot->is_at_work &&
          (stage->device->api->poll(slot->recording, slot->sequence, &done) || done)) {
        note_end(stage, slot);
      }
      all_done = all_done && !slot->is_at_work;
    }
    nanosleep(&(struct timespec){ 0, CPU_NAP_NS }, NULL);
  }
}

static void
free_on_device(Stage* const stage)
{
  Device* const device = stage->device;
  const StageTables* const tables = &stage->tables;
  for (uint32_t s = 0; s < N_SLOTS; ++s) {
    Slot* const slot = &stage->slots[s];
    if (slot->recording) {
      device->api->recording_free(slot->recording);
    }
    device_buffer_give(device, stage->slot_bytes, slot->copy);
    device_host_give(device, stage->slot_bytes, slot->memory);
  }
  device_buffer_give(device, tables->table.n * WORD_BYTES, stage->table);
  device_buffer_give(device, tables->live.n * WORD_BYTES, stage->live);
  device_buffer_give(device, (size_t)tables->n_rows * tables->row_stride * WORD_BYTES, stage->rows);
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
