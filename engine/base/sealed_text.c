// SPDX-License-Identifier: GPL-3.0-or-later

#include "sealed_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static bool
write_all(const int fd, const char* const text, const size_t n_bytes)
{
  size_t done = 0;
  while (done < n_bytes) {
    const ssize_t n = write(fd, text + done, n_bytes - done);
    if (n < 0 && errno != EINTR) {
      return false;
    }
    done += n > 0 ? (size_t)n : 0U;
  }
  return true;
}

Status
sealed_text_new(const char* const text, const size_t n_bytes, int* const fd, Error* const error)
{
  const int memory = memfd_create("warprack-text", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0 || !write_all(memory, text, n_bytes) || fcntl(memory, F_ADD_SEALS, SEALS) != 0) {
    error_set(error, STATUS_NO_MEM, "no sealed memory for %zu bytes: %s", n_bytes, strerror(errno));
    if (memory >= 0) {
      close(memory);
    }
    return STATUS_NO_MEM;
  }
  *fd = memory;
  return STATUS_OK;
}

/// Check seals and size.
static Status
check(const int fd, const size_t max_bytes, size_t* const n_bytes, Error* const error)
{
  struct stat file;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &file) != 0) {
    return error_set(error, STATUS_BAD_ARG, "not a text in sealed memory");
  }
  *n_bytes = (size_t)file.st_size;
  return *n_bytes > max_bytes ? error_set(error, STATUS_LIMIT, "a text of %zu bytes; at most %zu",
                                          *n_bytes, max_bytes)
                              : STATUS_OK;
}

static bool
read_all(const int fd, char* const text, const size_t n_bytes)
{
  size_t done = 0;
  ssize_t n = 1;
  while (done < n_bytes && n > 0) {
    do {
      n = pread(fd, text + done, n_bytes - done, (off_t)done);
    } while (n < 0 && errno == EINTR);
    done += n > 0 ? (size_t)n : 0U;
  }
  return done == n_bytes;
}

Status
sealed_text_read(const int fd, const size_t max_bytes, char** const text, size_t* const n_bytes,
                 Error* const error)
{
  size_t n = 0;
  const Status status = check(fd, max_bytes, &n, error);
  if (status) {
    return status;
  }
  char* const copy = malloc(n + 1U);
  if (!copy || !read_all(fd, copy, n)) {
    free(copy);
    return error_set(error, STATUS_NO_MEM, "no memory for a text of %zu bytes", n);
  }
  copy[n] = '\0';
  *text = copy;
  *n_bytes = n;
  return STATUS_OK;
}
