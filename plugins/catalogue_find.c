// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The plugins of the process: found in its catalogue, read once, and never freed, because racks and
   plans hold their effects.  One lock protects all of it: racks are parsed on several threads.
*/

#include "catalogue_private.h"
#include "format.h"

#include "engine/base/hint.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/// A plugin that was read, in an arena that is never cleared.
typedef struct KnownPlugin {
  struct KnownPlugin* next;
  const char* text; ///< Its description as in the catalogue
  size_t n_bytes;
  const Plugin* plugin;
} KnownPlugin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Catalogue* current;
static bool is_given; // catalogue_use() was called
static KnownPlugin* known_plugins;

// ---- catalogue ----

void
catalogue_use(Catalogue* const catalogue)
{
  pthread_mutex_lock(&lock);
  Catalogue* const before = current;
  current = catalogue;
  is_given = true;
  pthread_mutex_unlock(&lock);
  catalogue_free(before);
}

const Catalogue*
catalogue_current(void)
{
  pthread_mutex_lock(&lock);
  const Catalogue* const catalogue = current;
  pthread_mutex_unlock(&lock);
  return catalogue;
}

/// Read the user's file if there is no catalogue yet.
static Status
need_catalogue(Error* const error)
{
  char path[4096];
  Status status = STATUS_NOT_FOUND;
  if (!current && !is_given && catalogue_path(path, sizeof(path))) {
    status = catalogue_read(path, &current, error);
  }
  if (current) {
    return STATUS_OK;
  }
  return status == STATUS_NOT_FOUND
             ? error_set(error, status, "no plugins are known; run `warprack scan`")
             : status;
}

Status
catalogue_open(Error* const error)
{
  pthread_mutex_lock(&lock);
  const Status status = need_catalogue(error);
  is_given = true;
  pthread_mutex_unlock(&lock);
  return status;
}

// ---- search ----

static bool
is_of_format(const CatalogueEntry* const entry, const char* const format)
{
  return !strcmp(entry->format, format);
}

static const CatalogueEntry*
find_id(const char* const format, const char* const id)
{
  for (uint32_t e = 0; e < current->n_entries; ++e) {
    if (!strcmp(current->entries[e].id, id) && is_of_format(&current->entries[e], format)) {
      return &current->entries[e];
    }
  }
  return NULL;
}

/// Fail because several plugins have this short name.
static Status
ambiguous(const char* const format, const char* const name, Error* const error)
{
  char ids[384] = "";
  for (uint32_t e = 0; e < current->n_entries; ++e) {
    const CatalogueEntry* const entry = &current->entries[e];
    const size_t n = strlen(ids);
    if (is_of_format(entry, format) && !strcasecmp(entry->short_name, name) &&
        find_id(format, entry->id) == entry && n + strlen(entry->id) + 8U < sizeof(ids)) {
      snprintf(ids + n, sizeof(ids) - n, "%s\"%s\"", n ? ", " : "", entry->id);
    }
  }
  return error_set(error, STATUS_NOT_FOUND, "several %s plugins have the name \"%.40s\"; write %s",
                   format, name, ids);
}

/// Fail because no plugin is called so, and suggest a short name or an id.
static Status
unknown(const char* const format, const char* const reference, Error* const error)
{
  const char** const names = malloc((2U * current->n_entries + 1U) * sizeof(char*));
  uint32_t n = 0;
  for (uint32_t pass = 0; names && pass < 2U; ++pass) {
    for (uint32_t e = 0; e < current->n_entries; ++e) {
      const CatalogueEntry* const entry = &current->entries[e];
      if (is_of_format(entry, format)) {
        names[n++] = pass ? entry->id : entry->short_name;
      }
    }
  }
  const char* const near = names && n ? nearest_name(reference, names, n) : NULL;
  free(names);
  return near ? error_set(error, STATUS_NOT_FOUND,
                          "no %s plugin \"%.120s\"; did you mean \"%.120s\"?", format, reference,
                          near)
              : error_set(error, STATUS_NOT_FOUND,
                          "no %s plugin \"%.120s\"; `warprack list plugins` shows all", format,
                          reference);
}

static Status
find_entry(const char* const format, const char* const reference,
           const CatalogueEntry** const found, Error* const error)
{
  *found = find_id(format, reference);
  if (*found) {
    return STATUS_OK;
  }
  for (uint32_t e = 0; e < current->n_entries; ++e) {
    const CatalogueEntry* const entry = &current->entries[e];
    if (is_of_format(entry, format) && !strcasecmp(entry->short_name, reference)) {
      if (*found && strcmp((*found)->id, entry->id) != 0) {
        return ambiguous(format, reference, error);
      }
      *found = *found ? *found : entry;
    }
  }
  return *found ? STATUS_OK : unknown(format, reference, error);
}

// ---- plugins ----

/// Read a description into an arena, which keeps a copy as it is and one for plugin_read().
static Status
read_known(const CatalogueText description, Arena* const arena, KnownPlugin** const out,
           Error* const error)
{
  KnownPlugin* const known = arena_take(arena, 1, sizeof(*known));
  char* const text = arena_take(arena, 1, description.n_bytes);
  char* const changed = arena_take(arena, 1, description.n_bytes + 1U);
  Plugin* plugin = NULL;
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memcpy(text, description.at, description.n_bytes);
  memcpy(changed, description.at, description.n_bytes);
  const Status status = plugin_read(changed, arena, &host_functions, &plugin, error);
  if (!status) {
    *known = (KnownPlugin){ .text = text, .n_bytes = description.n_bytes, .plugin = plugin };
    *out = known;
  }
  return status;
}

/// The plugin with this description, read if it is the first time.
static Status
need_plugin(const CatalogueText description, const Plugin** const plugin, Error* const error)
{
  for (const KnownPlugin* known = known_plugins; known; known = known->next) {
    if (known->n_bytes == description.n_bytes &&
        !memcmp(known->text, description.at, description.n_bytes)) {
      *plugin = known->plugin;
      return STATUS_OK;
    }
  }
  Arena arena = { .chunks = NULL };
  KnownPlugin* known = NULL;
  const Status status = read_known(description, &arena, &known, error);
  if (status) {
    arena_clear(&arena);
    return status;
  }
  known->next = known_plugins;
  known_plugins = known;
  *plugin = known->plugin;
  return STATUS_OK;
}

static Status
find_plugin(const char* const format, const char* const reference, const Plugin** const plugin,
            Error* const error)
{
  const CatalogueEntry* entry = NULL;
  Status status = need_catalogue(error);
  status = status ? status : find_entry(format, reference, &entry, error);
  if (status) {
    return status;
  }
  Error fault = { STATUS_OK, "" };
  status = need_plugin(current->descriptions[entry - current->entries], plugin, &fault);
  return status ? error_set(error, status, "the description of %s \"%.120s\": %.200s", format,
                            entry->id, fault.text)
                : STATUS_OK;
}

/// Fail because the build leaves a format out.
static Status
no_format(const char* const format, Error* const error)
{
  char name[16];
  snprintf(name, sizeof(name), "%s", format);
  for (char* at = name; *at; ++at) {
    *at = (char)toupper((unsigned char)*at);
  }
  return error_set(error, STATUS_NO_BACKEND, "this build of warprack has no %s", name);
}

Status
catalogue_find_plugin(const char* const format, const char* const reference,
                      const Plugin** const plugin, Error* const error)
{
  if (!plugin_format_find(format)) {
    return no_format(format, error);
  }
  pthread_mutex_lock(&lock);
  const Status status = find_plugin(format, reference, plugin, error);
  pthread_mutex_unlock(&lock);
  return status;
}

Status
fx_find_plugin(const char* const format, const char* const reference, const FxInfo** const fx,
               Error* const error)
{
  const Plugin* plugin = NULL;
  const Status status = catalogue_find_plugin(format, reference, &plugin, error);
  if (status) {
    return status;
  }
  if (*plugin->fault) {
    return error_set(error, STATUS_NO_BACKEND, "%s \"%.120s\" cannot be used: %s", format,
                     plugin->source.id, plugin->fault);
  }
  *fx = &plugin->fx;
  return STATUS_OK;
}
