// SPDX-License-Identifier: GPL-3.0-or-later
// A simple LV2 host: lilv instantiates, every port has a buffer of its own.

#include "reference_lv2.h"

#include <check.h>
#include <lilv/lilv.h>
#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/options/options.h>
#include <lv2/parameters/parameters.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATOM_BYTES      131072U
#define MAX_RESPONSES   64U
#define RESPONSE_BYTES  4096U
#define MAX_MAPPED_URIS 65536U

typedef enum ReferenceType { IS_CONTROL, IS_AUDIO, IS_CV, IS_ATOM, IS_NOTHING } ReferenceType;

typedef struct ReferencePort {
  ReferenceType type;
  bool is_input;
  float value;
  void* buffer; ///< Of CV and atom ports
} ReferencePort;

struct ReferenceLv2 {
  ReferenceLv2Variant variant;
  LilvWorld* world;
  const LilvPlugin* plugin;
  LilvInstance* instance;
  uint32_t n_ports, block_frames;
  ReferencePort* ports;
  int32_t min_frames, max_frames, sequence_bytes;
  float rate_hz;
  LV2_Options_Option options[6];
  LV2_Worker_Schedule schedule;
  const LV2_Worker_Interface* worker;
  uint32_t n_responses;
  uint32_t sizes[MAX_RESPONSES];
  char responses[MAX_RESPONSES][RESPONSE_BYTES];
};

// ---- features ----

static LV2_URID
map_uri(const LV2_URID_Map_Handle handle, const char* const uri)
{
  (void)handle;
  static char* uris[MAX_MAPPED_URIS];
  LV2_URID n = 0;
  while (n < MAX_MAPPED_URIS && uris[n] && strcmp(uris[n], uri) != 0) {
    ++n;
  }
  ck_assert_uint_lt(n, MAX_MAPPED_URIS);
  uris[n] = uris[n] ? uris[n] : strdup(uri);
  return n + 1U;
}

static LV2_Worker_Status
respond(const LV2_Worker_Respond_Handle handle, const uint32_t size, const void* const data)
{
  ReferenceLv2* const reference = handle;
  if (reference->n_responses == MAX_RESPONSES || size > RESPONSE_BYTES) {
    return LV2_WORKER_ERR_NO_SPACE;
  }
  reference->sizes[reference->n_responses] = size;
  memcpy(reference->responses[reference->n_responses++], data, size);
  return LV2_WORKER_SUCCESS;
}

static LV2_Worker_Status
schedule(const LV2_Worker_Schedule_Handle handle, const uint32_t size, const void* const data)
{
  ReferenceLv2* const reference = handle;
  return reference->worker ? reference->worker->work(lilv_instance_get_handle(reference->instance),
                                                     respond, reference, size, data)
                           : LV2_WORKER_ERR_UNKNOWN;
}

static void
set_option(ReferenceLv2* const reference, const uint32_t at, const char* const key,
           const char* const type, const void* const value)
{
  reference->options[at] = (LV2_Options_Option){ .context = LV2_OPTIONS_INSTANCE,
                                                 .key = map_uri(NULL, key),
                                                 .size = sizeof(float),
                                                 .type = map_uri(NULL, type),
                                                 .value = value };
}

static void
instantiate(ReferenceLv2* const reference)
{
  LV2_URID_Map map = { NULL, map_uri };
  set_option(reference, 0, LV2_BUF_SIZE__minBlockLength, LV2_ATOM__Int, &reference->min_frames);
  set_option(reference, 1, LV2_BUF_SIZE__maxBlockLength, LV2_ATOM__Int, &reference->max_frames);
  set_option(reference, 2, LV2_BUF_SIZE__nominalBlockLength, LV2_ATOM__Int, &reference->max_frames);
  set_option(reference, 3, LV2_BUF_SIZE__sequenceSize, LV2_ATOM__Int, &reference->sequence_bytes);
  set_option(reference, 4, LV2_PARAMETERS__sampleRate, LV2_ATOM__Float, &reference->rate_hz);
  reference->schedule = (LV2_Worker_Schedule){ reference, schedule };
  static LV2_URID_Map kept_map; // plugins may keep the pointer
  kept_map = map;
  const LV2_Feature features[] = { { LV2_URID__map, &kept_map },
                                   { LV2_BUF_SIZE__boundedBlockLength, NULL },
                                   { LV2_WORKER__schedule, &reference->schedule },
                                   { LV2_OPTIONS__options, reference->options } };
  const LV2_Feature* const list[] = { &features[0], &features[1], &features[2],
                                      reference->variant.no_options ? NULL : &features[3], NULL };
  reference->instance =
      lilv_plugin_instantiate(reference->plugin, (double)reference->rate_hz, list);
  ck_assert_ptr_nonnull(reference->instance);
  reference->worker = lilv_instance_get_extension_data(reference->instance, LV2_WORKER__interface);
}

// ---- ports ----

static bool
is_a(const ReferenceLv2* const reference, const LilvPort* const port, const char* const type)
{
  LilvNode* const node = lilv_new_uri(reference->world, type);
  const bool is = lilv_port_is_a(reference->plugin, port, node);
  lilv_node_free(node);
  return is;
}

static bool
is_optional(const ReferenceLv2* const reference, const LilvPort* const port)
{
  LilvNode* const node = lilv_new_uri(reference->world, LV2_CORE__connectionOptional);
  const bool is = lilv_port_has_property(reference->plugin, port, node);
  lilv_node_free(node);
  return is;
}

static void
make_port(ReferenceLv2* const reference, const uint32_t index, const float initial)
{
  const LilvPort* const from = lilv_plugin_get_port_by_index(reference->plugin, index);
  ReferencePort* const port = &reference->ports[index];
  port->is_input = is_a(reference, from, LV2_CORE__InputPort);
  const float without_default = reference->variant.nan_outputs && !port->is_input ? NAN : 0.0F;
  port->value = isnan(initial) ? without_default : initial;
  if (is_a(reference, from, LV2_CORE__ControlPort)) {
    port->type = IS_CONTROL;
    lilv_instance_connect_port(reference->instance, index, &port->value);
  } else if (is_a(reference, from, LV2_CORE__AudioPort)) {
    port->type = IS_AUDIO;
  } else if (is_a(reference, from, LV2_CORE__CVPort) && !is_optional(reference, from)) {
    port->type = IS_CV;
    port->buffer = calloc(reference->block_frames, sizeof(float));
  } else if (is_a(reference, from, LV2_ATOM__AtomPort)) {
    port->type = IS_ATOM;
    port->buffer = calloc(1, ATOM_BYTES);
  } else {
    port->type = IS_NOTHING;
  }
  if (port->type != IS_CONTROL) {
    lilv_instance_connect_port(reference->instance, index, port->buffer);
  }
}

static void
reset_atom(const ReferencePort* const port)
{
  LV2_Atom_Sequence* const sequence = port->buffer;
  const uint32_t n_bytes =
      port->is_input ? sizeof(sequence->body) : ATOM_BYTES - (uint32_t)sizeof(LV2_Atom);
  memset(sequence, 0, sizeof(*sequence));
  sequence->atom.size = n_bytes;
  sequence->atom.type = map_uri(NULL, port->is_input ? LV2_ATOM__Sequence : LV2_ATOM__Chunk);
}

// ---- the interface ----

ReferenceLv2*
reference_lv2_open_variant(const ReferenceLv2Variant* const variant, const char* const bundle,
                           const char* const uri, const double rate_hz, const uint32_t block_frames)
{
  ReferenceLv2* const reference = calloc(1, sizeof(*reference));
  char folder[512];
  snprintf(folder, sizeof(folder), "%s/", bundle);
  reference->world = lilv_world_new();
  LilvNode* const place = lilv_new_file_uri(reference->world, NULL, folder);
  LilvNode* const name = lilv_new_uri(reference->world, uri);
  lilv_world_load_bundle(reference->world, place);
  reference->plugin = lilv_plugins_get_by_uri(lilv_world_get_all_plugins(reference->world), name);
  lilv_node_free(name);
  lilv_node_free(place);
  if (!reference->plugin) {
    lilv_world_free(reference->world);
    free(reference);
    return NULL;
  }
  reference->variant = *variant;
  reference->rate_hz = (float)rate_hz;
  reference->block_frames = block_frames;
  reference->min_frames = 1;
  reference->max_frames = (int32_t)block_frames;
  reference->sequence_bytes = 32768;
  reference->n_ports = lilv_plugin_get_num_ports(reference->plugin);
  reference->ports = calloc(reference->n_ports, sizeof(*reference->ports));
  float* const initial = calloc(reference->n_ports, sizeof(float));
  lilv_plugin_get_port_ranges_float(reference->plugin, NULL, NULL, initial);
  instantiate(reference);
  for (uint32_t p = 0; p < reference->n_ports; ++p) {
    make_port(reference, p, initial[p]);
  }
  free(initial);
  lilv_instance_activate(reference->instance);
  return reference;
}

ReferenceLv2*
reference_lv2_open(const char* const bundle, const char* const uri, const double rate_hz,
                   const uint32_t block_frames)
{
  const ReferenceLv2Variant none = { 0 };
  return reference_lv2_open_variant(&none, bundle, uri, rate_hz, block_frames);
}

static void
set_port(const char* const symbol, void* const context, const void* const value,
         const uint32_t size, const uint32_t type)
{
  ReferenceLv2* const reference = context;
  ck_assert_uint_eq(size, sizeof(float));
  ck_assert_uint_eq(type, map_uri(NULL, LV2_ATOM__Float));
  LilvNode* const node = lilv_new_string(reference->world, symbol);
  const LilvPort* const port = lilv_plugin_get_port_by_symbol(reference->plugin, node);
  memcpy(&reference->ports[lilv_port_get_index(reference->plugin, port)].value, value, size);
  lilv_node_free(node);
}

void
reference_lv2_restore(ReferenceLv2* const reference, const char* const subject)
{
  LV2_URID_Map map = { NULL, map_uri };
  LilvNode* const node = lilv_new_uri(reference->world, subject);
  lilv_world_load_resource(reference->world, node);
  LilvState* const state = lilv_state_new_from_world(reference->world, &map, node);
  ck_assert_msg(state != NULL, "no state %s", subject);
  lilv_state_restore(state, reference->instance, set_port, reference, 0U, NULL);
  lilv_state_free(state);
  lilv_node_free(node);
}

void
reference_lv2_close(ReferenceLv2* const reference)
{
  lilv_instance_deactivate(reference->instance);
  lilv_instance_free(reference->instance);
  for (uint32_t p = 0; p < reference->n_ports; ++p) {
    free(reference->ports[p].buffer);
  }
  free(reference->ports);
  lilv_world_free(reference->world);
  free(reference);
}

void
reference_lv2_set(ReferenceLv2* const reference, const uint32_t port, const float value)
{
  reference->ports[port].value = value;
}

void
reference_lv2_run(ReferenceLv2* const reference, float* const* const in, float* const* const out,
                  const uint32_t n_frames)
{
  const LV2_Handle handle = lilv_instance_get_handle(reference->instance);
  uint32_t n_in = 0;
  uint32_t n_out = 0;
  for (uint32_t p = 0; p < reference->n_ports; ++p) {
    const ReferencePort* const port = &reference->ports[p];
    if (port->type == IS_AUDIO) {
      lilv_instance_connect_port(reference->instance, p,
                                 port->is_input ? in[n_in++] : out[n_out++]);
    } else if (port->type == IS_ATOM) {
      reset_atom(port);
    }
  }
  if (reference->variant.before_run) {
    reference->variant.before_run();
  }
  lilv_instance_run(reference->instance, n_frames);
  for (uint32_t r = 0; r < reference->n_responses; ++r) {
    reference->worker->work_response(handle, reference->sizes[r], reference->responses[r]);
  }
  reference->n_responses = 0;
  if (reference->worker && reference->worker->end_run) {
    reference->worker->end_run(handle);
  }
}
