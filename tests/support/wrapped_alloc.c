// SPDX-License-Identifier: GPL-3.0-or-later
// With the linker's option --wrap, the code under test calls these functions to allocate.

#include "wrapped_alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>

#define NEVER INT64_MAX

void* __real_malloc(size_t n_bytes);
void* __real_calloc(size_t n, size_t n_bytes);
void* __real_realloc(void* memory, size_t n_bytes);
void* __real_aligned_alloc(size_t alignment, size_t n_bytes);
void __real_free(void* memory);

void* __wrap_malloc(size_t n_bytes);
void* __wrap_calloc(size_t n, size_t n_bytes);
void* __wrap_realloc(void* memory, size_t n_bytes);
void* __wrap_aligned_alloc(size_t alignment, size_t n_bytes);
char* __wrap_strdup(const char* text);
void __wrap_free(void* memory);

static _Atomic int64_t n_left = NEVER;
static atomic_bool has_failed;
static atomic_long now;
static atomic_long peak;

void
failing_alloc_arm(const uint32_t n_good)
{
  has_failed = false;
  n_left = n_good;
}

bool
failing_alloc_disarm(void)
{
  n_left = NEVER;
  return has_failed;
}

static bool
fails_now(void)
{
  const bool fails = atomic_fetch_sub(&n_left, 1) == 0;
  if (fails) {
    has_failed = true;
  }
  return fails;
}

void
counted_alloc_begin(void)
{
  now = 0;
  peak = 0;
}

long
counted_alloc_now(void)
{
  return now;
}

long
counted_alloc_peak(void)
{
  return peak;
}

static void*
count(void* const memory)
{
  const long n_bytes = (long)malloc_usable_size(memory);
  const long sum = atomic_fetch_add(&now, n_bytes) + n_bytes;
  if (sum > peak) {
    peak = sum;
  }
  return memory;
}

static void
discount(void* const memory)
{
  now -= (long)malloc_usable_size(memory);
}

void*
__wrap_malloc(const size_t n_bytes)
{
  return fails_now() ? NULL : count(__real_malloc(n_bytes));
}

void*
__wrap_calloc(const size_t n, const size_t n_bytes)
{
  return fails_now() ? NULL : count(__real_calloc(n, n_bytes));
}

void*
__wrap_realloc(void* const memory, const size_t n_bytes)
{
  if (fails_now()) {
    return NULL;
  }
  discount(memory);
  return count(__real_realloc(memory, n_bytes));
}

void*
__wrap_aligned_alloc(const size_t alignment, const size_t n_bytes)
{
  return fails_now() ? NULL : count(__real_aligned_alloc(alignment, n_bytes));
}

char*
__wrap_strdup(const char* const text)
{
  const size_t n_bytes = strlen(text) + 1U;
  char* const copy = __wrap_malloc(n_bytes);
  return copy ? memcpy(copy, text, n_bytes) : NULL;
}

void
__wrap_free(void* const memory)
{
  discount(memory);
  __real_free(memory);
}
