// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A stage on a GPU: one submission for each block.

  The work of a submission is recorded twice, for two slots of host memory that alternate:

      slot in host memory:  changes ── rows in                     ── report ── rows out
                              │           │                               ▲
      recording:         stage_begin ◀────┘ ──▶ kernels of effects ──▶ stage_end ──▶ done

  The rows of small blocks are in mapped memory: stage_begin brings those that kernels read to the
  device, each sample once, and stage_end writes the rows out.  If these are the rows of the rack
  and its ring is attached, they are in the ring, and the processor copies no row.  For large
  blocks, and if the device cannot access host memory, the recording copies the slot to the device
  and back, and the kernels use the copies; the copies of one slot overlap the kernels of the other.

  Nodes in host memory keep the parameters: after a set, the words of the node are packed again, and
  the words that differ from those on the device are added to the slot's changes.  Connections whose
  gain moves are handled in the same way.

  While blocks arrive, the recording of the next slot is armed as soon as a block has been returned
  (GpuApi::arm): then a submission costs no call of the driver.

  A block with parameter changes runs in parts, one submission each, at most MAX_PARTS.  With more
  changes, each part has an eighth of the block, and a change may apply up to an eighth of a block
  early.  The points of fades (engine/contract/fade.h) count as changes; the ramp to one that
  applies early takes at least the length of such a part.
*/

#include "stage_private.h"

#include "dsp_gpu/kernels/layout.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/contract/node_switches.h"

#include <string.h>
#include <time.h>

#define MAX_PARTS 8U // of a block

// Some drivers compile when a kernel is launched for the first time.
#define TRIAL_NS (20U * NS_PER_S)

// ---- changes of parameters and gains ----

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

/// Copy rows to the slot, or write to the slot where they are in the ring.
static void
bring_rows(Stage* const stage, Slot* const slot, const uint32_t first, const uint32_t n_frames)
{
  const StageTables* const tables = &stage->tables;
  float* const* const rows = stage->spec.rows;
  slot->changes[CHANGES_IN_AT] = 0U;
  slot->changes[CHANGES_OUT_AT] = 0U;
  if (stage->ring_in) {
    slot->changes[CHANGES_IN_AT] = word_in_region(stage, rows[0] + first);
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
    slot->changes[CHANGES_OUT_AT] = word_in_region(stage, slot->out[0]);
  }
}

// After one late block, no stage submits work to the device: every stage would wait until the
// deadline.
void
slot_submit(Stage* const stage, Slot* const slot)
{
  const GpuApi* const api = stage->device->api;
  if (atomic_load_explicit(&stage->device->late_ns, memory_order_relaxed)) {
    fail(stage, STATUS_DEVICE_LOST);
  }
  if (!stage->status) {
    atomic_store_explicit(&stage->device->used_ns, slot->began_ns, memory_order_relaxed);
    slot->sequence = ++stage->sequence;
    fail(stage, stage->is_trial ? api->rehearse(slot->recording, slot->sequence)
                                : api->submit(slot->recording, slot->sequence));
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
  slot->began_ns = time_now_ns();
  slot_submit(stage, slot);
  return slot;
}

void
slot_note_end(Stage* const stage, Slot* const slot)
{
  atomic_fetch_sub_explicit(&stage->device->n_at_work, slot->is_at_work, memory_order_relaxed);
  slot->is_at_work = false;
}

/// Poll a slot once; fails after its deadline.  The clock is read before the poll, so that a thread
/// that was suspended polls once more before it reports the device as late.  If the device is the
/// host's own processor, the thread sleeps for CPU_NAP_NS.
static bool
poll_slot(Stage* const stage, Slot* const slot)
{
  Device* const device = stage->device;
  const uint64_t waited_ns = time_now_ns() - slot->began_ns;
  bool done = false;
  if (!stage->status) {
    fail(stage, device->api->poll(slot->recording, slot->sequence, &done));
  }
  if (done) {
    slot_note_end(stage, slot);
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
  const uint64_t deadline_ns =
      stage->is_trial && device->deadline_ns < TRIAL_NS ? TRIAL_NS : device->deadline_ns;
  if (waited_ns > deadline_ns) {
    atomic_store_explicit(&device->late_ns, deadline_ns, memory_order_relaxed);
    fail(stage, STATUS_DEVICE_LOST);
  }
  return stage->status != STATUS_OK;
}

void
slot_wait(Stage* const stage, Slot* const slot)
{
  while (!poll_slot(stage, slot)) {
  }
}

/// Wait for a slot and copy its rows, silence after an error.  Returns the number of units that
/// were reset.
static uint32_t
settle(Stage* const stage, Slot* const slot)
{
  slot_wait(stage, slot);
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
  stage->last_ns = slot->report[REPORT_NS];
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

/// The node of a change in the stage's tables; NULL for a node of another stage.
static TableNode*
node_of(const Stage* const stage, const uint32_t node_index)
{
  const uint32_t place = stage->node_place[node_index];
  return place ? &stage->tables.nodes[place - 1U] : NULL;
}

/// Offset of the next point of a fade at or after `from`; UINT32_MAX: none, or not of this stage.
static uint32_t
next_point(const Stage* const stage, const StageChanges* const changes, const Fade* const fade,
           const uint32_t from)
{
  const uint64_t next = fade_next(fade, changes->frame + from) - changes->frame;
  return node_of(stage, fade->node_index) && next < UINT32_MAX ? (uint32_t)next : UINT32_MAX;
}

/// Offset of the next change at or after `from`; UINT32_MAX if there is none.
static uint32_t
next_change(const Stage* const stage, const StageChanges* const changes, const uint32_t from)
{
  uint32_t next = UINT32_MAX;
  for (uint32_t e = 0; e < changes->n_events && next == UINT32_MAX; ++e) {
    const StageEvent* const event = &changes->events[e];
    if (event->offset >= from && node_of(stage, event->node_index)) {
      next = event->offset;
    }
  }
  for (uint32_t f = 0; f < changes->n_fades; ++f) {
    const uint32_t point = next_point(stage, changes, &changes->fades[f], from);
    next = point < next ? point : next;
  }
  return next;
}

/// Minimum frames of a part: 1, or enough to limit the number of parts.
static uint32_t
least_part(const Stage* const stage, const uint32_t n_frames, const StageChanges* const changes)
{
  uint32_t n_parts = 1;
  uint32_t at = next_change(stage, changes, 1U);
  for (; at < n_frames && n_parts <= MAX_PARTS; at = next_change(stage, changes, at + 1U)) {
    ++n_parts;
  }
  return n_parts > MAX_PARTS ? (n_frames + MAX_PARTS - 1U) / MAX_PARTS : 1U;
}

/// Set a value.  One length of ramps serves all values of the node that change in a part, as on the
/// CPU (dsp_cpu/stage_event.c).
static void
set(TableNode* const node, const uint32_t param, const double value, const uint32_t least_ramp)
{
  const uint32_t ramp_frames = node->event_ramp ? node->event_ramp : node->fade_ramp;
  node->fx->set(node->node, param, value, ramp_frames > least_ramp ? ramp_frames : least_ramp);
  node->is_dirty = true;
}

/// The last point of a fade in [from, end).
static uint32_t
last_point(const Stage* const stage, const StageChanges* const changes, const Fade* const fade,
           const uint32_t from, const uint32_t end)
{
  uint32_t last = UINT32_MAX;
  uint32_t at = next_point(stage, changes, fade, from);
  for (; at < end; at = next_point(stage, changes, fade, at + 1U)) {
    last = at;
  }
  return last;
}

/// The node of an event in [from, end); NULL: another stage's, or another part.
static TableNode*
node_in_part(const Stage* const stage, const StageEvent* const event, const uint32_t from,
             const uint32_t end)
{
  return event->offset >= from && event->offset < end ? node_of(stage, event->node_index) : NULL;
}

/// The last point of a fade in [from, end), unless a later change has its parameter then.  A fade
/// that goes on at the end has begun after the events of its parameter.
static uint32_t
point_in_part(const Stage* const stage, const StageChanges* const changes, const Fade* const fade,
              const uint32_t from, const uint32_t end)
{
  return fade->until >= changes->frame + end ? last_point(stage, changes, fade, from, end)
                                             : UINT32_MAX;
}

/// Find the length of the ramps of each node that changes in [from, end), or (`forgets`) forget it.
static void
find_ramps(const Stage* const stage, const StageChanges* const changes, const uint32_t from,
           const uint32_t end, const bool forgets)
{
  for (uint32_t e = 0; e < changes->n_events; ++e) {
    const StageEvent* const event = &changes->events[e];
    TableNode* const node = node_in_part(stage, event, from, end);
    if (node && !event->of_engine) {
      const bool is_longer = event->ramp_frames > node->event_ramp;
      node->event_ramp = forgets ? 0U : is_longer ? event->ramp_frames : node->event_ramp;
    }
  }
  for (uint32_t f = 0; f < changes->n_fades; ++f) {
    const Fade* const fade = &changes->fades[f];
    const uint32_t at = point_in_part(stage, changes, fade, from, end);
    if (at != UINT32_MAX) {
      TableNode* const node = node_of(stage, fade->node_index);
      const uint32_t ramp = fade_point(fade, changes->frame + at).ramp_frames;
      const bool is_shorter = !node->fade_ramp || ramp < node->fade_ramp;
      node->fade_ramp = forgets ? 0U : is_shorter ? ramp : node->fade_ramp;
    }
  }
}

/// Set the values of the changes in [from, end), before the part that begins at `from`.  Of several
/// points of a fade the last one counts.
static void
pass_changes(const Stage* const stage, const StageChanges* const changes, const uint32_t from,
             const uint32_t end)
{
  const uint32_t least = end - from > 1U ? end - from : 1U;
  find_ramps(stage, changes, from, end, false);
  for (uint32_t e = 0; e < changes->n_events; ++e) {
    const StageEvent* const event = &changes->events[e];
    TableNode* const node = node_in_part(stage, event, from, end);
    if (node && event->of_engine) {
      node_switches_set(node->switches, event->of_engine, event->value != 0.0, event->ramp_frames);
    } else if (node) {
      set(node, event->param, event->value, 1U);
    }
  }
  for (uint32_t f = 0; f < changes->n_fades; ++f) {
    const Fade* const fade = &changes->fades[f];
    const uint32_t at = point_in_part(stage, changes, fade, from, end);
    if (at != UINT32_MAX) {
      set(node_of(stage, fade->node_index), fade->param,
          fade_point(fade, changes->frame + at).value, least);
    }
  }
  find_ramps(stage, changes, from, end, true);
}

void
stage_gpu_submit(Stage* const stage, const uint32_t n_frames, const StageChanges* const changes)
{
  Block* const block = &stage->blocks[(stage->oldest + stage->n_blocks++) % N_SLOTS];
  *block = (Block){ .slot = NULL };
  const uint32_t least = least_part(stage, n_frames, changes);
  uint32_t done = 0;
  pass_changes(stage, changes, 0U, least);
  uint32_t at = next_change(stage, changes, least);
  for (; at < n_frames; at = next_change(stage, changes, done + least)) {
    settle_block(stage, &stage->blocks[stage->oldest]); // its slot may be needed
    block->n_reset += settle(stage, submit_part(stage, done, at - done));
    done = at;
    pass_changes(stage, changes, done, done + least);
  }
  block->slot = submit_part(stage, done, n_frames - done);
}

void
stage_gpu_rest(Stage* const stage)
{
  Device* const device = stage->device;
  if (stage->can_arm && !stage->n_blocks && !stage->status &&
      atomic_load_explicit(&device->plays, memory_order_relaxed) &&
      !atomic_load_explicit(&device->late_ns, memory_order_relaxed)) {
    fail(stage, device->api->arm(stage->slots[stage->next_slot].recording));
    atomic_store_explicit(&device->is_armed, !stage->status, memory_order_relaxed);
  }
}

void
stage_gpu_leave(Stage* const stage)
{
  for (uint32_t s = 0; stage->can_arm && s < N_SLOTS; ++s) {
    stage->device->api->disarm(stage->slots[s].recording);
  }
  atomic_store_explicit(&stage->device->is_armed, false, memory_order_relaxed);
}

bool
stage_gpu_is_done(Stage* const stage)
{
  Slot* const slot = stage->blocks[stage->oldest].slot;
  return !slot || poll_slot(stage, slot);
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
