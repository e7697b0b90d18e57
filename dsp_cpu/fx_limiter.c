// SPDX-License-Identifier: GPL-3.0-or-later
/**
   limiter: no output sample is above the ceiling.

   The gain that each frame needs, ceiling / max(|x|, ceiling), goes through lookahead.h, which
   lowers it before the frame reaches the output; a delay line delays the signal by the look-ahead,
   which is the latency.  Below the ceiling the gain is exactly 1 and samples pass unchanged.

   - It limits samples.  The analog signal between two samples may still exceed the ceiling: this is
     no true-peak limiter.
   - A final clamp removes the rounding error, which may be one unit in the last place.
   - The ceiling ramps.  A frame is limited to the ceiling at the time of its input, so a change is
     audible after the look-ahead.  A new release changes only the speed of the gain.
   - Linked: one gain for all channels, set by the loudest one.
*/

#include "delay_line.h"
#include "lookahead.h"
#include "sidechain.h"

#include "dsp_cpu/shared/decibel.h"
#include "dsp_cpu/shared/limiter_words.h"
#include "engine/base/simd.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <assert.h>
#include <stdlib.h>

enum { CEILING, RELEASE, LOOKAHEAD, LINK, N_PARAMS };

// clang-format off
static const FxParam limiter_params[] = {
  //              id           kind          unit         min     max  initial
  [CEILING]   = { "ceiling",   PARAM_NUMBER, UNIT_DB,   -60.0,   20.0,    -0.3,                                         .help = "Level that no sample exceeds" },
  [RELEASE]   = { "release",   PARAM_NUMBER, UNIT_MS,     1.0, 5000.0,    50.0, .taper = TAPER_LOG,                     .help = "Time constant of coming back" },
  [LOOKAHEAD] = { "lookahead", PARAM_NUMBER, UNIT_MS,     0.0,   20.0,     1.5,                     .structural = true, .help = "Time by which the gain falls before a peak; this is the latency" },
  [LINK]      = { "link",      PARAM_SWITCH, UNIT_NONE,   0.0,    0.0,     1.0,                     .structural = true, .help = "One gain for all channels, from the loudest; off: each on its own" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct LimiterNode {
  Sidechain sidechain;
  uint32_t lookahead_frames;
  uint32_t ring_frames;
  // Targets
  float ceiling_lin;
  double release_pole;
} LimiterNode;

/// Followed by float rings[n_channels + 1][ring_frames]: the channels and the ceiling.
typedef struct LimiterUnit {
  DelayLine line; // shared: all rings run in lock step
  Ramp ceiling_lin;
  float ceiling_from; // start of the current ramp
  Lookahead ahead;
  uint64_t memory[]; // [lookahead_words()]
} LimiterUnit;

static float*
ring_of(const LimiterNode* const node, LimiterUnit* const unit, const uint32_t index)
{
  float* const rings = (float*)(unit->memory + lookahead_words(node->lookahead_frames));
  return rings + (size_t)index * node->ring_frames;
}

/// The largest float that does not exceed the level.
static float
rounded_down(const double level)
{
  const float nearest = (float)level;
  return (double)nearest > level ? nextafterf(nearest, 0.0F) : nearest;
}

static void
limiter_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  LimiterNode* const limiter = node;
  if (param == CEILING) {
    limiter->ceiling_lin = rounded_down(pow(10.0, value / 20.0));
  } else if (param == RELEASE) {
    limiter->release_pole = sidechain_pole(value, limiter->sidechain.rate_hz);
  }
  limiter->sidechain.ramp_frames = ramp_frames;
}

static Status
limiter_create(const FxSetup* const setup, FxShape* const shape, void** const node,
               Error* const error)
{
  const double frames = rint(setup->values[LOOKAHEAD] * 1e-3 * setup->rate_hz);
  if (frames > LOOKAHEAD_MAX_FRAMES) {
    return error_set(error, STATUS_LIMIT, "limiter: a lookahead of %g frames; at most %u", frames,
                     LOOKAHEAD_MAX_FRAMES);
  }
  LimiterNode* const limiter = calloc(1, sizeof(LimiterNode));
  if (!limiter) {
    return error_set(error, STATUS_NO_MEM, "limiter: out of memory");
  }
  limiter->sidechain = sidechain_new(setup, setup->values[LINK] != 0.0, shape);
  limiter->lookahead_frames = (uint32_t)frames;
  limiter->ring_frames = limiter->lookahead_frames + SIDECHAIN_CHUNK; // the write precedes the read
  for (uint32_t p = 0; p < N_PARAMS; ++p) {
    limiter_set(limiter, p, setup->values[p], limiter->sidechain.ramp_frames);
  }
  shape->latency_frames = limiter->lookahead_frames;
  shape->tail_frames = limiter->lookahead_frames;
  shape->unit_bytes =
      sizeof(LimiterUnit) + lookahead_words(limiter->lookahead_frames) * sizeof(uint64_t) +
      (limiter->sidechain.n_channels + 1U) * (size_t)limiter->ring_frames * sizeof(float);
  *node = limiter;
  return STATUS_OK;
}

static void
limiter_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  const LimiterNode* const limiter = node;
  LimiterUnit* const unit = state;
  unit->line = delay_line_at_start(limiter->ring_frames);
  unit->ceiling_lin = ramp_at(limiter->ceiling_lin);
  unit->ceiling_from = limiter->ceiling_lin;
  lookahead_init(&unit->ahead, unit->memory, limiter->lookahead_frames);
}

/// A ramp that changes direction may overshoot: clamp the ceiling to the ends of the ramp.
static float
between_ends(const LimiterUnit* const unit, const float ceiling)
{
  const float low = fminf(unit->ceiling_from, unit->ceiling_lin.target);
  const float high = fmaxf(unit->ceiling_from, unit->ceiling_lin.target);
  return fminf(fmaxf(ceiling, low), high);
}

static void
aim(const LimiterNode* const node, LimiterUnit* const unit)
{
  if (node->ceiling_lin != unit->ceiling_lin.target) {
    unit->ceiling_from = between_ends(unit, ramp_value(&unit->ceiling_lin));
    ramp_aim(&unit->ceiling_lin, node->ceiling_lin, node->sidechain.ramp_frames);
  }
}

static void
fill_ceiling(LimiterUnit* const unit, float* const ceiling, const uint32_t n_frames)
{
  const bool is_moving = unit->ceiling_lin.frames_left > 0U;
  ramp_fill(&unit->ceiling_lin, ceiling, n_frames);
  for (uint32_t i = 0; is_moving && i < n_frames; ++i) {
    ceiling[i] = between_ends(unit, ceiling[i]);
  }
}

/// Convert peaks to the required gains, in place.
VECTOR_CLONES static void
required(float* const restrict peak, const float* const restrict ceiling, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    peak[i] = ceiling[i] / (peak[i] > ceiling[i] ? peak[i] : ceiling[i]);
  }
}

VECTOR_CLONES static void
limit(float* const restrict io, const float* const restrict gain,
      const float* const restrict ceiling, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float x = io[i] * gain[i];
    const float not_above = x > ceiling[i] ? ceiling[i] : x;
    io[i] = not_above < -ceiling[i] ? -ceiling[i] : not_above;
  }
}

static void
run_chunk(const FxUnit* const io, const uint32_t first, const uint32_t n_frames)
{
  const LimiterNode* const node = io->node;
  LimiterUnit* const unit = io->state;
  const uint32_t n_channels = node->sidechain.n_channels;
  const uint32_t delay = node->lookahead_frames + n_frames; // the line already has the chunk
  float gain[SIDECHAIN_CHUNK], ceiling[SIDECHAIN_CHUNK];
  sidechain_peak(io, n_channels, first, gain, n_frames);
  fill_ceiling(unit, ceiling, n_frames);
  required(gain, ceiling, n_frames);
  lookahead_run(&unit->ahead, unit->memory, node->release_pole, gain, n_frames);

  delay_line_put(&unit->line, ring_of(node, unit, n_channels), ceiling, n_frames);
  for (uint32_t c = 0; c < n_channels; ++c) {
    delay_line_put(&unit->line, ring_of(node, unit, c), io->in[c] + first, n_frames);
  }
  delay_line_advance(&unit->line, n_frames);
  delay_line_get(&unit->line, ring_of(node, unit, n_channels), delay, ceiling, n_frames);
  for (uint32_t c = 0; c < n_channels; ++c) {
    float* const out = io->out[c] + first;
    delay_line_get(&unit->line, ring_of(node, unit, c), delay, out, n_frames);
    limit(out, gain, ceiling, n_frames);
  }
}

static void
limiter_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    aim(units[u].node, units[u].state);
    for (uint32_t first = 0; first < n_frames; first += SIDECHAIN_CHUNK) {
      const uint32_t left = n_frames - first;
      run_chunk(&units[u], first, left < SIDECHAIN_CHUNK ? left : SIDECHAIN_CHUNK);
    }
  }
}

static_assert(LIMITER_STATE_SUMS + 4 <= LIMITER_STATE_RINGS, "the rings begin behind the sums");

static float
limiter_reduction_db(const void* const state)
{
  const float gain = lookahead_gain(&((const LimiterUnit*)state)->ahead);
  return -decibel_from_power(gain * gain);
}

static void
limiter_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  const LimiterNode* const limiter = node;
  const uint64_t ring_words = limiter->lookahead_frames + 1U + SIDECHAIN_CHUNK;
  const uint64_t n_rings = (uint64_t)LIMITER_RING_CHANNEL + limiter->sidechain.n_channels;
  sidechain_kernel_shape(&limiter->sidechain, "fx_limiter", LIMITER_PARAM_WORDS,
                         LIMITER_STATE_RINGS + n_rings * ring_words, shape);
}

static void
limiter_pack(const void* const node, uint32_t* const words)
{
  const LimiterNode* const limiter = node;
  sidechain_pack(&words[LIMITER_CEILING], limiter->ceiling_lin);
  sidechain_pack(&words[LIMITER_RELEASE], (float)(1.0 - limiter->release_pole));
  words[LIMITER_RAMP_FRAMES] = limiter->sidechain.ramp_frames;
  words[LIMITER_LOOKAHEAD] = limiter->lookahead_frames;
}

static const FxKernel limiter_kernel = {
  .file = "fx_limiter.cu",
  .shape = limiter_kernel_shape,
  .pack = limiter_pack,
};

const FxInfo fx_limiter_info = {
  .name = "limiter",
  .summary = "Let no sample exceed a ceiling, by looking ahead",
  .params = limiter_params,
  .n_params = ARRAY_LEN(limiter_params),
  .tolerance = 1e-6,
  .tolerance_reason = "one rounding of the gain and one of the product",
  .create = limiter_create,
  .destroy = free,
  .unit_init = limiter_unit_init,
  .set = limiter_set,
  .run = limiter_run,
  .reduction_db = limiter_reduction_db,
  .kernel = &limiter_kernel,
};
