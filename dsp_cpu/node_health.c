// SPDX-License-Identifier: GPL-3.0-or-later
// The rules for nodes whose output is not finite.

#include "node_health.h"

#include <math.h>

// A node that repeatedly produces non-finite output is bypassed: its input is passed on instead,
// until it has recovered.
#define BYPASS_BAD_BLOCKS  8U   // bad blocks, with fewer than BYPASS_GOOD_BLOCKS good ones between
#define BYPASS_GOOD_BLOCKS 100U // good blocks in a row after which the node's record is cleared

// Blocks between the renewals of a node that is bypassed: FxInfo::renew may take long.
#define RENEWAL_REST_BLOCKS 1000U

#define LEVEL_FRAMES 32768.0F // time constant of the levels: 0.7 s at 48 kHz; more than a block

static void
postpone_renewal(NodeHealth* const health)
{
  atomic_store_explicit(&health->is_bypassed, true, memory_order_relaxed);
  health->n_postponed = RENEWAL_REST_BLOCKS;
  atomic_store_explicit(&health->renewal, RENEWAL_POSTPONED, memory_order_relaxed);
}

static void
ask_for_renewal(NodeHealth* const health)
{
  atomic_store_explicit(&health->renewal, RENEWAL_WANTED, memory_order_release);
}

/// Count the frames until the output of a node contains the input again.  Returns true if it does
/// not, from the first frame of this block on.
static bool
is_cold(NodeHealth* const health, const bool finite, const uint32_t latency_frames,
        const uint32_t n_frames)
{
  if (!finite) {
    health->n_cold_frames = latency_frames;
    return latency_frames > 0U;
  }
  const uint32_t n_cold = health->n_cold_frames;
  health->n_cold_frames = n_cold > n_frames ? n_cold - n_frames : 0U;
  return n_cold > 0U;
}

bool
node_health_follow(NodeHealth* const health, const bool finite, const bool is_renewed,
                   const uint32_t latency_frames, const uint32_t n_frames)
{
  if (!finite) {
    health->n_bad += health->n_bad < BYPASS_BAD_BLOCKS;
    health->n_good = 0;
  } else if (health->n_bad && ++health->n_good == BYPASS_GOOD_BLOCKS) {
    health->n_bad = 0;
  }
  const bool is_repeated = health->n_bad == BYPASS_BAD_BLOCKS;
  const bool stops = !finite && is_renewed;
  atomic_store_explicit(&health->is_bypassed, is_repeated, memory_order_relaxed);
  if (stops && is_repeated) {
    postpone_renewal(health);
  } else if (stops) {
    ask_for_renewal(health);
  }
  return (is_renewed && is_cold(health, finite, latency_frames, n_frames)) || is_repeated || stops;
}

static bool
changes_in(const StageChanges* const changes, const BatchUnit* const unit, const uint32_t param)
{
  for (uint32_t e = 0; e < changes->n_events; ++e) {
    const StageEvent* const event = &changes->events[e];
    if (event->node_index == unit->node_index && !event->is_note && event->param == param) {
      return true;
    }
  }
  for (uint32_t f = 0; f < changes->n_fades; ++f) {
    if (changes->fades[f].node_index == unit->node_index && changes->fades[f].param == param) {
      return true;
    }
  }
  return false;
}

void
node_health_catch_up(const FxInfo* const fx, const BatchUnit* const unit,
                     const StageChanges* const changes)
{
  const uint32_t n_params = fx_own_params(fx);
  for (uint32_t p = 0; p < n_params; ++p) {
    if (!fx->params[p].structural && !changes_in(changes, unit, p)) {
      fx->set(unit->node, p, unit->targets[p], *unit->ramp_frames);
    }
  }
}

bool
node_health_may_run(NodeHealth* const health, bool* const is_renewed)
{
  *is_renewed = false;
  switch (atomic_load_explicit(&health->renewal, memory_order_acquire)) {
  case RENEWAL_NONE:
    return true;
  case RENEWAL_DONE:
    *is_renewed = true;
    atomic_store_explicit(&health->renewal, RENEWAL_NONE, memory_order_relaxed);
    return true;
  case RENEWAL_FAILED:
    postpone_renewal(health);
    return false;
  case RENEWAL_POSTPONED:
    if (--health->n_postponed == 0U) {
      ask_for_renewal(health);
    }
    return false;
  case RENEWAL_WANTED:
    break;
  }
  return false;
}

/// A recent largest magnitude after this block.
static float
follow_peak(const float recent, const float peak, const uint32_t n_frames)
{
  const float rest = (1.0F - (float)n_frames / LEVEL_FRAMES) * recent;
  return peak > rest ? peak : rest;
}

void
node_health_follow_level(NodeHealth* const health, const float peak_in, const float peak_out,
                         const uint32_t n_frames)
{
  if (!isfinite(peak_in)) {
    return;
  }
  health->peak_in = follow_peak(health->peak_in, peak_in, n_frames);
  health->peak_out = follow_peak(health->peak_out, peak_out, n_frames);
  if (health->peak_in > 0.0F) {
    const float gain = health->peak_out / health->peak_in;
    health->dry_gain = gain < 1.0F ? gain : 1.0F;
  }
}
