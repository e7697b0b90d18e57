// SPDX-License-Identifier: GPL-3.0-or-later
/// The parts that the LV2 plugins with a state have in common: ports, numbers of URIs, paths.  No
/// code of warprack.
#ifndef WARPRACK_TESTS_STATEFUL_H
#define WARPRACK_TESTS_STATEFUL_H

#include <lv2/atom/atom.h>
#include <lv2/core/lv2.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <stdatomic.h>
#include <string.h>

/// The first member of each instance.
typedef struct Stateful {
  float* ports[4];
  _Atomic int mode; ///< In the last run: the host may save the state meanwhile
  LV2_URID_Map* map;
} Stateful;

static inline void*
feature(const LV2_Feature* const* const features, const char* const uri)
{
  for (unsigned f = 0; features && features[f]; ++f) {
    if (!strcmp(features[f]->URI, uri)) {
      return features[f]->data;
    }
  }
  return NULL;
}

static inline void
connect_port(const LV2_Handle handle, const uint32_t port, void* const data)
{
  ((Stateful*)handle)->ports[port] = data;
}

static inline LV2_URID
map(const void* const instance, const char* const uri)
{
  const Stateful* const stateful = instance;
  return stateful->map->map(stateful->map->handle, uri);
}

/// Store the abstract path of a file.
static inline LV2_State_Status
put_path(const void* const instance, const LV2_State_Store_Function store,
         const LV2_State_Handle state, const LV2_Feature* const* const features,
         const char* const key, const char* const path)
{
  const LV2_State_Map_Path* const paths = feature(features, LV2_STATE__mapPath);
  const LV2_State_Free_Path* const frees = feature(features, LV2_STATE__freePath);
  char* const name = paths->abstract_path(paths->handle, path);
  const LV2_State_Status status =
      store(state, map(instance, key), name, strlen(name) + 1U, map(instance, LV2_ATOM__Path),
            LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE);
  frees->free_path(frees->handle, name);
  return status;
}

/// The path of a file that was stored, for drop_path(); NULL: none was.
static inline char*
get_path(const void* const instance, const LV2_State_Retrieve_Function retrieve,
         const LV2_State_Handle state, const LV2_Feature* const* const features,
         const char* const key)
{
  const LV2_State_Map_Path* const paths = feature(features, LV2_STATE__mapPath);
  size_t n_bytes = 0;
  uint32_t type = 0;
  uint32_t flags = 0;
  const char* const name = retrieve(state, map(instance, key), &n_bytes, &type, &flags);
  return name && paths ? paths->absolute_path(paths->handle, name) : NULL;
}

/// Accepts NULL.
static inline void
drop_path(const LV2_Feature* const* const features, char* const path)
{
  const LV2_State_Free_Path* const frees = feature(features, LV2_STATE__freePath);
  if (path) {
    frees->free_path(frees->handle, path);
  }
}

#endif
