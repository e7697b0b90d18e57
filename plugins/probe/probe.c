// SPDX-License-Identifier: GPL-3.0-or-later
// Probes plugins in children, and puts their reports into a catalogue.

#include "probe.h"

#include "probe_plugin.h"

#include "plugins/format.h"
#include "plugins/scan/scan_children.h"

#include "engine/base/text.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_BYTES      (1U << 20U)  // of a report's line
#define MAX_CPU_S      600U         // a plugin may use several threads
#define MAX_FILE_BYTES (64U << 20U) // some plugins share tables in memory of several MiB

typedef struct Probing {
  const ProbeRequest* request;
  char** reports; ///< [n_entries of the catalogue] lines
  Status status;  ///< Of a callback
} Probing;

// ---- child ----

/// Yield processor and disk to everything else.
static void
become_idle(void)
{
  const int for_process = 1;      // IOPRIO_WHO_PROCESS
  const int idle_class = 3 << 13; // IOPRIO_CLASS_IDLE
  const struct sched_param none = { 0 };
  (void)sched_setscheduler(0, SCHED_IDLE, &none);
  (void)syscall(SYS_ioprio_set, for_process, 0, idle_class);
}

/// Note the step, and lengthen the report, so that its time limit begins again.
static void
on_began(void* const context, const ProbeStep step)
{
  Report* const report = context;
  report->place = step;
  (void)!report_add(report, MAX_BYTES, "\n", 1U);
}

static Status
measure(const char* const description, const size_t n_bytes, Report* const report,
        TextBuffer* const line, Error* const error)
{
  Arena arena = { .chunks = NULL };
  Plugin* plugin = NULL;
  PluginReport measured;
  char* const text = strndup(description, n_bytes);
  Status status = text ? plugin_read(text, &arena, &host_functions, &plugin, error)
                       : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : probe_plugin(plugin, on_began, report, &arena, &measured, error);
  if (!status) {
    report_write(line, &measured);
  }
  arena_clear(&arena);
  free(text);
  return status;
}

static void
probe_work(void* const context, const uint32_t job, Report* const report)
{
  const Probing* const probing = context;
  Error error = { STATUS_OK, "" };
  size_t n_bytes = 0;
  if (probing->request->is_idle) {
    become_idle();
  }
  const char* const description =
      catalogue_description(probing->request->catalogue, probing->request->entries[job], &n_bytes);
  TextBuffer line = { .bytes = NULL };
  Status status = measure(description, n_bytes, report, &line, &error);
  const size_t n = line.n;
  char* const text = text_buffer_take(&line);
  if (!status && (!text || !report_add(report, MAX_BYTES, text, n))) {
    status = error_set(&error, STATUS_NO_MEM, "out of memory");
  }
  if (status) {
    snprintf(report->fault, sizeof(report->fault), "%.*s", (int)sizeof(report->fault) - 1,
             error.text[0] ? error.text : status_text(status));
  }
  free(text);
}

// ---- parent ----

/// The line of a report that has only a fault; NULL if out of memory.
static char*
fault_line(const Report* const report, const char* const fault)
{
  static const char* const steps[] = {
#define STEP_TEXT(word, text) text,
    PROBE_STEPS(STEP_TEXT)
  };
  char why[REPORT_FAULT_BYTES + 64U];
  const bool has_step = !report->is_complete && report->place < PROBE_N_STEPS;
  snprintf(why, sizeof(why), "%s%s%s", fault, has_step ? " " : "",
           has_step ? steps[report->place] : "");
  TextBuffer line = { .bytes = NULL };
  report_write(&line, &(PluginReport){ .fault = why });
  return text_buffer_take(&line);
}

/// The line that a child has written, checked; NULL if it is none.
static char*
checked_line(const char* const description, const size_t n_bytes, const Report* const report)
{
  Arena arena = { .chunks = NULL };
  Plugin* plugin = NULL;
  TextBuffer line = { .bytes = NULL };
  const size_t n_added = report->n_bytes;
  char* const text = malloc(n_bytes + n_added + 1U);
  if (text) {
    memcpy(text, description, n_bytes);
    size_t n = n_bytes;
    for (size_t i = 0; i < n_added; ++i) {
      if (report->text[i] != '\n') { // a new line for each step
        memcpy(text + n, report->text + i, n_added - i);
        n += n_added - i;
        break;
      }
    }
    text[n] = '\0';
    if (!plugin_read(text, &arena, &host_functions, &plugin, NULL) && plugin->report) {
      report_write(&line, plugin->report);
    }
  }
  const bool is_valid = line.n > 0;
  char* const written = text_buffer_take(&line);
  arena_clear(&arena);
  free(text);
  if (!is_valid) {
    free(written);
  }
  return is_valid ? written : NULL;
}

static void
probe_ended(void* const context, const uint32_t job, const Report* const report,
            const char* const fault)
{
  Probing* const probing = context;
  const uint32_t entry = probing->request->entries[job];
  size_t n_bytes = 0;
  const char* const description =
      catalogue_description(probing->request->catalogue, entry, &n_bytes);
  char* line = fault[0] ? NULL : checked_line(description, n_bytes, report);
  line = line ? line : fault_line(report, fault[0] ? fault : "its report was damaged");
  probing->status = line ? probing->status : STATUS_NO_MEM;
  probing->reports[entry] = line;
}

static Status
write_reports(const Probing* const probing, char** const text, size_t* const n_bytes,
              Error* const error)
{
  TextBuffer written = { .bytes = NULL };
  catalogue_write_reports(&written, probing->request->catalogue,
                          (const char* const*)probing->reports);
  *n_bytes = written.n;
  *text = text_buffer_take(&written);
  return *text ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory for the reports");
}

Status
probe_run(const ProbeRequest* const request, char** const text, size_t* const n_bytes,
          Error* const error)
{
  uint32_t n = 0;
  catalogue_entries(request->catalogue, &n);
  Probing probing = { .request = request, .reports = calloc(n + 1U, sizeof(char*)) };
  const ChildJobs jobs = { .n_jobs = request->n_entries,
                           .n_children = request->n_children,
                           .limit_ms = request->limit_ms ? request->limit_ms : PROBE_LIMIT_MS,
                           .max_bytes = MAX_BYTES,
                           .max_cpu_s = MAX_CPU_S,
                           .max_file_bytes = MAX_FILE_BYTES,
                           .work = probe_work,
                           .ended = probe_ended,
                           .context = &probing };
  Status status = probing.reports ? children_run(&jobs, error) : STATUS_NO_MEM;
  status = status ? status : probing.status;
  status = status ? status : write_reports(&probing, text, n_bytes, error);
  for (uint32_t e = 0; probing.reports && e < n; ++e) {
    free(probing.reports[e]);
  }
  free(probing.reports);
  return status;
}
