// SPDX-License-Identifier: GPL-3.0-or-later
/// How much memory racks may take, and how amounts of memory are written.
#ifndef WARPRACK_ENGINE_BASE_MEMORY_H
#define WARPRACK_ENGINE_BASE_MEMORY_H

#include <stddef.h>

/**
   Memory that this process may use: the least of the machine's, of the limits of its control
   group and of all groups above (memory.max and memory.high, version 1's memory.limit_in_bytes),
   and of its resource limits (RLIMIT_AS, RLIMIT_DATA).

   @param root Where /proc and /sys are found: "", but for tests.
*/
size_t memory_available(const char* root); // [main]

/// The part of it that racks may take without `--memory`: half.  The rest is for the
/// program, its drivers and the file cache. [main]
size_t memory_share(void);

#define MEMORY_TEXT_BYTES 32U

/// "446 MiB"; returns `text`. [any]
const char* memory_text(size_t n_bytes, char text[static MEMORY_TEXT_BYTES]);

#endif
