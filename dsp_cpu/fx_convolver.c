// SPDX-License-Identifier: GPL-3.0-or-later
// convolver: convolution with an impulse response from a file, without added latency.
//
// Meaning of the channels of the response, for n_in input channels:
//   1               the same response for every channel
//   n_in            one response for each channel
//   n_in x n_out    a matrix: input 1 to every output, then input 2 ...  Four channels on a stereo
//                   signal are "true stereo", LL LR RL RR; two on a mono signal make it stereo.
// The dry part of the mix goes from each input to the output of the same number, or from a single
// input to every output.

#include "partition.h"
#include "partition_kernel.h"

#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IR, MIX, GAIN, PREDELAY };

#define MAX_TEXT_WIDENING 2U // outputs per input; a text with more is probably no impulse response

// clang-format off
static const FxParam convolver_params[] = {
  //             id          kind          unit          min     max  initial
  [IR]       = { "ir",       PARAM_FILE,   UNIT_NONE,    0.0,    0.0,     0.0,                     .structural = true, .help = "Impulse response: an audio file of 1 channel, of one per channel, or a matrix; or text with a number per line (rows of numbers: one per channel)" },
  [MIX]      = { "mix",      PARAM_NUMBER, UNIT_NONE,    0.0,    1.0,     1.0,                                         .help = "Part of the convolved signal; the rest is the input" },
  [GAIN]     = { "gain",     PARAM_NUMBER, UNIT_DB,   -120.0,   40.0,     0.0, .taper = TAPER_DB,                      .help = "Gain of the convolved signal; -120 dB is silence" },
  [PREDELAY] = { "predelay", PARAM_NUMBER, UNIT_MS,      0.0, 1000.0,     0.0, .taper = TAPER_LOG, .structural = true, .help = "Delay of the convolved signal" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct ConvolverNode {
  Partition** partitions; ///< [n_partitions]: 1, or one per channel
  uint32_t n_partitions;
  PartitionKernel* kernel;  ///< Used instead of `partitions` on a device
  float* taps;              ///< The responses, until the kernel is made
  uint64_t predelay_frames; ///< Frames
  uint64_t n_taps;          ///< Including the predelay
  uint32_t n_in, n_out;     ///< Channels of a unit
  double mix, gain_lin;
  float dry, wet; ///< Targets
  uint32_t ramp_frames;
} ConvolverNode;

/// Followed by the state of its partition.
typedef struct ConvolverUnit {
  _Alignas(64) const Partition* partition;
  Ramp dry, wet;
} ConvolverUnit;

static void
convolver_set(void* const node, const uint32_t param, const double value,
              const uint32_t ramp_frames)
{
  ConvolverNode* const convolver = node;
  if (param == MIX) {
    convolver->mix = value;
  } else if (param == GAIN) {
    convolver->gain_lin = value <= convolver_params[GAIN].min ? 0.0 : pow(10.0, value / 20.0);
  }
  convolver->dry = (float)(1.0 - convolver->mix);
  convolver->wet = (float)(convolver->mix * convolver->gain_lin);
  convolver->ramp_frames = ramp_frames;
}

static void
convolver_destroy(void* const node)
{
  ConvolverNode* const convolver = node;
  for (uint32_t i = 0; convolver->partitions && i < convolver->n_partitions; ++i) {
    partition_free(convolver->partitions[i]);
  }
  free(convolver->partitions);
  partition_kernel_free(convolver->kernel);
  free(convolver->taps);
  free(convolver);
}

// ---- the response ----

/// Frames of the longest channel without the zeros at its end (if the samples are known); at least
/// 1.
static uint64_t
sounding_frames(const FxFile* const ir)
{
  if (!ir->samples) {
    return ir->n_frames;
  }
  uint64_t n = 1;
  for (uint32_t c = 0; c < ir->n_channels; ++c) {
    const float* const samples = ir->samples + c * ir->n_frames;
    uint64_t end = ir->n_frames;
    while (end > n && samples[end - 1U] == 0.0F) {
      --end;
    }
    n = end > n ? end : n;
  }
  return n;
}

static Status
check_channels(const FxFile* const ir, const uint32_t n_in, Error* const error)
{
  const uint32_t n_ir = ir->n_channels;
  if (!n_ir || !ir->n_frames) {
    return error_set(error, STATUS_FILE, "convolver: impulse response %s is empty", ir->name);
  }
  const bool divides = n_ir % n_in == 0U && n_ir / n_in <= FX_MAX_CHANNELS;
  if (n_ir != 1U && !ir->is_audio && (!divides || n_ir / n_in > MAX_TEXT_WIDENING * n_in)) {
    return error_set(error, STATUS_BAD_RACK,
                     "convolver: %s has %u rows of %llu numbers, and a row is the response of a "
                     "channel, which does not fit %u inputs; write one number per line for one "
                     "response, with decimals behind a point",
                     ir->name, n_ir, (unsigned long long)ir->n_frames, n_in);
  }
  if (n_ir != 1U && !divides) {
    return error_set(
        error, STATUS_BAD_RACK,
        "convolver: impulse response %s has %u channels, which do not divide among %u "
        "input channels; use a response of 1 channel, of %u (one per channel), or of a "
        "multiple of %u (a matrix), or connect another number of channels",
        ir->name, n_ir, n_in, n_in, n_in);
  }
  return STATUS_OK;
}

/// The channels of the response with the predelay in front:
/// [n_channels][predelay_frames + n_taps].  The zeros of the predelay are convolved like all other
/// taps; in the large partitions they cost very little.
static float*
delayed_taps(const FxFile* const ir, const ConvolverNode* const node)
{
  float* const taps = calloc(ir->n_channels, node->n_taps * sizeof(float));
  for (uint32_t c = 0; taps && c < ir->n_channels; ++c) {
    memcpy(taps + c * node->n_taps + node->predelay_frames, ir->samples + c * ir->n_frames,
           (node->n_taps - node->predelay_frames) * sizeof(float));
  }
  return taps;
}

static PartitionSize
size_of(const ConvolverNode* const node, const FxSetup* const setup)
{
  return (PartitionSize){ .n_taps = node->n_taps,
                          .n_in = node->n_in,
                          .n_out = node->n_out,
                          .max_block_frames = setup->max_block_frames,
                          .n_states = setup->n_in / node->n_in };
}

/// Describe a node whose response has a known length.
static void
describe(const ConvolverNode* const node, const FxSetup* const setup, FxShape* const shape)
{
  const PartitionSize size = size_of(node, setup);
  const PartitionBytes bytes = partition_measure(&size);
  shape->tail_frames = node->n_taps;
  shape->unit_bytes = sizeof(ConvolverUnit) + bytes.state;
  shape->data_bytes = node->n_partitions * (sizeof(Partition*) + bytes.constant);
}

/// Bytes that load needs temporarily, beyond those of the units, which are allocated later.
static size_t
load_bytes(const ConvolverNode* const node, const FxSetup* const setup, const FxShape* const shape)
{
  const PartitionSize size = size_of(node, setup);
  const size_t n_responses = (size_t)node->n_partitions * node->n_in * node->n_out;
  const size_t needed =
      n_responses * node->n_taps * sizeof(float) + partition_measure(&size).design;
  const size_t of_units = setup->for_kernel ? 0U : setup->n_in / node->n_in * shape->unit_bytes;
  return needed > of_units ? needed - of_units : 0U;
}

static Status
make_partitions(ConvolverNode* const node, const float* const taps, const FxSetup* const setup,
                Error* const error)
{
  const PartitionSize size = size_of(node, setup);
  const uint32_t n_matrix = node->n_in * node->n_out;
  const float** const matrix = calloc(n_matrix, sizeof(float*));
  node->partitions = calloc(node->n_partitions, sizeof(Partition*));
  Status status = matrix && node->partitions
                      ? STATUS_OK
                      : error_set(error, STATUS_NO_MEM, "convolver: out of memory");
  for (uint32_t i = 0; !status && i < node->n_partitions; ++i) {
    for (uint32_t k = 0; k < n_matrix; ++k) {
      matrix[k] = taps + (i * n_matrix + k) * node->n_taps;
    }
    status = partition_new(&size, matrix, &node->partitions[i], error);
  }
  free(matrix);
  return status;
}

/// Make the kernel.  Takes ownership of the taps, also on error.
static Status
make_kernel(ConvolverNode* const node, float* const taps, const FxSetup* const setup,
            Error* const error)
{
  const bool matrix = node->n_in != 1U || node->n_out != 1U;
  const PartitionKernelSpec spec = { .taps = taps,
                                     .n_taps = node->n_taps,
                                     .n_in = node->n_in,
                                     .n_out = node->n_out,
                                     .n_sets = node->n_partitions,
                                     .n_units = matrix ? 1U : setup->n_in,
                                     .max_block_frames = setup->max_block_frames };
  node->taps = taps;
  return partition_kernel_new(&spec, &node->kernel, error);
}

static Status
convolver_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                 Error* const error)
{
  if (!setup->files[IR]) {
    return error_set(
        error, STATUS_BAD_RACK,
        "convolver: no impulse response; name an audio file, as in: convolver hall.wav");
  }
  const FxFile responses = fx_file_responses(setup->files[IR]);
  const FxFile* const ir = &responses;
  const Status unfit = check_channels(ir, setup->n_in, error);
  if (unfit) {
    return unfit;
  }
  ConvolverNode* const made = calloc(1, sizeof(ConvolverNode));
  if (!made) {
    return error_set(error, STATUS_NO_MEM, "convolver: out of memory");
  }
  const bool matrix = ir->n_channels != 1U && ir->n_channels != setup->n_in;
  const uint64_t predelay_frames =
      (uint64_t)llrint(setup->values[PREDELAY] * setup->rate_hz / 1000.0);
  *made = (ConvolverNode){ .n_partitions = matrix ? 1U : ir->n_channels,
                           .n_in = matrix ? setup->n_in : 1U,
                           .n_out = matrix ? ir->n_channels / setup->n_in : 1U,
                           .predelay_frames = predelay_frames,
                           .n_taps = predelay_frames + sounding_frames(ir) };
  convolver_set(made, MIX, setup->values[MIX], fx_ramp_frames(setup->rate_hz));
  convolver_set(made, GAIN, setup->values[GAIN], fx_ramp_frames(setup->rate_hz));
  shape->unit_in = made->n_in;
  shape->unit_out = made->n_out;
  describe(made, setup, shape);
  shape->data_bytes += load_bytes(made, setup, shape);
  *node = made;
  return STATUS_OK;
}

static Status
convolver_load(void* const node, const FxSetup* const setup, FxShape* const shape,
               Error* const error)
{
  ConvolverNode* const made = node;
  const FxFile responses = fx_file_responses(setup->files[IR]);
  const FxFile* const ir = &responses;
  made->n_taps = made->predelay_frames + sounding_frames(ir);
  describe(made, setup, shape);
  float* const taps = delayed_taps(ir, made);
  if (!taps) {
    return error_set(error, STATUS_NO_MEM, "convolver: no memory for %s", ir->name);
  }
  if (setup->for_kernel) {
    shape->unit_bytes = 0;
    return make_kernel(made, taps, setup, error);
  }
  const Status status = make_partitions(made, taps, setup, error);
  free(taps);
  return status;
}

static void
convolver_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  const ConvolverNode* const convolver = node;
  ConvolverUnit* const unit = state;
  *unit = (ConvolverUnit){ .partition =
                               convolver->partitions[convolver->n_partitions > 1U ? channel : 0U],
                           .dry = ramp_at(convolver->dry),
                           .wet = ramp_at(convolver->wet) };
  partition_init(unit->partition, unit + 1, channel);
}

// ---- running ----

/// out = wet * out + dry * in.  The ramps are passed by value, because every output starts from the
/// same ramps.
static void
blend(float* const out, const float* const in, const uint32_t n_frames, Ramp dry, Ramp wet)
{
  uint32_t i = 0;
  for (; i < n_frames && (dry.frames_left || wet.frames_left); ++i) {
    const float dry_now = ramp_next(&dry);
    out[i] = out[i] * ramp_next(&wet) + in[i] * dry_now;
  }
  if (wet.target == 1.0F && dry.target == 0.0F) {
    return;
  }
  for (; i < n_frames; ++i) {
    out[i] = out[i] * wet.target + in[i] * dry.target;
  }
}

static void
convolver_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const ConvolverNode* const node = units[u].node;
    ConvolverUnit* const unit = units[u].state;
    ramp_aim(&unit->dry, node->dry, node->ramp_frames);
    ramp_aim(&unit->wet, node->wet, node->ramp_frames);
    partition_run(unit->partition, unit + 1, units[u].in, units[u].out, n_frames);
    for (uint32_t o = 0; o < node->n_out; ++o) {
      if (o < node->n_in || node->n_in == 1U) {
        blend(units[u].out[o], units[u].in[node->n_in == 1U ? 0U : o], n_frames, unit->dry,
              unit->wet);
      } else {
        Ramp wet = unit->wet; // of all outputs
        ramp_multiply(&wet, units[u].out[o], units[u].out[o], n_frames);
      }
    }
    ramp_skip(&unit->dry, n_frames);
    ramp_skip(&unit->wet, n_frames);
  }
}

// ---- on a device ----

static void
convolver_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  partition_kernel_shape(((const ConvolverNode*)node)->kernel, shape);
}

static void
convolver_data(void* const node, uint32_t* const words)
{
  ConvolverNode* const convolver = node;
  partition_kernel_data(convolver->kernel, words);
  free(convolver->taps);
  convolver->taps = NULL;
}

static void
convolver_pack(const void* const node, uint32_t* const words)
{
  const ConvolverNode* const convolver = node;
  partition_kernel_pack(convolver->dry, convolver->wet, convolver->ramp_frames, words);
}

static const FxKernel convolver_kernel = {
  .file = "fx_convolver.cu",
  .shape = convolver_kernel_shape,
  .data = convolver_data,
  .pack = convolver_pack,
};

const FxInfo fx_convolver_info = {
  .name = "convolver",
  .summary = "Convolve with an impulse response: rooms, cabinets, corrections",
  .params = convolver_params,
  .n_params = ARRAY_LEN(convolver_params),
  .tolerance = 1e-6,
  .tolerance_reason = "rounding of Fourier transforms, for a response of unit energy",
  .create = convolver_create,
  .load = convolver_load,
  .destroy = convolver_destroy,
  .unit_init = convolver_unit_init,
  .set = convolver_set,
  .run = convolver_run,
  .kernel = &convolver_kernel,
};
