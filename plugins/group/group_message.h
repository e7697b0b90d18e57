// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The messages between the worker and the process of a group.

   Calls, one at a time, over a socket of packets: a GroupCall with at most two descriptors,
   answered by a GroupReply with at most one.  Texts and states are in sealed memory.
*/
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_MESSAGE_H
#define WARPRACK_PLUGINS_GROUP_GROUP_MESSAGE_H

#include "engine/base/status.h"
#include "plugins/plugin.h"

#include <stdbool.h>
#include <stdint.h>

#define GROUP_SLOTS      256U // instances in a process
#define GROUP_RING_SLOTS 8U   // blocks in flight, of an instance
#define GROUP_FDS        2U   // descriptors of a message

#define GROUP_MAX_DATA ((64U << 20U) + FX_STATE_MAX_BYTES) // a description, files, a state

typedef enum GroupOp {
  GROUP_HELLO,   ///< The first one.  Descriptors: the flight recorder, and the bell
  GROUP_OPEN,    ///< Make an instance.  Descriptors: its ring; description, files and state
  GROUP_CLOSE,   ///< Free it
  GROUP_RENEW,   ///< InstanceCalls::renew.  Descriptor: files and state
  GROUP_SILENCE, ///< Run silence of `n_frames`
  GROUP_TEXT,    ///< InstanceCalls::set_text.  Descriptor: the text
  GROUP_GET,     ///< InstanceCalls::get
  GROUP_SAVE,    ///< InstanceCalls::save.  Descriptor of the reply: the part, if it has bytes
  GROUP_N_OPS
} GroupOp;

typedef struct GroupCall {
  uint32_t op;
  uint32_t number; ///< Of the call, for the reply
  uint32_t slot;   ///< Of the instance, below GROUP_SLOTS
  // HELLO
  uint32_t locks_memory;
  int32_t priority; ///< SCHED_FIFO, of the threads that run blocks; 0: normal
  // OPEN
  uint32_t uid, index;
  uint32_t preset; ///< 1 + its place in Plugin::presets; 0: none
  double rate_hz;
  uint32_t max_block_frames;
  uint32_t n_description; ///< Bytes
  // OPEN, RENEW
  uint32_t n_paths; ///< Bytes; the rest of the data is the state
  // others
  uint32_t n_frames;
  uint32_t port;
} GroupCall;

typedef struct GroupReply {
  uint32_t op, number; ///< Those of the call
  uint32_t status;
  char text[256]; ///< With a status that is not OK
  uint32_t latency_frames;
  uint32_t has_latency;
  uint32_t is_package; ///< SAVE: the part is a package, with the files that the plugin has made
  double value;        ///< GET
} GroupReply;

/// The kinds of messages in a ring (ParamMessage::kind), in the order of the worker's calls.
/// `frame` is the sequence number of the block that is submitted after them, so that the process
/// never applies a message to an earlier block.  A call applies the sets that were sent before it.
typedef enum GroupMessage {
  GROUP_MESSAGE_SET,  ///< InstanceCalls::set: `param` is the port, `n_frames` the frame
  GROUP_MESSAGE_NOTE, ///< InstanceCalls::event: `param` is the key, `n_frames` the frame
  GROUP_MESSAGE_RUN   ///< A run of `n_frames`, from the end of the last one on
} GroupMessage;

/**
   The first sample of the last output row, which has no audio: the latency that an instance
   reports, and whether it asks for a restart. [rt]
*/
REALTIME float group_report(uint32_t latency_frames, bool wants_restart);

/// Read a report.  False if it is invalid. [rt]
REALTIME bool group_read_report(float report, uint32_t* latency_frames, bool* wants_restart);

/// Send a packet.  STATUS_NET if the other side is gone. [any but rt]
NODISCARD Status group_send(int socket, const void* packet, size_t n_bytes, const int* fds,
                            uint32_t n_fds, Error* error);

/**
   Receive a packet of exactly `n_bytes`.  Call it only when poll(2) reports one: it does not wait,
   because a process that a plugin has started may hold the socket open after the end of the other
   process.

   @param[out] fds [GROUP_FDS] its descriptors, to be closed by the caller; -1 behind the last one.
   @return STATUS_NET at the end and without a packet, STATUS_BAD_ARG for another packet; then there
   are no descriptors.
   [any but rt]
*/
NODISCARD Status group_receive(int socket, void* packet, size_t n_bytes, int fds[GROUP_FDS],
                               Error* error);

/// Close descriptors of group_receive(). [any but rt]
void group_close_fds(int fds[GROUP_FDS]);

#endif
