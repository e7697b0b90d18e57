// SPDX-License-Identifier: GPL-3.0-or-later
// The presets of the providers of a file, and loading one.

#include "clap_presets.h"

#include "engine/base/text.h"

#include <clap/ext/preset-load.h>

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PROVIDERS  64U
#define MAX_LOCATIONS  64U // of a provider, as of its types of files
#define MAX_TYPES      64U
#define MAX_DEPTH      16     // of folders
#define MAX_FILES      65536U // of a location, with its folders
#define MAX_PRESETS    65536U // of a file
#define MAX_TEXT_BYTES 4096U

/// A provider while it is asked.
typedef struct Provider {
  ClapPresets* presets;
  const char* file; ///< Of the plugins
  const clap_preset_discovery_provider_t* calls;
  char* locations[MAX_LOCATIONS]; ///< NULL: the plugins' own file
  uint32_t n_locations;
  const char* types[MAX_TYPES]; ///< Endings of files
  uint32_t n_types;
  bool takes_all; ///< Files with any ending

  // The preset that it describes:
  const char* at;   ///< File
  const char* name; ///< NULL: none has begun
  const char* key;
  bool is_wrong; ///< The provider has reported an error for this file
} Provider;

static char*
keep(ClapPresets* const presets, const char* const text)
{
  const size_t n = strlen(text);
  char* const copy = arena_take(&presets->arena, n + 1U, 1);
  if (copy) {
    memcpy(copy, text, n);
  }
  return copy;
}

/// True for a text that the catalogue keeps as it is.
static bool
is_kept(const char* const text)
{
  return strnlen(text, MAX_TEXT_BYTES) < MAX_TEXT_BYTES && text_is_printable(text);
}

static void
lose(ClapPresets* const presets, const char* const what)
{
  if (!presets->n_lost++) {
    presets->first_lost = keep(presets, what ? what : "");
  }
}

// ---- what a provider declares ----

static bool
on_type(const clap_preset_discovery_indexer_t* const indexer,
        const clap_preset_discovery_filetype_t* const type)
{
  Provider* const provider = indexer->indexer_data;
  const char* const ending = type->file_extension;
  if (!ending || !*ending) {
    provider->takes_all = true;
    return true;
  }
  const bool has_room = provider->n_types < MAX_TYPES;
  if (has_room) {
    provider->types[provider->n_types++] = keep(provider->presets, ending);
  } else {
    lose(provider->presets, ending);
  }
  return has_room;
}

static bool
is_location(const clap_preset_discovery_location_t* const location)
{
  const char* const path = location->location;
  return location->kind == CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN
             ? !path
             : location->kind == CLAP_PRESET_DISCOVERY_LOCATION_FILE && path && *path == '/' &&
                   is_kept(path);
}

static bool
on_location(const clap_preset_discovery_indexer_t* const indexer,
            const clap_preset_discovery_location_t* const location)
{
  Provider* const provider = indexer->indexer_data;
  const bool is_right = is_location(location) && provider->n_locations < MAX_LOCATIONS;
  if (!is_right) {
    lose(provider->presets, location->name);
  } else {
    provider->locations[provider->n_locations++] =
        location->location ? keep(provider->presets, location->location) : NULL;
  }
  return is_right;
}

static bool
on_soundpack(const clap_preset_discovery_indexer_t* const indexer,
             const clap_preset_discovery_soundpack_t* const pack)
{
  (void)indexer;
  (void)pack;
  return true;
}

static const void*
no_extension(const clap_preset_discovery_indexer_t* const indexer, const char* const id)
{
  (void)indexer;
  (void)id;
  return NULL;
}

// ---- what it tells of a file ----

static bool
on_begin_preset(const clap_preset_discovery_metadata_receiver_t* const receiver,
                const char* const name, const char* const key)
{
  Provider* const provider = receiver->receiver_data;
  const char* const slash = strrchr(provider->at, '/');
  const char* const shown = name && *name ? name : slash ? slash + 1 : provider->at;
  const bool is_right = !key || is_kept(key);
  provider->name = is_right ? keep(provider->presets, shown) : NULL;
  provider->key = is_right && key ? keep(provider->presets, key) : "";
  if (!is_right) {
    lose(provider->presets, shown);
  }
  return provider->presets->n < MAX_PRESETS;
}

static bool
reserve(ClapPresets* const presets)
{
  if (presets->n == presets->n_reserved) {
    const uint32_t n = presets->n_reserved ? 2U * presets->n_reserved : 64U;
    ClapPreset* const list = realloc(presets->list, n * sizeof(*list));
    presets->arena.failed = presets->arena.failed || !list;
    presets->list = list ? list : presets->list;
    presets->n_reserved = list ? n : presets->n_reserved;
  }
  return presets->n < presets->n_reserved && presets->n < MAX_PRESETS;
}

static void
on_plugin(const clap_preset_discovery_metadata_receiver_t* const receiver,
          const clap_universal_plugin_id_t* const plugin)
{
  const Provider* const provider = receiver->receiver_data;
  ClapPresets* const presets = provider->presets;
  if (!provider->name || !plugin->abi || strcmp(plugin->abi, "clap") != 0 || !plugin->id) {
    return;
  }
  if (reserve(presets)) {
    presets->list[presets->n++] =
        (ClapPreset){ keep(presets, plugin->id), provider->name, provider->key, provider->at };
  } else {
    lose(presets, provider->name);
  }
}

static void
on_error(const clap_preset_discovery_metadata_receiver_t* const receiver, const int32_t os_error,
         const char* const message)
{
  (void)os_error;
  (void)message;
  Provider* const provider = receiver->receiver_data;
  provider->is_wrong = true;
}

static void
ignore_text(const clap_preset_discovery_metadata_receiver_t* const receiver, const char* const text)
{
  (void)receiver;
  (void)text;
}

static void
ignore_flags(const clap_preset_discovery_metadata_receiver_t* const receiver, const uint32_t flags)
{
  (void)receiver;
  (void)flags;
}

static void
ignore_times(const clap_preset_discovery_metadata_receiver_t* const receiver,
             const clap_timestamp made, const clap_timestamp changed)
{
  (void)receiver;
  (void)made;
  (void)changed;
}

static void
ignore_pair(const clap_preset_discovery_metadata_receiver_t* const receiver, const char* const key,
            const char* const value)
{
  (void)receiver;
  (void)key;
  (void)value;
}

/// Ask for the presets of one file.
/// @param path NULL: the plugins' own file.
static void
ask(Provider* const provider, const char* const path)
{
  const clap_preset_discovery_metadata_receiver_t receiver = {
    .receiver_data = provider,
    .on_error = on_error,
    .begin_preset = on_begin_preset,
    .add_plugin_id = on_plugin,
    .set_soundpack_id = ignore_text,
    .set_flags = ignore_flags,
    .add_creator = ignore_text,
    .set_description = ignore_text,
    .set_timestamps = ignore_times,
    .add_feature = ignore_text,
    .add_extra_info = ignore_pair,
  };
  provider->at = path ? keep(provider->presets, path) : provider->file;
  provider->name = NULL;
  provider->is_wrong = false;
  const uint32_t kind =
      path ? CLAP_PRESET_DISCOVERY_LOCATION_FILE : CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN;
  if (provider->at && (!provider->calls->get_metadata(provider->calls, kind, path, &receiver) ||
                       provider->is_wrong)) {
    lose(provider->presets, provider->at);
  }
}

// ---- files ----

static bool
has_type(const Provider* const provider, const char* const path)
{
  const char* const dot = strrchr(path, '.');
  bool is_found = provider->takes_all || !provider->n_types;
  for (uint32_t t = 0; dot && t < provider->n_types && !is_found; ++t) {
    is_found = provider->types[t] && !strcmp(provider->types[t], dot + 1);
  }
  return is_found;
}

static int
by_name(const FTSENT** const a, const FTSENT** const b)
{
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool
is_preset(const Provider* const provider, const FTSENT* const entry)
{
  return entry->fts_info == FTS_F && S_ISREG(entry->fts_statp->st_mode) &&
         has_type(provider, entry->fts_path);
}

/// Ask for the presets of a file, or of all files of its types in a folder.
static void
crawl(Provider* const provider, char* const location)
{
  char* const paths[] = { location, NULL };
  FTS* const tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);
  FTSENT* entry = tree ? fts_read(tree) : NULL;
  for (uint32_t n = 1; entry; ++n) {
    if (n > MAX_FILES) {
      lose(provider->presets, location);
      break;
    }
    if (entry->fts_level > MAX_DEPTH) {
      fts_set(tree, entry, FTS_SKIP);
    } else if (is_preset(provider, entry)) {
      if (is_kept(entry->fts_path)) {
        ask(provider, entry->fts_path);
      } else {
        lose(provider->presets, location);
      }
    }
    entry = fts_read(tree);
  }
  if (tree) {
    fts_close(tree);
  }
}

// ---- providers ----

static void
ask_provider(ClapPresets* const presets, const char* const file,
             const clap_preset_discovery_factory_t* const factory, const char* const id)
{
  Provider provider = { .presets = presets, .file = file };
  const clap_preset_discovery_indexer_t indexer = {
    .clap_version = CLAP_VERSION,
    .name = "warprack",
    .vendor = "warprack",
    .version = WARPRACK_VERSION,
    .indexer_data = &provider,
    .declare_filetype = on_type,
    .declare_location = on_location,
    .declare_soundpack = on_soundpack,
    .get_extension = no_extension,
  };
  provider.calls = factory->create(factory, &indexer, id);
  if (!provider.calls) {
    lose(presets, id);
    return;
  }
  if (provider.calls->init(provider.calls)) {
    for (uint32_t l = 0; l < provider.n_locations; ++l) {
      if (provider.locations[l]) {
        crawl(&provider, provider.locations[l]);
      } else {
        ask(&provider, NULL);
      }
    }
  } else {
    lose(presets, id);
  }
  provider.calls->destroy(provider.calls);
}

void
clap_presets_find(ClapPresets* const presets, const char* const file,
                  const clap_preset_discovery_factory_t* const factory)
{
  const uint32_t n_providers = factory ? factory->count(factory) : 0U;
  for (uint32_t p = 0; p < n_providers && p < MAX_PROVIDERS; ++p) {
    const clap_preset_discovery_provider_descriptor_t* const provider =
        factory->get_descriptor(factory, p);
    if (provider && provider->id && clap_version_is_compatible(provider->clap_version)) {
      ask_provider(presets, file, factory, provider->id);
    } else {
      lose(presets, file);
    }
  }
}

void
clap_presets_clear(ClapPresets* const presets)
{
  free(presets->list);
  arena_clear(&presets->arena);
  *presets = (ClapPresets){ 0 };
}

// ---- plugins ----

static const clap_plugin_preset_load_t*
load_calls(const clap_plugin_t* const clap)
{
  const clap_plugin_preset_load_t* calls = clap->get_extension(clap, CLAP_EXT_PRESET_LOAD);
  calls = calls ? calls : clap->get_extension(clap, CLAP_EXT_PRESET_LOAD_COMPAT);
  return calls && calls->from_location ? calls : NULL;
}

void
clap_presets_describe(const ClapPresets* const presets, const clap_plugin_t* const clap,
                      Description* const d)
{
  uint32_t n = 0;
  const char* first = NULL;
  for (uint32_t p = 0; p < presets->n; ++p) {
    if (!strcmp(presets->list[p].plugin, d->plugin.origin.id)) {
      first = n++ ? first : presets->list[p].name;
    }
  }
  if (n && !load_calls(clap)) {
    description_mend(d, "presets that it cannot load", first);
    return;
  }
  n = n < PLUGIN_MAX_PRESETS ? n : PLUGIN_MAX_PRESETS;
  PluginPreset* const list = arena_take(&d->arena, n, sizeof(*list));
  uint32_t n_taken = 0;
  for (uint32_t p = 0; list && p < presets->n && n_taken < n; ++p) {
    const ClapPreset* const preset = &presets->list[p];
    if (!strcmp(preset->plugin, d->plugin.origin.id)) {
      list[n_taken++] = (PluginPreset){
        .name = description_text(d, preset->name),
        .uri = preset->key,
        .state = preset->file,
      };
    }
  }
  if (presets->n_lost && n) {
    description_mend(d, "presets that are left out", presets->first_lost);
  }
  d->plugin.presets = list;
  d->plugin.n_presets = n_taken;
}

Status
clap_preset_load(const clap_plugin_t* const clap, const Plugin* const plugin,
                 const PluginPreset* const preset, Error* const error)
{
  const clap_plugin_preset_load_t* const calls = load_calls(clap);
  const bool is_inside = !strcmp(preset->state, plugin->binary);
  const bool is_loaded =
      calls &&
      calls->from_location(clap,
                           is_inside ? CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN
                                     : CLAP_PRESET_DISCOVERY_LOCATION_FILE,
                           is_inside ? NULL : preset->state, *preset->uri ? preset->uri : NULL);
  return is_loaded ? STATUS_OK
                   : error_set(error, STATUS_FILE, "clap %s does not load its preset \"%s\"",
                               plugin->origin.id, preset->name);
}
