// SPDX-License-Identifier: GPL-3.0-or-later
// What a rack and its copies share: scenes never change, and the last owner frees them.

#include "rack_private.h"

#include <stdlib.h>
#include <string.h>

RackScene*
rack_scene_hold(RackScene* const scene)
{
  if (scene) {
    atomic_fetch_add_explicit(&scene->n_owners, 1U, memory_order_relaxed);
  }
  return scene;
}

void
rack_scene_drop(RackScene* const scene)
{
  if (scene && atomic_fetch_sub_explicit(&scene->n_owners, 1U, memory_order_acq_rel) == 1U) {
    free(scene);
  }
}

static bool
is_same(const RackScene* const a, const RackScene* const b)
{
  return a == b || (a && b && !strcmp(a->line, b->line));
}

bool
rack_copy_scenes(Rack* const to, const Rack* const from)
{
  memcpy(to->recalled, from->recalled, sizeof(to->recalled));
  to->safes = rack_scene_hold(from->safes);
  to->live = rack_scene_hold(from->live);
  if (!from->n_scenes) {
    return true;
  }
  to->scenes = malloc(from->n_scenes * sizeof(RackScene*));
  for (uint32_t s = 0; to->scenes && s < from->n_scenes; ++s) {
    to->scenes[s] = rack_scene_hold(from->scenes[s]);
  }
  to->n_scenes = to->scenes ? from->n_scenes : 0U;
  return to->scenes;
}

void
rack_clear_scenes(Rack* const rack)
{
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    rack_scene_drop(rack->scenes[s]);
  }
  rack_scene_drop(rack->safes);
  rack_scene_drop(rack->live);
  free(rack->scenes);
}

bool
rack_equal_scenes(const Rack* const a, const Rack* const b)
{
  bool are_equal = a->n_scenes == b->n_scenes && is_same(a->safes, b->safes);
  for (uint32_t s = 0; are_equal && s < a->n_scenes; ++s) {
    are_equal = is_same(a->scenes[s], b->scenes[s]);
  }
  return are_equal;
}
