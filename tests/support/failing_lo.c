// SPDX-License-Identifier: GPL-3.0-or-later
// Makes the n-th call of liblo fail.

#include "failing_lo.h"

#include <lo/lo.h>
#include <stdatomic.h>
#include <stddef.h>

#define NEVER INT64_MAX

static _Atomic int64_t n_left = NEVER;
static _Atomic bool has_failed;

void
failing_lo_arm(const uint32_t n_good)
{
  has_failed = false;
  n_left = n_good;
}

bool
failing_lo_has_failed(void)
{
  return has_failed;
}

bool
failing_lo_disarm(void)
{
  n_left = NEVER;
  return has_failed;
}

static bool
fails_now(void)
{
  const bool fails = atomic_fetch_sub(&n_left, 1) == 0;
  has_failed = has_failed || fails;
  return fails;
}

/// In front of a function of liblo; `values` are the names of `parameters`, both in parentheses.
#define FAILING(type, name, parameters, values, failure)                                           \
  type __real_##name parameters;                                                                   \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters                                                                    \
  {                                                                                                \
    return fails_now() ? (failure) : __real_##name values;                                         \
  }

// clang-format off
FAILING(lo_message, lo_message_new, (void), (), NULL)
FAILING(int, lo_message_add_double, (lo_message to, double value), (to, value), -1)
FAILING(int, lo_message_add_false, (lo_message to), (to), -1)
FAILING(int, lo_message_add_float, (lo_message to, float value), (to, value), -1)
FAILING(int, lo_message_add_int32, (lo_message to, int32_t value), (to, value), -1)
FAILING(int, lo_message_add_int64, (lo_message to, int64_t value), (to, value), -1)
FAILING(int, lo_message_add_string, (lo_message to, const char* value), (to, value), -1)
FAILING(int, lo_message_add_true, (lo_message to), (to), -1)
FAILING(lo_message, lo_message_deserialise, (void* from, size_t n_bytes, int* result), (from, n_bytes, result), NULL)
FAILING(void*, lo_message_serialise, (lo_message from, const char* address, void* to, size_t* n_bytes), (from, address, to, n_bytes), NULL)
FAILING(lo_bundle, lo_bundle_new, (lo_timetag at), (at), NULL)
FAILING(int, lo_bundle_add_message, (lo_bundle to, const char* address, lo_message message), (to, address, message), -1)
FAILING(void*, lo_bundle_serialise, (lo_bundle from, void* to, size_t* n_bytes), (from, to, n_bytes), NULL)
// clang-format on
