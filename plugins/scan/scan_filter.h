// SPDX-License-Identifier: GPL-3.0-or-later
/// Refuses system calls that no plugin needs in order to be described.
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_FILTER_H
#define WARPRACK_PLUGINS_SCAN_SCAN_FILTER_H

#include <stdbool.h>

/// 1: the filter knows the processor, of 64 bits and little-endian: x86-64, ARM or RISC-V.
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)) ||                    \
    (defined(__riscv) && __riscv_xlen == 64)
#define SCAN_HAS_FILTER 1
#else
#define SCAN_HAS_FILTER 0
#endif

/**
   Let these system calls fail with EPERM in this process and its children: sockets other than
   AF_UNIX, other programs, access to the memory and the descriptors of other processes, io_uring,
   userfaultfd, bpf, perf_event_open; holes in files, which would take pages of memory from other
   processes that share it; unless `may_fork`, also new processes, but not new threads. Needs
   no_new_privs.  A filter cannot refuse /proc/PID/mem, which is a file: see scan_confine.c. On
   kernels without filters and on other processors (SCAN_HAS_FILTER) all calls remain.

   @return False if the filter cannot be installed.
   [child]
*/
bool scan_filter_install(bool may_fork);

#endif
