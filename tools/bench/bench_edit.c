// SPDX-License-Identifier: GPL-3.0-or-later
// bench edit: measures whether edits of the running rack make blocks late.
//
// Runs with and without edits alternate on the dummy driver's timer.  A machine sometimes stalls
// without edits, so that only the difference is due to edits.  Then the same edits run again on the
// deterministic clock (--fast), where every block waits for its result and none may be late.

#include "bench.h"

#include "engine/base/time.h"
#include "engine/contract/effect.h"
#include "engine/engine.h"
#include "io/io.h"
#include "tools/engine_args.h"
#include "tools/options.h"
#include "tools/random_edits.h"

#include <stdatomic.h>
#include <stdio.h>

#define POLL_NS   (20U * NS_PER_MS)
#define DRAIN_NS  (5U * NS_PER_S) // longest wait for the last replies
#define SEED      20U
#define MAX_PAIRS 20U
#define SETTLE_S  0.5 // before counting, for first blocks, caches and the worker's start

static int edit_run(int argc, char** argv);

const Bench bench_edit = {
  .name = "bench edit",
  .usage = "[options]",
  .summary = "Count late blocks with and without edits of the running rack",
  .run = edit_run,
};

typedef struct EditArgs {
  BackendArgs backend;
  int64_t n_channels, block_frames, edits_per_minute, n_pairs;
  double seconds, rate_hz;
  bool json;
} EditArgs;

typedef struct Run {
  const EditArgs* args;
  Engine* engine;
  Io* io;
  RandomEdits edits;
  atomic_uint accepted, refused; ///< [builder] increments
  uint32_t asked;
} Run;

typedef struct Result {
  uint64_t blocks, late, xruns;
  uint32_t accepted, refused;
  double load_p50, load_p99, load_max;
  char backend[BACKEND_WORDS_BYTES]; ///< Where the effects ran, at the end
} Result;

// ---- driver and engine ----

static void
on_process(void* const context, const float* const* const in, float* const* const out,
           const uint32_t n_frames, const bool wait, MidiPeriod* const midi)
{
  engine_run(((Run*)context)->engine, in, out, n_frames, wait, midi);
}

static Status
on_format(void* const context, const double rate_hz, const uint32_t block_frames,
          Error* const error)
{
  const Run* const run = context;
  const uint32_t n = (uint32_t)run->args->n_channels;
  return engine_arm(run->engine, rate_hz, block_frames, n, n, error);
}

static uint32_t
on_latency(void* const context)
{
  return engine_latency(((const Run*)context)->engine);
}

static void
on_note(void* const context, const char* const text)
{
  (void)context;
  fprintf(stderr, "%s\n", text);
}

static void
on_done(void* const context, const EngineReply* const reply)
{
  Run* const run = context;
  atomic_fetch_add(reply->status ? &run->refused : &run->accepted, 1U);
}

static Status
start(Run* const run, const bool fast, Error* const error)
{
  const uint32_t n = (uint32_t)run->args->n_channels;
  EngineConfig engine = { .n_in = n,
                          .n_out = n,
                          .depth = 1,
                          .deadline_fraction = 0.75,
                          .ceiling_lin = 1.0F,
                          .realtime = true,
                          .priority = ENGINE_PRIORITY,
                          .n_helpers = UINT32_MAX };
  Status status = backend_read(&run->args->backend, &engine, error);
  status = status ? status : random_edits_new(&run->edits, SEED, error);
  status = status ? status : engine_new(&engine, &run->engine, error);
  status = status ? status : engine_edit_wait(run->engine, run->edits.rack, error);
  if (!status) {
    const IoConfig io = { .rate_hz = run->args->rate_hz,
                          .block_frames = (uint32_t)run->args->block_frames,
                          .n_in = n,
                          .n_out = n,
                          .fast = fast };
    const IoEvents events = { .context = run,
                              .door = engine_door(run->engine),
                              .process = on_process,
                              .format = on_format,
                              .latency = on_latency,
                              .note = on_note };
    status = io_open(io_find("dummy"), &io, &events, &run->io, error);
  }
  return status;
}

static void
stop(Run* const run)
{
  (void)!io_close(run->io); // an error is possible only for files
  engine_free(run->engine);
  random_edits_clear(&run->edits);
}

// ---- edits ----

static Status
ask_edit(Run* const run, Error* const error)
{
  Status status = random_edits_next(&run->edits, error);
  if (!status) {
    status = engine_edit(run->engine, run->edits.rack, 0, on_done, run);
    if (status) {
      error_set(error, status, "the engine takes no more edits: %s", status_text(status));
    }
  }
  run->asked += !status;
  return status;
}

static bool
is_answered(const Run* const run)
{
  return atomic_load(&run->accepted) + atomic_load(&run->refused) == run->asked;
}

/// Wait for the duration of a run, with or without edits spread evenly over it.
static Status
pass_time(Run* const run, const bool with_edits, Error* const error)
{
  const uint64_t began_ns = time_now_ns();
  const uint64_t length_ns = (uint64_t)(run->args->seconds * (double)NS_PER_S);
  const uint64_t step_ns = 60U * NS_PER_S / (uint64_t)run->args->edits_per_minute;
  uint64_t next_ns = began_ns;
  for (uint64_t now_ns; (now_ns = time_now_ns()) - began_ns < length_ns;) {
    if (with_edits && now_ns >= next_ns && is_answered(run)) {
      next_ns += step_ns;
      if (ask_edit(run, error)) {
        return error->status;
      }
    }
    io_poll(run->io);
    time_sleep(POLL_NS < step_ns ? POLL_NS : step_ns);
  }
  return STATUS_OK;
}

/// Make as many edits as pass_time(), each after the reply to the one before.
static Status
pass_edits(Run* const run, Error* const error)
{
  const uint32_t n = (uint32_t)(run->args->seconds * (double)run->args->edits_per_minute / 60.0);
  for (uint32_t i = 0; i < n; ++i) {
    if (ask_edit(run, error)) {
      return error->status;
    }
    while (!is_answered(run)) {
      time_sleep(NS_PER_MS);
    }
    io_poll(run->io);
  }
  return STATUS_OK;
}

/// Wait for all replies, because the builder thread writes them to `run`.
static void
drain(const Run* const run)
{
  const uint64_t began_ns = time_now_ns();
  while (!is_answered(run) && time_now_ns() - began_ns < DRAIN_NS) {
    time_sleep(NS_PER_MS);
  }
}

/// Make one run, and add its figures to `result`.
static Status
measure(const EditArgs* const args, const bool fast, const bool with_edits, Result* const result,
        Error* const error)
{
  Run run = { .args = args };
  Status status = start(&run, fast, error);
  if (!status) {
    time_sleep((uint64_t)(SETTLE_S * (double)NS_PER_S));
    EngineStatus before;
    EngineStatus after;
    engine_reset_load(run.engine);
    engine_status(run.engine, &before);
    status = fast ? pass_edits(&run, error) : pass_time(&run, with_edits, error);
    drain(&run);
    engine_status(run.engine, &after);
    IoStatus io;
    io_status(run.io, &io);
    result->blocks += after.counts.blocks - before.counts.blocks;
    result->late += after.counts.late - before.counts.late;
    result->xruns += io.xruns;
    result->accepted += atomic_load(&run.accepted);
    result->refused += atomic_load(&run.refused);
    result->load_p50 = after.load_p50;
    result->load_p99 = after.load_p99;
    result->load_max = after.load_max > result->load_max ? after.load_max : result->load_max;
    (void)backend_words(after.backend, after.device, result->backend);
  }
  stop(&run);
  return status;
}

// ---- output ----

static json_t*
result_json(const Result* const result)
{
  return json_pack("{sI sI sI sI sI sf sf sf}", "blocks", (json_int_t)result->blocks, "late",
                   (json_int_t)result->late, "driver_xruns", (json_int_t)result->xruns,
                   "edits_accepted", (json_int_t)result->accepted, "edits_refused",
                   (json_int_t)result->refused, "load_p50", result->load_p50, "load_p99",
                   result->load_p99, "load_max", result->load_max);
}

static void
print_result(const char* const name, const Result* const result)
{
  printf("  %-22s %9llu %6llu %9u %8u   %5.1f %5.1f %6.1f\n", name,
         (unsigned long long)result->blocks, (unsigned long long)result->late, result->accepted,
         result->refused, 100.0 * result->load_p50, 100.0 * result->load_p99,
         100.0 * result->load_max);
}

static int
report(const EditArgs* const args, const Result* const quiet, const Result* const edited,
       const Result* const fast)
{
  if (args->json) {
    return command_print_json(
        &bench_edit,
        json_pack("{ss so sI sI sI so so so}", "bench", "edit", "backend",
                  command_json_text(edited->backend), "channels", (json_int_t)args->n_channels,
                  "block_frames", (json_int_t)args->block_frames, "edits_per_minute",
                  (json_int_t)args->edits_per_minute, "without_edits", result_json(quiet),
                  "with_edits", result_json(edited), "fast", result_json(fast)));
  }
  printf(
      "%lld channels, %lld frames, %.0f Hz, %lld edits a minute, %lld x %.0f s each in turn; "
      "effects on %s\n\n"
      "                            blocks   late  accepted  refused    load %%: p50   p99    max\n",
      (long long)args->n_channels, (long long)args->block_frames, args->rate_hz,
      (long long)args->edits_per_minute, (long long)args->n_pairs, args->seconds, edited->backend);
  print_result("without edits", quiet);
  print_result("with edits", edited);
  print_result("with edits, --fast", fast);
  return 0;
}

static int
edit_run(const int argc, char** const argv)
{
  EditArgs args = { .backend = { ENGINE_BACKEND_CPU, BACKEND_ANY_GPU, 0 },
                    .n_channels = 64,
                    .block_frames = 64,
                    .edits_per_minute = 1000,
                    .n_pairs = 3,
                    .seconds = 10.0,
                    .rate_hz = 48000.0 };
  // clang-format off
  const Option table[] = {
    { "backend",  0,   OPTION_CHOICE,                               .choices = engine_backend_names, .to.choice = &args.backend.backend, .help = "Where effects run, default cpu" },
    { "block",    'b', OPTION_INTEGER, "N",     1,    FX_MAX_BLOCK, .to.integer = &args.block_frames,     .help = "Frames per block, default 64" },
    { "channels", 'c', OPTION_INTEGER, "N",     1, FX_MAX_CHANNELS, .to.integer = &args.n_channels,       .help = "Channels, default 64" },
    { "edits",    'e', OPTION_INTEGER, "N",     1,            6000, .to.integer = &args.edits_per_minute, .help = "Edits per minute, default 1000" },
    { "gpu",      'g', OPTION_INTEGER, "N",     0,              63, .to.integer = &args.backend.gpu_index,  .help = "Index of the GPU in \"warprack list devices\", default the best" },
    { "json",     'j', OPTION_FLAG,                                 .to.flag = &args.json,                .help = "Print JSON" },
    { "pairs",    'n', OPTION_INTEGER, "N",     1,       MAX_PAIRS, .to.integer = &args.n_pairs,          .help = "Pairs of runs, default 3" },
    { "rate",     'r', OPTION_NUMBER,  "HZ", 8000,          768000, .to.number = &args.rate_hz,           .help = "Frames per second, default 48000" },
    { "seconds",  't', OPTION_NUMBER,  "S",     1,            3600, .to.number = &args.seconds,           .help = "Length of a run, default 10; the load is that of its last 10 to 20 s" },
  };
  // clang-format on
  const OptionTable options = { .options = table, .n_options = ARRAY_LEN(table) };
  Operands operands;
  if (!options_parse(&bench_edit, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  Error error = { STATUS_OK, "" };
  Result quiet = { 0 };
  Result edited = { 0 };
  Result fast = { 0 };
  Status status = STATUS_OK;
  for (int64_t i = 0; i < args.n_pairs && !status; ++i) {
    status = measure(&args, false, false, &quiet, &error);
    status = status ? status : measure(&args, false, true, &edited, &error);
  }
  status = status ? status : measure(&args, true, true, &fast, &error);
  return status ? command_fail(&bench_edit, &error) : report(&args, &quiet, &edited, &fast);
}
