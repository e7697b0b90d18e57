// SPDX-License-Identifier: GPL-3.0-or-later

#include "fake_checks.h"

#include "engine/base/macros.h"

#include <check.h>
#include <string.h>

uint32_t
fake_must_find(const uint32_t launch, const FakeKind kind, const char* const kernel)
{
  const uint32_t index = fake_find(launch, kind, kernel, 0);
  ck_assert_msg(index != UINT32_MAX, "launch %u has no operation of kind %d, %s", launch, (int)kind,
                kernel ? kernel : "any");
  return index;
}

void
fake_assert_transfers(const uint32_t first_launch, const uint32_t n_copies)
{
  const void* streams[FAKE_END + 1] = { NULL }; // stream of each kind of operation
  uint32_t n = 0;
  for (uint32_t o = 0; o < fake_n_ops(); ++o) {
    const FakeOp* const op = fake_op(o);
    const bool is_copy = op->kind == FAKE_COPY_IN || op->kind == FAKE_COPY_OUT;
    const bool is_kernel = op->kind == FAKE_KERNEL && strcmp(op->kernel, "warprack_done") != 0;
    ck_assert(!is_copy || op->is_pinned); // also those of the builder
    if (op->launch >= first_launch && (is_copy || is_kernel)) {
      ck_assert_ptr_nonnull(op->cu_stream);
      streams[op->kind] = streams[op->kind] ? streams[op->kind] : op->cu_stream;
      ck_assert_ptr_eq(op->cu_stream, streams[op->kind]);
      n += is_copy;
    }
  }
  ck_assert_uint_eq(n, n_copies);
  ck_assert_ptr_ne(streams[FAKE_COPY_IN], streams[FAKE_KERNEL]);
  ck_assert_ptr_ne(streams[FAKE_COPY_OUT], streams[FAKE_KERNEL]);
  ck_assert_ptr_ne(streams[FAKE_COPY_OUT], streams[FAKE_COPY_IN]);
}

uint32_t
fake_assert_chain(const uint32_t launch, const char* const* const kernels, const uint32_t n_kernels)
{
  uint32_t n = 0;
  uint32_t first = UINT32_MAX;
  for (uint32_t o = 0; o < fake_n_ops(); ++o) {
    const FakeOp* const op = fake_op(o);
    if (op->launch != launch || op->kind == FAKE_END) {
      continue;
    }
    ck_assert_msg(op->kind == FAKE_KERNEL, "operation %u of the graph is of kind %d", n,
                  (int)op->kind);
    ck_assert_uint_lt(n, n_kernels);
    ck_assert_str_eq(op->kernel, kernels[n]);
    first = n ? first : o;
    ck_assert_ptr_eq(op->cu_stream, fake_op(first)->cu_stream);
    ck_assert_msg(!n || fake_waits(o, o - 1U), "%s does not wait for the kernel before",
                  op->kernel);
    ++n;
  }
  ck_assert_uint_eq(n, n_kernels);
  return first;
}

void
fake_assert_launches(const uint32_t n_launches)
{
  static const char* const allowed[] = { "cuGraphLaunch", "cuStreamQuery", "cuCtxSetCurrent" };
  uint32_t n_calls = 0;
  const FakeCall* const calls = fake_calls(&n_calls);
  for (uint32_t c = 0; c < n_calls; ++c) {
    bool is_allowed = false;
    for (uint32_t a = 0; a < ARRAY_LEN(allowed); ++a) {
      is_allowed = is_allowed || !strcmp(calls[c].name, allowed[a]);
    }
    ck_assert_msg(is_allowed, "%s was called while blocks arrive", calls[c].name);
  }
  ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), n_launches);
}

static uint32_t*
word_at(void* const param)
{
  return fake_host(*(const CUdeviceptr*)param);
}

static void
done(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  ck_assert_uint_eq(n_groups * group_size, 1);
  __atomic_store_n(word_at(params[0]), 1U, __ATOMIC_RELEASE);
}

static bool
is_called(void* const* const params)
{
  return __atomic_load_n(word_at(params[0]), __ATOMIC_ACQUIRE) != 0U;
}

static void
await(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  ck_assert_uint_eq(n_groups * group_size, 1);
  *word_at(params[1]) = __atomic_load_n(word_at(params[0]), __ATOMIC_ACQUIRE) != 1U;
}

static void
ended(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  ck_assert_uint_eq(n_groups * group_size, 1);
  const uint32_t was_void = *word_at(params[0]);
  *word_at(params[0]) = 0U;
  __atomic_store_n(word_at(params[1]), was_void ? 2U : 1U, __ATOMIC_RELEASE);
}

void
fake_teach_ends(void)
{
  fake_teach("warprack_await", "ppu", await);
  fake_teach_wait("warprack_await", is_called);
  fake_teach("warprack_done", "p", done);
  fake_teach("warprack_ended", "pp", ended);
}
