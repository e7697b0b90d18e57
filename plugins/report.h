// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The report of a probe: what a plugin really does, measured once in a child process
   (plugins/probe/), because what plugins declare is often wrong.

   A report is the last line of a plugin's description (plugin_text.c), so that the server and its
   workers know the same reports.
*/
#ifndef WARPRACK_PLUGINS_REPORT_H
#define WARPRACK_PLUGINS_REPORT_H

#include "fields.h"

#include "engine/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define REPORT_RATE_HZ      48000.0 // of all measurements
#define REPORT_BLOCK_FRAMES 64U     // of PluginReport::block_ns
#define REPORT_TAIL_SECONDS 4U      // longest tail that is measured
#define REPORT_MOVES                                                                               \
  256U // runs whose calls are counted, at rest or each after a move of a parameter

/// Samples are the same if they differ by less, relative to the loudest one of at least 1: -120 dB.
#define REPORT_SAME 1e-6

// clang-format off

/// Flags: word in enumerations, name in the catalogue, sentence for people.
#define REPORT_FLAGS(ROW)                                                                          \
  ROW(WRITES_INPUT, "writes-input", "it writes to its inputs, which are copies")                   \
  ROW(NAN,          "nan",          "some values of its parameters make NaN or infinity")          \
  ROW(PRINTS,       "prints",       "it prints")

// clang-format on

#define REPORT_FLAG_SHIFT(word, name, text) REPORT_SHIFT_##word,
enum { REPORT_FLAGS(REPORT_FLAG_SHIFT) REPORT_N_FLAGS };
#define REPORT_FLAG_BIT(word, name, text) REPORT_##word = 1U << REPORT_SHIFT_##word,
enum { REPORT_FLAGS(REPORT_FLAG_BIT) REPORT_NO_FLAGS = 0U };

typedef struct PluginReport {
  const char* fault;       ///< Why it could not be measured: "crashed (SIGSEGV)"; ""
  uint32_t flags;          ///< REPORT_FLAGS, or'ed
  uint32_t latency_frames; ///< At the initial values
  uint32_t tail_frames;    ///< Above -90 dBFS after loud noise, at the initial values
  uint32_t block_ns;       ///< Median time of a block of REPORT_BLOCK_FRAMES
  uint64_t n_bytes;        ///< Memory that an instance has after a run
  uint32_t n_threads;      ///< That an instance starts
  uint32_t n_allocations;  ///< Calls that allocate or free, in at most REPORT_MOVES runs
  uint32_t n_locks;        ///< Calls that lock or wait, in the same runs
  double run_error;        ///< Largest difference between two instances, one of them offline
  double block_error;      ///< Between runs of different lengths, at fixed values
  double move_error;       ///< The same while parameters move
  uint32_t n_moving;
  const uint32_t* moving; ///< [n_moving] places in Plugin::ports whose values change the latency
} PluginReport;

/// What the host may promise of a plugin.
typedef enum ReportPromise {
  REPORT_NOTHING, ///< Not measured, or the samples differ
  REPORT_SPLITS,  ///< Runs may be split at any frame, so parameters change at their frames
  REPORT_EXACT,   ///< The same samples, live or offline, with blocks of any length
  REPORT_N_PROMISES
} ReportPromise;

/// @param report NULL: there is none. [any]
ReportPromise report_promise(const PluginReport* report);

/// True if the latency depends on this port. [any]
bool report_moves(const PluginReport* report, uint32_t port);

/// Write the line of a report. [any, not rt]
void report_write(TextBuffer* text, const PluginReport* report);

/// Read a line that begins with "report".  The arena gets its list; an error is that of the line.
/// @param n_ports Of the plugin. [any, not rt]
void report_read(FieldLine* line, uint32_t n_ports, Arena* arena, PluginReport* report);

#endif
