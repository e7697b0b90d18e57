// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes and connections as they live across plans.

#include "node.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64U

struct FileCache {
  FileCache* next;
  char* name;
  FxFile* file;
};

void
file_cache_clear(FileLoader* const loader)
{
  while (loader->cache) {
    FileCache* const entry = loader->cache;
    loader->cache = entry->next;
    loader->free(loader->context, entry->file);
    free(entry->name);
    free(entry);
  }
}

static Status
file_cache_get(FileLoader* const loader, const char* const name, const double rate_hz,
               const FxFile** const file, Error* const error)
{
  for (const FileCache* entry = loader->cache; entry; entry = entry->next) {
    if (!strcmp(entry->name, name)) {
      *file = entry->file;
      return STATUS_OK;
    }
  }
  if (!loader->load) {
    return error_set(error, STATUS_FILE, "%s: files cannot be loaded here", name);
  }
  FileCache* const entry = calloc(1, sizeof(FileCache));
  char* const name_copy = strdup(name);
  Status status = entry && name_copy ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    status = loader->load(loader->context, name, rate_hz, &entry->file, error);
  }
  if (status) {
    free(entry);
    free(name_copy);
    return status;
  }
  entry->name = name_copy;
  entry->next = loader->cache;
  loader->cache = entry;
  *file = entry->file;
  return STATUS_OK;
}

static const char*
text_of(const RackNode* const rack_node, const uint32_t param)
{
  const FxParamKind kind = rack_node->fx->params[param].kind;
  const char* const text =
      kind == PARAM_FILE || kind == PARAM_TEXT ? rack_text(rack_node, param) : NULL;
  return text && *text ? text : NULL;
}

/// Gather what the rack says into the node, which is compared by it later.
static Status
copy_values(Node* const node, const RackNode* const rack_node, const double rate_hz)
{
  const uint32_t n_params = node->fx->n_params;
  node->made_with = calloc(n_params + 1U, sizeof(double));
  node->made_texts = calloc(n_params + 1U, sizeof(char*));
  node->targets = calloc(n_params + 1U, sizeof(double));
  node->stamps = calloc(n_params + 1U, sizeof(uint64_t));
  if (!node->made_with || !node->made_texts || !node->targets || !node->stamps) {
    return STATUS_NO_MEM;
  }
  for (uint32_t p = 0; p < n_params; ++p) {
    node->targets[p] = node->made_with[p] = rack_number(rack_node, p, rate_hz);
    const char* const text = text_of(rack_node, p);
    if (text && !(node->made_texts[p] = strdup(text))) {
      return STATUS_NO_MEM;
    }
  }
  return STATUS_OK;
}

static Status
create(Node* const node, const Format* const format, FileLoader* const loader, Error* const error)
{
  const FxInfo* const fx = node->fx;
  const FxFile** const files = calloc(fx->n_params + 1U, sizeof(FxFile*));
  Status status = files ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  for (uint32_t p = 0; !status && p < fx->n_params; ++p) {
    if (fx->params[p].kind == PARAM_FILE && node->made_texts[p]) {
      status = file_cache_get(loader, node->made_texts[p], format->rate_hz, &files[p], error);
    }
  }
  if (!status) {
    const FxSetup setup = { .rate_hz = format->rate_hz,
                            .max_block_frames = format->block_frames,
                            .n_in = node->n_in,
                            .values = node->made_with,
                            .texts = (const char* const*)node->made_texts,
                            .files = files,
                            .offline = format->offline,
                            .for_kernel = node->backend->node_new != NULL };
    node->shape = (FxShape){ .n_out = node->n_in };
    status = fx->create(&setup, &node->shape, &node->fx_node, error);
  }
  free(files);
  return status;
}

static Status
allocate_units(Node* const node, Error* const error)
{
  node->n_units = node->shape.coupled ? 1U : node->n_in;
  if (node->backend->node_new) {
    const DeviceNode on_device = { node->fx, node->fx_node, node->n_units };
    return node->backend->node_new(node->backend, &on_device, &node->device, error);
  }
  node->state_stride = (node->shape.unit_bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1U);
  node->states = aligned_alloc(ALIGNMENT, node->n_units * node->state_stride);
  if (!node->states) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memset(node->states, 0,
         node->n_units * node->state_stride); // touch every page here, not on the worker
  node_reset(node);
  return STATUS_OK;
}

/// Effects begin their messages with their own name; the node's says more.
static const char*
without_prefix(const char* const text, const char* const name)
{
  const size_t length = strlen(name);
  return !strncmp(text, name, length) && !strncmp(text + length, ": ", 2) ? text + length + 2
                                                                          : text;
}

Status
node_new(const RackNode* const rack_node, const uint32_t n_in, const Format* const format,
         const Backend* const backend, FileLoader* const loader, Node** const out,
         Error* const error)
{
  const FxInfo* const fx = rack_node->fx;
  if (fx->offline_only && !format->offline) {
    return error_set(error, STATUS_BAD_RACK,
                     "%s needs the whole signal, which `warprack render` alone has; remove it from "
                     "a rack that runs live",
                     rack_node->name);
  }
  Node* const node = calloc(1, sizeof(Node));
  if (!node) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", rack_node->name);
  }
  node->refs = 1;
  node->uid = rack_node->uid;
  node->fx = fx;
  node->n_in = n_in;
  node->backend = backend;
  Error why = { STATUS_NO_MEM, "out of memory" };
  Status status = copy_values(node, rack_node, format->rate_hz);
  if (!status) {
    status = create(node, format, loader, &why);
  }
  if (!status) {
    status = allocate_units(node, &why);
  }
  if (status) {
    node_unref(node);
    return error_set(error, status, "%s: %s", rack_node->name, without_prefix(why.text, fx->name));
  }
  *out = node;
  return STATUS_OK;
}

static bool
same_text(const char* const a, const char* const b)
{
  return a == b || (a && b && !strcmp(a, b));
}

bool
node_can_be(const Node* const node, const RackNode* const rack_node, const uint32_t n_in,
            const double rate_hz, const Backend* const backend)
{
  if (node->uid != rack_node->uid || node->fx != rack_node->fx || node->n_in != n_in ||
      node->backend != backend) {
    return false;
  }
  for (uint32_t p = 0; p < node->fx->n_params; ++p) {
    const bool same = node->made_with[p] == rack_number(rack_node, p, rate_hz) &&
                      same_text(node->made_texts[p], text_of(rack_node, p));
    if (node->fx->params[p].structural && !same) {
      return false;
    }
  }
  return true;
}

void
node_unref(Node* const node)
{
  if (!node || --node->refs > 0U) {
    return;
  }
  if (node->device) {
    node->backend->memory_free(node->device);
  }
  if (node->fx_node) {
    node->fx->destroy(node->fx_node);
  }
  for (uint32_t p = 0; node->made_texts && p < node->fx->n_params; ++p) {
    free(node->made_texts[p]);
  }
  free(node->states);
  free(node->made_with);
  free(node->made_texts);
  free(node->targets);
  free(node->stamps);
  free(node);
}

void
node_set(Node* const node, const uint32_t param, const double value)
{
  node->fx->set(node->fx_node, param, value);
  ++node->n_sets;
}

void
node_reset(Node* const node)
{
  if (node->device) {
    node->backend->memory_reset(node->device);
    return;
  }
  for (uint32_t u = 0; u < node->n_units; ++u) {
    node->fx->unit_init(node->fx_node, node->states + u * node->state_stride, u);
  }
}

uint64_t
node_tail(const Node* const node)
{
  return node->fx->tail ? node->fx->tail(node->fx_node) : node->shape.tail_frames;
}

Status
link_new(const Link* const like, const float gain, const uint32_t delay,
         const uint32_t block_frames, Link** const out, Error* const error)
{
  Link* const link = malloc(sizeof(Link));
  uint32_t line_frames = 1;
  while (line_frames < delay + block_frames) {
    line_frames *= 2U;
  }
  const bool on_device = like->backend->lines_new != NULL;
  float* const lines =
      delay && !on_device ? calloc((size_t)like->n_to * line_frames, sizeof(float)) : NULL;
  DeviceMemory* device = NULL;
  Status status = link && (!delay || on_device || lines)
                      ? STATUS_OK
                      : error_set(error, STATUS_NO_MEM, "a connection: out of memory");
  if (!status && delay && on_device) {
    status = like->backend->lines_new(like->backend, like->n_to, line_frames, &device, error);
  }
  if (status) {
    free(link);
    free(lines);
    return status;
  }
  *link = *like;
  link->refs = 1;
  link->gain = gain;
  link->mix = (MixLink){
    .gain = ramp_at(gain),
    .next = ramp_at(gain),
    .delay = delay,
    .line_mask = line_frames - 1U,
    .device = device,
  };
  link->lines = lines;
  *out = link;
  return STATUS_OK;
}

void
link_unref(Link* const link)
{
  if (link && --link->refs == 0U) {
    if (link->mix.device) {
      link->backend->memory_free(link->mix.device);
    }
    free(link->lines);
    free(link);
  }
}

void
link_reset(Link* const link)
{
  if (link->mix.device) {
    link->backend->memory_reset(link->mix.device);
  }
  if (link->lines) {
    memset(link->lines, 0, (size_t)link->n_to * (link->mix.line_mask + 1U) * sizeof(float));
  }
}
