// SPDX-License-Identifier: GPL-3.0-or-later
// Describes the plugins of a bundle from its Turtle files, by lilv.

#include "lv2_description.h"
#include "lv2_features.h"
#include "lv2_host.h"

#include "plugins/format.h"

#include <lv2/options/options.h>
#include <lv2/state/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// True for a bridge to plugins of another format.  They are hosted in their own format.
static bool
is_bridge(const char* const id)
{
  return !strncmp(id, "urn:ladspa:", 11) || !strncmp(id, "urn:dssi:", 9);
}

static void
check_features(Lv2Description* const description, const LilvPlugin* const lilv)
{
  LilvNodes* const features = lilv_plugin_get_required_features(lilv);
  LILV_FOREACH(nodes, i, features)
  {
    const char* const uri = lilv_node_as_string(lilv_nodes_get(features, i));
    if (!features_have(uri)) {
      description_fault(&description->common, "needs the feature %s", uri);
    }
  }
  lilv_nodes_free(features);
  LilvNodes* const options = turtle_objects(description->node, LV2_OPTIONS__requiredOption);
  LILV_FOREACH(nodes, i, options)
  {
    const char* const uri = lilv_node_as_string(lilv_nodes_get(options, i));
    if (!features_have_option(uri)) {
      description_fault(&description->common, "needs the option %s", uri);
    }
  }
  lilv_nodes_free(options);
}

static void
read_binary(Lv2Description* const description)
{
  Plugin* const plugin = &description->common.plugin;
  LilvNode* const node = turtle_object(description->node, LV2_CORE__binary);
  char* const path = lilv_node_is_uri(node) ? lilv_node_get_path(node, NULL) : NULL;
  plugin->binary = turtle_copy(&description->common.arena, path);
  Error error = { STATUS_OK, "" };
  if (!path) {
    description_fault(&description->common, "its description names no binary");
  } else if (file_key(path, &plugin->binary_key, &error)) {
    description_fault(&description->common, "its binary: %s", error.text);
  }
  lilv_free(path);
  lilv_node_free(node);
}

/// The label of the plugin's class; "" for the general class `Plugin`.
static const char*
read_category(Lv2Description* const description, const LilvPlugin* const lilv)
{
  const LilvPluginClass* const of = lilv_plugin_get_class(lilv);
  const char* const uri =
      of ? lilv_node_as_string(lilv_plugin_class_get_uri(of)) : LV2_CORE__Plugin;
  return strcmp(uri, LV2_CORE__Plugin) != 0
             ? turtle_copy(&description->common.arena,
                           lilv_node_as_string(lilv_plugin_class_get_label(of)))
             : "";
}

static void
read_texts(Lv2Description* const description, const LilvPlugin* const lilv)
{
  Plugin* const plugin = &description->common.plugin;
  LilvNode* const maker = lilv_plugin_get_author_name(lilv);
  plugin->name = turtle_text(&description->common.arena, description->node, LILV_NS_DOAP "name");
  plugin->maker =
      turtle_copy(&description->common.arena, maker ? lilv_node_as_string(maker) : NULL);
  plugin->licence =
      turtle_text(&description->common.arena, description->node, LILV_NS_DOAP "license");
  plugin->category = read_category(description, lilv);
  if (!*plugin->name) {
    description_mend(&description->common, "no name", plugin->origin.id);
    plugin->name = plugin->origin.id;
  }
  lilv_node_free(maker);
}

/// lilv reports a file that is no Turtle only as a plugin without ports, so the files are read
/// again.
static void
check_files(Lv2Description* const description, const LilvPlugin* const lilv)
{
  const LilvNodes* const files = lilv_plugin_get_data_uris(lilv);
  LILV_FOREACH(nodes, i, files)
  {
    Error error = { STATUS_OK, "" };
    if (turtle_check(lilv_node_as_string(lilv_nodes_get(files, i)), &error)) {
      description_fault(&description->common, "%s", error.text);
    }
  }
}

/// Whether the plugin takes a state, and the one that it wants at its beginning.
static void
read_state(Lv2Description* const description, const LilvPlugin* const lilv)
{
  description->common.plugin.takes_state =
      turtle_has(description->node, LV2_CORE__extensionData, LV2_STATE__interface);
  LilvNode* const feature = lilv_new_uri(turtle_world(), LV2_STATE__loadDefaultState);
  if (description->common.plugin.takes_state && lilv_plugin_has_feature(lilv, feature) &&
      turtle_has(description->node, LV2_STATE__state, NULL)) {
    description->common.plugin.state = lv2_state_file(description, description->node);
  }
  lilv_node_free(feature);
}

static void
read_plugin(Lv2Description* const description, const LilvPlugin* const lilv)
{
  if (!lilv_plugin_verify(lilv)) {
    check_files(description, lilv);
  }
  check_features(description, lilv);
  read_texts(description, lilv);
  read_binary(description);
  read_state(description, lilv);
  lv2_read_ports(description);
  lv2_read_presets(description);
}

static Status
describe_plugin(const char* const bundle, const LilvPlugin* const lilv, const PluginFound found,
                void* const context, Error* const error)
{
  Lv2Description description = { .node = lilv_plugin_get_uri(lilv) };
  Plugin* const plugin = &description.common.plugin;
  plugin->origin.format = "lv2";
  plugin->origin.id = turtle_copy(&description.common.arena, lilv_node_as_string(description.node));
  plugin->bundle = bundle;
  read_plugin(&description, lilv);
  return description_finish(&description.common, found, context, error);
}

static bool
is_of_bundle(const LilvPlugin* const lilv, const LilvNode* const bundle)
{
  return lilv_node_equals(lilv_plugin_get_bundle_uri(lilv), bundle) &&
         !is_bridge(lilv_node_as_string(lilv_plugin_get_uri(lilv)));
}

/// A manifest that is no Turtle looks like one without plugins.
static Status
check_manifest(const LilvNode* const bundle, Error* const error)
{
  char* uri = NULL;
  if (asprintf(&uri, "%smanifest.ttl", lilv_node_as_string(bundle)) < 0) {
    return error_set(error, STATUS_NO_MEM, "out of memory for a name");
  }
  const Status status = turtle_check(uri, error);
  free(uri);
  return status;
}

static Status
describe(const char* const bundle, const PluginFound found, void* const context, Error* const error)
{
  LilvNode* const uri = turtle_bundle_uri(bundle);
  const LilvPlugins* const plugins = lilv_world_get_all_plugins(turtle_world());
  uint32_t n_plugins = 0;
  Status status = STATUS_OK;
  LILV_FOREACH(plugins, i, plugins)
  {
    const LilvPlugin* const lilv = lilv_plugins_get(plugins, i);
    if (!status && is_of_bundle(lilv, uri)) {
      status = describe_plugin(bundle, lilv, found, context, error);
      ++n_plugins;
    }
  }
  status = status || n_plugins ? status : check_manifest(uri, error);
  lilv_node_free(uri);
  return status;
}

extern const PluginFormat plugin_format_lv2;
const PluginFormat plugin_format_lv2 = {
  .name = "lv2",
  .path_variable = "LV2_PATH",
  .default_folders = "~/.lv2:/usr/local/lib/lv2:/usr/lib/lv2",
  .is_folder = true,
  .extension = ".lv2",
  .marker = "manifest.ttl", // as lilv_world_load_all(): the name of the folder does not matter
  .prepare = turtle_prepare,
  .describe = describe,
  .calls = &lv2_calls,
};
