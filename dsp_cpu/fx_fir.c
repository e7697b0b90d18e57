// SPDX-License-Identifier: GPL-3.0-or-later
// fir: linear-phase filters designed by windows, or coefficients from a file.
//
// A designed filter of n taps delays the signal by (n - 1) / 2 frames.  By default the node
// declares this delay as its latency, so that parallel paths stay aligned; with compensate=off it
// declares none.  Coefficients from a file are used unchanged, without a declared latency.
//
// Short filters run in the time domain, long ones as partitioned convolution.  Every parameter is
// structural: the engine fades from the old filter to the new one.

#include "fir_design.h"
#include "partition.h"
#include "partition_kernel.h"
#include "spectrum.h"

#include "dsp_cpu/shared/fir_layout.h"
#include "engine/contract/effect.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BAND, FREQUENCY, HIGH, TAPS, WINDOW, BETA, FILE_TAPS, COMPENSATE };

// Above this number of taps, partitions are cheaper than products in the time domain (measured: at
// blocks of 64 to 8192 frames the costs are equal at 135 to 175 taps with AVX2, at 210 to 230 with
// AVX-512).
#define MAX_DIRECT_TAPS 192U

static const char* const bands[] = { "lowpass", "highpass", "bandpass", "bandstop", NULL };
static const char* const windows[] = { "hann",           "hamming", "blackman",
                                       "blackmanharris", "kaiser",  NULL };

// clang-format off
static const FxParam fir_params[] = {
  //               id            kind           unit       min       max      initial
  [BAND]       = { "band",       PARAM_CHOICE,  UNIT_NONE, 0.0,      0.0,         0.0,                     .choices = bands, .structural = true,   .help = "What passes" },
  [FREQUENCY]  = { "frequency",  PARAM_NUMBER,  UNIT_HZ,   1.0, 192000.0,      1000.0, .taper = TAPER_LOG, .structural = true,                     .help = "Edge of the band, 6 dB down; the lower one of two" },
  [HIGH]       = { "high",       PARAM_NUMBER,  UNIT_HZ,   1.0, 192000.0,      4000.0, .taper = TAPER_LOG, .structural = true,                     .help = "Upper edge of bandpass and bandstop" },
  [TAPS]       = { "taps",       PARAM_INTEGER, UNIT_NONE, 3.0,  65535.0,       255.0, .taper = TAPER_LOG, .structural = true,                     .help = "Length in frames; the edge is about 3.3 rate / taps wide with hamming" },
  [WINDOW]     = { "window",     PARAM_CHOICE,  UNIT_NONE, 0.0,      0.0, FIR_HAMMING,                     .choices = windows, .structural = true, .help = "Window of the design" },
  [BETA]       = { "beta",       PARAM_NUMBER,  UNIT_NONE, 0.0,     40.0,         8.6,                     .structural = true,                     .help = "Shape of the kaiser window; more is steeper down and wider" },
  [FILE_TAPS]  = { "file",       PARAM_FILE,    UNIT_NONE, 0.0,      0.0,         0.0,                     .structural = true,                     .help = "Coefficients instead of a design: an audio file, or text with a number per line (rows of numbers: one per channel)" },
  [COMPENSATE] = { "compensate", PARAM_SWITCH,  UNIT_NONE, 0.0,      0.0,         1.0,                     .structural = true,                     .help = "Declare a designed filter's delay as latency" },
  FX_ENGINE_PARAMS,
};
// clang-format on

/// One filter for all channels, or one for each.  Short filters have taps only, also on a device.
typedef struct FirNode {
  const SpectrumOps* ops;
  uint32_t n_filters;
  uint32_t n_taps;
  uint32_t max_block_frames;
  float* taps;             ///< [n_filters][n_taps]
  Partition** partitions;  ///< [n_filters], or NULL
  PartitionKernel* kernel; ///< For a device, or NULL
} FirNode;

/// Followed by the partition's state, or by [past_frames() + max_block_frames] frames of input.
typedef struct FirUnit {
  _Alignas(64) uint32_t filter;
} FirUnit;

/// Frames of input that a short filter keeps for SpectrumOps::fir.
static uint32_t
past_frames(const FirNode* const fir)
{
  return fir->n_taps + 2U;
}

static void
fir_destroy(void* const node)
{
  FirNode* const fir = node;
  for (uint32_t i = 0; fir->partitions && i < fir->n_filters; ++i) {
    partition_free(fir->partitions[i]);
  }
  free(fir->partitions);
  partition_kernel_free(fir->kernel);
  free(fir->taps);
  free(fir);
}

// ---- coefficients ----

static Status
check_design(const FxSetup* const setup, const FirDesign* const design, Error* const error)
{
  const double* const values = setup->values;
  const bool two_edges = design->band == FIR_BANDPASS || design->band == FIR_BANDSTOP;
  const double highest = two_edges ? design->high : design->low;
  if (highest >= 1.0) {
    return error_set(error, STATUS_BAD_ARG, "fir: %s=%g Hz is not below half the rate, %g Hz",
                     two_edges ? "high" : "frequency", values[two_edges ? HIGH : FREQUENCY],
                     setup->rate_hz / 2.0);
  }
  if (two_edges && design->low >= design->high) {
    return error_set(error, STATUS_BAD_ARG, "fir: frequency=%g Hz is not below high=%g Hz",
                     values[FREQUENCY], values[HIGH]);
  }
  const bool even = design->n_taps % 2U == 0;
  if (even && (design->band == FIR_HIGHPASS || design->band == FIR_BANDSTOP)) {
    return error_set(error, STATUS_BAD_ARG,
                     "fir: a %s of %u taps would silence half the rate; use an odd number, as %u",
                     bands[design->band], design->n_taps, design->n_taps + 1U);
  }
  if (even && values[COMPENSATE] != 0.0) {
    return error_set(error, STATUS_BAD_ARG,
                     "fir: %u taps delay by half a frame, which cannot be compensated; use an odd "
                     "number, as %u, or compensate=off",
                     design->n_taps, design->n_taps + 1U);
  }
  return STATUS_OK;
}

static FirDesign
design_of(const FxSetup* const setup)
{
  const double* const values = setup->values;
  return (FirDesign){ .band = (FirBand)values[BAND],
                      .low = values[FREQUENCY] / (setup->rate_hz / 2.0),
                      .high = values[HIGH] / (setup->rate_hz / 2.0),
                      .n_taps = (uint32_t)values[TAPS],
                      .window = (FirWindow)values[WINDOW],
                      .beta = values[BETA] };
}

static Status
design_taps(const FxSetup* const setup, FirNode* const fir, Error* const error)
{
  const FirDesign design = design_of(setup);
  double* const exact = calloc(design.n_taps, sizeof(double));
  if (exact) {
    fir_design(&design, exact);
    for (uint32_t i = 0; i < design.n_taps; ++i) {
      fir->taps[i] = (float)exact[i];
    }
  }
  free(exact);
  return exact ? STATUS_OK : error_set(error, STATUS_NO_MEM, "fir: out of memory");
}

static Status
check_file(const FxFile* const file, const uint32_t n_in, Error* const error)
{
  if (!file->n_channels || !file->n_frames) {
    return error_set(error, STATUS_FILE, "fir: %s is empty", file->name);
  }
  if (file->n_channels != 1U && file->n_channels != n_in) {
    return error_set(error, STATUS_BAD_RACK,
                     "fir: %s has %u %s for %u channels; give 1 for all, or %u", file->name,
                     file->n_channels, file->is_audio ? "channels" : "rows of coefficients", n_in,
                     n_in);
  }
  if (file->n_frames > UINT32_MAX / sizeof(float)) {
    return error_set(error, STATUS_LIMIT, "fir: %s is too long", file->name);
  }
  return STATUS_OK;
}

static PartitionSize
size_of(const FirNode* const fir)
{
  return (PartitionSize){
    .n_taps = fir->n_taps, .n_in = 1, .n_out = 1, .max_block_frames = fir->max_block_frames
  };
}

static Status
make_partitions(FirNode* const fir, Error* const error)
{
  const PartitionSize size = size_of(fir);
  fir->partitions = calloc(fir->n_filters, sizeof(Partition*));
  Status status =
      fir->partitions ? STATUS_OK : error_set(error, STATUS_NO_MEM, "fir: out of memory");
  for (uint32_t i = 0; !status && i < fir->n_filters; ++i) {
    const float* const taps = fir->taps + (size_t)i * fir->n_taps;
    status = partition_new(&size, &taps, &fir->partitions[i], error);
  }
  return status;
}

static Status
make_kernel(FirNode* const fir, const uint32_t n_units, Error* const error)
{
  const PartitionKernelSpec spec = { .taps = fir->taps,
                                     .n_taps = fir->n_taps,
                                     .n_in = 1,
                                     .n_out = 1,
                                     .n_sets = fir->n_filters,
                                     .n_units = n_units,
                                     .max_block_frames = fir->max_block_frames };
  return partition_kernel_new(&spec, &fir->kernel, error);
}

/// Memory of a node and of a unit, and the memory that create needs temporarily.
static size_t
describe(const FirNode* const fir, const FxFile* const file, FxShape* const shape)
{
  const bool is_direct = fir->n_taps <= MAX_DIRECT_TAPS;
  const PartitionSize size = size_of(fir);
  const PartitionBytes bytes = is_direct ? (PartitionBytes){ 0 } : partition_measure(&size);
  const size_t past_bytes = (past_frames(fir) + fir->max_block_frames) * sizeof(float);
  const size_t taps_bytes = fir->n_taps * sizeof(float);
  shape->unit_bytes = sizeof(FirUnit) + (is_direct ? past_bytes : bytes.state);
  shape->data_bytes = fir->n_filters * (taps_bytes + sizeof(Partition*) + bytes.constant);
  return bytes.design + (file ? 0U : fir->n_taps * sizeof(double));
}

static Status
fir_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  const FxFile* const content = setup->files[FILE_TAPS];
  const FxFile responses = content ? fx_file_responses(content) : (FxFile){ 0 };
  const FxFile* const file = content ? &responses : NULL;
  const FirDesign design = design_of(setup);
  const Status status =
      file ? check_file(file, setup->n_in, error) : check_design(setup, &design, error);
  if (status) {
    return status;
  }
  FirNode* const fir = calloc(1, sizeof(FirNode));
  if (!fir) {
    return error_set(error, STATUS_NO_MEM, "fir: out of memory");
  }
  *fir = (FirNode){ .ops = spectrum_ops(),
                    .n_filters = file ? file->n_channels : 1U,
                    .n_taps = file ? (uint32_t)file->n_frames : design.n_taps,
                    .max_block_frames = setup->max_block_frames };
  const bool declared = !file && setup->values[COMPENSATE] != 0.0;
  shape->latency_frames = declared ? (fir->n_taps - 1U) / 2U : 0U;
  shape->tail_frames = fir->n_taps - 1U;
  const size_t load_bytes = describe(fir, file, shape);
  shape->data_bytes += load_bytes;
  *node = fir;
  return STATUS_OK;
}

static Status
fir_load(void* const node, const FxSetup* const setup, FxShape* const shape, Error* const error)
{
  FirNode* const fir = node;
  const FxFile* const file = setup->files[FILE_TAPS];
  const size_t n_taps = (size_t)fir->n_filters * fir->n_taps;
  describe(fir, file, shape);
  fir->taps = calloc(n_taps, sizeof(float));
  if (!fir->taps) {
    return error_set(error, STATUS_NO_MEM, "fir: out of memory");
  }
  Status status = STATUS_OK;
  if (file) {
    memcpy(fir->taps, file->samples, n_taps * sizeof(float));
  } else {
    status = design_taps(setup, fir, error);
  }
  if (!status && setup->for_kernel && fir->n_taps > FIR_MAX_DIRECT_TAPS) {
    status = make_kernel(fir, setup->n_in, error);
  } else if (!status && !setup->for_kernel && fir->n_taps > MAX_DIRECT_TAPS) {
    status = make_partitions(fir, error);
  }
  return status;
}

static void
fir_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  const FirNode* const fir = node;
  FirUnit* const unit = state;
  unit->filter = fir->n_filters > 1U ? channel : 0U;
  if (fir->partitions) {
    partition_init(fir->partitions[unit->filter], unit + 1, channel);
  } else {
    memset(unit + 1, 0, past_frames(fir) * sizeof(float));
  }
}

static void
run_direct(const FirNode* const fir, FirUnit* const unit, const float* const in, float* const out,
           const uint32_t n_frames)
{
  const uint32_t n_past = past_frames(fir);
  float* const past = (float*)(unit + 1);
  memcpy(past + n_past, in, n_frames * sizeof(float));
  fir->ops->fir(past + n_past, fir->taps + (size_t)unit->filter * fir->n_taps, fir->n_taps,
                n_frames, out);
  memmove(past, past + n_frames, n_past * sizeof(float));
}

static void
fir_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const FirNode* const fir = units[u].node;
    FirUnit* const unit = units[u].state;
    if (fir->partitions) {
      partition_run(fir->partitions[unit->filter], unit + 1, units[u].in, units[u].out, n_frames);
    } else {
      run_direct(fir, unit, units[u].in[0], units[u].out[0], n_frames);
    }
  }
}

// ---- on a device ----

#define GROUP_THREADS 128U
#define MOST_TILE     512U // most frames that a group computes at once: four in each thread

// Several groups share a longer block, because one group for each channel would leave most of a GPU
// idle: 12 channels of 8192 frames are 384 tiles for the 132 multiprocessors of an H200.  Smaller
// tiles would distribute the work more evenly, but read more past frames for each output.
#define SHARED_TILE 256U
#define MOST_GROUPS 512U // groups of one channel: four on each multiprocessor of a large GPU

/// Taps of a filter, rounded up to a multiple of four.
static uint32_t
tap_quads(const FirNode* const fir)
{
  return (fir->n_taps + 3U) / 4U;
}

static uint32_t
tile_frames(const FirNode* const fir)
{
  if (fir->max_block_frames > MOST_TILE) {
    return SHARED_TILE;
  }
  uint32_t tile = 32;
  while (tile < fir->max_block_frames) {
    tile *= 2U;
  }
  return tile;
}

static void
fir_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  const FirNode* const fir = node;
  if (fir->kernel) {
    partition_kernel_shape(fir->kernel, shape);
    return;
  }
  const uint32_t tile = tile_frames(fir);
  const uint32_t n_tiles = (fir->max_block_frames + tile - 1U) / tile;
  const uint32_t n_groups = n_tiles < MOST_GROUPS ? n_tiles : MOST_GROUPS;
  *shape = (FxKernelShape){ .sizes = { { "TILE", tile } },
                            .passes = { { "fx_fir", GROUP_THREADS, 1U, n_groups },
                                        { "fx_fir_end", GROUP_THREADS, 1U, 1U } },
                            .n_passes = n_groups > 1U ? 2U : 1U,
                            .data_words = FIR_HEAD + 4U * (uint64_t)fir->n_filters * tap_quads(fir),
                            .state_words = FIR_HEAD + 4U * (uint64_t)tap_quads(fir) };
}

static void
fir_data(void* const node, uint32_t* const words)
{
  FirNode* const fir = node;
  if (fir->kernel) {
    partition_kernel_data(fir->kernel, words);
  } else {
    words[FIR_N_FILTERS] = fir->n_filters;
    words[FIR_TAP_QUADS] = tap_quads(fir);
    for (uint32_t i = 0; i < fir->n_filters; ++i) {
      memcpy(words + FIR_HEAD + 4U * (size_t)i * tap_quads(fir),
             fir->taps + (size_t)i * fir->n_taps, fir->n_taps * sizeof(float));
    }
  }
  free(fir->taps);
  fir->taps = NULL;
}

static void
fir_pack(const void* const node, uint32_t* const words)
{
  if (((const FirNode*)node)->kernel) {
    partition_kernel_pack(0.0F, 1.0F, 1U, words);
  }
}

static const FxKernel fir_kernel = {
  .file = "fx_fir.cu",
  .shape = fir_kernel_shape,
  .data = fir_data,
  .pack = fir_pack,
};

const FxInfo fx_fir_info = {
  .name = "fir",
  .summary = "Linear-phase filter, or coefficients from a file",
  .params = fir_params,
  .n_params = ARRAY_LEN(fir_params),
  .tolerance = 1e-6,
  .tolerance_reason = "rounding of sums and of Fourier transforms",
  .create = fir_create,
  .load = fir_load,
  .destroy = fir_destroy,
  .unit_init = fir_unit_init,
  .run = fir_run,
  .kernel = &fir_kernel,
};
