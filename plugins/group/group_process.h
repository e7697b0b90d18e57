// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The worker's side of the processes of groups: start, call, watch and end them.

   A process that ends, does not answer a call, leaves a block unfinished or writes invalid data is
   lost: its instances get no more blocks, it is killed, and the loss is reported (group_losses.h).
   The next instance that is opened in the group starts another process.

   All functions: [the thread of plugins], except group_may_restart(): [builder].
*/
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_PROCESS_H
#define WARPRACK_PLUGINS_GROUP_GROUP_PROCESS_H

#include "group_bell.h"
#include "group_message.h"

typedef struct Group Group;

/// An instance in a group.
typedef struct GroupMember {
  Group* group;
  GroupBell* bell;
  uint32_t slot; ///< In the process
  uint32_t uid;  ///< Of the node
  Ring* ring;
  _Atomic uint64_t n_submitted; ///< Blocks; written by the player
  bool is_lost;                 ///< Its process is gone
  bool is_called;               ///< A call of it has not been answered yet
  uint64_t n_finished;          ///< Blocks, at the last check
  uint64_t waited_ns;           ///< Time since then with a block that is not finished
  double load;                  ///< Mean number of threads that ran its node, lately
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
   Wait for the blocks of the member, call the process, and wait for the answer: together for at
   most 8 s.

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

/// Check whether processes are lost.  group_call() does so, too, while it waits.
void groups_watch(void);

#endif
