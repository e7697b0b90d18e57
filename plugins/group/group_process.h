// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The worker's side of the processes of groups: start, call, watch and end them.

   A process that ends, does not answer a call, leaves a block unfinished or writes invalid data is
   lost: its instances get no more blocks, it is killed, and the loss is reported (FxLoss).  The
   next instance that is opened in the group starts another process.

   All functions: [the thread of plugins], except group_may_restart() and groups_take_loss():
   [builder].
*/
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_PROCESS_H
#define WARPRACK_PLUGINS_GROUP_GROUP_PROCESS_H

#include "group_message.h"

#include "engine/ring/ring.h"

typedef struct Group Group;

/// Wakes a process: a ring without blocks, kept while members may ring it.  The worker rings it
/// once for each batch, so N times in a block for nodes of N plugins.  To ring it only after the
/// last batch would cost less, but the process would begin the blocks of the first batches later.
typedef struct GroupBell {
  Ring* ring;
  _Atomic bool is_due; ///< A block was submitted after the last wake; threads of the player
  uint32_t n_users;    ///< The process and its members, also after its loss
} GroupBell;

/// An instance in a group.
typedef struct GroupMember {
  Group* group;
  GroupBell* bell;
  uint32_t slot; ///< In the process
  uint32_t uid;  ///< Of the node
  Ring* ring;
  _Atomic uint64_t n_submitted; ///< Blocks; written by the player
  bool is_lost;                 ///< Its process is gone
  uint64_t n_finished;          ///< Blocks, at the last check
  uint64_t waited_ns;           ///< Time since then with a block that is not finished
} GroupMember;

/// The program of the processes. [main]
void groups_use_program(const char* path);

/**
   Join the group of that name, whose process is started if necessary.

   @return STATUS_LIMIT for too many groups or instances, STATUS_NO_MEM, STATUS_WORKER if the
   process does not start.
*/
NODISCARD Status group_join(const char* name, GroupMember* member, Error* error);

/// Leave the group.  The last member ends the process.
void group_leave(GroupMember* member);

/**
   Call the process, and wait for the answer, for at most 8 s.

   @param call Its number and slot are set here.
   @param[out] reply_fd Of SAVE: the descriptor of the reply, or -1; the caller closes it.  NULL:
   none is expected.
   @return The status of the reply with its text; STATUS_WORKER if the process is lost.
*/
NODISCARD Status group_call(GroupMember* member, GroupCall* call, const int* fds, uint32_t n_fds,
                            GroupReply* reply, int* reply_fd, Error* error);

/// The memory of its process, in bytes; 0 if it is lost.
uint64_t group_memory(const GroupMember* member);

/// True if the process of the member is lost, and its group may start another one.
bool group_may_restart(const GroupMember* member);

/// Check whether processes are lost.  group_call() does so, too: first for its group, then, while
/// it waits, for the others.
void groups_watch(void);

/// HostRemote::take_loss.
bool groups_take_loss(FxLoss* loss);

#endif
