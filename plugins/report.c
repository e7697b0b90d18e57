// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A report as text, one line:

       report  FAULT FLAGS LATENCY TAIL NS BYTES THREADS ALLOCATIONS LOCKS RUN BLOCK MOVE PORT ...

   FLAGS are words with commas between them.  PORT is the place of a port that changes the latency,
   among the lines "port", from 0.
*/

#include "report.h"

#define FLAG_NAME(word, name, text) name,
static const char* const flag_names[] = { REPORT_FLAGS(FLAG_NAME) };

ReportPromise
report_promise(const PluginReport* const report)
{
  if (!report || *report->fault || report->block_error > REPORT_SAME) {
    return REPORT_NOTHING;
  }
  const bool is_exact = report->run_error <= REPORT_SAME && report->move_error <= REPORT_SAME;
  return is_exact ? REPORT_EXACT : REPORT_SPLITS;
}

bool
report_moves(const PluginReport* const report, const uint32_t port)
{
  bool is_found = false;
  for (uint32_t m = 0; m < report->n_moving; ++m) {
    is_found = is_found || report->moving[m] == port;
  }
  return is_found;
}

void
report_write(TextBuffer* const text, const PluginReport* const report)
{
  text_buffer_add(text, "report");
  fields_write_text(text, report->fault);
  fields_write_flags(text, report->flags, flag_names, REPORT_N_FLAGS);
  fields_write_count(text, report->latency_frames);
  fields_write_count(text, report->tail_frames);
  fields_write_count(text, report->block_ns);
  fields_write_count(text, report->n_bytes);
  fields_write_count(text, report->n_threads);
  fields_write_count(text, report->n_allocations);
  fields_write_count(text, report->n_locks);
  fields_write_number(text, report->run_error);
  fields_write_number(text, report->block_error);
  fields_write_number(text, report->move_error);
  for (uint32_t m = 0; m < report->n_moving; ++m) {
    fields_write_count(text, report->moving[m]);
  }
  text_buffer_add(text, "\n");
}

/// Read the ports that change the latency, in rising order.
static void
read_moving(FieldLine* const line, const uint32_t n_ports, Arena* const arena,
            PluginReport* const report)
{
  const uint32_t n = fields_left(line);
  uint32_t* const moving = n <= n_ports ? arena_take(arena, n, sizeof(uint32_t)) : NULL;
  if (!moving) {
    fields_fail(line, n > n_ports ? STATUS_FILE : STATUS_NO_MEM,
                n > n_ports ? "more ports than the plugin has" : "out of memory");
    return;
  }
  for (uint32_t m = 0; m < n && !line->status; ++m) {
    moving[m] = (uint32_t)fields_count(line, "port of the latency", n_ports - 1U);
    if (m && moving[m - 1U] >= moving[m]) {
      fields_fail(line, STATUS_FILE, "the port %u is not above the one before it", moving[m]);
    }
  }
  report->moving = moving;
  report->n_moving = n;
}

/// A largest difference.
static double
read_error(FieldLine* const line, const char* const what)
{
  const double error = fields_number(line, what);
  if (error < 0.0) {
    fields_fail(line, STATUS_FILE, "the %s is negative: %g", what, error);
  }
  return error;
}

void
report_read(FieldLine* const line, const uint32_t n_ports, Arena* const arena,
            PluginReport* const report)
{
  report->fault = fields_text(line, "fault");
  report->flags = fields_flags(line, flag_names, REPORT_N_FLAGS);
  report->latency_frames = (uint32_t)fields_count(line, "latency", UINT32_MAX);
  report->tail_frames = (uint32_t)fields_count(line, "tail", UINT32_MAX);
  report->block_ns = (uint32_t)fields_count(line, "time of a block", UINT32_MAX);
  report->n_bytes = fields_count(line, "memory", UINT64_MAX);
  report->n_threads = (uint32_t)fields_count(line, "number of threads", UINT32_MAX);
  report->n_allocations = (uint32_t)fields_count(line, "number of allocations", UINT32_MAX);
  report->n_locks = (uint32_t)fields_count(line, "number of locks", UINT32_MAX);
  report->run_error = read_error(line, "difference of runs");
  report->block_error = read_error(line, "difference of blocks");
  report->move_error = read_error(line, "difference of moves");
  read_moving(line, n_ports, arena, report);
}
