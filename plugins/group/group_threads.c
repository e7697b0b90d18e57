// SPDX-License-Identifier: GPL-3.0-or-later
// The threads of the process of a group: one that the worker wakes, and its helpers.

#include "group_threads.h"

#include "group_message.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_HELPERS 3U
// Work of a visit for which one more thread is worth its wake, of about 5 us.
#define HELPED_NS (200U * NS_PER_US)

/// A place for a unit.
typedef struct Place {
  pthread_mutex_t lock;  ///< Held while a thread runs the unit, or a call uses it
  atomic_bool is_called; ///< A thread has come since the last run began
  void (*run)(void* unit);
  void* unit;
} Place;

static struct {
  Place places[GROUP_SLOTS];
  _Atomic uint32_t n_places; ///< Those from here on were never used
  uint32_t n_used;
  Ring* bell;
  int priority;
  sem_t work; ///< For helpers
  _Atomic uint32_t n_helpers;
  _Atomic uint64_t busy_ns; ///< Of all threads, since the last visit began
} threads;

// ---- the threads ----

/// Run the unit of a place.  If another thread has the place, that one runs it again.
static void
visit(Place* const place)
{
  atomic_store(&place->is_called, true);
  while (atomic_load(&place->is_called) && !pthread_mutex_trylock(&place->lock)) {
    atomic_store(&place->is_called, false);
    if (place->run) {
      place->run(place->unit);
    }
    pthread_mutex_unlock(&place->lock);
  }
}

static void
visit_all(void)
{
  const uint64_t began_ns = time_now_ns();
  const uint32_t n_places = atomic_load(&threads.n_places);
  for (uint32_t p = 0; p < n_places; ++p) {
    visit(&threads.places[p]);
  }
  atomic_fetch_add_explicit(&threads.busy_ns, time_now_ns() - began_ns, memory_order_relaxed);
}

/// Wake as many helpers as the work of the last visit was worth.
static void
wake_helpers(void)
{
  const uint64_t n_worth =
      atomic_exchange_explicit(&threads.busy_ns, 0U, memory_order_relaxed) / HELPED_NS;
  const uint32_t n_helpers = atomic_load(&threads.n_helpers);
  const int n_wanted = (int)(n_worth < n_helpers ? n_worth : n_helpers);
  int n_called = 0; // helpers that have not come yet
  sem_getvalue(&threads.work, &n_called);
  for (; n_called < n_wanted; ++n_called) {
    sem_post(&threads.work);
  }
}

static void
prepare_thread(void)
{
  rt_flush_denormals();
  if (threads.priority) {
    (void)rt_become_realtime(threads.priority, NULL); // the worker may have it, and so may this
  }
}

static void*
help(void* const unused)
{
  (void)unused;
  prepare_thread();
  for (;;) {
    if (!sem_wait(&threads.work)) {
      visit_all();
    }
  }
  return NULL;
}

static void*
lead(void* const unused)
{
  (void)unused;
  prepare_thread();
  for (;;) {
    uint64_t no_block = 0;
    (void)ring_wait_take(threads.bell, 0U, UINT64_MAX, &no_block);
    wake_helpers();
    visit_all();
  }
  return NULL;
}

// ---- set-up ----

Status
group_threads_start(Ring* const bell, const int priority, Error* const error)
{
  pthread_t thread;
  threads.bell = bell;
  threads.priority = priority;
  sem_init(&threads.work, 0, 0U);
  for (uint32_t p = 0; p < GROUP_SLOTS; ++p) {
    pthread_mutex_init(&threads.places[p].lock, NULL);
  }
  return rt_thread_start("warprack-unit", lead, NULL, &thread, error);
}

/// Start another helper if there are units and cores for it.  Without one, the other threads do its
/// work.
static void
add_helper(void)
{
  pthread_t thread;
  const uint32_t n_helpers = atomic_load(&threads.n_helpers);
  const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (n_helpers < MAX_HELPERS && n_helpers + 1U < threads.n_used && n_helpers + 1L < n_cores &&
      !rt_thread_start("warprack-unit", help, NULL, &thread, NULL)) {
    atomic_store(&threads.n_helpers, n_helpers + 1U);
  }
}

void
group_threads_set(const uint32_t place, void (*const run)(void* unit), void* const unit)
{
  Place* const here = &threads.places[place];
  pthread_mutex_lock(&here->lock);
  threads.n_used += (run != NULL) - (here->run != NULL);
  here->run = run;
  here->unit = unit;
  pthread_mutex_unlock(&here->lock);
  if (place >= atomic_load(&threads.n_places)) {
    atomic_store(&threads.n_places, place + 1U);
  }
  add_helper();
}

void
group_threads_lock(const uint32_t place)
{
  pthread_mutex_lock(&threads.places[place].lock);
}

void
group_threads_unlock(const uint32_t place)
{
  pthread_mutex_unlock(&threads.places[place].lock);
  ring_wake(threads.bell); // threads that came meanwhile have left the place out
}
