// SPDX-License-Identifier: GPL-3.0-or-later
// Formats of plugins whose bundles crash, hang, print and fork on request.

#include "fake_formats.h"

#include "engine/base/time.h"
#include "plugins/format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_SIZE ((size_t)4 << 20U)

// ---- bundles ----

void
read_words(const char* const path, char words[const 64])
{
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd >= 0 ? read(fd, words, 63) : 0;
  words[n > 0 ? n : 0] = '\0';
  if (fd >= 0) {
    close(fd);
  }
}

static bool
does(const char* const words, const char* const word)
{
  const size_t n = strcspn(words, " ");
  return strlen(word) == n && !strncmp(words, word, n);
}

/// Write the id of this process beside the bundle.
static void
write_pid(const char* const bundle)
{
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%.*s/pid", (int)(strrchr(bundle, '/') - bundle), bundle);
  FILE* const file = fopen(path, "w");
  if (file) {
    fprintf(file, "%d", getpid());
    fclose(file);
  }
}

/// Leave a process in a session of its own.
static void
leave_process(const char* const bundle)
{
  int pipe_fds[2];
  char byte;
  if (pipe(pipe_fds) || fork()) {
    close(pipe_fds[1]);
    (void)!read(pipe_fds[0], &byte, 1); // until the other one has written its id
    return;
  }
  setsid();
  write_pid(bundle);
  close(pipe_fds[1]);
  for (;;) {
    pause();
  }
}

/// Start processes that start processes.  Each adds a byte to the file "born" beside the bundle.
static void
start_storm(const char* const bundle)
{
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%.*s/born", (int)(strrchr(bundle, '/') - bundle), bundle);
  const int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  for (int n = 0; n < FAKE_STORM; ++n) {
    if (fork()) {
      continue;
    }
    prctl(PR_SET_NAME, FAKE_STORM_NAME);
    setsid();
    (void)!write(fd, "x", 1);
    if (!fork()) {
      (void)!write(fd, "x", 1);
    }
    for (;;) {
      pause();
    }
  }
  close(fd);
}

static void
print_gigabyte(void)
{
  static const char dots[1U << 16U] = { '.' };
  for (int i = 0; i < 1 << 14; ++i) {
    (void)!write(STDOUT_FILENO, dots, sizeof(dots));
  }
}

/// What a child has from the process that scans, as a name.
static void
name_surroundings(char name[const 256])
{
  struct rlimit core;
  struct rlimit file;
  struct stat facts;
  getrlimit(RLIMIT_CORE, &core);
  getrlimit(RLIMIT_FSIZE, &file);
  int n_open = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    n_open += !fstat(fd, &facts);
  }
  snprintf(name, 256,
           "display %s, qt %s, locale %s, core %d, files %d, open %d, privileges %d, leader %d",
           getenv("DISPLAY") ? "there" : "none", getenv("QT_QPA_PLATFORM"), getenv("LC_ALL"),
           (int)core.rlim_cur, (int)file.rlim_cur, n_open, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
           getsid(0) == getpid());
}

/// Try both ways to take a page out of a file in memory.
static bool
are_holes_refused(void)
{
  const size_t n_bytes = (size_t)sysconf(_SC_PAGESIZE);
  const int file = memfd_create("holes", 0U);
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (file < 0 || ftruncate(file, (off_t)n_bytes)) {
    return false;
  }
  void* const memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory != MAP_FAILED && fallocate(file, mode, 0, (off_t)n_bytes) && errno == EPERM &&
         madvise(memory, n_bytes, MADV_REMOVE) && errno == EPERM &&
         !fallocate(file, 0, 0, (off_t)n_bytes) && !madvise(memory, n_bytes, MADV_DONTNEED);
}

/// What a child is refused, as a name.
static void
name_refused(char name[const 256])
{
  char* const no_words[] = { NULL };
  const int inet = socket(AF_INET, SOCK_DGRAM, 0);
  const int inet_error = inet < 0 ? errno : 0;
  const int local = socket(AF_UNIX, SOCK_DGRAM, 0);
  execve("/bin/true", no_words, no_words);
  const int program_error = errno;
  const int trace_error = ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) ? errno : 0;
  const int parent = (int)syscall(SYS_pidfd_open, getppid(), 0);
  const int file_error = syscall(SYS_pidfd_getfd, parent, 0, 0) < 0 ? errno : 0;
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
  snprintf(name, 256,
           "network %d, local %d, program %d, trace %d, descriptors %d, memory %d, holes %d",
           inet_error == EPERM, local >= 0, program_error == EPERM, trace_error == EPERM,
           parent >= 0 && file_error == EPERM, open(path, O_RDWR) < 0, are_holes_refused());
}

/// A plugin with one audio output, unless it is "mute".
static Plugin
make_plugin(const char* const format, const char* const id, const char* const name)
{
  static const PluginPort out = {
    .type = PORT_AUDIO, .flags = PORT_OUTPUT, .symbol = "out", .name = "", .group = "", .uri = ""
  };
  Plugin plugin = {
    .origin = { format, id }, .name = name, .n_ports = strcmp(name, "mute") != 0, .ports = &out
  };
  plugin.maker = plugin.licence = plugin.category = plugin.fault = plugin.notes = "";
  plugin.bundle = plugin.binary = "/nowhere";
  return plugin;
}

static void
report(const char* const format, const char* const name, const PluginFound found,
       void* const context)
{
  Plugin plugin = make_plugin(format, "urn:test:plugin", name);
  plugin.fx.origin = &plugin.origin;
  found(context, &plugin);
}

static void
report_flood(const PluginFound found, void* const context)
{
  char* const name = malloc(NAME_SIZE);
  memset(name, 'x', NAME_SIZE);
  name[NAME_SIZE - 1U] = '\0';
  for (int i = 0; i < 20; ++i) {
    report("leaf", name, found, context);
  }
  free(name);
}

/// Find some plugins, each after a time that is shorter than the limit.
static void
report_slowly(const PluginFound found, void* const context)
{
  for (int i = 0; i < 4; ++i) {
    time_sleep(FAKE_SLOW_MS * NS_PER_MS);
    report("leaf", "slow", found, context);
  }
}

static void
misbehave(const char* const bundle, const char* const words)
{
  if (does(words, "abort")) {
    fputs("no display\nno hope\n", stderr);
    abort();
  } else if (does(words, "busy")) {
    raise(SIGXCPU); // as the kernel does at the limit
  } else if (does(words, "chdir")) {
    (void)!chdir("/");
  } else if (does(words, "close")) {
    closefrom(0);
  } else if (does(words, "crash")) {
    raise(SIGSEGV);
  } else if (does(words, "killed")) {
    raise(SIGKILL);
  } else if (does(words, "exit")) {
    exit(0);
  } else if (does(words, "fork")) {
    leave_process(bundle);
  } else if (does(words, "hang")) {
    write_pid(bundle);
    for (;;) {
      pause();
    }
  } else if (does(words, "print")) {
    print_gigabyte();
  } else if (does(words, "storm")) {
    start_storm(bundle);
  } else if (does(words, "three")) {
    dprintf(3, "warprack-plugins\t1\n");
  }
}

static Status
describe(const char* const format, const char* const bundle, const PluginFound found,
         void* const context, Error* const error)
{
  char words[64];
  char name[256];
  read_words(bundle, words);
  misbehave(bundle, words);
  if (does(words, "fail")) {
    return error_set(error, STATUS_FILE, "no such symbol");
  }
  if (does(words, "flood")) {
    report_flood(found, context);
  } else if (does(words, "slow")) {
    report_slowly(found, context);
  } else if (does(words, "look")) {
    name_surroundings(name);
    report(format, name, found, context);
  } else if (does(words, "reach")) {
    name_refused(name);
    report(format, name, found, context);
  } else {
    report(does(words, "other") ? "other" : format, words, found, context);
  }
  return STATUS_OK;
}

// ---- formats ----

static Status
describe_leaf(const char* const bundle, const PluginFound found, void* const context,
              Error* const error)
{
  return describe("leaf", bundle, found, context, error);
}

static char prepared[256]; ///< The words of all bundles

static Status
prepare_tree(const char* const* const bundles, const uint32_t n_bundles,
             void (*const announce)(void* context, const char* bundle), void* const context,
             Error* const error)
{
  for (uint32_t b = 0; b < n_bundles; ++b) {
    char words[64];
    read_words(bundles[b], words);
    announce(context, bundles[b]);
    if (does(words, "badly")) {
      raise(SIGSEGV);
    } else if (does(words, "slowly")) {
      pause();
    } else if (does(words, "forks")) {
      leave_process(bundles[b]);
    } else if (does(words, "never")) {
      return error_set(error, STATUS_FILE, "cannot prepare");
    }
    strncat(prepared, words, sizeof(prepared) - strlen(prepared) - 2U);
    strcat(prepared, "/");
  }
  return STATUS_OK;
}

/// The name of a plugin is what was prepared.
static Status
describe_tree(const char* const bundle, const PluginFound found, void* const context,
              Error* const error)
{
  char words[64];
  (void)error;
  read_words(bundle, words);
  misbehave(bundle, words);
  report("tree", prepared, found, context);
  return STATUS_OK;
}

static Status
describe_box(const char* const bundle, const PluginFound found, void* const context,
             Error* const error)
{
  (void)bundle;
  (void)error;
  report("box", "good", found, context);
  return STATUS_OK;
}

static const PluginFormat box = { .name = "box",
                                  .path_variable = "BOX_PATH",
                                  .default_folders = "~:~/nowhere",
                                  .is_folder = true,
                                  .extension = ".box",
                                  .marker = "label",
                                  .describe = describe_box };
static Status
describe_crate(const char* const bundle, const PluginFound found, void* const context,
               Error* const error)
{
  char words[64];
  (void)error;
  read_words(bundle, words);
  report("crate", words, found, context);
  return STATUS_OK;
}

static const PluginFormat crate = { .name = "crate",
                                    .path_variable = "CRATE_PATH",
                                    .keeps_defaults = true,
                                    .default_folders = "~/crates",
                                    .extension = ".crate",
                                    .describe = describe_crate };
static const PluginFormat leaf = { .name = "leaf",
                                   .path_variable = "LEAF_PATH",
                                   .default_folders = "/nowhere",
                                   .is_deep = true,
                                   .extension = ".leaf",
                                   .describe = describe_leaf };
static const PluginFormat tree = { .name = "tree",
                                   .path_variable = "TREE_PATH",
                                   .default_folders = "/nowhere",
                                   .extension = ".tree",
                                   .prepare = prepare_tree,
                                   .describe = describe_tree };

const PluginFormat* const* __wrap_plugin_formats(uint32_t* n_formats);

const PluginFormat* const*
__wrap_plugin_formats(uint32_t* const n_formats)
{
  static const PluginFormat* const formats[] = { &box, &crate, &leaf, &tree, NULL };
  *n_formats = 4;
  return formats;
}
