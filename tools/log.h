// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Lines for standard output and standard error that never keep anybody waiting: log_say() puts a
   line into a bounded queue, a thread of its own writes it.  When nobody reads (a full pipe, a
   journal that has been stopped) lines are dropped and counted, and everything else goes on.

   A line belongs to a class.  Of each class one line is written per interval; of those that come
   sooner only the newest is kept, and written when the interval is over, with the number of lines
   that were left out before it.

   Where an output is the journal of systemd (JOURNAL_STREAM), each line begins with its level as
   "<4>", which the journal takes off.
*/
#ifndef WARPRACK_TOOLS_LOG_H
#define WARPRACK_TOOLS_LOG_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_MAX_LINES   256U // that wait to be written
#define LOG_MAX_CLASSES 64U

/// How a line is finished when it is written.
typedef enum LogForm {
  LOG_TEXT,    ///< As it is
  LOG_JSON,    ///< An object on one line, which the number of lines left out is put into
  LOG_REWRITE, ///< On a terminal: takes the place of the last line, when that was such a one
} LogForm;

typedef struct LogClass {
  uint32_t index;       ///< Below LOG_MAX_CLASSES
  int level;            ///< Of <syslog.h>: LOG_ERR to LOG_INFO
  uint64_t interval_ns; ///< Shortest time between two lines
} LogClass;

typedef struct LogCounts {
  uint64_t written;
  uint64_t left_out; ///< For lines of their class that came after them
  uint64_t dropped;  ///< Because the queue was full, or the system did not take them
} LogCounts;

typedef struct Log Log;

/// Start the thread.  The file descriptors are borrowed until log_close(). [main]
NODISCARD Status log_open(int out_fd, int err_fd, Log** out, Error* error);

/// Write what waits, and stop; false when that has not been possible within timeout_ms: then the
/// thread is left to itself.  Accepts NULL. [main]
bool log_close(Log* log, uint32_t timeout_ms);

/// Say a line without its newline to out_fd, or to err_fd.  `text` is given away, and what is not
/// printable in it becomes "?"; NULL (out of memory) counts as dropped.  [any, not rt]
void log_say(Log* log, const LogClass* class, LogForm form, bool to_err, char* text);

LogCounts log_counts(Log* log); // [any, not rt]

#endif
