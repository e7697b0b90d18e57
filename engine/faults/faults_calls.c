// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Faults of the operating system.  The linker redirects this program's calls of allocators and
   clocks to this file (`--wrap`).  Calls on files are defined here under their own names, so that
   calls from libraries also come here.
*/

#include "engine/base/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void* __real_malloc(size_t n_bytes);
void* __real_calloc(size_t n, size_t n_bytes);
void* __real_realloc(void* memory, size_t n_bytes);
void* __real_aligned_alloc(size_t alignment, size_t n_bytes);
int __real_clock_gettime(clockid_t clock, struct timespec* now);
void* __wrap_malloc(size_t n_bytes);
void* __wrap_calloc(size_t n, size_t n_bytes);
void* __wrap_realloc(void* memory, size_t n_bytes);
void* __wrap_aligned_alloc(size_t alignment, size_t n_bytes);
char* __wrap_strdup(const char* text);
char* __wrap_strndup(const char* text, size_t n_bytes);
int __wrap_clock_gettime(clockid_t clock, struct timespec* now);

// ---- memory ----

static bool
no_memory(void)
{
  const bool none = fault_is_due(FAULT_ALLOC_FAIL);
  if (none) {
    errno = ENOMEM;
  }
  return none;
}

void*
__wrap_malloc(const size_t n_bytes)
{
  return no_memory() ? NULL : __real_malloc(n_bytes);
}

void*
__wrap_calloc(const size_t n, const size_t n_bytes)
{
  return no_memory() ? NULL : __real_calloc(n, n_bytes);
}

void*
__wrap_realloc(void* const memory, const size_t n_bytes)
{
  return no_memory() ? NULL : __real_realloc(memory, n_bytes);
}

void*
__wrap_aligned_alloc(const size_t alignment, const size_t n_bytes)
{
  return no_memory() ? NULL : __real_aligned_alloc(alignment, n_bytes);
}

static char*
copy_text(const char* const text, const size_t length)
{
  char* const copy = __wrap_malloc(length + 1U);
  if (copy) {
    memcpy(copy, text, length);
    copy[length] = '\0';
  }
  return copy;
}

char*
__wrap_strdup(const char* const text)
{
  return copy_text(text, strlen(text));
}

char*
__wrap_strndup(const char* const text, const size_t n_bytes)
{
  return copy_text(text, strnlen(text, n_bytes));
}

// ---- the clock ----

int
__wrap_clock_gettime(const clockid_t clock, struct timespec* const now)
{
  const int result = __real_clock_gettime(clock, now);
  if (clock == CLOCK_REALTIME && fault_is_due(FAULT_CLOCK_JUMP)) {
    now->tv_sec += (time_t)fault_value(FAULT_CLOCK_JUMP);
  }
  return result;
}

// ---- files ----

/// Returns true if a fault is due for a call on this descriptor.  Only regular files have faults.
static bool
fails_on_file(const FaultId fault, const int fd)
{
  struct stat facts;
  const int before = errno;
  const bool is_file = !fstat(fd, &facts) && S_ISREG(facts.st_mode);
  errno = before;
  return is_file && fault_is_due(fault);
}

static ssize_t
fail(const int reason)
{
  errno = reason;
  return -1;
}

ssize_t
read(const int fd, void* const to, const size_t n_bytes)
{
  if (fails_on_file(FAULT_FS_EIO, fd)) {
    return fail(EIO);
  }
  const bool is_short = n_bytes > 1U && fails_on_file(FAULT_FS_SHORT, fd);
  return syscall(SYS_read, fd, to, is_short ? 1U : n_bytes);
}

ssize_t
write(const int fd, const void* const from, const size_t n_bytes)
{
  return fails_on_file(FAULT_FS_FULL, fd) ? fail(ENOSPC) : syscall(SYS_write, fd, from, n_bytes);
}

int
fsync(const int fd)
{
  return fails_on_file(FAULT_FS_FULL, fd) ? (int)fail(ENOSPC) : (int)syscall(SYS_fsync, fd);
}
