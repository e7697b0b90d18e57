// SPDX-License-Identifier: GPL-3.0-or-later
// A thread that copies lines from a pipe to a descriptor.

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
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_DESCRIPTOR 10       // above those that a child gets
#define END_WAIT_NS      NS_PER_S // longest wait for the thread, which ends at once
#define END_LOOK_NS      (NS_PER_MS / 5U)
#define READ_BYTES       4096U

struct ChildOutput {
  int pipe; ///< The end for reading
  int end;  ///< eventfd: readable after child_output_end()
  int to;   ///< Borrowed
  char who[32];
  uint32_t max_lines;
  uint64_t interval_ns;
  atomic_uint n_users; ///< The thread, and the owner until child_output_end()
  pthread_t thread;
  size_t n_begins; ///< The length of what each line begins with
  char line[CHILD_OUTPUT_BEGINS + CHILD_OUTPUT_BYTES + 2U]; ///< [n_line] and room for a newline
  size_t n_line;
  uint64_t interval_ends_ns;
  uint32_t n_lines;   ///< Of the interval
  bool is_flooded;    ///< Lines are dropped: this interval, or the one before, has too many
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

/// Wait until a line can be written.  False if there is nowhere to write it, and after
/// child_output_end() if it cannot be written at once, because the reader is stuck.
static bool
has_room(const ChildOutput* const output)
{
  struct pollfd watched[] = { { .fd = output->to, .events = POLLOUT },
                              { .fd = output->end, .events = POLLIN } };
  int n = 0;
  do {
    n = output->to < 0 ? 0 : poll(watched, 2, -1);
  } while (n < 0 && errno == EINTR);
  return n > 0 && watched[0].revents;
}

static void
print(const ChildOutput* const output, const char* const bytes, const size_t n_bytes)
{
  for (size_t at = 0; at < n_bytes && has_room(output);) {
    const ssize_t n = write(output->to, bytes + at, n_bytes - at);
    if (n < 0 && errno != EINTR) {
      return;
    }
    at += n > 0 ? (size_t)n : 0U;
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
    print_note(output, "warprack: %llu lines of %s were dropped\n",
               (unsigned long long)output->n_dropped, output->who);
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
  const bool was_quiet = output->n_lines <= output->max_lines ||
                         now_ns - output->interval_ends_ns >= output->interval_ns;
  if (was_quiet) {
    end_flood(output);
  }
  output->interval_ends_ns = now_ns + output->interval_ns;
  output->n_lines = 0;
}

/// Pass the present line on, or drop it.
static void
end_line(ChildOutput* const output)
{
  begin_interval(output);
  ++output->n_lines;
  if (output->n_lines > output->max_lines && !output->is_flooded) {
    output->is_flooded = true;
    print_note(output,
               "warprack: %s prints more than %u lines in %u s: the next ones are dropped\n",
               output->who, output->max_lines, (uint32_t)(output->interval_ns / NS_PER_S));
  }
  output->line[output->n_line] = '\0';
  text_make_printable(output->line);
  output->line[output->n_line++] = '\n';
  if (output->is_flooded) {
    ++output->n_dropped;
  } else {
    print(output, output->line, output->n_line);
  }
  output->n_line = output->n_begins;
}

static void
take_bytes(ChildOutput* const output, const char* const bytes, const size_t n_bytes)
{
  for (size_t i = 0; i < n_bytes; ++i) {
    if (bytes[i] == '\n' || output->n_line == output->n_begins + CHILD_OUTPUT_BYTES) {
      end_line(output);
    }
    if (bytes[i] != '\n') {
      output->line[output->n_line++] = bytes[i] ? bytes[i] : '?';
    }
  }
}

// ---- the thread ----

/// Read what there is, at most `max` bytes.  Returns how many; 0 at the end.
static size_t
read_some(ChildOutput* const output, const size_t max)
{
  char bytes[READ_BYTES];
  ssize_t n = 0;
  do {
    n = read(output->pipe, bytes, max < sizeof(bytes) ? max : sizeof(bytes));
  } while (n < 0 && errno == EINTR);
  if (n > 0) {
    take_bytes(output, bytes, (size_t)n);
  }
  return n > 0 ? (size_t)n : 0U;
}

/// Pass on what is in the pipe now, and no more: a process that the child has left behind may print
/// without end.
static void
pass_rest(ChildOutput* const output)
{
  int n_bytes = 0;
  size_t n_left = ioctl(output->pipe, FIONREAD, &n_bytes) ? 0U : (size_t)n_bytes;
  for (size_t n = 1; n && n_left; n_left -= n) {
    n = read_some(output, n_left);
  }
}

static void*
pass_lines(void* const context)
{
  ChildOutput* const output = context;
  struct pollfd watched[] = { { .fd = output->pipe, .events = POLLIN },
                              { .fd = output->end, .events = POLLIN } };
  bool goes_on = true;
  while (goes_on && !watched[1].revents) {
    const int n = poll(watched, 2, -1);
    if (n < 0) {
      goes_on = errno == EINTR;
    } else if (!watched[1].revents) {
      goes_on = read_some(output, READ_BYTES);
    }
  }
  if (watched[1].revents) {
    pass_rest(output);
  }
  if (output->n_line > output->n_begins) {
    end_line(output);
  }
  end_flood(output);
  leave(output);
  return NULL;
}

/// Make the descriptors.  None is one that children get, or one of the three that this process may
/// have been started without.
static Status
make_pipe(ChildOutput* const output, int* const from)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
    return STATUS_NO_MEM;
  }
  *from = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  output->pipe = fcntl(ends[0], F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  close(ends[0]);
  close(ends[1]);
  const int end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  output->end = end < 0 ? -1 : fcntl(end, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  if (end >= 0) {
    close(end);
  }
  return *from >= 0 && output->pipe >= 0 && output->end >= 0 ? STATUS_OK : STATUS_NO_MEM;
}

Status
child_output_start(const ChildOutputSetup* const setup, const int to, int* const from,
                   ChildOutput** const out, Error* const error)
{
  ChildOutput* const output = calloc(1, sizeof(ChildOutput));
  *from = -1;
  if (!output) {
    return error_set(error, STATUS_NO_MEM, "no memory for what a process prints");
  }
  output->pipe = output->end = -1;
  output->to = to;
  snprintf(output->who, sizeof(output->who), "%s", setup->who);
  snprintf(output->line, CHILD_OUTPUT_BEGINS, "%s", setup->begins);
  output->n_begins = output->n_line = strlen(output->line);
  output->max_lines = setup->max_lines;
  output->interval_ns = setup->seconds * NS_PER_S;
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
  const uint64_t until_ns = time_now_ns() + END_WAIT_NS;
  eventfd_write(output->end, 1);
  int failed = pthread_tryjoin_np(output->thread, NULL);
  while (failed && time_now_ns() < until_ns) { // ThreadSanitizer has no pthread_clockjoin_np()
    time_sleep(END_LOOK_NS);
    failed = pthread_tryjoin_np(output->thread, NULL);
  }
  if (failed) {
    pthread_detach(output->thread); // it ends with its last line
  }
  leave(output);
}
