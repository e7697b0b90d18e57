// SPDX-License-Identifier: GPL-3.0-or-later
/// Effects that stand for plugins that are not there.  As other plugins of the process, they are
/// never freed.

#include "host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A plugin of which only the reference is known.
typedef struct MissingPlugin {
  struct MissingPlugin* next;
  Plugin plugin;
  FxSide sides[FX_MISSING_SIDES];
  char name[PLUGIN_ID_BYTES];
} MissingPlugin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MissingPlugin* missing_plugins;

static const FxParam params[] = {
  { .id = "values",
    .kind = PARAM_TEXT,
    .structural = true,
    .help = "The values of a plugin that is missing, as the rack states them" },
};
static const int32_t param_ports[] = { PLUGIN_VALUES };

static bool
is_it(const MissingPlugin* const missing, const char* const format, const char* const reference,
      const char* const* const sides, const uint32_t n_sides)
{
  const FxOrigin* const origin = &missing->plugin.origin;
  bool is_same = !strcmp(origin->format, format) && !strcmp(origin->id, reference) &&
                 missing->plugin.fx.n_sides == n_sides;
  for (uint32_t s = 0; is_same && s < n_sides; ++s) {
    is_same = !strcmp(missing->sides[s].name, sides[s]);
  }
  return is_same;
}

/// Copy a text into the arena; NULL if out of memory.
static const char*
copy_text(Arena* const arena, const char* const text)
{
  const size_t n_bytes = strlen(text) + 1U;
  char* const copy = arena_take(arena, 1, n_bytes);
  return copy ? memcpy(copy, text, n_bytes) : NULL;
}

static MissingPlugin*
make(Arena* const arena, const char* const format, const char* const reference,
     const char* const* const sides, const uint32_t n_sides)
{
  MissingPlugin* const missing = arena_take(arena, 1, sizeof(*missing));
  if (!missing) {
    return NULL;
  }
  Plugin* const plugin = &missing->plugin;
  plugin_short_name(reference, missing->name);
  plugin->origin = (FxOrigin){ copy_text(arena, format), copy_text(arena, reference) };
  for (uint32_t s = 0; s < n_sides; ++s) {
    missing->sides[s].name = copy_text(arena, sides[s]);
  }
  plugin->fx = host_functions;
  plugin->fx.save = NULL;
  plugin->fx.name = plugin->name = missing->name;
  plugin->fx.summary = "a plugin that is missing";
  plugin->fx.params = params;
  plugin->fx.n_params = ARRAY_LEN(params);
  plugin->fx.sides = missing->sides;
  plugin->fx.n_sides = n_sides;
  plugin->fx.origin = &plugin->origin;
  plugin->fx.is_missing = true;
  plugin->maker = plugin->licence = plugin->category = plugin->bundle = plugin->binary = "";
  plugin->fault = plugin->notes = "";
  plugin->param_ports = param_ports;
  return arena->failed ? NULL : missing;
}

Status
fx_missing_plugin(const char* const format, const char* const reference,
                  const char* const* const sides, const uint32_t n_sides, const FxInfo** const fx,
                  Error* const error)
{
  if (n_sides > FX_MISSING_SIDES) {
    return error_set(error, STATUS_LIMIT, "more than %u side inputs", FX_MISSING_SIDES);
  }
  pthread_mutex_lock(&lock);
  MissingPlugin* missing = missing_plugins;
  while (missing && !is_it(missing, format, reference, sides, n_sides)) {
    missing = missing->next;
  }
  Arena arena = { .chunks = NULL };
  if (!missing && (missing = make(&arena, format, reference, sides, n_sides))) {
    missing->next = missing_plugins;
    missing_plugins = missing;
  }
  if (!missing) {
    arena_clear(&arena);
  }
  pthread_mutex_unlock(&lock);
  if (!missing) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *fx = &missing->plugin.fx;
  return STATUS_OK;
}
