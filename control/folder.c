// SPDX-License-Identifier: GPL-3.0-or-later
// Opens files inside one folder with openat2(2).

#include "folder.h"

#include "engine/rack/rack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEFTOVER_BEGINS   ".warprack-"
#define LEFTOVER_ENDS     ".tmp"
#define LEFTOVER_BYTES    64U
#define HASH_DIGITS       16U         // of fx_state_name() and package_name()
#define COPY_BYTES        (1U << 20U) // in one call
#define COPY_SUFFIX_BYTES 16U  // longest suffix that a copy with a number keeps, with its dot
#define COPY_TRIES        100U // names for a copy

static int
open_beneath(const int folder_fd, const char* const name, const int flags)
{
  const struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC | O_NONBLOCK),
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
  return (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof(how));
}

/// True on a kernel before 5.6, and in a sandbox that blocks openat2 (containers: EPERM).
static bool
lacks_openat2(void)
{
  const struct open_how how = { .flags = O_PATH | O_CLOEXEC };
  const int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
  if (fd >= 0) {
    close(fd);
  }
  return fd < 0 && (errno == ENOSYS || errno == EPERM);
}

static Status
fail_to_open(Error* const error, const char* const name, const int code)
{
  if (code == EXDEV) {
    return error_set(error, STATUS_FILE,
                     "%.200s: outside the server's folder; only names inside it may be used", name);
  }
  if ((code == ENOSYS || code == EPERM) && lacks_openat2()) {
    return error_set(error, STATUS_FILE,
                     "%.200s: this system lacks openat2, which keeps file "
                     "names inside the server's folder",
                     name);
  }
  return error_set(error, status_of_errno(code, STATUS_FILE), "%.200s: %s", name, strerror(code));
}

Status
folder_open(Folder* const folder, const char* const path, Error* const error)
{
  folder->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return folder->fd >= 0 ? STATUS_OK : fail_to_open(error, path, errno);
}

void
folder_close(Folder* const folder)
{
  if (folder->fd >= 0) {
    close(folder->fd);
  }
  folder->fd = -1;
}

int
folder_mark_used(const Folder* const folder)
{
  struct flock mark = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
  const int fd = open_beneath(folder->fd, ".", O_RDONLY | O_DIRECTORY);
  if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &mark) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

bool
folder_is_used(const Folder* const folder)
{
  // Asks for a lock without taking it: a server that starts meanwhile gets its mark.
  struct flock other = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  const int fd = open_beneath(folder->fd, ".", O_RDONLY | O_DIRECTORY);
  const bool is_used = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &other) && other.l_type != F_UNLCK;
  if (fd >= 0) {
    close(fd);
  }
  return is_used;
}

/// Open a regular file for reading.  Sets *n_bytes to its size.
static Status
open_file(const Folder* const folder, const char* const name, int* const fd,
          uint64_t* const n_bytes, Error* const error)
{
  *fd = open_beneath(folder->fd, name, O_RDONLY | O_NOCTTY);
  if (*fd < 0) {
    return fail_to_open(error, name, errno);
  }
  struct stat info;
  if (fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(*fd);
    return error_set(error, STATUS_FILE, "%.200s: not a regular file", name);
  }
  *n_bytes = (uint64_t)info.st_size;
  return STATUS_OK;
}

Status
folder_open_file(const Folder* const folder, const char* const name, int* const fd,
                 Error* const error)
{
  uint64_t n_bytes = 0;
  return open_file(folder, name, fd, &n_bytes, error);
}

static ssize_t
read_all(const int fd, char* const text, const size_t n_bytes)
{
  size_t n_read = 0;
  while (n_read < n_bytes) {
    const ssize_t n = read(fd, text + n_read, n_bytes - n_read);
    if (n < 0 && errno != EINTR) {
      return -1;
    }
    if (n == 0) {
      break;
    }
    n_read += n > 0 ? (size_t)n : 0U;
  }
  return (ssize_t)n_read;
}

Status
folder_read(const Folder* const folder, const char* const name, char** const text,
            Error* const error)
{
  int fd = -1;
  uint64_t n_bytes = 0;
  const Status status = open_file(folder, name, &fd, &n_bytes, error);
  if (status != STATUS_OK) {
    return status;
  }
  if (n_bytes > RACK_MAX_TEXT) {
    close(fd);
    return error_set(error, STATUS_LIMIT, "%.200s: larger than %u bytes", name, RACK_MAX_TEXT);
  }
  char* const content = malloc((size_t)n_bytes + 1U);
  const ssize_t n_read = content ? read_all(fd, content, (size_t)n_bytes) : 0;
  const int code = errno;
  close(fd);
  if (!content || n_read < 0) {
    free(content);
    return content ? fail_to_open(error, name, code)
                   : error_set(error, STATUS_NO_MEM, "%.200s: out of memory", name);
  }
  content[n_read] = 0;
  if (strlen(content) != (size_t)n_read) {
    free(content);
    return error_set(error, STATUS_FILE, "%.200s: not a text", name);
  }
  *text = content;
  return STATUS_OK;
}

static bool
ends_in(const char* const name, const char* const end)
{
  const size_t length = strlen(name);
  const size_t n = strlen(end);
  return length >= n && strcmp(name + length - n, end) == 0;
}

static bool
ends_in_rack(const char* const name)
{
  return ends_in(name, ".rack") && strcmp(name, ".rack") != 0 && !ends_in(name, "/.rack");
}

static Status
check_rack_name(const char* const name, Error* const error)
{
  return ends_in_rack(name) ? STATUS_OK
                            : error_set(error, STATUS_BAD_ARG,
                                        "%.200s: the name of a rack ends in \".rack\"", name);
}

Status
folder_read_rack(const Folder* const folder, const char* const name, char** const text,
                 Error* const error)
{
  const Status status = check_rack_name(name, error);
  return status ? status : folder_read(folder, name, text, error);
}

static bool
write_bytes(const int fd, const char* text, size_t n_bytes)
{
  while (n_bytes) {
    const ssize_t n = write(fd, text, n_bytes);
    if (n < 0 && errno != EINTR) {
      return false;
    }
    text += n > 0 ? n : 0;
    n_bytes -= n > 0 ? (size_t)n : 0U;
  }
  return true;
}

static bool
write_all(const int fd, const char* const bytes, const size_t n_bytes)
{
  return write_bytes(fd, bytes, n_bytes) && fsync(fd) == 0;
}

/// Create a new file in the folder with the permissions of the file that it will replace, but none
/// of `never`.  Returns -1 with errno on failure.
static int
create_beside(const int fd, const char* const base, const mode_t never,
              char temporary[const LEFTOVER_BYTES])
{
  uint64_t number = 0; // random: other processes and containers may write here
  struct stat old;
  if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
    return -1;
  }
  snprintf(temporary, LEFTOVER_BYTES, LEFTOVER_BEGINS "%016" PRIx64 LEFTOVER_ENDS, number);
  const int file =
      openat(fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666 & ~never);
  if (file >= 0 && fstatat(fd, base, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode)) {
    (void)fchmod(file, old.st_mode & 0777U & ~never); // otherwise the default permissions
  }
  return file;
}

/// Write a new file in the folder `fd`, and rename it to `base`.  Returns 0 or an errno.
static int
replace_file(const int fd, const char* const base, const mode_t never, const char* const bytes,
             const size_t n_bytes)
{
  char temporary[LEFTOVER_BYTES];
  const int file = create_beside(fd, base, never, temporary);
  if (file < 0) {
    return errno;
  }
  int code = write_all(file, bytes, n_bytes) ? 0 : errno;
  code = close(file) == 0 ? code : errno;
  if (code == 0 && renameat(fd, temporary, fd, base) != 0) {
    code = errno;
  }
  if (code) {
    unlinkat(fd, temporary, 0);
    return code;
  }
  return fsync(fd) == 0 ? 0 : errno; // write the new name to the disk
}

Status
folder_create(const Folder* const folder, const char* const name, int* const fd, Error* const error)
{
  *fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
               0666);
  if (*fd < 0 && errno == EEXIST) {
    return error_set(error, STATUS_EXISTS, "%.200s: there is a file of that name already", name);
  }
  return *fd < 0 ? fail_to_open(error, name, errno) : STATUS_OK;
}

Status
folder_append(const int fd, const char* const name, const void* const bytes, const size_t n_bytes,
              const bool is_last, Error* const error)
{
  struct stat before;
  int code = fstat(fd, &before) ? errno : 0;
  if (!code && !(is_last ? write_all : write_bytes)(fd, bytes, n_bytes)) {
    code = errno;
    (void)!ftruncate(fd, before.st_size); // without half a line
  }
  return code ? error_set(error, STATUS_FILE, "%.200s: %s", name, strerror(code)) : STATUS_OK;
}

/// True for a temporary file of that age, whatever the clock was when it was written: for age 0 a
/// file of the future, too.
static bool
is_leftover(const int fd, const char* const name, const uint32_t age_s)
{
  struct stat facts;
  return strncmp(name, LEFTOVER_BEGINS, strlen(LEFTOVER_BEGINS)) == 0 &&
         ends_in(name, LEFTOVER_ENDS) && !fstatat(fd, name, &facts, AT_SYMLINK_NOFOLLOW) &&
         (!age_s || facts.st_mtime <= time(NULL) - (time_t)age_s);
}

void
folder_remove_leftovers(const Folder* const folder, const uint32_t age_s)
{
  const int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = fd >= 0 ? fdopendir(fd) : NULL;
  if (!entries && fd >= 0) {
    close(fd);
  }
  for (const struct dirent* entry = NULL; entries && (entry = readdir(entries));) {
    if (is_leftover(folder->fd, entry->d_name, age_s)) {
      unlinkat(folder->fd, entry->d_name, 0);
    }
  }
  if (entries) {
    closedir(entries);
  }
}

size_t
folder_kept_name(const char* const name, bool* const is_state)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-0123456789";
  static const char small[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  static const char digits[] = "0123456789abcdef";
  const size_t n = strspn(name, letters);
  const char* const suffix = name[n] == '.' ? name + n + 1U : "";
  const char* const hash = n > HASH_DIGITS + 1U ? name + n - HASH_DIGITS : "";
  *is_state = !strcmp(suffix, "state");
  const bool is_time = strspn(hash, "0123456789") == HASH_DIGITS && !*is_state;
  const bool is_kept = *suffix && !suffix[strspn(suffix, small)] && !is_time &&
                       strspn(hash, digits) == HASH_DIGITS && hash[-1] == '-';
  return is_kept ? n - HASH_DIGITS - 1U : 0U;
}

Status
folder_count_kept(const Folder* const folder, FolderKept* const kept, Error* const error)
{
  const int fd = open_beneath(folder->fd, ".", O_RDONLY | O_DIRECTORY);
  DIR* const entries = fd >= 0 ? fdopendir(fd) : NULL;
  *kept = (FolderKept){ 0 };
  if (!entries) {
    const int code = errno;
    if (fd >= 0) {
      close(fd);
    }
    return fail_to_open(error, "the server's folder", code);
  }
  for (const struct dirent* entry = NULL; (entry = readdir(entries));) {
    bool is_state = false;
    struct stat facts;
    if (folder_kept_name(entry->d_name, &is_state) &&
        !fstatat(folder->fd, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) &&
        S_ISREG(facts.st_mode)) {
      kept->n_states += is_state;
      kept->n_bytes += (uint64_t)facts.st_size;
    }
  }
  closedir(entries);
  return STATUS_OK;
}

/// Refuse another file if there are too many.
static Status
check_kept(const Folder* const folder, const size_t n_bytes, Error* const error)
{
  FolderKept kept;
  const Status status = folder_count_kept(folder, &kept, error);
  if (status) {
    return status;
  }
  return kept.n_states < FOLDER_MAX_STATES && kept.n_bytes + n_bytes <= FOLDER_MAX_KEPT_BYTES
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT,
                         "the server's folder has %" PRIu64 " states of %.0f MiB; at most %u of "
                         "%.0f MiB; `warprack list states` shows which ones no rack uses",
                         kept.n_states, (double)kept.n_bytes / 1048576.0, FOLDER_MAX_STATES,
                         (double)FOLDER_MAX_KEPT_BYTES / 1048576.0);
}

/// Write a file directly in the folder.  Others must not change it: it may name code of plugins.
static Status
replace_directly(const Folder* const folder, const char* const name, const char* const bytes,
                 const size_t n_bytes, Error* const error)
{
  const int fd = open_beneath(folder->fd, ".", O_RDONLY | O_DIRECTORY);
  const int code = fd >= 0 ? replace_file(fd, name, S_IWOTH, bytes, n_bytes) : errno;
  if (fd >= 0) {
    close(fd);
  }
  return code ? fail_to_open(error, name, code) : STATUS_OK;
}

Status
folder_replace(const Folder* const folder, const char* const name, const char* const text,
               Error* const error)
{
  return replace_directly(folder, name, text, strlen(text), error);
}

/// True if an open file has this content.
static bool
has_content(const int fd, const void* const bytes, const size_t n_bytes)
{
  char* const content = malloc(n_bytes + 1U);
  const bool is_equal = content && read_all(fd, content, n_bytes + 1U) == (ssize_t)n_bytes &&
                        !memcmp(content, bytes, n_bytes);
  free(content);
  return is_equal;
}

Status
folder_keep(const Folder* const folder, const char* const name, const void* const bytes,
            const size_t n_bytes, Error* const error)
{
  int fd = -1;
  uint64_t n_old = 0;
  struct stat facts;
  if (fstatat(folder->fd, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
    const Status has_room = check_kept(folder, n_bytes, error);
    return has_room ? has_room : replace_directly(folder, name, bytes, n_bytes, error);
  }
  const Status status = open_file(folder, name, &fd, &n_old, error);
  if (status) {
    return status;
  }
  const bool is_equal = n_old == n_bytes && has_content(fd, bytes, n_bytes);
  close(fd);
  return is_equal ? STATUS_OK
                  : error_set(error, STATUS_EXISTS,
                              "%.200s: a file of that name exists and has another content", name);
}

/// True if two open files have the same content.
static bool
has_same_content(const int a, const int b)
{
  static const size_t n_bytes = 65536U;
  char* const pieces = malloc(2U * n_bytes);
  bool is_equal = pieces;
  for (off_t at = 0; is_equal;) {
    const ssize_t n = pread(a, pieces, n_bytes, at);
    is_equal = n >= 0 && pread(b, pieces + n_bytes, n_bytes, at) == n &&
               !memcmp(pieces, pieces + n_bytes, (size_t)n);
    if (n <= 0) {
      break;
    }
    at += n;
  }
  free(pieces);
  return is_equal;
}

/// Copy the rest of a file to the disk.
static bool
copy_rest(const int from, const int to)
{
  ssize_t n = 0;
  do {
    n = sendfile(to, from, NULL, COPY_BYTES);
  } while (n > 0 || (n < 0 && errno == EINTR));
  return n == 0 && fsync(to) == 0;
}

/// Copy a file as `name`, which no file has.  Returns 0 or an errno.
static int
copy_as(const int folder_fd, const int from, const char* const name)
{
  char temporary[LEFTOVER_BYTES];
  const int file = create_beside(folder_fd, name, S_IWOTH, temporary);
  if (file < 0) {
    return errno;
  }
  int code = lseek(from, 0, SEEK_SET) == 0 && copy_rest(from, file) ? 0 : errno;
  code = close(file) == 0 ? code : errno;
  if (code == 0 && renameat(folder_fd, temporary, folder_fd, name) != 0) {
    code = errno;
  }
  if (code) {
    unlinkat(folder_fd, temporary, 0);
    return code;
  }
  return fsync(folder_fd) == 0 ? 0 : errno;
}

/// The n-th name to try: "hall.wav", "hall-2.wav", "hall-3.wav".
static void
number_name(const char* const wanted, const unsigned n, char name[const FOLDER_NAME_BYTES])
{
  const char* const dot = strrchr(wanted, '.');
  const bool has_suffix = dot && dot != wanted && strlen(dot) <= COPY_SUFFIX_BYTES;
  const size_t n_stem = has_suffix ? (size_t)(dot - wanted) : strlen(wanted);
  const size_t longest = FOLDER_NAME_BYTES - COPY_SUFFIX_BYTES - sizeof("-999");
  char number[sizeof("-999")] = "";
  if (n > 1U) {
    snprintf(number, sizeof(number), "-%u", n % 1000U);
  }
  snprintf(name, FOLDER_NAME_BYTES, "%.*s%s%s", (int)(n_stem < longest ? n_stem : longest), wanted,
           number, has_suffix ? dot : "");
}

/// Use a file of this name if it has the content, or copy the content if there is no such file.
/// Returns 0 or an errno: EEXIST if the name is that of another file.
static int
use_or_copy(const int folder_fd, const int from, const char* const name)
{
  const int there = open_beneath(folder_fd, name, O_RDONLY | O_NOCTTY);
  struct stat facts;
  if (there < 0) {
    return errno == ENOENT ? copy_as(folder_fd, from, name) : EEXIST;
  }
  const bool is_same =
      fstat(there, &facts) == 0 && S_ISREG(facts.st_mode) && has_same_content(there, from);
  close(there);
  return is_same ? 0 : EEXIST;
}

Status
folder_copy(const Folder* const folder, const int fd, const char* const wanted,
            char name[const FOLDER_NAME_BYTES], Error* const error)
{
  struct stat facts;
  const int folder_fd = open_beneath(folder->fd, ".", O_RDONLY | O_DIRECTORY);
  int code = folder_fd < 0 || fstat(fd, &facts) ? errno
             : facts.st_size > FOLDER_COPY_MAX  ? EFBIG
                                                : EEXIST;
  for (unsigned n = 1; code == EEXIST && n < COPY_TRIES; ++n) {
    number_name(wanted, n, name);
    code = use_or_copy(folder_fd, fd, name);
  }
  if (folder_fd >= 0) {
    close(folder_fd);
  }
  return code ? fail_to_open(error, wanted, code) : STATUS_OK;
}

Status
folder_write(const Folder* const folder, const char* const name, const char* const text,
             Error* const error)
{
  const Status status = check_rack_name(name, error);
  if (status) {
    return status;
  }
  const char* const slash = strrchr(name, '/');
  char* const parent =
      slash ? strndup(name, slash == name ? 1U : (size_t)(slash - name)) : strdup(".");
  const int fd = parent ? open_beneath(folder->fd, parent, O_RDONLY | O_DIRECTORY) : -1;
  int code = fd >= 0 ? 0 : errno;
  free(parent);
  if (fd >= 0) {
    code = replace_file(fd, slash ? slash + 1 : name, 0, text, strlen(text));
    close(fd);
  }
  return code ? fail_to_open(error, name, code) : STATUS_OK;
}
