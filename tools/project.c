// SPDX-License-Identifier: GPL-3.0-or-later
// A folder with a rack and its files.

#include "project.h"

#include "control/folder.h"
#include "engine/base/text.h"
#include "engine/rack/rack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEFTOVER_AGE_S 60U // of a temporary file that no present run is writing

/// Where the files of a rack come from, and where they go.
typedef struct Copying {
  const char* root; ///< Of relative names
  bool is_own;      ///< `root` is the project's folder: only other files are copied
  Folder folder;
  ProjectNote note;
  void* context;
} Copying;

// ---- paths ----

static bool
goes_up(const char* const path)
{
  const size_t n = strlen(path);
  return !strncmp(path, "../", 3) || !strcmp(path, "..") || strstr(path, "/../") ||
         (n > 2U && !strcmp(path + n - 3U, "/.."));
}

static Status
check_order(const NsmProject* const at, Error* const error)
{
  if (at->path[0] != '/' || goes_up(at->path)) {
    return error_set(error, STATUS_BAD_ARG, "%.300s: not an absolute path without ..", at->path);
  }
  if (strlen(at->path) + sizeof("/" PROJECT_DOCUMENT) > sizeof(at->path)) {
    return error_set(error, STATUS_BAD_ARG, "%.300s: the path is too long", at->path);
  }
  if (!at->client[0] || strchr(at->client, ':') || !text_is_printable(at->client)) {
    return error_set(error, STATUS_BAD_ARG, "\"%.60s\" cannot be the name of a JACK client",
                     at->client);
  }
  return STATUS_OK;
}

static void
document_path(const NsmProject* const at, char path[PATH_MAX])
{
  snprintf(path, PATH_MAX, "%.*s/" PROJECT_DOCUMENT, PATH_MAX - (int)sizeof("/" PROJECT_DOCUMENT),
           at->path);
}

static Status
make_folder(const char* const path, Folder* const folder, Error* const error)
{
  if (mkdir(path, 0777) && errno != EEXIST) {
    return error_set(error, STATUS_FILE, "%.300s: cannot be created: %s", path, strerror(errno));
  }
  return folder_open(folder, path, error);
}

// ---- files of the rack ----

static Status
open_source(const char* const path, int* const fd, Error* const error)
{
  struct stat facts;
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (*fd < 0) {
    return error_set(error, STATUS_FILE, "%.300s: %s", path, strerror(errno));
  }
  if (fstat(*fd, &facts) || !S_ISREG(facts.st_mode)) {
    close(*fd);
    return error_set(error, STATUS_FILE, "%.300s: not a regular file", path);
  }
  return STATUS_OK;
}

static const char*
last_part(const char* const path)
{
  const char* const slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/// Copy a file into the folder.
static Status
copy_file(const Copying* const copying, const char* const path, char name[FOLDER_NAME_BYTES],
          Error* const error)
{
  int fd = -1;
  Status status = open_source(path, &fd, error);
  if (!status) {
    status = folder_copy(&copying->folder, fd, last_part(path), name, error);
    close(fd);
  }
  if (!status) {
    char text[512];
    snprintf(text, sizeof(text), "%.200s is in the session now, as %.200s", path, name);
    copying->note(copying->context, text);
  }
  return status;
}

/// The content of a state; the caller frees it.
static Status
read_state(const char* const path, char** const bytes, size_t* const n_bytes, Error* const error)
{
  FILE* const file = fopen(path, "re");
  *bytes = file ? malloc(FX_STATE_MAX_BYTES) : NULL;
  *n_bytes = *bytes ? fread(*bytes, 1U, FX_STATE_MAX_BYTES, file) : 0U;
  if (file) {
    fclose(file);
  }
  return *bytes ? STATUS_OK
                : error_set(error, file ? STATUS_NO_MEM : STATUS_FILE, "%.300s: %s", path,
                            strerror(errno));
}

/// True for a file that a plugin has made, and that the state names.
static bool
is_of_state(const char* const name, const char* const bytes, const size_t n_bytes)
{
  bool is_state = false;
  return folder_kept_name(name, &is_state) && !is_state &&
         memmem(bytes, n_bytes, name, strlen(name));
}

/// Copy the files that a state names: those beside it.
static Status
copy_files_of_state(const Copying* const copying, const char* const path, Error* const error)
{
  char folder[PATH_MAX];
  char* bytes = NULL;
  size_t n_bytes = 0;
  snprintf(folder, sizeof(folder), "%.*s", (int)(last_part(path) - path), path);
  Status status = read_state(path, &bytes, &n_bytes, error);
  DIR* const entries = status ? NULL : opendir(folder);
  for (const struct dirent* entry = NULL; !status && entries && (entry = readdir(entries));) {
    char source[PATH_MAX];
    char name[FOLDER_NAME_BYTES];
    if (!is_of_state(entry->d_name, bytes, n_bytes) ||
        snprintf(source, sizeof(source), "%s%s", folder, entry->d_name) >= (int)sizeof(source)) {
      continue;
    }
    status = copy_file(copying, source, name, error);
    if (!status && strcmp(name, entry->d_name) != 0) { // the name has a hash of the content
      status = error_set(error, STATUS_EXISTS,
                         "%.200s: the session has a file of that name with another content",
                         entry->d_name);
    }
  }
  if (entries) {
    closedir(entries);
  }
  free(bytes);
  return status;
}

/// Copy the file that a parameter names, and set its new name.
static Status
copy_param(const Copying* const copying, RackNode* const node, const uint32_t param,
           Error* const error)
{
  const char* const given = rack_text(node, param);
  const bool is_absolute = given[0] == '/';
  char path[PATH_MAX];
  char name[FOLDER_NAME_BYTES];
  if (copying->is_own && !is_absolute && !goes_up(given)) {
    return STATUS_OK;
  }
  if (snprintf(path, sizeof(path), "%s%s%s", is_absolute ? "" : copying->root,
               is_absolute ? "" : "/", given) >= (int)sizeof(path)) {
    return error_set(error, STATUS_LIMIT, "%.300s: the path is too long", given);
  }
  Status status = copy_file(copying, path, name, error);
  if (!status && node->fx->save && param == node->fx->state_param) {
    status = copy_files_of_state(copying, path, error);
  }
  return status || !strcmp(name, given) ? status : rack_set_param(node, param, name, error);
}

static Status
copy_files(const Copying* const copying, const Rack* const rack, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t n = 0; n < rack->n_nodes && !status; ++n) {
    RackNode* const node = &rack->nodes[n];
    for (uint32_t p = 0; p < node->fx->n_params && !status; ++p) {
      if (fx_param_is_file(&node->fx->params[p]) && node->values[p].kind == VALUE_TEXT) {
        status = copy_param(copying, node, p, error);
      }
    }
  }
  return status;
}

// ---- open ----

/// Refuse a document that is not a regular file: a pipe would block this thread for ever.
static Status
check_document(const char* const document, Error* const error)
{
  int fd = -1;
  const Status status = open_source(document, &fd, error);
  if (!status) {
    close(fd);
  }
  return status;
}

/// Read the document of the project.
static Status
read_own(Project* const project, const char* const document, const uint32_t missing,
         Error* const error)
{
  Status status = check_document(document, error);
  if (!status) {
    status = rack_arg_read(document, rack_arg_reader(missing), &project->rack, error);
  }
  project->saved = status ? NULL : rack_print(project->rack.rack);
  return status || project->saved ? status
                                  : error_set(error, STATUS_NO_MEM, "%s: out of memory", document);
}

/// Read the rack of the project, or else the given one, and copy files.
static Status
read_rack(Project* const project, Copying* const copying, const char* const given,
          const uint32_t missing, NsmCode* const code, Error* const error)
{
  char document[PATH_MAX];
  struct stat facts;
  document_path(&project->at, document);
  copying->is_own = !lstat(document, &facts);
  *code = copying->is_own ? NSM_BAD_PROJECT : NSM_CREATE_FAILED;
  Status status = copying->is_own
                      ? read_own(project, document, missing, error)
                      : rack_arg_read(given, rack_arg_reader(missing), &project->rack, error);
  if (!status) {
    copying->root = project->rack.root;
    status = copy_files(copying, project->rack.rack, error);
  }
  if (!status && !copying->is_own) {
    status = rack_arg_set_root(&project->rack, project->at.path, error);
  }
  return status;
}

Status
project_open(const NsmProject* const at, const char* const given, const uint32_t missing,
             const ProjectNote note, void* const context, Project* const project,
             NsmCode* const code, Error* const error)
{
  Copying copying = { .folder = { -1 }, .note = note, .context = context };
  *project = (Project){ .at = *at };
  *code = NSM_CREATE_FAILED;
  Status status = check_order(at, error);
  status = status ? status : make_folder(at->path, &copying.folder, error);
  if (!status) {
    folder_remove_leftovers(&copying.folder, LEFTOVER_AGE_S); // of runs that were killed
    status = read_rack(project, &copying, given, missing, code, error);
  }
  folder_close(&copying.folder);
  if (status) {
    project_clear(project);
  }
  return status;
}

Status
project_reopen(const NsmProject* const at, const char* const text, const char* const saved,
               Project* const project, Error* const error)
{
  *project = (Project){ .at = *at,
                        .rack = { .text = strdup(text), .root = strdup(at->path) },
                        .saved = saved ? strdup(saved) : NULL };
  Status status = STATUS_OK;
  if (!project->rack.text || !project->rack.root || (saved && !project->saved)) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  // Plugins may be gone by now; their nodes then play their inputs.
  status =
      status ? status : rack_parse_bypass(text, "the last rack", NULL, &project->rack.rack, error);
  if (status) {
    project_clear(project);
  }
  return status;
}

Status
project_read_document(const NsmProject* const at, char** const text, Error* const error)
{
  char document[PATH_MAX];
  document_path(at, document);
  const Status status = check_document(document, error);
  return status ? status : rack_arg_read_text(document, text, error);
}

void
project_clear(Project* const project)
{
  rack_arg_clear(&project->rack);
  free(project->saved);
  project->saved = NULL;
}
