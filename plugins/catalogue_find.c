// SPDX-License-Identifier: GPL-3.0-or-later
/// The catalogue of the process, and searches in it.  One lock protects it and the known plugins:
/// racks are parsed on several threads.

#include "catalogue_private.h"
#include "format.h"
#include "packages.h"

#include "engine/base/hint.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Catalogue* current;
static bool is_given; // catalogue_use() was called
static CatalogueProvider provider;
static void* source_context;
static struct {
  FileKey key;
  Error fault; // status 0: none
} damaged;     // the user's file, if it is no catalogue: it is read again when it has changed
static CatalogueShare sharer; // gets the user's file when a search reads it; NULL: nobody
static void* share_context;

// ---- catalogue ----

/// End the change to another catalogue: use it, or after an error keep the present one.  Frees the
/// other of the two. [lock held; released]
static Status
end_change(Catalogue* const newer, const Status status)
{
  Catalogue* const left = status ? newer : current;
  known_plugins_end(!status);
  if (!status) {
    current = newer;
    is_given = true;
    provider = NULL;
  }
  pthread_mutex_unlock(&lock);
  catalogue_free(left);
  return status;
}

void
catalogue_use(Catalogue* const catalogue)
{
  pthread_mutex_lock(&lock);
  (void)end_change(catalogue, STATUS_OK);
}

Status
catalogue_follow(Catalogue* const catalogue, Error* const error)
{
  pthread_mutex_lock(&lock);
  return end_change(catalogue, known_plugins_keep(catalogue, error));
}

Status
catalogue_exchange(Catalogue* newer, const CatalogueShare share, void* const context,
                   CatalogueChange* const change, Error* const error)
{
  *change = (CatalogueChange){ .n_gone = 0 };
  pthread_mutex_lock(&lock);
  Status status = known_plugins_renew(&newer, change, error);
  status = status ? status : share(context, newer, change, error);
  return end_change(newer, status);
}

const Catalogue*
catalogue_current(void)
{
  pthread_mutex_lock(&lock);
  const Catalogue* const catalogue = current;
  pthread_mutex_unlock(&lock);
  return catalogue;
}

void
catalogue_set_provider(const CatalogueProvider provide, void* const context)
{
  pthread_mutex_lock(&lock);
  provider = provide;
  source_context = context;
  pthread_mutex_unlock(&lock);
}

/// Ask the provider for the catalogue, once.
static Status
ask_provider(Error* const error)
{
  const CatalogueProvider provide = provider;
  Catalogue* catalogue = NULL;
  provider = NULL;
  const Status status = provide(source_context, &catalogue, error);
  if (!status) {
    catalogue_free(current); // fx_plugin_format() may have read it
    current = catalogue;
  }
  return status;
}

/// Read the user's file, and hand it on before this process uses it.
static Status
read_file(const char* const path, Error* const error)
{
  FileKey key = { .inode = 0 };
  Catalogue* catalogue = NULL;
  const bool has_key = !file_key(path, &key, NULL);
  if (has_key && damaged.fault.status && !memcmp(&key, &damaged.key, sizeof(key))) {
    return error_set(error, damaged.fault.status, "%s", damaged.fault.text);
  }
  damaged.fault.status = STATUS_OK;
  Status status = catalogue_read(path, &catalogue, &damaged.fault);
  if (status) {
    error_set(error, status, "%s", damaged.fault.text);
    damaged.key = key;
    damaged.fault.status = has_key && status == STATUS_FILE ? status : STATUS_OK;
  }
  if (!status && sharer) {
    const CatalogueChange nothing = { .n_gone = 0 };
    status = sharer(share_context, catalogue, &nothing, error);
  }
  if (status) {
    catalogue_free(catalogue);
  } else {
    current = catalogue;
  }
  return status;
}

/// Read the user's file if there is no catalogue yet.
static Status
need_catalogue(Error* const error)
{
  char path[4096];
  Status status = STATUS_NOT_FOUND;
  if (!current && !is_given && catalogue_path(path, sizeof(path))) {
    status = read_file(path, error);
  }
  if (current) {
    return STATUS_OK;
  }
  return status == STATUS_NOT_FOUND
             ? error_set(
                   error, status,
                   "no plugins are known; run `warprack scan`, or send /server/scan to a server")
             : status;
}

void
catalogue_visit(void (*const visit)(void* context, const Catalogue* catalogue), void* const context)
{
  pthread_mutex_lock(&lock);
  visit(context, need_catalogue(NULL) ? NULL : current);
  pthread_mutex_unlock(&lock);
}

void
catalogue_share_on_search(const CatalogueShare share, void* const context)
{
  pthread_mutex_lock(&lock);
  provider = NULL;
  sharer = share;
  share_context = context;
  pthread_mutex_unlock(&lock);
}

// ---- search ----

static bool
is_of_format(const CatalogueEntry* const entry, const char* const format)
{
  return !strcmp(entry->format, format);
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
        catalogue_find_id(current, format, entry->id) == entry &&
        n + strlen(entry->id) + 8U < sizeof(ids)) {
      snprintf(ids + n, sizeof(ids) - n, "%s\"%s\"", n ? ", " : "", entry->id);
    }
  }
  return error_set(error, STATUS_NOT_FOUND, "several %s plugins have the name \"%.40s\"; write %s",
                   format, name, ids);
}

/// The package of the distribution that has the plugin, if none of its plugins is there; else NULL.
static const char*
absent_package(const char* const format, const char* const reference)
{
  const char* package = plugin_package(format, reference);
  for (uint32_t e = 0; package && e < current->n_entries; ++e) {
    const CatalogueEntry* const entry = &current->entries[e];
    const char* const other =
        is_of_format(entry, format) ? plugin_package(format, entry->id) : NULL;
    package = other && !strcmp(other, package) ? NULL : package;
  }
  return package;
}

/// Fail because no plugin is called so, and suggest a package, a short name or an id.
static Status
unknown(const char* const format, const char* const reference, Error* const error)
{
  const char* const package = absent_package(format, reference);
  if (package) {
    return error_set(error, STATUS_NOT_FOUND,
                     "no %s plugin \"%.120s\"; Debian has it in the package %s", format, reference,
                     package);
  }
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
  *found = catalogue_find_id(current, format, reference);
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

static Status
find_plugin(const char* const format, const char* const reference, const bool for_rack,
            const Plugin** const plugin, Error* const error)
{
  const CatalogueEntry* entry = NULL;
  Status status = provider ? ask_provider(error) : STATUS_OK;
  status = status ? status : need_catalogue(error);
  status = status ? status : find_entry(format, reference, &entry, error);
  if (status) {
    return status;
  }
  Error fault = { STATUS_OK, "" };
  const bool is_taken = for_rack && !*entry->fault;
  status = known_plugin(current->descriptions[entry - current->entries], is_taken, plugin, &fault);
  return status ? error_set(error, status, "the description of %s \"%.120s\": %.200s", format,
                            entry->id, fault.text)
                : STATUS_OK;
}

/// Fail because the build leaves a format out, or because there is no such format.
static Status
no_format(const char* const format, Error* const error)
{
  static const char* const all[] = { "clap", "ladspa", "lv2" };
  for (uint32_t a = 0; a < ARRAY_LEN(all); ++a) {
    if (!strcasecmp(format, all[a])) {
      return error_set(error, STATUS_NO_BACKEND, "this build of warprack has no %s plugins",
                       all[a]);
    }
  }
  return error_set(error, STATUS_NOT_FOUND, "no format \"%.40s\"; it is one of clap, ladspa, lv2",
                   format);
}

static Status
find_in_format(const char* const format, const char* const reference, const bool for_rack,
               const Plugin** const plugin, Error* const error)
{
  const PluginFormat* const known = plugin_format_find(format);
  if (!known) {
    return no_format(format, error);
  }
  pthread_mutex_lock(&lock);
  const Status status = find_plugin(known->name, reference, for_rack, plugin, error);
  pthread_mutex_unlock(&lock);
  return status;
}

Status
catalogue_find_plugin(const char* const format, const char* const reference,
                      const Plugin** const plugin, Error* const error)
{
  return find_in_format(format, reference, false, plugin, error);
}

Status
fx_find_plugin(const char* const format, const char* const reference, const FxInfo** const fx,
               Error* const error)
{
  const Plugin* plugin = NULL;
  const Status status = find_in_format(format, reference, true, &plugin, error);
  if (status) {
    return status;
  }
  if (*plugin->fault) {
    return error_set(error, STATUS_NO_BACKEND, "%s \"%.120s\" cannot be used: %s", format,
                     plugin->origin.id, plugin->fault);
  }
  *fx = &plugin->fx;
  return STATUS_OK;
}

const char*
fx_plugin_format(const char* const reference)
{
  const char* format = NULL;
  pthread_mutex_lock(&lock);
  const uint32_t n = need_catalogue(NULL) ? 0U : current->n_entries;
  for (uint32_t e = 0; e < n && !format; ++e) {
    const CatalogueEntry* const entry = &current->entries[e];
    const bool is_it = !entry->fault[0] &&
                       (!strcmp(entry->id, reference) || !strcasecmp(entry->short_name, reference));
    format =
        is_it && plugin_format_find(entry->format) ? plugin_format_find(entry->format)->name : NULL;
  }
  pthread_mutex_unlock(&lock);
  return format;
}
