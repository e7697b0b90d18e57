// SPDX-License-Identifier: GPL-3.0-or-later
// warprack run: the options of a live run.

#include "commands.h"
#include "engine_args.h"
#include "live.h"
#include "options.h"
#include "rack_arg.h"

#include "control/control.h"
#include "plugins/plugin_environment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE 0.75 // of the period: depth 0 waits this long for its block

static int run_run(int argc, char** argv);

const Command cmd_run = {
  .name = "run",
  .usage = "[options] [RACK]",
  .summary = "Run a rack live, under OSC control",
  .run = run_run,
  .may_lose_output = true,
};

#define IO_CHOICE(name) IO_##name,
enum { IO_AUTO, IO_DRIVERS(IO_CHOICE) };

#define IO_CHOICE_NAME(name) #name,
static const char* const io_choices[] = { "auto", IO_DRIVERS(IO_CHOICE_NAME) NULL };
static const char* const worker_argv[] = { "/proc/self/exe", "worker", NULL };

typedef struct RunArgs {
  LiveConfig live;
  uint32_t io;
  const char* on_late;
  BackendArgs backend;
  const char* channels;
  const char* osc_allow; ///< Text of the option; NULL: not given
  Allow allow;
  const char* osc_notify; ///< Text of the option; NULL: not given
  Listeners listeners;
  int64_t block_frames, depth, n_helpers, osc_port, plugin_start_s, priority;
  double ceiling_db;
  bool in_process, no_connect;
} RunArgs;

/// Find an option of another driver, to refuse it instead of ignoring it.
static const char*
misplaced_option(const RunArgs* const args)
{
  const IoConfig* const io = &args->live.io;
  if (args->io != IO_dummy && (io->fast || io->play || io->record)) {
    return "--fast, --play and --record need --io dummy";
  }
  if (args->io != IO_portaudio && (io->device || io->host_api)) {
    return "--device and --host-api need --io portaudio";
  }
  if (args->io != IO_jack && args->io != IO_portaudio && io->wait) {
    return "--wait needs --io jack or --io portaudio";
  }
  if (args->io != IO_jack && (io->server_name || io->connect_to)) {
    return "--server and --connect need --io jack";
  }
  if (args->io != IO_jack && io->midi) {
    return "--midi needs --io jack";
  }
  if (args->live.nsm_url &&
      (args->live.state || args->live.fresh || args->live.root || io->client_name)) {
    return "--state, --fresh, --root and --name are for runs without a session manager (NSM_URL)";
  }
  if (io->connect_to && args->no_connect) {
    return "--connect and --no-connect exclude each other";
  }
  return NULL;
}

/// The state folder of the service manager (the first one if there are several); NULL: none.
static const char*
state_folder(void)
{
  char* const folders = getenv("STATE_DIRECTORY");
  return folders && folders[0] ? strtok(folders, ":") : NULL;
}

/// NSM_URL, which plugins and other processes must not see; NULL: not set.  Lives as long as the
/// process.
static const char*
take_nsm_url(void)
{
  static char* kept;
  const char* const url = getenv("NSM_URL");
  kept = url && url[0] ? strdup(url) : NULL;
  unsetenv("NSM_URL");
  return kept;
}

static int
run(RunArgs* const args)
{
  LiveConfig* const live = &args->live;
  Error error = { STATUS_OK, "" };
  const char* const misplaced = misplaced_option(args);
  if (misplaced) {
    return command_misused(&cmd_run, "%s", misplaced);
  }
  if (backend_read(&args->backend, &live->engine, &error) ||
      channels_read(args->channels, &live->io.n_in, &live->io.n_out, &error)) {
    return command_fail(&cmd_run, &error);
  }
  if (rack_read_fallback(args->on_late, &live->engine.on_late, &error)) {
    return command_misused(&cmd_run, "--on-late: %s", error.text);
  }
  if (args->osc_allow) {
    if (allow_read(&args->allow, args->osc_allow, &error)) {
      return command_misused(&cmd_run, "--osc-allow: %s", error.text);
    }
    live->osc_allow = &args->allow;
  }
  if (args->osc_notify) {
    if (listeners_read(&args->listeners, args->osc_notify, &error)) {
      return error.status == STATUS_NET ? command_fail(&cmd_run, &error)
                                        : command_misused(&cmd_run, "--osc-notify: %s", error.text);
    }
    live->listeners = &args->listeners;
  }
  if (!live->io.client_name) {
    live->io.client_name = PROGRAM_NAME;
  }
  if (args->io != IO_AUTO) {
    live->driver = io_find(io_choices[args->io]);
  }
  live->io.block_frames = (uint32_t)args->block_frames;
  live->io.connect = !args->no_connect;
  live->engine.ceiling_lin = (float)pow(10.0, args->ceiling_db / 20.0);
  live->engine.deadline_fraction = DEADLINE;
  live->engine.depth = (uint32_t)args->depth;
  live->engine.n_helpers = args->n_helpers < 0 ? UINT32_MAX : (uint32_t)args->n_helpers;
  live->engine.plugin_start_s = (uint32_t)args->plugin_start_s;
  live->engine.priority = (int)args->priority;
  live->engine.worker_argv = args->in_process ? NULL : worker_argv;
  if (args->in_process) {
    plugin_environment();
  }
  live->any_port = args->osc_port < 0;
  live->osc_port = live->any_port ? CONTROL_DEFAULT_PORT : (uint16_t)args->osc_port;
  return status_exit_code(live_run(live));
}

static int
run_run(const int argc, char** const argv)
{
  RunArgs args = { .live = { .rack = "",
                             .engine = { .realtime = true },
                             .nsm_url = take_nsm_url(),
                             .bind_address = "127.0.0.1" },
                   .backend.gpu_index = BACKEND_ANY_GPU,
                   .channels = "2:2",
                   .on_late = "auto",
                   .ceiling_db = -0.3, // leaves room for peaks between the samples in a converter
                   .depth = 1,
                   .n_helpers = -1,
                   .osc_port = -1,
                   .plugin_start_s = ENGINE_PLUGIN_START_S,
                   .priority = ENGINE_PRIORITY };
  IoConfig* const io = &args.live.io;
  if (!args.live.nsm_url) {
    args.live.state = state_folder();
  }
  // clang-format off
  const Option table[] = {
    { "io",         0,   OPTION_CHOICE,                                 .choices = io_choices, .to.choice = &args.io, .help = "Audio driver (default auto: the first that opens at the start, in this order)" },
    { "wait",       0,   OPTION_FLAG,                                   .to.flag = &io->wait,                         .help = "JACK, PortAudio: start without a server or device, and wait for it" },
    { "rate",       'r', OPTION_NUMBER,  "HZ",      8000,       768000, .to.number = &io->rate_hz,                    .help = "Frames per second, default the driver's (dummy: 48000)" },
    { "block",      'b', OPTION_INTEGER, "N",          1, FX_MAX_BLOCK, .to.integer = &args.block_frames,             .help = "Frames per block, default the driver's (dummy: 256)" },
    { "channels",   'c', OPTION_TEXT,    "IN:OUT",                      .to.text = &args.channels,                    .help = "Ports to make, default 2:2" },
    { "depth",      0,   OPTION_INTEGER, "N",          0,            2, .to.integer = &args.depth,                    .help = "Blocks in flight; each adds one block to the latency; default 1" },
    { "on-late",    0,   OPTION_TEXT,    "WHAT",                        .to.text = &args.on_late,                     .help = "Fallback of outputs without a late statement: auto (default), dry, silence or -20dB" },
    { "ceiling",    0,   OPTION_NUMBER,  "DB",       -60,           24, .to.number = &args.ceiling_db,                .help = "Largest output level, with a soft knee of 0.5 dB below it; default -0.3" },
    BACKEND_OPTIONS(&args.backend),
    { "gpu-sleep",  0,   OPTION_FLAG,                                   .to.flag = &args.live.engine.gpu_may_sleep,   .help = "Let the GPU rest between blocks: cooler, and free for other programs, but slower" },
    { "helpers",    0,   OPTION_INTEGER, "N",          0,           63, .to.integer = &args.n_helpers,                .help = "Additional cores for the effects, default all but one" },
    { "plugin-start", 0, OPTION_INTEGER, "S",          1, ENGINE_PLUGIN_START_LONGEST_S, .to.integer = &args.plugin_start_s, .help = "Seconds for plugins to start, default 45; an edit that needs more is refused" },
    { "realtime",   0,   OPTION_SWITCH,                                 .to.flag = &args.live.engine.realtime,        .help = "Use SCHED_FIFO and locked memory, default on" },
    { "priority",   0,   OPTION_INTEGER, "N",          1,           95, .to.integer = &args.priority,                 .help = "Real-time priority of the effects, default 5, as clients of jackd -R" },
    { "in-process", 0,   OPTION_FLAG,                                   .to.flag = &args.in_process,                  .help = "Run effects in this process, where a crash ends the program; default: in a worker process" },
    { "osc-port",   'p', OPTION_INTEGER, "N",          0,        65535, .to.integer = &args.osc_port,                 .help = "UDP and TCP port for OSC, default 9770; 0: a free port, which the program prints" },
    { "osc-bind",   0,   OPTION_TEXT,    "ADDRESS",                     .to.text = &args.live.bind_address,           .help = "Address for OSC, default 127.0.0.1, which stays open beside an address that others can reach" },
    { "osc-allow",  0,   OPTION_TEXT,    "LIST",                        .to.text = &args.osc_allow,                   .help = "Other machines that may send: ADDRESS[/BITS],...; default none" },
    { "osc-notify", 0,   OPTION_TEXT,    "LIST",                        .to.text = &args.osc_notify,                  .help = "Listeners that get all values and changes: HOST:PORT,..., IPv6 in brackets; default none" },
    { "root",       0,   OPTION_TEXT,    "DIR",                         .to.text = &args.live.root,                   .help = "Folder of all files that commands name; default the rack file's, else the current folder" },
    { "name",       'n', OPTION_TEXT,    "CLIENT",                      .to.text = &io->client_name,                  .help = "JACK client name, default warprack; a session manager (NSM_URL) chooses it" },
    { "server",     0,   OPTION_TEXT,    "NAME",                        .to.text = &io->server_name,                  .help = "Name of the JACK server, default JACK's default" },
    { "connect",    0,   OPTION_TEXT,    "PATTERN",                     .to.text = &io->connect_to,                   .help = "JACK ports to connect: part of their names, or a regular expression; default one device" },
    { "no-connect", 0,   OPTION_FLAG,                                   .to.flag = &args.no_connect,                  .help = "Connect to no JACK ports" },
    { "midi",       0,   OPTION_FLAG,                                   .to.flag = &io->midi,                         .help = "JACK: make MIDI ports, also if the rack has no MIDI lines at the start" },
    { "device",     'd', OPTION_TEXT,    "NAME",                        .to.text = &io->device,                       .help = "PortAudio device: its name, a part of the name, or its index" },
    { "host-api",   0,   OPTION_TEXT,    "NAME",                        .to.text = &io->host_api,                     .help = "PortAudio host API: its name, or the beginning of the name" },
    { "play",       0,   OPTION_TEXT,    "FILE",                        .to.text = &io->play,                         .help = "Dummy: play this file into the inputs, then silence" },
    { "record",     0,   OPTION_TEXT,    "FILE",                        .to.text = &io->record,                       .help = "Dummy: write the outputs to this file (32-bit float WAV)" },
    { "fast",       0,   OPTION_FLAG,                                   .to.flag = &io->fast,                         .help = "Dummy: run as fast as possible; no block is late" },
    MISSING_OPTION(&args.live.missing),
    { "state",      0,   OPTION_TEXT,    "DIR",                         .to.text = &args.live.state,                  .help = "Save the rack in DIR, and start with the saved rack; default $STATE_DIRECTORY, else none" },
    { "fresh",      0,   OPTION_FLAG,                                   .to.flag = &args.live.fresh,                  .help = "Start with RACK instead of the saved rack" },
    { "duration",   't', OPTION_NUMBER,  "S",          0,          1e9, .to.number = &io->duration_s,                 .help = "Stop after this many seconds; default 0: never" },
    { "verbose",    'v', OPTION_FLAG,                                   .to.flag = &args.live.verbose,                .help = "Print a status line every second" },
    { "json",       'j', OPTION_FLAG,                                   .to.flag = &args.live.json,                   .help = "Print events and status as JSON lines" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .max_operands = 1 };
  Operands operands;
  if (!options_parse(&cmd_run, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  if (operands.n) {
    args.live.rack = operands.words[0];
  }
  return run(&args);
}
