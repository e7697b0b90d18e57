// SPDX-License-Identifier: GPL-3.0-or-later
/// Takes from a child of the scan what a plugin does not need in order to be described.
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_CONFINE_H
#define WARPRACK_PLUGINS_SCAN_SCAN_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
   Confine this process, before it runs foreign code: it ends with its parent, has no terminal and
   no display, no descriptors except 0 (/dev/null), 1 and 2, and limits for memory, processor time
   and the size of files.  It can gain no privileges, writes no core file, reaches no memory of
   processes other than its own children (with Landlock), and moves no file to another folder.

   @param parent Its parent; false if that one has ended.
   @param output Becomes descriptors 1 and 2.
   @param max_cpu_s Processor time; SIGXCPU ends the process then.
   @param max_file_bytes Of each file that is written, also in memory.
   @param may_fork It may start processes; threads it may always start.
   [child]
*/
bool
scan_confine(pid_t parent, int output, uint64_t max_cpu_s, uint64_t max_file_bytes, bool may_fork);

/// Of scan_confine() only what concerns rights and limits, for a process that plays: limits for
/// memory and the size of files, no privileges, no core file, no memory of other processes, no
/// child processes, no refused system calls.  Applies to this thread and those that it starts.
/// [main, before foreign code runs]
bool scan_confine_rights(uint64_t max_file_bytes);

#endif
