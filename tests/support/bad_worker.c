// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A complete worker process (engine/worker/worker_loop.h) that fails on demand.  The name of a file
  in a rack selects the failure; the worker fails when it loads the file, which is while it plans
  the rack.  A number after the name is a delay in ms.  Each file contains one sample, 1.0.

    segv, abort, exit, kill, hang, stop   it ends, hangs or stops while it plans the rack
    segv200                               it crashes 200 ms later, while the rack plays
    slow                                  loading takes half a second
    chatter                               all its threads hang but one, which sends notes
    future                                when it is armed next, it reports an impossible serial
    latent                                when it is armed next, it reports an invalid latency
    needy                                 it reports that its device needs a new process, as long as
                                          the rack has two nodes or more
    device                                it reports a device
    has-x                                 the file does not exist unless "x" is the catalogue of
                                          plugins; a catalogue "invalid" is refused, and one that
                                          is "slow" takes half a second
    shares-x                              unless "x" is the catalogue, or the last node of the rack
                                          runs apart, it crashes as in a run of that node and others
    any other name                        no failure

  With the argument `exit` it ends before it sends a message, with `mute` it never sends a message,
  with `babble` it sends invalid data.
*/

#include "engine/base/process.h"
#include "engine/base/recorder.h"
#include "engine/base/sealed_text.h"
#include "engine/worker/worker.h" // the build renames worker_calls: worker_loop.c uses the table below
#include "engine/worker/worker_loop.h"
#include "engine/wire/wire.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#undef worker_calls
extern const WorkerCalls worker_calls;

static atomic_bool is_needy, is_in_future, is_latent, has_device;

// The last node of the newest rack.
static _Atomic RackUid last_uid;
static atomic_bool is_last_apart;

static pthread_mutex_t plugins_lock = PTHREAD_MUTEX_INITIALIZER;
static char plugins[32]; // the catalogue

static Status
arm(void* const worker, const WorkerStart* const start, WorkerFacts* const facts,
    Error* const error)
{
  const Status status = worker_calls.arm(worker, start, facts, error);
  facts->serial = is_in_future ? UINT64_MAX : facts->serial;
  facts->rack_latency_frames =
      is_latent ? 3U * (uint32_t)start->format.rate_hz : facts->rack_latency_frames;
  return status;
}

static void
disarm(void* const worker)
{
  worker_calls.disarm(worker);
}

static Status
edit(void* const worker, const uint64_t id, const Rack* const rack, const uint64_t at_frame,
     const uint64_t stamp)
{
  if (rack->n_nodes) {
    last_uid = rack->nodes[rack->n_nodes - 1U].uid;
    is_last_apart = rack->nodes[rack->n_nodes - 1U].is_apart;
  }
  return worker_calls.edit(worker, id, rack, at_frame, stamp);
}

static Status
save(void* const worker, const uint64_t id, const RackUid uid, Error* const error)
{
  return worker_calls.save(worker, id, uid, error);
}

static bool
set(void* const worker, const ParamMessage* const messages, const uint32_t n)
{
  return worker_calls.set(worker, messages, n);
}

static void
tell_status(void* const worker, WorkerStatus* const status)
{
  worker_calls.status(worker, status);
  status->needs_new_process = is_needy && status->facts.n_nodes > 1U;
  if (has_device) {
    strcpy(status->device, "a device");
  }
}

static uint32_t
tell_places(void* const worker, EnginePlacement* const placements, const uint32_t max)
{
  return worker_calls.placements(worker, placements, max);
}

static void
reset_load(void* const worker)
{
  worker_calls.reset_load(worker);
}

static void
free_worker(void* const worker)
{
  worker_calls.free(worker);
}

const WorkerCalls bad_worker_calls = { .arm = arm,
                                       .disarm = disarm,
                                       .edit = edit,
                                       .save = save,
                                       .set = set,
                                       .status = tell_status,
                                       .placements = tell_places,
                                       .reset_load = reset_load,
                                       .free = free_worker };

// ---- failures ----

typedef struct Deed {
  char what[16];
  unsigned after_ms;
} Deed;

static void
hang(const int number)
{
  (void)number;
  for (;;) {
    pause();
  }
}

/// Send a signal, which no thread blocks, to all other threads: its handler never returns.
static void
hang_the_others(void)
{
  signal(SIGTRAP, hang);
  DIR* const threads = opendir("/proc/self/task");
  for (const struct dirent* entry; threads && (entry = readdir(threads));) {
    const pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id && id != gettid()) {
      tgkill(getpid(), id, SIGTRAP);
    }
  }
}

/// A note in the format of the wire; 0 if it cannot be made.
static ssize_t
make_note(char* const bytes, const size_t max)
{
  WireMessage message = { .kind = WIRE_NOTE };
  Wire* wire = NULL;
  Error error;
  int sockets[2];
  strcpy(message.note, "busy");
  if (wire_pair(sockets, &error) || wire_new(sockets[0], WIRE_WORKER, &wire, &error) ||
      wire_send(wire, &message, &error)) {
    return 0;
  }
  return recv(sockets[1], bytes, max, 0);
}

static void
chatter(void)
{
  char note[WIRE_TEXT_BYTES + 64];
  const ssize_t n = make_note(note, sizeof(note));
  hang_the_others(); // they may hold locks: the calls below take none
  while (send(PROCESS_SOCKET, note, (size_t)n, MSG_NOSIGNAL) == n) {
    nanosleep(&(struct timespec){ .tv_nsec = 1000000L }, NULL);
  }
}

static void
do_it(const char* const what)
{
  if (!strcmp(what, "segv")) {
    signal(SIGSEGV, SIG_DFL); // the handler of a sanitizer would exit instead
    raise(SIGSEGV);
  } else if (!strcmp(what, "abort")) {
    abort();
  } else if (!strcmp(what, "exit")) {
    _exit(3);
  } else if (!strcmp(what, "kill")) {
    raise(SIGKILL); // as the kernel sends it when memory runs out
  } else if (!strcmp(what, "stop")) {
    raise(SIGSTOP);
  } else if (!strcmp(what, "chatter")) {
    chatter();
  } else if (!strcmp(what, "future")) {
    is_in_future = true;
  } else if (!strcmp(what, "latent")) {
    is_latent = true;
  } else if (!strcmp(what, "needy")) {
    is_needy = true;
  } else if (!strcmp(what, "device")) {
    has_device = true;
  } else if (!strcmp(what, "slow")) {
    nanosleep(&(struct timespec){ .tv_nsec = 500000000L }, NULL);
  } else if (!strcmp(what, "hang")) {
    hang(0);
  }
}

static void*
do_it_later(void* const context)
{
  const Deed deed = *(Deed*)context;
  free(context);
  nanosleep(&(struct timespec){ .tv_nsec = deed.after_ms * 1000000L }, NULL);
  do_it(deed.what);
  return NULL;
}

static void
obey(const char* const name)
{
  Deed* const deed = calloc(1, sizeof(Deed));
  size_t n = 0;
  while (isalpha((unsigned char)name[n]) && n + 1U < sizeof(deed->what)) {
    deed->what[n] = name[n];
    ++n;
  }
  deed->after_ms = (unsigned)strtoul(name + n, NULL, 10);
  pthread_t thread;
  if (!deed->after_ms) {
    do_it(deed->what);
    free(deed);
  } else if (pthread_create(&thread, NULL, do_it_later, deed) == 0) {
    pthread_detach(thread);
  }
}

/// Crash as in a run of the last node together with others.
static void
crash_together(void)
{
  recorder_mark(recorder_line(), recorder_word(last_uid, true));
  abort(); // a signal that sanitizers do not handle
}

static Status
check_plugins(const char* const name, Error* const error)
{
  pthread_mutex_lock(&plugins_lock);
  const bool lacks = !strncmp(name, "has-", 4) && strcmp(name + 4, plugins) != 0;
  if (!strncmp(name, "shares-", 7) && strcmp(name + 7, plugins) != 0 && !is_last_apart) {
    crash_together();
  }
  const Status status =
      lacks ? error_set(error, STATUS_FILE, "the catalogue is \"%s\"", plugins) : STATUS_OK;
  pthread_mutex_unlock(&plugins_lock);
  return status;
}

static Status
load(void* const context, const char* const name, const double rate_hz, FxFile** const out,
     Error* const error)
{
  static const float one[] = { 1.0F };
  (void)context;
  (void)rate_hz;
  const Status status = check_plugins(name, error);
  if (status) {
    return status;
  }
  obey(name);
  FxFile* const file = calloc(1, sizeof(FxFile));
  if (!file) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *file =
      (FxFile){ .name = "one", .n_channels = 1, .n_frames = 1, .samples = one, .is_audio = true };
  *out = file;
  return STATUS_OK;
}

static void
unload(void* const context, FxFile* const file)
{
  (void)context;
  free(file);
}

static Status
open_files(const char* const root, const Rack* const rack, FxFiles* const files, Error* const error)
{
  (void)root;
  (void)rack;
  (void)error;
  *files = (FxFiles){ .load = load, .free = unload };
  return STATUS_OK;
}

static Status
use_plugins(const int fd, Error* const error)
{
  char* text = NULL;
  size_t n_bytes = 0;
  Status status = sealed_text_read(fd, sizeof(plugins) - 1U, &text, &n_bytes, error);
  if (!status && !strcmp(text, "invalid")) {
    status = error_set(error, STATUS_FILE, "no catalogue");
  }
  if (!status) {
    pthread_mutex_lock(&plugins_lock);
    strcpy(plugins, text);
    pthread_mutex_unlock(&plugins_lock);
    do_it(text);
  }
  free(text);
  return status;
}

int
main(const int argc, char** const argv)
{
  const char* const how = argc > 1 ? argv[1] : "";
  prctl(PR_SET_DUMPABLE, 0); // no core files of intended crashes
  if (!strcmp(how, "exit")) {
    return 7;
  }
  if (!strcmp(how, "mute")) {
    for (;;) {
      pause();
    }
  }
  if (!strcmp(how, "babble")) {
    const char text[] = "GET / HTTP/1.1\r\n\r\n";
    return write(PROCESS_SOCKET, text, sizeof(text)) < 0 || pause() == 0;
  }
  const WorkerLoopFiles files = { .use_plugins = use_plugins,
                                  .open = open_files }; // without a context to be closed
  Error error;
  const WorkerLoopEnd end = worker_loop_run(PROCESS_SOCKET, &files, &error);
  if (end != WORKER_LOOP_CLOSED) {
    fprintf(stderr, "bad_worker: %s\n", error.text);
  }
  return (int)end;
}
