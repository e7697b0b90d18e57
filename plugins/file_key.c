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

#define MAX_DEPTH 4U // of folders in a bundle, whose links may go round

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

static uint64_t hash_folder(int parent, const char* name, const struct stat* facts, uint32_t depth);

/// The hash after an entry of a folder: a file, or a folder with its files.
static uint64_t
hash_entry(const uint64_t hash, const int folder, const char* const name, const uint32_t depth)
{
  struct stat facts;
  if (fstatat(folder, name, &facts, 0)) {
    return hash;
  }
  if (S_ISDIR(facts.st_mode) && depth < MAX_DEPTH && strcmp(name, ".") != 0 &&
      strcmp(name, "..") != 0) {
    const uint64_t inner = hash_folder(folder, name, &facts, depth + 1U);
    return inner == HASH64_START
               ? hash // without a file
               : hash_bytes(hash_bytes(hash, name, strlen(name) + 1U), &inner, sizeof(inner));
  }
  return S_ISREG(facts.st_mode) ? hash_file(hash, name, &facts) : hash;
}

/// The hash of the regular files of a folder and of those in it; HASH64_START: there are none.  If
/// the folder is unreadable, its status (inode, size, time) counts instead.
static uint64_t
hash_folder(const int parent, const char* const name, const struct stat* const facts,
            const uint32_t depth)
{
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct dirent** entries = NULL;
  const int n = folder < 0 ? -1 : scandirat(folder, ".", &entries, NULL, compare_names);
  uint64_t hash = n < 0 ? hash_file(HASH64_START, "", facts) : HASH64_START;
  for (int i = 0; i < n; ++i) {
    hash = hash_entry(hash, folder, entries[i]->d_name, depth);
    free(entries[i]);
  }
  free(entries);
  if (folder >= 0) {
    close(folder);
  }
  return hash;
}

uint64_t
catalogue_key(const char* const bundle)
{
  struct stat facts;
  if (stat(bundle, &facts)) {
    return 0;
  }
  return S_ISDIR(facts.st_mode) ? hash_folder(AT_FDCWD, bundle, &facts, 0)
                                : hash_file(HASH64_START, "", &facts);
}
