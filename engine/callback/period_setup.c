// SPDX-License-Identifier: GPL-3.0-or-later
// Makes a period, with all memory that the callback uses.

#include "period_state.h"

#include "engine/base/rows.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/contract/format.h"

#include <math.h>
#include <stdlib.h>

#define FADE_S 0.05 // short enough to stop within 100 ms, long enough not to click
// Amplitudes: -120 and 60 dBFS.
#define MIN_CEILING 1e-6F
#define MAX_CEILING 1e3F

static Status
check_config(const PeriodConfig* const config, Error* const error)
{
  if (config->depth > PERIOD_MAX_DEPTH) {
    return error_set(error, STATUS_BAD_ARG, "depth is %u, must be 0..%u", config->depth,
                     PERIOD_MAX_DEPTH);
  }
  const float ceiling = config->ceiling_lin;
  const bool has_curve = ceiling == 0.0F || (ceiling >= MIN_CEILING && ceiling <= MAX_CEILING);
  if (!(config->rate_hz > 0.0) || !has_curve || !(config->deadline_fraction >= 0.0)) {
    return error_set(error, STATUS_BAD_ARG, "rate %g, ceiling %g or deadline %g is out of range",
                     config->rate_hz, (double)config->ceiling_lin, config->deadline_fraction);
  }
  if (config->max_latency_frames > LATENCY_MAX_FRAMES) {
    return error_set(error, STATUS_BAD_ARG, "latency of %u frames: at most %u",
                     config->max_latency_frames, LATENCY_MAX_FRAMES);
  }
  return STATUS_OK;
}

static Status
make_ports(Period* const period, Error* const error)
{
  const size_t n_ports = (size_t)period->shape.n_in + period->shape.n_out;
  period->ports = rt_memory(n_ports * sizeof(PeriodPortCounters));
  return period->ports ? STATUS_OK
                       : error_set(error, STATUS_NO_MEM, "no memory for the counters of the ports");
}

static Status
make_midi(Period* const period, Error* const error)
{
  period->midi = rt_memory(sizeof(PeriodMidi));
  if (!period->midi) {
    return error_set(error, STATUS_NO_MEM, "no memory for MIDI events");
  }
  period_midi_change_ring(period->midi); // the control thread first sends what it knows
  return STATUS_OK;
}

static Status
make_rows(Period* const period, Error* const error)
{
  const size_t distance = rows_distance(period->shape.block_frames);
  PeriodRows* const rows = &period->rows;
  float** const all[] = { &rows->silence, &rows->input,     &rows->mixed,
                          &rows->dry,     &rows->other_tap, &rows->gains };
  period->row_memory = rt_memory(ARRAY_LEN(all) * distance * sizeof(float));
  period->wet = rt_memory(period->shape.n_out * sizeof(GuardCounts));
  if (!period->row_memory || !period->wet) {
    return error_set(error, STATUS_NO_MEM, "no memory for the audio callback");
  }
  for (size_t r = 0; r < ARRAY_LEN(all); ++r) {
    *all[r] = period->row_memory + r * distance;
  }
  return STATUS_OK;
}

static Status
make_dry_line(Period* const period, Error* const error)
{
  const RingShape* const shape = &period->shape;
  const uint32_t n_channels = shape->n_in < shape->n_out ? shape->n_in : shape->n_out;
  // At the start of a gap, the bridge reads the BRIDGE_HISTORY frames before the block.
  return dry_line_new(n_channels,
                      period->base_latency_frames + period->config.max_latency_frames +
                          shape->block_frames + BRIDGE_HISTORY,
                      &period->dry_line, error);
}

/// The share of a period that a bridge may take.  At depth 0 the callback has waited for its block
/// before it opens a bridge: half of the remaining time is for the bridge, half for the other work.
static double
bridge_share(const PeriodConfig* const config)
{
  const double left = fmax(0.0, 1.0 - config->deadline_fraction);
  return config->depth ? BRIDGE_SHARE : fmin(BRIDGE_SHARE, 0.5 * left);
}

static Status
make_fallbacks(Period* const period, Error* const error)
{
  const uint32_t n_out = period->shape.n_out;
  const Fallback* const at_first = &period->config.fallback;
  period->fallbacks = rt_memory(n_out * sizeof(PeriodFallback));
  if (!period->fallbacks) {
    return error_set(error, STATUS_NO_MEM, "no memory for the audio callback");
  }
  for (uint32_t c = 0; c < n_out; ++c) {
    PeriodFallback* const fallback = &period->fallbacks[c];
    fallback->set = *at_first;
    fallback->gain = at_first->level;
    fallback->taken = period_pack_fallback(0, at_first);
    atomic_init(&fallback->wanted, fallback->taken);
    follower_begin(&fallback->follower, period->config.rate_hz, at_first->level);
  }
  return bridge_new(period->config.rate_hz, n_out, period->shape.block_frames,
                    bridge_share(&period->config), &period->bridge, error);
}

Status
period_new(const PeriodConfig* const config, Period** const out, Error* const error)
{
  Status status = check_config(config, error);
  if (status) {
    return status;
  }
  Period* const period = calloc(1, sizeof(Period));
  if (!period) {
    return error_set(error, STATUS_NO_MEM, "no memory for the audio callback");
  }
  period->config = *config;
  period->curve = guard_curve(config->ceiling_lin);
  period->ring = config->ring;
  period->shape = *ring_shape(config->ring);
  period->exchange.newest = period->exchange.before = config->ring;
  pthread_mutex_init(&period->exchange.mutex, NULL);
  period->base_latency_frames = config->depth * period->shape.block_frames;
  period->n_fresh = PERIOD_ALL_FRESH;
  period->frame = config->first_frame;
  atomic_init(&period->clock_frame, config->first_frame);
  atomic_init(&period->clock_ns, time_now_ns()); // until the first period
  period->fade_frames = (uint32_t)ceil(FADE_S * config->rate_hz);
  period->n_faded = config->is_silent ? period->fade_frames : 0U;
  atomic_init(&period->fade_to_silence, config->is_silent);
  atomic_init(&period->is_silent, config->is_silent);
  period->is_wet = true;
  status = make_ports(period, error);
  status = status ? status : make_midi(period, error);
  status = status ? status : make_rows(period, error);
  status = status ? status : make_dry_line(period, error);
  status = status ? status : make_fallbacks(period, error);
  if (!status) {
    status = levels_new(period->shape.n_in, period->shape.n_out, &period->levels, error);
  }
  if (!status) {
    status = feedback_new(config->rate_hz, period->shape.n_in, period->shape.n_out,
                          period->shape.block_frames, &period->feedback, error);
  }
  if (status) {
    period_free(period);
    return status;
  }
  *out = period;
  return STATUS_OK;
}

void
period_free(Period* const period)
{
  if (period) {
    bridge_free(period->bridge);
    dry_line_free(period->dry_line);
    feedback_free(period->feedback);
    levels_free(period->levels);
    for (uint32_t l = 0; l < LISTEN_ALL; ++l) {
      listener_free(atomic_load(&period->listeners[l]));
    }
    free(period->fallbacks);
    free(period->ports);
    free(period->midi);
    free(period->row_memory);
    free(period->wet);
    pthread_mutex_destroy(&period->exchange.mutex);
    free(period);
  }
}
