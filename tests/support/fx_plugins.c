// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins that have descriptions only, with parameters of the units that plugins have.  With them,
// the tests of the rack language do not depend on the plugins of a machine.

#include "fx_plugins.h"

#include "engine/base/hint.h"
#include "engine/contract/effect.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER(id_, unit_, min_, max_, initial_)                                                   \
  {                                                                                                \
    .id = (id_), .kind = PARAM_NUMBER, .unit = (unit_), .min = (min_), .max = (max_),              \
    .initial = (initial_), .help = "A number"                                                      \
  }

#define BYPASS                                                                                     \
  {                                                                                                \
    .id = "bypass", .kind = PARAM_SWITCH, .help = "A switch"                                       \
  }

static const char* const slopes[] = { "12 dB/oct", "24 dB/oct", "steep", "7", NULL };
static const double slope_values[] = { 12.0, 24.0, 0.1, 96.0 };
static const char* const marks[] = { "off", "1/4", "2", NULL };
static const double mark_values[] = { 0.0, 0.25, 5.0 };

static const FxParam fil4_params[] = {
  NUMBER("HPfreq", UNIT_HZ, 5.0, 1250.0, 20.0),
  NUMBER("level", UNIT_LINEAR, 0.0631, 15.84893, 1.0),
  NUMBER("wet", UNIT_PERCENT, 0.0, 100.0, 100.0),
  NUMBER("decay", UNIT_S, 0.01, 30.0, 1.0),
  { .id = "slope",
    .kind = PARAM_CHOICE,
    .initial = 24.0,
    .choices = slopes,
    .choice_values = slope_values,
    .help = "A choice whose numbers are not its indices" },
  { .id = "mark",
    .kind = PARAM_NUMBER,
    .max = 10.0,
    .choices = marks,
    .choice_values = mark_values,
    .help = "A number, some with names" },
  { .id = "hold",
    .kind = PARAM_INTEGER,
    .unit = UNIT_MS,
    .max = 500.0,
    .choices = marks,
    .help = "A whole number with a unit, some with names" },
  BYPASS,
};

static const FxParam tube_params[] = { NUMBER("tubedrive", UNIT_NONE, 0.0, 11.0, 0.0), BYPASS };

static const FxParam clock_params[] = { BYPASS,
                                        { .id = "host_bpm",
                                          .kind = PARAM_NUMBER,
                                          .unit = UNIT_BPM,
                                          .min = 20.0,
                                          .max = 999.0,
                                          .initial = 120.0,
                                          .follows_tempo = true,
                                          .help = "A tempo" } };

static const FxParam reverb_params[] = { NUMBER("decay", UNIT_MS, 0.0, 10000.0, 2500.0), BYPASS };

static const FxParam comp_params[] = { { .id = "thr",
                                         .unit = UNIT_DB,
                                         .min = -60.0,
                                         .in_presets = true,
                                         .help = "A number that presets have" },
                                       BYPASS };

static const FxParam keeper_params[] = {
  NUMBER("level", UNIT_NONE, 0.0, 1.0, 0.0),
  { .id = "state", .kind = PARAM_PATH, .structural = true, .help = "A file with a state" },
};

/// Is never called: the server only knows that there is one.
static Status
save_keeper(void* const node, FxShape* const shape, unsigned char** const bytes,
            size_t* const n_bytes, Error* const error)
{
  (void)node;
  (void)shape;
  (void)bytes;
  (void)n_bytes;
  return error_set(error, STATUS_NOT_FOUND, "no state");
}

#define N_WIDE 1000U

/// Parameters p0 to p999.
static const FxParam*
wide_params(void)
{
  static char ids[N_WIDE][8];
  static FxParam params[N_WIDE];
  for (uint32_t p = 0; p < N_WIDE; ++p) {
    snprintf(ids[p], sizeof(ids[p]), "p%u", p);
    params[p] = (FxParam)NUMBER(ids[p], UNIT_NONE, 0.0, 1.0, 0.0);
  }
  return params;
}

#define LONG_NAME "a_name_that_has_as_many_characters_as_the_name_of_a_node_may_ha"

#define PLUGIN(format_, id_, name_, params_)                                                       \
  {                                                                                                \
    .name = (name_), .params = params_##_params, .n_params = ARRAY_LEN(params_##_params),          \
    .origin = &(const FxOrigin)                                                                    \
    {                                                                                              \
      format_, id_                                                                                 \
    }                                                                                              \
  }

static const FxSide synth_sides[] = { { "keys", 1 }, { "low", 2 } };
static const FxSide late_sides[] = { { "key", 1 }, { "sidechain", 1 } };

static atomic_bool is_changed; // of "changed"

static void
ignore_event(void* const node, const FxEvent* const event, const uint32_t frame)
{
  (void)node;
  (void)event;
  (void)frame;
}

static FxInfo plugins[] = {
  PLUGIN("clap", "com.zamaudio.ZamComp", "ZamComp", comp),
  PLUGIN("ladspa", "tap_reverb/tap_reverb", "tap_reverb", reverb),
  PLUGIN("lv2", "urn:zamaudio:ZamTube", "ZamTube", tube),
  PLUGIN("lv2", "http://gareus.org/oss/lv2/fil4#stereo", "fil4-stereo", fil4),
  PLUGIN("lv2", "urn:test:long", LONG_NAME, tube),
  PLUGIN("lv2", "urn:test:clock", "clock", clock),
  { .name = "changed",
    .params = tube_params,
    .n_params = ARRAY_LEN(tube_params),
    .origin = &(const FxOrigin){ "lv2", "urn:test:changed" },
    .outdated = &is_changed },
  { .name = "synth",
    .params = tube_params,
    .n_params = ARRAY_LEN(tube_params),
    .origin = &(const FxOrigin){ "lv2", "urn:test:synth" },
    .is_source = true,
    .event = ignore_event,
    .sides = synth_sides,
    .n_sides = ARRAY_LEN(synth_sides) },
  { .name = "keeper",
    .params = keeper_params,
    .n_params = ARRAY_LEN(keeper_params),
    .origin = &(const FxOrigin){ "lv2", "urn:test:keeper" },
    .save = save_keeper,
    .state_param = 1 },
  { .name = "late",
    .params = comp_params,
    .n_params = ARRAY_LEN(comp_params),
    .origin = &(const FxOrigin){ "lv2", "urn:test:late" },
    .sides = late_sides,
    .n_sides = ARRAY_LEN(late_sides) },
  { .name = "wide", .n_params = N_WIDE, .origin = &(const FxOrigin){ "lv2", "urn:test:wide" } },
};

static atomic_bool late_is_there;

void
fx_plugins_install_late(const bool is_there)
{
  atomic_store(&late_is_there, is_there);
}

Status
fx_find_plugin(const char* const format, const char* const reference, const FxInfo** const fx,
               Error* const error)
{
  plugins[ARRAY_LEN(plugins) - 1U].params = wide_params();
  const char* names[ARRAY_LEN(plugins)];
  uint32_t n = 0;
  for (uint32_t i = 0; i < ARRAY_LEN(plugins); ++i) {
    const FxInfo* const plugin = &plugins[i];
    const bool is_there = strcmp(plugin->name, "late") != 0 || atomic_load(&late_is_there);
    if (strcmp(plugin->origin->format, format) != 0 || !is_there) {
      continue;
    }
    if (!strcmp(plugin->origin->id, reference) || !strcmp(plugin->name, reference)) {
      *fx = plugin;
      return STATUS_OK;
    }
    names[n++] = plugin->name;
  }
  char hint[HINT_BYTES];
  return error_set(error, STATUS_NOT_FOUND, "no %s plugin \"%.60s\"; %s", format, reference,
                   name_hint(hint, reference, names, n));
}

/// An effect for a plugin that is missing; the process keeps it.
typedef struct Missing {
  struct Missing* next;
  FxInfo fx;
  FxOrigin origin;
  FxSide sides[FX_MISSING_SIDES];
} Missing;

static bool
is_it(const Missing* const missing, const FxInfo* const wanted)
{
  bool is_same = !strcmp(missing->origin.format, wanted->origin->format) &&
                 !strcmp(missing->origin.id, wanted->origin->id) &&
                 missing->fx.n_sides == wanted->n_sides;
  for (uint32_t s = 0; is_same && s < wanted->n_sides; ++s) {
    is_same = !strcmp(missing->sides[s].name, wanted->sides[s].name);
  }
  return is_same;
}

static void
free_missing(Missing* const missing)
{
  for (uint32_t s = 0; s < missing->fx.n_sides; ++s) {
    free((char*)(uintptr_t)missing->sides[s].name);
  }
  free((char*)(uintptr_t)missing->origin.format);
  free((char*)(uintptr_t)missing->origin.id);
  free(missing);
}

Status
fx_missing_plugin(const char* const format, const char* const reference,
                  const char* const* const sides, const uint32_t n_sides, const FxInfo** const fx,
                  Error* const error)
{
  (void)error;
  static _Atomic(Missing*) all;
  static const FxParam values[] = {
    { .id = "values", .kind = PARAM_TEXT, .structural = true, .help = "A text" }
  };
  Missing* const missing = calloc(1, sizeof(*missing));
  missing->origin = (FxOrigin){ strdup(format), strdup(reference) };
  missing->fx = (FxInfo){ .name = strrchr(reference, ':') ? strrchr(missing->origin.id, ':') + 1
                                                          : missing->origin.id,
                          .params = values,
                          .n_params = 1,
                          .origin = &missing->origin,
                          .is_missing = true,
                          .sides = missing->sides,
                          .n_sides = n_sides };
  for (uint32_t s = 0; s < n_sides; ++s) {
    missing->sides[s].name = strdup(sides[s]);
  }
  for (const Missing* other = atomic_load(&all); other; other = other->next) {
    if (is_it(other, &missing->fx)) {
      free_missing(missing);
      *fx = &other->fx;
      return STATUS_OK;
    }
  }
  missing->next = atomic_load(&all);
  atomic_store(&all, missing);
  *fx = &missing->fx;
  return STATUS_OK;
}

const char*
fx_plugin_format(const char* const reference)
{
  for (uint32_t i = 0; i < ARRAY_LEN(plugins); ++i) {
    if (!strcmp(plugins[i].origin->id, reference) || !strcmp(plugins[i].name, reference)) {
      return plugins[i].origin->format;
    }
  }
  return NULL;
}
