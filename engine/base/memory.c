// SPDX-License-Identifier: GPL-3.0-or-later
// The limits of this process's memory.
//
// Sources: cgroups(7), "Control Group v2" and "Memory Resource Controller" of the Linux kernel's
// documentation; getrlimit(2).

#include "memory.h"

#include "status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATH_BYTES 4096U

static size_t
least(const size_t a, const uint64_t b)
{
  return b < a ? (size_t)b : a;
}

/// The number in a file; UINT64_MAX for "max" or if the file has no number.
static uint64_t
read_limit(const char* const folder, const char* const name)
{
  char path[PATH_BYTES + 64U];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE* const file = fopen(path, "re");
  unsigned long long number = 0;
  const bool has_number = file && fscanf(file, "%llu", &number) == 1;
  if (file) {
    fclose(file);
  }
  return has_number ? number : UINT64_MAX;
}

/// The smallest limit of a control group and its ancestors; `group` is the group's path below the
/// root of the hierarchy.
static size_t
group_limit(const char* const hierarchy, const char* const group)
{
  static const char* const names[] = { "memory.max", "memory.high", "memory.limit_in_bytes" };
  char folder[PATH_BYTES];
  const size_t root_length = strlen(hierarchy);
  size_t limit = SIZE_MAX;
  if ((size_t)snprintf(folder, sizeof(folder), "%s%s", hierarchy, group) >= sizeof(folder)) {
    return limit;
  }
  for (;;) {
    for (uint32_t n = 0; n < ARRAY_LEN(names); ++n) {
      limit = least(limit, read_limit(folder, names[n]));
    }
    char* const slash = strrchr(folder + root_length, '/');
    if (!slash) {
      return limit;
    }
    *slash = '\0';
  }
}

/// True if `word` is in a comma-separated list.
static bool
has_word(const char* list, const char* const word)
{
  const size_t length = strlen(word);
  for (;; list += strcspn(list, ",") + 1U) {
    if (strcspn(list, ",") == length && !strncmp(list, word, length)) {
      return true;
    }
    if (!strchr(list, ',')) {
      return false;
    }
  }
}

/// The limit for a line "number:controllers:/group" of /proc/self/cgroup; version 2 has no
/// controllers there.
static size_t
line_limit(const char* const root, char* const line)
{
  char* const controllers = strchr(line, ':');
  char* const group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!group) {
    return SIZE_MAX;
  }
  *group = '\0';
  char hierarchy[PATH_BYTES];
  const bool is_second = !controllers[1];
  snprintf(hierarchy, sizeof(hierarchy), "%s/sys/fs/cgroup%s", root, is_second ? "" : "/memory");
  return is_second || has_word(controllers + 1, "memory") ? group_limit(hierarchy, group + 1)
                                                          : SIZE_MAX;
}

static size_t
cgroup_limit(const char* const root)
{
  char line[PATH_BYTES];
  snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
  FILE* const file = fopen(line, "re");
  size_t limit = SIZE_MAX;
  while (file && fgets(line, sizeof(line), file)) {
    line[strcspn(line, "\n")] = '\0';
    limit = least(limit, line_limit(root, line));
  }
  if (file) {
    fclose(file);
  }
  return limit;
}

size_t
memory_available(const char* const root)
{
  static const int resources[] = { RLIMIT_AS, RLIMIT_DATA };
  const long n_pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  size_t n_bytes = n_pages > 0 && page_bytes > 0 ? (size_t)n_pages * (size_t)page_bytes : SIZE_MAX;
  for (uint32_t r = 0; r < ARRAY_LEN(resources); ++r) {
    struct rlimit limit;
    if (!getrlimit(resources[r], &limit) && limit.rlim_cur != RLIM_INFINITY) {
      n_bytes = least(n_bytes, limit.rlim_cur);
    }
  }
  return least(n_bytes, cgroup_limit(root));
}

size_t
memory_share(void)
{
  return memory_available("") / 2U;
}

const char*
memory_text(const size_t n_bytes, char text[static MEMORY_TEXT_BYTES])
{
  static const char* const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  double number = (double)n_bytes;
  uint32_t unit = 0;
  while (number >= 1024.0 && unit + 1U < ARRAY_LEN(units)) {
    number /= 1024.0;
    ++unit;
  }
  snprintf(text, MEMORY_TEXT_BYTES, number < 10.0 && unit ? "%.1f %s" : "%.0f %s", number,
           units[unit]);
  return text;
}
