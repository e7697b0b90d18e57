// SPDX-License-Identifier: GPL-3.0-or-later
// Files with states: written, read, checked.

#include "state_file.h"

#include "engine/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "# warprack state 1"

bool
state_append(TextBuffer* const buffer, const void* const bytes, const size_t n_bytes)
{
  return text_buffer_add_bytes(buffer, bytes, n_bytes, FX_STATE_MAX_BYTES);
}

Status
state_too_large(Error* const error)
{
  return error_set(error, STATUS_LIMIT, "its state has more than %u MiB",
                   FX_STATE_MAX_BYTES >> 20U);
}

// ---- parts ----

void
state_file_clear(StateFile* const file)
{
  for (uint32_t p = 0; p < file->n_parts; ++p) {
    free((void*)file->parts[p].bytes);
  }
  free(file->parts);
  *file = (StateFile){ 0 };
}

static bool
copy_part(const StatePart* const from, StatePart* const to)
{
  char* const bytes = malloc(from->n_bytes + 1U);
  if (bytes) {
    memcpy(bytes, from->bytes, from->n_bytes);
    bytes[from->n_bytes] = '\0';
    *to = (StatePart){ bytes, from->n_bytes };
  }
  return bytes;
}

Status
state_file_set(StateFile* const file, const StatePart* const parts, const uint32_t n_parts)
{
  StateFile copy = { .parts = calloc(n_parts + 1U, sizeof(StatePart)) };
  bool has_all = copy.parts;
  for (uint32_t p = 0; has_all && p < n_parts; ++p) {
    has_all = copy_part(&parts[p], &copy.parts[p]);
    copy.n_parts += has_all;
  }
  if (!has_all) {
    state_file_clear(&copy);
    return STATUS_NO_MEM;
  }
  state_file_clear(file);
  *file = copy;
  return STATUS_OK;
}

const StatePart*
state_file_part(const StateFile* const file, const uint32_t instance)
{
  return file->n_parts ? &file->parts[instance % file->n_parts] : NULL;
}

size_t
state_file_bytes(const StateFile* const file)
{
  size_t n_bytes = 0;
  for (uint32_t p = 0; p < file->n_parts; ++p) {
    n_bytes += file->parts[p].n_bytes + sizeof(StatePart);
  }
  return n_bytes;
}

static uint64_t
hash_parts(const StatePart* const parts, const uint32_t n_parts)
{
  uint64_t hash = HASH64_START;
  for (uint32_t p = 0; p < n_parts; ++p) {
    hash = hash_bytes(hash, parts[p].bytes, parts[p].n_bytes);
  }
  return hash;
}

// ---- write ----

static bool
are_equal(const StatePart* const parts, const uint32_t n_parts)
{
  bool is_equal = true;
  for (uint32_t p = 1; p < n_parts && is_equal; ++p) {
    is_equal = parts[p].n_bytes == parts[0].n_bytes &&
               !memcmp(parts[p].bytes, parts[0].bytes, parts[0].n_bytes);
  }
  return is_equal;
}

Status
state_file_write(const FxOrigin* const origin, const StatePart* const parts, const uint32_t n_all,
                 TextBuffer* const file, Error* const error)
{
  const uint32_t n_parts = n_all && are_equal(parts, n_all) ? 1U : n_all;
  text_buffer_print(file, FIRST_LINE "\n# %s %s\n# parts %u:", origin->format, origin->id, n_parts);
  for (uint32_t p = 0; p < n_parts; ++p) {
    text_buffer_print(file, " %zu", parts[p].n_bytes);
  }
  text_buffer_print(file, "\n# hash %016" PRIx64 "\n", hash_parts(parts, n_parts));
  bool has_all = true;
  for (uint32_t p = 0; p < n_parts && has_all; ++p) {
    has_all = state_append(file, parts[p].bytes, parts[p].n_bytes);
  }
  if (file->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return has_all ? STATUS_OK : state_too_large(error);
}

// ---- read ----

/// The rest of a file.
typedef struct Rest {
  const char* at;
  const char* end;
} Rest;

/// Skip a text that the file must have next.
static bool
skip(Rest* const rest, const char* const text)
{
  const size_t n = strlen(text);
  const bool is_there = (size_t)(rest->end - rest->at) >= n && !memcmp(rest->at, text, n);
  rest->at += is_there ? n : 0U;
  return is_there;
}

/// Read a number of up to 16 digits.
static bool
read_number(Rest* const rest, const unsigned base, uint64_t* const number)
{
  static const char digits[] = "0123456789abcdef";
  const char* const start = rest->at;
  *number = 0;
  for (; rest->at < rest->end && rest->at - start < 16; ++rest->at) {
    const char* const digit = *rest->at ? strchr(digits, *rest->at) : NULL;
    if (!digit || (unsigned)(digit - digits) >= base) {
      break;
    }
    *number = *number * base + (unsigned)(digit - digits);
  }
  return rest->at > start;
}

/// Read the sizes of the parts, which are the end of the file.
static bool
read_sizes(Rest* const rest, StatePart* const parts, const uint32_t n_parts, uint64_t* const hash)
{
  uint64_t n_bytes = 0;
  uint64_t n_all = 0;
  for (uint32_t p = 0; p < n_parts; ++p) {
    if (!skip(rest, " ") || !read_number(rest, 10U, &n_bytes) || n_bytes > FX_STATE_MAX_BYTES) {
      return false;
    }
    parts[p].n_bytes = (size_t)n_bytes;
    n_all += n_bytes;
  }
  if (!skip(rest, "\n# hash ") || !read_number(rest, 16U, hash) || !skip(rest, "\n") ||
      (uint64_t)(rest->end - rest->at) != n_all) {
    return false;
  }
  for (uint32_t p = 0; p < n_parts; ++p) {
    parts[p].bytes = rest->at;
    rest->at += parts[p].n_bytes;
  }
  return true;
}

static Status
take_parts(Rest* const rest, const uint32_t n_parts, StateFile* const file, Error* const error)
{
  uint64_t hash = 0;
  StatePart* const parts = calloc(n_parts, sizeof(StatePart));
  Status status = STATUS_NO_MEM;
  if (parts && (!read_sizes(rest, parts, n_parts, &hash) || hash != hash_parts(parts, n_parts))) {
    status = STATUS_FILE;
  } else if (parts) {
    status = state_file_set(file, parts, n_parts);
  }
  free(parts);
  return status
             ? error_set(error, status,
                         status == STATUS_FILE ? "the file is damaged or cut off" : "out of memory")
             : STATUS_OK;
}

Status
state_file_parse(const FxOrigin* const origin, const char* const bytes, const size_t n_bytes,
                 StateFile* const file, Error* const error)
{
  Rest rest = { bytes, bytes + n_bytes };
  uint64_t n_parts = 0;
  if (!skip(&rest, FIRST_LINE "\n# ")) {
    return error_set(error, STATUS_FILE, "not a state that /node/<node>/state/save has written");
  }
  const char* const line = rest.at;
  if (!skip(&rest, origin->format) || !skip(&rest, " ") || !skip(&rest, origin->id) ||
      !skip(&rest, "\n")) {
    const char* const end = memchr(line, '\n', (size_t)(rest.end - line));
    const int n_line = (int)((end ? end : rest.end) - line);
    return error_set(error, STATUS_FILE, "the state of another plugin: %.*s",
                     n_line < 200 ? n_line : 200, line);
  }
  if (!skip(&rest, "# parts ") || !read_number(&rest, 10U, &n_parts) || !skip(&rest, ":") ||
      !n_parts || n_parts > STATE_MAX_PARTS) {
    return error_set(error, STATUS_FILE, "the file is damaged or cut off");
  }
  return take_parts(&rest, (uint32_t)n_parts, file, error);
}

/// Read up to n_bytes.  Returns how many, -1 with errno on failure.
static ssize_t
read_all(const int fd, char* const bytes, const size_t n_bytes)
{
  size_t n_read = 0;
  ssize_t n = 1;
  while (n > 0 && n_read < n_bytes) {
    n = read(fd, bytes + n_read, n_bytes - n_read);
    n_read += n > 0 ? (size_t)n : 0U;
    n = n < 0 && errno == EINTR ? 1 : n;
  }
  return n < 0 ? -1 : (ssize_t)n_read;
}

static Status
read_open(const int fd, const FxOrigin* const origin, StateFile* const file, Error* const error)
{
  struct stat facts;
  if (fstat(fd, &facts) || !S_ISREG(facts.st_mode)) {
    return error_set(error, STATUS_FILE, "not a regular file");
  }
  if (facts.st_size > (off_t)FX_STATE_MAX_BYTES) {
    return error_set(error, STATUS_LIMIT, "%lld bytes; a state has at most %u MiB",
                     (long long)facts.st_size, FX_STATE_MAX_BYTES >> 20U);
  }
  char* const bytes = malloc((size_t)facts.st_size + 1U);
  const ssize_t n = bytes ? read_all(fd, bytes, (size_t)facts.st_size) : -1;
  const Status status = n >= 0 ? state_file_parse(origin, bytes, (size_t)n, file, error)
                               : error_set(error, bytes ? STATUS_FILE : STATUS_NO_MEM, "%s",
                                           bytes ? strerror(errno) : "out of memory");
  free(bytes);
  return status;
}

Status
state_file_read(const FxOrigin* const origin, const char* const path, const char* const name,
                StateFile* const file, Error* const error)
{
  Error why = { STATUS_OK, "" };
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  const Status status = fd >= 0 ? read_open(fd, origin, file, &why)
                                : error_set(&why, STATUS_FILE, "%s", strerror(errno));
  if (fd >= 0) {
    close(fd);
  }
  return status ? error_set(error, status, "%.200s: %.280s", name, why.text) : STATUS_OK;
}
