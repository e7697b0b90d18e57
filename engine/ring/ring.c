// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Blocks and messages through the ring.

   The classic bounded single-producer single-consumer queue (Lamport, "Specifying Concurrent
   Program Modules", ACM TOPLAS 5(2), 1983) with counters that never wrap: 64 bits last for
   millennia of blocks.  ring.h explains how each side sleeps.
*/

#include "ring.h"

#include "ring_private.h"

#include "engine/base/faults_worker.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"

// A wait for the other side spins this long before it sleeps: a few times the cost of a futex wake.
#define PRODUCER_SPIN_NS 20000U
#define PAUSES_PER_CHECK 16U // between two readings of the clock
// The longest sleep of the producer.  ring_abandon() therefore need not wake the producer, and a
// faulty consumer that overwrites the bell delays it by at most this time.
#define PRODUCER_NAP_NS (2U * NS_PER_MS)

// ---- sleeping and waking ----

static void
bell_ring(RingBell* const bell)
{
  atomic_fetch_add(&bell->rung, 1U);
  rt_futex_wake_one(&bell->rung);
}

/// Call this after publishing the counter with sequential consistency.
static void
bell_ring_if_asleep(RingBell* const bell)
{
  if (atomic_load(&bell->asleep)) {
    bell_ring(bell);
  }
}

void
ring_count_fault(Ring* const ring)
{
  atomic_fetch_add_explicit(&ring->faults, 1U, memory_order_relaxed);
}

/// Nanoseconds left of a timeout that began at `began`; 0 after its end, UINT64_MAX for no limit.
static uint64_t
time_left(const uint64_t began, const uint64_t timeout_ns)
{
  if (timeout_ns == UINT64_MAX) {
    return UINT64_MAX;
  }
  const uint64_t passed = time_now_ns() - began;
  return passed < timeout_ns ? timeout_ns - passed : 0;
}

/// Spin until ready(ring, sequence), for at most `spin_ns`; 0: do not even check.
static bool
spin_until(Ring* const ring, bool (*const ready)(Ring*, uint64_t), const uint64_t sequence,
           const uint64_t spin_ns)
{
  if (!spin_ns) {
    return false;
  }
  const uint64_t began = time_now_ns();
  do {
    for (uint32_t i = 0; i < PAUSES_PER_CHECK; ++i) {
      if (ready(ring, sequence)) {
        return true;
      }
      rt_pause();
    }
  } while (time_left(began, spin_ns));
  return false;
}

static uint64_t
shorter(const uint64_t a_ns, const uint64_t b_ns)
{
  return a_ns < b_ns ? a_ns : b_ns;
}

/// Sleep on `bell`, for at most `nap_ns` at a time, until ready(ring, sequence) or the timeout.
static bool
sleep_until(Ring* const ring, RingBell* const bell, bool (*const ready)(Ring*, uint64_t),
            const uint64_t sequence, const uint64_t nap_ns, const uint64_t timeout_ns)
{
  const uint64_t began = time_now_ns();
  bool is_ready = false;
  uint64_t left = timeout_ns;
  while (!is_ready && left) {
    const uint32_t rung = atomic_load(&bell->rung);
    atomic_fetch_add(&bell->asleep, 1U);
    is_ready = ready(ring, sequence);
    if (!is_ready) {
      rt_futex_wait(&bell->rung, rung, shorter(left, nap_ns));
    }
    atomic_fetch_sub_explicit(&bell->asleep, 1U, memory_order_relaxed);
    is_ready = is_ready || ready(ring, sequence);
    left = time_left(began, timeout_ns);
  }
  return is_ready;
}

// ---- producer ----

/// The consumer's counter if its value is valid, else the last valid value.
static uint64_t
finished_checked(Ring* const ring)
{
  const uint64_t finished = atomic_load(&ring->header->finished);
  if (finished < ring->finished_seen || finished > ring->submitted) {
    ring_count_fault(ring);
  } else {
    ring->finished_seen = finished;
  }
  return ring->finished_seen;
}

bool
ring_is_abandoned(const Ring* const ring)
{
  return atomic_load_explicit(&ring->is_abandoned, memory_order_relaxed);
}

bool
ring_can_submit(Ring* const ring)
{
  return !ring_is_abandoned(ring) && ring->submitted - finished_checked(ring) < ring->shape.n_slots;
}

uint64_t
ring_next(const Ring* const ring)
{
  return ring->submitted;
}

void
ring_submit(Ring* const ring)
{
  ++ring->submitted;
  atomic_store(&ring->header->submitted, ring->submitted);
  bell_ring_if_asleep(&ring->header->consumer);
}

bool
ring_is_finished(Ring* const ring, const uint64_t sequence)
{
  return !ring_is_abandoned(ring) &&
         (sequence < ring->finished_seen || sequence < finished_checked(ring));
}

static bool
wait_is_over(Ring* const ring, const uint64_t sequence)
{
  return ring_is_abandoned(ring) || ring_is_finished(ring, sequence);
}

bool
ring_wait_finished(Ring* const ring, const uint64_t sequence, const uint64_t timeout_ns)
{
  const uint64_t began = time_now_ns();
  if (!spin_until(ring, wait_is_over, sequence, shorter(timeout_ns, PRODUCER_SPIN_NS))) {
    sleep_until(ring, &ring->header->producer, wait_is_over, sequence, PRODUCER_NAP_NS,
                time_left(began, timeout_ns));
  }
  return ring_is_finished(ring, sequence);
}

RingResult
ring_result(Ring* const ring, const uint64_t sequence)
{
  const uint64_t result =
      atomic_load_explicit(&ring_slot_at(ring, sequence)->result, memory_order_relaxed);
  if ((result & ~RING_FAILED) != sequence + 1U) {
    ring_count_fault(ring);
    return RING_WRONG;
  }
  return result & RING_FAILED ? RING_NO_SOUND : RING_SOUND;
}

void
ring_abandon(Ring* const ring)
{
  atomic_store_explicit(&ring->is_abandoned, true, memory_order_relaxed);
}

uint64_t
ring_faults(const Ring* const ring)
{
  return atomic_load_explicit(&ring->faults, memory_order_relaxed);
}

// ---- consumer ----

bool
ring_take(Ring* const ring, const uint32_t ahead, uint64_t* const sequence)
{
  const uint64_t in_flight = atomic_load(&ring->header->submitted) - ring->finished;
  if (in_flight > ring->shape.n_slots) {
    ring_count_fault(ring);
    return false;
  }
  *sequence = ring->finished + ahead;
  return in_flight > ahead;
}

/// True if an unfinished block is in the ring or ring_wake() was called.
static bool
consumer_is_called(Ring* const ring, const uint64_t unused)
{
  (void)unused;
  uint64_t sequence = 0;
  const uint32_t seen = atomic_load_explicit(&ring->wakes_seen, memory_order_relaxed);
  return ring_take(ring, 0U, &sequence) || atomic_load(&ring->header->wakes) != seen;
}

bool
ring_wait_take(Ring* const ring, const uint64_t spin_ns, const uint64_t timeout_ns,
               uint64_t* const sequence)
{
  const uint64_t began = time_now_ns();
  if (!spin_until(ring, consumer_is_called, 0, shorter(spin_ns, timeout_ns))) {
    sleep_until(ring, &ring->header->consumer, consumer_is_called, 0, UINT64_MAX,
                time_left(began, timeout_ns));
  }
  const uint32_t wakes = atomic_load(&ring->header->wakes);
  const bool woken = wakes != atomic_load_explicit(&ring->wakes_seen, memory_order_relaxed);
  atomic_store_explicit(&ring->wakes_seen, wakes, memory_order_relaxed);
  return !woken && ring_take(ring, 0U, sequence);
}

/// Return the oldest block and its result to the producer.
static void
give_back(Ring* const ring, const uint64_t failed)
{
  RingSlot* const slot = ring_slot_at(ring, ring->finished++);
  atomic_store_explicit(&slot->result, worker_faults_result(ring->finished | failed),
                        memory_order_relaxed);
  atomic_store(&ring->header->finished, ring->finished);
  bell_ring_if_asleep(&ring->header->producer);
}

void
ring_finish(Ring* const ring)
{
  give_back(ring, 0);
}

void
ring_fail(Ring* const ring)
{
  give_back(ring, RING_FAILED);
}

uint64_t
ring_n_submitted(const Ring* const ring)
{
  return atomic_load_explicit(&ring->header->submitted, memory_order_relaxed);
}

uint64_t
ring_n_finished(const Ring* const ring)
{
  return atomic_load_explicit(&ring->header->finished, memory_order_relaxed);
}

/// True, for one thread, if ring_wake() was called since it was true last.
static bool
take_wakes(Ring* const ring, const uint64_t unused)
{
  (void)unused;
  // Acquire: `wakes` is read after it, and is no older than what another thread has seen.
  uint32_t seen = atomic_load_explicit(&ring->wakes_seen, memory_order_acquire);
  uint32_t wakes = atomic_load(&ring->header->wakes);
  while (wakes != seen) {
    if (atomic_compare_exchange_strong(&ring->wakes_seen, &seen, wakes)) {
      return true;
    }
    wakes = atomic_load(&ring->header->wakes); // the other thread may have seen fewer
  }
  return false;
}

void
ring_wait_wake(Ring* const ring)
{
  (void)sleep_until(ring, &ring->header->consumer, take_wakes, 0, UINT64_MAX, UINT64_MAX);
}

void
ring_wake(Ring* const ring)
{
  atomic_fetch_add(&ring->header->wakes, 1U);
  bell_ring_if_asleep(&ring->header->consumer);
}

// ---- parameter messages ----

static ParamMessage*
message_at(const Ring* const ring, const uint64_t index)
{
  ParamMessage* const messages =
      (ParamMessage*)((char*)ring->header + ring->layout.messages_offset);
  return &messages[index & (ring->shape.n_messages - 1U)];
}

bool
ring_send(Ring* const ring, const ParamMessage* const messages, const uint32_t n)
{
  const uint64_t received = atomic_load_explicit(&ring->header->received, memory_order_acquire);
  const uint64_t waiting = ring->sent - received;
  if (waiting > ring->shape.n_messages) {
    ring_count_fault(ring);
    return false;
  }
  if (n > ring->shape.n_messages - waiting) {
    return false;
  }
  for (uint32_t i = 0; i < n; ++i) {
    *message_at(ring, ring->sent + i) = messages[i];
  }
  ring->sent += n;
  atomic_store_explicit(&ring->header->sent, ring->sent, memory_order_release);
  return true;
}

uint32_t
ring_n_waiting(const Ring* const ring)
{
  const uint64_t waiting =
      ring->sent - atomic_load_explicit(&ring->header->received, memory_order_relaxed);
  return waiting < ring->shape.n_messages ? (uint32_t)waiting : ring->shape.n_messages;
}

bool
ring_receive(Ring* const ring, ParamMessage* const message)
{
  const uint64_t sent = atomic_load_explicit(&ring->header->sent, memory_order_acquire);
  const uint64_t waiting = sent - ring->received;
  if (waiting == 0 || waiting > ring->shape.n_messages) {
    if (waiting) {
      ring_count_fault(ring);
    }
    return false;
  }
  worker_faults_step();
  *message = *message_at(ring, ring->received);
  atomic_store_explicit(&ring->header->received, ++ring->received, memory_order_release);
  return true;
}
