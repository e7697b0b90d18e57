// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Nodes with `group=NAME`: their instances are in a process of the group, which gets each block
   when the node runs, and has until the next block to answer.  What the node plays is therefore one
   block late: its latency is that of the plugin and FxSetup::max_block_frames.

   The process is that of HostRemote, which plugins/group/ implements.  A program that does not call
   host_set_remote() has the instances in its own process, behind the same delay: the samples are
   the same.

   If the answer is not there when the block is due, the node plays its input, delayed by its
   latency, without a step (BypassHold).  The output cross-fades in again when there are answers.
   FxInfo::is_lost is true once the process is lost and may start again.
*/
#ifndef WARPRACK_PLUGINS_HOST_GROUP_H
#define WARPRACK_PLUGINS_HOST_GROUP_H

#include "host.h"

#define GROUP_NAME_BYTES 33U // with the final zero

/// A block that a group's process has finished.
typedef struct HostAnswer {
  uint64_t frame; ///< As it was submitted, as n_frames
  uint32_t n_frames;
  bool has_sound;                     ///< False: the process has not run it
  const float* rows[FX_MAX_CHANNELS]; ///< [outputs] any samples; the process may write to them
} HostAnswer;

/// Instances in processes of groups.
typedef struct HostRemote {
  /// The calls for instances of a format, of which open() starts the process if necessary, and
  /// set() and event() belong to the block that begin() has begun.  They have no run(). [builder]
  const InstanceCalls* (*calls)(const InstanceCalls* of_format);
  /// Run silence, before the first block. [builder]
  Status (*silence)(Instance* instance, uint32_t n_frames, Error* error);
  /// By how many bytes the memory of the process has grown since the instance was opened.
  /// [thread of plugins]
  uint64_t (*growth)(const Instance* instance);
  /// The memory of the ring of the instance, which growth() does not count. [thread of plugins]
  uint64_t (*ring_bytes)(const Instance* instance);
  /// Begin a block.  False if the process is gone, or has too many blocks that it has not finished:
  /// it gets nothing of this one. [rt]
  bool (*begin)(Instance* instance);
  /// A run of the block, from frame `first` on.  `rows`: a row per audio input. [rt]
  void (*run)(Instance* instance, const float* const* rows, uint32_t first, uint32_t n_frames);
  /// Give the block to the process, which wake() wakes.  False if a value or a run of it was lost,
  /// because there were too many. [rt]
  bool (*submit)(Instance* instance, uint64_t frame, uint32_t n_frames);
  /// Wake the process of an instance if it sleeps, and a block was given to it after the last call
  /// for any of its instances. [rt]
  void (*wake)(const Instance* instance);
  /// Get the next block that is finished, in the order in which they were submitted.  `waits`: wait
  /// for it, if one was submitted, until the process is gone. [rt; with `waits` it may sleep]
  bool (*take)(Instance* instance, bool waits, HostAnswer* answer);
  /// Drop the answers to all blocks that were submitted. [rt, builder]
  void (*drop)(Instance* instance);
  /// Watch the processes. [builder, the thread of plugins]
  void (*idle)(void);
  /// As fx_take_loss(). [builder]
  bool (*take_loss)(FxLoss* loss);
} HostRemote;

/// Let the instances of groups run in processes of their own.  NULL: in this process. [main, before
/// nodes are made]
void host_set_remote(const HostRemote* remote);

/// What host_set_remote() has set. [any]
const HostRemote* host_remote(void);

/// What fx_set_deadline() has set; 0: no deadline. [any]
uint64_t host_deadline(void);
/// True after that deadline. [any]
bool host_is_late(void);
/// What fx_set_realtime() has set. [any]
bool host_locks_memory(void);
int host_priority(void);

/// The group that a node names, NULL if it names none.  STATUS_BAD_RACK for a name that is not 1 to
/// 32 letters, digits, _ and -. [builder]
NODISCARD Status host_find_group(const FxSetup* setup, const char** name, Error* error);

/// The outputs of a unit, on their way through the block of delay.
typedef struct HostDelay {
  uint32_t n_frames; ///< Of the delay
  uint32_t n_out;
  uint64_t next;  ///< Frame of the next block that is put
  uint64_t begin; ///< Frames from here ...
  uint64_t end;   ///< ... to here are known
  float* lines;   ///< [n_out][2 * n_frames] frame f is at f % (2 * n_frames)
  float* held;    ///< [n_out] BypassHold::values
  bool is_gap;    ///< The input plays: from a missing answer until it has faded in completely, and
                  ///< answers are there again
  bool begins;    ///< The gap begins with this block
} HostDelay;

/// Samples of a delay: lines and held ones. [any]
size_t host_delay_samples(uint32_t n_frames, uint32_t n_out);

/// A delay with silence.  `samples`: host_delay_samples() of them, zeros. [rt, builder]
REALTIME HostDelay host_delay_at(uint32_t n_frames, uint32_t n_out, float* samples);

/// Put a part of the outputs, at a frame.  Those between the last part and this one are unknown.
/// [rt]
REALTIME void
host_delay_put(HostDelay* delay, uint64_t frame, const float* const* rows, uint32_t n_frames);

/// True if the frames that host_delay_get() gets next are known. [rt]
REALTIME bool host_delay_knows(const HostDelay* delay, uint32_t n_frames);

/**
   Get the outputs of a block, delayed, and go on to the next block.

   @param is_dry The unit plays its input alone: a gap may end.
   @return False if the input has to play.
   [rt]
*/
REALTIME bool host_delay_get(HostDelay* delay, bool is_dry, float* const* rows, uint32_t n_frames);

/// True if this thread shall wait for answers: see fx_wait(). [rt]
REALTIME bool host_waits(void);

/// Count a block that a unit played without an answer. [rt]
REALTIME void host_count_missed(void);

#endif
