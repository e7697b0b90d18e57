// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Processes for nodes with `group=NAME`: one process per name, a child of the worker, in which the
   instances of these nodes run.  ../host_group.h has the node's side of it.

   A process (`warprack group`) has a socket for calls that are not audio (group_message.h), a bell
   that wakes the threads that run blocks, and one ring (engine/ring) for each instance.  The ring
   carries the blocks, and the changes of an instance within a block as messages (GroupMessage).
   The worker checks all data that comes from the process.
*/
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_H
#define WARPRACK_PLUGINS_GROUP_GROUP_H

/// Let the nodes of groups that are made from now on have processes of their own, which run
/// `program` with the argument "group". [main of the worker]
void groups_start(const char* program);

/// The process of a group.  Returns the exit code when the worker has closed the socket. [main]
int group_main(int socket);

#endif
