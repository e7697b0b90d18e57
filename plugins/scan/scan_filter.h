// SPDX-License-Identifier: GPL-3.0-or-later
/// Refuses system calls that no plugin needs in order to be described.
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_FILTER_H
#define WARPRACK_PLUGINS_SCAN_SCAN_FILTER_H

#include <stdbool.h>

/**
   Let these system calls fail with EPERM in this process and its children: sockets other than
   AF_UNIX, other programs, access to the memory and the descriptors of other processes, io_uring,
   userfaultfd, bpf, perf_event_open; also new processes, but not threads, unless it may fork.  /proc/PID/mem is a file, which a filter cannot refuse: see
   scan_confine.c.  Needs no_new_privs.  Kernels without filters and other processors than x86-64
   refuse nothing.

   @return False if the filter cannot be installed.
   [child]
*/
bool scan_filter_install(bool may_fork);

#endif
