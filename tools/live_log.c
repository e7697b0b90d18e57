// SPDX-License-Identifier: GPL-3.0-or-later
// What a live run says, for people or as JSON lines.

#include "live_log.h"

#include "commands.h"
#include "engine_args.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

LiveLog
live_log_new(const bool json, const bool verbose)
{
  return (LiveLog){ .json = json, .verbose = verbose, .on_terminal = isatty(STDERR_FILENO) == 1 };
}

/// End a status line that stands open, so that the next text begins on its own line.
static void
close_line(LiveLog* const log)
{
  if (log->line_open) {
    fputc('\n', stderr);
    log->line_open = false;
  }
}

/// A reader that went away must not end the sound: failures to print are ignored here.
static void
print_event(json_t* const event)
{
  if (event) {
    json_dumpf(event, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(event);
  }
}

static json_t*
counters_json(const char* const event, const IoStatus* const io, const EngineStatus* const engine)
{
  const PeriodCounts* const counts = &engine->counts;
  return json_pack("{ss sI sI sI sI sI sI sI sI sI sI sf sf sf ss}", "event", event,       //
                   "blocks", (json_int_t)counts->blocks, "late", (json_int_t)counts->late, //
                   "failed", (json_int_t)counts->failed, "device_errors",
                   (json_int_t)engine->device_errors, "dry", (json_int_t)counts->dry, "clipped",
                   (json_int_t)counts->clipped, "bad_samples",
                   (json_int_t)(counts->bad_in + counts->bad_out), //
                   "xruns", (json_int_t)io->xruns, "reconnects", (json_int_t)io->reconnects,
                   "plans", (json_int_t)engine->plans, "load_p50", engine->load_p50, "load_p99",
                   engine->load_p99, "load_max", engine->load_max, "backend", engine->backend);
}

void
live_log_running(LiveLog* const log, const char* const driver, const IoStatus* const io,
                 const EngineStatus* const engine, const uint16_t osc_port)
{
  if (log->json) {
    print_event(json_pack("{ss ss so sf si si si si si ss ss si}", "event", "running", "driver",
                          driver, "device", command_json_text(io->device), "rate_hz", io->rate_hz,
                          "block_frames", (int)io->block_frames, "depth", (int)engine->depth,
                          "latency_frames", (int)engine->latency_frames, "n_in", (int)engine->n_in,
                          "n_out", (int)engine->n_out, "backend", engine->backend, "gpu",
                          engine->device, "osc_port", (int)osc_port));
    return;
  }
  close_line(log);
  char words[BACKEND_WORDS_BYTES];
  printf("running on %s (%s): %.0f Hz, blocks of %u frames, %u in, %u out, "
         "latency %u frames (%.2f ms), effects on %s, OSC port %u\n",
         driver, io->device, io->rate_hz, io->block_frames, engine->n_in, engine->n_out,
         engine->latency_frames, 1e3 * engine->latency_frames / io->rate_hz,
         backend_words(engine->backend, engine->device, words), osc_port);
  fflush(stdout);
}

void
live_log_note(LiveLog* const log, const char* const text)
{
  if (log->json) {
    print_event(json_pack("{ss so}", "event", "note", "text", command_json_text(text)));
    return;
  }
  close_line(log);
  fprintf(stderr, PROGRAM_NAME " run: %s\n", text);
}

void
live_log_status(LiveLog* const log, const IoStatus* const io, const EngineStatus* const engine)
{
  if (log->json) {
    print_event(counters_json("status", io, engine));
    return;
  }
  if (!log->verbose) {
    return;
  }
  const PeriodCounts* const counts = &engine->counts;
  const char* const state = io->state == IO_STATE_RUNNING ? "" : "waiting for audio; ";
  fprintf(stderr,
          "%s%sload %.1f %% (p99 %.1f, max %.1f), late %llu, xruns %llu, clipped %llu, "
          "%u nodes on %s, plan %llu%s",
          log->on_terminal ? "\r\033[K" : "", state, 100.0 * engine->load_p50,
          100.0 * engine->load_p99, 100.0 * engine->load_max, (unsigned long long)counts->late,
          (unsigned long long)io->xruns, (unsigned long long)counts->clipped, engine->n_nodes,
          engine->backend, (unsigned long long)engine->plans, log->on_terminal ? "" : "\n");
  log->line_open = log->on_terminal;
}

void
live_log_stopped(LiveLog* const log, const char* const why, const IoStatus* const io,
                 const EngineStatus* const engine)
{
  if (log->json) {
    json_t* const event = counters_json("stopped", io, engine);
    if (event) {
      json_object_set_new(event, "why", json_string(why));
    }
    print_event(event);
    return;
  }
  close_line(log);
  const PeriodCounts* const counts = &engine->counts;
  printf("stopped (%s): %llu blocks, %llu late, %llu xruns, %llu samples clipped, "
         "load %.1f %% (p99 %.1f, max %.1f)\n",
         why, (unsigned long long)counts->blocks, (unsigned long long)counts->late,
         (unsigned long long)io->xruns, (unsigned long long)counts->clipped,
         100.0 * engine->load_p50, 100.0 * engine->load_p99, 100.0 * engine->load_max);
}
