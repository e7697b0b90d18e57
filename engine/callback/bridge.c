// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of the bridge in the order of their use: history, analysis, continuation, limit.
// BRIDGE_LANES outputs form a group, one output per lane of a vector.  Lanes never mix: the
// samples of an output do not depend on its neighbours.

#include "bridge.h"

#include "dry_line.h"

#include "engine/base/rt.h"
#include "engine/contract/guard.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOM           0.05F // of the bound, by which limit() may exceed it: 0.42 dB
#define LONGEST_S      0.02
#define LONGEST_BLOCKS 3U
#define PIECE_FRAMES   64U // extrapolated in one pass, on the stack
// Below this fraction of the signal's energy, prediction errors are rounding noise.
#define LEAST_ENERGY 1e-9F

// The cost model: seconds for one group.  Measured on one core of an AMD EPYC at 2.45 GHz with the
// 4-lane vectors of baseline x86-64, plus 30 %.  The cost per played frame includes the fallback
// itself.
#define GROUP_S      120e-9 // per group
#define PLAYED_S     8e-9   // per frame of the block
#define KNOWN_S      2e-9   // per frame before the gap
#define PREPARED_S   4e-9   // per frame before the gap, if the order is above 0
#define STAGE_S      1.9e-9 // per frame before the gap and order
#define CONTINUED_S  6e-9   // per frame of the block, if the order is above 0
#define MULTIPLIED_S 4e-10  // per frame of the block and order

typedef float Lanes __attribute__((vector_size(4 * BRIDGE_LANES)));
typedef double Pair __attribute__((vector_size(16)));

/// A frame of one group in double precision.  Baseline x86-64 and arm64 have registers for vectors
/// of this size; the compiler would pass wider ones through memory.
typedef struct WideLanes {
  Pair half[2];
} WideLanes;

/// The state of BRIDGE_LANES outputs.
typedef struct Group {
  WideLanes past[BRIDGE_MAX_ORDER];         ///< Newest `order` (at least 1) frames, oldest first
  WideLanes coefficients[BRIDGE_MAX_ORDER]; ///< Weights of `past` in the next frame
  float bounds[BRIDGE_LANES];               ///< Largest magnitude in the known frames
  uint32_t order;
  uint32_t n_known; ///< Frames before the gap that are analysed
} Group;

struct Bridge {
  uint32_t n_channels, block_frames;
  uint32_t n_frames; ///< Length of a bridge
  uint32_t n_done;   ///< Frames of the current bridge that have played; n_frames: no bridge is open
  DryLine* history;  ///< The samples that the outputs played
  Group* groups;     ///< [ceil(n_channels / BRIDGE_LANES)]
  float* weights;    ///< [n_frames]: the fade
  float* added;      ///< [n_frames][BRIDGE_LANES]: the faded continuation of one group in one block
  float difference[BRIDGE_LANES][BRIDGE_HISTORY]; ///< Of one group: output minus fallback
  Lanes taper[BRIDGE_HISTORY];
  Lanes forward[BRIDGE_HISTORY], backward[BRIDGE_HISTORY]; ///< Prediction errors
};

static uint32_t
n_groups(const Bridge* const bridge)
{
  return (bridge->n_channels + BRIDGE_LANES - 1U) / BRIDGE_LANES;
}

static uint32_t
known_frames(const Bridge* const bridge, const uint32_t order)
{
  const bool is_short = order == 0 && bridge->block_frames < BRIDGE_HISTORY;
  return is_short ? bridge->block_frames : BRIDGE_HISTORY;
}

/// Modelled time of the first block of a gap, for one group, in seconds.  The other blocks of the
/// gap take less.  The block that fades back to wet takes less too; at order 0 it takes about as
/// long.
static double
group_cost(const Bridge* const bridge, const uint32_t order)
{
  const uint32_t block = bridge->block_frames;
  const double n_played = block < bridge->n_frames ? block : bridge->n_frames;
  const double n_known = known_frames(bridge, order);
  const double held_s = GROUP_S + PLAYED_S * n_played + KNOWN_S * n_known;
  return order ? held_s + (PREPARED_S + STAGE_S * order) * n_known +
                     (CONTINUED_S + MULTIPLIED_S * order) * n_played
               : held_s;
}

/// Raise all groups from one order to the next, from the first group on, as long as the modelled
/// cost is at most usable_s.
static void
choose_orders(Bridge* const bridge, const double usable_s)
{
  static const uint32_t orders[] = { 0, 2, 4, 8, BRIDGE_MAX_ORDER };
  double cost_s = n_groups(bridge) * group_cost(bridge, 0);
  for (uint32_t k = 1; k < ARRAY_LEN(orders); ++k) {
    const double more_s = group_cost(bridge, orders[k]) - group_cost(bridge, orders[k - 1U]);
    for (uint32_t g = 0; g < n_groups(bridge); ++g) {
      if (cost_s + more_s > usable_s) {
        return;
      }
      bridge->groups[g].order = orders[k];
      bridge->groups[g].n_known = known_frames(bridge, orders[k]);
      cost_s += more_s;
    }
  }
}

static void
fill_tables(Bridge* const bridge)
{
  for (uint32_t g = 0; g < n_groups(bridge); ++g) {
    bridge->groups[g].n_known = known_frames(bridge, 0);
  }
  for (uint32_t i = 0; i < BRIDGE_HISTORY; ++i) {
    const float way = ((float)i + 0.5F) / BRIDGE_HISTORY;
    bridge->taper[i] += way * (1.0F - way); // in all lanes, which were 0
  }
  for (uint32_t i = 0; i < bridge->n_frames; ++i) {
    const double way = (i + 1U) / (double)bridge->n_frames;
    bridge->weights[i] = (float)(1.0 - way * way * (3.0 - 2.0 * way));
  }
}

Status
bridge_new(const double rate_hz, const uint32_t n_channels, const uint32_t block_frames,
           const double share, Bridge** const out, Error* const error)
{
  const double longest = fmin(LONGEST_S * rate_hz, (double)LONGEST_BLOCKS * block_frames);
  const uint32_t n_frames = longest > 1.0 ? (uint32_t)longest : 1U;
  Bridge* const bridge = rt_memory(sizeof(Bridge));
  if (!bridge) {
    return error_set(error, STATUS_NO_MEM, "no memory for late blocks");
  }
  bridge->n_channels = n_channels;
  bridge->block_frames = block_frames;
  bridge->n_frames = bridge->n_done = n_frames;
  bridge->groups = rt_memory(n_groups(bridge) * sizeof(Group));
  bridge->weights = rt_memory(n_frames * sizeof(float));
  bridge->added = rt_memory(n_frames * sizeof(Lanes));
  Status status = bridge->groups && bridge->weights && bridge->added
                      ? dry_line_new(n_channels, BRIDGE_HISTORY, &bridge->history, error)
                      : error_set(error, STATUS_NO_MEM, "no memory for late blocks");
  if (status) {
    bridge_free(bridge);
    return status;
  }
  fill_tables(bridge);
  choose_orders(bridge, share * block_frames / rate_hz);
  *out = bridge;
  return STATUS_OK;
}

void
bridge_free(Bridge* const bridge)
{
  if (bridge) {
    dry_line_free(bridge->history);
    free(bridge->groups);
    free(bridge->weights);
    free(bridge->added);
    free(bridge);
  }
}

uint32_t
bridge_order(const Bridge* const bridge, const uint32_t channel)
{
  return bridge->groups[channel / BRIDGE_LANES].order;
}

double
bridge_cost(const Bridge* const bridge)
{
  double cost_s = 0.0;
  for (uint32_t g = 0; g < n_groups(bridge); ++g) {
    cost_s += group_cost(bridge, bridge->groups[g].order);
  }
  return cost_s;
}

// ---- in every block ----

void
bridge_record(Bridge* const bridge, const uint32_t channel, const float* const row,
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

uint32_t
bridge_known(const Bridge* const bridge, const uint32_t first)
{
  return bridge->groups[first / BRIDGE_LANES].n_known;
}

/// Set the bound, the past and the difference of one output.  Returns the largest magnitude of the
/// difference.
static float
take_difference(Bridge* const bridge, Group* const group, const uint32_t channel,
                const float* const fallback)
{
  const uint32_t lane = channel % BRIDGE_LANES;
  const uint32_t n = group->n_known;
  float* const difference = bridge->difference[lane];
  dry_line_read(bridge->history, channel, 0, difference, n);
  group->bounds[lane] = guard_peak(difference, n);
  for (uint32_t i = 0; i < n; ++i) {
    difference[i] -= fallback[i];
  }
  const uint32_t n_past = group->order ? group->order : 1U;
  for (uint32_t i = 0; i < n_past; ++i) {
    group->past[i].half[lane / 2U][lane % 2U] = (double)difference[n - n_past + i];
  }
  return guard_peak(difference, n);
}

/// Set the errors of order 0: the differences, scaled to a peak of 1 so that no square overflows.
static void
begin_errors(Bridge* const bridge, const float peaks[const BRIDGE_LANES])
{
  Lanes scale;
  for (uint32_t l = 0; l < BRIDGE_LANES; ++l) {
    scale[l] = peaks[l] > FLT_MIN ? 1.0F / peaks[l] : 0.0F;
  }
  for (uint32_t i = 0; i < BRIDGE_HISTORY; ++i) {
    Lanes frame;
    for (uint32_t l = 0; l < BRIDGE_LANES; ++l) {
      frame[l] = bridge->difference[l][i];
    }
    bridge->forward[i] = bridge->backward[i] = scale * frame;
  }
}

/// Sums over the errors of one order: the numerator and the denominator of a reflection
/// coefficient.
typedef struct Sums {
  Lanes product, energy;
} Sums;

static inline void
add_errors(Sums* const sums, const Lanes taper, const Lanes f, const Lanes b)
{
  sums->product += taper * f * b;
  sums->energy += taper * (f * f + b * b);
}

static Sums
sum_first_errors(const Bridge* const bridge)
{
  Sums sums = { { 0.0F }, { 0.0F } };
  for (uint32_t i = 0; i + 1U < BRIDGE_HISTORY; ++i) {
    add_errors(&sums, bridge->taper[i], bridge->forward[i + 1U], bridge->backward[i]);
  }
  return sums;
}

/// Replace the errors of order k by those of order k + 1, and sum the new ones in the same pass.
/// The backward error of order k of frame i is stored at index i - k, so that each new value
/// replaces the old one in place.
static Sums
filter_errors(Bridge* const bridge, const uint32_t k, const Lanes reflection)
{
  const uint32_t n = BRIDGE_HISTORY - 1U - k;
  Lanes* const forward = bridge->forward + k + 1U;
  Lanes* const backward = bridge->backward;
  const Lanes* const taper = bridge->taper + (k + 2U) / 2U;
  Sums sums = { { 0.0F }, { 0.0F } };
  Lanes before = backward[0] + reflection * forward[0];
  backward[0] = before;
  for (uint32_t i = 1; i < n; ++i) {
    const Lanes f = forward[i] + reflection * backward[i];
    const Lanes b = backward[i] + reflection * forward[i];
    add_errors(&sums, taper[i - 1U], f, before);
    forward[i] = f;
    backward[i] = before = b;
  }
  return sums;
}

/// Levinson's step from the coefficients of order k, a[0] = 1, to those of order k + 1.
static void
step_up(Lanes* const a, const uint32_t k, const Lanes reflection)
{
  Lanes before[BRIDGE_MAX_ORDER + 1U];
  memcpy(before, a, (k + 1U) * sizeof(Lanes));
  for (uint32_t j = 1; j <= k; ++j) {
    a[j] = before[j] + reflection * before[k + 1U - j];
  }
  a[k + 1U] = reflection;
}

static Lanes
reflect(const Sums* const sums, const Lanes first_energy)
{
  Lanes reflection = { 0.0F };
  for (uint32_t l = 0; l < BRIDGE_LANES; ++l) {
    if (sums->energy[l] > LEAST_ENERGY * first_energy[l]) {
      reflection[l] = -2.0F * sums->product[l] / sums->energy[l];
    }
  }
  return reflection;
}

/// Compute the prediction coefficients by Burg's recursion.
static void
find_coefficients(Bridge* const bridge, Group* const group)
{
  const uint32_t order = group->order;
  Lanes a[BRIDGE_MAX_ORDER + 1U] = { { 1.0F } };
  Sums sums = sum_first_errors(bridge);
  const Lanes first_energy = sums.energy;
  for (uint32_t k = 0; k < order; ++k) {
    const Lanes reflection = reflect(&sums, first_energy);
    step_up(a, k, reflection);
    if (k + 1U < order) {
      sums = filter_errors(bridge, k, reflection);
    }
  }
  for (uint32_t i = 0; i < order; ++i) {
    for (uint32_t l = 0; l < BRIDGE_LANES; ++l) {
      group->coefficients[i].half[l / 2U][l % 2U] = -(double)a[order - i][l];
    }
  }
}

void
bridge_predict(Bridge* const bridge, const uint32_t first,
               const float (*const fallback)[BRIDGE_HISTORY])
{
  Group* const group = &bridge->groups[first / BRIDGE_LANES];
  const uint32_t left = bridge->n_channels - first;
  const uint32_t n_lanes = left < BRIDGE_LANES ? left : BRIDGE_LANES;
  float peaks[BRIDGE_LANES] = { 0.0F };
  for (uint32_t l = 0; l < n_lanes; ++l) {
    peaks[l] = take_difference(bridge, group, first + l, fallback[l]);
  }
  if (group->order) {
    begin_errors(bridge, peaks);
    find_coefficients(bridge, group);
  }
}

/// Append n predicted frames to `values`, which begins with the `order` frames before them.
static void
extrapolate(const Group* const group, const uint32_t n, WideLanes* const values)
{
  const uint32_t order = group->order;
  for (uint32_t i = 0; i < n; ++i) {
    Pair even[2] = { { 0.0 } };
    Pair odd[2] = { { 0.0 } };
    for (uint32_t j = 0; j < order; j += 2U) {
      for (uint32_t h = 0; h < 2U; ++h) {
        even[h] += group->coefficients[j].half[h] * values[i + j].half[h];
        odd[h] += group->coefficients[j + 1U].half[h] * values[i + j + 1U].half[h];
      }
    }
    for (uint32_t h = 0; h < 2U; ++h) {
      values[i + order].half[h] = even[h] + odd[h];
    }
  }
}

static inline Lanes
narrow(const WideLanes* const wide)
{
  return (Lanes){ (float)wide->half[0][0], (float)wide->half[0][1], (float)wide->half[1][0],
                  (float)wide->half[1][1] };
}

/// Fade the continuation of a group at frame i of the block, and write it to `added`.
static inline void
write_added(const Bridge* const bridge, const uint32_t i, const Lanes prediction)
{
  const Lanes weighted = bridge->weights[bridge->n_done + i] * prediction;
  memcpy(bridge->added + (size_t)BRIDGE_LANES * i, &weighted, sizeof(weighted));
}

/// Write the next n predicted frames of a group to `added`.
static void
continue_group(Bridge* const bridge, Group* const group, const uint32_t n)
{
  const uint32_t order = group->order;
  WideLanes values[BRIDGE_MAX_ORDER + PIECE_FRAMES];
  for (uint32_t first = 0; first < n; first += PIECE_FRAMES) {
    const uint32_t n_piece = n - first < PIECE_FRAMES ? n - first : PIECE_FRAMES;
    memcpy(values, group->past, order * sizeof(WideLanes));
    extrapolate(group, n_piece, values);
    memcpy(group->past, values + n_piece, order * sizeof(WideLanes));
    for (uint32_t i = 0; i < n_piece; ++i) {
      write_added(bridge, first + i, narrow(&values[order + i]));
    }
  }
}

/// Write the last known frame of a group to `added`, n times.
static void
hold_group(Bridge* const bridge, Group* const group, const uint32_t n)
{
  const Lanes held = narrow(&group->past[0]);
  for (uint32_t i = 0; i < n; ++i) {
    write_added(bridge, i, held);
  }
}

// Comparisons, because fmaxf() and fminf() are function calls: they handle NaN.

static inline float
larger(const float a, const float b)
{
  return a > b ? a : b;
}

static inline float
smaller(const float a, const float b)
{
  return a < b ? a : b;
}

/// Return x up to the bound.  Above the bound, a curve without a corner (as in guard.h) rises by
/// ROOM at most.  `above` is computed without a comparison with 0, on which the compiler would
/// branch, so that it can vectorise the caller's loop.
static inline float
limit(const float x, const float bound)
{
  const float room = ROOM * bound + FLT_MIN; // never 0
  const float over = fabsf(x) - bound;
  const float above = smaller(0.5F * over + 0.5F * fabsf(over), 2.0F * room);
  const float left = 1.0F - 0.5F * above / room;
  return copysignf(smaller(fabsf(x), bound) + room * (1.0F - left * left), x);
}

/// Add one lane of `added` to a row, and limit the sum.
static void
add_lane(float* restrict const row, const float* restrict const added, const float bound,
         const uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    row[i] = limit(row[i] + added[(size_t)BRIDGE_LANES * i], larger(bound, fabsf(row[i])));
  }
}

void
bridge_add(Bridge* const bridge, const uint32_t channel, float* const row, const uint32_t n_frames)
{
  Group* const group = &bridge->groups[channel / BRIDGE_LANES];
  const uint32_t lane = channel % BRIDGE_LANES;
  const uint32_t left = bridge->n_frames - bridge->n_done;
  const uint32_t n = n_frames < left ? n_frames : left;
  if (lane == 0) {
    (group->order ? continue_group : hold_group)(bridge, group, n);
  }
  add_lane(row, bridge->added + lane, group->bounds[lane], n);
}
