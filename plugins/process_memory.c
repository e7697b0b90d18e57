// SPDX-License-Identifier: GPL-3.0-or-later

#include "process_memory.h"

#include <stdio.h>
#include <unistd.h>

static ProcessMemory
read_statm(const char* const path)
{
  unsigned long mapped = 0; // pages, see proc_pid_statm(5)
  unsigned long resident = 0;
  unsigned long shared = 0;
  FILE* const file = fopen(path, "re");
  if (file) {
    (void)!fscanf(file, "%lu %lu %lu", &mapped, &resident, &shared);
    fclose(file);
  }
  const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  return (ProcessMemory){ .mapped_bytes = mapped * page_bytes,
                          .own_bytes = resident > shared ? (resident - shared) * page_bytes : 0U };
}

ProcessMemory
process_memory(void)
{
  return read_statm("/proc/self/statm");
}

ProcessMemory
process_memory_of(const pid_t id)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/statm", (int)id);
  return read_statm(path);
}

uint64_t
process_memory_growth(const ProcessMemory* const before)
{
  const ProcessMemory now = process_memory();
  return now.own_bytes > before->own_bytes ? now.own_bytes - before->own_bytes : 0U;
}
