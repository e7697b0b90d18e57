// SPDX-License-Identifier: GPL-3.0-or-later
// The real-time trap counts each forbidden call in a section exactly once, allows the wake, and
// finds none in the callback, the worker's side of the ring and the pool.

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/callback/period.h"
#include "engine/contract/pool.h"
#include "tests/support/forbidden_calls.h"
#include "tests/support/rt_trap.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <linux/futex.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096U

static void
set_up(void)
{
  forbidden_calls_prepare();
  rt_section_enter(); // register the thread
  rt_section_leave();
  rt_trap_reset();
}

TEST(each_forbidden_call_is_counted_exactly_once_by_its_name)
{
  set_up();
  const ForbiddenCall* each = NULL;
  for (uint32_t f = 0; (each = forbidden_call(f)); ++f) {
    rt_trap_reset();
    rt_section_enter();
    each->call();
    rt_section_leave();
    const RtTrapCounts counts = rt_trap_counts();
    ck_assert_msg(rt_trap_calls(each->name) == 1U && counts.violations == 1U,
                  "%s: counted %llu times, %llu violations", each->name,
                  (unsigned long long)rt_trap_calls(each->name),
                  (unsigned long long)counts.violations);
    ck_assert_uint_eq(counts.sections, 1);
  }
}

static bool
has_control(const char* const detector)
{
  const ForbiddenCall* each = NULL;
  for (uint32_t f = 0; (each = forbidden_call(f)); ++f) {
    if (!strcmp(each->name, detector)) {
      return true;
    }
  }
  return !strcmp(detector, "raw"); // has its own tests
}

TEST(every_detector_has_a_control)
{
  for (uint32_t d = 0; rt_trap_detector(d); ++d) {
    ck_assert_msg(has_control(rt_trap_detector(d)), "no call trips the detector '%s'",
                  rt_trap_detector(d));
  }
}

TEST(nothing_is_counted_outside_a_section)
{
  set_up();
  const ForbiddenCall* each = NULL;
  for (uint32_t f = 0; (each = forbidden_call(f)); ++f) {
    each->call();
  }
  getppid();
  ck_assert_uint_eq(rt_trap_counts().violations, 0);
  ck_assert_uint_eq(rt_trap_counts().sections, 0);
}

TEST(an_inner_section_does_not_end_the_outer_one)
{
  set_up();
  rt_section_enter();
  rt_section_enter();
  forbidden_allocate();
  rt_section_leave();
  forbidden_free();
  rt_section_leave();
  forbidden_allocate();
  ck_assert_uint_eq(rt_trap_counts().violations, 2);
  ck_assert_uint_eq(rt_trap_counts().sections, 1);
}

/// Make a system call by its instruction, without the C library.
static long
bare_system_call(const long number)
{
#if defined(__x86_64__)
  long result = 0;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
  return result;
#else
  return syscall(number);
#endif
}

static volatile sig_atomic_t n_signals;

static void
count_signal(const int number)
{
  (void)number;
  ++n_signals;
}

TEST(system_calls_that_no_library_function_shows_are_counted)
{
  set_up();
  if (!rt_trap_counts().raw) {
    suite_skip("this kernel has no Syscall User Dispatch");
    return;
  }
  const pid_t parent = getppid();
  rt_section_enter();
  const pid_t first = getppid();
  const pid_t second = getppid();
  rt_section_leave();
  ck_assert_int_eq(first, parent); // the call was executed
  ck_assert_int_eq(second, parent);
  ck_assert_uint_eq(rt_trap_calls("raw"), 2);
  ck_assert_uint_eq(rt_trap_counts().violations, 2);
  rt_section_enter();
  const long third = bare_system_call(SYS_getppid);
  rt_section_leave();
  ck_assert_int_eq(third, parent);
  ck_assert_uint_eq(rt_trap_calls("raw"), 3);

  // A signal handler runs within the section: only the call that raised the signal counts.
  ck_assert(signal(SIGUSR1, count_signal) != SIG_ERR);
  rt_trap_reset();
  rt_section_enter();
  raise(SIGUSR1);
  rt_section_leave();
  ck_assert_int_eq(n_signals, 1);
  ck_assert_uint_ge(rt_trap_calls("raw"), 1);
  rt_trap_reset();
  rt_section_enter();
  getppid();
  rt_section_leave();
  ck_assert_uint_eq(rt_trap_counts().violations, 1); // still armed
}

TEST(futex_wakes_and_waits_are_counted_apart)
{
  set_up();
  _Atomic uint32_t word = 0;
  rt_section_enter();
  rt_futex_wake(&word);
  rt_futex_wake(&word);
  rt_futex_wait(&word, 1, UINT64_MAX);
  rt_section_leave();
  const RtTrapCounts counts = rt_trap_counts();
  ck_assert_uint_eq(counts.wakes, 2);
  ck_assert_uint_eq(counts.waits, 1);
  ck_assert_uint_eq(counts.violations, 0);
  ck_assert_uint_eq(counts.most_wakes, 2);
  rt_section_enter();
  rt_futex_wake(&word);
  rt_section_leave();
  ck_assert_uint_eq(rt_trap_counts().wakes, 3);
  ck_assert_uint_eq(rt_trap_counts().most_wakes, 2); // largest number in one section
}

TEST(a_futex_call_of_other_code_is_a_violation)
{
  set_up();
  _Atomic uint32_t word = 0;
  rt_section_enter();
  syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0); // as a lock does
  rt_section_leave();
  ck_assert_uint_eq(rt_trap_calls("syscall"), 1);
  ck_assert_uint_eq(rt_trap_counts().wakes, 0);
}

/// Write to pages in a section; new pages fault.
static void
touch(volatile char* const pages, const uint32_t n)
{
  rt_section_enter();
  for (uint32_t p = 0; p < n; ++p) {
    pages[p * PAGE_BYTES] = 1;
  }
  rt_section_leave();
}

TEST(page_faults_in_a_section_are_counted_after_the_warm_up)
{
  set_up();
  char* const pages =
      mmap(NULL, 30U * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(pages, MAP_FAILED);
  touch(pages, 5U); // new pages
  for (uint32_t s = 0; s < RT_TRAP_WARM_UP; ++s) {
    rt_section_enter();
    rt_section_leave();
  }
  ck_assert_uint_eq(rt_trap_counts().faults, 0);
  touch(pages, 5U);
  ck_assert_uint_eq(rt_trap_counts().faults, 0); // the pages are mapped already
  touch(pages, 12U);
  ck_assert_uint_eq(rt_trap_counts().faults, 7);
  pages[20U * PAGE_BYTES] = 1; // outside a section
  touch(pages + 20U * PAGE_BYTES, 1U);
  ck_assert_uint_eq(rt_trap_counts().faults, 7);
  ck_assert_uint_eq(rt_trap_counts().violations, 0);
  ck_assert_uint_eq(rt_trap_thread_counts("test_rt_trap").faults, 7);
  ck_assert_uint_eq(rt_trap_thread_counts("somebody else").faults, 0);
  munmap(pages, 30U * PAGE_BYTES);
}

static void*
violate(void* const unused)
{
  (void)unused;
  rt_section_enter();
  forbidden_allocate();
  forbidden_free();
  rt_section_leave();
  return NULL;
}

TEST(threads_are_trapped_one_by_one)
{
  set_up();
  pthread_t thread;
  rt_section_enter();
  rt_section_leave();
  forbidden_allocate(); // this thread has no section, unlike the other
  ck_assert(rt_thread_start("test-violator", violate, NULL, &thread, NULL) == STATUS_OK);
  forbidden_allocate();
  pthread_join(thread, NULL);
  ck_assert_uint_eq(rt_trap_counts().violations, 2);
  ck_assert_uint_eq(rt_trap_counts().sections, 2);
}

TEST(the_clock_is_no_violation)
{
  set_up();
  rt_section_enter();
  const uint64_t now = time_now_ns();
  rt_flush_denormals();
  rt_pause();
  rt_section_leave();
  ck_assert_uint_gt(now, 0);
  ck_assert_uint_eq(rt_trap_counts().violations, 0);
}

static void __attribute__((noinline)) violate_deep_down(const uint32_t n)
{
  for (uint32_t k = 0; k < n; ++k) {
    forbidden_allocate();
  }
}

static void
violate_in_raw(const uint32_t n)
{
  for (uint32_t k = 0; k < n; ++k) {
    bare_system_call(SYS_getppid);
  }
}

/// Run a child that makes `n` violations.  Returns its exit status and its output.
static int
exit_status(const char* const mode, void (*const violation)(uint32_t n), const uint32_t n,
            char* const said, const size_t n_bytes)
{
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    setenv("WARPRACK_RT_TRAP", mode, 1);
    rt_section_enter();
    violation(n);
    rt_section_leave();
    exit(3);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got = 1; got > 0 && length + 1U < n_bytes; length += (size_t)got) {
    got = read(ends[0], said + length, n_bytes - 1U - length);
    ck_assert_int_ge(got, 0);
  }
  said[length] = 0;
  close(ends[0]);
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(the_program_reports_and_ends_when_asked)
{
  char said[8000];
  ck_assert_int_eq(exit_status("", violate_deep_down, 1, said, sizeof(said)), 3);
  ck_assert_str_eq(said, "");
  ck_assert_int_eq(exit_status("report", violate_deep_down, 2, said, sizeof(said)), 3);
  assert_says(said, "sections=1 violations=2 wakes=0 waits=0 faults=0");
  assert_says(said, "malloc=2; first: malloc at ");
  ck_assert_int_eq(exit_status("fail", violate_deep_down, 0, said, sizeof(said)), 3);
  assert_says(said, "violations=0");

  // The program ends at the first violation and prints the stack: frames of the library, then of
  // the test.
  ck_assert_int_eq(exit_status("fail", violate_deep_down, 2, said, sizeof(said)), RT_TRAP_EXIT);
  assert_says(said, "violations=1 ");
  assert_says(said, "malloc=1; first: malloc at ");
  const char* const frame = strstr(said, "rt_trap:   #2 ");
  ck_assert_msg(frame && strstr(frame, "test_rt_trap+0x"), "%s", said);
}

TEST(a_bare_system_call_ends_the_program_with_its_number_and_stack)
{
  char said[8000];
  set_up();
  if (!rt_trap_counts().raw) {
    suite_skip("this kernel has no Syscall User Dispatch");
    return;
  }
  char words[64];
  snprintf(words, sizeof(words), "raw=1; first: raw (system call %d) at ", SYS_getppid);
  ck_assert_int_eq(exit_status("fail", violate_in_raw, 2, said, sizeof(said)), RT_TRAP_EXIT);
  assert_says(said, words);
  // The stack leads through the frame of the signal to the caller.
  const char* const frame = strstr(said, "rt_trap:   #3 ");
  ck_assert_msg(frame && strstr(frame, "test_rt_trap+0x"), "%s", said);
}

// ---- the real callback, worker and pool: no violation ----

#define BLOCK    64U
#define CHANNELS 4U
#define N_BLOCKS 100000U

typedef struct Player {
  Ring* ring;
  Pool* pool;
  uint64_t sequence;
  _Atomic bool stop;
} Player;

static void
copy_channel(void* const context, const uint32_t channel)
{
  const Player* const worker = context;
  memcpy(ring_output(worker->ring, worker->sequence, channel),
         ring_input(worker->ring, worker->sequence, channel), BLOCK * sizeof(float));
}

static void*
player_main(void* const context)
{
  Player* const worker = context;
  rt_flush_denormals();
  while (!atomic_load(&worker->stop)) {
    if (ring_wait_take(worker->ring, 2000, UINT64_MAX, &worker->sequence)) {
      ParamMessage message;
      rt_section_enter();
      while (ring_receive(worker->ring, &message)) {
      }
      pool_run(worker->pool, copy_channel, worker, CHANNELS);
      ring_finish(worker->ring);
      rt_section_leave();
    }
  }
  return NULL;
}

/// Give the next period n MIDI events, take those that have come, and send one.
static void
pass_midi(Period* const period, const uint32_t n)
{
  static const uint8_t control[] = { 0xB0, 7, 64 };
  static const MidiEvent sent = { .n_bytes = 3, .bytes = { 0xB0, 7, 64 } };
  static MidiPeriod midi;
  static QueuedMidi came[MIDI_MAX_EVENTS];
  midi_period_begin(&midi);
  for (uint32_t e = 0; e < n; ++e) {
    ck_assert(midi_period_add(&midi, e % BLOCK, control, sizeof(control)));
  }
  (void)period_take_midi(period, came, n);
  period_return_midi(period, 0U);
  (void)period_send_midi(period, &sent, 1U);
  period_set_midi(period, &midi);
}

TEST(callback_worker_and_pool_do_nothing_but_wake)
{
  const RingShape shape = { CHANNELS, CHANNELS, BLOCK, 8, 64, 16 };
  Player worker = { .ring = NULL };
  Period* period = NULL;
  pthread_t thread;
  ck_assert(ring_new(&shape, &worker.ring, NULL) == STATUS_OK);
  ck_assert(pool_new(1, false, 0, &worker.pool, NULL) == STATUS_OK);
  const PeriodConfig config = { .ring = worker.ring,
                                .rate_hz = 48000.0,
                                .depth = 1,
                                .ceiling_lin = 1.0F,
                                .max_latency_frames = 1000 };
  ck_assert(period_new(&config, &period, NULL) == STATUS_OK);
  static float in[CHANNELS][BLOCK];
  static float out[CHANNELS][BLOCK];
  const float* ins[CHANNELS];
  float* outs[CHANNELS];
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    ins[c] = in[c];
    outs[c] = out[c];
    signal_noise(in[c], BLOCK, c);
  }
  ck_assert(rt_thread_start("test-worker", player_main, &worker, &thread, NULL) == STATUS_OK);

  uint64_t random = 3;
  for (uint32_t k = 0; k < N_BLOCKS; ++k) {
    const uint64_t chance = signal_random(&random) % 1024U;
    if (chance < 512U && ring_next(worker.ring) > 0) { // otherwise this block is late
      ring_wait_finished(worker.ring, ring_next(worker.ring) - 1U, UINT64_MAX);
    }
    if (chance == 600U) { // the worker falls asleep
      const struct timespec pause = { 0, 200000 };
      nanosleep(&pause, NULL);
    }
    in[1][chance % BLOCK] = chance == 700U ? NAN : 2.0F; // bad samples for the guards
    period_set_latency(period, (uint32_t)(k / 1000U));
    period_fade(period, k % 10000U > 9000U);
    ring_send(worker.ring, &(ParamMessage){ .frame = k }, 1);
    const uint32_t n_frames = chance == 800U ? BLOCK - 1U : BLOCK;
    pass_midi(period, (uint32_t)chance % 20U);
    period_run(period, ins, outs, n_frames, false);
  }
  atomic_store(&worker.stop, true);
  ring_wake(worker.ring);
  pthread_join(thread, NULL);

  rt_trap_report(stdout);
  const PeriodCounts done = period_counts(period);
  const RtTrapCounts counts = rt_trap_counts();
  ck_assert_uint_eq(counts.violations, 0);
  ck_assert_uint_gt(counts.sections, N_BLOCKS);
  ck_assert_uint_gt(done.odd_periods, 0);
  ck_assert_uint_gt(done.bad_in, 0);
  ck_assert_uint_gt(done.clipped, 0);
  ck_assert_uint_gt(done.midi_events, 0);
  ck_assert_uint_gt(done.midi_lost, 0);
  ck_assert_uint_eq(done.blocks + done.odd_periods, N_BLOCKS);
  period_free(period);
  pool_free(worker.pool);
  ring_free(worker.ring);
}

static void*
sleep_and_finish(void* const context)
{
  Player* const worker = context;
  while (!atomic_load(&worker->stop)) {
    if (ring_wait_take(worker->ring, 0, UINT64_MAX, &worker->sequence)) {
      ring_finish(worker->ring);
    }
  }
  return NULL;
}

TEST(the_callback_wakes_a_sleeping_worker_once_and_nobody_else)
{
  const RingShape shape = { 0, 0, BLOCK, 8, 64, 0 };
  Player worker = { .ring = NULL };
  Period* period = NULL;
  pthread_t thread;
  ck_assert(ring_new(&shape, &worker.ring, NULL) == STATUS_OK);
  const PeriodConfig config = { .ring = worker.ring, .rate_hz = 48000.0, .depth = 1 };
  ck_assert(period_new(&config, &period, NULL) == STATUS_OK);
  for (uint32_t k = 0; k < 1000U; ++k) { // without a worker
    period_run(period, NULL, NULL, BLOCK, false);
  }
  ck_assert_uint_eq(rt_trap_counts().wakes, 0);

  ck_assert(rt_thread_start("test-worker", sleep_and_finish, &worker, &thread, NULL) == STATUS_OK);
  uint64_t n_wakes = 0;
  for (uint32_t k = 0; k < 10000U && n_wakes < 20U; ++k) {
    const struct timespec pause = { 0, 500000 }; // time for the worker to fall asleep
    nanosleep(&pause, NULL);
    period_run(period, NULL, NULL, BLOCK, false);
    const uint64_t now = rt_trap_counts().wakes;
    ck_assert_uint_le(now - n_wakes, 1);
    n_wakes = now;
  }
  ck_assert_uint_eq(n_wakes, 20);
  ck_assert_uint_eq(rt_trap_counts().violations, 0);
  atomic_store(&worker.stop, true);
  ring_wake(worker.ring);
  pthread_join(thread, NULL);
  period_free(period);
  ring_free(worker.ring);
}

SUITE_MAIN("rt_trap")
