// SPDX-License-Identifier: GPL-3.0-or-later
// A queue of lines and the thread that writes them.

#include "log.h"

#include "engine/base/async_call.h"
#include "engine/base/time.h"
#include "engine/base/text.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STARVED_WAITS 10U // waits at the close for a thread that does not run

typedef struct Line {
  char* text;
  LogForm form;
  int level;
  bool to_err;
  uint64_t n_left_out; ///< Number of lines of its class left out before it
} Line;

typedef struct Class {
  uint64_t interval_ns;
  uint64_t free_ns; ///< Time at which the next line may be written
  Line newest;      ///< Waits for that time; `text` is NULL if there is none
} Class;

struct Log {
  int out_fd, err_fd;
  bool out_is_journal, err_is_journal;
  bool line_is_open; ///< [writer] The last line may be rewritten
  AsyncCall* writer;
  pthread_mutex_t lock; ///< Guards the members below
  pthread_cond_t changed;
  Class classes[LOG_MAX_CLASSES];
  Line queue[LOG_MAX_LINES]; ///< Oldest at `first`
  uint32_t first, n_lines;
  LogCounts counts;
  bool is_closing;
  bool is_writing; ///< The thread is in write(), perhaps for ever
};

// ---- the queue [lock held] ----

static void
drop(Log* const log, Line* const line)
{
  free(line->text);
  *line = (Line){ 0 };
  ++log->counts.dropped;
}

static void
enqueue(Log* const log, Line* const line)
{
  if (log->n_lines == LOG_MAX_LINES) {
    drop(log, line);
    return;
  }
  log->queue[(log->first + log->n_lines++) % LOG_MAX_LINES] = *line;
  *line = (Line){ 0 };
}

/// Queue the lines whose interval is over.  Returns the time of the next line; UINT64_MAX if none
/// waits.
static uint64_t
enqueue_due(Log* const log, const uint64_t now_ns)
{
  uint64_t next_ns = UINT64_MAX;
  for (uint32_t c = 0; c < LOG_MAX_CLASSES; ++c) {
    Class* const class = &log->classes[c];
    if (class->newest.text && (class->free_ns <= now_ns || log->is_closing)) {
      enqueue(log, &class->newest);
      class->free_ns = now_ns + class->interval_ns;
    } else if (class->newest.text && class->free_ns < next_ns) {
      next_ns = class->free_ns;
    }
  }
  return next_ns;
}

// ---- the writer's thread ----

static bool
write_all(const int fd, const char* bytes, size_t n_bytes)
{
  while (n_bytes) {
    const ssize_t n = write(fd, bytes, n_bytes);
    if (n < 0 && errno == EAGAIN) {
      (void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
    } else if (n < 0 && errno != EINTR) {
      return false;
    }
    bytes += n > 0 ? n : 0;
    n_bytes -= n > 0 ? (size_t)n : 0U;
  }
  return true;
}

/// Compose the complete line; the caller frees it.  NULL if out of memory.
static char*
compose(const Log* const log, const Line* const line)
{
  const bool is_journal = line->to_err ? log->err_is_journal : log->out_is_journal;
  char level[8] = "";
  if (is_journal) {
    snprintf(level, sizeof(level), "<%d>", line->level);
  }
  char left_out[64] = "";
  int n_bytes = (int)strlen(line->text);
  if (line->form == LOG_JSON) {
    --n_bytes; // the closing brace is added last
    snprintf(left_out, sizeof(left_out), line->n_left_out ? ",\"left_out\":%llu}" : "}",
             (unsigned long long)line->n_left_out);
  } else if (line->n_left_out) {
    snprintf(left_out, sizeof(left_out), " (%llu before it left out)",
             (unsigned long long)line->n_left_out);
  }
  const bool rewrites = line->form == LOG_REWRITE;
  char* text = NULL;
  const int n = asprintf(&text, "%s%s%.*s%s%s",
                         rewrites            ? "\r\033[K"
                         : log->line_is_open ? "\n"
                                             : "",
                         level, n_bytes, line->text, left_out, rewrites ? "" : "\n");
  return n < 0 ? NULL : text;
}

static bool
write_line(Log* const log, const Line* const line)
{
  char* const text = compose(log, line);
  const bool done = text && write_all(line->to_err ? log->err_fd : log->out_fd, text, strlen(text));
  log->line_is_open = line->form == LOG_REWRITE;
  free(text);
  return done;
}

/// Wait for a line to write.  Returns false at the end.
static bool
take_line(Log* const log, Line* const line)
{
  for (;;) {
    const uint64_t next_ns = enqueue_due(log, time_now_ns());
    if (log->n_lines) {
      *line = log->queue[log->first];
      log->first = (log->first + 1U) % LOG_MAX_LINES;
      --log->n_lines;
      return true;
    }
    if (log->is_closing) {
      return false;
    }
    if (next_ns == UINT64_MAX) {
      pthread_cond_wait(&log->changed, &log->lock);
    } else {
      time_cond_wait(&log->changed, &log->lock, next_ns);
    }
  }
}

static void
log_run(void* const context)
{
  Log* const log = context;
  Line line;
  pthread_mutex_lock(&log->lock);
  while (take_line(log, &line)) {
    log->is_writing = true;
    pthread_mutex_unlock(&log->lock);
    const bool done = write_line(log, &line);
    pthread_mutex_lock(&log->lock);
    log->is_writing = false;
    log->counts.written += done;
    log->counts.dropped += !done;
    free(line.text);
  }
  pthread_mutex_unlock(&log->lock);
}

// ---- open and close ----

/// True if a file descriptor leads to the journal: JOURNAL_STREAM is its "device:inode".
static bool
is_journal(const int fd)
{
  const char* const stream = getenv("JOURNAL_STREAM");
  struct stat facts;
  char own[64];
  if (!stream || fstat(fd, &facts)) {
    return false;
  }
  snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)facts.st_dev,
           (unsigned long long)facts.st_ino);
  return !strcmp(stream, own);
}

static void
log_free(void* const context)
{
  Log* const log = context;
  pthread_cond_destroy(&log->changed);
  pthread_mutex_destroy(&log->lock);
  free(log);
}

Status
log_open(const int out_fd, const int err_fd, Log** const out, Error* const error)
{
  Log* const log = calloc(1, sizeof(Log));
  if (!log) {
    return error_set(error, STATUS_NO_MEM, "log: out of memory");
  }
  log->out_fd = out_fd;
  log->err_fd = err_fd;
  log->out_is_journal = is_journal(out_fd);
  log->err_is_journal = is_journal(err_fd);
  pthread_mutex_init(&log->lock, NULL);
  time_cond_init(&log->changed);
  const Status status = async_call_start("warprack-log", log_run, log, &log->writer, error);
  if (status) {
    log_free(log);
    return status;
  }
  *out = log;
  return STATUS_OK;
}

static bool
is_writing(Log* const log)
{
  pthread_mutex_lock(&log->lock);
  const bool writes = log->is_writing;
  pthread_mutex_unlock(&log->lock);
  return writes;
}

bool
log_close(Log* const log, const uint32_t timeout_ms)
{
  if (!log) {
    return true;
  }
  pthread_mutex_lock(&log->lock);
  log->is_closing = true;
  pthread_cond_signal(&log->changed);
  pthread_mutex_unlock(&log->lock);
  for (uint32_t n = 1; !async_call_wait(log->writer, timeout_ms); ++n) {
    if (n == STARVED_WAITS || is_writing(log)) {
      async_call_abandon(log->writer, log_free);
      return false;
    }
  }
  log_free(log);
  return true;
}

void
log_say(Log* const log, const LogClass* const kind, const LogForm form, const bool to_err,
        char* const text)
{
  if (text) {
    text_make_printable(text);
  }
  Line line = { text, form, kind->level, to_err, 0 };
  const uint64_t now_ns = time_now_ns();
  pthread_mutex_lock(&log->lock);
  Class* const class = &log->classes[kind->index];
  class->interval_ns = kind->interval_ns;
  if (!text) {
    ++log->counts.dropped;
  } else if (class->newest.text) {
    line.n_left_out = class->newest.n_left_out + 1U;
    ++log->counts.left_out;
    free(class->newest.text);
    class->newest = line;
  } else if (now_ns < class->free_ns) {
    class->newest = line;
  } else {
    class->free_ns = now_ns + class->interval_ns;
    enqueue(log, &line);
  }
  pthread_cond_signal(&log->changed);
  pthread_mutex_unlock(&log->lock);
}

LogCounts
log_counts(Log* const log)
{
  pthread_mutex_lock(&log->lock);
  const LogCounts counts = log->counts;
  pthread_mutex_unlock(&log->lock);
  return counts;
}
