// SPDX-License-Identifier: GPL-3.0-or-later
// Lines are printed in order.  Each class prints at most one line per interval, with the number of
// lines left out.  Without a reader no caller waits, and dropped lines are counted.

#include "engine/base/rt.h"
#include "tests/support/suite.h"
#include "tools/log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define PIPE_BYTES  4096
#define LINE_BYTES  100
#define N_LINES     2000U // more than fit into the pipe and the queue
#define CLOSE_MS    200U
#define PATIENCE_MS 10000U
#define FOR_EVER_NS UINT64_C(3600000000000)

static const LogClass plain = { 0, LOG_INFO, 0 };
static const LogClass seldom = { 1, LOG_WARNING, FOR_EVER_NS };

// ---- a thread that starts late, as on a busy machine ----

Status __real_rt_thread_start(const char* name, void* (*run)(void* context), void* context,
                              pthread_t* thread, Error* error);
Status __wrap_rt_thread_start(const char* name, void* (*run)(void* context), void* context,
                              pthread_t* thread, Error* error);

static uint32_t delay_ms;
static void* (*late_run)(void* context);

static void*
run_late(void* const context)
{
  usleep(1000U * delay_ms);
  return late_run(context);
}

Status
__wrap_rt_thread_start(const char* const name, void* (*const run)(void* context),
                       void* const context, pthread_t* const thread, Error* const error)
{
  late_run = run;
  return __real_rt_thread_start(name, delay_ms ? run_late : run, context, thread, error);
}

// ---- a log that writes to a pipe ----

static Log* journal;
static int ends[2]; // the pipe that the log is written to

static void
open_log(void)
{
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  ck_assert_int_ge(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
  OK(log_open(ends[1], ends[1], &journal, &error));
}

/// Close the log, whose lines must fit into the pipe.  Returns its output.
static const char*
close_and_read(void)
{
  static char text[PIPE_BYTES + 1];
  ck_assert(log_close(journal, PATIENCE_MS));
  close(ends[1]);
  const ssize_t n = read(ends[0], text, PIPE_BYTES);
  text[n < 0 ? 0 : n] = '\0';
  close(ends[0]);
  return text;
}

TEST(lines_come_out_in_order)
{
  open_log();
  log_say(journal, &plain, LOG_TEXT, false, strdup("one"));
  log_say(journal, &plain, LOG_TEXT, true, strdup("two"));
  log_say(journal, &plain, LOG_JSON, false, strdup("{\"three\":3}"));
  ck_assert_str_eq(close_and_read(), "one\ntwo\n{\"three\":3}\n");
}

TEST(a_line_stays_one_line_without_control_characters)
{
  open_log();
  log_say(journal, &plain, LOG_TEXT, true,
          strdup("no \"x\n<0>forged\r\x1B[2J\x7F\xC2\x9B\" \xFF caf\xC3\xA9"));
  log_say(journal, &plain, LOG_JSON, false, strdup("{\"a\":\"\xC2\x9B\"}"));
  ck_assert_str_eq(close_and_read(), "no \"x?<0>forged??[2J???\" ? caf\xC3\xA9\n{\"a\":\"??\"}\n");
}

TEST(of_repeated_events_the_first_and_the_newest_are_written)
{
  open_log();
  for (int i = 1; i <= 5; ++i) {
    char text[32];
    snprintf(text, sizeof(text), "lost %d", i);
    log_say(journal, &seldom, LOG_TEXT, false, strdup(text));
  }
  log_say(journal, &plain, LOG_TEXT, false, strdup("another class"));
  const LogCounts counts = log_counts(journal);
  ck_assert_uint_eq(counts.left_out, 3);
  ck_assert_uint_eq(counts.dropped, 0);
  ck_assert_str_eq(close_and_read(), "lost 1\nanother class\nlost 5 (3 before it left out)\n");
}

TEST(json_lines_stay_json_when_lines_are_left_out)
{
  open_log();
  for (int i = 1; i <= 3; ++i) {
    log_say(journal, &seldom, LOG_JSON, false, strdup("{\"event\":\"x\"}"));
  }
  ck_assert_str_eq(close_and_read(), "{\"event\":\"x\"}\n{\"event\":\"x\",\"left_out\":1}\n");
}

TEST(a_line_that_had_to_wait_comes_when_the_interval_is_over)
{
  const LogClass soon = { 2, LOG_INFO, 20000000U };
  open_log();
  log_say(journal, &soon, LOG_TEXT, false, strdup("first"));
  log_say(journal, &soon, LOG_TEXT, false, strdup("second"));
  AWAIT(log_counts(journal).written > 1U);
  ck_assert_uint_eq(log_counts(journal).written, 2);
  ck_assert_str_eq(close_and_read(), "first\nsecond\n");
}

TEST(a_status_line_is_rewritten_and_ended_by_the_next_one)
{
  open_log();
  log_say(journal, &plain, LOG_REWRITE, true, strdup("10 %"));
  log_say(journal, &plain, LOG_REWRITE, true, strdup("20 %"));
  log_say(journal, &plain, LOG_TEXT, false, strdup("lost"));
  ck_assert_str_eq(close_and_read(), "\r\033[K10 %\r\033[K20 %\nlost\n");
}

TEST(lines_for_the_journal_begin_with_the_level)
{
  struct stat facts;
  char stream[64];
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  fstat(ends[1], &facts);
  snprintf(stream, sizeof(stream), "%lu:%lu", facts.st_dev, facts.st_ino);
  setenv("JOURNAL_STREAM", stream, 1);
  OK(log_open(ends[1], ends[1], &journal, &error));
  log_say(journal, &plain, LOG_TEXT, false, strdup("one"));
  log_say(journal, &seldom, LOG_TEXT, true, strdup("two"));
  ck_assert_str_eq(close_and_read(), "<6>one\n<4>two\n");
  setenv("JOURNAL_STREAM", "1:1", 1); // names another stream than our pipe
  open_log();
  log_say(journal, &plain, LOG_TEXT, false, strdup("one"));
  ck_assert_str_eq(close_and_read(), "one\n");
  unsetenv("JOURNAL_STREAM");
}

static char*
long_line(void)
{
  char* const line = malloc(LINE_BYTES + 1);
  memset(line, 'x', LINE_BYTES);
  line[LINE_BYTES] = '\0';
  return line;
}

/// Whether writing a line to the pipe would block.
static bool
pipe_is_full(void)
{
  const int flags = fcntl(ends[1], F_GETFL);
  fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
  char* const line = long_line();
  const bool is_full = write(ends[1], line, LINE_BYTES) < 0;
  free(line);
  fcntl(ends[1], F_SETFL, flags);
  return is_full;
}

TEST(no_caller_waits_for_a_missing_reader)
{
  open_log();
  ck_assert(!pipe_is_full());
  for (uint32_t i = 0; i < N_LINES; ++i) {
    log_say(journal, &plain, LOG_TEXT, false, long_line()); // must return: else the test times out
  }
  const LogCounts counts = log_counts(journal);
  ck_assert_uint_gt(counts.dropped, 0);
  ck_assert_uint_le(counts.written + counts.dropped + LOG_MAX_LINES + 1U, N_LINES + LOG_MAX_LINES);
  ck_assert(!log_close(journal, CLOSE_MS)); // the writer thread is blocked by the full pipe
  ck_assert(pipe_is_full());                // positive control: the pipe was full all the time
}

TEST(the_close_waits_for_a_thread_that_gets_no_processor_time)
{
  delay_ms = 3U * CLOSE_MS;
  open_log();
  log_say(journal, &plain, LOG_TEXT, true, strdup("the reason"));
  ck_assert(log_close(journal, CLOSE_MS));
  char text[32] = "";
  ck_assert_int_gt(read(ends[0], text, sizeof(text) - 1U), 0);
  ck_assert_str_eq(text, "the reason\n");
}

TEST(the_log_continues_when_the_reader_returns)
{
  open_log();
  for (uint32_t i = 0; i < N_LINES; ++i) {
    log_say(journal, &plain, LOG_TEXT, false, long_line());
  }
  const LogCounts counts = log_counts(journal);
  size_t n_bytes = 0;
  const size_t expected = (N_LINES - counts.dropped) * (LINE_BYTES + 1U);
  char bytes[PIPE_BYTES];
  while (n_bytes < expected) {
    const ssize_t n = read(ends[0], bytes, sizeof(bytes));
    ck_assert_int_gt(n, 0);
    n_bytes += (size_t)n;
  }
  ck_assert(log_close(journal, PATIENCE_MS));
  ck_assert_uint_eq(n_bytes, expected);
}

TEST(a_reader_that_went_away_is_counted)
{
  signal(SIGPIPE, SIG_IGN);
  open_log();
  close(ends[0]);
  log_say(journal, &plain, LOG_TEXT, false, strdup("one"));
  AWAIT(log_counts(journal).dropped > 0U);
  ck_assert_uint_eq(log_counts(journal).dropped, 1);
  ck_assert(log_close(journal, PATIENCE_MS));
}

SUITE_MAIN("log")
