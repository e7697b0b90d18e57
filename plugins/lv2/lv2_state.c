// SPDX-License-Identifier: GPL-3.0-or-later
// Restores states by lilv, which reads all types of values and makes relative paths absolute.

#include "lv2_state.h"
#include "lv2_features.h"

#include <lilv/lilv.h>
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
