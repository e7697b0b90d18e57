// SPDX-License-Identifier: GPL-3.0-or-later
// Restores states of Turtle files by lilv, which reads all types of values and makes relative paths
// absolute; saves and restores those of users.

#include "lv2_state.h"
#include "lv2_features.h"
#include "lv2_urids.h"
#include "lv2_values.h"

#include <lilv/lilv.h>
#include <lv2/atom/atom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the plugin, as lilv sees it ----

/// The handle that lilv gets.  It ignores the result of a restoration, which this keeps.
typedef struct Restoration {
  const Lv2Stateful* to;
  LV2_State_Status result;
} Restoration;

static LV2_State_Status
restore(const LV2_Handle handle, const LV2_State_Retrieve_Function retrieve,
        const LV2_State_Handle state, const uint32_t flags,
        const LV2_Feature* const* const features)
{
  Restoration* const restoration = handle;
  const Lv2Stateful* const to = restoration->to;
  restoration->result = to->calls->restore(to->handle, retrieve, state, flags, features);
  return restoration->result;
}

static const void*
extension(const char* const uri)
{
  static const LV2_State_Interface calls = { .restore = restore };
  return strcmp(uri, LV2_STATE__interface) ? NULL : &calls;
}

static const LV2_Descriptor descriptor = { .URI = "", .extension_data = extension };

// ---- loading ----

static const char*
words_for(const LV2_State_Status status)
{
  static const char* const words[] = {
    [LV2_STATE_ERR_UNKNOWN] = "it gives no reason",
    [LV2_STATE_ERR_BAD_TYPE] = "a value has the wrong type",
    [LV2_STATE_ERR_BAD_FLAGS] = "a value has flags that it does not know",
    [LV2_STATE_ERR_NO_FEATURE] = "it needs a feature that the host does not have",
    [LV2_STATE_ERR_NO_PROPERTY] = "a value is missing",
    [LV2_STATE_ERR_NO_SPACE] = "it has no room",
  };
  return status < ARRAY_LEN(words) && words[status] ? words[status] : words[LV2_STATE_ERR_UNKNOWN];
}

static Status
apply(const Lv2Stateful* const to, const LilvState* const state, const char* const file,
      Error* const error)
{
  Restoration restoration = { .to = to };
  LilvInstance instance = { &descriptor, &restoration, NULL };
  if (to->calls && to->calls->restore) {
    lilv_state_restore(state, &instance, NULL, NULL, 0U, to->features);
  }
  return restoration.result ? error_set(error, STATUS_FILE, "lv2 %s refuses the state in %s: %s",
                                        to->plugin->origin.id, file, words_for(restoration.result))
                            : STATUS_OK;
}

/// True if the state is one of this plugin.
static bool
is_of(const LilvState* const state, const Plugin* const plugin)
{
  const LilvNode* const uri = lilv_state_get_plugin_uri(state);
  return uri && !strcmp(lilv_node_as_uri(uri), plugin->origin.id);
}

Status
lv2_state_load(const Lv2Stateful* const to, const char* const subject, const char* const file,
               Error* const error)
{
  LilvWorld* const world = lilv_world_new();
  LilvNode* const node = lilv_new_uri(world, subject);
  LilvState* const state = lilv_state_new_from_file(world, features_urid_map(), node, file);
  const Status status = state && is_of(state, to->plugin)
                            ? apply(to, state, file, error)
                            : error_set(error, STATUS_FILE, "%s has no state of <%s> for lv2 %s",
                                        file, subject, to->plugin->origin.id);
  lilv_state_free(state);
  lilv_node_free(node);
  lilv_world_free(world);
  return status;
}

// ---- states that users save ----

#define MADE           "made:" // before the names of files that a plugin has made, in values
#define LV2_NAME_BYTES 300U

/// A state on its way from or to a plugin.
typedef struct Transfer {
  HostPaths* paths;
  HostMade* made;
  Lv2ValueWriter writer; ///< Saving
  char** named;          ///< [n_named] Saving: names of files in `made`, each once
  uint32_t n_named;
  Lv2Values values; ///< Restoring
  Error error;      ///< The first one
  LV2_State_Map_Path map_path;
  LV2_State_Free_Path free_path;
  LV2_Feature map_feature, free_feature;
  const LV2_Feature* features[FEATURES_N + 3U]; ///< NULL-terminated
} Transfer;

static void
keep_error(Transfer* const transfer, const Error* const error)
{
  if (!transfer->error.status) {
    transfer->error = *error;
  }
}

/// A copy for a plugin; NULL: the path is refused.
static char*
copy_path(const char* const path)
{
  return strdup(path ? path : FEATURES_NO_PATH);
}

/// Remember that the state names a file that the plugin has made, for keep_files().  Returns the
/// name for its values, a copy.
static char*
name_made(Transfer* const transfer, const char* const file)
{
  char* name = NULL;
  uint32_t n = 0;
  while (n < transfer->n_named && strcmp(transfer->named[n], file)) {
    ++n;
  }
  if (n == transfer->n_named) {
    char** const named = realloc(transfer->named, (n + 1U) * sizeof(char*));
    transfer->named = named ? named : transfer->named;
    char* const copy = named ? strdup(file) : NULL;
    if (copy) {
      named[transfer->n_named++] = copy;
    }
  }
  if (n == transfer->n_named || asprintf(&name, MADE "%s", file) < 0) {
    Error error = { STATUS_OK, "" };
    error_set(&error, STATUS_NO_MEM, "out of memory");
    keep_error(transfer, &error);
    return copy_path(NULL);
  }
  return name;
}

static char*
on_abstract_path(const LV2_State_Map_Path_Handle context, const char* const path)
{
  Transfer* const transfer = context;
  const char* const file = host_made_name(transfer->made, path);
  if (file) {
    return name_made(transfer, file);
  }
  const char* const name = host_paths_name(transfer->paths, path);
  Error error = { STATUS_OK, "" };
  if (!name) {
    error_set(&error, STATUS_FILE,
              "its state names %.200s, which is neither a file of the rack nor of the plugin",
              path);
    keep_error(transfer, &error);
  }
  return copy_path(name);
}

static char*
on_absolute_path(const LV2_State_Map_Path_Handle context, const char* const name)
{
  Transfer* const transfer = context;
  Error error = { STATUS_OK, "" };
  const char* const stored = lv2_values_stored(&transfer->values, name);
  const char* const path = host_paths_find(transfer->paths, stored ? stored : name, &error);
  if (!path) {
    keep_error(transfer, &error);
  }
  return copy_path(path);
}

static void
on_free_path(const LV2_State_Free_Path_Handle context, char* const path)
{
  (void)context;
  free(path);
}

static LV2_State_Status
on_store(const LV2_State_Handle context, const uint32_t key, const void* const body,
         const size_t n_bytes, const uint32_t type, const uint32_t flags)
{
  Transfer* const transfer = context;
  const Lv2Value value = { key, type, (void*)(body ? body : ""), body ? n_bytes : 0U };
  Error error = { STATUS_OK, "" };
  if (!(flags & LV2_STATE_IS_POD)) {
    error_set(&error, STATUS_FILE, "its state has a value that cannot be copied");
    keep_error(transfer, &error);
    return LV2_STATE_ERR_BAD_FLAGS;
  }
  if (lv2_values_write(&transfer->writer, &value, &error)) {
    keep_error(transfer, &error);
    return error.status == STATUS_FILE ? LV2_STATE_ERR_BAD_TYPE : LV2_STATE_ERR_NO_SPACE;
  }
  return LV2_STATE_SUCCESS;
}

static const void*
on_retrieve(const LV2_State_Handle context, const uint32_t key, size_t* const n_bytes,
            uint32_t* const type, uint32_t* const flags)
{
  const Transfer* const transfer = context;
  const Lv2Value* const value = lv2_values_find(&transfer->values, key);
  if (value && n_bytes) {
    *n_bytes = value->n_bytes;
  }
  if (value && type) {
    *type = value->type;
  }
  if (value && flags) {
    *flags = LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE;
  }
  return value ? value->body : NULL;
}

/// Fill the features of a call: those of the plugin, with paths.
static void
begin_transfer(Transfer* const transfer, const Lv2Stateful* const plugin)
{
  uint32_t n = 0;
  transfer->map_path = (LV2_State_Map_Path){ transfer, on_abstract_path, on_absolute_path };
  transfer->free_path = (LV2_State_Free_Path){ transfer, on_free_path };
  transfer->map_feature = (LV2_Feature){ LV2_STATE__mapPath, &transfer->map_path };
  transfer->free_feature = (LV2_Feature){ LV2_STATE__freePath, &transfer->free_path };
  transfer->made = plugin->made;
  for (; plugin->features[n]; ++n) {
    transfer->features[n] = plugin->features[n];
  }
  transfer->features[n++] = &transfer->map_feature;
  transfer->features[n] = &transfer->free_feature;
}

/// Keep a file that the plugin has made and its state names.
static Status
keep_file(Transfer* const transfer, const Plugin* const plugin, const char* const name,
          Error* const error)
{
  TextBuffer content = { 0 };
  char made[LV2_NAME_BYTES];
  char stored[FX_STATE_NAME_BYTES];
  snprintf(made, sizeof(made), MADE "%s", name);
  Status status = host_made_read(transfer->made, name, FX_STATE_MAX_BYTES, &content, error);
  PackageFile file = { .bytes = content.bytes, .n_bytes = content.n };
  package_suffix(name, file.suffix);
  status = status ? status : host_paths_keep(transfer->paths, &plugin->fx, &file, stored, error);
  free(content.bytes);
  return status ? status : lv2_values_write_file(&transfer->writer, made, stored, error);
}

/// Keep all files that the state names, now that the plugin has written them.
static void
keep_files(Transfer* const transfer, const Plugin* const plugin)
{
  const Error refused = host_made_take_error(transfer->made);
  if (refused.status) { // the cause of errors that the calls have kept
    transfer->error = refused;
  }
  for (uint32_t f = 0; f < transfer->n_named; ++f) {
    Error error = { STATUS_OK, "" };
    if (!transfer->error.status && keep_file(transfer, plugin, transfer->named[f], &error)) {
      transfer->error = error;
    }
    free(transfer->named[f]);
  }
  free(transfer->named);
  transfer->named = NULL;
}

/// The first error of the calls, else that of the result.
static Status
end_transfer(const Transfer* const transfer, const Lv2Stateful* const plugin,
             const LV2_State_Status result, const char* const what, Error* const error)
{
  if (transfer->error.status) {
    return error_set(error, transfer->error.status, "%s", transfer->error.text);
  }
  return result ? error_set(error, STATUS_FILE, "lv2 %s %s: %s", plugin->plugin->origin.id, what,
                            words_for(result))
                : STATUS_OK;
}

Status
lv2_state_save(const Lv2Stateful* const from, HostPaths* const paths, TextBuffer* const part,
               Error* const error)
{
  Transfer transfer = { .paths = paths, .writer = { .part = part } };
  if (!from->calls || !from->calls->save) {
    return error_set(error, STATUS_NOT_FOUND, "the plugin cannot save its state");
  }
  begin_transfer(&transfer, from);
  (void)host_made_take_error(from->made); // of files that it has asked for before
  const LV2_State_Status result =
      from->calls->save(from->handle, on_store, &transfer, LV2_STATE_IS_POD, transfer.features);
  keep_files(&transfer, from->plugin);
  lv2_values_end(&transfer.writer);
  return end_transfer(&transfer, from, result, "does not save its state", error);
}

Status
lv2_state_restore(const Lv2Stateful* const to, HostPaths* const paths, const StatePart* const part,
                  Error* const error)
{
  Transfer transfer = { .paths = paths };
  Status status = lv2_values_read(part, &transfer.values, error);
  if (!status && transfer.values.n && to->calls && to->calls->restore) {
    begin_transfer(&transfer, to);
    const LV2_State_Status result =
        to->calls->restore(to->handle, on_retrieve, &transfer, 0U, transfer.features);
    status = end_transfer(&transfer, to, result, "refuses its state", error);
  }
  lv2_values_clear(&transfer.values);
  return status;
}

// ---- states for another process ----

static Status
find_all(const Lv2Values* const values, HostPaths* const paths, Error* const error)
{
  const LV2_URID path_type = urid_map(LV2_ATOM__Path);
  Error why = { STATUS_OK, "" };
  for (uint32_t f = 0; f < values->n_files; ++f) { // a state without one of them is damaged
    if (!host_paths_find(paths, values->files[f].stored, error)) {
      return error->status;
    }
  }
  for (uint32_t v = 0; v < values->n && why.status != STATUS_NO_MEM; ++v) {
    const Lv2Value* const value = &values->list[v];
    if (value->type == path_type && !lv2_values_stored(values, value->body)) {
      (void)host_paths_find(paths, value->body, &why); // the plugin may not ask for it
    }
  }
  return why.status == STATUS_NO_MEM ? error_set(error, why.status, "%s", why.text) : STATUS_OK;
}

Status
lv2_state_find_files(const StatePart* const part, HostPaths* const paths, Error* const error)
{
  Lv2Values values = { 0 };
  Status status = lv2_values_read(part, &values, error);
  status = status ? status : find_all(&values, paths, error);
  lv2_values_clear(&values);
  return status;
}
