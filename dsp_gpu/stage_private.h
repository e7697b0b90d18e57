// SPDX-License-Identifier: GPL-3.0-or-later
/// A stage on a device, shared by stage_setup.c, which makes and frees it [builder], and
/// stage_gpu.c, which runs it [player].
#ifndef WARPRACK_DSP_GPU_STAGE_PRIVATE_H
#define WARPRACK_DSP_GPU_STAGE_PRIVATE_H

#include "stage_tables.h"

#define N_SLOTS    2U
#define CPU_NAP_NS 20000 // between two looks at a device that is the host's own processor

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

/// Submit what is recorded for a slot, unless the stage has failed.
void slot_submit(Stage* stage, Slot* slot);

/// Wait for it; fails when it is not done in time.
void slot_wait(Stage* stage, Slot* slot);

/// A submission has ended, or was lost.
void slot_note_end(Stage* stage, Slot* slot);

#endif
