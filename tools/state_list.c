// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the states in a folder, and searches the texts of racks for their names.  A name has a hash
// of the content, so that it occurs nowhere else.

#include "state_list.h"

#include "control/folder.h"
#include "engine/rack/rack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RACK_ENDS ".rack"

/// A state, or a file that a plugin made for one.
typedef struct FoundState {
  char name[256];
  size_t n_plugin; ///< Length of the plugin's name at its beginning
  bool is_state;
  bool is_kept; ///< A state, or a file with a state of its plugin; another one may be the user's
  uint64_t n_bytes;
  uint32_t n_uses;
} FoundState;

typedef struct FoundStates {
  FoundState* list;
  uint32_t n, capacity;
} FoundStates;

static bool
is_rack_name(const char* const name)
{
  const size_t length = strlen(name);
  const size_t n = strlen(RACK_ENDS);
  return length > n && !strcmp(name + length - n, RACK_ENDS);
}

static Status
no_memory(Error* const error)
{
  return error_set(error, STATUS_NO_MEM, "out of memory");
}

static Status
cannot_read(Error* const error, const char* const path, const int code)
{
  return error_set(error, STATUS_FILE, "%.200s: %s", path, strerror(code));
}

static Status
add_state(FoundStates* const found, const char* const name, const uint64_t n_bytes,
          Error* const error)
{
  if (found->n == found->capacity) {
    const uint32_t capacity = found->capacity ? 2U * found->capacity : 64U;
    FoundState* const list = realloc(found->list, capacity * sizeof(*list));
    if (!list) {
      return no_memory(error);
    }
    found->list = list;
    found->capacity = capacity;
  }
  FoundState* const state = &found->list[found->n++];
  *state = (FoundState){ .n_bytes = n_bytes };
  state->n_plugin = folder_kept_name(name, &state->is_state);
  memcpy(state->name, name, strlen(name) + 1U);
  return STATUS_OK;
}

static int
compare(const void* const a, const void* const b)
{
  return strcmp(((const FoundState*)a)->name, ((const FoundState*)b)->name);
}

/// Find the states directly in the folder, and files with such names, in the order of their names.
static Status
find_states(const char* const path, FoundStates* const found, Error* const error)
{
  Status status = STATUS_OK;
  DIR* const entries = opendir(path);
  if (!entries) {
    return cannot_read(error, path, errno);
  }
  for (const struct dirent* entry = NULL; !status && (entry = readdir(entries));) {
    struct stat facts;
    bool is_state = false;
    if (folder_kept_name(entry->d_name, &is_state) &&
        !fstatat(dirfd(entries), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) &&
        S_ISREG(facts.st_mode)) {
      status = add_state(found, entry->d_name, (uint64_t)facts.st_size, error);
    }
  }
  closedir(entries);
  if (found->n) {
    qsort(found->list, found->n, sizeof(*found->list), compare);
  }
  return status;
}

/// Read a rack's text, which may be damaged, into memory for RACK_MAX_TEXT bytes and one more.
static Status
read_text(const char* const path, char* const text, size_t* const n, Error* const error)
{
  FILE* const file = fopen(path, "re");
  if (!file) {
    return cannot_read(error, path, errno);
  }
  *n = fread(text, 1U, RACK_MAX_TEXT + 1U, file);
  const int code = ferror(file) ? errno : 0;
  fclose(file);
  if (code) {
    return cannot_read(error, path, code);
  }
  return *n <= RACK_MAX_TEXT
             ? STATUS_OK
             : error_set(error, STATUS_FILE, "%.200s: larger than %u bytes", path, RACK_MAX_TEXT);
}

/// Count a rack for each state that its text names.
static Status
search_rack(const char* const path, const FoundStates* const found, Error* const error)
{
  size_t n = 0;
  char* const text = malloc(RACK_MAX_TEXT + 1U);
  const Status status = text ? read_text(path, text, &n, error) : no_memory(error);
  for (uint32_t s = 0; !status && s < found->n; ++s) {
    FoundState* const state = &found->list[s];
    state->n_uses += memmem(text, n, state->name, strlen(state->name)) != NULL;
  }
  free(text);
  return status;
}

/// Search what the walk has come to, if it is a rack.
static Status
search_entry(const FTSENT* const entry, const FoundStates* const found, Error* const error)
{
  struct stat facts;
  const bool is_named = entry->fts_level == FTS_ROOTLEVEL || is_rack_name(entry->fts_name);
  switch (entry->fts_info) {
  case FTS_F:
    return is_named ? search_rack(entry->fts_path, found, error) : STATUS_OK;
  case FTS_SL:
    return is_named && !stat(entry->fts_path, &facts) && S_ISREG(facts.st_mode)
               ? search_rack(entry->fts_path, found, error)
               : STATUS_OK;
  case FTS_DNR:
  case FTS_ERR:
  case FTS_NS:
    return cannot_read(error, entry->fts_path, entry->fts_errno);
  default:
    return STATUS_OK;
  }
}

/// Search all racks in the folders and files of a list, which NULL ends.
static Status
search_racks(char** const paths, const FoundStates* const found, Error* const error)
{
  FTS* const walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
  Status status = walk ? STATUS_OK : cannot_read(error, paths[0], errno);
  for (const FTSENT* entry = NULL; !status && (entry = fts_read(walk));) {
    status = search_entry(entry, found, error);
  }
  if (walk) {
    fts_close(walk);
  }
  return status;
}

/// Refuse a folder that a server uses.
static Status
check_unused(const char* const path, Error* const error)
{
  Folder folder;
  Status status = folder_open(&folder, path, error);
  if (!status && folder_is_used(&folder)) {
    status = error_set(error, STATUS_EXISTS,
                       "a server uses %.200s, and may undo an edit that names a state; stop it "
                       "first",
                       path);
  }
  folder_close(&folder);
  return status;
}

/// Count the states in use of the same plugin for each file that is no state: one of them may name
/// it.
static void
count_states(const FoundStates* const found)
{
  for (uint32_t f = 0; f < found->n; ++f) {
    FoundState* const file = &found->list[f];
    file->is_kept = file->is_state;
    for (uint32_t s = 0; !file->is_state && s < found->n; ++s) {
      const FoundState* const state = &found->list[s];
      const bool is_of_plugin = state->is_state && state->n_plugin == file->n_plugin &&
                                !strncmp(state->name, file->name, file->n_plugin);
      file->is_kept = file->is_kept || is_of_plugin;
      file->n_uses += is_of_plugin && state->n_uses;
    }
  }
}

static json_t*
make_rows(const FoundStates* const found, const bool unused)
{
  json_t* const rows = json_array();
  for (uint32_t s = 0; rows && s < found->n; ++s) {
    const FoundState* const state = &found->list[s];
    if (state->is_kept && !(unused && state->n_uses)) {
      json_array_append_new(rows,
                            json_pack("{ss sI si}", "name", state->name, "bytes",
                                      (json_int_t)state->n_bytes, "uses", (int)state->n_uses));
    }
  }
  return rows;
}

Status
state_list(char* const folder, char* const* const others, const uint32_t n_others,
           const bool unused, json_t** const rows, Error* const error)
{
  FoundStates found = { NULL, 0, 0 };
  char** const paths = calloc(n_others + 2U, sizeof(char*));
  Status status = paths ? STATUS_OK : no_memory(error);
  if (!status) {
    paths[0] = folder;
    memcpy(paths + 1, others, n_others * sizeof(char*));
    status = unused ? check_unused(folder, error) : STATUS_OK;
  }
  status = status ? status : find_states(folder, &found, error);
  status = status ? status : search_racks(paths, &found, error);
  if (!status) {
    count_states(&found);
    *rows = make_rows(&found, unused);
    status = *rows ? STATUS_OK : no_memory(error);
  }
  free(found.list);
  free(paths);
  return status;
}
