// SPDX-License-Identifier: GPL-3.0-or-later
// Names and paths of the files in states.

#include "host_paths.h"
#include "state_file.h"

#include <stdlib.h>
#include <string.h>

static Status
no_memory(Error* const error)
{
  return error_set(error, STATUS_NO_MEM, "out of memory");
}

/// Add a file.  Takes ownership of `path`.
static Status
add(HostPaths* const paths, const char* const name, char* const path, Error* const error)
{
  HostPath* const list = realloc(paths->list, (paths->n + 1U) * sizeof(HostPath));
  char* const copy = strdup(name);
  paths->list = list ? list : paths->list;
  if (!list || !copy || !path) {
    free(copy);
    free(path);
    return no_memory(error);
  }
  list[paths->n++] = (HostPath){ copy, path };
  return STATUS_OK;
}

Status
host_paths_add(HostPaths* const paths, const char* const name, const char* const path,
               Error* const error)
{
  return add(paths, name, strdup(path), error);
}

Status
host_paths_init(HostPaths* const paths, const FxSetup* const setup, Error* const error)
{
  const FxInfo* const fx = setup->fx;
  *paths = (HostPaths){ .files = setup->access, .bundle = plugin_of(fx)->bundle };
  Status status = STATUS_OK;
  for (uint32_t p = 0; setup->paths && p < fx->n_params && !status; ++p) {
    const bool is_state = fx->save && p == fx->state_param;
    if (setup->paths[p] && !is_state) {
      status = host_paths_add(paths, setup->texts[p], setup->paths[p], error);
    }
  }
  return status;
}

void
host_paths_clear(HostPaths* const paths)
{
  for (uint32_t p = 0; p < paths->n; ++p) {
    free(paths->list[p].name);
    free(paths->list[p].path);
  }
  free(paths->list);
  host_paths_forget_kept(paths);
  *paths = (HostPaths){ 0 };
}

/// True if a path goes up.
static bool
goes_up(const char* const path)
{
  const size_t n = strlen(path);
  return strstr(path, "/../") || (n > 2U && !strcmp(path + n - 3U, "/.."));
}

/// True for a path in the bundle of the plugin.
static bool
is_of_bundle(const HostPaths* const paths, const char* const path)
{
  const size_t n = strlen(paths->bundle);
  const bool has_slash = n && paths->bundle[n - 1U] == '/';
  return n > 1U && !strncmp(path, paths->bundle, n) && (has_slash || path[n] == '/') &&
         !goes_up(path);
}

const char*
host_paths_find(HostPaths* const paths, const char* const name, Error* const error)
{
  for (uint32_t p = 0; p < paths->n; ++p) {
    if (!strcmp(paths->list[p].name, name)) {
      return paths->list[p].path;
    }
  }
  if (is_of_bundle(paths, name)) {
    return name;
  }
  char* path = NULL;
  if (!paths->files || !paths->files->find) {
    error_set(error, STATUS_FILE, "%.200s: files cannot be read here", name);
    return NULL;
  }
  if (paths->files->find(paths->files->context, name, &path, error) ||
      add(paths, name, path, error)) {
    return NULL;
  }
  return paths->list[paths->n - 1U].path;
}

const char*
host_paths_name(const HostPaths* const paths, const char* const path)
{
  for (uint32_t p = 0; p < paths->n; ++p) {
    if (!strcmp(paths->list[p].path, path)) {
      return paths->list[p].name;
    }
  }
  return is_of_bundle(paths, path) ? path : NULL;
}

// ---- files that plugins make ----

static bool
is_kept(const HostPaths* const paths, const char* const stored)
{
  bool is_found = false;
  for (uint32_t f = 0; f < paths->n_kept; ++f) {
    is_found = is_found || !strcmp(paths->kept_names[f], stored);
  }
  return is_found;
}

Status
host_paths_keep(HostPaths* const paths, const FxInfo* const fx, const PackageFile* const file,
                char stored[const FX_STATE_NAME_BYTES], Error* const error)
{
  package_name(fx, file, stored);
  if (is_kept(paths, stored)) {
    return STATUS_OK;
  }
  if (paths->n_kept + 1U >= PACKAGE_MAX_FILES) { // with the state itself
    return error_set(error, STATUS_LIMIT, "its state has more than %u files",
                     PACKAGE_MAX_FILES - 1U);
  }
  if (!package_add(&paths->kept, file->suffix, file->bytes, file->n_bytes)) {
    return paths->kept.failed ? no_memory(error) : state_too_large(error);
  }
  memcpy(paths->kept_names[paths->n_kept++], stored, FX_STATE_NAME_BYTES);
  return STATUS_OK;
}

void
host_paths_forget_kept(HostPaths* const paths)
{
  free(paths->kept.bytes);
  paths->kept = (TextBuffer){ 0 };
  paths->n_kept = 0;
}
