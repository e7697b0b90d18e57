// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A process of a group (plugins/group) without plugins: it answers all calls, and breaks a rule at
  the first GROUP_SAVE, some at GROUP_OPEN.  The environment variable WARPRACK_FIXTURE has the
  rule:

    answers_late      takes 700 ms for a call
    damages_ring      overwrites the ring of the first instance, and answers
    finishes_slowly   finishes a block each 200 ms
    exits             ends at once, while a thread runs the last node
    hangs_elsewhere   does not return from the work of the last node
    leaves_child      ends, and leaves a process behind that holds the socket
    hides_blocks      says in the ring that no block was submitted, and runs none
    names_other       crashes, and its flight recorder names a node that is not in the group
    never_finishes    finishes no block, and runs the second node again and again
    takes_memory      when an instance is made, takes 128 MiB
    works_for_ever    answers, but does not return from the work of the last node

  With these it answers GROUP_SAVE with a package of a state and files:

    sends_file        one file, as a good process does
    sends_huge        more bytes than a state may have
    sends_many        64 files
    sends_newline     the suffix of a file has a newline
    sends_no_state    a file, but no state
    sends_outside     the suffix of a file is a path out of the folder
    sends_pipe        a pipe, which is empty
    sends_rack        a file with the suffix of racks
    sends_short       a file that is shorter than it says
    sends_system      /etc/passwd
    sends_unsealed    memory that it can change
    sends_zero        the suffix of a file has a zero
*/

#include "engine/base/process.h"
#include "engine/base/recorder.h"
#include "engine/base/sealed_text.h"
#include "engine/ring/ring_private.h"
#include "plugins/group/group_message.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define OTHER_UID    99U // of no node of the tests
#define MEMORY_BYTES ((size_t)128U << 20U)
#define LATE_US      700000U
#define SLOW_US      200000U
#define N_MANY       64U

#define PACKAGE "# warprack package 1\n"
#define STATE   PACKAGE "file state 1\ns"

static Ring* ring; // of the first instance
static _Atomic uint32_t last_uid;

static void
demand(const bool holds)
{
  if (!holds) {
    _exit(1);
  }
}

static void*
execute(void* const phase)
{
  (void)recorder_enter(last_uid, *(const RecorderPhase*)phase);
  for (;;) {
    pause();
  }
  return NULL;
}

/// Enter one run after the other, each shorter than the time between two looks.
static void*
run_again(void* const nothing)
{
  for (;;) {
    (void)recorder_enter(last_uid, RECORDER_RUN);
    usleep(1000);
  }
  return nothing;
}

/// Finish blocks, one after the other.
static void*
finish_slowly(void* const nothing)
{
  for (;;) {
    uint64_t sequence = 0;
    usleep(SLOW_US);
    if (ring_take(ring, 0U, &sequence)) {
      ring_finish(ring);
    }
  }
  return nothing;
}

static void
start_thread(void* (*const code)(void*), const RecorderPhase* const phase)
{
  pthread_t thread;
  demand(!pthread_create(&thread, NULL, code, (void*)(uintptr_t)phase));
  usleep(50000); // until it has entered
}

/// Hold the socket until the worker closes it.
static void
hold_socket(void)
{
  char byte;
  while (recv(PROCESS_SOCKET, &byte, sizeof(byte), 0) > 0) {
  }
  _exit(0);
}

static void
break_rule(const char* const rule)
{
  static const RecorderPhase run = RECORDER_RUN;
  static const RecorderPhase work = RECORDER_WORK;
  size_t n_bytes = 0;
  void* const memory = ring_memory(ring, &n_bytes);
  if (!strcmp(rule, "answers_late")) {
    usleep(LATE_US);
  } else if (!strcmp(rule, "damages_ring")) {
    memset(memory, 0xFF, n_bytes);
  } else if (!strcmp(rule, "exits")) {
    start_thread(execute, &run);
    _exit(0);
  } else if (!strcmp(rule, "hangs_elsewhere")) {
    (void)execute((void*)(uintptr_t)&work);
  } else if (!strcmp(rule, "hides_blocks")) {
    atomic_store(&((RingHeader*)memory)->submitted, 0U);
  } else if (!strcmp(rule, "leaves_child")) {
    if (fork() == 0) {
      hold_socket();
    }
    _exit(7);
  } else if (!strcmp(rule, "names_other")) {
    (void)recorder_enter(OTHER_UID, RECORDER_RUN);
    abort();
  } else if (!strcmp(rule, "works_for_ever")) {
    start_thread(execute, &work);
  }
}

static void
take_memory(void)
{
  static char* volatile memory;
  memory = malloc(MEMORY_BYTES);
  demand(memory);
  memset(memory, 1, MEMORY_BYTES);
}

// ---- packages ----

static const struct {
  const char* rule;
  const char* bytes;
  size_t n_bytes;
} packages[] = {
#define ROW(rule, text)                                                                            \
  {                                                                                                \
    rule, text, sizeof(text) - 1U                                                                  \
  }
  ROW("sends_file", STATE "file raw 4\ntext"),
  ROW("sends_newline", STATE "file r\nw 4\ntext"),
  ROW("sends_no_state", PACKAGE "file raw 4\ntext"),
  ROW("sends_outside", STATE "file ../../etc/passwd 4\ntext"),
  ROW("sends_rack", STATE "file rack 4\ntext"),
  ROW("sends_short", STATE "file raw 5\ntext"),
  ROW("sends_zero", STATE "file r\0w 4\ntext"),
#undef ROW
};

static int
seal(const char* const bytes, const size_t n_bytes)
{
  int fd = -1;
  demand(!sealed_text_new(bytes, n_bytes, &fd, NULL));
  return fd;
}

static int
many_files(void)
{
  TextBuffer package = { 0 };
  text_buffer_add(&package, STATE);
  for (uint32_t f = 0; f < N_MANY; ++f) {
    text_buffer_print(&package, "file raw 2\n%02u", f);
  }
  demand(!package.failed);
  const int fd = seal(package.bytes, package.n);
  free(package.bytes);
  return fd;
}

static int
empty_pipe(void)
{
  int ends[2];
  demand(!pipe(ends));
  return ends[0];
}

/// The descriptor of an answer; -1: the rule has none.
static int
answer(const char* const rule)
{
  static const char huge[FX_STATE_MAX_BYTES + 1U];
  for (size_t p = 0; p < ARRAY_LEN(packages); ++p) {
    if (!strcmp(rule, packages[p].rule)) {
      return seal(packages[p].bytes, packages[p].n_bytes);
    }
  }
  if (!strcmp(rule, "sends_huge")) {
    return seal(huge, sizeof(huge));
  }
  if (!strcmp(rule, "sends_unsealed")) {
    return memfd_create("unsealed", MFD_ALLOW_SEALING);
  }
  return !strcmp(rule, "sends_many")     ? many_files()
         : !strcmp(rule, "sends_pipe")   ? empty_pipe()
         : !strcmp(rule, "sends_system") ? open("/etc/passwd", O_RDONLY)
                                         : -1;
}

/// Returns the descriptor of the reply, or -1.
static int
carry_out(const GroupCall* const call, const int fds[GROUP_FDS])
{
  const char* const rule = getenv("WARPRACK_FIXTURE");
  demand(rule);
  if (call->op == GROUP_HELLO) {
    demand(!recorder_attach(fds[0], NULL));
  } else if (call->op == GROUP_OPEN) {
    const bool is_second = ring && last_uid != call->uid;
    demand(ring || !ring_attach(fds[0], &ring, NULL));
    last_uid = call->uid;
    if (!strcmp(rule, "finishes_slowly")) {
      start_thread(finish_slowly, NULL);
    } else if (!strcmp(rule, "takes_memory")) {
      take_memory();
    } else if (is_second && !strcmp(rule, "never_finishes")) {
      start_thread(run_again, NULL);
    }
  } else if (call->op == GROUP_SAVE) {
    break_rule(rule);
    return answer(rule);
  }
  return -1;
}

int
main(void)
{
  demand(process_follow_parent(PROCESS_SOCKET));
  for (;;) {
    struct pollfd there = { PROCESS_SOCKET, POLLIN, 0 };
    GroupCall call;
    int fds[GROUP_FDS];
    (void)poll(&there, 1, -1);
    if (group_receive(PROCESS_SOCKET, &call, sizeof(call), fds, NULL)) {
      return 0; // the worker has closed the socket
    }
    const int fd = carry_out(&call, fds);
    group_close_fds(fds);
    const GroupReply reply = { .op = call.op, .number = call.number, .is_package = fd >= 0 };
    demand(!group_send(PROCESS_SOCKET, &reply, sizeof(reply), &fd, fd >= 0, NULL));
    if (fd >= 0) {
      close(fd);
    }
  }
}
