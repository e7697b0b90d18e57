// SPDX-License-Identifier: GPL-3.0-or-later
// An LV2 plugin with a state: a level, and a file with a number.  Its output is its input times
// gain, level and number.  No code of warprack.

#include "stateful.h"

#include <lv2/core/lv2.h>
#include <lv2/state/state.h>
#include <lv2/worker/worker.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPER "urn:warprack:keeper"

enum { IN, OUT, GAIN, RESTORED };

typedef struct Keeper {
  Stateful base;
  bool is_active;
  float level, number;
  unsigned n_restored; ///< Restorations in the right order
  char path[1024];
} Keeper;

static LV2_Handle
instantiate(const LV2_Descriptor* const descriptor, const double rate, const char* const folder,
            const LV2_Feature* const* const features)
{
  (void)descriptor;
  (void)rate;
  (void)folder;
  Keeper* const keeper = calloc(1, sizeof(*keeper));
  keeper->base.map = feature(features, LV2_URID__map);
  keeper->level = 1.0F;
  keeper->number = 1.0F;
  return keeper;
}

static void
activate(const LV2_Handle handle)
{
  ((Keeper*)handle)->is_active = true;
}

static void
run(const LV2_Handle handle, const uint32_t n_frames)
{
  const Keeper* const keeper = handle;
  for (uint32_t i = 0; i < n_frames; ++i) {
    keeper->base.ports[OUT][i] =
        keeper->base.ports[IN][i] * *keeper->base.ports[GAIN] * keeper->level * keeper->number;
  }
  *keeper->base.ports[RESTORED] = (float)keeper->n_restored;
}

// ---- state ----

static LV2_State_Status
save(const LV2_Handle handle, const LV2_State_Store_Function store, const LV2_State_Handle state,
     const uint32_t flags, const LV2_Feature* const* const features)
{
  (void)flags;
  const Keeper* const keeper = handle;
  const uint32_t is_plain = LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE;
  store(state, map(keeper, KEEPER "#level"), &keeper->level, sizeof(float),
        map(keeper, LV2_ATOM__Float), is_plain);
  const LV2_State_Map_Path* const paths = feature(features, LV2_STATE__mapPath);
  const LV2_State_Free_Path* const frees = feature(features, LV2_STATE__freePath);
  if (!*keeper->path || !paths || !frees) {
    return LV2_STATE_SUCCESS;
  }
  char* const path = paths->abstract_path(paths->handle, keeper->path);
  const LV2_State_Status status =
      path ? store(state, map(keeper, KEEPER "#file"), path, strlen(path) + 1U,
                   map(keeper, LV2_ATOM__Path), LV2_STATE_IS_POD)
           : LV2_STATE_ERR_UNKNOWN;
  frees->free_path(frees->handle, path);
  return status;
}

/// Read the number in a file.
static bool
load(Keeper* const keeper, const char* const path)
{
  FILE* const file = fopen(path, "r");
  const bool has_number = file && fscanf(file, "%f", &keeper->number) == 1;
  if (file) {
    fclose(file);
  }
  snprintf(keeper->path, sizeof(keeper->path), "%s", path);
  return has_number;
}

static LV2_State_Status
restore(const LV2_Handle handle, const LV2_State_Retrieve_Function retrieve,
        const LV2_State_Handle state, const uint32_t flags,
        const LV2_Feature* const* const features)
{
  (void)flags;
  Keeper* const keeper = handle;
  size_t n_bytes = 0;
  uint32_t type = 0;
  uint32_t value_flags = 0;
  const float* const level =
      retrieve(state, map(keeper, KEEPER "#level"), &n_bytes, &type, &value_flags);
  if (!level || type != map(keeper, LV2_ATOM__Float)) {
    return level ? LV2_STATE_ERR_BAD_TYPE : LV2_STATE_ERR_NO_PROPERTY;
  }
  keeper->level = *level;
  keeper->n_restored += !keeper->is_active && !feature(features, LV2_WORKER__schedule);
  char* const path = get_path(keeper, retrieve, state, features, KEEPER "#file");
  const bool is_loaded = !path || load(keeper, path);
  drop_path(features, path);
  return is_loaded ? LV2_STATE_SUCCESS : LV2_STATE_ERR_UNKNOWN;
}

static const void*
extension(const char* const uri)
{
  static const LV2_State_Interface state = { save, restore };
  return strcmp(uri, LV2_STATE__interface) ? NULL : &state;
}

LV2_SYMBOL_EXPORT const LV2_Descriptor*
lv2_descriptor(const uint32_t index)
{
  static const LV2_Descriptor keeper = { KEEPER, instantiate, connect_port, activate,
                                         run,    NULL,        free,         extension };
  return index ? NULL : &keeper;
}
