// SPDX-License-Identifier: GPL-3.0-or-later
// A thread between a pipe and a descriptor.

#include "child_output.h"
#include "rt.h"
#include "text.h"
#include "time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRST_DESCRIPTOR 10 // above those that a child gets
#define END_WAIT_S       1
#define READ_BYTES       4096U

struct ChildOutput {
  int pipe;            ///< The end for reading
  int end;             ///< eventfd: what is in the pipe is the last
  int to;              ///< Borrowed
  atomic_uint n_users; ///< The thread, and the owner until child_output_end()
  pthread_t thread;
  char line[CHILD_OUTPUT_BYTES + 2U]; ///< [n_line] the present line, with room for a newline
  size_t n_line;
  uint64_t interval_ends_ns;
  uint32_t n_lines;   ///< Of the interval
  bool is_flooded;    ///< Since the interval, or an earlier one without a pause, had too many
  uint64_t n_dropped; ///< Of the flood
};

static void
leave(ChildOutput* const output)
{
  if (atomic_fetch_sub(&output->n_users, 1U) == 1U) {
    close(output->pipe);
    close(output->end);
    free(output);
  }
}

// ---- lines ----

static void
print(const ChildOutput* const output, const char* const bytes, const size_t n_bytes)
{
  ssize_t n = 1;
  for (size_t at = 0; n > 0 && at<n_bytes; at += n> 0 ? (size_t)n : 0U) {
    n = write(output->to, bytes + at, n_bytes - at);
    n = n < 0 && errno == EINTR ? 1 : n;
  }
}

__attribute__((format(printf, 2, 3))) static void
print_note(const ChildOutput* const output, const char* const format, ...)
{
  char note[160];
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(note, sizeof(note), format, args);
  va_end(args);
  print(output, note, (size_t)n);
}

static void
end_flood(ChildOutput* const output)
{
  if (output->is_flooded) {
    print_note(output, "warprack: %llu lines of the worker were dropped\n",
               (unsigned long long)output->n_dropped);
  }
  output->is_flooded = false;
  output->n_dropped = 0;
}

/// Begin an interval if the last one is over.
static void
begin_interval(ChildOutput* const output)
{
  const uint64_t now_ns = time_now_ns();
  if (now_ns < output->interval_ends_ns) {
    return;
  }
  const bool was_quiet = output->n_lines <= CHILD_OUTPUT_LINES ||
                         now_ns - output->interval_ends_ns >= CHILD_OUTPUT_S * NS_PER_S;
  if (was_quiet) {
    end_flood(output);
  }
  output->interval_ends_ns = now_ns + CHILD_OUTPUT_S * NS_PER_S;
  output->n_lines = 0;
}

/// Pass the present line on, or drop it.
static void
end_line(ChildOutput* const output)
{
  begin_interval(output);
  ++output->n_lines;
  if (output->n_lines > CHILD_OUTPUT_LINES && !output->is_flooded) {
    output->is_flooded = true;
    print_note(
        output,
        "warprack: the worker prints more than %u lines in %u s: the next ones are dropped\n",
        CHILD_OUTPUT_LINES, CHILD_OUTPUT_S);
  }
  output->line[output->n_line] = '\0';
  text_make_printable(output->line);
  output->line[output->n_line++] = '\n';
  if (output->is_flooded) {
    ++output->n_dropped;
  } else {
    print(output, output->line, output->n_line);
  }
  output->n_line = 0;
}

static void
take_bytes(ChildOutput* const output, const char* const bytes, const size_t n_bytes)
{
  for (size_t i = 0; i < n_bytes; ++i) {
    if (bytes[i] == '\n' || output->n_line == CHILD_OUTPUT_BYTES) {
      end_line(output);
    }
    if (bytes[i] != '\n') {
      output->line[output->n_line++] = bytes[i] ? bytes[i] : '?';
    }
  }
}

// ---- the thread ----

/// Read what there is.  Returns false at the end.
static bool
read_some(ChildOutput* const output)
{
  char bytes[READ_BYTES];
  const ssize_t n = read(output->pipe, bytes, sizeof(bytes));
  if (n > 0) {
    take_bytes(output, bytes, (size_t)n);
  }
  return n > 0 || (n < 0 && errno == EINTR);
}

static void*
pass_lines(void* const context)
{
  ChildOutput* const output = context;
  struct pollfd watched[] = { { .fd = output->pipe, .events = POLLIN },
                              { .fd = output->end, .events = POLLIN } };
  bool goes_on = true;
  while (goes_on) {
    const int n = poll(watched, 2, -1);
    if (n > 0 && watched[0].revents) {
      goes_on = read_some(output);
    } else {
      goes_on = n < 0 ? errno == EINTR : !watched[1].revents;
    }
  }
  if (output->n_line) {
    end_line(output);
  }
  end_flood(output);
  leave(output);
  return NULL;
}

/// Make the pipe, whose end for the child is no descriptor that children get.
static Status
make_pipe(ChildOutput* const output, int* const from)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
    return STATUS_NO_MEM;
  }
  *from = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  output->pipe = fcntl(ends[0], F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  output->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  close(ends[0]);
  close(ends[1]);
  return *from >= 0 && output->pipe >= 0 && output->end >= 0 ? STATUS_OK : STATUS_NO_MEM;
}

Status
child_output_start(const int to, int* const from, ChildOutput** const out, Error* const error)
{
  ChildOutput* const output = calloc(1, sizeof(ChildOutput));
  *from = -1;
  if (!output) {
    return error_set(error, STATUS_NO_MEM, "no memory for what a process prints");
  }
  output->pipe = output->end = -1;
  output->to = to;
  atomic_init(&output->n_users, 2U);
  Status status = make_pipe(output, from);
  if (status) {
    error_set(error, status, "no pipe for what a process prints: %s", strerror(errno));
  } else {
    status = rt_thread_start("warprack-output", pass_lines, output, &output->thread, error);
  }
  if (status) {
    if (*from >= 0) {
      close(*from);
    }
    atomic_store(&output->n_users, 1U);
    leave(output);
    return status;
  }
  *out = output;
  return STATUS_OK;
}

void
child_output_end(ChildOutput* const output)
{
  if (!output) {
    return;
  }
  struct timespec until;
  eventfd_write(output->end, 1);
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += END_WAIT_S;
  if (pthread_clockjoin_np(output->thread, NULL, CLOCK_MONOTONIC, &until)) {
    pthread_detach(output->thread); // it ends with its last line
  }
  leave(output);
}
