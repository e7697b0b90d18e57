// SPDX-License-Identifier: GPL-3.0-or-later
// History, prediction and fade of a bridge.  Outputs are predicted in groups of BRIDGE_LANES, one
// in each lane of the vectors that the compiler makes of the inner loops: what one output gets does
// not depend on the others.

#include "bridge.h"

#include "dry_line.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOM           0.05F // above the bound
#define LINE_BYTES     64U
#define LONGEST_S      0.02
#define LONGEST_BLOCKS 3U
#define PIECE_FRAMES   64U    // continued at once
#define SHARE          0.25   // of the period, that all predictions may take
#define STEP_S         1.2e-9 // of one frame of one stage in one output (bench callback)
// A stage whose errors have so much less energy than the signal has only rounding left.
#define LEAST_ENERGY 1e-9F

typedef float Lanes __attribute__((vector_size(4 * BRIDGE_LANES)));

/// One output in a gap.
typedef struct Span {
  double coefficients[BRIDGE_MAX_ORDER]; ///< Of the frame `order` - i frames before
  double past[BRIDGE_MAX_ORDER];         ///< The last frames of what is continued, oldest first
  float bound;                           ///< Largest magnitude in the history
} Span;

struct Bridge {
  uint32_t n_channels, order;
  uint32_t n_frames; ///< Length of a bridge
  uint32_t n_done;   ///< Of the present one; n_frames: there is none
  DryLine* history;
  Span* spans;                 ///< [n_channels]
  float heard[BRIDGE_HISTORY]; ///< Of one output
  Lanes taper[BRIDGE_HISTORY];
  Lanes forward[BRIDGE_HISTORY], backward[BRIDGE_HISTORY]; ///< Errors of prediction
};

static uint32_t
choose_order(const double rate_hz, const uint32_t n_channels, const uint32_t block_frames)
{
  const double usable_s = SHARE * block_frames / rate_hz;
  uint32_t order = BRIDGE_MAX_ORDER;
  while (order > 1U && order * (double)n_channels * BRIDGE_HISTORY * STEP_S > usable_s) {
    order /= 2U;
  }
  return order * (double)n_channels * BRIDGE_HISTORY * STEP_S > usable_s ? 0U : order;
}

/// Zeroed, and ours page by page, as in period_setup.c.
static void*
make_memory(const size_t n_bytes)
{
  const size_t n_lines = (n_bytes + LINE_BYTES - 1U) / LINE_BYTES;
  void* const memory = aligned_alloc(LINE_BYTES, n_lines * LINE_BYTES);
  return memory ? memset(memory, 0, n_lines * LINE_BYTES) : NULL;
}

Status
bridge_new(const double rate_hz, const uint32_t n_channels, const uint32_t block_frames,
           Bridge** const out, Error* const error)
{
  Bridge* const bridge = make_memory(sizeof(Bridge));
  Span* const spans = make_memory((n_channels + 1U) * sizeof(Span)); // never of no size
  DryLine* history = NULL;
  Status status =
      bridge && spans ? STATUS_OK : error_set(error, STATUS_NO_MEM, "no memory for late blocks");
  status = status ? status : dry_line_new(n_channels, BRIDGE_HISTORY, &history, error);
  if (status) {
    free(spans);
    free(bridge);
    return status;
  }
  const double longest = fmin(LONGEST_S * rate_hz, (double)LONGEST_BLOCKS * block_frames);
  const uint32_t n_frames = longest > 1.0 ? (uint32_t)longest : 1U;
  bridge->n_channels = n_channels;
  bridge->order = choose_order(rate_hz, n_channels, block_frames);
  bridge->n_frames = bridge->n_done = n_frames;
  bridge->history = history;
  bridge->spans = spans;
  for (uint32_t i = 0; i < BRIDGE_HISTORY; ++i) {
    const float way = ((float)i + 0.5F) / BRIDGE_HISTORY;
    bridge->taper[i] += way * (1.0F - way);
  }
  *out = bridge;
  return STATUS_OK;
}

void
bridge_free(Bridge* const bridge)
{
  if (bridge) {
    dry_line_free(bridge->history);
    free(bridge->spans);
    free(bridge);
  }
}

uint32_t
bridge_order(const Bridge* const bridge)
{
  return bridge->order;
}

// ---- in every block ----

void
bridge_hear(Bridge* const bridge, const uint32_t channel, const float* const row,
            const uint32_t n_frames)
{
  const uint32_t n = n_frames < BRIDGE_HISTORY ? n_frames : BRIDGE_HISTORY;
  dry_line_feed(bridge->history, channel, row ? row + (n_frames - n) : NULL, n);
}

void
bridge_advance(Bridge* const bridge, const uint32_t n_frames)
{
  dry_line_advance(bridge->history, n_frames < BRIDGE_HISTORY ? n_frames : BRIDGE_HISTORY);
  const uint32_t left = bridge->n_frames - bridge->n_done;
  bridge->n_done += n_frames < left ? n_frames : left;
}

// ---- in a gap ----

/// Frames that the next one is made of.
static uint32_t
past_frames(const Bridge* const bridge)
{
  return bridge->order ? bridge->order : 1U;
}

void
bridge_begin(Bridge* const bridge)
{
  bridge->n_done = 0;
}

bool
bridge_is_open(const Bridge* const bridge)
{
  return bridge->n_done < bridge->n_frames;
}

/// What an output had in addition to its fallback, into lane `lane` of both errors; at most 1, so
/// that no square overflows.
static void
take_difference(Bridge* const bridge, const uint32_t channel, const uint32_t lane,
                const float* const fallback)
{
  Span* const span = &bridge->spans[channel];
  float* const difference = bridge->heard;
  float largest = 0.0F;
  span->bound = 0.0F;
  dry_line_read(bridge->history, channel, 0, bridge->heard, BRIDGE_HISTORY);
  for (uint32_t i = 0; i < BRIDGE_HISTORY; ++i) {
    span->bound = fmaxf(span->bound, fabsf(bridge->heard[i]));
    difference[i] = bridge->heard[i] - fallback[i];
    largest = fmaxf(largest, fabsf(difference[i]));
  }
  const uint32_t n_past = past_frames(bridge);
  for (uint32_t i = 0; i < n_past; ++i) {
    span->past[i] = (double)difference[BRIDGE_HISTORY - n_past + i];
  }
  const float scale = largest > FLT_MIN ? 1.0F / largest : 0.0F;
  for (uint32_t i = 0; i < BRIDGE_HISTORY; ++i) {
    bridge->forward[i][lane] = bridge->backward[i][lane] = difference[i] * scale;
  }
}

/// The reflection coefficients of stage k.
static void
reflect(const Bridge* const bridge, const uint32_t k, Lanes* const energy, Lanes* const reflection)
{
  const uint32_t n = BRIDGE_HISTORY - 1U - k;
  const Lanes* const taper = bridge->taper + (k + 1U) / 2U;
  Lanes product = { 0.0F };
  Lanes sum = { 0.0F };
  for (uint32_t i = 0; i < n; ++i) {
    const Lanes f = bridge->forward[i + k + 1U];
    const Lanes b = bridge->backward[i + k];
    product += taper[i] * f * b;
    sum += taper[i] * (f * f + b * b);
  }
  *energy = k ? *energy : sum;
  for (uint32_t l = 0; l < BRIDGE_LANES; ++l) {
    const bool has_signal = sum[l] > LEAST_ENERGY * (*energy)[l];
    (*reflection)[l] = has_signal ? -2.0F * product[l] / sum[l] : 0.0F;
  }
}

/// The errors of the stage behind k.
static void
filter(Bridge* const bridge, const uint32_t k, const Lanes* const reflection)
{
  for (uint32_t i = BRIDGE_HISTORY - 1U; i > k; --i) {
    const Lanes f = bridge->forward[i];
    const Lanes b = bridge->backward[i - 1U];
    bridge->forward[i] = f + *reflection * b;
    bridge->backward[i] = b + *reflection * f;
  }
}

/// Levinson's step from the coefficients of order k, a[0] = 1, to those of order k + 1.
static void
step_up(Lanes* const a, const uint32_t k, const Lanes* const reflection)
{
  Lanes before[BRIDGE_MAX_ORDER + 1U];
  memcpy(before, a, (k + 1U) * sizeof(Lanes));
  for (uint32_t j = 1; j <= k; ++j) {
    a[j] = before[j] + *reflection * before[k + 1U - j];
  }
  a[k + 1U] = *reflection;
}

void
bridge_predict(Bridge* const bridge, const uint32_t first,
               const float (*const fallback)[BRIDGE_HISTORY])
{
  const uint32_t order = bridge->order;
  const uint32_t left = bridge->n_channels - first;
  const uint32_t n_lanes = left < BRIDGE_LANES ? left : BRIDGE_LANES;
  Lanes a[BRIDGE_MAX_ORDER + 1U];
  Lanes energy = { 0.0F };
  for (uint32_t l = 0; l < n_lanes; ++l) {
    take_difference(bridge, first + l, l, fallback[l]);
  }
  for (uint32_t k = 0; k < order; ++k) {
    Lanes reflection;
    reflect(bridge, k, &energy, &reflection);
    step_up(a, k, &reflection);
    filter(bridge, k, &reflection);
  }
  for (uint32_t l = 0; l < n_lanes; ++l) {
    double* const coefficients = bridge->spans[first + l].coefficients;
    coefficients[0] = 1.0; // of order 0: hold
    for (uint32_t i = 0; i < order; ++i) {
      coefficients[i] = -(double)a[order - i][l];
    }
  }
}

/// The next n frames of what is continued, behind the n_past ones that `values` begins with.
static void
continue_past(const Span* const span, const uint32_t n_past, const uint32_t n, double* const values)
{
  for (uint32_t i = 0; i < n; ++i) {
    double even = 0.0;
    double odd = 0.0;
    for (uint32_t j = 0; j + 1U < n_past; j += 2U) {
      even += span->coefficients[j] * values[i + j];
      odd += span->coefficients[j + 1U] * values[i + j + 1U];
    }
    const uint32_t last = n_past - 1U;
    values[i + n_past] =
        even + odd + (n_past % 2U ? span->coefficients[last] * values[i + last] : 0.0);
  }
}

/// Up to the bound as it is, above it along a curve to 0.4 dB more, as in guard.h: no corner is
/// heard.
static float
limit(const float x, const float bound)
{
  const float above = fabsf(x) - bound;
  if (above <= 0.0F) {
    return x;
  }
  const float room = ROOM * bound;
  const float left = fmaxf(0.0F, 1.0F - 0.5F * above / room);
  return copysignf(bound + room * (1.0F - left * left), x);
}

void
bridge_add(Bridge* const bridge, const uint32_t channel, float* const row, const uint32_t n_frames)
{
  Span* const span = &bridge->spans[channel];
  const uint32_t n_past = past_frames(bridge);
  const uint32_t left = bridge->n_frames - bridge->n_done;
  const uint32_t n_left = n_frames < left ? n_frames : left;
  const double step = 1.0 / bridge->n_frames;
  double values[BRIDGE_MAX_ORDER + PIECE_FRAMES];
  for (uint32_t first = 0; first < n_left; first += PIECE_FRAMES) {
    const uint32_t n = n_left - first < PIECE_FRAMES ? n_left - first : PIECE_FRAMES;
    memcpy(values, span->past, n_past * sizeof(double));
    continue_past(span, n_past, n, values);
    memcpy(span->past, values + n, n_past * sizeof(double));
    for (uint32_t i = 0; i < n; ++i) {
      const double way = (bridge->n_done + first + i + 1U) * step;
      const double weight = 1.0 - way * way * (3.0 - 2.0 * way);
      const float fallback = row[first + i];
      const float sum = (float)((double)fallback + weight * values[n_past + i]);
      row[first + i] = limit(sum, fmaxf(span->bound, fabsf(fallback)));
    }
  }
}
