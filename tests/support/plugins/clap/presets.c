// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Presets of test.learner: two inside the file, and files "*.gain" with a decimal number, below the
  folder that CLAP_FIXTURE_PRESETS names.  The providers also do what the host has to refuse.
*/

#include "clap_fixture.h"

#include <clap/ext/preset-load.h>
#include <clap/factory/preset-discovery.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- providers ----

typedef clap_preset_discovery_metadata_receiver_t Receiver;

typedef struct Provider {
  clap_preset_discovery_provider_t clap;
  const clap_preset_discovery_indexer_t* indexer;
} Provider;

static const clap_preset_discovery_provider_descriptor_t descriptors[] = {
  { VERSION, "test.inside", "inside", NULL },
  { VERSION, "test.files", "files", NULL },
  { VERSION, "test.unmade", "unmade", NULL },
};

static bool
declare(const Provider* const provider, const uint32_t kind, const char* const path)
{
  const clap_preset_discovery_location_t location = { 0, path ? path : "inside", kind, path };
  return provider->indexer->declare_location(provider->indexer, &location);
}

static bool
provider_init(const clap_preset_discovery_provider_t* const clap)
{
  const Provider* const provider = clap->provider_data;
  const char* const folder = getenv("CLAP_FIXTURE_PRESETS");
  if (clap->desc == &descriptors[0]) {
    return declare(provider, CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN, NULL) &&
           !declare(provider, CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN, "/somewhere");
  }
  const clap_preset_discovery_filetype_t type = { "gain", NULL, "gain" };
  return provider->indexer->declare_filetype(provider->indexer, &type) &&
         (!folder || declare(provider, CLAP_PRESET_DISCOVERY_LOCATION_FILE, folder)) &&
         !declare(provider, CLAP_PRESET_DISCOVERY_LOCATION_FILE, "relative");
}

static void
provider_destroy(const clap_preset_discovery_provider_t* const clap)
{
  free(clap->provider_data);
}

static void
tell(const Receiver* const receiver, const char* const name, const char* const key,
     const char* const abi, const char* const plugin)
{
  const clap_universal_plugin_id_t id = { abi, plugin };
  if (receiver->begin_preset(receiver, name, key)) {
    receiver->add_plugin_id(receiver, &id);
    receiver->add_creator(receiver, "somebody");
    receiver->add_feature(receiver, "quiet");
  }
}

static bool
provider_metadata(const clap_preset_discovery_provider_t* const clap, const uint32_t kind,
                  const char* const location, const Receiver* const receiver)
{
  (void)clap;
  if (kind == CLAP_PRESET_DISCOVERY_LOCATION_FILE) {
    if (strstr(location, "broken")) {
      receiver->on_error(receiver, 0, "broken");
      return false;
    }
    tell(receiver, strstr(location, "named") ? "From a file" : NULL, NULL, "clap", "test.learner");
    return true;
  }
  tell(receiver, "Half", "0.5", "clap", "test.learner");
  tell(receiver, "Twice", "2", "clap", "test.learner");
  tell(receiver, "Elsewhere", "3", "vst3", "test.learner");
  tell(receiver, "Unloadable", "3", "clap", "test.delay");
  tell(receiver, "Unprintable", "\a", "clap", "test.learner");
  tell(receiver, "Refused", "much", "clap", "test.learner");
  return true;
}

static const void*
provider_extension(const clap_preset_discovery_provider_t* const clap, const char* const id)
{
  (void)clap;
  (void)id;
  return NULL;
}

// ---- their factory ----

static uint32_t
factory_count(const clap_preset_discovery_factory_t* const factory)
{
  (void)factory;
  return N(descriptors) + 1U;
}

/// The last one is missing.
static const clap_preset_discovery_provider_descriptor_t*
factory_descriptor(const clap_preset_discovery_factory_t* const factory, const uint32_t index)
{
  (void)factory;
  return index < N(descriptors) ? &descriptors[index] : NULL;
}

static const clap_preset_discovery_provider_t*
factory_create(const clap_preset_discovery_factory_t* const factory,
               const clap_preset_discovery_indexer_t* const indexer, const char* const id)
{
  (void)factory;
  Provider* const provider = strcmp(id, "test.unmade") != 0 ? calloc(1, sizeof(*provider)) : NULL;
  if (!provider) {
    return NULL;
  }
  provider->clap = (clap_preset_discovery_provider_t){
    .desc = &descriptors[strcmp(id, "test.inside") != 0],
    .provider_data = provider,
    .init = provider_init,
    .destroy = provider_destroy,
    .get_metadata = provider_metadata,
    .get_extension = provider_extension,
  };
  provider->indexer = indexer;
  return &provider->clap;
}

const void*
fixture_preset_factory(const char* const id)
{
  static const clap_preset_discovery_factory_t factory = { factory_count, factory_descriptor,
                                                           factory_create };
  return !strcmp(id, CLAP_PRESET_DISCOVERY_FACTORY_ID) ? &factory : NULL;
}

// ---- loading ----

/// The number that a preset has: its key, or the content of its file.
static bool
read_number(const char* const location, const char* const key, double* const number)
{
  FILE* const file = location ? fopen(location, "r") : NULL;
  const bool is_read = file ? fscanf(file, "%lf", number) == 1 : key && sscanf(key, "%lf", number);
  if (file) {
    fclose(file);
  }
  return is_read && (!location || !key);
}

static bool
load(const clap_plugin_t* const clap, const uint32_t kind, const char* const location,
     const char* const key)
{
  Fixture* const fixture = clap->plugin_data;
  const clap_host_preset_load_t* const host =
      fixture->host->get_extension(fixture->host, CLAP_EXT_PRESET_LOAD);
  double number = 0.0;
  const bool is_loaded = !fixture->is_active &&
                         (kind == CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN) == !location &&
                         read_number(location, key, &number);
  if (is_loaded) {
    fixture->values[0] = number;
    host->loaded(fixture->host, kind, location, key);
  } else {
    host->on_error(fixture->host, kind, location, key, 0, "no number");
  }
  return is_loaded;
}

const void*
fixture_preset_load(const char* const id)
{
  static const clap_plugin_preset_load_t calls = { load };
  return !strcmp(id, CLAP_EXT_PRESET_LOAD) ? &calls : NULL;
}
