// SPDX-License-Identifier: GPL-3.0-or-later
// The folders with files that plugins make.  They may contain anything: links, pipes, folders.

#include "host_made.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX     "warprack-made-" // then the process, and a random word
#define NAME_BYTES 256U             // of a file with its folders, with the final zero
#define MIN_AGE_S  60               // a folder is locked soon after it is made

void
host_made_init(HostMade* const made)
{
  *made = (HostMade){ .fd = -1 };
  pthread_mutex_init(&made->lock, NULL);
}

// ---- folders ----

static const char*
parent_folder(void)
{
  const char* const folder = getenv("TMPDIR");
  return folder && folder[0] == '/' ? folder : "/tmp";
}

static int
remove_entry(const char* const path, const struct stat* const facts, const int type,
             struct FTW* const place)
{
  (void)facts;
  (void)type;
  (void)place;
  (void)remove(path);
  return 0; // the rest is removed all the same
}

static void
remove_folder(const char* const path)
{
  (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/// True for a folder of this user that was made some time ago.
static bool
may_be_left(const int parent_fd, const char* const name)
{
  struct stat facts;
  return !strncmp(name, PREFIX, strlen(PREFIX)) &&
         !fstatat(parent_fd, name, &facts, AT_SYMLINK_NOFOLLOW) && S_ISDIR(facts.st_mode) &&
         facts.st_uid == geteuid() && time(NULL) - facts.st_mtime >= MIN_AGE_S;
}

/// Remove a folder that no process has locked.
static void
remove_if_left(const int parent_fd, const char* const name)
{
  char path[4096];
  const int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const int n = snprintf(path, sizeof(path), "%s/%s", parent_folder(), name);
  if (fd >= 0 && n < (int)sizeof(path) && !flock(fd, LOCK_EX | LOCK_NB)) {
    remove_folder(path);
  }
  if (fd >= 0) {
    close(fd);
  }
}

static void
remove_left_folders(void)
{
  DIR* const parent = opendir(parent_folder());
  for (const struct dirent* entry = NULL; parent && (entry = readdir(parent));) {
    if (may_be_left(dirfd(parent), entry->d_name)) {
      remove_if_left(dirfd(parent), entry->d_name);
    }
  }
  if (parent) {
    closedir(parent);
  }
}

/// The path of a folder, for mkdtemp(): without links, because plugins resolve them.
static Status
choose_path(char** const path, Error* const error)
{
  char* const parent = realpath(parent_folder(), NULL);
  if (!parent) {
    return error_set(error, STATUS_FILE, "no folder for its files in %.200s: %s", parent_folder(),
                     strerror(errno));
  }
  const int n = asprintf(path, "%s/" PREFIX "%d-XXXXXX", parent, (int)getpid());
  free(parent);
  return n < 0 ? error_set(error, STATUS_NO_MEM, "out of memory") : STATUS_OK;
}

/// Make the folder of the instance, unless it has one.
static Status
make_folder(HostMade* const made, Error* const error)
{
  char* path = NULL;
  if (made->folder) {
    return STATUS_OK;
  }
  remove_left_folders();
  if (choose_path(&path, error)) {
    return error->status;
  }
  const bool is_made = mkdtemp(path);
  made->fd = is_made ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (made->fd < 0 || flock(made->fd, LOCK_EX | LOCK_NB)) {
    error_set(error, STATUS_FILE, "no folder for its files in %.200s: %s", parent_folder(),
              strerror(errno));
    if (is_made) {
      rmdir(path);
    }
    if (made->fd >= 0) {
      close(made->fd);
    }
    made->fd = -1;
    free(path);
    return error->status;
  }
  made->folder = path;
  return STATUS_OK;
}

// ---- the limit ----

static uint64_t
bytes_in(const char* const folder)
{
  uint64_t n_bytes = 0;
  char* const paths[] = { (char*)folder, NULL }; // only read
  FTS* const walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
  for (const FTSENT* entry = NULL; walk && (entry = fts_read(walk));) {
    n_bytes += entry->fts_info == FTS_F ? (uint64_t)entry->fts_statp->st_size : 0U;
  }
  if (walk) {
    fts_close(walk);
  }
  return n_bytes;
}

/// Refuse more files if all instances of this process together have too many bytes.
static Status
check_bytes(Error* const error)
{
  char begins[64];
  char path[4096];
  uint64_t n_bytes = 0;
  DIR* const parent = opendir(parent_folder());
  snprintf(begins, sizeof(begins), PREFIX "%d-", (int)getpid());
  for (const struct dirent* entry = NULL; parent && (entry = readdir(parent));) {
    const bool is_ours = !strncmp(entry->d_name, begins, strlen(begins));
    const int n = snprintf(path, sizeof(path), "%s/%s", parent_folder(), entry->d_name);
    n_bytes += is_ours && n < (int)sizeof(path) ? bytes_in(path) : 0U;
  }
  if (parent) {
    closedir(parent);
  }
  return n_bytes <= HOST_MADE_MAX_BYTES
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT,
                         "plugins have made files of %" PRIu64 " MiB in %.200s; at most %llu MiB",
                         n_bytes >> 20U, parent_folder(), HOST_MADE_MAX_BYTES >> 20U);
}

// ---- names ----

static bool
is_plain(const char* const component, const size_t n)
{
  return n && !(n == 1U && component[0] == '.') && !(n == 2U && !memcmp(component, "..", 2U));
}

/// True for a relative name of printable components.
static bool
is_name(const char* const name)
{
  const size_t n_name = strlen(name);
  bool is_good = n_name && n_name < NAME_BYTES;
  for (size_t at = 0; is_good && at <= n_name;) {
    const size_t n = strcspn(name + at, "/");
    is_good = is_plain(name + at, n);
    at += n + 1U;
  }
  for (size_t at = 0; is_good && at < n_name; ++at) {
    is_good = (unsigned char)name[at] >= ' ' && name[at] != 0x7F;
  }
  return is_good;
}

/// Open the folder of a file, without links.  Returns -1 with errno on failure; `leaf`: the rest of
/// the name.
static int
open_parent(const HostMade* const made, const char* const name, const bool creates,
            const char** const leaf)
{
  int fd = fcntl(made->fd, F_DUPFD_CLOEXEC, 0);
  *leaf = name;
  for (const char* slash = NULL; fd >= 0 && (slash = strchr(*leaf, '/')); *leaf = slash + 1) {
    char component[NAME_BYTES];
    snprintf(component, sizeof(component), "%.*s", (int)(slash - *leaf), *leaf);
    if (creates) {
      (void)mkdirat(fd, component, 0700);
    }
    const int next = openat(fd, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int code = errno;
    close(fd);
    errno = code;
    fd = next;
  }
  return fd;
}

static char*
make_path(HostMade* const made, const char* const name, Error* const error)
{
  char* path = NULL;
  const char* leaf = NULL;
  if (!is_name(name)) {
    error_set(error, STATUS_FILE,
              "its state asks for a file \"%.200s\", which is no name below its "
              "folder",
              name);
    return NULL;
  }
  if (check_bytes(error) || make_folder(made, error)) {
    return NULL;
  }
  const int fd = open_parent(made, name, true, &leaf);
  if (fd < 0) {
    error_set(error, STATUS_FILE, "%.200s: %s", name, strerror(errno));
    return NULL;
  }
  close(fd);
  if (asprintf(&path, "%s/%s", made->folder, name) < 0) {
    error_set(error, STATUS_NO_MEM, "out of memory");
    return NULL;
  }
  return path;
}

char*
host_made_path(HostMade* const made, const char* const name)
{
  Error error = { STATUS_OK, "" };
  pthread_mutex_lock(&made->lock);
  char* const path = make_path(made, name, &error);
  if (!path && !made->error.status) {
    made->error = error;
  }
  pthread_mutex_unlock(&made->lock);
  return path;
}

const char*
host_made_name(HostMade* const made, const char* const path)
{
  pthread_mutex_lock(&made->lock);
  const size_t n = made->folder ? strlen(made->folder) : 0U;
  const bool is_below = n && !strncmp(path, made->folder, n) && path[n] == '/';
  pthread_mutex_unlock(&made->lock);
  return is_below ? path + n + 1U : NULL;
}

Error
host_made_take_error(HostMade* const made)
{
  pthread_mutex_lock(&made->lock);
  const Error error = made->error;
  made->error = (Error){ STATUS_OK, "" };
  pthread_mutex_unlock(&made->lock);
  return error;
}

// ---- reading ----

static Status
read_open(const int fd, const size_t max_bytes, TextBuffer* const content, Error* const error)
{
  struct stat facts;
  if (fstat(fd, &facts) || !S_ISREG(facts.st_mode)) {
    return error_set(error, STATUS_FILE, "not a regular file");
  }
  if (facts.st_size > (off_t)max_bytes) {
    return error_set(error, STATUS_LIMIT, "%lld bytes; a state has at most %zu MiB with its files",
                     (long long)facts.st_size, max_bytes >> 20U);
  }
  char* const to = text_buffer_reserve(content, (size_t)facts.st_size);
  ssize_t n = 1;
  while (to && n > 0 && content->n < (size_t)facts.st_size) {
    n = read(fd, content->bytes + content->n, (size_t)facts.st_size - content->n);
    content->n += n > 0 ? (size_t)n : 0U;
    n = n < 0 && errno == EINTR ? 1 : n;
  }
  if (!to) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return n < 0 ? error_set(error, STATUS_FILE, "%s", strerror(errno)) : STATUS_OK;
}

Status
host_made_read(HostMade* const made, const char* const name, const size_t max_bytes,
               TextBuffer* const content, Error* const error)
{
  Error why = { STATUS_OK, "" };
  const char* leaf = NULL;
  int fd = -1;
  if (check_bytes(error)) {
    return error->status;
  }
  if (is_name(name)) {
    pthread_mutex_lock(&made->lock);
    const int parent_fd = open_parent(made, name, false, &leaf);
    pthread_mutex_unlock(&made->lock);
    fd = parent_fd < 0
             ? -1
             : openat(parent_fd, leaf, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    error_set(&why, STATUS_FILE, "%s",
              errno == ELOOP || errno == ENOTDIR ? "a link" : strerror(errno));
    if (parent_fd >= 0) {
      close(parent_fd);
    }
  } else {
    error_set(&why, STATUS_FILE, "no name below its folder");
  }
  const Status status = fd >= 0 ? read_open(fd, max_bytes, content, &why) : why.status;
  if (fd >= 0) {
    close(fd);
  }
  return status
             ? error_set(error, status, "its state names the file %.200s: %.200s", name, why.text)
             : STATUS_OK;
}

void
host_made_clear(HostMade* const made)
{
  if (made->folder) {
    remove_folder(made->folder);
    close(made->fd);
    free(made->folder);
  }
  pthread_mutex_destroy(&made->lock);
  *made = (HostMade){ .fd = -1 };
}
