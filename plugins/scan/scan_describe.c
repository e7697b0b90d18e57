// SPDX-License-Identifier: GPL-3.0-or-later
// Describes bundles, each in a child.  If a format prepares, one child does so, and forks the
// others.

#include "scan_describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define BUNDLE_MAX_BYTES    (64U << 20U) // text of a bundle
#define MAX_CPU_S           60U
#define MAX_FILE_BYTES      (64U << 10U)
#define PREPARING_MAX_BYTES CATALOGUE_MAX_BYTES // text of all bundles of a format

// ---- text ----

static void
write_bundle(TextBuffer* const text, const ScanBundle* const bundle)
{
  const CatalogueBundle* const old = bundle->is_kept ? bundle->old : NULL;
  catalogue_write_bundle(text,
                         &(CatalogueBundle){ .format = bundle->found->format->name,
                                             .path = bundle->found->path,
                                             .key = old ? old->key : bundle->key,
                                             .fault = old ? old->fault : bundle->fault,
                                             .text = old ? old->text : bundle->text,
                                             .n_bytes = old ? old->n_bytes : bundle->n_bytes });
}

char*
scan_print(const Scan* const scan, size_t* const n_bytes)
{
  TextBuffer text = { .bytes = NULL };
  text_buffer_add(&text, CATALOGUE_START);
  for (uint32_t b = 0; b < scan->n; ++b) {
    if (scan->bundles[b].is_kept || scan->bundles[b].is_done) {
      write_bundle(&text, &scan->bundles[b]);
    }
  }
  *n_bytes = text.n;
  return text_buffer_take(&text);
}

// ---- results ----

static void
set_fault(ScanBundle* const bundle, const char* const fault)
{
  free(bundle->text);
  bundle->text = NULL;
  bundle->n_bytes = 0;
  snprintf(bundle->fault, sizeof(bundle->fault), "%s", fault);
  bundle->is_done = true;
}

static Status
set_text(ScanBundle* const bundle, const char* const text, const size_t n_bytes)
{
  bundle->text = malloc(n_bytes + 1U);
  bundle->n_bytes = bundle->text ? n_bytes : 0U;
  bundle->is_done = true;
  if (bundle->text) {
    memcpy(bundle->text, text, n_bytes);
  }
  return bundle->text ? STATUS_OK : STATUS_NO_MEM;
}

/// Check that the text of a bundle has its plugins and nothing else.
static Status
check_text(ScanBundle* const bundle, Error* const error)
{
  TextBuffer text = { .bytes = NULL };
  text_buffer_add(&text, CATALOGUE_START);
  write_bundle(&text, bundle);
  const size_t n_bytes = text.n;
  char* const bytes = text_buffer_take(&text);
  Catalogue* catalogue = NULL;
  if (!bytes) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Status status = catalogue_new(bytes, n_bytes, &catalogue, error);
  uint32_t n_bundles = 0;
  if (!status) {
    catalogue_bundles(catalogue, &n_bundles);
    status = n_bundles == 1U ? STATUS_OK : error_set(error, STATUS_FILE, "has several bundles");
    catalogue_free(catalogue);
  }
  return status;
}

// ---- describing ----

/// The text that a child writes, and its fault.
typedef struct Writer {
  Report* report;
  bool is_full;
} Writer;

static bool
has_output(const Plugin* const plugin)
{
  bool has = false;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    has = has || (port->type == PORT_AUDIO && port->flags & PORT_OUTPUT);
  }
  return has;
}

/// Write a plugin.  One that nobody can hear cannot be used.
static void
on_found(void* const context, const Plugin* const plugin)
{
  Writer* const writer = context;
  TextBuffer text = { .bytes = NULL };
  Plugin listed = *plugin;
  listed.fault = *plugin->fault || has_output(plugin) ? plugin->fault : "it has no audio output";
  plugin_write(&text, &listed);
  const size_t n_bytes = text.n;
  char* const bytes = text_buffer_take(&text);
  writer->is_full =
      writer->is_full || !bytes || !report_add(writer->report, BUNDLE_MAX_BYTES, bytes, n_bytes);
  free(bytes);
}

static void
describe_work(void* const context, const uint32_t job, Report* const report)
{
  const Scan* const scan = context;
  Writer writer = { .report = report };
  Error error = { STATUS_OK, "" };
  const ScanBundle* const bundle = &scan->bundles[scan->jobs[job]];
  const Status status = scan->format->describe(bundle->found->path, on_found, &writer, &error);
  report->is_transient = status == STATUS_NO_MEM;
  if (status) {
    snprintf(report->fault, sizeof(report->fault), "%.*s", (int)sizeof(report->fault) - 1,
             error.text[0] ? error.text : status_text(error.status));
  } else if (writer.is_full) {
    snprintf(report->fault, sizeof(report->fault), "its description is too large");
  }
}

static void
describe_ended(void* const context, const uint32_t job, const Report* const report,
               const char* const fault)
{
  Scan* const scan = context;
  ScanBundle* const bundle = &scan->bundles[scan->jobs[job]];
  if (fault[0]) {
    set_fault(bundle, fault);
    bundle->key = report->is_transient ? 0U : bundle->key;
    return;
  }
  Error error = { STATUS_OK, "" };
  Status status = set_text(bundle, report->text, report->n_bytes);
  status = status ? status : check_text(bundle, &error);
  if (status == STATUS_NO_MEM) {
    scan->status = status;
  } else if (status) {
    char why[REPORT_FAULT_BYTES];
    snprintf(why, sizeof(why), "its description is damaged: %.200s", error.text);
    set_fault(bundle, why);
  }
}

/// Describe all bundles of the scan that are not done or kept.
static Status
describe_bundles(Scan* const scan, Error* const error)
{
  uint32_t n_jobs = 0;
  for (uint32_t b = 0; b < scan->n; ++b) {
    if (!scan->bundles[b].is_kept && !scan->bundles[b].is_done) {
      scan->jobs[n_jobs++] = b;
    }
  }
  const ChildJobs jobs = { .n_jobs = n_jobs,
                           .n_children = scan->n_children,
                           .limit_ms = scan->limit_ms,
                           .max_bytes = BUNDLE_MAX_BYTES,
                           .max_cpu_s = MAX_CPU_S,
                           .max_file_bytes = MAX_FILE_BYTES,
                           .work = describe_work,
                           .ended = describe_ended,
                           .context = scan };
  const Status status = children_run(&jobs, error);
  return status || !scan->status ? status
                                 : error_set(error, scan->status, "out of memory for the scan");
}

// ---- preparing ----

/// Let SIGALRM end this process after the time for a bundle; 0: not.
static void
set_alarm(const uint32_t limit_ms)
{
  const struct itimerval timer = {
    .it_value = { .tv_sec = limit_ms / 1000U, .tv_usec = limit_ms % 1000U * 1000U },
  };
  setitimer(ITIMER_REAL, &timer, NULL);
}

/// The child that prepares.
typedef struct Preparing {
  const Scan* scan;
  Report* report;
} Preparing;

static void
on_announced(void* const context, const char* const bundle)
{
  const Preparing* const preparing = context;
  const Scan* const scan = preparing->scan;
  for (uint32_t b = 0; b < scan->n; ++b) {
    if (!strcmp(scan->bundles[b].found->path, bundle)) {
      preparing->report->place = b + 1U;
    }
  }
  set_alarm(scan->limit_ms);
}

static Status
prepare(const Scan* const scan, Report* const report, Error* const error)
{
  Preparing preparing = { scan, report };
  const char** const paths = calloc(scan->n + 1U, sizeof(char*));
  uint32_t n = 0;
  for (uint32_t b = 0; paths && b < scan->n; ++b) {
    if (!scan->bundles[b].is_kept && !scan->bundles[b].is_done) {
      paths[n++] = scan->bundles[b].found->path;
    }
  }
  set_alarm(scan->limit_ms);
  const Status status = paths ? scan->format->prepare(paths, n, on_announced, &preparing, error)
                              : error_set(error, STATUS_NO_MEM, "out of memory");
  set_alarm(0);
  report->place = 0;
  free(paths);
  return status;
}

/// Prepare, then describe all bundles; the report is a catalogue of them.
static void
prepare_work(void* const context, const uint32_t job, Report* const report)
{
  (void)job;
  Scan* const scan = context;
  Error error = { STATUS_OK, "" };
  Status status = prepare(scan, report, &error);
  status = status ? status : describe_bundles(scan, &error);
  size_t n_bytes = 0;
  char* const text = scan_print(scan, &n_bytes);
  if (!status && (!text || !report_add(report, PREPARING_MAX_BYTES, text, n_bytes))) {
    status = error_set(&error, STATUS_LIMIT, "too many plugins");
  }
  if (status) {
    snprintf(report->fault, sizeof(report->fault), "%.250s", error.text);
  }
  free(text);
}

/// Take a bundle from the report of the preparing child.
static void
take_bundle(Scan* const scan, const CatalogueBundle* const from)
{
  for (uint32_t b = 0; b < scan->n; ++b) {
    ScanBundle* const bundle = &scan->bundles[b];
    if (bundle->is_kept || bundle->is_done || strcmp(bundle->found->path, from->path) != 0) {
      continue;
    }
    if (from->fault[0]) {
      set_fault(bundle, from->fault);
      bundle->key = from->key ? bundle->key : 0U; // 0: to be described again
    } else if (set_text(bundle, from->text, from->n_bytes)) {
      scan->status = STATUS_NO_MEM;
    }
  }
}

static Status
take_bundles(Scan* const scan, const Report* const report, Error* const error)
{
  char* const text = malloc(report->n_bytes + 1U);
  Catalogue* catalogue = NULL;
  if (!text) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memcpy(text, report->text, report->n_bytes);
  text[report->n_bytes] = '\0';
  const Status status = catalogue_new(text, report->n_bytes, &catalogue, error);
  uint32_t n = 0;
  const CatalogueBundle* const bundles = status ? NULL : catalogue_bundles(catalogue, &n);
  for (uint32_t b = 0; b < n; ++b) {
    take_bundle(scan, &bundles[b]);
  }
  catalogue_free(catalogue);
  return status;
}

static void
prepare_ended(void* const context, const uint32_t job, const Report* const report,
              const char* const fault)
{
  (void)job;
  Scan* const scan = context;
  Error error = { STATUS_OK, "" };
  const uint32_t place = report->is_complete ? 0U : report->place;
  scan->broken = place && place <= scan->n && !scan->bundles[place - 1U].is_done ? place : 0U;
  if (scan->broken) {
    set_fault(&scan->bundles[scan->broken - 1U], fault);
    scan->bundles[scan->broken - 1U].key *= !report->is_transient;
  } else if (fault[0] || take_bundles(scan, report, &error)) {
    for (uint32_t b = 0; b < scan->n; ++b) {
      if (!scan->bundles[b].is_kept && !scan->bundles[b].is_done) {
        set_fault(&scan->bundles[b], fault[0] ? fault : error.text);
        scan->bundles[b].key = 0;
      }
    }
  }
}

/// Prepare in a child and describe there; again without a bundle that ended it.
static Status
describe_prepared(Scan* const scan, Error* const error)
{
  const ChildJobs jobs = { .n_jobs = 1,
                           .limit_ms = (scan->n + 2U) * scan->limit_ms,
                           .max_bytes = PREPARING_MAX_BYTES,
                           .max_cpu_s = MAX_CPU_S,
                           .max_file_bytes = MAX_FILE_BYTES,
                           .may_fork = true,
                           .work = prepare_work,
                           .ended = prepare_ended,
                           .context = scan };
  Status status = STATUS_OK;
  do {
    scan->broken = 0;
    status = children_run(&jobs, error);
  } while (!status && scan->broken);
  return status || !scan->status ? status
                                 : error_set(error, scan->status, "out of memory for the scan");
}

Status
scan_describe(Scan* const scan, Error* const error)
{
  return scan->format->prepare ? describe_prepared(scan, error) : describe_bundles(scan, error);
}
