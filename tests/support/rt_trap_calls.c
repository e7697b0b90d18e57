// SPDX-License-Identifier: GPL-3.0-or-later
/*
   The interposed functions of the real-time trap.  A call in a section is counted.  It is then
   carried out with the trap suspended, so that calls which the library makes for it do not count.
*/

#include "rt_trap_net.h"

#include "engine/base/status.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)

/// In a section, count the call and suspend the trap.  Returns the argument for trap_resume().
static uint32_t
hit(const Call call, const void* const address)
{
  const uint32_t depth = trap_suspend();
  if (depth) {
    trap_note(call, address, -1);
  }
  return depth;
}

typedef void (*Function)(void);

static _Atomic Function reals[N_CALLS];

/// The library's function, which ours replaces.
static Function
real(const Call call)
{
  Function function = reals[call];
  if (!function) {
    // For a symbol with two versions, dlsym() may find the older one.
    void* found = dlvsym(RTLD_NEXT, trap_call_names[call], "GLIBC_2.3.2");
    if (!found) {
      found = dlsym(RTLD_NEXT, trap_call_names[call]);
    }
    if (!found) {
      abort();
    }
    memcpy(&function, &found, sizeof(function)); // POSIX allows what ISO C does not: dlsym(3)
    reals[call] = function;
  }
  return function;
}

#define DEFINE_COUNTED(type, name, parameters, call)                                               \
  type name parameters                                                                             \
  {                                                                                                \
    const uint32_t depth = hit(CALL_##name, CALLER);                                               \
    type result = call;                                                                            \
    trap_resume(depth);                                                                            \
    return result;                                                                                 \
  }

#define DEFINE_FORWARDED(type, name, parameters, arguments)                                        \
  DEFINE_COUNTED(type, name, parameters, ((type(*) parameters)real(CALL_##name))arguments)

FORWARDED(DEFINE_FORWARDED)

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
void* memalign(size_t alignment, size_t n_bytes);

// clang-format off
DEFINE_COUNTED(void*, malloc, (size_t n_bytes), __libc_malloc(n_bytes))
DEFINE_COUNTED(void*, calloc, (size_t n, size_t n_bytes), __libc_calloc(n, n_bytes))
DEFINE_COUNTED(void*, realloc, (void* memory, size_t n_bytes), __libc_realloc(memory, n_bytes))
DEFINE_COUNTED(void*, aligned_alloc, (size_t alignment, size_t n_bytes), __libc_memalign(alignment, n_bytes))
DEFINE_COUNTED(void*, memalign, (size_t alignment, size_t n_bytes), __libc_memalign(alignment, n_bytes))
// clang-format on

void
free(void* const memory)
{
  const uint32_t depth = hit(CALL_free, CALLER);
  __libc_free(memory);
  trap_resume(depth);
}

int
open(const char* const path, const int flags, ...)
{
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const uint32_t depth = hit(CALL_open, CALLER);
  int (*const next)(const char*, int, ...) = (int (*)(const char*, int, ...))real(CALL_open);
  const int result = next(path, flags, mode);
  trap_resume(depth);
  return result;
}

int
openat(const int folder, const char* const path, const int flags, ...)
{
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const uint32_t depth = hit(CALL_openat, CALLER);
  int (*const next)(int, const char*, int, ...) =
      (int (*)(int, const char*, int, ...))real(CALL_openat);
  const int result = next(folder, path, flags, mode);
  trap_resume(depth);
  return result;
}

/// `call` has the variable arguments after `format` as `arguments`.
#define DEFINE_PRINTING(name, parameters, call)                                                    \
  int name parameters                                                                              \
  {                                                                                                \
    const uint32_t depth = hit(CALL_##name, CALLER);                                               \
    va_list arguments;                                                                             \
    va_start(arguments, format);                                                                   \
    const int result = call;                                                                       \
    va_end(arguments);                                                                             \
    trap_resume(depth);                                                                            \
    return result;                                                                                 \
  }

// clang-format off
DEFINE_PRINTING(printf, (const char* format, ...), vprintf(format, arguments))
DEFINE_PRINTING(fprintf, (FILE* to, const char* format, ...), vfprintf(to, format, arguments))
DEFINE_PRINTING(snprintf, (char* to, size_t n_bytes, const char* format, ...), vsnprintf(to, n_bytes, format, arguments))
// clang-format on

/// Always passes six arguments: the kernel ignores those that the call does not have.
long
syscall(const long number, ...)
{
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (size_t i = 0; i < ARRAY_LEN(a); ++i) {
    a[i] = va_arg(arguments, long);
  }
  va_end(arguments);
  const uint32_t depth = trap_suspend();
  if (depth && !trap_count_futex(number, a[1])) {
    trap_note(CALL_syscall, CALLER, number);
  }
  long (*const next)(long, ...) = (long (*)(long, ...))real(CALL_syscall);
  const long result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  trap_resume(depth);
  return result;
}
