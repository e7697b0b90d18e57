// SPDX-License-Identifier: GPL-3.0-or-later
// Loads files of CLAP plugins.

#include "clap_library.h"

#include "engine/base/recorder.h"

#include <clap/entry.h>

#include <dlfcn.h>
#include <stdlib.h>

typedef struct Library {
  const clap_plugin_entry_t* entry;
  ClapFactories factories; ///< Without `plugins` the file cannot be used
  struct Library* next;
} Library;

static Library* libraries;

static Status
find_entry(const char* const path, const clap_plugin_entry_t** const entry, Error* const error)
{
  // A file that is loaded already is not loaded again.
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const words = dlerror();
    return error_set(error, STATUS_FILE, "%s cannot be loaded: %s", path, words ? words : "");
  }
  const clap_plugin_entry_t* const found = dlsym(library, "clap_entry");
  if (!found) {
    return error_set(error, STATUS_FILE, "%s has no CLAP plugins: it has no clap_entry", path);
  }
  if (!clap_version_is_compatible(found->clap_version)) {
    return error_set(error, STATUS_FILE, "%s is made for CLAP %u.%u, a draft of CLAP 1", path,
                     found->clap_version.major, found->clap_version.minor);
  }
  recorder_add_code(found);
  *entry = found;
  return STATUS_OK;
}

static const Library*
find_library(const clap_plugin_entry_t* const entry)
{
  const Library* library = libraries;
  while (library && library->entry != entry) {
    library = library->next;
  }
  return library;
}

static ClapFactories
find_factories(const clap_plugin_entry_t* const entry)
{
  const ClapFactories found = {
    .plugins = entry->get_factory(CLAP_PLUGIN_FACTORY_ID),
    .presets = entry->get_factory(CLAP_PRESET_DISCOVERY_FACTORY_ID),
  };
  return found.presets
             ? found
             : (ClapFactories){ found.plugins,
                                entry->get_factory(CLAP_PRESET_DISCOVERY_FACTORY_ID_COMPAT) };
}

/// Initialise a file, and list it, so that no other call initialises it again.
static const Library*
add_library(const clap_plugin_entry_t* const entry, const char* const path)
{
  Library* const library = malloc(sizeof(*library));
  if (library) {
    *library = (Library){ .entry = entry, .next = libraries };
    libraries = library;
    if (entry->init && entry->get_factory && entry->init(path)) {
      library->factories = find_factories(entry);
    }
  }
  return library;
}

Status
clap_library_open(const char* const path, ClapFactories* const factories, Error* const error)
{
  const clap_plugin_entry_t* entry = NULL;
  const Status status = find_entry(path, &entry, error);
  if (status) {
    return status;
  }
  const Library* library = find_library(entry);
  library = library ? library : add_library(entry, path);
  if (!library) {
    return error_set(error, STATUS_NO_MEM, "no memory to load %s", path);
  }
  *factories = library->factories;
  return factories->plugins
             ? STATUS_OK
             : error_set(error, STATUS_FILE, "%s does not initialise its plugins", path);
}
