// SPDX-License-Identifier: GPL-3.0-or-later
// A RACK on a command line: a chain in quotes or the name of a file.

#include "rack_arg.h"

#include "../io/audio_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHAIN_PLACE "rack" // how messages name a chain

static bool
names_file(const char* const word)
{
  const size_t n = strlen(word);
  struct stat facts;
  return (n > 5U && !strcmp(word + n - 5U, ".rack")) ||
         (!stat(word, &facts) && S_ISREG(facts.st_mode));
}

/// The folder part of a path, "." when it has none.  NULL when out of memory.
static char*
folder_of(const char* const path)
{
  const char* const slash = strrchr(path, '/');
  if (!slash) {
    return strdup(".");
  }
  return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/// Whole text of an open file, zero-terminated; the caller frees it.
static Status
read_text(FILE* const file, const char* const name, char** const text, Error* const error)
{
  char* const buffer = malloc(RACK_MAX_TEXT + 1U);
  if (!buffer) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", name);
  }
  const size_t n = fread(buffer, 1, RACK_MAX_TEXT + 1U, file);
  Status status = STATUS_OK;
  if (ferror(file)) {
    status = error_set(error, STATUS_FILE, "%s: cannot be read: %s", name, strerror(errno));
  } else if (n > RACK_MAX_TEXT) {
    status = error_set(error, STATUS_FILE, "%s: larger than a rack may be (%u MiB)", name,
                       RACK_MAX_TEXT >> 20U);
  } else if (memchr(buffer, '\0', n)) {
    status = error_set(error, STATUS_FILE, "%s: not a text file", name);
  }
  if (status) {
    free(buffer);
    return status;
  }
  buffer[n] = '\0';
  *text = buffer;
  return STATUS_OK;
}

static Status
read_file(const char* const name, char** const text, Error* const error)
{
  FILE* const file = fopen(name, "re");
  if (!file) {
    return error_set(error, STATUS_FILE, "%s: cannot be opened: %s", name, strerror(errno));
  }
  const Status status = read_text(file, name, text, error);
  fclose(file);
  return status;
}

static Status
parse(const char* const text, const char* const place, Rack** const rack, Error* const error)
{
  Rack* parsed = NULL;
  Status status = rack_parse(text, place, NULL, &parsed, error);
  if (!status) {
    status = rack_check(parsed, error);
  }
  if (status) {
    rack_free(parsed);
    return status;
  }
  *rack = parsed;
  return STATUS_OK;
}

Status
rack_arg_read(const char* const word, RackArg* const arg, Error* const error)
{
  *arg = (RackArg){ .is_file = names_file(word) };
  char* text = NULL;
  Status status = arg->is_file ? read_file(word, &text, error) : STATUS_OK;
  if (!status) {
    status =
        parse(arg->is_file ? text : word, arg->is_file ? word : CHAIN_PLACE, &arg->rack, error);
  }
  free(text);
  if (!status) {
    arg->root = arg->is_file ? folder_of(word) : strdup(".");
    if (!arg->root) {
      status = error_set(error, STATUS_NO_MEM, "%s: out of memory", word);
    }
  }
  if (status) {
    rack_arg_clear(arg);
  }
  return status;
}

void
rack_arg_clear(RackArg* const arg)
{
  rack_free(arg->rack);
  free(arg->root);
  *arg = (RackArg){ 0 };
}

Status
rack_arg_load_file(void* const arg, const char* const name, const double rate_hz,
                   FxFile** const file, Error* const error)
{
  const char* const root = ((const RackArg*)arg)->root;
  if (name[0] == '/' || !strcmp(root, ".")) {
    return audio_file_load(NULL, name, rate_hz, file, error);
  }
  char* path = NULL;
  if (asprintf(&path, "%s/%s", root, name) < 0) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", name);
  }
  const Status status = audio_file_load(NULL, path, rate_hz, file, error);
  free(path);
  return status;
}

void
rack_arg_free_file(void* const arg, FxFile* const file)
{
  (void)arg;
  audio_file_free(NULL, file);
}
