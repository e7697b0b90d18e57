// SPDX-License-Identifier: GPL-3.0-or-later
// Non-uniform partitioned convolution; see partition.h for the flow and partition_plan.h for the
// sizes.  Wefers, "Partitioned Convolution Algorithms for Real-Time Auralization", RWTH Aachen
// 2015, is the standard account.

#include "partition.h"

#include "fft.h"
#include "segment.h"
#include "partition_plan.h"
#include "spectrum.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MIN_HOP_FRAMES 16U   // for shorter hops, calls cost more than arithmetic
#define LONG_HOP       1024U // from here on, two hops of half the length are cheaper (measured)
#define CACHE_BYTES    ((size_t)8 << 20U) // states below are fast without prefetching (measured)

struct Partition {
  uint32_t n_in, n_out;
  uint32_t hop;         ///< Frames
  uint32_t head_points; ///< Points of segment 0, >= hop: a size that FFTW transforms fast
  uint32_t head_pitch;  ///< head_points, rounded up to whole cells
  uint32_t n_segments;
  Segment* segments[PARTITION_MAX_SEGMENTS];
  uint32_t frames[PARTITION_MAX_SEGMENTS];
  uint32_t ring_frames; ///< Ring of input: four of the largest partitions; 0 without later segments
  uint32_t sum_frames;  ///< Ring of sums: two of the largest partitions
  bool prefetches;      ///< The states exceed the caches of a core
  uint64_t rest_frames; ///< Silence after which every sample of a state is zero

  // Byte offsets in a state
  size_t segments_at[PARTITION_MAX_SEGMENTS];
  size_t window_at; ///< [n_in][2 * head_pitch]: zeros, previous hop, current hop, padding
  size_t head_at;   ///< [n_out][head_pitch]: output of the current hop
  size_t ring_at;   ///< [n_in][ring_frames]
  size_t sum_at;    ///< [n_out][sum_frames]
  size_t scratch_at;
  size_t n_bytes;
};

/// Progress of a later segment on the partition that ended at `tick`.
typedef struct Job {
  uint64_t tick;
  uint64_t cost;   ///< Cost of the units that are done
  uint32_t unit;   ///< Next unit; segment_n_units() when done
  uint32_t hop;    ///< Hops since the tick
  uint32_t n_hops; ///< Hops until the next tick
} Job;

typedef struct PartitionState {
  uint64_t clock; ///< Frames before the current hop, from `start`
  uint64_t start;
  uint64_t silent_frames; ///< Zeros at the end of the input so far
  uint32_t fill;          ///< Frames of the current hop received so far
  Job jobs[PARTITION_MAX_SEGMENTS];
} PartitionState;

static float*
floats_at(void* const state, const size_t bytes)
{
  return (float*)((char*)state + bytes);
}

// ---- rings: planes of a power of two of frames, indexed by the clock ----

static void
ring_write(float* const ring, const uint32_t n, const uint64_t clock, const float* const from,
           const uint32_t n_frames)
{
  const uint32_t at = (uint32_t)clock & (n - 1U);
  const uint32_t first = n_frames < n - at ? n_frames : n - at;
  memcpy(ring + at, from, first * sizeof(float));
  memcpy(ring, from + first, (n_frames - first) * sizeof(float));
}

static void
ring_read(const float* const ring, const uint32_t n, const uint64_t clock, float* const to,
          const uint32_t n_frames)
{
  const uint32_t at = (uint32_t)clock & (n - 1U);
  const uint32_t first = n_frames < n - at ? n_frames : n - at;
  memcpy(to, ring + at, first * sizeof(float));
  memcpy(to + first, ring, (n_frames - first) * sizeof(float));
}

static void
ring_clear(float* const ring, const uint32_t n, const uint64_t clock, const uint32_t n_frames)
{
  const uint32_t at = (uint32_t)clock & (n - 1U);
  const uint32_t first = n_frames < n - at ? n_frames : n - at;
  memset(ring + at, 0, first * sizeof(float));
  memset(ring, 0, (n_frames - first) * sizeof(float));
}

// ---- later segments ----

static void
begin_job(const Partition* const p, const uint32_t l, PartitionState* const s, void* const state)
{
  const uint64_t frames = p->frames[l];
  const uint64_t tick = s->clock / frames * frames;
  // The output is needed from frame tick + frames on; the last hop that ends before it completes
  // the job.
  s->jobs[l] = (Job){ .tick = tick,
                      .n_hops = (uint32_t)((tick + frames - s->clock + p->hop - 1U) / p->hop) };
  segment_step(p->segments[l], floats_at(state, p->segments_at[l]));
}

/// The memory of a job.
static SegmentIo
job_io(const Partition* const p, const uint32_t l, const PartitionState* const s, void* const state)
{
  const uint64_t tick = s->jobs[l].tick;
  const uint32_t ring_mask = p->ring_frames - 1U;
  const float* const ring = floats_at(state, p->ring_at);
  float* const sums = floats_at(state, p->sum_at);
  return (SegmentIo){ .state = floats_at(state, p->segments_at[l]),
                      .scratch = floats_at(state, p->scratch_at),
                      .early = ring + ((tick - 2U * p->frames[l]) & ring_mask),
                      .late = ring + ((tick - p->frames[l]) & ring_mask),
                      .in_stride = p->ring_frames,
                      .sum = sums + ((tick + p->frames[l]) & (p->sum_frames - 1U)),
                      .sum_stride = p->sum_frames };
}

/// The cost of the work that a job has done at the end of a hop.
static uint64_t
share_until(const Partition* const p, const uint32_t l, const Job* const job, const uint32_t hop)
{
  return segment_cost(p->segments[l]) * hop / job->n_hops;
}

/// Do this hop's share of a segment's work.
static void
work_on(const Partition* const p, const uint32_t l, PartitionState* const s, void* const state)
{
  const Segment* const segment = p->segments[l];
  const uint32_t n_units = segment_n_units(segment);
  Job* const job = &s->jobs[l];
  if (job->unit == n_units) {
    return;
  }
  const SegmentIo io = job_io(p, l, s, state);
  ++job->hop;
  const uint64_t share = share_until(p, l, job, job->hop);
  while (job->unit < n_units && job->cost < share) {
    job->cost += segment_unit_cost(segment, io.state, job->unit);
    if (p->prefetches && job->cost < share) {
      segment_prefetch(segment, &io, job->unit + 1U);
    }
    segment_work(segment, &io, job->unit);
    ++job->unit;
  }
}

/// Begin to load what the later segments need at the end of the hop.
static void
prefetch_jobs(const Partition* const p, const PartitionState* const s, void* const state)
{
  for (uint32_t l = 1; l < p->n_segments; ++l) {
    const Job* const job = &s->jobs[l];
    if (job->unit < segment_n_units(p->segments[l]) &&
        job->cost < share_until(p, l, job, job->hop + 1U)) {
      const SegmentIo io = job_io(p, l, s, state);
      segment_prefetch(p->segments[l], &io, job->unit);
    }
  }
}

// ---- hops ----

/// The current hop is complete: it becomes the previous one, and later segments do their shares.
static void
end_hop(const Partition* const p, PartitionState* const s, void* const state)
{
  const size_t hop_bytes = p->hop * sizeof(float);
  segment_step(p->segments[0], floats_at(state, p->segments_at[0]));
  for (uint32_t i = 0; i < p->n_in; ++i) {
    float* const end =
        floats_at(state, p->window_at) + 2U * ((size_t)p->head_pitch * i + p->head_points);
    if (p->ring_frames) {
      ring_write(floats_at(state, p->ring_at) + (size_t)p->ring_frames * i, p->ring_frames,
                 s->clock, end - p->hop, p->hop);
    }
    memcpy(end - 2U * p->hop, end - p->hop, hop_bytes);
    memset(end - p->hop, 0, hop_bytes);
  }
  for (uint32_t o = 0; o < p->n_out && p->sum_frames; ++o) {
    ring_clear(floats_at(state, p->sum_at) + (size_t)p->sum_frames * o, p->sum_frames, s->clock,
               p->hop);
  }
  s->clock += p->hop;
  s->fill = 0;
  for (uint32_t l = 1; l < p->n_segments; ++l) {
    if (s->clock % p->frames[l] < p->hop) {
      begin_job(p, l, s, state);
    }
    work_on(p, l, s, state);
  }
}

/// Run segment 0 on the frames of the current hop so far, and add the sums of the later segments.
static void
run_head(const Partition* const p, const PartitionState* const s, void* const state)
{
  float* const head = floats_at(state, p->head_at);
  memset(head, 0, (size_t)p->head_pitch * p->n_out * sizeof(float));
  for (uint32_t o = 0; o < p->n_out && p->sum_frames; ++o) {
    ring_read(floats_at(state, p->sum_at) + (size_t)p->sum_frames * o, p->sum_frames, s->clock,
              head + (size_t)p->head_pitch * o + p->head_points - p->hop, p->hop);
  }
  const float* const window = floats_at(state, p->window_at);
  const SegmentIo io = { .state = floats_at(state, p->segments_at[0]),
                         .scratch = floats_at(state, p->scratch_at),
                         .early = window,
                         .late = window + p->head_points,
                         .in_stride = 2U * (size_t)p->head_pitch,
                         .sum = head,
                         .sum_stride = p->head_pitch };
  const uint32_t n_units = segment_n_units(p->segments[0]);
  for (uint32_t unit = 0; unit < n_units; ++unit) {
    segment_work(p->segments[0], &io, unit);
  }
}

/// Run frames that end within the current hop.
static void
run_part(const Partition* const p, PartitionState* const s, void* const state,
         const float* const* const in, float* const* const out, const uint32_t first,
         const uint32_t n_frames)
{
  const size_t at = p->head_points - p->hop + s->fill; // in the second half of the window
  for (uint32_t i = 0; i < p->n_in; ++i) {
    float* const late =
        floats_at(state, p->window_at) + 2U * (size_t)p->head_pitch * i + p->head_points;
    memcpy(late + at, in[i] + first, n_frames * sizeof(float));
  }
  if (p->prefetches) {
    prefetch_jobs(p, s, state);
  }
  run_head(p, s, state);
  for (uint32_t o = 0; o < p->n_out; ++o) {
    const float* const head = floats_at(state, p->head_at) + (size_t)p->head_pitch * o;
    memcpy(out[o] + first, head + at, n_frames * sizeof(float));
  }
  s->fill += n_frames;
  if (s->fill == p->hop) {
    end_hop(p, s, state);
  }
}

// ---- rest ----

static void
rewind_state(const Partition* const p, PartitionState* const s, void* const state)
{
  s->clock = s->start;
  s->fill = 0;
  for (uint32_t l = 0; l < p->n_segments; ++l) {
    s->jobs[l] = (Job){ .unit = segment_n_units(p->segments[l]) };
    segment_rest(floats_at(state, p->segments_at[l]));
  }
}

/// Most inputs are not silent in their first frames, and then the rest is not read.
static bool
is_silent(const float* const in, const uint32_t n_frames)
{
  bool silent = true;
  for (uint32_t first = 0; silent && first < n_frames; first += SPECTRUM_CELL) {
    const uint32_t end = first + SPECTRUM_CELL < n_frames ? first + SPECTRUM_CELL : n_frames;
    for (uint32_t k = first; k < end; ++k) {
      silent &= in[k] == 0.0F;
    }
  }
  return silent;
}

/// True if the input of this run is silent and all memory of the state is silent too.
static bool
rests(const Partition* const p, PartitionState* const s, void* const state,
      const float* const* const in, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < p->n_in; ++i) {
    if (!is_silent(in[i], n_frames)) {
      s->silent_frames = 0;
      return false;
    }
  }
  if (s->silent_frames < p->rest_frames) {
    s->silent_frames += n_frames;
    return false;
  }
  rewind_state(p, s, state);
  return true;
}

// ---- partitions and states ----

static void
lay_out_state(Partition* const p, const SegmentBytes* const segments)
{
  size_t scratch_floats = 0;
  size_t at = (sizeof(PartitionState) + 63U) & ~(size_t)63U;
  for (uint32_t l = 0; l < p->n_segments; ++l) {
    p->segments_at[l] = at;
    at += segments[l].state;
    const size_t floats = segments[l].scratch_floats;
    scratch_floats = floats > scratch_floats ? floats : scratch_floats;
  }
  // The size of every plane is a multiple of a cell, so all these offsets are too.
  p->scratch_at = at;
  p->window_at = p->scratch_at + scratch_floats * sizeof(float);
  p->head_at = p->window_at + 2U * sizeof(float) * p->head_pitch * p->n_in;
  p->ring_at = p->head_at + sizeof(float) * p->head_pitch * p->n_out;
  p->sum_at = p->ring_at + sizeof(float) * p->ring_frames * p->n_in;
  p->n_bytes = p->sum_at + sizeof(float) * p->sum_frames * p->n_out;
}

/// A long block of a short response is cheaper in several hops.
static uint32_t
choose_hop(const PartitionSize* const size)
{
  uint32_t hop = size->max_block_frames > MIN_HOP_FRAMES ? size->max_block_frames : MIN_HOP_FRAMES;
  while (hop >= LONG_HOP && hop >= 2U * size->n_taps && hop % 2U == 0) {
    hop /= 2U;
  }
  return hop;
}

/// Compute all members of a partition except its segments, and write the specs of the segments to
/// `specs`; `taps` may be NULL.
static void
lay_out(Partition* const p, const PartitionSize* const size, const float* const* const taps,
        SegmentSpec* const specs, SegmentBytes* const bytes)
{
  *p = (Partition){ .n_in = size->n_in, .n_out = size->n_out };
  p->hop = choose_hop(size);
  p->head_points = fft_fast_size(p->hop);
  p->head_pitch = (p->head_points + SPECTRUM_CELL - 1U) / SPECTRUM_CELL * SPECTRUM_CELL;
  const PartitionPlan plan = partition_plan(p->hop, size->n_taps);
  p->n_segments = plan.n_segments;
  for (uint32_t l = 0; l < plan.n_segments; ++l) {
    const PartitionSegment* const segment = &plan.segments[l];
    p->frames[l] = segment->frames;
    specs[l] = (SegmentSpec){ .frames = segment->frames,
                              .n_points = l ? segment->frames : p->head_points,
                              .n_parts = segment->n_parts,
                              .n_in = p->n_in,
                              .n_out = p->n_out,
                              .taps = taps,
                              .n_taps = l + 1U < plan.n_segments ? plan.segments[l + 1U].first_tap
                                                                 : size->n_taps,
                              .first_tap = segment->first_tap,
                              .n_states = size->n_states,
                              .at_once = l == 0 };
    bytes[l] = segment_measure(&specs[l]);
  }
  const uint32_t largest = p->n_segments > 1U ? p->frames[p->n_segments - 1U] : 0U;
  p->ring_frames = 4U * largest;
  p->sum_frames = 2U * largest;
  // After its last sound, a segment fills its delay line with zeros, then the sums that it keeps.
  p->rest_frames = size->n_taps + 10U * (uint64_t)largest + 4U * (uint64_t)p->hop;
  lay_out_state(p, bytes);
  p->prefetches = p->n_bytes * (size_t)size->n_states > CACHE_BYTES;
}

PartitionBytes
partition_measure(const PartitionSize* const size)
{
  Partition p;
  SegmentSpec specs[PARTITION_MAX_SEGMENTS];
  SegmentBytes bytes[PARTITION_MAX_SEGMENTS];
  lay_out(&p, size, NULL, specs, bytes);
  PartitionBytes sum = { .constant = sizeof(Partition), .state = p.n_bytes };
  for (uint32_t l = 0; l < p.n_segments; ++l) {
    sum.constant += bytes[l].constant;
    sum.design = bytes[l].design > sum.design ? bytes[l].design : sum.design;
  }
  return sum;
}

Status
partition_new(const PartitionSize* const size, const float* const* const taps,
              Partition** const partition, Error* const error)
{
  Partition* const p = calloc(1, sizeof(Partition));
  if (!p) {
    return error_set(error, STATUS_NO_MEM, "no memory for a convolution");
  }
  SegmentSpec specs[PARTITION_MAX_SEGMENTS];
  SegmentBytes bytes[PARTITION_MAX_SEGMENTS];
  lay_out(p, size, taps, specs, bytes);
  for (uint32_t l = 0; l < p->n_segments; ++l) {
    const Status status = segment_new(&specs[l], &p->segments[l], error);
    if (status) {
      partition_free(p);
      return status;
    }
  }
  *partition = p;
  return STATUS_OK;
}

void
partition_free(Partition* const partition)
{
  if (partition) {
    for (uint32_t l = 0; l < partition->n_segments; ++l) {
      segment_free(partition->segments[l]);
    }
    free(partition);
  }
}

void
partition_init(const Partition* const partition, void* const state, const uint32_t number)
{
  const Partition* const p = partition;
  PartitionState* const s = state;
  memset(state, 0, p->n_bytes);
  // Multiples of the golden ratio spread any number of states evenly over the largest period.
  const double turn = number * 0.6180339887498949;
  const double period = p->n_segments > 1U ? p->frames[p->n_segments - 1U] : 0.0;
  s->start = (uint64_t)((turn - floor(turn)) * period) / p->hop * p->hop;
  s->silent_frames = p->rest_frames; // a new state is at rest
  rewind_state(p, s, state);
}

void
partition_run(const Partition* const partition, void* const state, const float* const* const in,
              float* const* const out, const uint32_t n_frames)
{
  const Partition* const p = partition;
  PartitionState* const s = state;
  if (rests(p, s, state, in, n_frames)) {
    for (uint32_t o = 0; o < p->n_out; ++o) {
      memset(out[o], 0, n_frames * sizeof(float));
    }
    return;
  }
  for (uint32_t done = 0; done < n_frames;) {
    const uint32_t room = p->hop - s->fill;
    const uint32_t n = n_frames - done < room ? n_frames - done : room;
    run_part(p, s, state, in, out, done, n);
    done += n;
  }
}
