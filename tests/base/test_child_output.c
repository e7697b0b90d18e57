// SPDX-License-Identifier: GPL-3.0-or-later
// What a child prints arrives line by line, printable; a flood is cut, and reported once when it
// begins and once when it ends; a process that is left behind and a reader that is stuck hold up
// nothing.

#include "engine/base/child_output.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINES 200U

static const ChildOutputSetup setup = {
  .who = "the worker process", .begins = "", .max_lines = MAX_LINES, .seconds = 10U
};
static ChildOutput* output;
static int from; ///< The end of the child
static int ends[2];
static char text[1U << 17U];

static void
start_with(const ChildOutputSetup* const lines)
{
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 17);
  OK(child_output_start(lines, ends[1], &from, &output, &error));
}

static void
start(void)
{
  start_with(&setup);
}

/// The child ends.  Returns all that has arrived.
static const char*
end(void)
{
  close(from);
  child_output_end(output);
  close(ends[1]);
  size_t n = 0;
  for (ssize_t got = 1; got > 0 && n < sizeof(text) - 1U;) {
    got = read(ends[0], text + n, sizeof(text) - 1U - n);
    n += got > 0 ? (size_t)got : 0U;
  }
  text[n] = '\0';
  close(ends[0]);
  return text;
}

static void
say(const char* const words)
{
  ck_assert_int_eq(write(from, words, strlen(words)), (ssize_t)strlen(words));
}

static unsigned
count(const char* const words)
{
  unsigned n = 0;
  for (const char* at = text; (at = strstr(at, words)); ++at) {
    ++n;
  }
  return n;
}

TEST(lines_arrive_as_they_are)
{
  start();
  say("one\ntw");
  say("o\n\nthree");
  ck_assert_str_eq(end(), "one\ntwo\n\nthree\n");
}

TEST(lines_are_printable_and_of_limited_length)
{
  start();
  char line[CHILD_OUTPUT_BYTES + 11U];
  memset(line, 'x', sizeof(line));
  line[sizeof(line) - 1U] = '\0';
  say(line);
  say("\n\033[2Jgr\xC3\xBC\xC3\x9F\n");
  ck_assert_int_eq(write(from, "a\0b\n", 4), 4);
  end();
  ck_assert_uint_eq(strcspn(text, "\n"), CHILD_OUTPUT_BYTES);
  ck_assert_str_eq(text + CHILD_OUTPUT_BYTES, "\nxxxxxxxxxx\n?[2Jgr\xC3\xBC\xC3\x9F\na?b\n");
}

TEST(a_flood_is_cut_and_reported_once)
{
  start();
  for (unsigned n = 0; n < 5U * MAX_LINES; ++n) {
    char line[32];
    snprintf(line, sizeof(line), "line %u.\n", n);
    while (write(from, line, strlen(line)) < 0) { // the pipe is full
      usleep(100);
    }
  }
  end();
  ck_assert_uint_eq(count("line "), MAX_LINES);
  ck_assert_uint_eq(count("the worker process prints more than 200 lines in 10 s"), 1);
  ck_assert_uint_eq(count("warprack: 800 lines of the worker process were dropped\n"), 1);
}

TEST(lines_begin_with_the_words_of_their_setup)
{
  const ChildOutputSetup few = {
    .who = "a plugin", .begins = "plugin: ", .max_lines = 3U, .seconds = 60U
  };
  char line[CHILD_OUTPUT_BYTES + 11U];
  memset(line, 'x', sizeof(line));
  line[sizeof(line) - 1U] = '\0';
  start_with(&few);
  say("one\n");
  say(line);
  say("\nfour\nfive");
  end();
  ck_assert_str_eq(
      strstr(text, "\nplugin: xxxxxxxxxx\n"),
      "\nplugin: xxxxxxxxxx\n"
      "warprack: a plugin prints more than 3 lines in 60 s: the next ones are dropped\n"
      "warprack: 2 lines of a plugin were dropped\n");
  ck_assert_uint_eq(count("plugin: "), 3U);
}

TEST(a_child_never_waits)
{
  start();
  static const char zeros[1U << 16U];
  ck_assert_int_eq(fcntl(from, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  for (int n = 0; n < 100; ++n) {
    (void)!write(from, zeros, sizeof(zeros));
  }
  end();
}

TEST(a_descriptor_that_stays_open_holds_up_nothing)
{
  start();
  const int left = dup(from);
  say("the last words");
  ck_assert_str_eq(end(), "the last words\n");
  close(left);
}

/// Print until nobody reads, faster than the lines can be read.
static void*
print_on(void* const context)
{
  const int* const left = context;
  char lines[4096];
  memset(lines, '\n', sizeof(lines));
  while (write(*left, lines, sizeof(lines)) > 0 || errno == EAGAIN) {
  }
  return errno == EPIPE ? context : NULL;
}

TEST(a_process_that_prints_on_holds_up_nothing)
{
  start();
  int left = dup(from);
  pthread_t printer;
  void* result = NULL;
  ck_assert_int_eq(pthread_create(&printer, NULL, print_on, &left), 0);
  while (poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, 1, -1) != 1) {
  }
  close(from);
  child_output_end(output);
  ck_assert_int_eq(pthread_join(printer, &result), 0); // the thread has closed its end of the pipe
  ck_assert_ptr_eq(result, &left);
  close(left);
  close(ends[0]);
  close(ends[1]);
}

TEST(a_reader_that_is_stuck_holds_up_nothing)
{
  start();
  fcntl(ends[1], F_SETPIPE_SZ, 4096);
  for (unsigned n = 0; n < 100U; ++n) {
    say("0123456789012345678901234567890123456789012345678901234567890123456789\n");
  }
  child_output_end(output);
  ck_assert_int_eq(write(from, "x", 1), -1); // the thread has ended
  ck_assert_int_eq(errno, EPIPE);
  close(from);
  close(ends[0]);
  close(ends[1]);
}

TEST(lines_may_lead_nowhere)
{
  OK(child_output_start(&setup, -1, &from, &output, &error));
  say("no log\n");
  close(from);
  child_output_end(output);
  child_output_end(NULL);
}

static void
begin(void)
{
  signal(SIGPIPE, SIG_IGN);
}

SUITE_MAIN_WITH("child_output", begin, NULL)
