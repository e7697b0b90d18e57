// SPDX-License-Identifier: GPL-3.0-or-later
// The threads of the process of a group, which all sleep on its bell.

#include "group_threads.h"

#include "group_message.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

// While fewer units than this take long, the others are not delayed; else they wait for their turn.
#define MAX_THREADS 8U
// Work of a visit for which one more thread is worth its wake, of about 5 us.
#define HELPED_NS (200U * NS_PER_US)

/// A place for a unit.
typedef struct Place {
  pthread_mutex_t lock;  ///< Held while a thread runs the unit, or a call uses it
  atomic_bool is_called; ///< A thread has come since the last run began
  bool (*run)(void* unit);
  void* unit;
} Place;

static struct {
  Place places[GROUP_SLOTS];
  _Atomic uint32_t n_places; ///< Those from here on were never used
  uint32_t n_used;
  Ring* bell;
  int priority;
  uint32_t n_threads;
  _Atomic uint32_t n_helpers; ///< As many may help in a visit: there are threads and cores for them
  _Atomic uint32_t n_called;  ///< Helpers that have not come yet
  _Atomic uint64_t busy_ns;   ///< Of all threads, since the last visit began
} threads;

// ---- the threads ----

/// Run a block of the unit of a place.  If another thread has the place, that one runs it again.
/// Returns true if the unit has another block.
static bool
visit(Place* const place)
{
  bool has_more = false;
  atomic_store(&place->is_called, true);
  while (atomic_load(&place->is_called) && !pthread_mutex_trylock(&place->lock)) {
    atomic_store(&place->is_called, false);
    has_more = place->run && place->run(place->unit);
    pthread_mutex_unlock(&place->lock);
  }
  return has_more;
}

/// Returns true if a unit has another block.
static bool
visit_all(void)
{
  bool has_more = false;
  const uint64_t began_ns = time_now_ns();
  const uint32_t n_places = atomic_load(&threads.n_places);
  for (uint32_t p = 0; p < n_places; ++p) {
    has_more |= visit(&threads.places[p]);
  }
  atomic_fetch_add_explicit(&threads.busy_ns, time_now_ns() - began_ns, memory_order_relaxed);
  return has_more;
}

/// Call as many helpers as the work of the last visit was worth.
static void
call_helpers(void)
{
  const uint64_t n_worth =
      atomic_exchange_explicit(&threads.busy_ns, 0U, memory_order_relaxed) / HELPED_NS;
  const uint32_t n_helpers = atomic_load(&threads.n_helpers);
  atomic_store(&threads.n_called, n_worth < n_helpers ? (uint32_t)n_worth : n_helpers);
}

/// True if a helper was called: this thread is that one.
static bool
answer_call(void)
{
  uint32_t n = atomic_load(&threads.n_called);
  while (n && !atomic_compare_exchange_weak(&threads.n_called, &n, n - 1U)) {
  }
  return n > 0U;
}

/// One thread wakes at a ring of the bell, also if others are in units that take long.  Each helper
/// wakes the next one.
static void*
run_units(void* const unused)
{
  (void)unused;
  rt_flush_denormals();
  if (threads.priority) {
    (void)rt_become_realtime(threads.priority, NULL); // the worker may have it, and so may this
  }
  for (;;) {
    ring_wait_wake(threads.bell);
    if (!answer_call()) {
      call_helpers();
    }
    if (atomic_load(&threads.n_called)) {
      ring_wake(threads.bell);
    }
    while (visit_all()) {
    }
  }
  return NULL;
}

// ---- set-up ----

static Status
add_thread(Error* const error)
{
  pthread_t thread;
  const Status status = rt_thread_start("warprack-unit", run_units, NULL, &thread, error);
  if (!status) {
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    const bool helps = threads.n_threads && threads.n_threads < n_cores;
    atomic_fetch_add(&threads.n_helpers, helps);
    ++threads.n_threads;
  }
  return status;
}

Status
group_threads_start(Ring* const bell, const int priority, Error* const error)
{
  threads.bell = bell;
  threads.priority = priority;
  for (uint32_t p = 0; p < GROUP_SLOTS; ++p) {
    pthread_mutex_init(&threads.places[p].lock, NULL);
  }
  return add_thread(error);
}

void
group_threads_set(const uint32_t place, bool (*const run)(void* unit), void* const unit)
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
  if (threads.n_threads < threads.n_used && threads.n_threads < MAX_THREADS) {
    (void)add_thread(NULL); // without it, the others do its work
  }
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
