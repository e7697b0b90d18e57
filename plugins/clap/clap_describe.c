// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Describes the plugins of a CLAP file.

  Only an instance can tell its ports and parameters, so one is made of every plugin, with the same
  host as for sound: some plugins crash in a host that offers less.  It is not activated.
*/

#include "clap_host.h"
#include "clap_library.h"
#include "clap_notes.h"
#include "clap_params.h"
#include "clap_presets.h"
#include "clap_state.h"
#include "clap_threads.h"

#include "engine/base/text.h"

#include <clap/ext/audio-ports.h>
#include <clap/ext/note-ports.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_PLUGINS 4096U // of a file: a longer list is broken

/// Audio ports of a plugin that is described.
typedef struct AudioPorts {
  const clap_plugin_t* clap;
  const clap_plugin_audio_ports_t* calls; ///< NULL: it has none
} AudioPorts;

static uint32_t
count_audio_ports(const AudioPorts* const ports, const bool is_input)
{
  return ports->calls && ports->calls->count && ports->calls->get
             ? ports->calls->count(ports->clap, is_input)
             : 0U;
}

static bool
get_audio_port(const AudioPorts* const ports, const bool is_input, const uint32_t index,
               clap_audio_port_info_t* const info)
{
  *info = (clap_audio_port_info_t){ 0 };
  const bool is_described = ports->calls->get(ports->clap, index, is_input, info);
  info->name[CLAP_NAME_SIZE - 1] = '\0';
  return is_described;
}

/// The channels of one direction.  Stops when there are more than a plugin may have.
static uint64_t
count_channels(Description* const d, const AudioPorts* const ports, const bool is_input)
{
  const uint32_t n_ports = count_audio_ports(ports, is_input);
  uint64_t n = 0;
  for (uint32_t p = 0; p < n_ports && n <= PLUGIN_MAX_PORTS; ++p) {
    clap_audio_port_info_t info;
    if (!get_audio_port(ports, is_input, p, &info)) {
      description_fault(d, "its audio port %u is not described", p + 1U);
      return n;
    }
    n += info.channel_count;
  }
  return n;
}

/// Add a port for each channel of an audio port.
static void
describe_channels(Description* const d, const clap_audio_port_info_t* const info,
                  const uint32_t flags, uint32_t* const index)
{
  char group[PLUGIN_ID_BYTES];
  plugin_param_id(info->name, group);
  const bool has_numbers = info->channel_count > 1U;
  const bool has_group = has_numbers || flags & PORT_SIDECHAIN; // a side input for each port
  for (uint32_t c = 0; c < info->channel_count; ++c) {
    char name[CLAP_NAME_SIZE + 16];
    snprintf(name, sizeof(name), has_numbers ? "%s %u" : "%s", info->name[0] ? info->name : "Audio",
             c + 1U);
    const PluginPort port = {
      .index = (*index)++,
      .type = PORT_AUDIO,
      .flags = flags,
      .name = description_text(d, name),
      .group = description_text(d, has_group ? group : ""),
      .uri = "",
    };
    description_add_port(d, &port);
  }
}

/// The first input is the main one, even if the plugin marks none as main.
static void
describe_audio(Description* const d, const AudioPorts* const ports, const bool is_input)
{
  const uint32_t n_ports = count_audio_ports(ports, is_input);
  uint32_t index = 0;
  for (uint32_t p = 0; p < n_ports; ++p) {
    clap_audio_port_info_t info;
    get_audio_port(ports, is_input, p, &info);
    const bool is_main = !p || info.flags & CLAP_AUDIO_PORT_IS_MAIN;
    const uint32_t flags = !is_input ? PORT_OUTPUT : is_main ? PORT_NO_FLAGS : PORT_SIDECHAIN;
    describe_channels(d, &info, flags, &index);
  }
}

static uint32_t
count_notes(const clap_plugin_t* const clap, const bool is_input)
{
  const clap_plugin_note_ports_t* const calls = clap->get_extension(clap, CLAP_EXT_NOTE_PORTS);
  return calls && calls->count ? calls->count(clap, is_input) : 0U;
}

static void
describe_notes(Description* const d, const clap_plugin_t* const clap, const bool is_input)
{
  const uint32_t n = count_notes(clap, is_input);
  for (uint32_t p = 0; p < n; ++p) {
    const PluginPort port = {
      .index = p,
      .type = PORT_ATOM,
      .flags = !is_input                    ? PORT_EVENTS | PORT_OUTPUT
               : clap_note_dialect(clap, p) ? PORT_EVENTS
                                            : PORT_NO_FLAGS,
      .name = "Notes",
      .group = "",
      .uri = "",
    };
    description_add_port(d, &port);
  }
}

static void
describe_ports(Description* const d, const clap_plugin_t* const clap)
{
  const AudioPorts audio = { clap, clap->get_extension(clap, CLAP_EXT_AUDIO_PORTS) };
  const uint64_t n_audio = count_channels(d, &audio, true) + count_channels(d, &audio, false);
  const uint64_t n_notes = (uint64_t)count_notes(clap, true) + count_notes(clap, false);
  if (!n_audio) {
    description_fault(d, "it has no audio ports");
  }
  if (!d->fault[0] && description_reserve(d, n_audio + n_notes + clap_params_count(clap))) {
    describe_audio(d, &audio, true);
    describe_audio(d, &audio, false);
    clap_params_describe(d, clap);
    describe_notes(d, clap, true);
    describe_notes(d, clap, false);
  }
}

// ---- plugins ----

/// The file that is being described.
typedef struct File {
  Plugin base; ///< What all its plugins have
  ClapFactories factories;
  ClapPresets presets;
} File;

static bool
is_one_of(const char* const word, const char* const* words)
{
  while (*words && strcmp(*words, word) != 0) {
    ++words;
  }
  return *words;
}

/// The first feature that names the effect ("reverb"); else the one that names the kind of plugin.
static const char*
find_category(Description* const d, const char* const* const features)
{
  static const char* const widths[] = {
    CLAP_PLUGIN_FEATURE_MONO,      CLAP_PLUGIN_FEATURE_STEREO,       CLAP_PLUGIN_FEATURE_SURROUND,
    CLAP_PLUGIN_FEATURE_AMBISONIC, CLAP_PLUGIN_FEATURE_AUDIO_EFFECT, NULL,
  };
  static const char* const kinds[] = {
    CLAP_PLUGIN_FEATURE_ANALYZER,
    CLAP_PLUGIN_FEATURE_INSTRUMENT,
    CLAP_PLUGIN_FEATURE_NOTE_DETECTOR,
    CLAP_PLUGIN_FEATURE_NOTE_EFFECT,
    NULL,
  };
  const char* use = NULL;
  const char* kind = "";
  for (uint32_t f = 0; features && features[f] && !use; ++f) {
    if (is_one_of(features[f], kinds)) {
      kind = features[f];
    } else if (!is_one_of(features[f], widths)) {
      use = features[f];
    }
  }
  char category[64];
  snprintf(category, sizeof(category), "%s", use ? use : kind);
  category[0] = (char)toupper((unsigned char)category[0]);
  return description_text(d, category);
}

static void
describe_instance(Description* const d, const clap_plugin_factory_t* const factory,
                  const ClapPresets* const presets)
{
  ClapHost host;
  clap_host_init(&host, d->plugin.origin.id);
  const clap_plugin_t* const clap =
      factory->create_plugin(factory, &host.clap, d->plugin.origin.id);
  if (!clap) {
    description_fault(d, "it cannot be created");
    return;
  }
  host.plugin = clap;
  if (clap->init(clap)) {
    describe_ports(d, clap);
    d->plugin.takes_state = clap_state_exists(clap);
    clap_presets_describe(presets, clap, d);
  } else {
    description_fault(d, "it cannot be initialised");
  }
  clap->destroy(clap);
}

static Status
describe_plugin(const File* const file, const clap_plugin_descriptor_t* const clap,
                const PluginFound found, void* const context, Error* const error)
{
  Description d = { .plugin = file->base };
  Plugin* const plugin = &d.plugin;
  const bool has_name = clap->name && clap->name[0];
  plugin->origin = (FxOrigin){ "clap", clap->id };
  plugin->name = description_text(&d, has_name ? clap->name : clap->id);
  plugin->maker = description_text(&d, clap->vendor);
  plugin->licence = "";
  plugin->category = find_category(&d, clap->features);
  if (!has_name) {
    description_mend(&d, "no name", clap->id);
  }
  if (clap_version_is_compatible(clap->clap_version)) {
    const ClapThread before = clap_thread_change(CLAP_THREAD_MAIN);
    describe_instance(&d, file->factories.plugins, &file->presets);
    clap_thread_change(before);
  } else {
    description_fault(&d, "it is made for a draft of CLAP 1");
  }
  return description_finish(&d, found, context, error);
}

static bool
has_id(const clap_plugin_descriptor_t* const clap)
{
  return clap && clap->id && clap->id[0] && text_is_printable(clap->id);
}

/// True if this is the plugin that the factory makes of its id: no earlier one has it.
static bool
is_first(const clap_plugin_factory_t* const factory, const uint32_t index, const char* const id)
{
  bool is_equal = false;
  for (uint32_t i = 0; i < index && !is_equal; ++i) {
    const clap_plugin_descriptor_t* const other = factory->get_plugin_descriptor(factory, i);
    is_equal = has_id(other) && !strcmp(other->id, id);
  }
  return !is_equal;
}

/// Describe the plugins of a file, except those whose ids no rack can name.
static Status
describe_all(const File* const file, const PluginFound found, void* const context,
             Error* const error)
{
  const clap_plugin_factory_t* const factory = file->factories.plugins;
  const uint32_t n_plugins = factory->get_plugin_count(factory);
  if (n_plugins > MAX_PLUGINS) {
    return error_set(error, STATUS_LIMIT, "%s lists more than %u plugins", file->base.bundle,
                     MAX_PLUGINS);
  }
  Status status = STATUS_OK;
  uint32_t n_found = 0;
  for (uint32_t i = 0; i < n_plugins && !status; ++i) {
    const clap_plugin_descriptor_t* const clap = factory->get_plugin_descriptor(factory, i);
    if (has_id(clap) && is_first(factory, i, clap->id)) {
      status = describe_plugin(file, clap, found, context, error);
      ++n_found;
    }
  }
  return status || n_found
             ? status
             : error_set(error, STATUS_FILE, "%s lists no plugin with an id", file->base.bundle);
}

static Status
clap_describe(const char* const bundle, const PluginFound found, void* const context,
              Error* const error)
{
  File file = { .base = { .bundle = bundle, .binary = bundle } };
  Status status = file_key(bundle, &file.base.binary_key, error);
  if (status) {
    return status;
  }
  const ClapThread before = clap_thread_change(CLAP_THREAD_MAIN);
  status = clap_library_open(bundle, &file.factories, error);
  if (!status) {
    clap_presets_find(&file.presets, bundle, file.factories.presets);
  }
  clap_thread_change(before);
  if (file.presets.arena.failed) {
    status = error_set(error, STATUS_NO_MEM, "no memory for the presets of %s", bundle);
  }
  status = status ? status : describe_all(&file, found, context, error);
  clap_presets_clear(&file.presets);
  return status;
}

extern const PluginFormat plugin_format_clap;
const PluginFormat plugin_format_clap = {
  .name = "clap",
  .path_variable = "CLAP_PATH",
  .keeps_defaults = true, // clap/entry.h: "in addition to the OS-specific default locations"
  .is_deep = true,
  .default_folders = "~/.clap:/usr/local/lib/clap:/usr/lib/clap:/usr/lib64/clap",
  .is_folder = false,
  .extension = ".clap",
  .describe = clap_describe,
  .calls = &clap_calls,
};
