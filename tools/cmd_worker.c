// SPDX-License-Identifier: GPL-3.0-or-later
// warprack worker: the worker process, which `warprack run` starts.  Plans, effects and GPU drivers
// run in it, so that their failures do not stop the server.

#include "commands.h"
#include "rack_arg.h"

#include "engine/base/process.h"
#include "engine/base/sealed_text.h"
#include "engine/worker/worker_loop.h"
#include "plugins/catalogue.h"
#include "plugins/group/group.h"
#include "plugins/plugin_environment.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static int player_run(int argc, char** argv);

const Command cmd_worker = {
  .name = "worker",
  .usage = "",
  .summary = "The worker process, which \"run\" starts: plans and runs the rack",
  .run = player_run,
  .may_lose_output = true,
};

/// Use the server's catalogue of plugins.
static Status
use_plugins(const int fd, Error* const error)
{
  char* text = NULL;
  size_t n_bytes = 0;
  Catalogue* catalogue = NULL;
  Error why = { STATUS_OK, "" };
  Status status = sealed_text_read(fd, CATALOGUE_MAX_BYTES, &text, &n_bytes, &why);
  status = status ? status : catalogue_new(text, n_bytes, &catalogue, &why);
  status = status ? status : catalogue_follow(catalogue, &why);
  return status ? error_set(error, status, "catalogue of plugins: %s", why.text) : STATUS_OK;
}

/// Give access to the files of the folder, and of the rack, whose files may be anywhere.
static Status
open_files(const char* const root, const Rack* const rack, FxFiles* const files, Error* const error)
{
  RackArg* const arg = calloc(1, sizeof(RackArg));
  char* const copy = strdup(root);
  if (!arg || !copy) {
    free(copy);
    free(arg);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *arg = (RackArg){ .rack = (Rack*)rack, .root = copy }; // `rack` is only read
  *files = rack_arg_files(arg);
  return STATUS_OK;
}

static void
close_files(void* const context)
{
  RackArg* const arg = context;
  free(arg->root);
  free(arg);
}

/// The server decides when its worker ends.  The worker therefore ignores signals that a service
/// manager or a closed terminal sends to the whole process group.
static void
ignore_signals(void)
{
  static const int ignored[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ };
  for (uint32_t s = 0; s < ARRAY_LEN(ignored); ++s) {
    signal(ignored[s], SIG_IGN);
  }
}

static int
player_run(const int argc, char** const argv)
{
  static const WorkerLoopFiles files = { .use_plugins = use_plugins,
                                         .open = open_files,
                                         .close = close_files };
  (void)argv;
  if (argc > 1 || !process_has_socket()) {
    fprintf(stderr, PROGRAM_NAME " worker: plans and runs the rack of a " PROGRAM_NAME
                                 " run, which starts this process itself\n");
    return status_exit_code(STATUS_BAD_ARG);
  }
  prctl(PR_SET_NAME, PROGRAM_NAME "-worker"); // the name in ps and top
  plugin_environment();
  ignore_signals();
  process_be_killed_first(0);
  Error error = { STATUS_OK, "" };
  if (plugin_output_start(&error)) { // standard output then has the bound of standard error
    fprintf(stderr, PROGRAM_NAME " worker: %s\n", error.text);
  }
  groups_start("/proc/self/exe");
  const WorkerLoopEnd end = worker_loop_run(PROCESS_SOCKET, &files, &error);
  if (end != WORKER_LOOP_CLOSED && end != WORKER_LOOP_FAILED) { // the server reports these
    fprintf(stderr, PROGRAM_NAME " worker: %s\n", error.text);
  }
  return (int)end;
}
