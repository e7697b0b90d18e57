// SPDX-License-Identifier: GPL-3.0-or-later
// The request is a line of numbers, a line with the root, and the rack.  The answer has a line for
// each value, or one line for a failure.

#include "check_child.h"

#include "engine_args.h"
#include "probing.h"
#include "rack_arg.h"

#include "engine/base/text_buffer.h"
#include "plugins/plugin_environment.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_BYTES (RACK_MAX_TEXT + 8192U)
#define ANSWER_BYTES  (64U << 10U)
#define WARNINGS_MAX  20U
#define BLOCKS        400U // as cmd_check.c
#define PLACE         "rack"
#define FAILURE       "fail\t"

#define FORMAT "%lf %u %u %u %d %u %d %zu %u\n"

// ---- the parent ----

Status
check_child_start(ChildMail* const child, const CheckRequest* const request, Error* const error)
{
  const EngineConfig* const engine = request->engine;
  if (strchr(request->root, '\n')) {
    return error_set(error, STATUS_BAD_ARG, "the name of the server's folder has a new line");
  }
  TextBuffer text = { .bytes = NULL };
  text_buffer_print(&text, "%.17g %u %u %u %d %u %d %zu %u\n", request->rate_hz,
                    request->block_frames, engine->n_in, engine->n_out, (int)engine->backend,
                    engine->gpu_index, (int)engine->gpu_may_sleep, engine->memory_bytes,
                    engine->n_helpers);
  text_buffer_print(&text, "%s\n%s", request->root, request->text);
  const size_t n_bytes = text.n;
  char* const all = text_buffer_take(&text);
  Status status = all ? child_mail_start(child, "check", error)
                      : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    status = child_mail_send(child->socket, all, n_bytes, error);
    if (status) {
      child_mail_stop(child);
    }
  }
  free(all);
  return status;
}

/// Read the line of a failure.  Returns false for any other text.
static bool
read_failure(const char* const text, Error* const why)
{
  unsigned code = 0;
  int n_read = 0;
  if (sscanf(text, FAILURE "%u\t%n", &code, &n_read) != 1 || !n_read) {
    return false;
  }
  const bool is_known = code != STATUS_OK && code < STATUS_N_STATUSES;
  error_set(why, is_known ? (Status)code : STATUS_WORKER, "%.*s", (int)strcspn(text + n_read, "\n"),
            text + n_read);
  return true;
}

bool
check_child_has_ended(ChildMail* const child, char** const lines, Error* const why)
{
  size_t n_bytes = 0;
  if (!child_mail_has_ended(child, "the check", ANSWER_BYTES, lines, &n_bytes, why)) {
    return false;
  }
  if (*lines && read_failure(*lines, why)) {
    free(*lines);
    *lines = NULL;
  }
  return true;
}

void
check_child_stop(ChildMail* const child)
{
  if (child->process) {
    kill(-process_id(child->process), SIGKILL); // its session, with the children that probe plugins
  }
  child_mail_stop(child);
}

// ---- the child ----

/// What the child was asked.
typedef struct Asked {
  EngineConfig config;
  double rate_hz;
  uint32_t block_frames;
  RackArg arg; ///< Without a rack until it is read: all its files must be below the root
  const char* text;
} Asked;

static Status
read_request(char* const all, Asked* const asked, Error* const error)
{
  int backend = 0;
  int may_sleep = 0;
  EngineConfig* const config = &asked->config;
  const int n =
      sscanf(all, FORMAT, &asked->rate_hz, &asked->block_frames, &config->n_in, &config->n_out,
             &backend, &config->gpu_index, &may_sleep, &config->memory_bytes, &config->n_helpers);
  char* const root = n == 9 ? strchr(all, '\n') : NULL;
  char* const end = root ? strchr(root + 1, '\n') : NULL;
  if (!end) {
    return error_set(error, STATUS_WORKER, "the request is incomplete");
  }
  *end = '\0';
  config->backend = (EngineBackend)backend;
  config->gpu_may_sleep = may_sleep; // else the costs that the server has measured are not found
  config->note = engine_say;
  config->files = rack_arg_files(&asked->arg);
  asked->arg.root = strdup(root + 1);
  asked->text = end + 1;
  return asked->arg.root ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

/// Read the rack, probe its plugins, and read it again with their reports.
static Status
read_rack(const Command* const command, const Asked* const asked, Rack** const rack,
          Error* const error)
{
  bool is_new = false;
  Status status = rack_parse(asked->text, PLACE, NULL, rack, error);
  status = status ? status : probing_rack(command, *rack, &is_new, error);
  if (status || is_new) {
    rack_free(*rack);
    *rack = NULL;
  }
  return !status && is_new ? rack_parse(asked->text, PLACE, NULL, rack, error) : status;
}

static void
add_count(TextBuffer* const lines, const char* const key, const uint64_t value)
{
  text_buffer_print(lines, "%s\th\t%" PRIu64 "\n", key, value);
}

static void
add_number(TextBuffer* const lines, const char* const key, const double value)
{
  text_buffer_print(lines, "%s\tf\t%.9g\n", key, value);
}

static void
add_text(TextBuffer* const lines, const char* const key, const char* const value)
{
  text_buffer_print(lines, "%s\ts\t%.*s\n", key, (int)strcspn(value, "\t\n"), value);
}

static void
add_warnings(TextBuffer* const lines, const char* const warnings)
{
  uint32_t n = 0;
  for (const char* line = warnings; *line && n < WARNINGS_MAX; ++n) {
    add_text(lines, "warning", line);
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
}

static void
print(const Asked* const asked, const Rack* const rack, const EnginePrediction* const own,
      const char* const warnings, TextBuffer* const lines)
{
  const WorkerFacts* const facts = &own->facts;
  add_count(lines, "nodes", rack->n_nodes);
  add_count(lines, "connections", rack->n_edges);
  add_count(lines, "outputs", facts->n_out);
  add_number(lines, "rate_hz", asked->rate_hz);
  add_count(lines, "block_frames", asked->block_frames);
  add_count(lines, "rack_latency_frames", facts->rack_latency_frames);
  add_number(lines, "tail_s",
             facts->tail_frames == UINT64_MAX ? (double)INFINITY
                                              : (double)facts->tail_frames / asked->rate_hz);
  add_number(lines, "period_us", 1e6 * (double)asked->block_frames / asked->rate_hz);
  add_number(lines, "needs_us", own->block_ns_p50 / 1e3);
  add_number(lines, "needs_us_p99", own->block_ns_p99 / 1e3);
  add_count(lines, "memory_bytes", facts->memory_bytes);
  add_count(lines, "making_bytes", facts->making_bytes);
  add_count(lines, "memory_limit", own->memory_limit_bytes);
  add_text(lines, "backend", own->status.backend);
  add_text(lines, "gpu", own->status.device);
  add_text(lines, "backend_note", own->status.backend_note);
  add_warnings(lines, warnings);
}

static Status
check(const Command* const command, const Asked* const asked, TextBuffer* const lines,
      Error* const error)
{
  Rack* rack = NULL;
  EnginePrediction own;
  Status status = read_rack(command, asked, &rack, error);
  status = status ? status
                  : engine_predict(&asked->config, rack, asked->rate_hz, asked->block_frames,
                                   BLOCKS, &own, error);
  if (!status) {
    char* const warnings = engine_warnings(rack, asked->rate_hz, &own.facts.fallbacks);
    print(asked, rack, &own, warnings ? warnings : "", lines);
    free(warnings);
  }
  rack_free(rack);
  return status;
}

int
check_child_run(const Command* const command)
{
  if (!child_mail_begin()) {
    return EXIT_SUCCESS; // nobody waits for the result
  }
  plugin_environment();
  Error error = { STATUS_OK, "" };
  char* all = NULL;
  size_t n_bytes = 0;
  Asked asked = { .text = NULL };
  TextBuffer lines = { .bytes = NULL };
  Status status = child_mail_receive(PROCESS_SOCKET, REQUEST_BYTES, &all, &n_bytes, &error);
  status = status ? status : read_request(all, &asked, &error);
  status = status ? status : check(command, &asked, &lines, &error);
  if (status) {
    text_buffer_print(&lines, FAILURE "%u\t%s\n", (unsigned)status, error.text);
  }
  const size_t n_answer = lines.n;
  char* const answer = text_buffer_take(&lines);
  status = answer ? child_mail_send(PROCESS_SOCKET, answer, n_answer, &error) : STATUS_NO_MEM;
  free(answer);
  rack_arg_clear(&asked.arg);
  free(all);
  return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
