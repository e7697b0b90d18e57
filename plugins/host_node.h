// SPDX-License-Identifier: GPL-3.0-or-later
/// A node that hosts a plugin, and one of its units.
#ifndef WARPRACK_PLUGINS_HOST_NODE_H
#define WARPRACK_PLUGINS_HOST_NODE_H

#include "host_bypass.h"
#include "host_group.h"
#include "host_lanes.h"
#include "host_notes.h"
#include "host_params.h"

// Some plugins report their latency in the second run only.
#define HOST_FIRST_RUNS 2U

/// Places of the arrays in the memory of a unit, in bytes from its start.
typedef struct UnitLayout {
  size_t moves, moving, rows, out, samples, delay;
  size_t n_bytes;
} UnitLayout;

typedef struct HostNode {
  // First what each run reads: a rack of many nodes is slow because of the cache.
  const InstanceCalls* calls;
  const HostRemote* remote; ///< Its instances are in the process of the group; NULL: in this one
  uint32_t uid;             ///< As FxSetup
  uint32_t delay_frames;    ///< Of a group: a block; 0: none
  bool is_quarantined;      ///< There are no instances
  bool has_latency;         ///< The plugin reports one, which may change
  HostLanes lanes;
  HostNotes notes;
  HostParams params;
  const Plugin* plugin;
  const char* group; ///< During create(): FxSetup::texts; NULL: none
  Arena arena;       ///< All arrays
  BypassShape bypass;
  uint32_t row_frames;  ///< Size of a private input of an instance: max_block_frames or more
  uint32_t n_open;      ///< Instances that are open
  size_t opened_bytes;  ///< Memory that they took when they were opened
  Instance** instances; ///< [lanes.n_instances]
  /// [lanes.n_instances] Latency of each, in frames; the units write them
  _Atomic uint32_t* latencies;
  uint32_t latency_limit; ///< In frames; a longer one that a plugin reports is not followed
  UnitLayout layout;
  StateFile state; ///< Of the file that the rack names: renewals restore it
  StateFile saved; ///< The last one of host_save(), until the rack names its file
  HostPaths paths;
} HostNode;

typedef struct HostUnit {
  Instance* instance; // first what each run reads, as in HostNode
  HostMoves moves;
  uint64_t n_notes; ///< Those of HostNotes::n that the instance has
  Bypass bypass;
  uint32_t index;  ///< Of the instance
  uint32_t n_runs; ///< Up to HOST_FIRST_RUNS, since the instance was made or renewed
  bool is_behind;  ///< The process of the group has missed values
  float** rows;    ///< [lanes.n_rows] the inputs of an instance, which it may write to
  float** out;     ///< [lanes.n_out] the outputs of a run
  HostDelay delay; ///< With HostNode::delay_frames
} HostUnit;

/// The latency of a node whose instance has one of `latency_frames`. [rt, builder]
static inline uint32_t
host_whole_latency(const HostNode* const node, const uint32_t latency_frames)
{
  const uint32_t longest = UINT32_MAX - node->delay_frames; // a plugin may report any number
  return (latency_frames < longest ? latency_frames : longest) + node->delay_frames;
}

/// Open all instances of a node, at its values, and find their latency.
///
/// @param preset NULL: none.
/// @return The error of the format, STATUS_FILE if the binary has changed, STATUS_LIMIT if the
/// latency is too long or differs between instances, STATUS_NO_MEM.  The caller closes what is
/// open. [builder]
NODISCARD Status host_open(HostNode* node, const FxSetup* setup, const PluginPreset* preset,
                           uint32_t* latency_frames, Error* error);

/// Read the state that the rack names, before host_open(). [builder]
NODISCARD Status host_read_state(HostNode* node, const FxSetup* setup, Error* error);

/// FxInfo::save.
Status host_save(void* node, FxShape* shape, unsigned char** bytes, size_t* n_bytes, Error* error);

/// FxInfo::end_save.
void host_end_save(void* node, FxShape* shape, bool is_named);

/// Close all instances of a node. [builder]
void host_close(HostNode* node);

/// Renew all instances of a node. [builder]
NODISCARD Status host_renew(HostNode* node, Error* error);

#endif
