// SPDX-License-Identifier: GPL-3.0-or-later
// Lists the bundles in the folders of all formats.

#include "scan_list.h"

#include "plugins/catalogue.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_FOLDER "/usr/lib/"
#define MAX_DEPTH     4U // of folders in folders, whose links may go round

/// Folders for libraries that distributions have beside /usr/lib.
static const char* const system_folders[] = {
  "/usr/lib64/",
#ifdef WARPRACK_MULTIARCH
  "/usr/lib/" WARPRACK_MULTIARCH "/",
#endif
};

// ---- one folder ----

static bool
has_extension(const char* const name, const char* const extension)
{
  const size_t n_name = strlen(name);
  const size_t n = extension ? strlen(extension) : 0U;
  return n_name > n && !strcmp(name + n_name - n, extension ? extension : "");
}

static void
add_bundle(FoundBundles* const found, const FoundBundle* const bundle)
{
  if (found->n == found->room) {
    const uint32_t room = 2U * found->room + 64U;
    FoundBundle* const bundles = reallocarray(found->bundles, room, sizeof(FoundBundle));
    found->failed = found->failed || !bundles;
    found->bundles = bundles ? bundles : found->bundles;
    found->room = bundles ? room : found->room;
  }
  char* const path = found->failed ? NULL : strdup(bundle->path);
  found->failed = !path;
  if (path) {
    found->bundles[found->n] = *bundle;
    found->bundles[found->n++].path = path;
  }
}

static void
add_entry(FoundBundles* const found, const PluginFormat* const format, const char* const folder,
          const char* const name)
{
  char path[PATH_MAX];
  struct stat facts;
  const int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
  if (n >= PATH_MAX || stat(path, &facts) ||
      !(format->is_folder ? S_ISDIR(facts.st_mode) : S_ISREG(facts.st_mode))) {
    return;
  }
  add_bundle(found, &(FoundBundle){ .format = format,
                                    .path = path,
                                    .folder = found->n_folders,
                                    .key = catalogue_key(path),
                                    .device = facts.st_dev,
                                    .inode = facts.st_ino });
}

/// True for the name of a bundle: by its extension, or because the folder contains the marker.
static bool
is_bundle(const PluginFormat* const format, const char* const folder, const char* const name)
{
  char path[PATH_MAX];
  if (name[0] != '.' && has_extension(name, format->extension)) {
    return true;
  }
  return format->marker && strcmp(name, ".") && strcmp(name, "..") &&
         snprintf(path, sizeof(path), "%s/%s/%s", folder, name, format->marker) < PATH_MAX &&
         !access(path, F_OK);
}

static void add_inner(FoundBundles* found, const PluginFormat* format, const char* folder,
                      const char* name, uint32_t depth);

/// Add the bundles of a folder, which may have links in its path.
static void
add_folder(FoundBundles* const found, const PluginFormat* const format, const char* const path,
           const uint32_t depth)
{
  char folder[PATH_MAX];
  DIR* const entries = path[0] == '/' && realpath(path, folder) ? opendir(folder) : NULL;
  for (const struct dirent* entry = NULL; entries && (entry = readdir(entries));) {
    if (is_bundle(format, folder, entry->d_name)) {
      add_entry(found, format, folder, entry->d_name);
    } else if (entry->d_name[0] != '.' && format->is_deep && depth < MAX_DEPTH) {
      add_inner(found, format, folder, entry->d_name, depth + 1U);
    }
  }
  if (entries) {
    closedir(entries);
  }
}

/// Add the bundles of a folder in a folder, if there is one of this name.
static void
add_inner(FoundBundles* const found, const PluginFormat* const format, const char* const folder,
          const char* const name, const uint32_t depth)
{
  char path[PATH_MAX];
  if (snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX) {
    add_folder(found, format, path, depth);
  }
}

// ---- all folders ----

/// Add one folder of a list: "~" and "~/..." are in the user's home; "~name" is no folder.
static void
add_word(FoundBundles* const found, const PluginFormat* const format, const char* const word,
         const size_t n_word)
{
  char path[PATH_MAX];
  const char* const home = getenv("HOME");
  const bool is_home = n_word && word[0] == '~' && (n_word == 1U || word[1] == '/') && home;
  const int n = snprintf(path, sizeof(path), "%s%.*s", is_home ? home : "", (int)n_word - is_home,
                         word + is_home);
  if (n < PATH_MAX) {
    add_folder(found, format, path, 0);
  }
  ++found->n_folders;
}

/// Add the folders like one of /usr/lib.
static void
add_system_folders(FoundBundles* const found, const PluginFormat* const format,
                   const char* const word, const size_t n_word)
{
  const size_t n = strlen(SYSTEM_FOLDER);
  for (uint32_t s = 0; s < ARRAY_LEN(system_folders) && !strncmp(word, SYSTEM_FOLDER, n); ++s) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s%.*s", system_folders[s], (int)(n_word - n), word + n) <
        PATH_MAX) {
      add_folder(found, format, path, 0);
    }
    ++found->n_folders;
  }
}

/// Add the folders of a list; with `like_system` also those like the ones of /usr/lib.
static void
add_list(FoundBundles* const found, const PluginFormat* const format, const char* word,
         const bool like_system)
{
  for (size_t n = 0; *word; word += n + (word[n] == ':')) {
    n = strcspn(word, ":");
    add_word(found, format, word, n);
    if (like_system) {
      add_system_folders(found, format, word, n);
    }
  }
}

static void
add_format(FoundBundles* const found, const PluginFormat* const format)
{
  const char* const set = format->path_variable ? getenv(format->path_variable) : NULL;
  add_list(found, format, set ? set : "", false);
  if ((!set || format->keeps_defaults) && !catalogue_hides_usual_folders()) {
    add_list(found, format, format->default_folders ? format->default_folders : "", true);
  }
}

static int
compare_places(const void* const a, const void* const b)
{
  const FoundBundle* const left = a;
  const FoundBundle* const right = b;
  const int formats = strcmp(left->format->name, right->format->name);
  if (formats || left->folder == right->folder) {
    return formats ? formats : strcmp(left->path, right->path);
  }
  return left->folder < right->folder ? -1 : 1;
}

/// In the order of files, and then of places.
static int
compare_files(const void* const a, const void* const b)
{
  const FoundBundle* const left = a;
  const FoundBundle* const right = b;
  if (left->device != right->device) {
    return left->device < right->device ? -1 : 1;
  }
  if (left->inode != right->inode) {
    return left->inode < right->inode ? -1 : 1;
  }
  return compare_places(a, b);
}

/// Remove all names but the first of each bundle.
static void
remove_twins(FoundBundles* const found)
{
  qsort(found->bundles, found->n, sizeof(FoundBundle), compare_files);
  uint32_t n = 0;
  for (uint32_t b = 0; b < found->n; ++b) {
    FoundBundle* const bundle = &found->bundles[b];
    const FoundBundle* const last = n ? &found->bundles[n - 1U] : NULL;
    if (last && last->device == bundle->device && last->inode == bundle->inode &&
        last->format == bundle->format) {
      free(bundle->path);
    } else {
      found->bundles[n++] = *bundle;
    }
  }
  found->n = n;
  qsort(found->bundles, found->n, sizeof(FoundBundle), compare_places);
}

Status
bundles_find(FoundBundles* const found, Error* const error)
{
  *found = (FoundBundles){ .bundles = NULL };
  uint32_t n = 0;
  const PluginFormat* const* const formats = plugin_formats(&n);
  for (uint32_t f = 0; f < n; ++f) {
    add_format(found, formats[f]);
  }
  if (found->failed) {
    bundles_clear(found);
    return error_set(error, STATUS_NO_MEM, "out of memory for the list of plugins");
  }
  if (found->n) {
    remove_twins(found);
  }
  return STATUS_OK;
}

void
bundles_clear(FoundBundles* const found)
{
  for (uint32_t b = 0; b < found->n; ++b) {
    free(found->bundles[b].path);
  }
  free(found->bundles);
  *found = (FoundBundles){ .bundles = NULL };
}
