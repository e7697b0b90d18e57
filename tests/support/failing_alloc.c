// SPDX-License-Identifier: GPL-3.0-or-later
// Makes the n-th allocation fail.

#include "failing_alloc.h"

#include <stddef.h>
#include <string.h>

static bool is_armed;
static bool has_failed;
static uint32_t n_left;

void* __real_malloc(size_t n_bytes);
void* __real_calloc(size_t n, size_t n_bytes);
void* __real_realloc(void* memory, size_t n_bytes);
void* __real_aligned_alloc(size_t alignment, size_t n_bytes);
void* __wrap_malloc(size_t n_bytes);
void* __wrap_calloc(size_t n, size_t n_bytes);
void* __wrap_realloc(void* memory, size_t n_bytes);
void* __wrap_aligned_alloc(size_t alignment, size_t n_bytes);
char* __wrap_strdup(const char* text);

void
failing_alloc_arm(const uint32_t n_good)
{
  is_armed = true;
  has_failed = false;
  n_left = n_good;
}

bool
failing_alloc_disarm(void)
{
  is_armed = false;
  return has_failed;
}

static bool
fails_now(void)
{
  const bool fails = is_armed && !has_failed && n_left == 0U;
  n_left -= is_armed && n_left > 0U;
  has_failed = has_failed || fails;
  return fails;
}

void*
__wrap_malloc(const size_t n_bytes)
{
  return fails_now() ? NULL : __real_malloc(n_bytes);
}

void*
__wrap_calloc(const size_t n, const size_t n_bytes)
{
  return fails_now() ? NULL : __real_calloc(n, n_bytes);
}

void*
__wrap_realloc(void* const memory, const size_t n_bytes)
{
  return fails_now() ? NULL : __real_realloc(memory, n_bytes);
}

void*
__wrap_aligned_alloc(const size_t alignment, const size_t n_bytes)
{
  return fails_now() ? NULL : __real_aligned_alloc(alignment, n_bytes);
}

char*
__wrap_strdup(const char* const text)
{
  char* const copy = __wrap_malloc(strlen(text) + 1U);
  return copy ? strcpy(copy, text) : NULL;
}
