// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Writes lines to standard output and standard error without blocking the caller: log_say() queues
   a line, and a separate thread writes it.  The queue is limited: if the output is blocked (a full
   pipe, a stopped journal), lines are dropped and counted.

   A line belongs to a class.  The thread writes one line of each class per interval.  Of further
   lines it keeps only the newest, and writes it at the end of the interval with the number of lines
   left out before it.

   If an output is the journal of systemd (JOURNAL_STREAM), each line begins with its level, such
   as "<4>", which the journal removes.
*/
#ifndef WARPRACK_TOOLS_LOG_H
#define WARPRACK_TOOLS_LOG_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_MAX_LINES   256U // waiting lines
#define LOG_MAX_CLASSES 64U

/// Completion of a line when it is written.
typedef enum LogForm {
  LOG_TEXT,    ///< Unchanged
  LOG_JSON,    ///< An object on one line; the number of lines left out becomes a member
  LOG_REWRITE, ///< On a terminal: replaces the last line if that was LOG_REWRITE too
} LogForm;

typedef struct LogClass {
  uint32_t index;       ///< Below LOG_MAX_CLASSES
  int level;            ///< Of <syslog.h>: LOG_ERR to LOG_INFO
  uint64_t interval_ns; ///< Minimum time between two lines
} LogClass;

typedef struct LogCounts {
  uint64_t written;
  uint64_t left_out; ///< Lines replaced by later lines of their class
  uint64_t dropped;  ///< Lines dropped because the queue was full, or because the write failed
} LogCounts;

typedef struct Log Log;

/// Start the thread.  The file descriptors are borrowed until log_close(). [main]
NODISCARD Status log_open(int out_fd, int err_fd, Log** out, Error* error);

/// Write the waiting lines, and stop.  Returns false if this takes longer than timeout_ms because
/// nobody reads, or ten times as long because the thread gets no processor time; the thread is then
/// abandoned.  Accepts NULL. [main]
bool log_close(Log* log, uint32_t timeout_ms);

/// Log a line (without newline) to out_fd, or to err_fd.  Takes ownership of `text`; NULL (out of
/// memory) counts as dropped.  Unprintable characters become "?". [any, not rt]
void log_say(Log* log, const LogClass* class, LogForm form, bool to_err, char* text);

LogCounts log_counts(Log* log); // [any, not rt]

#endif
