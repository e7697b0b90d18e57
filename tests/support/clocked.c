// SPDX-License-Identifier: GPL-3.0-or-later
// An audio driver that plays in real time.

#include "clocked.h"

#include "scoped.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD_NS ((long)(1e9 * CLOCKED_BLOCK / CLOCKED_RATE_HZ))
#define SKIPPED   4U // blocks at the start, while the pipeline fills

struct Clocked {
  Engine* engine;
  pthread_t thread;
  atomic_bool stops, waits;
  _Atomic float level;
  _Atomic uint64_t n_blocks;
  pthread_mutex_t lock;
  ClockedFaults faults;
  float last;
};

static void
note_block(Clocked* const clocked, const float* const out)
{
  SCOPED_LOCK(&clocked->lock);
  ClockedFaults* const faults = &clocked->faults;
  for (uint32_t i = 0; i < CLOCKED_BLOCK; ++i) {
    faults->smallest = fminf(faults->smallest, out[i]);
    faults->largest = fmaxf(faults->largest, out[i]);
    faults->largest_step = fmaxf(faults->largest_step, fabsf(out[i] - clocked->last));
    clocked->last = out[i];
  }
}

static void
play_block(Clocked* const clocked)
{
  float in[CLOCKED_BLOCK];
  float out[CLOCKED_BLOCK];
  const float* const ins[] = { in };
  float* const outs[] = { out };
  for (uint32_t i = 0; i < CLOCKED_BLOCK; ++i) {
    in[i] = CLOCKED_INPUT;
  }
  engine_process(clocked->engine, ins, outs, CLOCKED_BLOCK, clocked->waits);
  if (clocked->n_blocks == SKIPPED) {
    clocked->last = out[0];
  }
  if (clocked->n_blocks >= SKIPPED) {
    note_block(clocked, out);
  }
  clocked->level = out[CLOCKED_BLOCK - 1U];
  ++clocked->n_blocks;
}

/// Play one block per period.  A late block delays all later ones; none is skipped or hurried.
static void*
play(void* const context)
{
  Clocked* const clocked = context;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  while (!clocked->stops) {
    play_block(clocked);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const bool is_late = now.tv_sec > next.tv_sec || now.tv_nsec > next.tv_nsec + PERIOD_NS;
    next = is_late ? now : next;
    next.tv_nsec += PERIOD_NS;
    next.tv_sec += next.tv_nsec / 1000000000L;
    next.tv_nsec %= 1000000000L;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
  return NULL;
}

Clocked*
clocked_start(Engine* const engine)
{
  Clocked* const clocked = calloc(1, sizeof(Clocked));
  clocked->engine = engine;
  clocked->faults = (ClockedFaults){ INFINITY, -INFINITY, 0.0F };
  pthread_mutex_init(&clocked->lock, NULL);
  ck_assert_int_eq(pthread_create(&clocked->thread, NULL, play, clocked), 0);
  return clocked;
}

void
clocked_stop(Clocked* const clocked)
{
  clocked->stops = true;
  pthread_join(clocked->thread, NULL);
  pthread_mutex_destroy(&clocked->lock);
  free(clocked);
}

void
clocked_wait(Clocked* const clocked)
{
  clocked->waits = true;
}

float
clocked_level(const Clocked* const clocked)
{
  return clocked->level;
}

uint64_t
clocked_blocks(const Clocked* const clocked)
{
  return clocked->n_blocks;
}

ClockedFaults
clocked_faults(Clocked* const clocked)
{
  SCOPED_LOCK(&clocked->lock);
  const ClockedFaults faults = clocked->faults;
  clocked->faults = (ClockedFaults){ INFINITY, -INFINITY, 0.0F };
  return faults;
}
