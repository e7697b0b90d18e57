// SPDX-License-Identifier: GPL-3.0-or-later
/// A stage on a device, shared by stage_setup.c, which makes and frees it [builder], and
/// stage_gpu.c, which runs it [player].
#ifndef WARPRACK_DSP_GPU_STAGE_PRIVATE_H
#define WARPRACK_DSP_GPU_STAGE_PRIVATE_H

#include "stage_tables.h"

#define N_SLOTS    2U
#define CPU_NAP_NS 20000 // between two polls of a device that is the host's own processor

typedef struct Slot {
  GpuHostMemory* memory;
  uint32_t* changes; ///< Words of the changes, in the slot
  float* rows_in;    ///< [n_in][row_stride], NULL when they are in the ring
  uint32_t* report;  ///< [REPORT_WORDS]
  float* rows_out;   ///< [n_out][row_stride], NULL when they are in the ring
  GpuBuffer* copy;   ///< Copy of the slot on the device; NULL if kernels access the slot itself
  GpuRecording* recording;
  uint64_t sequence; ///< Sequence number of the last submission
  bool is_at_work;   ///< The end of that submission is not known yet
  uint64_t began_ns;
  uint32_t n_frames;
  float** out; ///< [n_out] destinations of the returned rows
} Slot;

/// A submitted block.
typedef struct Block {
  Slot* slot; ///< Slot of the block's last part; NULL once that part is done
  uint32_t n_reset;
} Block;

struct Stage {
  Device* device;
  StageSpec spec;
  StageTables tables;
  GpuBuffer* table;
  GpuBuffer* live;
  GpuBuffer* rows;
  GpuBuffer* host_rows; ///< [n_in][row_stride] rows from the host; NULL if no kernel brings them
  size_t in_offset, report_offset, out_offset, slot_bytes; ///< Within a slot
  bool ring_in, ring_out; ///< The rows come from, and go to, the attached ring
  Slot slots[N_SLOTS];
  uint32_t next_slot;
  Block blocks[N_SLOTS]; ///< Submitted and not collected: n_blocks from `oldest` on, cyclic
  uint32_t oldest, n_blocks;
  uint32_t* shadow;     ///< `live` as it will be on the device after the last submission
  uint32_t* packed;     ///< [max_param_words]
  uint32_t* node_place; ///< [n_nodes] index of tables.nodes + 1, or 0
  uint64_t sequence;
  uint32_t n_resets; ///< LIVE_N_RESETS of the last report
  uint32_t last_ns;  ///< REPORT_NS of the last report
  Status status;     ///< The first error
  Stage* next_left;  ///< Next stage in the list device->left
  bool is_trial;     ///< A trial run: no block is played
  bool can_arm;      ///< The recordings can be armed
};

/// Submit the recording of a slot, unless the stage has failed.
void slot_submit(Stage* stage, Slot* slot);

/// Wait for a slot; fails if it misses the deadline.
void slot_wait(Stage* stage, Slot* slot);

/// Record that a submission has ended or was lost.
void slot_note_end(Stage* stage, Slot* slot);

#endif
