// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of files and bundles, from stat() only: no file is read.

#include "catalogue.h"

#include "engine/base/hash.h"
#include "engine/base/time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t
time_ns(const struct timespec* const time)
{
  return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

Status
file_key(const char* const path, FileKey* const key, Error* const error)
{
  struct stat facts;
  if (stat(path, &facts)) {
    return error_set(error, STATUS_FILE, "%s: %s", path, strerror(errno));
  }
  const uint64_t modified_ns = time_ns(&facts.st_mtim);
  const uint64_t changed_ns = time_ns(&facts.st_ctim);
  *key = (FileKey){ .inode = facts.st_ino,
                    .n_bytes = (uint64_t)facts.st_size,
                    .changed_ns = modified_ns > changed_ns ? modified_ns : changed_ns };
  return STATUS_OK;
}

/// Continue the hash with a file's name and the numbers that identify its content.
static uint64_t
hash_file(const uint64_t hash, const char* const name, const struct stat* const facts)
{
  char numbers[96];
  const int n = snprintf(numbers, sizeof(numbers), "%ju %jd %ju %ju", (uintmax_t)facts->st_ino,
                         (intmax_t)facts->st_size, (uintmax_t)time_ns(&facts->st_mtim),
                         (uintmax_t)time_ns(&facts->st_ctim));
  return hash_bytes(hash_bytes(hash, name, strlen(name) + 1U), numbers, (size_t)n);
}

/// As alphasort(), but in the same order in every locale.
static int
compare_names(const struct dirent** const a, const struct dirent** const b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

/// The hash of the regular files in an open folder.
static uint64_t
hash_folder(const int folder)
{
  struct dirent** entries = NULL;
  const int n = scandirat(folder, ".", &entries, NULL, compare_names);
  uint64_t hash = HASH64_START;
  for (int i = 0; i < n; ++i) {
    struct stat facts;
    if (!fstatat(folder, entries[i]->d_name, &facts, 0) && S_ISREG(facts.st_mode)) {
      hash = hash_file(hash, entries[i]->d_name, &facts);
    }
    free(entries[i]);
  }
  free(entries);
  return n < 0 ? 0U : hash;
}

uint64_t
catalogue_key(const char* const bundle)
{
  struct stat facts;
  if (stat(bundle, &facts)) {
    return 0;
  }
  if (!S_ISDIR(facts.st_mode)) {
    return hash_file(HASH64_START, "", &facts);
  }
  const int folder = open(bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const uint64_t key = folder < 0 ? 0U : hash_folder(folder);
  if (folder >= 0) {
    close(folder);
  }
  return key;
}
