// SPDX-License-Identifier: GPL-3.0-or-later
// bench callback: the cost of one period on the audio driver's thread: copy in, submit, copy out,
// guard.
//
// "awake": the player's work runs on the same thread between two periods, so that no thread sleeps.
// "asleep": the player is a thread that sleeps at once, and the periods have their real pace, so
// that the time of each includes cold caches and one wake.
// "late": the first late block, in which the bridge analyses all outputs.
//
// With --midi N, each period has N MIDI events, which go to the worker and to the control thread.

#include "bench.h"

#include "engine/base/midi_period.h"
#include "engine/base/percentiles.h"
#include "engine/base/time.h"
#include "engine/callback/period.h"
#include "engine/contract/effect.h"
#include "engine/ring/ring.h"
#include "tools/options.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_SLOTS        4U
#define COUNTED_BLOCKS 1000U // under the system call counter
#define NAP_NS         (10U * NS_PER_MS)

static int callback_run(int argc, char** argv);

const Bench bench_callback = {
  .name = "bench callback",
  .usage = "[options]",
  .summary = "Time one period on the audio driver's thread",
  .run = callback_run,
};

typedef struct CallbackArgs {
  int64_t n_channels, block_frames, n_blocks;
  int64_t n_midi; ///< Events of a period; -1: periods have no MIDI
  double rate_hz;
  bool json;
} CallbackArgs;

// ---- system calls ----

// Counts the system calls of one thread by running the code in a traced child (ptrace(2) with
// PTRACE_GET_SYSCALL_INFO, Linux 5.3).  This needs no privilege and sees every call, but slows the
// code down: do not measure times at the same time.

// The mark: a getpgid() of an impossible process id, which no other code calls.
#define MARK_NUMBER SYS_getpgid
#define MARK_PID    (-0x77A9)

/// Start or stop counting.  Outside of count_syscalls() the call has no effect.
static void
mark_syscalls(void)
{
  syscall(MARK_NUMBER, MARK_PID);
}

static void
run_traced(void (*const code)(void*), void* const context)
{
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
    _exit(EXIT_FAILURE);
  }
  raise(SIGSTOP); // the parent sets its options here
  code(context);
  _exit(EXIT_SUCCESS);
}

/// Handle one stop at a system call.
static void
note_call(const pid_t child, bool* const counting, int64_t* const n_calls)
{
  struct __ptrace_syscall_info info;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) <= 0 ||
      info.op != PTRACE_SYSCALL_INFO_ENTRY) {
    return;
  }
  if (info.entry.nr == MARK_NUMBER && (int)info.entry.args[0] == MARK_PID) {
    *counting = !*counting;
  } else {
    *n_calls += *counting;
  }
}

static int64_t
trace(const pid_t child)
{
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
    return -1;
  }
  ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool counting = false;
  int64_t n_calls = 0;
  int signal_to_pass = 0;
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, child, NULL, signal_to_pass) ||
        waitpid(child, &status, 0) != child) {
      return -1;
    }
    if (!WIFSTOPPED(status)) {
      return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? n_calls : -1;
    }
    const bool at_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal_to_pass = at_call ? 0 : WSTOPSIG(status);
    if (at_call) {
      note_call(child, &counting, &n_calls);
    }
  }
}

/// Run `code` in a child process, and count the system calls of its first thread between each odd
/// call of mark_syscalls() and the next one.  Returns -1 if tracing is not permitted or the child
/// failed.
static int64_t
count_syscalls(void (*const code)(void*), void* const context)
{
  const pid_t child = fork();
  if (!child) {
    run_traced(code, context);
  }
  return child > 0 ? trace(child) : -1;
}

// ---- the ring ----

/// Both ends of the ring, and a driver's buffers.
typedef struct Rig {
  Ring* ring;
  Period* period;
  float* samples; ///< [2][n_channels][block_frames]
  float** in;     ///< [n_channels]
  float** out;    ///< [n_channels]
  uint32_t n_channels, block_frames;
  int64_t n_midi;
  MidiPeriod midi;
  uint64_t period_ns;
  atomic_bool stop;
} Rig;

static void
rig_free(Rig* const rig)
{
  period_free(rig->period);
  ring_free(rig->ring);
  free(rig->samples);
  free(rig->in);
  free(rig->out);
}

static Status
rig_new(Rig* const rig, const CallbackArgs* const args, Error* const error)
{
  const uint32_t n = (uint32_t)args->n_channels;
  const uint32_t block = (uint32_t)args->block_frames;
  *rig = (Rig){ .n_channels = n,
                .block_frames = block,
                .n_midi = args->n_midi,
                .period_ns = (uint64_t)(1e9 * block / args->rate_hz) };
  rig->samples = calloc(2UL * n * block, sizeof(float));
  rig->in = calloc(n, sizeof(float*));
  rig->out = calloc(n, sizeof(float*));
  if (!rig->samples || !rig->in || !rig->out) {
    rig_free(rig);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t c = 0; c < n; ++c) {
    rig->in[c] = rig->samples + (size_t)c * block;
    rig->out[c] = rig->samples + (size_t)(n + c) * block;
    for (uint32_t i = 0; i < block; ++i) {
      rig->in[c][i] = (float)((c * 31U + i * 17U) % 64U) / 64.0F - 0.5F;
    }
  }
  const RingShape shape = { n, n, block, N_SLOTS, 16U, MIDI_MAX_EVENTS };
  Status status = ring_new(&shape, &rig->ring, error);
  if (!status) {
    const PeriodConfig config = { .ring = rig->ring,
                                  .rate_hz = args->rate_hz,
                                  .depth = 1,
                                  .deadline_fraction = 0.75,
                                  .ceiling_lin = 1.0F,
                                  .fallback = { .level = 0.5F, .follows = true } };
    status = period_new(&config, &rig->period, error);
  }
  if (status) {
    rig_free(rig);
  }
  return status;
}

/// Do what a driver does with the MIDI of a period.
static void
give_midi(Rig* const rig)
{
  midi_period_begin(&rig->midi);
  for (uint32_t e = 0; e < (uint32_t)rig->n_midi; ++e) {
    const uint8_t message[] = { 0xB0U, (uint8_t)(e % 120U), (uint8_t)(e % 128U) };
    const uint32_t frame = e * rig->block_frames / MIDI_MAX_EVENTS;
    (void)midi_period_add(&rig->midi, frame, message, sizeof(message));
  }
  period_set_midi(rig->period, &rig->midi);
}

static void
rig_period(Rig* const rig)
{
  if (rig->n_midi >= 0) {
    give_midi(rig);
  }
  period_run(rig->period, (const float* const*)rig->in, rig->out, rig->block_frames, false);
}

/// Do the player's work for a rack without effects, and the control thread's for MIDI.
static void
rig_work(Rig* const rig, const uint64_t sequence)
{
  static QueuedMidi came[MIDI_MAX_EVENTS];
  (void)period_take_midi(rig->period, came, MIDI_MAX_EVENTS);
  period_return_midi(rig->period, 0U);
  for (uint32_t c = 0; c < rig->n_channels; ++c) {
    memcpy(ring_output(rig->ring, sequence, c), ring_input(rig->ring, sequence, c),
           rig->block_frames * sizeof(float));
  }
  ring_finish(rig->ring);
}

static void*
player_main(void* const context)
{
  Rig* const rig = context;
  while (!atomic_load(&rig->stop)) {
    uint64_t sequence = 0;
    if (ring_wait_take(rig->ring, 0, NAP_NS, &sequence)) {
      rig_work(rig, sequence);
    }
  }
  return NULL;
}

// ---- scenes ----

typedef void (*BlockHook)(void);

/// Measure the time of one period, in ns.  `mark` (may be NULL) is called before and after it.
static double
time_period(Rig* const rig, const BlockHook mark)
{
  if (mark) {
    mark();
  }
  const uint64_t began_ns = time_now_ns();
  rig_period(rig);
  const double time_ns = (double)(time_now_ns() - began_ns);
  if (mark) {
    mark();
  }
  return time_ns;
}

static void
run_awake(Rig* const rig, const uint32_t n, double* const times_ns, const BlockHook mark)
{
  for (uint32_t i = 0; i < n; ++i) {
    times_ns[i] = time_period(rig, mark);
    uint64_t sequence = 0;
    if (ring_take(rig->ring, 0U, &sequence)) {
      rig_work(rig, sequence);
    }
  }
}

/// Measure the first block of n gaps, each after enough good blocks.  The output is noise that no
/// input contains.
static void
run_late(Rig* const rig, const uint32_t n, double* const times_ns, const BlockHook mark)
{
  uint32_t noise = 1;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t b = 0; b < FALLBACK_GOOD_BLOCKS + 4U; ++b) {
      uint64_t sequence = 0;
      rig_period(rig);
      if (ring_take(rig->ring, 0U, &sequence)) {
        rig_work(rig, sequence);
        for (uint32_t f = 0; f < rig->n_channels * rig->block_frames; ++f) {
          noise = noise * 1664525U + 1013904223U;
          const uint32_t c = f / rig->block_frames;
          ring_output(rig->ring, sequence, c)[f % rig->block_frames] = (float)noise * 0x1p-33F;
        }
      }
    }
    rig_period(rig);
    times_ns[i] = time_period(rig, mark);
    uint64_t sequence = 0;
    while (ring_take(rig->ring, 0U, &sequence)) {
      rig_work(rig, sequence);
    }
  }
}

static void
run_asleep(Rig* const rig, const uint32_t n, double* const times_ns, const BlockHook mark)
{
  pthread_t worker;
  if (pthread_create(&worker, NULL, player_main, rig)) {
    abort(); // for example out of memory
  }
  uint64_t next_ns = time_now_ns();
  for (uint32_t i = 0; i < n; ++i) {
    next_ns += rig->period_ns;
    time_sleep_until(next_ns);
    times_ns[i] = time_period(rig, mark);
  }
  atomic_store(&rig->stop, true);
  ring_wake(rig->ring);
  pthread_join(worker, NULL);
}

typedef void (*Scene)(Rig* rig, uint32_t n, double* times_ns, BlockHook mark);

/// A scenario whose system calls are counted.
typedef struct Counted {
  const CallbackArgs* args;
  Scene scene;
} Counted;

static void
run_counted(void* const context)
{
  const Counted* const counted = context;
  Rig rig;
  if (rig_new(&rig, counted->args, NULL)) {
    _Exit(EXIT_FAILURE);
  }
  static double times_ns[COUNTED_BLOCKS];
  counted->scene(&rig, COUNTED_BLOCKS, times_ns, mark_syscalls);
  rig_free(&rig);
}

typedef struct Result {
  Percentiles ns;
  double syscalls_per_block; ///< Negative: not counted
} Result;

static Status
measure(const CallbackArgs* const args, const Scene scene, const uint32_t n_blocks,
        Result* const result, Error* const error)
{
  Counted counted = { args, scene };
  const int64_t n_calls = count_syscalls(run_counted, &counted);
  result->syscalls_per_block = n_calls < 0 ? -1.0 : (double)n_calls / COUNTED_BLOCKS;

  double* const times_ns = calloc(n_blocks, sizeof(double));
  if (!times_ns) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Rig rig;
  const Status status = rig_new(&rig, args, error);
  if (!status) {
    scene(&rig, n_blocks, times_ns, NULL);
    result->ns = percentiles_of(times_ns, n_blocks);
    rig_free(&rig);
  }
  free(times_ns);
  return status;
}

// ---- output ----

static json_t*
result_json(const Result* const result, const double period_ns)
{
  return json_pack("{sf sf sf sf so}", "us_p50", result->ns.p50 / 1e3, "us_p99",
                   result->ns.p99 / 1e3, "us_max", result->ns.max / 1e3, "percent_of_period_p50",
                   100.0 * result->ns.p50 / period_ns, "syscalls_per_block",
                   result->syscalls_per_block < 0.0 ? json_null()
                                                    : json_real(result->syscalls_per_block));
}

static void
print_result(const char* const name, const Result* const result, const double period_ns)
{
  printf("  %-14s %8.2f %8.2f %8.2f   %6.2f %%   ", name, result->ns.p50 / 1e3,
         result->ns.p99 / 1e3, result->ns.max / 1e3, 100.0 * result->ns.p50 / period_ns);
  if (result->syscalls_per_block < 0.0) {
    printf("not counted: ptrace is not permitted here\n");
  } else {
    printf("%.3f\n", result->syscalls_per_block);
  }
}

static int
report(const CallbackArgs* const args, const Result* const awake, const Result* const asleep,
       const Result* const late)
{
  const double period_ns = 1e9 * (double)args->block_frames / args->rate_hz;
  if (args->json) {
    return command_print_json(
        &bench_callback,
        json_pack("{ss sI sI sI sf so so so}", "bench", "callback", "channels",
                  (json_int_t)args->n_channels, "block_frames", (json_int_t)args->block_frames,
                  "midi", (json_int_t)args->n_midi, "period_us", period_ns / 1e3, "awake",
                  result_json(awake, period_ns), "asleep", result_json(asleep, period_ns), "late",
                  result_json(late, period_ns)));
  }
  printf("%lld channels in and out, %lld frames, %.0f Hz: a period is %.1f us\n\n"
         "  worker              p50      p99      max   of period   system calls per block\n",
         (long long)args->n_channels, (long long)args->block_frames, args->rate_hz,
         period_ns / 1e3);
  print_result("awake", awake, period_ns);
  print_result("asleep, paced", asleep, period_ns);
  print_result("late", late, period_ns);
  return 0;
}

static int
callback_run(const int argc, char** const argv)
{
  CallbackArgs args = {
    .n_channels = 64, .block_frames = 64, .n_blocks = 3000, .n_midi = -1, .rate_hz = 48000
  };
  // clang-format off
  const Option table[] = {
    { "blocks",   0,   OPTION_INTEGER, "N",   100,             1e7, .to.integer = &args.n_blocks,     .help = "Blocks at a driver's pace; ten times as many without pauses; default 3000" },
    { "block",    'b', OPTION_INTEGER, "N",     1,    FX_MAX_BLOCK, .to.integer = &args.block_frames, .help = "Frames per block, default 64" },
    { "channels", 'c', OPTION_INTEGER, "N",     1, FX_MAX_CHANNELS, .to.integer = &args.n_channels,   .help = "Channels in and out, default 64" },
    { "json",     'j', OPTION_FLAG,                                 .to.flag = &args.json,            .help = "Print JSON" },
    { "midi",     'm', OPTION_INTEGER, "N",     0, MIDI_MAX_EVENTS, .to.integer = &args.n_midi,       .help = "MIDI events in each period, default no MIDI" },
    { "rate",     'r', OPTION_NUMBER,  "HZ", 8000,          768000, .to.number = &args.rate_hz,       .help = "Frames per second, default 48000" },
  };
  // clang-format on
  const OptionTable options = { .options = table, .n_options = ARRAY_LEN(table) };
  Operands operands;
  if (!options_parse(&bench_callback, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  Error error = { STATUS_OK, "" };
  Result awake = { 0 };
  Result asleep = { 0 };
  Result late = { 0 };
  if (measure(&args, run_awake, 10U * (uint32_t)args.n_blocks, &awake, &error) ||
      measure(&args, run_asleep, (uint32_t)args.n_blocks, &asleep, &error) ||
      measure(&args, run_late, (uint32_t)args.n_blocks, &late, &error)) {
    return command_fail(&bench_callback, &error);
  }
  return report(&args, &awake, &asleep, &late);
}
