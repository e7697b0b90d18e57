// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled modules on disk.  A file is a header, the words of the key, each with its final zero,
// and the module; numbers are in the byte order of the machine.

#include "gpu_cache.h"

#include "engine/base/cache_folder.h"
#include "engine/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT    "warprack-gpu-1"   // the number is the version of the format
#define MAX_BYTES ((off_t)256 << 20) // a larger file is invalid

typedef struct Header {
  char format[16];
  uint64_t key_bytes;
  uint64_t module_bytes;
  uint64_t checksum; ///< Checksum of all other bytes
} Header;

/// A key as one string of bytes.
typedef struct Key {
  char* text;
  size_t n_bytes;
  char path[512]; ///< Path of the key's file, "" if there is no folder
} Key;

// ---- hash ----

// The hash detects accidental damage only: a program that can write to the folder on purpose could
// cause greater harm in other ways.
static uint64_t
checksum(const Header* const header, const void* const key, const void* const module)
{
  uint64_t state = hash_bytes(HASH64_START, header, offsetof(Header, checksum));
  state = hash_bytes(state, key, header->key_bytes);
  return hash_bytes(state, module, header->module_bytes);
}

// ---- key ----

#define FOLDER_BYTES 480U

bool
gpu_cache_has_folder(void)
{
  char folder[FOLDER_BYTES];
  struct stat found;
  return cache_folder_make(folder, sizeof(folder)) && !stat(folder, &found) &&
         S_ISDIR(found.st_mode);
}

static void
find_path(Key* const key)
{
  char folder[FOLDER_BYTES];
  key->path[0] = '\0';
  if (cache_folder_make(folder, sizeof(folder))) {
    snprintf(key->path, sizeof(key->path), "%s/%016" PRIx64, folder,
             hash_bytes(HASH64_START, key->text, key->n_bytes));
  }
}

static bool
key_init(Key* const key, const char* const* const words)
{
  key->n_bytes = 0;
  for (uint32_t w = 0; words[w]; ++w) {
    key->n_bytes += strlen(words[w]) + 1U;
  }
  key->text = malloc(key->n_bytes + 1U);
  if (!key->text) {
    return false;
  }
  char* at = key->text;
  for (uint32_t w = 0; words[w]; ++w) {
    at = stpcpy(at, words[w]) + 1;
  }
  find_path(key);
  return true;
}

static void
key_clear(Key* const key)
{
  free(key->text);
}

// ---- load ----

// The content of the file, NULL if there is no file.
static char*
read_file(const char* const path, size_t* const n_bytes)
{
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat stat;
  if (file < 0 || fstat(file, &stat) || !S_ISREG(stat.st_mode) || stat.st_size > MAX_BYTES) {
    if (file >= 0) {
      close(file);
    }
    return NULL;
  }
  char* const bytes = malloc((size_t)stat.st_size + 1U);
  size_t n_read = 0;
  for (ssize_t n = 1; bytes && n > 0; n_read += n > 0 ? (size_t)n : 0) {
    n = read(file, bytes + n_read, (size_t)stat.st_size - n_read);
  }
  close(file);
  *n_bytes = n_read;
  return bytes;
}

// True if length and checksum are right, for any key.
static bool
is_whole(const char* const bytes, const size_t n_bytes, Header* const header)
{
  if (n_bytes < sizeof(*header)) {
    return false;
  }
  memcpy(header, bytes, sizeof(*header));
  const size_t rest = n_bytes - sizeof(*header);
  if (strncmp(header->format, FORMAT, sizeof(header->format)) != 0 || header->key_bytes > rest ||
      header->module_bytes != rest - header->key_bytes) {
    return false;
  }
  const char* const key = bytes + sizeof(*header);
  return header->checksum == checksum(header, key, key + header->key_bytes);
}

static bool
load(const Key* const key, void** const bytes, size_t* const n_bytes)
{
  size_t file_bytes = 0;
  char* const file = read_file(key->path, &file_bytes);
  Header header;
  if (!file) {
    return false;
  }
  if (!is_whole(file, file_bytes, &header)) {
    unlink(key->path);
    free(file);
    return false;
  }
  const char* const module = file + sizeof(header) + header.key_bytes;
  if (header.key_bytes != key->n_bytes ||
      memcmp(file + sizeof(header), key->text, key->n_bytes) != 0) {
    free(file); // another key with the same hash
    return false;
  }
  memmove(file, module, header.module_bytes);
  *bytes = file;
  *n_bytes = header.module_bytes;
  return true;
}

bool
gpu_cache_load(const char* const* const words, void** const bytes, size_t* const n_bytes)
{
  Key key;
  if (!key_init(&key, words)) {
    return false;
  }
  const bool is_there = load(&key, bytes, n_bytes);
  key_clear(&key);
  return is_there;
}

// ---- store ----

static bool
write_all(const int file, const void* const bytes, const size_t n_bytes)
{
  size_t n_written = 0;
  while (n_written < n_bytes) {
    const ssize_t n = write(file, (const char*)bytes + n_written, n_bytes - n_written);
    if (n < 0 && errno != EINTR) {
      return false;
    }
    n_written += n > 0 ? (size_t)n : 0;
  }
  return true;
}

// The file is synchronised before it gets its final name, so that the name never refers to a part
// of it.
static bool
write_file(const int file, const Key* const key, const void* const module, const size_t n_bytes)
{
  Header header = { FORMAT, key->n_bytes, n_bytes, 0 };
  header.checksum = checksum(&header, key->text, module);
  const bool is_written = write_all(file, &header, sizeof(header)) &&
                          write_all(file, key->text, key->n_bytes) &&
                          write_all(file, module, n_bytes) && !fsync(file);
  return !close(file) && is_written;
}

static bool
store(const Key* const key, const void* const module, const size_t n_bytes)
{
  char path[sizeof(key->path) + 8U];
  snprintf(path, sizeof(path), "%s.XXXXXX", key->path);
  const int file = mkostemp(path, O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  if (!write_file(file, key, module, n_bytes) || rename(path, key->path)) {
    unlink(path);
    return false;
  }
  return true;
}

bool
gpu_cache_store(const char* const* const words, const void* const bytes, const size_t n_bytes)
{
  Key key;
  if (!key_init(&key, words)) {
    return false;
  }
  const bool is_stored = key.path[0] && store(&key, bytes, n_bytes);
  key_clear(&key);
  return is_stored;
}

void
gpu_cache_forget(const char* const* const words)
{
  Key key;
  if (key_init(&key, words)) {
    unlink(key.path);
    key_clear(&key);
  }
}
