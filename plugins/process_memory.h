// SPDX-License-Identifier: GPL-3.0-or-later
/// The memory of a process, as the kernel counts it: unlike mallinfo2(), without a lock that an
/// allocation in audio code would wait for.
#ifndef WARPRACK_PLUGINS_PROCESS_MEMORY_H
#define WARPRACK_PLUGINS_PROCESS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

typedef struct ProcessMemory {
  uint64_t mapped_bytes; ///< Address space; sanitizers reserve terabytes of it
  uint64_t own_bytes;    ///< Present in memory, and neither of a file nor shared
} ProcessMemory;

/// Read the memory of this process; 0 if it cannot be read.  The kernel may be wrong by 128 KiB for
/// each core. [any but rt]
ProcessMemory process_memory(void);

/// As process_memory(), of another process. [any but rt]
ProcessMemory process_memory_of(pid_t id);

/// How much own_bytes has grown since `before`; 0 if it has not. [any but rt]
uint64_t process_memory_growth(const ProcessMemory* before);

#endif
