// SPDX-License-Identifier: GPL-3.0-or-later
// Packages of files: written, read with checks.

#include "package.h"

#include "engine/base/macros.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "# warprack package 1\n"
#define STATE      "state"
#define LINE_BYTES 64U

static const char suffix_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/// True for the suffix of a file that a state names.  "rack" is not one: a plugin writes no racks.
static bool
is_suffix(const char* const suffix)
{
  const size_t n = strlen(suffix);
  return n && n < PACKAGE_SUFFIX_BYTES && strspn(suffix, suffix_letters) == n &&
         strcmp(suffix, STATE) && strcmp(suffix, "rack");
}

void
package_suffix(const char* const name, char suffix[const PACKAGE_SUFFIX_BYTES])
{
  const char* const slash = strrchr(name, '/');
  const char* const dot = strrchr(slash ? slash : name, '.');
  char own[PACKAGE_SUFFIX_BYTES + 1U] = "";
  for (size_t i = 0; dot && dot[i + 1U] && i < PACKAGE_SUFFIX_BYTES; ++i) {
    const char letter = dot[i + 1U];
    own[i] = (char)(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  }
  snprintf(suffix, PACKAGE_SUFFIX_BYTES, "%.8s", is_suffix(own) ? own : "data");
}

void
package_name(const FxInfo* const fx, const PackageFile* const file,
             char name[const FX_STATE_NAME_BYTES])
{
  fx_file_name(fx, file->suffix, file->bytes, file->n_bytes, name);
}

// ---- write ----

static bool
append(TextBuffer* const buffer, const void* const bytes, const size_t n_bytes)
{
  return text_buffer_add_bytes(buffer, bytes, n_bytes, FX_STATE_MAX_BYTES);
}

bool
package_add(TextBuffer* const files, const char* const suffix, const void* const bytes,
            const size_t n_bytes)
{
  char line[LINE_BYTES];
  const int n_line = snprintf(line, sizeof(line), "file %.8s %zu\n", suffix, n_bytes);
  return append(files, line, (size_t)n_line) && append(files, bytes, n_bytes);
}

Status
package_finish(TextBuffer* const state, const TextBuffer* const files, Error* const error)
{
  TextBuffer package = { 0 };
  if (!files->n) {
    return STATUS_OK;
  }
  const bool fits = append(&package, FIRST_LINE, strlen(FIRST_LINE)) &&
                    package_add(&package, STATE, state->bytes, state->n) &&
                    append(&package, files->bytes, files->n);
  free(state->bytes);
  *state = package;
  if (fits) {
    return STATUS_OK;
  }
  return package.failed
             ? error_set(error, STATUS_NO_MEM, "out of memory")
             : error_set(error, STATUS_LIMIT, "its state has more than %u MiB with its files",
                         FX_STATE_MAX_BYTES >> 20U);
}

// ---- read ----

static Status
fail_damaged(Error* const error)
{
  return error_set(error, STATUS_FILE, "the worker has sent a damaged package of files");
}

/// Read "file SUFFIX SIZE\n" and the bytes after it.  Returns their end, NULL if it is damaged.
static const char*
take_file(const char* const at, const char* const end, PackageFile* const file)
{
  const char* const newline = memchr(at, '\n', (size_t)(end - at));
  char line[LINE_BYTES];
  char suffix[LINE_BYTES];
  char rest[2];
  unsigned long long n_bytes = 0;
  if (!newline || newline - at >= (ptrdiff_t)sizeof(line)) {
    return NULL;
  }
  memcpy(line, at, (size_t)(newline - at));
  line[newline - at] = '\0';
  if (sscanf(line, "file %63s %10llu%1s", suffix, &n_bytes, rest) != 2 ||
      strlen(suffix) >= PACKAGE_SUFFIX_BYTES || n_bytes > (unsigned long long)(end - newline - 1)) {
    return NULL;
  }
  *file = (PackageFile){ .bytes = newline + 1, .n_bytes = (size_t)n_bytes };
  memcpy(file->suffix, suffix, strlen(suffix) + 1U);
  return file->bytes + n_bytes;
}

Status
package_read(const void* const bytes, const size_t n_bytes,
             PackageFile files[const PACKAGE_MAX_FILES], uint32_t* const n_files,
             Error* const error)
{
  const size_t n_first = strlen(FIRST_LINE);
  const char* at = bytes;
  const char* const end = at + n_bytes;
  *n_files = 1;
  if (n_bytes < n_first || memcmp(bytes, FIRST_LINE, n_first) != 0) {
    files[0] = (PackageFile){ STATE, bytes, n_bytes };
    return STATUS_OK;
  }
  uint32_t n = 0;
  for (at += n_first; at && at < end && n < PACKAGE_MAX_FILES; ++n) {
    at = take_file(at, end, &files[n]);
    if (at && !(n ? is_suffix(files[n].suffix) : !strcmp(files[n].suffix, STATE))) {
      return fail_damaged(error);
    }
  }
  *n_files = n;
  return at == end && n && files[0].n_bytes ? STATUS_OK : fail_damaged(error);
}
