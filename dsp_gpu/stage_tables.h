// SPDX-License-Identifier: GPL-3.0-or-later
/**
   From the steps of a stage to the tables of the kernels (kernels/layout.h) and to the list of
   launches.

   Mixes need no launch: a kernel sums the terms of its inputs as it reads them.  Rows keep the
   plan's numbers on the device; a row that is read before the stage has written it comes from the
   host, and stage_begin brings it; delayed terms are read from additional rows, which stage_delay
   fills.  The mix for the switches of nodes is stored in rows by stage_store, and so are the inputs
   that it reads.
   Units in series with the same kernel, each of which reads only the unit before, become chains of
   one launch, if the kernel allows it (FxKernel::chains).  The last launch, stage_end, sums the
   rows that go to the host.  All [builder].
*/
#ifndef WARPRACK_DSP_GPU_STAGE_TABLES_H
#define WARPRACK_DSP_GPU_STAGE_TABLES_H

#include "device.h"
#include "stage_words.h"

#include "engine/base/arena.h"

#define STAGE_COPY_GROUP 128U // threads of kernels that move rows

/// A node whose parameters the host keeps.
typedef struct TableNode {
  const FxKernel* kernel;
  const FxInfo* fx;
  void* node;
  NodeSwitches* switches;
  const uint32_t* n_sets;
  uint32_t seen; ///< [player] *n_sets when the parameters were last packed
  bool is_dirty; ///< [player] Must be packed: never packed yet, or a parameter set within a block
  // [player] In a part of a block; 0: none
  uint32_t event_ramp; ///< Longest ramp of the values of events
  uint32_t fade_ramp;  ///< Shortest ramp of the points of fades
  uint32_t node_index;
  uint32_t live; ///< Word
  uint32_t n_words;
} TableNode;

typedef struct TableLink {
  MixLink* link;
  uint32_t live; ///< Word
} TableLink;

typedef struct TableLaunch {
  const char* file;
  const char* entry;
  uint32_t group_size;
  FxKernelSize sizes[FX_KERNEL_SIZES];
  uint32_t groups[2];
  const Chunk* chunk; ///< NULL: the launch uses no memory of nodes
  uint32_t first;     ///< Word in the table
  uint32_t n_units;
  bool lists_parts; ///< The first launch of units whose kernel reads the parts of chains
  bool reports;     ///< The kernel has an additional argument: the stage's report
} TableLaunch;

typedef struct StageTables {
  Arena arena;
  Words table;
  Words live;       ///< Initial values
  TableNode* nodes; ///< [n_nodes]
  uint32_t n_nodes;
  TableLink* links; ///< [n_links], by address
  uint32_t n_links;
  TableLaunch* launches; ///< [n_launches], without stage_begin
  uint32_t n_launches;
  uint32_t* in_rows; ///< [n_in] rows of the plan, in their order in host memory: the rack's rows
                     ///< first
  uint32_t n_in;
  uint32_t read_rows; ///< Word in the table: [n_read] places in in_rows of the rows that are read
  uint32_t n_read;
  uint32_t n_rows; ///< On the device, without those from the host
  uint32_t row_stride;
  uint32_t max_param_words; ///< Most parameter words of a node
} StageTables;

NODISCARD Status stage_tables_new(const StageSpec* spec, StageTables* tables, Error* error);
void stage_tables_clear(StageTables* tables);

/// The words of a connection for a block, [LINK_WORDS]. [player]
void stage_link_words(const MixLink* link, uint32_t n_frames, uint32_t* words);

#endif
