// SPDX-License-Identifier: GPL-3.0-or-later
/// The memory that racks may use, and texts for amounts of memory.
#ifndef WARPRACK_ENGINE_BASE_MEMORY_H
#define WARPRACK_ENGINE_BASE_MEMORY_H

#include <stddef.h>

/**
   Memory that this process may use: the smallest of the machine's memory, the limits of its control
   group and all groups above (memory.max and memory.high, version 1's memory.limit_in_bytes), and
   its resource limits (RLIMIT_AS, RLIMIT_DATA).

   @param root Folder of /proc and /sys: "", except in tests.
*/
size_t memory_available(const char* root); // [main]

/// The share of memory_available() that racks may use without `--memory`: half.  The rest is for
/// the program, its drivers and the file cache. [main]
size_t memory_share(void);

#define MEMORY_TEXT_BYTES 32U

/// For example "446 MiB"; returns `text`. [any]
const char* memory_text(size_t n_bytes, char text[static MEMORY_TEXT_BYTES]);

#endif
