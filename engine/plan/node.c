// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes, which outlive a plan.

#include "node.h"

#include "engine/base/rt.h"
#include "engine/contract/node_switches.h"
#include "engine/contract/package.h"

#include <malloc.h>
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
    if (loader->files.free) {
      loader->files.free(loader->files.context, entry->file);
    }
    free(entry->name);
    free(entry);
  }
}

size_t
file_cache_bytes(const FileLoader* const loader)
{
  size_t n_bytes = 0;
  for (const FileCache* entry = loader->cache; entry; entry = entry->next) {
    const FxFile* const file = entry->file;
    n_bytes +=
        file->read_bytes ? file->read_bytes : file->n_channels * file->n_frames * sizeof(float);
  }
  return n_bytes;
}

static Status
file_cache_get(FileLoader* const loader, const char* const name, const double rate_hz,
               FxFile** const file, Error* const error)
{
  for (const FileCache* entry = loader->cache; entry; entry = entry->next) {
    if (!strcmp(entry->name, name)) {
      *file = entry->file;
      return STATUS_OK;
    }
  }
  if (!loader->files.load) {
    return error_set(error, STATUS_FILE, "%s: files cannot be loaded here", name);
  }
  FileCache* const entry = calloc(1, sizeof(FileCache));
  char* const name_copy = strdup(name);
  Status status = entry && name_copy ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    status = loader->files.load(loader->files.context, name, rate_hz, &entry->file, error);
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
  const bool is_text = fx_param_is_text(&rack_node->fx->params[param]);
  const char* const text = is_text ? rack_text(rack_node, param) : NULL;
  return text && *text ? text : NULL;
}

/// Copy the rack's values into the node; later racks are compared with them.
static Status
copy_values(Node* const node, const RackNode* const rack_node, const double rate_hz)
{
  const uint32_t n_params = node->fx->n_params;
  node->made_with = calloc(n_params + 1U, sizeof(double));
  node->given = calloc(n_params + 1U, sizeof(bool));
  node->made_texts = calloc(n_params + 1U, sizeof(char*));
  node->targets = calloc(n_params + 1U, sizeof(double));
  node->stamps = calloc(n_params + 1U, sizeof(uint64_t));
  node->fades = calloc(n_params + 1U, sizeof(uint32_t));
  node->notes = node->fx->event ? calloc(1, sizeof(NodeNotes)) : NULL;
  if (!node->made_with || !node->given || !node->made_texts || !node->targets || !node->stamps ||
      !node->fades || (node->fx->event && !node->notes)) {
    return STATUS_NO_MEM;
  }
  for (uint32_t p = 0; p < n_params; ++p) {
    node->made_with[p] = rack_number(rack_node, p, rate_hz);
    node->given[p] = rack_node->values[p].kind != VALUE_INITIAL;
    const char* const text = text_of(rack_node, p);
    if (text && !(node->made_texts[p] = strdup(text))) {
      return STATUS_NO_MEM;
    }
  }
  return STATUS_OK;
}

/// Fill the set-up of an effect.  files[n_params]: receives the files of its parameters, which a
/// node in quarantine does not need.
static Status
set_up(const Node* const node, const Format* const format, FileLoader* const loader,
       FxFile** const files, FxSetup* const setup, Error* const error)
{
  const FxInfo* const fx = node->fx;
  *setup = (FxSetup){ .fx = node->rack_fx,
                      .rate_hz = format->rate_hz,
                      .max_block_frames = format->block_frames,
                      .n_in = node->n_in,
                      .values = node->made_with,
                      .given = node->given,
                      .texts = (const char* const*)node->made_texts,
                      .files = (const FxFile* const*)files,
                      .offline = format->offline,
                      .for_kernel = node->backend->node_new != NULL,
                      .uid = node->uid,
                      .is_quarantined = node->is_quarantined || fx->is_missing,
                      .dry_frames = node->dry_frames,
                      .n_out = node->n_out,
                      .access = &loader->files };
  Status status = STATUS_OK;
  for (uint32_t p = 0; !status && !node->is_quarantined && p < fx->n_params; ++p) {
    if (fx->params[p].kind == PARAM_FILE && node->made_texts[p]) {
      status = file_cache_get(loader, node->made_texts[p], format->rate_hz, &files[p], error);
    }
  }
  return status;
}

/// Find the files that the effect opens itself, unless the node is in quarantine.  paths[n_params]:
/// the caller frees them.
static Status
find_paths(const Node* const node, const FileLoader* const loader, char** const paths,
           Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t p = 0; !status && !node->is_quarantined && p < node->fx->n_params; ++p) {
    const char* const name = node->made_texts[p];
    if (node->fx->params[p].kind == PARAM_PATH && name) {
      status = loader->files.find
                   ? loader->files.find(loader->files.context, name, &paths[p], error)
                   : error_set(error, STATUS_FILE, "%s: files cannot be read here", name);
    }
  }
  return status;
}

/// FxInfo::create or FxInfo::load.
typedef Status (*Step)(Node* node, FileLoader* loader, FxFile* const* files, const FxSetup* setup,
                       Error* error);

static Status
create(Node* const node, FileLoader* const loader, FxFile* const* const files,
       const FxSetup* const setup, Error* const error)
{
  (void)files; // FxInfo::create does not read samples of files
  char** const paths = calloc(node->fx->n_params + 1U, sizeof(char*));
  FxSetup with_paths = *setup;
  with_paths.paths = (const char* const*)paths;
  node->shape = (FxShape){ .unit_in = 1U, .unit_out = 1U };
  Status status = paths ? find_paths(node, loader, paths, error)
                        : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : node->fx->create(&with_paths, &node->shape, &node->fx_node, error);
  for (uint32_t p = 0; paths && p < node->fx->n_params; ++p) {
    free(paths[p]);
  }
  free(paths);
  return status;
}

static Status
load(Node* const node, FileLoader* const loader, FxFile* const* const files,
     const FxSetup* const setup, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t p = 0; !status && p < node->fx->n_params; ++p) {
    if (files[p] && !files[p]->samples) {
      status = loader->files.read(loader->files.context, files[p], error);
    }
  }
  return status || !node->fx->load ? status
                                   : node->fx->load(node->fx_node, setup, &node->shape, error);
}

/// Run a step with the node's values, texts and files.
static Status
run_step(const Step step, Node* const node, const Format* const format, FileLoader* const loader,
         Error* const error)
{
  FxFile** const files = calloc(node->fx->n_params + 1U, sizeof(FxFile*));
  FxSetup setup;
  Status status = files ? set_up(node, format, loader, files, &setup, error)
                        : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : step(node, loader, files, &setup, error);
  free(files);
  return status;
}

static void
init_units(const Node* const node)
{
  for (uint32_t u = 0; u < node->n_units; ++u) {
    node->fx->unit_init(node->fx_node, node->states + u * node->state_stride, u);
  }
}

static size_t
state_stride(const Node* const node)
{
  return (node->shape.unit_bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1U);
}

/// The delay lines of a device for the input that `bypass` plays: one per output.
static size_t
dry_line_bytes(const Node* const node)
{
  const MixLink* const dry = &node->switches.dry;
  return dry->delay_frames ? node->n_out * ((size_t)dry->line_mask + 1U) * sizeof(float) : 0U;
}

static Status
allocate_dry_lines(Node* const node, Error* const error)
{
  MixLink* const dry = &node->switches.dry;
  return dry->delay_frames && !dry->device
             ? node->backend->lines_new(node->backend, node->n_out, dry->line_mask + 1U,
                                        &dry->device, error)
             : STATUS_OK;
}

void
node_place_switches(Node* const node, const bool is_on, const uint32_t block_frames)
{
  NodeSwitches* const switches = &node->switches;
  if (node->backend->node_new && !switches->is_placed &&
      (is_on || node_switches_are_on(switches))) {
    const uint32_t delay_frames = node_latency(node);
    switches->is_placed = true;
    switches->dry.delay_frames = delay_frames;
    switches->dry.line_mask = link_line_mask(delay_frames, block_frames);
  }
}

static size_t
input_line_bytes(const Node* const node)
{
  return (size_t)node->n_in * node->input_line.n_frames * sizeof(float);
}

static Status
allocate_units(Node* const node, Error* const error)
{
  if (node->backend->node_new) {
    const DeviceNode on_device = { node->fx, node->fx_node, node->n_units };
    return node->backend->node_new(node->backend, &on_device, &node->device, error);
  }
  node->state_stride = state_stride(node);
  node->states = rt_memory(node->n_units * node->state_stride);
  node->input_line.samples = node->input_line.n_frames ? rt_memory(input_line_bytes(node)) : NULL;
  if (!node->states || (node->input_line.n_frames && !node->input_line.samples)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  init_units(node);
  return STATUS_OK;
}

size_t
node_memory(const Node* const node)
{
  const size_t param_bytes =
      2U * sizeof(double) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(char*) + sizeof(bool);
  const size_t note_bytes = node->fx->event ? sizeof(NodeNotes) : 0U;
  return sizeof(Node) + note_bytes + node->fx->n_params * param_bytes +
         malloc_usable_size(node->fx_node) + node->shape.data_bytes +
         node->n_units * state_stride(node) + input_line_bytes(node) + dry_line_bytes(node);
}

double
node_number(const Node* const node, const RackNode* const rack_node, const uint32_t param,
            const double rate_hz)
{
  const bool is_given = rack_node->values[param].kind != VALUE_INITIAL;
  return node->fx->initial && !is_given ? node->fx->initial(node->fx_node, param)
                                        : rack_number(rack_node, param, rate_hz);
}

/// Replace the values that the rack does not state by those that the new node has.
static void
take_initial_values(Node* const node, const RackNode* const rack_node, const double rate_hz)
{
  for (uint32_t p = 0; p < node->fx->n_params; ++p) {
    node->targets[p] = node->made_with[p] = node_number(node, rack_node, p, rate_hz);
  }
}

/// Set the time in which the node's values change.
static void
set_ramp(Node* const node, const double ms)
{
  const uint32_t frames = (uint32_t)(1e-3 * ms * node->rate_hz + 0.5);
  const uint32_t longest = fx_ramp_frames(node->rate_hz);
  node->change_frames = frames > 1U ? frames : 1U;
  node->ramp_frames = node->change_frames < longest ? node->change_frames : longest;
}

/// Set a parameter of the engine that is not structural.
static void
set_of_engine(Node* const node, const FxOfEngine which, const double value)
{
  if (which == FX_RAMP_TIME) {
    set_ramp(node, value);
  } else {
    node_switches_set(&node->switches, which, value != 0.0, node->change_frames);
    node->health.needs_care = true;
  }
}

/// Turn on the switches that the rack turns on, and take over its `ramp`.
static void
init_engine_params(Node* const node, const Format* const format)
{
  for (uint32_t p = fx_own_params(node->fx); p < node->fx->n_params; ++p) {
    if (!node->fx->params[p].structural) {
      set_of_engine(node, node->fx->params[p].of_engine, node->targets[p]);
    }
  }
  node_switches_rest(&node->switches);
  node_place_switches(node, false, format->block_frames);
  node->switches.is_played = node->switches.is_placed || !node->backend->node_new;
}

static void
init_health(Node* const node)
{
  node->health = (NodeHealth){
    .dry_gain = node->fx->renew ? 0.0F : 1.0F, // the level of a plugin is not known yet
    .needs_care = node_switches_are_on(&node->switches),
  };
}

/// Skip the effect's name at the start of its error text, because the caller puts the node's name
/// there.
static const char*
without_prefix(const char* const text, const char* const name)
{
  const size_t length = strlen(name);
  return !strncmp(text, name, length) && !strncmp(text + length, ": ", 2) ? text + length + 2
                                                                          : text;
}

Status
node_new(const RackNode* const rack_node, const NodeWidths widths, const Format* const format,
         const Backend* const backend, FileLoader* const loader, Node** const out,
         Error* const error)
{
  const FxInfo* const fx = rack_node->fx;
  if (fx->offline_only && !format->offline) {
    return error_set(
        error, STATUS_BAD_RACK,
        "%s needs the whole signal, so it works in `warprack render` only; remove it from "
        "a rack that runs live",
        rack_node->name);
  }
  Node* const node = calloc(1, sizeof(Node));
  if (!node) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", rack_node->name);
  }
  node->refs = 1;
  node->uid = rack_node->uid;
  node->rack_fx = node->fx = fx;
  node->n_in = widths.n_in;
  node->n_out = widths.n_out;
  node->rate_hz = format->rate_hz;
  set_ramp(node, 1e3 * FX_RAMP_SECONDS);
  node->backend = backend;
  node->is_quarantined = rack_node->is_quarantined;
  if (node->is_quarantined && !fx->origin) {
    node->dry = fx_dry(fx);
    node->fx = &node->dry;
  }
  node->dry_frames = rack_node->dry_frames;
  Error why = { STATUS_NO_MEM, "out of memory" };
  Status status = copy_values(node, rack_node, format->rate_hz);
  status = status ? status : run_step(create, node, format, loader, &why);
  if (status) {
    node_unref(node);
    return error_set(error, status, "%s: %s", rack_node->name, without_prefix(why.text, fx->name));
  }
  take_initial_values(node, rack_node, format->rate_hz);
  init_engine_params(node, format);
  init_health(node);
  if (!fx->is_source && !backend->node_new) {
    node->input_line = input_line_for(&node->shape, format->block_frames);
  }
  node->n_units = fx->is_source ? 1U : widths.n_in / node->shape.unit_in;
  node->n_out = node->n_units * node->shape.unit_out;
  for (uint32_t s = 0; s < fx->n_sides && !fx->is_missing; ++s) {
    node->n_side += node_side_channels(node, s);
  }
  if (node->n_out > FX_MAX_CHANNELS) {
    error_set(error, STATUS_BAD_RACK, "%s would have %u output channels; a node can have %u",
              rack_node->name, node->n_out, FX_MAX_CHANNELS);
    node_unref(node);
    return STATUS_BAD_RACK;
  }
  *out = node;
  return STATUS_OK;
}

uint32_t
node_side_channels(const Node* const node, const uint32_t side)
{
  return node->n_units * fx_side_channels(node->fx, &node->shape, side);
}

Status
node_load(Node* const node, const RackNode* const rack_node, const Format* const format,
          FileLoader* const loader, Error* const error)
{
  Error why = { STATUS_NO_MEM, "out of memory" };
  Status status = STATUS_OK;
  if (!node->is_loaded) {
    status = run_step(load, node, format, loader, &why);
    status = status ? status : allocate_units(node, &why);
    node->is_loaded = !status;
  }
  status = status ? status : allocate_dry_lines(node, &why);
  return status ? error_set(error, status, "%s: %s", rack_node->name,
                            without_prefix(why.text, node->fx->name))
                : STATUS_OK;
}

static bool
same_text(const char* const a, const char* const b)
{
  return a == b || (a && b && !strcmp(a, b));
}

/// True if the node was made with this text of a parameter, or has saved its state under this name.
static bool
has_text(const Node* const node, const uint32_t param, const char* const text)
{
  const bool is_saved =
      text && node->fx->save && node->fx->state_param == param && same_text(node->saved_as, text);
  return is_saved || same_text(node->made_texts[param], text);
}

bool
node_can_be(const Node* const node, const RackNode* const rack_node, const NodeWidths widths,
            const double rate_hz, const Backend* const backend)
{
  if (node->is_left || node->uid != rack_node->uid || node->rack_fx != rack_node->fx ||
      node->n_in != widths.n_in || (widths.n_out && node->n_out != widths.n_out) ||
      node->backend != backend || node->is_quarantined != rack_node->is_quarantined ||
      node->dry_frames != rack_node->dry_frames) {
    return false;
  }
  for (uint32_t p = 0; p < node->fx->n_params; ++p) {
    const bool same = node->made_with[p] == node_number(node, rack_node, p, rate_hz) &&
                      has_text(node, p, text_of(rack_node, p));
    if (node->fx->params[p].structural && !node->fx->params[p].of_engine && !same) {
      return false;
    }
  }
  return true;
}

bool
node_is_lost(const Node* const node)
{
  return node->fx->is_lost && node->fx->is_lost(node->fx_node);
}

bool
node_wants_restart(const Node* const node)
{
  return node->fx->wants_restart && node->fx->wants_restart(node->fx_node);
}

static void
end_save(Node* const node, const bool is_named)
{
  if (node->fx->end_save) {
    node->fx->end_save(node->fx_node, &node->shape, is_named);
  }
}

/// Forget the state that the node has saved, if the rack does not name its file yet: a renewal
/// restores an older one.
static void
forget_saved(Node* const node)
{
  if (node->saved_as) {
    free(node->saved_as);
    node->saved_as = NULL;
    end_save(node, false);
  }
}

Status
node_save(Node* const node, unsigned char** const bytes, size_t* const n_bytes, Error* const error)
{
  const FxInfo* const fx = node->fx;
  if (!fx->save) {
    return error_set(error, STATUS_NOT_FOUND, "%s has no state beside its parameters", fx->name);
  }
  Status status = fx->save(node->fx_node, &node->shape, bytes, n_bytes, error);
  char name[FX_STATE_NAME_BYTES];
  PackageFile files[PACKAGE_MAX_FILES];
  uint32_t n_files = 0;
  if (status) {
    return status;
  }
  free(node->saved_as);
  node->saved_as = NULL;
  status = package_read(*bytes, *n_bytes, files, &n_files, error);
  if (!status) {
    package_name(fx, &files[0], name);
    node->saved_as = strdup(name);
    status = node->saved_as ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  }
  if (status) {
    end_save(node, false);
    free(*bytes);
    *bytes = NULL;
    *n_bytes = 0;
  }
  return status;
}

void
node_keep_saved(Node* const node, const RackNode* const rack_node)
{
  if (!node->saved_as) {
    return;
  }
  const uint32_t param = node->fx->state_param;
  const bool is_named = same_text(text_of(rack_node, param), node->saved_as);
  if (is_named) {
    free(node->made_texts[param]);
    node->made_texts[param] = node->saved_as;
  } else {
    free(node->saved_as); // the state that it has by now is another one
  }
  node->saved_as = NULL;
  end_save(node, is_named);
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
  if (node->switches.dry.device) {
    node->backend->memory_free(node->switches.dry.device);
  }
  if (node->fx_node) {
    node->fx->destroy(node->fx_node);
  }
  for (uint32_t p = 0; node->made_texts && p < node->fx->n_params; ++p) {
    free(node->made_texts[p]);
  }
  free(node->states);
  free(node->input_line.samples);
  free(node->made_with);
  free(node->given);
  free(node->made_texts);
  free(node->saved_as);
  free(node->targets);
  free(node->stamps);
  free(node->fades);
  free(node->notes);
  free(node);
}

void
node_set(Node* const node, const uint32_t param, const double value)
{
  const FxOfEngine of_engine = node->fx->params[param].of_engine;
  if (of_engine) {
    set_of_engine(node, of_engine, value);
  } else if (atomic_load_explicit(&node->health.renewal, memory_order_acquire) != RENEWAL_WANTED) {
    node->fx->set(node->fx_node, param, value, node->ramp_frames);
  }
  ++node->n_sets;
}

void
node_end_notes(Node* const node)
{
  NodeNotes* const notes = node->notes;
  const bool is_renewed = atomic_load_explicit(&node->health.renewal, memory_order_acquire) ==
                          RENEWAL_WANTED; // which ends all notes, too
  for (uint32_t key = 0; notes && notes->n && key < FX_KEYS; ++key) {
    if (notes->numbers[key] && !is_renewed) {
      const FxEvent off = { .kind = FX_NOTE_OFF, .key = key };
      node->fx->event(node->fx_node, &off, 0U);
    }
    notes->n -= notes->numbers[key] != 0U;
    notes->numbers[key] = 0U;
  }
}

static Status
restart_units(Node* const node, Error* const error)
{
  forget_saved(node);
  if (node->device) {
    node->backend->memory_reset(node->device);
    return STATUS_OK;
  }
  const Status status = node->fx->renew ? node->fx->renew(node->fx_node, error) : STATUS_OK;
  if (!status) {
    init_units(node);
  }
  return status;
}

Status
node_renew(Node* const node, Error* const error)
{
  _Atomic NodeRenewal* const renewal = &node->health.renewal;
  if (atomic_load_explicit(renewal, memory_order_acquire) != RENEWAL_WANTED) {
    return STATUS_OK;
  }
  const Status status = restart_units(node, error);
  atomic_store_explicit(renewal, status ? RENEWAL_FAILED : RENEWAL_DONE, memory_order_release);
  return status;
}

Status
node_reset(Node* const node, Error* const error)
{
  node_switches_rest(&node->switches);
  init_health(node);
  if (node->switches.dry.device) {
    node->backend->memory_reset(node->switches.dry.device);
  }
  if (node->input_line.samples) {
    memset(node->input_line.samples, 0, input_line_bytes(node));
  }
  return restart_units(node, error);
}

uint32_t
node_latency(const Node* const node)
{
  return node->fx->latency ? node->fx->latency(node->fx_node) : node->shape.latency_frames;
}

uint64_t
node_tail(const Node* const node)
{
  return node->fx->tail ? node->fx->tail(node->fx_node) : node->shape.tail_frames;
}
