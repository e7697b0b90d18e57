// SPDX-License-Identifier: GPL-3.0-or-later
// warprack check: is this rack right, what does it delay, and what does it cost on this machine?

#include "commands.h"
#include "engine_args.h"
#include "options.h"
#include "rack_arg.h"

#include "../engine/engine.h"

#include <stdio.h>
#include <stdlib.h>

#define MEASURED_BLOCKS 400U // half a second at 64 frames: p99 is the fifth worst

static int check_run(int argc, char** argv);

const Command cmd_check = {
  .name = "check",
  .usage = "[options] RACK",
  .summary = "Check a rack; print it in canonical form with its latency and cost",
  .run = check_run,
};

typedef struct CheckArgs {
  bool json;
  double rate_hz;
  int64_t block_frames;
  int64_t n_channels;
  BackendArgs backend;
} CheckArgs;

static json_t*
report_json(const CheckArgs* const args, const Rack* const rack, const char* const text,
            const EnginePrediction* const prediction)
{
  const double period_us = 1e6 * (double)args->block_frames / args->rate_hz;
  json_t* const json =
      json_pack("{so si si sf sI sI si si sf sf sf}", "rack", command_json_text(text), "nodes",
                (int)rack->n_nodes, "connections", (int)rack->n_edges, "rate_hz", args->rate_hz,
                "block_frames", (json_int_t)args->block_frames, "n_in",
                (json_int_t)args->n_channels, "n_out", (int)prediction->n_out, "latency_frames",
                (int)prediction->latency_frames, "period_us", period_us, "needs_us",
                prediction->block_ns_p50 / 1e3, "needs_us_p99", prediction->block_ns_p99 / 1e3);
  if (json) {
    json_object_set_new(json, "tail_frames",
                        prediction->tail_frames == UINT64_MAX
                            ? json_null() // no bound
                            : json_integer((json_int_t)prediction->tail_frames));
  }
  return json;
}

/// The canonical text, then the figures as its comments: what is printed is a rack again.
static void
print_report(const CheckArgs* const args, const Rack* const rack, const char* const text,
             const EnginePrediction* const prediction)
{
  const double period_ns = 1e9 * (double)args->block_frames / args->rate_hz;
  printf("%s", text);
  printf("# %u nodes, %u connections; %lld channels in, %u out\n", rack->n_nodes, rack->n_edges,
         (long long)args->n_channels, prediction->n_out);
  printf("# latency %u frames (%.3f ms) of the effects; live adds depth x block\n",
         prediction->latency_frames, 1e3 * prediction->latency_frames / args->rate_hz);
  if (prediction->tail_frames == UINT64_MAX) {
    printf("# tail without end\n");
  } else {
    printf("# tail %.3f s\n", (double)prediction->tail_frames / args->rate_hz);
  }
  printf("# needs %.1f us of %.1f us (%.2f %%), 99 of 100 blocks at most %.1f us; "
         "measured at %.0f Hz, %lld frames\n",
         prediction->block_ns_p50 / 1e3, period_ns / 1e3,
         100.0 * prediction->block_ns_p50 / period_ns, prediction->block_ns_p99 / 1e3,
         args->rate_hz, (long long)args->block_frames);
  if (prediction->block_ns_p99 > period_ns) {
    printf("# too slow to run live here at this block size\n");
  }
}

static int
report(const CheckArgs* const args, const Rack* const rack,
       const EnginePrediction* const prediction)
{
  char* const text = rack_print(rack);
  if (!text) {
    return command_fail(&cmd_check, &(Error){ STATUS_NO_MEM, "" });
  }
  int exit_code = 0;
  if (args->json) {
    exit_code = command_print_json(&cmd_check, report_json(args, rack, text, prediction));
  } else {
    print_report(args, rack, text, prediction);
  }
  free(text);
  return exit_code;
}

static int
check(const CheckArgs* const args, const char* const word)
{
  Error error = { STATUS_OK, "" };
  RackArg rack_arg;
  if (rack_arg_read(word, &rack_arg, &error)) {
    return command_fail(&cmd_check, &error);
  }
  EngineConfig config = { .n_in = (uint32_t)args->n_channels,
                          .depth = 1,
                          .load_file = rack_arg_load_file,
                          .free_file = rack_arg_free_file,
                          .file_context = &rack_arg };
  EnginePrediction prediction;
  Status status = backend_read(&args->backend, &config, &error);
  status = status
               ? status
               : engine_predict(&config, rack_arg.rack, args->rate_hz, (uint32_t)args->block_frames,
                                MEASURED_BLOCKS, &prediction, &error);
  const int exit_code =
      status ? command_fail(&cmd_check, &error) : report(args, rack_arg.rack, &prediction);
  rack_arg_clear(&rack_arg);
  return exit_code;
}

static int
check_run(const int argc, char** const argv)
{
  CheckArgs args = {
    .rate_hz = 48000.0, .block_frames = 256, .n_channels = 2, .backend.gpu_index = BACKEND_ANY_GPU
  };
  const Option table[] = {
    BACKEND_OPTIONS(&args.backend),
    { "block", 'b', OPTION_INTEGER, "N", 1, FX_MAX_BLOCK, .help = "Frames per block, default 256",
      .to.integer = &args.block_frames },
    { "channels", 'c', OPTION_INTEGER, "N", 1, FX_MAX_CHANNELS, .help = "Input channels, default 2",
      .to.integer = &args.n_channels },
    { "json", 'j', OPTION_FLAG, .help = "Print JSON", .to.flag = &args.json },
    { "rate", 'r', OPTION_NUMBER, "HZ", 8000, 768000, .help = "Frames per second, default 48000",
      .to.number = &args.rate_hz },
  };
  const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1, .max_operands = 1 };
  Operands operands;
  if (!options_parse(&cmd_check, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  return check(&args, operands.words[0]);
}
