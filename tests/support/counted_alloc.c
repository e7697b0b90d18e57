// SPDX-License-Identifier: GPL-3.0-or-later
// With the linker's option --wrap, the code under test calls these functions to allocate.

#include "counted_alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
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

static atomic_long now;
static atomic_long peak;

static void*
count(void* const memory)
{
  const long sum =
      atomic_fetch_add(&now, (long)malloc_usable_size(memory)) + (long)malloc_usable_size(memory);
  if (sum > atomic_load(&peak)) {
    atomic_store(&peak, sum);
  }
  return memory;
}

static void
discount(void* const memory)
{
  atomic_fetch_sub(&now, (long)malloc_usable_size(memory));
}

void*
__wrap_malloc(const size_t n_bytes)
{
  return count(__real_malloc(n_bytes));
}

void*
__wrap_calloc(const size_t n, const size_t n_bytes)
{
  return count(__real_calloc(n, n_bytes));
}

void*
__wrap_realloc(void* const memory, const size_t n_bytes)
{
  discount(memory);
  return count(__real_realloc(memory, n_bytes));
}

void*
__wrap_aligned_alloc(const size_t alignment, const size_t n_bytes)
{
  return count(__real_aligned_alloc(alignment, n_bytes));
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
// NOLINTEND(bugprone-reserved-identifier)

void
counted_alloc_begin(void)
{
  atomic_store(&now, 0);
  atomic_store(&peak, 0);
}

long
counted_alloc_now(void)
{
  return atomic_load(&now);
}

long
counted_alloc_peak(void)
{
  return atomic_load(&peak);
}
