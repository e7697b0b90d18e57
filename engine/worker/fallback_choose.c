// SPDX-License-Identifier: GPL-3.0-or-later
// A copy of the rack gets one impulse in each input, at different times so that two mixed inputs
// do not cancel.  The magnitude of each output is measured at steps of a sixth of an octave by
// Goertzel's algorithm (G. Goertzel, "An Algorithm for the Evaluation of Finite
// Trigonometric Series", American Mathematical Monthly 65(1), 1958).

#include "fallback_choose.h"

#include "player.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUN_S          0.1   // of the response: 10 Hz apart
#define IMPULSE        0.5F  // under the thresholds of most limiters
#define APART_FRAMES   167U  // impulses of neighbouring inputs; 3.5 ms at 48 kHz
#define SPREAD_FRAMES  1009U // all of them; no multiple of the above
#define FIRST_HZ       20.0
#define LAST_HZ        20000.0
#define LOWS_HZ        150.0
#define PER_OCTAVE     6.0
#define LACKING        0.1 // of the largest magnitude above LOWS_HZ
#define MAX_MAGNITUDES 64U

/// One output's filters, one for each frequency.
typedef struct Spectrum {
  double last[MAX_MAGNITUDES], before[MAX_MAGNITUDES];
} Spectrum;

struct FallbackProbe {
  Player player;
  uint32_t n_in, n_out, block_frames;
  uint64_t frame, n_frames; ///< Of the next block; of the run
  float* samples;           ///< [n_in + n_out][block_frames]
  float *in[FX_MAX_CHANNELS], *out[FX_MAX_CHANNELS];
  double turn[MAX_MAGNITUDES]; ///< 2 cos of the angle of a frame
  uint32_t n_magnitudes;
  Spectrum* spectra; ///< [n_out]
  uint64_t* reached; ///< [n_rows][n_words] inputs that lead to each row, a bit each
  uint32_t n_words;
};

// ---- which inputs lead to which outputs ----

static uint64_t*
reached(const FallbackProbe* const probe, const uint32_t row)
{
  return probe->reached + (size_t)row * probe->n_words;
}

static void
join(const FallbackProbe* const probe, uint64_t* const sum, const uint32_t row)
{
  for (uint32_t w = 0; w < probe->n_words; ++w) {
    sum[w] |= reached(probe, row)[w];
  }
}

static void
walk_mix(const FallbackProbe* const probe, const StageStep* const step, uint64_t* const sum)
{
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    const MixRow* const row = &step->rows[r];
    memset(sum, 0, probe->n_words * sizeof(uint64_t));
    for (uint32_t t = 0; t < row->n_terms; ++t) {
      join(probe, sum, row->terms[t].from);
    }
    memcpy(reached(probe, row->to), sum, probe->n_words * sizeof(uint64_t));
  }
}

/// All inputs of a unit lead to all of its outputs.
static void
walk_batch(const FallbackProbe* const probe, const StageStep* const step, uint64_t* const sum)
{
  for (uint32_t u = 0; u < step->n_units; ++u) {
    const BatchUnit* const unit = &step->units[u];
    memset(sum, 0, probe->n_words * sizeof(uint64_t));
    for (uint32_t r = 0; r < unit->n_in; ++r) {
      join(probe, sum, unit->in_rows[r]);
    }
    for (uint32_t r = 0; r < unit->n_out; ++r) {
      memcpy(reached(probe, unit->out_rows[r]), sum, probe->n_words * sizeof(uint64_t));
    }
  }
}

/// Follow the inputs through the steps, in their order: rows are used again.
static void
walk(const FallbackProbe* const probe)
{
  const Plan* const plan = probe->player.plan;
  uint64_t sum[(FX_MAX_CHANNELS + 63U) / 64U];
  for (uint32_t c = 0; c < probe->n_in; ++c) {
    reached(probe, c)[c / 64U] |= UINT64_C(1) << c % 64U;
  }
  for (uint32_t s = 0; s < plan->n_steps; ++s) {
    if (plan->steps[s].kind == STEP_MIX) {
      walk_mix(probe, &plan->steps[s], sum);
    } else {
      walk_batch(probe, &plan->steps[s], sum);
    }
  }
}

static bool
has_own_input(const FallbackProbe* const probe, const uint32_t c)
{
  const uint32_t own = probe->n_in == 1U ? 0U : c;
  return own < probe->n_in && (reached(probe, probe->n_in + c)[own / 64U] >> own % 64U & 1U) != 0U;
}

// ---- the response ----

static double
frequency(const uint32_t m)
{
  return FIRST_HZ * exp2(m / PER_OCTAVE);
}

static void
hear(const FallbackProbe* const probe, Spectrum* const spectrum, const float* const out)
{
  for (uint32_t i = 0; i < probe->block_frames; ++i) {
    const double x = isfinite(out[i]) ? (double)out[i] : 0.0;
    for (uint32_t m = 0; m < probe->n_magnitudes; ++m) {
      const double next = x + probe->turn[m] * spectrum->last[m] - spectrum->before[m];
      spectrum->before[m] = spectrum->last[m];
      spectrum->last[m] = next;
    }
  }
}

bool
fallback_probe_run(FallbackProbe* const probe)
{
  for (uint32_t c = 0; c < probe->n_in; ++c) {
    const uint64_t at = (uint64_t)c * APART_FRAMES % SPREAD_FRAMES;
    memset(probe->in[c], 0, probe->block_frames * sizeof(float));
    if (at >= probe->frame && at < probe->frame + probe->block_frames) {
      probe->in[c][at - probe->frame] = IMPULSE;
    }
  }
  player_run(&probe->player, NULL, probe->frame, probe->block_frames, probe->in, probe->out);
  for (uint32_t c = 0; c < probe->n_out; ++c) {
    hear(probe, &probe->spectra[c], probe->out[c]);
  }
  probe->frame += probe->block_frames;
  return probe->frame >= probe->n_frames;
}

static double
magnitude(const FallbackProbe* const probe, const Spectrum* const spectrum, const uint32_t m)
{
  const double last = spectrum->last[m];
  const double before = spectrum->before[m];
  return sqrt(fmax(0.0, last * last + before * before - probe->turn[m] * last * before)) /
         (double)IMPULSE;
}

// ---- the copy ----

/// Plan the rack by itself, on the CPU.
static Status
plan_copy(const PlanRequest* const like, Plan** const plan, Error* const error)
{
  const PlanRequest request = { .rack = like->rack,
                                .format = like->format,
                                .loader = like->loader,
                                .backend = &backend_cpu,
                                .gpu = &backend_cpu,
                                .reason = PLACE_OPTION,
                                .keeps_files = true,
                                .max_bytes = like->max_bytes,
                                .held_bytes = like->held_bytes };
  PlanFault fault;
  return plan_new(&request, plan, &fault, error);
}

static bool
make_room(FallbackProbe* const probe, const Format* const format)
{
  const Plan* const plan = probe->player.plan;
  probe->n_in = plan->n_in;
  probe->n_out = plan->n_out;
  probe->block_frames = format->block_frames;
  probe->n_words = (plan->n_in + 63U) / 64U;
  const size_t n_rows = (size_t)plan->n_in + plan->n_out;
  const size_t n_bytes = (n_rows * format->block_frames * sizeof(float) + 64U) / 64U * 64U;
  probe->samples = aligned_alloc(64U, n_bytes);
  probe->spectra = calloc(plan->n_out + 1U, sizeof(Spectrum));
  probe->reached = calloc((size_t)plan->n_rows * probe->n_words + 1U, sizeof(uint64_t));
  if (!probe->samples || !probe->spectra || !probe->reached) {
    return false;
  }
  for (uint32_t r = 0; r < n_rows; ++r) {
    float* const row = probe->samples + (size_t)r * format->block_frames;
    *(r < plan->n_in ? &probe->in[r] : &probe->out[r - plan->n_in]) = row;
  }
  for (uint32_t m = 0; frequency(m) < fmin(LAST_HZ, 0.45 * format->rate_hz); ++m) {
    probe->turn[m] = 2.0 * cos(2.0 * M_PI * frequency(m) / format->rate_hz);
    probe->n_magnitudes = m + 1U;
  }
  return true;
}

Status
fallback_probe_new(const PlanRequest* const request, FallbackProbe** const out, Error* const error)
{
  const Format* const format = request->format;
  FallbackProbe* const probe = calloc(1, sizeof(FallbackProbe));
  if (!probe) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Plan** const plan = &probe->player.plan;
  Status status = plan_copy(request, plan, error);
  if (!status && (player_init(&probe->player, error) || !make_room(probe, format))) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  if (status) {
    fallback_probe_free(probe);
    return status;
  }
  probe->player.rate_hz = format->rate_hz;
  probe->n_frames = (*plan)->latency_frames + SPREAD_FRAMES + (uint64_t)(RUN_S * format->rate_hz);
  walk(probe);
  plan_begin(*plan);
  *out = probe;
  return STATUS_OK;
}

void
fallback_probe_free(FallbackProbe* const probe)
{
  if (probe) {
    player_clear(&probe->player);
    free(probe->samples);
    free(probe->spectra);
    free(probe->reached);
    free(probe);
  }
}

// ---- the choice ----

/// Choose from the response alone; the caller applies the document's statements.
static Fallback
choose_auto(const FallbackProbe* const probe, const uint32_t c)
{
  double lows = 0.0;
  double highs = 0.0;
  double energy = 0.0;
  for (uint32_t m = 0; m < probe->n_magnitudes; ++m) {
    const double value = magnitude(probe, &probe->spectra[c], m);
    double* const largest = frequency(m) < LOWS_HZ ? &lows : &highs;
    *largest = fmax(*largest, value);
    energy += value * value / probe->n_magnitudes;
  }
  const float response = (float)fmin(1.0, sqrt(energy));
  if (!has_own_input(probe, c)) {
    return (Fallback){ .response = response, .why = FALLBACK_NO_INPUT };
  }
  if (highs > 0.0 && lows <= LACKING * highs) {
    return (Fallback){ .response = response, .why = FALLBACK_NO_LOWS };
  }
  return (Fallback){ response, response, .follows = true, .why = FALLBACK_LEVEL };
}

/// Set the level that the rack or the option gives an output; false when they leave it to `auto`.
static bool
choose_fixed(const Rack* const rack, const RackFallback* const on_late, const uint32_t c,
             Fallback* const fallback)
{
  const RackFallback* const word = rack_find_fallback(rack, c + 1U);
  const RackFallback* const wanted = word ? word : on_late;
  if (wanted->is_fixed) {
    fallback->level = (float)pow(10.0, wanted->level_db / 20.0);
    fallback->follows = false;
    fallback->why = word ? FALLBACK_RACK : FALLBACK_OPTION;
  }
  return wanted->is_fixed;
}

void
fallback_measure(const FallbackProbe* const probe, const uint32_t n_out, Fallbacks* const measured)
{
  measured->n = n_out;
  for (uint32_t c = 0; c < n_out; ++c) {
    measured->of[c] = probe ? choose_auto(probe, c) : (Fallback){ .why = FALLBACK_UNKNOWN };
  }
}

void
fallback_outdate(const uint32_t n_out, Fallbacks* const measured)
{
  const bool is_known = measured->n == n_out;
  measured->n = n_out;
  for (uint32_t c = 0; c < n_out; ++c) {
    if (is_known) {
      measured->of[c].response = 0.0F;
    } else {
      measured->of[c] = (Fallback){ .follows = true, .why = FALLBACK_LEVEL };
    }
  }
}

bool
fallback_choose(const Rack* const rack, const RackFallback on_late, const Fallbacks* const measured,
                Fallbacks* const fallbacks)
{
  bool is_any_auto = false;
  *fallbacks = *measured;
  for (uint32_t c = 0; c < measured->n; ++c) {
    is_any_auto |= !choose_fixed(rack, &on_late, c, &fallbacks->of[c]);
  }
  return is_any_auto;
}
