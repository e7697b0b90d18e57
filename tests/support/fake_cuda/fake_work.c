// SPDX-License-Identifier: GPL-3.0-or-later
// The fake driver's operations: their dependencies, and running them in an order that these allow.

#include "fake_private.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_WORKS 8192U
#define MAX_DEPS  16U

#define MANY_QUERIES 100U

/// The operations that one operation waits for.
typedef struct Deps {
  uint32_t n;
  uint32_t index[MAX_DEPS];
} Deps;

// The last operations, in a ring: number n is in place n % MAX_WORKS.  Older ones are done.
static FakeWork works[MAX_WORKS];
static Deps deps[MAX_WORKS];
static uint32_t n_works; ///< Since the reset
static bool is_held;
static uint32_t n_unready; ///< Queries in a row of a stream that was not ready
static bool is_late;       ///< Kernels that wait for the host give up

void
fake_give_up(const char* const reason)
{
  fprintf(stderr, "fake CUDA driver: %s\n", reason);
  abort();
}

// Operations and dependencies

/// Number of the oldest operation in the ring.
static uint32_t
oldest(void)
{
  return n_works > MAX_WORKS ? n_works - MAX_WORKS : 0U;
}

FakeWork*
fake_work(const uint32_t index)
{
  if (index < oldest() || index >= n_works) {
    fake_give_up("no such operation any more");
  }
  return &works[index % MAX_WORKS];
}

bool
fake_is_done(const uint32_t index)
{
  return index < oldest() || fake_work(index)->op.is_done;
}

void
fake_add_dep(const uint32_t index, const uint32_t before)
{
  Deps* const known = &deps[index % MAX_WORKS];
  if (before == FAKE_NOTHING || before < oldest()) {
    return;
  }
  if (known->n == MAX_DEPS) {
    fake_give_up("too many dependencies");
  }
  known->index[known->n++] = before;
}

uint32_t
fake_add_work(const FakeWork* const work)
{
  const uint32_t place = n_works % MAX_WORKS;
  if (n_works >= MAX_WORKS && !works[place].op.is_done) {
    fake_give_up("too many operations at once");
  }
  works[place] = *work;
  deps[place].n = 0;
  return n_works++;
}

// Running

static void
point_to_params(FakeWork* const work, void* params[const FAKE_MAX_PARAMS])
{
  for (uint32_t p = 0; p < FAKE_MAX_PARAMS; ++p) {
    params[p] = &work->params[p];
  }
}

/// Whether a kernel does not wait for the host any more.
static bool
is_ready(FakeWork* const work)
{
  void* params[FAKE_MAX_PARAMS];
  point_to_params(work, params);
  return is_late || !work->function || !work->function->is_ready ||
         work->function->is_ready(params);
}

static void
run_kernel(FakeWork* const work)
{
  if (work->function->failure) {
    fake_stick(work->function->failure);
    return;
  }
  void* params[FAKE_MAX_PARAMS];
  point_to_params(work, params);
  work->function->function(params, work->n_groups, work->group_size);
}

static void
run_copy(const FakeWork* const work)
{
  if (!fake_is_device_range(work->d_memory, work->n_bytes)) {
    fake_stick(CUDA_ERROR_ILLEGAL_ADDRESS);
    return;
  }
  switch (work->op.kind) {
  case FAKE_COPY_IN:
    memcpy(fake_host(work->d_memory), work->h_memory, work->n_bytes);
    break;
  case FAKE_COPY_OUT:
    memcpy(work->h_memory, fake_host(work->d_memory), work->n_bytes);
    break;
  default:
    memset(fake_host(work->d_memory), work->fill, work->n_bytes);
    break;
  }
}

void
fake_finish(const uint32_t index)
{
  if (fake_is_done(index) || fake_is_lost()) {
    return;
  }
  FakeWork* const work = fake_work(index);
  const Deps* const before = &deps[index % MAX_WORKS];
  for (uint32_t d = 0; d < before->n; ++d) {
    fake_finish(before->index[d]);
  }
  bool may_run = !fake_is_lost() && is_ready(work); // lost: one of the dependencies failed
  for (uint32_t d = 0; d < before->n; ++d) {
    may_run = may_run && fake_is_done(before->index[d]);
  }
  if (!may_run) {
    return;
  }
  work->op.is_done = true;
  switch (work->op.kind) {
  case FAKE_KERNEL:
    run_kernel(work);
    break;
  case FAKE_COPY_IN:
  case FAKE_COPY_OUT:
  case FAKE_FILL:
    run_copy(work);
    break;
  default:
    break;
  }
}

void
fake_finish_in_time(const uint32_t index)
{
  is_late = true;
  fake_finish(index);
  is_late = false;
}

void
fake_enqueued(const uint32_t index)
{
  if (!is_held) {
    fake_finish(index);
  }
}

void
fake_ask(const uint32_t index)
{
  fake_enqueued(index);
  n_unready = fake_is_done(index) ? 0U : n_unready + 1U;
  if (n_unready == MANY_QUERIES && !is_held) {
    n_unready = 0;
    fake_finish_in_time(index);
  }
}

void
fake_hold(const bool hold)
{
  is_held = hold;
}

void
fake_run(const uint32_t index)
{
  FAKE_LOCK();
  fake_finish(index);
}

void
fake_run_all(void)
{
  FAKE_LOCK();
  for (uint32_t w = oldest(); w < n_works; ++w) {
    fake_finish(w);
  }
}

void
fake_let_time_pass(void)
{
  FAKE_LOCK();
  for (uint32_t w = oldest(); w < n_works; ++w) {
    fake_finish_in_time(w);
  }
}

void
fake_work_reset(void)
{
  if (fake_n_live()) {
    fake_give_up("reset before all objects were freed");
  }
  n_works = 0;
  fake_streams_reset();
  is_held = false;
}

// Queries

const FakeOp*
fake_op(const uint32_t index)
{
  return &fake_work(index)->op;
}

uint32_t
fake_n_ops(void)
{
  return n_works;
}

uint32_t
fake_find(const uint32_t launch, const FakeKind kind, const char* const kernel, uint32_t nth)
{
  for (uint32_t w = oldest(); w < n_works; ++w) {
    const FakeOp* const op = fake_op(w);
    if (op->launch == launch && op->kind == kind &&
        (!kernel || (op->kernel && !strcmp(op->kernel, kernel))) && nth-- == 0U) {
      return w;
    }
  }
  return FAKE_NOTHING;
}

bool
fake_waits(const uint32_t later, const uint32_t sooner)
{
  const Deps* const known = &deps[later % MAX_WORKS];
  for (uint32_t d = 0; d < known->n; ++d) {
    const uint32_t before = known->index[d];
    if (before == sooner || (before > sooner && fake_waits(before, sooner))) {
      return true;
    }
  }
  return false;
}
