// SPDX-License-Identifier: GPL-3.0-or-later
// Standard output of a worker, which only plugins write to.

#include "plugin_output.h"

#include "engine/base/rt.h"
#include "engine/base/text.h"
#include "engine/base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 256U // longer lines are cut

/// The lines of the present interval.
typedef struct Interval {
  uint64_t ends_ns;
  uint32_t n_lines;
} Interval;

static void
print_line(Interval* const interval, char* const line)
{
  const uint64_t now_ns = time_now_ns();
  if (now_ns >= interval->ends_ns) {
    if (interval->n_lines > PLUGIN_OUTPUT_LINES) {
      fprintf(stderr, "plugin: %u more lines\n", interval->n_lines - PLUGIN_OUTPUT_LINES);
    }
    *interval = (Interval){ .ends_ns = now_ns + PLUGIN_OUTPUT_S * NS_PER_S };
  }
  if (interval->n_lines++ < PLUGIN_OUTPUT_LINES) {
    line[strcspn(line, "\n")] = '\0';
    text_make_printable(line);
    fprintf(stderr, "plugin: %s\n", line);
  }
}

static void*
pass_lines(void* const context)
{
  FILE* const pipe = context;
  Interval interval = { .ends_ns = 0 };
  char line[LINE_BYTES];
  while (fgets(line, sizeof(line), pipe)) {
    print_line(&interval, line);
  }
  fclose(pipe);
  return NULL;
}

static Status
start_reader(const int from, Error* const error)
{
  FILE* const pipe = fdopen(from, "r");
  if (!pipe) {
    close(from);
    return error_set(error, STATUS_NO_MEM, "out of memory for what plugins print");
  }
  pthread_t thread;
  const Status status = rt_thread_start("warprack-print", pass_lines, pipe, &thread, error);
  if (status) {
    fclose(pipe);
  } else {
    pthread_detach(thread);
  }
  return status;
}

Status
plugin_output_start(Error* const error)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) {
    return error_set(error, STATUS_LIMIT, "no pipe for what plugins print: %s", strerror(errno));
  }
  const Status status = start_reader(ends[0], error);
  if (!status) {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    dup2(ends[1], STDOUT_FILENO);
  }
  close(ends[1]);
  return status;
}
