// SPDX-License-Identifier: GPL-3.0-or-later
// A RACK on a command line: a chain in quotes or the name of a file.

#include "rack_arg.h"

#include "control/folder.h"
#include "io/file/audio_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHAIN_PLACE "rack" // the place in messages about a chain

const char* const rack_arg_missing[] = { "refuse", "bypass", NULL };

RackReader
rack_arg_reader(const uint32_t missing)
{
  return missing ? rack_parse_bypass : rack_parse;
}

static bool
names_file(const char* const word)
{
  const size_t n = strlen(word);
  struct stat facts;
  return (n > 5U && !strcmp(word + n - 5U, ".rack") && !strchr(word, '|')) ||
         (!stat(word, &facts) && S_ISREG(facts.st_mode));
}

char*
rack_arg_folder(const char* const path)
{
  const char* const slash = strrchr(path, '/');
  if (!slash) {
    return strdup(".");
  }
  return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/// Read the whole text of an open file, zero-terminated; the caller frees it.
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
    status = error_set(error, STATUS_FILE, "%s: larger than %u MiB", name, RACK_MAX_TEXT >> 20U);
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

Status
rack_arg_read_text(const char* const name, char** const text, Error* const error)
{
  FILE* const file = fopen(name, "re");
  if (!file) {
    return error_set(error, status_of_errno(errno, STATUS_FILE), "%s: cannot be opened: %s", name,
                     strerror(errno));
  }
  const Status status = read_text(file, name, text, error);
  fclose(file);
  return status;
}

/// True if the word with ".rack" after it is the name of a file.
static bool
has_rack_file(const char* const word)
{
  char name[PATH_MAX];
  struct stat facts;
  return snprintf(name, sizeof(name), "%s.rack", word) < (int)sizeof(name) && !stat(name, &facts);
}

/// True if a word that does not end in ".rack" looks like a file name, not like a chain.
static bool
looks_like_file(const char* const word)
{
  struct stat facts;
  return !strpbrk(word, " |+()=\n") &&
         (strpbrk(word, "./") || !stat(word, &facts) || has_rack_file(word));
}

/// Fail because `word`, which looks_like_file(), is neither a rack nor a file.
static Status
refuse_file(const char* const word, Error* const error)
{
  struct stat facts;
  if (!stat(word, &facts) && S_ISDIR(facts.st_mode)) {
    return error_set(error, STATUS_FILE, "%s: a folder; a RACK is a file or a chain in quotes",
                     word);
  }
  return has_rack_file(word)
             ? error_set(error, STATUS_FILE, "%s: no such file; did you mean \"%s.rack\"?", word,
                         word)
             : error_set(error, STATUS_FILE,
                         "%s: no such file; a RACK is a file or a chain in quotes", word);
}

/// Read the text of the file, or copy that of the chain.
static Status
read_document(const char* const word, RackArg* const arg, Error* const error)
{
  if (arg->is_file) {
    return rack_arg_read_text(word, &arg->text, error);
  }
  arg->text = strdup(word);
  return arg->text ? STATUS_OK : error_set(error, STATUS_NO_MEM, "%s: out of memory", word);
}

Status
rack_arg_try(const char* const word, const RackReader read, RackArg* const arg, Error* const error)
{
  *arg = (RackArg){ .is_file = names_file(word) };
  arg->root = arg->is_file ? rack_arg_folder(word) : strdup(".");
  if (!arg->root) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", word);
  }
  Status status = read_document(word, arg, error);
  if (!status) {
    status = read(arg->text, arg->is_file ? word : CHAIN_PLACE, NULL, &arg->rack, error);
  }
  if (status && !arg->is_file && looks_like_file(word)) {
    status = refuse_file(word, error);
  }
  return status;
}

Status
rack_arg_read(const char* const word, const RackReader read, RackArg* const arg, Error* const error)
{
  const Status status = rack_arg_try(word, read, arg, error);
  if (status) {
    rack_arg_clear(arg);
  }
  return status;
}

char*
rack_arg_print(const RackArg* const arg)
{
  Rack* rack = NULL;
  if (!arg->text) {
    return NULL;
  }
  // A rack that sets values of its plugins one by one cannot be read without them.
  const bool has_read = !rack_parse_without_plugins(arg->text, "", &rack, NULL);
  char* const text = has_read || arg->rack ? rack_print(has_read ? rack : arg->rack) : NULL;
  rack_free(rack);
  return text;
}

void
rack_arg_clear(RackArg* const arg)
{
  rack_free(arg->rack);
  free(arg->text);
  free(arg->root);
  *arg = (RackArg){ 0 };
}

// ---- below a root ----

Status
rack_arg_set_root(RackArg* const arg, const char* const root, Error* const error)
{
  struct stat facts;
  if (stat(root, &facts) || !S_ISDIR(facts.st_mode)) {
    return error_set(error, STATUS_FILE, "--root %s: there is no such folder", root);
  }
  char* const copy = strdup(root);
  if (!copy) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", root);
  }
  free(arg->root);
  arg->root = copy;
  return STATUS_OK;
}

void
rack_arg_hold_root(RackArg* const arg)
{
  char* const path = realpath(arg->root, NULL);
  if (path) { // otherwise opening the folder fails later
    free(arg->root);
    arg->root = path;
  }
}

/// The part of `path` below `folder`, both without links; NULL if `path` is not below it.
static const char*
below(const char* const path, const char* const folder)
{
  const size_t length = strlen(folder);
  if (length == 1U) { // "/"
    return path + 1;
  }
  const bool is_below = !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
  return is_below ? path + length + (path[length] == '/') : NULL;
}

char*
rack_arg_name(const RackArg* const arg, const char* const word)
{
  const char* const slash = strrchr(word, '/');
  char* const folder = rack_arg_folder(word);
  char* const path = folder ? realpath(folder, NULL) : NULL;
  char* const root = realpath(arg->root, NULL);
  const char* const rest = arg->is_file && path && root ? below(path, root) : NULL;
  char* name = NULL;
  if (rest && asprintf(&name, "%s%s%s", rest, *rest ? "/" : "", slash ? slash + 1 : word) < 0) {
    name = NULL;
  }
  free(folder);
  free(path);
  free(root);
  return name;
}

static bool
names_this(const RackNode* const node, const char* const name)
{
  for (uint32_t p = 0; p < node->fx->n_params; ++p) {
    const char* const text = fx_param_is_file(&node->fx->params[p]) ? rack_text(node, p) : NULL;
    if (text && !strcmp(text, name)) {
      return true;
    }
  }
  return false;
}

/// True if the rack of the command line names this file, which may then be anywhere.
static bool
is_named(const RackArg* const arg, const char* const name)
{
  for (uint32_t n = 0; arg->rack && n < arg->rack->n_nodes; ++n) {
    if (names_this(&arg->rack->nodes[n], name)) {
      return true;
    }
  }
  return false;
}

static Status
load_anywhere(const char* const root, const char* const name, const double rate_hz,
              FxFile** const file, Error* const error)
{
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

static Status
open_below(const char* const root, const char* const name, int* const fd, Error* const error)
{
  Folder folder;
  Status status = folder_open(&folder, root, error);
  if (!status) {
    status = folder_open_file(&folder, name, fd, error);
    folder_close(&folder);
  }
  return status;
}

static Status
load_below(const char* const root, const char* const name, const double rate_hz,
           FxFile** const file, Error* const error)
{
  int fd = -1;
  const Status status = open_below(root, name, &fd, error);
  return status ? status : audio_file_open_fd(fd, name, rate_hz, file, error);
}

static Status
load_file(void* const context, const char* const name, const double rate_hz, FxFile** const file,
          Error* const error)
{
  const RackArg* const arg = context;
  return is_named(arg, name) ? load_anywhere(arg->root, name, rate_hz, file, error)
                             : load_below(arg->root, name, rate_hz, file, error);
}

static Status
find_anywhere(const char* const root, const char* const name, char** const path, Error* const error)
{
  char* joined = NULL;
  const bool is_absolute = name[0] == '/';
  if (asprintf(&joined, "%s%s%s", is_absolute ? "" : root, is_absolute ? "" : "/", name) < 0) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", name);
  }
  struct stat facts;
  *path = realpath(joined, NULL);
  free(joined);
  if (!*path) {
    return error_set(error, status_of_errno(errno, STATUS_FILE), "%s: %s", name, strerror(errno));
  }
  if (stat(*path, &facts) || !S_ISREG(facts.st_mode)) {
    free(*path);
    *path = NULL;
    return error_set(error, STATUS_FILE, "%s: not a regular file", name);
  }
  return STATUS_OK;
}

/// The path of an open file, which this closes.
static Status
path_of(const int fd, const char* const name, char** const path, Error* const error)
{
  char link[64];
  char target[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, target, sizeof(target));
  close(fd);
  if (n < 1 || n == (ssize_t)sizeof(target) || target[0] != '/') {
    return error_set(error, STATUS_FILE, "%s: its path is unknown or too long", name);
  }
  *path = strndup(target, (size_t)n);
  return *path ? STATUS_OK : error_set(error, STATUS_NO_MEM, "%s: out of memory", name);
}

static Status
find_file(void* const context, const char* const name, char** const path, Error* const error)
{
  const RackArg* const arg = context;
  if (is_named(arg, name)) {
    return find_anywhere(arg->root, name, path, error);
  }
  int fd = -1;
  const Status status = open_below(arg->root, name, &fd, error);
  return status ? status : path_of(fd, name, path, error);
}

FxFiles
rack_arg_files(RackArg* const arg)
{
  return (FxFiles){ .load = load_file,
                    .find = find_file,
                    .read = audio_file_read,
                    .free = audio_file_free,
                    .context = arg };
}
