// SPDX-License-Identifier: GPL-3.0-or-later
/*
   The callback.  period_run(), at the end of the steps, is the list of them; everything that it may
   touch is in Period.

   Which sequence number is due is remembered per block, not computed: a block that was dropped has
   none, and its time is played dry, so that a miss never shifts the latency.
*/

#include "period.h"

#include "guard.h"
#include "period_state.h"
#include "rt.h"

#include <float.h>
#include <string.h>

typedef enum Due { DUE_NOT_YET, DUE_MISSING, DUE_READY } Due;

typedef enum Sound {
  SOUND_SILENCE,
  SOUND_WET,
  SOUND_WET_TO_DRY,
  SOUND_DRY,
  SOUND_DRY_TO_WET
} Sound;

/// One block's part of a period.
typedef struct Slice {
  const float* const* in;
  float* const* out;
  uint32_t first; ///< Frame of the period
  bool wait;
  uint64_t deadline_ns; ///< Monotonic; depth 0 waits until then
} Slice;

// ---- steps ----

/// Add to a counter that only this thread writes.
static void
count(_Atomic uint64_t* const counter, const uint64_t n)
{
  if (n) {
    const uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + n, memory_order_relaxed);
  }
}

/// Copy input channel c into `row` and keep it for the dry signal.
static void
take_input(Period* const period, const Slice* const slice, const uint32_t c, float* const row)
{
  const uint32_t n_frames = period->shape.block_frames;
  const float* const in = slice->in[c] ? slice->in[c] + slice->first : period->rows.silence;
  count(&period->counters.bad_in, guard_copy(row, in, n_frames, FLT_MAX).bad);
  if (c < dry_line_channels(period->dry_line)) {
    dry_line_feed(period->dry_line, c, row, n_frames);
  }
}

/// Hand the input to the worker.  With all slots in flight the block is dropped; time goes on.
static void
submit_block(Period* const period, const Slice* const slice)
{
  Ring* const ring = period->config.ring;
  const uint32_t n_frames = period->shape.block_frames;
  const uint64_t next = ring_next(ring);
  if (slice->wait && !ring_can_submit(ring)) {
    ring_wait_finished(ring, next - period->shape.n_slots, UINT64_MAX);
  }
  const bool has_room = ring_can_submit(ring);
  for (uint32_t c = 0; c < period->shape.n_in; ++c) {
    take_input(period, slice, c, has_room ? ring_input(ring, next, c) : period->rows.input);
  }
  dry_line_advance(period->dry_line, n_frames);
  if (has_room) {
    *ring_slot(ring, next) = (SlotHeader){ .frame = period->frame,
                                           .n_frames = n_frames,
                                           .flags = slice->wait ? SLOT_WAITED : 0 };
    ring_submit(ring);
  }
  count(&period->counters.blocks, 1U);
  period->submitted[period->n_blocks % PERIOD_HISTORY] = has_room ? next : PERIOD_NO_BLOCK;
  period->frame += n_frames;
  count(&period->counters.dropped, !has_room);
}

/// True when sequence number `due` is finished in time.
static bool
is_in_time(Period* const period, const Slice* const slice)
{
  Ring* const ring = period->config.ring;
  if (slice->wait) {
    return ring_wait_finished(ring, period->due, UINT64_MAX);
  }
  if (ring_is_finished(ring, period->due)) {
    return true;
  }
  const uint64_t now = rt_now_ns();
  return period->config.depth == 0 && now < slice->deadline_ns &&
         ring_wait_finished(ring, period->due, slice->deadline_ns - now);
}

/// See whether the block that was submitted `depth` blocks ago is here.
static Due
take_due_block(Period* const period, const Slice* const slice)
{
  const uint64_t block = period->n_blocks++;
  if (block < period->config.depth) {
    return DUE_NOT_YET;
  }
  period->due = period->submitted[(block - period->config.depth) % PERIOD_HISTORY];
  if (period->due == PERIOD_NO_BLOCK) {
    return DUE_MISSING; // counted when it was dropped
  }
  const bool in_time = is_in_time(period, slice);
  const bool has_sound =
      in_time && !(ring_slot(period->config.ring, period->due)->flags & SLOT_FAILED);
  count(&period->counters.late, !in_time);
  count(&period->counters.failed, in_time && !has_sound);
  return has_sound ? DUE_READY : DUE_MISSING;
}

/// The miss policy of period.h.  Whoever waits need not be careful: wet comes back at once.
static Sound
choose_sound(Period* const period, const Due due, const bool wait)
{
  if (due == DUE_NOT_YET) {
    return SOUND_SILENCE;
  }
  const bool was_wet = period->is_wet;
  if (due == DUE_MISSING) {
    period->is_wet = false;
    period->n_good = 0;
    return was_wet ? SOUND_WET_TO_DRY : SOUND_DRY;
  }
  if (was_wet) {
    return SOUND_WET;
  }
  if (wait || period->n_good == PERIOD_GOOD_BLOCKS) {
    period->is_wet = true;
    return SOUND_DRY_TO_WET;
  }
  ++period->n_good;
  return SOUND_DRY;
}

/// Input channel whose dry signal output channel c plays: a mono input goes everywhere.
static uint32_t
dry_source(const Period* const period, const uint32_t c)
{
  return period->shape.n_in == 1U ? 0 : c;
}

/// The input, as late as the wet signal is; a change of latency fades from one tap to the other.
static const float*
dry_row(Period* const period, const uint32_t c)
{
  const PeriodRows* const rows = &period->rows;
  const uint32_t n_frames = period->shape.block_frames;
  const uint32_t source = dry_source(period, c);
  if (source >= dry_line_channels(period->dry_line)) {
    return rows->silence;
  }
  dry_line_read(period->dry_line, source, period->base_latency + period->tap, rows->dry, n_frames);
  if (period->next_tap != period->tap) {
    dry_line_read(period->dry_line, source, period->base_latency + period->next_tap,
                  rows->other_tap, n_frames);
    guard_fade(rows->dry, rows->dry, rows->other_tap, n_frames);
  }
  return rows->dry;
}

/// The last wet block, continued by odd reflection about its last sample x[0]: 2 x[0] - x[-t] at
/// t = 1, 2, …  The last frame has no x[-t] in that block, and no weight in the fade.
static const float*
continued_row(Period* const period, const uint32_t c)
{
  Ring* const ring = period->config.ring;
  const uint32_t n_frames = period->shape.block_frames;
  // The worker may not write that slot before a whole round of submissions after it.
  if (period->last_wet == PERIOD_NO_BLOCK ||
      ring_next(ring) - period->last_wet > period->shape.n_slots) {
    return period->rows.silence;
  }
  const float* const last = ring_output(ring, period->last_wet, c);
  float* const row = period->rows.wet;
  const float centre = last[n_frames - 1U];
  for (uint32_t i = 0; i + 1U < n_frames; ++i) {
    row[i] = 2.0F * centre - last[n_frames - 2U - i];
  }
  row[n_frames - 1U] = centre;
  return row;
}

/// What output channel c sounds in this block, before level and guard.
static const float*
sound_row(Period* const period, const Sound sound, const uint32_t c)
{
  const uint32_t n_frames = period->shape.block_frames;
  float* const mixed = period->rows.wet;
  switch (sound) {
  case SOUND_SILENCE:
    break;
  case SOUND_WET:
    return ring_output(period->config.ring, period->due, c);
  case SOUND_WET_TO_DRY:
    guard_fade(mixed, continued_row(period, c), dry_row(period, c), n_frames);
    return mixed;
  case SOUND_DRY:
    return dry_row(period, c);
  case SOUND_DRY_TO_WET:
    guard_fade(mixed, dry_row(period, c), ring_output(period->config.ring, period->due, c),
               n_frames);
    return mixed;
  }
  return period->rows.silence;
}

/// Compute this block's gains of the fade to silence or back; false when the level is full.
static bool
move_fade(Period* const period)
{
  const bool down = atomic_load_explicit(&period->fade_to_silence, memory_order_relaxed);
  const uint32_t target = down ? period->fade_frames : 0;
  if (period->n_faded == 0 && target == 0) {
    return false;
  }
  for (uint32_t i = 0; i < period->shape.block_frames; ++i) {
    period->n_faded += period->n_faded < target;
    period->n_faded -= period->n_faded > target;
    period->rows.gains[i] = 1.0F - (float)period->n_faded / (float)period->fade_frames;
  }
  return true;
}

static const float*
faded_row(Period* const period, const float* const row)
{
  float* const faded = period->rows.wet;
  for (uint32_t i = 0; i < period->shape.block_frames; ++i) {
    faded[i] = row[i] * period->rows.gains[i];
  }
  return faded;
}

/// Write the outputs: sound, level, guard.
static void
play_block(Period* const period, const Slice* const slice, const Sound sound)
{
  period->next_tap = atomic_load_explicit(&period->rack_latency, memory_order_relaxed);
  const bool is_fading = move_fade(period);
  for (uint32_t c = 0; c < period->shape.n_out; ++c) {
    const float* row = sound_row(period, sound, c);
    if (is_fading) {
      row = faded_row(period, row);
    }
    const GuardCounts met = guard_copy(slice->out[c] + slice->first, row,
                                       period->shape.block_frames, period->config.ceiling);
    count(&period->counters.bad_out, met.bad);
    count(&period->counters.clipped, met.clipped);
  }
  period->tap = period->next_tap;
  if (sound == SOUND_WET || sound == SOUND_DRY_TO_WET) {
    period->last_wet = period->due;
  }
  count(&period->counters.dry, sound >= SOUND_WET_TO_DRY);
}

/// A period that is no multiple of the block: silence, and the pipeline starts afresh after it.
static void
play_odd_period(Period* const period, const float* const* const in, float* const* const out,
                const uint32_t n_frames)
{
  const uint32_t block = period->shape.block_frames;
  for (uint32_t first = 0; first < n_frames; first += block) {
    const uint32_t n = n_frames - first < block ? n_frames - first : block;
    for (uint32_t c = 0; c < dry_line_channels(period->dry_line); ++c) {
      const float* const row = in[c] ? in[c] + first : period->rows.silence;
      count(&period->counters.bad_in, guard_copy(period->rows.input, row, n, FLT_MAX).bad);
      dry_line_feed(period->dry_line, c, period->rows.input, n);
    }
    dry_line_advance(period->dry_line, n);
  }
  for (uint32_t c = 0; c < period->shape.n_out; ++c) {
    memset(out[c], 0, n_frames * sizeof(float));
  }
  period->frame += n_frames;
  period->n_blocks = 0;
  period->is_wet = true;
  period->last_wet = PERIOD_NO_BLOCK;
  const bool down = atomic_load_explicit(&period->fade_to_silence, memory_order_relaxed);
  period->n_faded = down ? period->fade_frames : 0;
  count(&period->counters.odd_periods, 1U);
}

/// Let others read a frame time and the moment it belongs to as a pair.  The version is odd while
/// the pair changes; a reader that met the new part of a pair acquires with it the odd version.
static void
publish_clock(Period* const period, const uint64_t began, const uint32_t n_frames)
{
  const uint32_t version = atomic_load_explicit(&period->clock_version, memory_order_relaxed);
  atomic_store_explicit(&period->clock_version, version + 1U, memory_order_relaxed);
  atomic_store_explicit(&period->clock_frame, period->frame + n_frames, memory_order_release);
  atomic_store_explicit(&period->clock_ns, began, memory_order_release);
  atomic_store_explicit(&period->clock_version, version + 2U, memory_order_release);
}

static void
count_period(Period* const period, const uint64_t began, const bool wait)
{
  PeriodCounters* const counters = &period->counters;
  if (!wait) {
    const uint64_t ns = rt_now_ns() - began;
    count(&counters->callback_ns_sum, ns);
    if (ns > atomic_load_explicit(&counters->callback_ns_max, memory_order_relaxed)) {
      atomic_store_explicit(&counters->callback_ns_max, ns, memory_order_relaxed);
    }
  }
  atomic_store_explicit(&period->is_silent, period->n_faded == period->fade_frames,
                        memory_order_release);
}

void
period_run(Period* const period, const float* const* const in, float* const* const out,
           const uint32_t n_frames, const bool wait)
{
  if (n_frames == 0) {
    return;
  }
  rt_section_enter();
  rt_flush_denormals();
  const uint64_t began = rt_now_ns();
  publish_clock(period, began, n_frames);
  if (n_frames % period->shape.block_frames) {
    play_odd_period(period, in, out, n_frames);
  } else {
    const double usable_s = period->config.deadline * n_frames / period->config.rate_hz;
    Slice slice = { in, out, 0, wait, began + (uint64_t)(usable_s * 1e9) };
    for (; slice.first < n_frames; slice.first += period->shape.block_frames) {
      submit_block(period, &slice);
      const Due due = take_due_block(period, &slice);
      const Sound sound = choose_sound(period, due, wait);
      play_block(period, &slice, sound);
    }
  }
  count_period(period, began, wait);
  rt_section_leave();
}

// ---- the other threads ----

void
period_set_latency(Period* const period, const uint32_t rack_latency_frames)
{
  const uint32_t most = period->config.max_latency_frames;
  atomic_store_explicit(&period->rack_latency,
                        rack_latency_frames < most ? rack_latency_frames : most,
                        memory_order_relaxed);
}

void
period_fade(Period* const period, const bool to_silence)
{
  atomic_store_explicit(&period->fade_to_silence, to_silence, memory_order_relaxed);
}

bool
period_is_silent(const Period* const period)
{
  return atomic_load_explicit(&period->is_silent, memory_order_acquire);
}

void
period_clock(const Period* const period, uint64_t* const next_frame, uint64_t* const began_ns)
{
  uint32_t before = 0;
  uint32_t after = 0;
  do {
    before = atomic_load_explicit(&period->clock_version, memory_order_acquire);
    *next_frame = atomic_load_explicit(&period->clock_frame, memory_order_acquire);
    *began_ns = atomic_load_explicit(&period->clock_ns, memory_order_acquire);
    after = atomic_load_explicit(&period->clock_version, memory_order_relaxed);
  } while (before != after || before % 2U);
}

static uint64_t
read_counter(const _Atomic uint64_t* const counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

PeriodCounts
period_counts(const Period* const period)
{
  const PeriodCounters* const counters = &period->counters;
  return (PeriodCounts){ .blocks = read_counter(&counters->blocks),
                         .late = read_counter(&counters->late),
                         .failed = read_counter(&counters->failed),
                         .dropped = read_counter(&counters->dropped),
                         .dry = read_counter(&counters->dry),
                         .clipped = read_counter(&counters->clipped),
                         .bad_in = read_counter(&counters->bad_in),
                         .bad_out = read_counter(&counters->bad_out),
                         .odd_periods = read_counter(&counters->odd_periods),
                         .faults = ring_faults(period->config.ring),
                         .callback_ns_max = read_counter(&counters->callback_ns_max),
                         .callback_ns_sum = read_counter(&counters->callback_ns_sum) };
}
