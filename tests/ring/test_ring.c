// SPDX-License-Identifier: GPL-3.0-or-later
// The ring carries every block once, in order and whole, between threads and between processes;
// no wake-up is lost; an invalid region or counter is refused.

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/ring/ring_private.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static const RingShape small_shape = { 2, 3, 10, 4, 8, 0 };

static Ring*
new_ring(const RingShape* const shape)
{
  Ring* ring = NULL;
  OK(ring_new(shape, &ring, &error));
  return ring;
}

static void
sleep_ns(const long ns)
{
  const struct timespec pause = { 0, ns };
  nanosleep(&pause, NULL);
}

// ---- the region ----

TEST(a_shape_out_of_range_is_refused)
{
  const RingShape wrong[] = {
    { 1025, 1, 64, 4, 8, 0 }, { 1, 1025, 64, 4, 8, 0 }, { 1, 1, 0, 4, 8, 0 },
    { 1, 1, 8193, 4, 8, 0 },  { 1, 1, 64, 2, 8, 0 },    { 1, 1, 64, 5, 8, 0 },
    { 1, 1, 64, 0, 8, 0 },    { 1, 1, 64, 128, 8, 0 },  { 1, 1, 64, 4, 0, 0 },
    { 1, 1, 64, 4, 12, 0 },   { 1, 1, 64, 4, 8, 1025 },
  };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    Ring* ring = NULL;
    Error error = { STATUS_OK, "" };
    ck_assert(ring_new(&wrong[w], &ring, &error) == STATUS_BAD_ARG);
    ck_assert(!ring && error.text[0]);
  }
}

TEST(rows_are_aligned_and_do_not_overlap)
{
  static const RingShape shapes[] = { { 2, 3, 10, 4, 8, 0 },
                                      { 0, 1, 1, 4, 1, 3 },
                                      { 5, 0, 17, 8, 2, 1024 } };
  for (uint32_t s = 0; s < ARRAY_LEN(shapes); ++s) {
    const RingShape shape = shapes[s];
    SCOPED_RING Ring* const ring = new_ring(&shape);
    const uint32_t n_rows = shape.n_in + shape.n_out;
    const ParamMessage message = { .frame = 1, .uid = 2, .param = 3, .value = 4.0 };
    while (ring_send(ring, &message, 1)) {
    }
    for (int pass = 0; pass < 2; ++pass) { // write different values, then check all
      for (uint32_t slot = 0; slot < shape.n_slots; ++slot) {
        SlotHeader* const header = ring_slot(ring, slot);
        if (pass == 0) {
          *header = (SlotHeader){ slot, slot, slot, slot };
        }
        ck_assert(header->frame == slot && header->n_frames == slot && header->flags == slot);
        ck_assert_uint_eq(header->n_midi, slot);
        for (uint32_t e = 0; e < shape.n_midi; ++e) {
          MidiEvent* const event = &ring_midi(ring, slot)[e];
          if (pass == 0) {
            event->frame = slot * shape.n_midi + e;
          }
          ck_assert_uint_eq(event->frame, slot * shape.n_midi + e);
        }
        for (uint32_t r = 0; r < n_rows; ++r) {
          float* const row =
              r < shape.n_in ? ring_input(ring, slot, r) : ring_output(ring, slot, r - shape.n_in);
          ck_assert_uint_eq((uintptr_t)row % 64U, 0);
          for (uint32_t i = 0; i < shape.block_frames; ++i) {
            const float value = (float)((slot * n_rows + r) * shape.block_frames + i);
            if (pass == 0) {
              row[i] = value;
            }
            ck_assert(row[i] == value);
          }
        }
      }
    }
    ParamMessage received;
    while (ring_receive(ring, &received)) {
      ck_assert(memcmp(&received, &message, sizeof(message)) == 0);
    }
  }
}

/// Write to every page, and return the number of page faults.  A sanitizer would write to pages of
/// its own, and an assertion of Check allocates.
__attribute__((no_sanitize("address", "thread"))) static long
count_faults(char* const memory, const size_t n_bytes)
{
  struct rusage before = { .ru_minflt = 0 };
  struct rusage after = { .ru_minflt = 0 };
  getrusage(RUSAGE_THREAD, &before);
  for (size_t i = 0; i < n_bytes; i += 1024U) {
    *(volatile char*)&memory[i] = 1;
  }
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(all_pages_of_a_view_are_present)
{
  static const RingShape shape = { 8, 8, 1024, 4, 4096, 0 };
  SCOPED_RING Ring* const server = new_ring(&shape);
  Ring* worker = NULL;
  if (!rt_lock_memory(NULL)) { // not every user may
    OK(rt_lock_on_fault(&error));
  }
  OK(ring_attach(ring_fd(server), &worker, &error));
  size_t n_bytes = 0;
  char* const memory = ring_memory(worker, &n_bytes);
  ck_assert_int_lt(count_faults(memory, n_bytes), 3);
  ring_free(worker);
}

TEST(another_view_sees_the_same_blocks)
{
  Ring* const server = new_ring(&small_shape);
  ring_input(server, 0, 1)[9] = 0.5F;
  ring_submit(server);
  Ring* worker = NULL;
  ck_assert(ring_attach(ring_fd(server), &worker, NULL) == STATUS_OK);
  ck_assert(memcmp(ring_shape(worker), &small_shape, sizeof(small_shape)) == 0);
  size_t server_bytes = 0;
  size_t worker_bytes = 0;
  ck_assert_ptr_ne(ring_memory(server, &server_bytes), ring_memory(worker, &worker_bytes));
  ck_assert_uint_eq(server_bytes, worker_bytes);

  uint64_t sequence = 99;
  ck_assert(ring_take(worker, 0U, &sequence));
  ck_assert_uint_eq(sequence, 0);
  ck_assert(ring_input(worker, 0, 1)[9] == 0.5F);
  ring_output(worker, 0, 2)[9] = 0.25F;
  ck_assert(!ring_is_finished(server, 0));
  ring_finish(worker);
  ck_assert(ring_is_finished(server, 0));
  ck_assert(ring_output(server, 0, 2)[9] == 0.25F);

  ring_free(server);
  ring_output(worker, 0, 2)[9] = 0.125F; // the region exists until its last view is freed
  ring_free(worker);
  ring_free(NULL);
}

TEST(a_new_view_goes_on_where_the_last_one_stopped)
{
  SCOPED_RING Ring* const server = new_ring(&small_shape);
  uint64_t sequence = 0;
  for (uint32_t k = 0; k < 10U; ++k) { // also after the slots are reused
    Ring* worker = NULL;
    ring_submit(server);
    ck_assert(ring_attach(ring_fd(server), &worker, NULL) == STATUS_OK);
    ck_assert(ring_take(worker, 0U, &sequence));
    ck_assert_uint_eq(sequence, k);
    ring_finish(worker);
    ring_free(worker);
  }
}

/// Try to take the pages of a region away.
static bool
punch(const Ring* const ring)
{
  size_t n_bytes = 0;
  void* const memory = ring_memory(ring, &n_bytes);
  const bool has_hole =
      !fallocate(ring_fd(ring), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)n_bytes);
  return !madvise(memory, n_bytes, MADV_REMOVE) || has_hole;
}

TEST(a_sealed_region_gets_no_holes_and_carries_blocks)
{
  SCOPED_RING Ring* const server = new_ring(&small_shape);
  SCOPED_RING Ring* worker = NULL;
  uint64_t sequence = 0;
  OK(ring_attach(ring_fd(server), &worker, &error));
  ck_assert(ring_seal(server));
  ck_assert(!punch(worker));
  ring_input(server, 0U, 1U)[9] = 0.5F;
  ring_submit(server);
  ck_assert(ring_take(worker, 0U, &sequence));
  ck_assert_float_eq(ring_input(worker, 0U, 1U)[9], 0.5F);
  ring_finish(worker);
  ck_assert(ring_is_finished(server, 0U));
}

TEST(holes_of_before_are_filled_when_a_region_is_sealed)
{
  const RingShape shape = { 64, 64, 256, 8, 8, 0 };
  SCOPED_RING Ring* const server = new_ring(&shape);
  struct rusage before;
  struct rusage after;
  ck_assert(punch(server));
  ck_assert(ring_seal(server));
  getrusage(RUSAGE_THREAD, &before);
  for (uint32_t c = 0; c < shape.n_in; ++c) {
    memset(ring_input(server, 0U, c), 1, shape.block_frames * sizeof(float));
  }
  getrusage(RUSAGE_THREAD, &after);
  ck_assert_int_lt(after.ru_minflt - before.ru_minflt, 3); // of 16 pages
}

TEST(a_seal_that_the_other_side_prevents_is_noticed)
{
  SCOPED_RING Ring* const server = new_ring(&small_shape);
  ck_assert_int_eq(fcntl(ring_fd(server), F_ADD_SEALS, F_SEAL_SEAL), 0);
  ck_assert(!ring_seal(server));
  SCOPED_RING Ring* const other = new_ring(&small_shape);
  ck_assert_int_eq(fcntl(ring_fd(other), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
  ck_assert(ring_seal(other)); // by itself
}

/// Create a sealed memory file with these bytes.
static int
forge(const void* const bytes, const size_t n_bytes, const int seals)
{
  const int fd = memfd_create("warprack-forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, bytes, n_bytes), (ssize_t)n_bytes);
  ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

static Status
try_attach(const void* const bytes, const size_t n_bytes, const int seals)
{
  SCOPED_FD const int fd = forge(bytes, n_bytes, seals);
  SCOPED_RING Ring* ring = NULL;
  Error error = { STATUS_OK, "" };
  const Status status = ring_attach(fd, &ring, &error);
  ck_assert((status == STATUS_OK) == (ring != NULL));
  ck_assert((status == STATUS_OK) == (error.text[0] == 0));
  return status;
}

TEST(a_forged_region_is_refused_field_by_field)
{
  SCOPED_RING Ring* const ring = new_ring(&small_shape);
  size_t n_bytes = 0;
  const void* const memory = ring_memory(ring, &n_bytes);
  uint32_t* const copy = malloc(n_bytes);
  memcpy(copy, memory, n_bytes);
  ck_assert(try_attach(copy, n_bytes, SEALS) == STATUS_OK);
  // The words of a new region that are not 0 describe it; both sides must agree on them.
  uint32_t n_fields = 0;
  for (size_t w = 0; w < n_bytes / sizeof(uint32_t); ++w) {
    if (copy[w]) {
      ++n_fields;
      const uint32_t right = copy[w];
      const uint32_t wrong[] = { 0, right * 2U, right ^ 0x80000000U, UINT32_MAX };
      for (uint32_t v = 0; v < ARRAY_LEN(wrong); ++v) {
        copy[w] = wrong[v];
        ck_assert_msg(wrong[v] == right || try_attach(copy, n_bytes, SEALS) == STATUS_BAD_ARG,
                      "word %zu: %u is accepted instead of %u", w, wrong[v], right);
      }
      copy[w] = right;
    }
  }
  ck_assert_uint_ge(n_fields, 2U + 1U + 5U + 5U); // magic, version, shape, layout
  ck_assert(try_attach(copy, n_bytes, 0) == STATUS_BAD_ARG);
  ck_assert(try_attach(copy, n_bytes, F_SEAL_GROW | F_SEAL_SEAL) == STATUS_BAD_ARG);
  ck_assert(try_attach(copy, n_bytes - 1U, SEALS) == STATUS_BAD_ARG);
  ck_assert(try_attach(copy, 16, SEALS) == STATUS_BAD_ARG);
  free(copy);

  Ring* other = NULL;
  ck_assert(ring_attach(STDERR_FILENO, &other, NULL) == STATUS_BAD_ARG);
  ck_assert(ring_attach(-1, &other, NULL) == STATUS_BAD_ARG);
}

/// Index of the 64-bit word of the region that differs from `before`.
static size_t
changed_word(const Ring* const ring, const uint64_t* const before)
{
  size_t n_bytes = 0;
  const uint64_t* const words = ring_memory(ring, &n_bytes);
  for (size_t w = 0; w < n_bytes / sizeof(uint64_t); ++w) {
    if (words[w] != before[w]) {
      return w;
    }
  }
  ck_abort_msg("no word of the region has changed");
  return 0;
}

TEST(counters_out_of_range_are_faults_and_are_refused_on_attach)
{
  SCOPED_RING Ring* const ring = new_ring(&small_shape);
  size_t n_bytes = 0;
  uint64_t* const words = ring_memory(ring, &n_bytes);
  SCOPED_MEMORY uint64_t* const before = malloc(n_bytes);
  memcpy(before, words, n_bytes);
  ring_submit(ring);
  const size_t submitted = changed_word(ring, before);
  memcpy(before, words, n_bytes);
  ring_finish(ring);
  const size_t finished = changed_word(ring, before);
  ck_assert(ring_is_finished(ring, 0));
  ck_assert_uint_eq(ring_faults(ring), 0);

  words[finished] = 2; // more blocks than were submitted
  ck_assert(!ring_is_finished(ring, 1));
  ck_assert_uint_eq(ring_faults(ring), 1);
  words[finished] = 0; // the count decreases
  ck_assert(ring_can_submit(ring));
  ck_assert_uint_eq(ring_faults(ring), 2);
  words[finished] = 1;

  uint64_t sequence = 99;
  words[submitted] = 1 + small_shape.n_slots + 1U; // more blocks than the ring has slots
  ck_assert(!ring_take(ring, 0U, &sequence));
  ck_assert_uint_eq(sequence, 99);
  words[submitted] = 0; // fewer blocks than are finished
  ck_assert(!ring_take(ring, 0U, &sequence));
  ck_assert_uint_eq(ring_faults(ring), 4);
  SCOPED_RING Ring* other = NULL;
  ck_assert(ring_attach(ring_fd(ring), &other, NULL) == STATUS_BAD_ARG);
  words[submitted] = 1;
  ck_assert(ring_attach(ring_fd(ring), &other, NULL) == STATUS_OK);
}

TEST(a_block_returns_with_its_sequence_number)
{
  SCOPED_RING Ring* const ring = new_ring(&small_shape);
  for (uint64_t s = 0; s < 3U * small_shape.n_slots; ++s) {
    ck_assert_uint_eq(ring_n_submitted(ring), s);
    ring_submit(ring);
    ck_assert(ring_result(ring, s) == RING_WRONG); // the earlier block's result in this slot
    if (s % 3U) {
      ring_finish(ring);
    } else {
      ring_fail(ring);
    }
    ck_assert(ring_result(ring, s) == (s % 3U ? RING_SOUND : RING_NO_SOUND));
    ck_assert_uint_eq(ring_faults(ring), s + 1U);
  }
}

TEST(an_abandoned_ring_accepts_finishes_and_awaits_no_block)
{
  SCOPED_RING Ring* const ring = new_ring(&small_shape);
  ring_submit(ring);
  ring_submit(ring);
  ring_finish(ring);
  ck_assert(ring_is_finished(ring, 0) && ring_can_submit(ring));
  ring_abandon(ring);
  ck_assert(!ring_is_finished(ring, 0));
  ck_assert(!ring_can_submit(ring));
  ck_assert(!ring_wait_finished(ring, 0, UINT64_MAX));
  ck_assert(!ring_wait_finished(ring, 1, UINT64_MAX));
  ring_finish(ring);
  ck_assert(!ring_is_finished(ring, 1));
  ck_assert_uint_eq(ring_faults(ring), 0);
}

// ---- blocks ----

TEST(blocks_come_in_order_until_the_ring_is_full)
{
  SCOPED_RING Ring* const ring = new_ring(&small_shape);
  uint64_t sequence = 99;
  for (uint64_t round = 0; round < 5U; ++round) {
    ck_assert(!ring_take(ring, 0U, &sequence));
    for (uint64_t k = 0; k < small_shape.n_slots; ++k) {
      ck_assert(ring_can_submit(ring));
      ck_assert_uint_eq(ring_next(ring), round * small_shape.n_slots + k);
      ring_submit(ring);
    }
    ck_assert(!ring_can_submit(ring));
    for (uint64_t k = 0; k < small_shape.n_slots; ++k) {
      ck_assert(ring_take(ring, 0U, &sequence));
      ck_assert(ring_take(ring, 0U, &sequence)); // the same block until it is finished
      ck_assert_uint_eq(sequence, round * small_shape.n_slots + k);
      uint64_t next = 0; // looking ahead does not take a block
      ck_assert(ring_take(ring, 1U, &next) == (k + 1U < small_shape.n_slots));
      ck_assert_uint_eq(next, sequence + 1U);
      ck_assert(!ring_is_finished(ring, sequence));
      ring_finish(ring);
      ck_assert(ring_is_finished(ring, sequence));
      ck_assert(ring_can_submit(ring));
    }
  }
}

#define STRESS_BLOCKS 200000U
#define BEHIND        2U // the producer reads the output of two blocks ago
static const RingShape stress_shape = { 2, 2, 16, 4, 64, 0 };

/// Test value of frame i of channel c in block s.
static float
pattern(const uint64_t s, const uint32_t c, const uint32_t i)
{
  return (float)((s * 31U + c * 7U + i) & 0xFFFFFU);
}

/// The consumer: check the input and output its negative.  Returns the number of wrong samples.
static uint64_t
consume(Ring* const ring, const uint64_t n_blocks, const bool dawdle)
{
  const RingShape shape = *ring_shape(ring);
  uint64_t n_wrong = 0;
  uint64_t random = 1;
  for (uint64_t done = 0; done < n_blocks; ++done) {
    uint64_t s = 0;
    while (!ring_wait_take(ring, 0, UINT64_MAX, &s)) {
    }
    n_wrong += s != done || ring_slot(ring, s)->frame != s * shape.block_frames;
    for (uint32_t c = 0; c < shape.n_in; ++c) {
      const float* const in = ring_input(ring, s, c);
      float* const out = ring_output(ring, s, c);
      for (uint32_t i = 0; i < shape.block_frames; ++i) {
        n_wrong += in[i] != pattern(s, c, i);
        out[i] = -in[i];
      }
    }
    ring_finish(ring);
    if (dawdle && signal_random(&random) % 64U == 0) {
      sleep_ns(1000); // so that the producer sleeps too
    }
  }
  return n_wrong;
}

/// The producer.  Returns the number of wrong samples, which are counted because an assertion of
/// Check is a system call, too slow for every sample.
static uint64_t
produce(Ring* const ring, const uint64_t n_blocks, const bool dawdle)
{
  const RingShape shape = *ring_shape(ring);
  uint64_t n_wrong = 0;
  uint64_t random = 2;
  for (uint64_t k = 0; k < n_blocks; ++k) {
    if (!ring_can_submit(ring)) {
      n_wrong += !ring_wait_finished(ring, ring_next(ring) - shape.n_slots, UINT64_MAX);
    }
    const uint64_t s = ring_next(ring);
    for (uint32_t c = 0; c < shape.n_in; ++c) {
      float* const in = ring_input(ring, s, c);
      for (uint32_t i = 0; i < shape.block_frames; ++i) {
        in[i] = pattern(s, c, i);
      }
    }
    *ring_slot(ring, s) = (SlotHeader){ s * shape.block_frames, shape.block_frames, 0, 0 };
    ring_submit(ring);
    if (s >= BEHIND) {
      n_wrong += !ring_wait_finished(ring, s - BEHIND, UINT64_MAX);
      for (uint32_t c = 0; c < shape.n_out; ++c) {
        const float* const out = ring_output(ring, s - BEHIND, c);
        for (uint32_t i = 0; i < shape.block_frames; ++i) {
          n_wrong += out[i] != -pattern(s - BEHIND, c, i);
        }
      }
    }
    if (dawdle && signal_random(&random) % 64U == 0) {
      sleep_ns(1000); // so that the consumer falls asleep
    }
  }
  return n_wrong;
}

static void*
consumer_main(void* const ring)
{
  return (void*)(uintptr_t)consume(ring, STRESS_BLOCKS, true);
}

TEST(threads_exchange_every_block_whole_and_lose_no_wake_up)
{
  SCOPED_RING Ring* const ring = new_ring(&stress_shape);
  pthread_t thread;
  ck_assert(rt_thread_start("test-consumer", consumer_main, ring, &thread, NULL) == STATUS_OK);
  ck_assert_uint_eq(produce(ring, STRESS_BLOCKS, true), 0);
  void* n_wrong = NULL;
  pthread_join(thread, &n_wrong);
  ck_assert_ptr_null(n_wrong);
  ck_assert_uint_eq(ring_faults(ring), 0);
}

TEST(processes_exchange_blocks_through_the_file)
{
  SCOPED_RING Ring* const ring = new_ring(&stress_shape);
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    Ring* worker = NULL;
    const bool attached = ring_attach(ring_fd(ring), &worker, NULL) == STATUS_OK;
    _exit(attached && consume(worker, 20000, false) == 0 ? 0 : 1);
  }
  ck_assert_uint_eq(produce(ring, 20000, true), 0);
  int result = -1;
  ck_assert_int_eq(waitpid(child, &result, 0), child);
  ck_assert_int_eq(result, 0);
}

// ---- sleeping ----

TEST(waits_end_at_their_timeout)
{
  SCOPED_RING Ring* const ring = new_ring(&small_shape);
  uint64_t sequence = 0;
  uint64_t began = time_now_ns();
  ck_assert(!ring_wait_take(ring, 0, 3000000U, &sequence));
  ck_assert_uint_ge(time_now_ns() - began, 3000000U);
  ring_submit(ring);
  began = time_now_ns();
  ck_assert(!ring_wait_finished(ring, 0, 3000000U));
  ck_assert_uint_ge(time_now_ns() - began, 3000000U);
  ck_assert(!ring_wait_finished(ring, 0, 0));
  ring_finish(ring);
  ck_assert(ring_wait_finished(ring, 0, 0));
}

TEST(a_wake_ends_the_next_wait_once)
{
  SCOPED_RING Ring* const ring = new_ring(&small_shape);
  uint64_t sequence = 0;
  ring_wake(ring); // no thread sleeps yet
  ck_assert(!ring_wait_take(ring, 0, UINT64_MAX, &sequence));
  ring_submit(ring);
  ck_assert(ring_wait_take(ring, 0, UINT64_MAX, &sequence));
}

typedef struct Sleeper {
  Ring* ring;
  _Atomic uint32_t n_woken;
} Sleeper;

#define N_WAKES 2000U

static void*
be_woken(void* const context)
{
  Sleeper* const sleeper = context;
  for (uint32_t k = 0; k < N_WAKES; ++k) {
    uint64_t sequence = 0;
    ck_assert(!ring_wait_take(sleeper->ring, 0, UINT64_MAX, &sequence));
    atomic_fetch_add(&sleeper->n_woken, 1U);
  }
  return NULL;
}

TEST(a_sleeping_consumer_is_woken_each_time)
{
  Sleeper sleeper = { .ring = new_ring(&small_shape) };
  pthread_t thread;
  ck_assert(rt_thread_start("test-sleeper", be_woken, &sleeper, &thread, NULL) == STATUS_OK);
  for (uint32_t k = 1; k <= N_WAKES; ++k) {
    ring_wake(sleeper.ring);
    while (atomic_load(&sleeper.n_woken) < k) {
      sleep_ns(1000);
    }
  }
  pthread_join(thread, NULL);
  ring_free(sleeper.ring);
}

#define N_SLEEPERS 3U

/// Sleepers of a ring, and what each has to see after a wake.
typedef struct Sleepers {
  Ring* ring;
  _Atomic uint32_t published; ///< Number of the last wake
  _Atomic uint32_t seen;      ///< The latest number that a thread has found after its wait
  atomic_bool stops;
  _Atomic uint32_t n_ended;
} Sleepers;

static void*
wait_for_wakes(void* const context)
{
  Sleepers* const sleepers = context;
  while (!atomic_load(&sleepers->stops)) {
    ring_wait_wake(sleepers->ring);
    const uint32_t published = atomic_load(&sleepers->published);
    uint32_t seen = atomic_load(&sleepers->seen);
    while (seen < published && !atomic_compare_exchange_weak(&sleepers->seen, &seen, published)) {
    }
  }
  atomic_fetch_add(&sleepers->n_ended, 1U);
  return NULL;
}

TEST(one_of_several_sleepers_sees_what_came_before_each_wake)
{
  Sleepers sleepers = { .ring = new_ring(&small_shape) };
  pthread_t threads[N_SLEEPERS];
  for (uint32_t t = 0; t < N_SLEEPERS; ++t) {
    OK(rt_thread_start("test-sleeper", wait_for_wakes, &sleepers, &threads[t], &error));
  }
  for (uint32_t k = 1; k <= N_WAKES; ++k) {
    atomic_store(&sleepers.published, k);
    ring_wake(sleepers.ring);
    if (k % 3U == 0) { // else the next wake comes while they wake up or go to sleep
      AWAIT(atomic_load(&sleepers.seen) == k);
    }
  }
  AWAIT(atomic_load(&sleepers.seen) == N_WAKES);
  atomic_store(&sleepers.stops, true);
  while (atomic_load(&sleepers.n_ended) < N_SLEEPERS) {
    ring_wake(sleepers.ring);
    sleep_ns(1000);
  }
  for (uint32_t t = 0; t < N_SLEEPERS; ++t) {
    pthread_join(threads[t], NULL);
  }
  ck_assert_uint_eq(sleepers.ring->header->consumer.asleep, 0);
  ring_free(sleepers.ring);
}

SUITE_MAIN("ring")
