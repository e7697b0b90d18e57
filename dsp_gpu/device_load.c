// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Loads what edits will need before real-time blocks arrive: the kernels of all effects for the
  length of the blocks, and memory.  While blocks arrive, compiling or loading a kernel, and
  allocating memory, would hold the driver's locks or wait for an armed device.

  The sizes of a kernel depend on the block, on ends of structural parameters, on the number of
  channels and on the length of files, so that a few nodes of each effect have all of them.
*/

#include "device.h"

#include "stage_tables.h"

#include <stdlib.h>

#define N_RESPONSE_FRAMES 70000U // more than any partition of a block's length
#define SHORT_FRAMES      20U
#define MOST_PARAMS       64U

/// Values of structural parameters with a range: the initial ones, or an end of the range.
typedef enum NodeKind { NODE_INITIAL, NODE_LEAST, NODE_MOST, N_NODE_KINDS } NodeKind;

typedef struct Walk {
  double rate_hz;
  uint32_t block_frames;
  const FxInfo* fx;
  DeviceShapeFn* each;
  void* context;
} Walk;

static void
show_node(const Walk* const walk, const NodeKind kind, const FxFile* const file,
          const uint32_t n_channels)
{
  const FxInfo* const fx = walk->fx;
  double values[MOST_PARAMS];
  const char* texts[MOST_PARAMS] = { NULL };
  const FxFile* files[MOST_PARAMS] = { NULL };
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    const FxParam* const param = &fx->params[p];
    double ends[2];
    const bool has_range = fx_param_range(param, &ends[0], &ends[1]);
    values[p] = has_range && param->structural && kind ? ends[kind == NODE_MOST] : param->initial;
    texts[p] = param->kind == PARAM_FILE && file ? file->name : param->initial_text;
    files[p] = param->kind == PARAM_FILE ? file : NULL;
  }
  const FxSetup setup = { .rate_hz = walk->rate_hz,
                          .max_block_frames = walk->block_frames,
                          .n_in = n_channels,
                          .values = values,
                          .texts = texts,
                          .files = files,
                          .for_kernel = true };
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  void* node = NULL;
  if (fx_make(fx, &setup, &shape, &node, NULL)) {
    return; // a width, a file or a value that the effect refuses
  }
  FxKernelShape kernel = { .file = NULL };
  fx->kernel->shape(node, &kernel);
  fx->destroy(node);
  walk->each(walk->context, fx, &kernel);
}

void
device_list_shapes(const FxInfo* const fx, const double rate_hz, const uint32_t block_frames,
                   DeviceShapeFn* const each, void* const context)
{
  static const uint32_t widths[] = { 1, 2, FX_MAX_CHANNELS };
  const Walk walk = { rate_hz, block_frames, fx, each, context };
  if (!fx->kernel || fx->n_params > MOST_PARAMS) {
    return;
  }
  const bool has_file = fx_file_param(fx) >= 0;
  float* const response = has_file ? calloc(N_RESPONSE_FRAMES, sizeof(float)) : NULL;
  const FxFile files[] = { { "short", 1, SHORT_FRAMES, response, true, 0 },
                           { "long", 1, N_RESPONSE_FRAMES, response, true, 0 } };
  if (response) {
    response[0] = 1.0F;
    response[N_RESPONSE_FRAMES - 1U] = 0.5F;
  }
  for (uint32_t w = 0; w < ARRAY_LEN(widths); ++w) {
    for (NodeKind kind = NODE_INITIAL; kind < N_NODE_KINDS; ++kind) {
      show_node(&walk, kind, NULL, widths[w]);
      for (uint32_t f = 0; response && f < ARRAY_LEN(files); ++f) {
        show_node(&walk, kind, &files[f], widths[w]);
      }
    }
  }
  free(response);
}

typedef struct Loading {
  Device* device;
  Error first; ///< The first failure
} Loading;

static void
load(Loading* const loading, const char* const file, const char* const entry,
     const uint32_t group_size, const FxKernelSize* const sizes)
{
  GpuKernel* kernel = NULL;
  Error why = { STATUS_OK, "" };
  const Status status =
      device_kernel(loading->device, file, entry, group_size, sizes, &kernel, &why);
  if (status && !loading->first.status) {
    loading->first = why;
  }
}

static void
load_shape(void* const context, const FxInfo* const fx, const FxKernelShape* const shape)
{
  for (uint32_t p = 0; p < shape->n_passes; ++p) {
    load(context, shape->file ? shape->file : fx->kernel->file, shape->passes[p].entry,
         shape->passes[p].group_size, shape->sizes);
  }
}

Status
device_backend_load(Backend* const backend, const double rate_hz, const uint32_t block_frames,
                    BackendProgress* const progress, void* const context, Error* const error)
{
  static const FxKernelSize no_sizes[FX_KERNEL_SIZES] = { { NULL, 0U } };
  Device* const device = (Device*)backend;
  if (!device->api->arm || !device->info.is_gpu || !device->keep_awake) {
    return STATUS_OK; // it is never armed
  }
  Loading loading = { device, { STATUS_OK, "" } };
  load(&loading, "stage.cu", "stage_delay", STAGE_COPY_GROUP, no_sizes);
  load(&loading, "stage.cu", "stage_store", STAGE_COPY_GROUP, no_sizes);
  uint32_t n = 0;
  const FxInfo* const* const effects = fx_table(&n);
  for (uint32_t e = 0; e < n && loading.first.status != STATUS_DEVICE_LOST; ++e) {
    device_list_shapes(effects[e], rate_hz, block_frames, load_shape, &loading);
    progress(context, e + 1U, n);
  }
  Status status = loading.first.status;
  if (status) {
    return error_set(error, status, "%s", loading.first.text);
  }
  status = device_spares_reserve(device, error);
  return status ? status : device_chunk_reserve(device, error);
}
