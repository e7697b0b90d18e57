// SPDX-License-Identifier: GPL-3.0-or-later
// The set-up of the dynamics effects, and their loops over channels.  The inner loops are separate
// functions because gcc 12 does not vectorise them when it inlines them: it then cannot prove that
// the arrays do not overlap.

#include "sidechain.h"

#include "engine/base/simd.h"

// Two kinds of groups: for few channels, a thread handles one frame of all of them; for many, more
// threads share the work.
#define FEW_CHANNELS 8U
#define FEW_THREADS  64U
#define MANY_THREADS 256U

const FxSide sidechain_input = { .name = "sidechain" };

Sidechain
sidechain_new(const FxSetup* const setup, const bool is_linked, FxShape* const shape)
{
  const uint32_t n_channels = is_linked ? setup->n_in : 1U;
  shape->unit_in = shape->unit_out = n_channels;
  return (Sidechain){ .rate_hz = setup->rate_hz,
                      .n_channels = n_channels,
                      .ramp_frames = fx_ramp_frames(setup->rate_hz) };
}

void
sidechain_kernel_shape(const Sidechain* const sidechain, const char* const entry,
                       const uint32_t param_words, const uint64_t state_words,
                       FxKernelShape* const shape)
{
  const bool are_few = sidechain->n_channels <= FEW_CHANNELS;
  *shape = (FxKernelShape){
    .sizes = { { "TILE", SIDECHAIN_CHUNK },
               { "CHANNELS", are_few ? FEW_CHANNELS : FX_MAX_CHANNELS } },
    .passes = { { entry, are_few ? FEW_THREADS : MANY_THREADS, 1U, 1U } },
    .n_passes = 1,
    .param_words = param_words,
    .state_words = state_words,
  };
}

VECTOR_CLONES static void
raise_peak(float* const restrict peak, const float* const restrict in, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float magnitude = fabsf(in[i]);
    peak[i] = magnitude > peak[i] ? magnitude : peak[i];
  }
}

VECTOR_CLONES static void
multiply(float* const restrict out, const float* const restrict in,
         const float* const restrict gain, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    out[i] = in[i] * gain[i];
  }
}

void
sidechain_peak(const FxUnit* const io, const uint32_t n_channels, const uint32_t first,
               float* const peak, const uint32_t n_frames)
{
  const bool is_keyed = io->side && io->side[0];
  const float* const* const from = is_keyed ? io->side : io->in;
  memset(peak, 0, n_frames * sizeof(float));
  for (uint32_t c = 0; c < n_channels; ++c) {
    raise_peak(peak, from[c] + first, n_frames);
  }
}

void
sidechain_apply(const FxUnit* const io, const uint32_t n_channels, const uint32_t first,
                const float* const gain, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < n_channels; ++c) {
    multiply(io->out[c] + first, io->in[c] + first, gain, n_frames);
  }
}
