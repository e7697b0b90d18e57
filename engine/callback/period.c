// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The callback.  period_run(), at the end of the file, lists the steps.  It accesses only data in
  Period.

  `submitted` has the sequence number of each block, or PERIOD_NO_BLOCK for a dropped block.  A
  dropped block plays its fallback when it is due, so that a miss never shifts the latency.
*/

#include "period.h"

#include "period_state.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/contract/period_door.h"

typedef enum Due {
  DUE_NOT_YET,
  DUE_LATE, ///< The block is late; the worker continues with the next block
  DUE_LOST, ///< The block is invalid, or its ring is gone; the worker may restart, so the next
            ///< block may not continue it
  DUE_READY
} Due;

/// One block of a period.
typedef struct Slice {
  const float* const* in;
  float* const* out;
  uint32_t first; ///< First frame of the block in the period
  bool wait;
  bool is_first_of_ring; ///< The due block, if any, was in the previous ring
  uint64_t deadline_ns;  ///< Monotonic; depth 0 waits until then
} Slice;

// ---- steps ----

/// Switch to an offered ring.  Blocks in flight in the current ring are lost, and the callback
/// never accesses that ring's memory again.  The switch is deferred until another thread has
/// collected the previous ring.
static bool
take_offer(Period* const period)
{
  PeriodExchange* const exchange = &period->exchange;
  if (!atomic_load_explicit(&exchange->offered, memory_order_relaxed) ||
      atomic_load_explicit(&exchange->left, memory_order_acquire)) {
    return false;
  }
  Ring* const ring = atomic_exchange_explicit(&exchange->offered, NULL, memory_order_acquire);
  if (!ring) {
    return false; // the offer was withdrawn
  }
  for (uint64_t b = 1; b <= period->config.depth && b <= period->n_blocks; ++b) {
    uint64_t* const sequence = &period->submitted[(period->n_blocks - b) % PERIOD_HISTORY];
    counter_add(&period->counters.late, *sequence != PERIOD_NO_BLOCK);
    *sequence = PERIOD_NO_BLOCK;
  }
  period_midi_change_ring(period->midi);
  period->past_faults += ring_faults(period->ring);
  period->n_fresh = 0;
  atomic_store_explicit(&exchange->left, period->ring, memory_order_release);
  period->ring = ring;
  return true;
}

/// Pass a port to those that listen to it.
static void
record(const Period* const period, const bool is_output, const uint32_t c,
       const float* const samples, const uint32_t n_frames)
{
  for (uint32_t l = 0; l < period->n_listening; ++l) {
    listener_put(period->listening[l], is_output, c, samples, n_frames);
  }
}

static void
begin_listeners(Period* const period, const uint32_t n_frames)
{
  period->n_listening = 0;
  for (uint32_t l = 0; l < LISTEN_ALL; ++l) {
    Listener* const listener = atomic_load_explicit(&period->listeners[l], memory_order_acquire);
    if (!listener) {
      return;
    }
    listener_begin(listener, period->frame, n_frames);
    period->listening[period->n_listening++] = listener;
  }
}

static void
end_listeners(Period* const period, const uint32_t n_frames)
{
  for (uint32_t l = 0; l < period->n_listening; ++l) {
    listener_end(period->listening[l], n_frames);
  }
}

/// Copy `n_frames` of input channel c into `row`, without NaN and denormals, measure them, and
/// store them for the dry signal.
static void
take_input(Period* const period, const float* const in, const uint32_t c, float* const row,
           const uint32_t n_frames)
{
  const GuardCounts met = guard_measure(row, in, n_frames);
  period_count_guard(period, false, c, &met);
  levels_add_in(period->levels, c, &met.out);
  record(period, false, c, row, n_frames);
  feedback_record(period->feedback, c, &met);
  if (c < dry_line_channels(period->dry_line)) {
    dry_line_feed(period->dry_line, c, row, n_frames);
  }
}

/// Submit the input to the worker.  If all slots are in flight, or there is no worker, drop the
/// block.  The frame time advances in any case.
static void
submit_block(Period* const period, const Slice* const slice)
{
  Ring* const ring = period->ring;
  const uint32_t n_frames = period->shape.block_frames;
  const uint64_t next = ring_next(ring);
  if (slice->wait && !ring_can_submit(ring)) {
    ring_wait_finished(ring, next - period->shape.n_slots, UINT64_MAX);
  }
  const bool has_room = ring_can_submit(ring);
  for (uint32_t c = 0; c < period->shape.n_in; ++c) {
    const float* const in = slice->in[c] ? slice->in[c] + slice->first : period->rows.silence;
    take_input(period, in, c, has_room ? ring_input(ring, next, c) : period->rows.input, n_frames);
  }
  dry_line_advance(period->dry_line, n_frames);
  if (ring_is_abandoned(ring)) {
    period_midi_end_ring(period->midi);
  }
  const uint32_t n_midi = period_midi_give(period->midi, slice->first, n_frames,
                                           has_room ? ring_midi(ring, next) : NULL,
                                           period->shape.n_midi, &period->counters);
  if (has_room) {
    *ring_slot(ring, next) = (SlotHeader){ .frame = period->frame,
                                           .n_frames = n_frames,
                                           .flags = slice->wait ? SLOT_WAITED : 0,
                                           .n_midi = n_midi };
    ring_submit(ring);
  }
  counter_add(&period->counters.blocks, 1U);
  period->submitted[period->n_blocks % PERIOD_HISTORY] = has_room ? next : PERIOD_NO_BLOCK;
  period->frame += n_frames;
  counter_add(&period->counters.dropped, !has_room);
}

/// True if sequence number `due` is finished in time.
static bool
is_in_time(Period* const period, const Slice* const slice)
{
  Ring* const ring = period->ring;
  if (slice->wait) {
    return ring_wait_finished(ring, period->due, UINT64_MAX);
  }
  if (ring_is_finished(ring, period->due)) {
    return true;
  }
  const uint64_t now = time_now_ns();
  return period->config.depth == 0 && now < slice->deadline_ns &&
         ring_wait_finished(ring, period->due, slice->deadline_ns - now);
}

/// Check whether the block that was submitted `depth` blocks ago is finished.
static Due
take_due_block(Period* const period, const Slice* const slice)
{
  const uint64_t block = period->n_blocks++;
  if (block < period->config.depth) {
    return DUE_NOT_YET;
  }
  if (slice->is_first_of_ring) {
    // At depth 0 this block is in the new ring, but its worker has not processed the audio before
    // the block.
    counter_add(&period->counters.late, period->config.depth == 0);
    return DUE_LOST;
  }
  period->due = period->submitted[(block - period->config.depth) % PERIOD_HISTORY];
  if (period->due == PERIOD_NO_BLOCK) {
    return DUE_LOST; // already counted
  }
  if (!is_in_time(period, slice)) {
    counter_add(&period->counters.late, 1U);
    return DUE_LATE;
  }
  const RingResult result = ring_result(period->ring, period->due);
  const bool has_sound = result == RING_SOUND && period_take_wet(period, slice->out, slice->first);
  counter_add(&period->counters.failed, !has_sound && result != RING_WRONG);
  counter_add(&period->counters.wrong, result == RING_WRONG);
  return has_sound ? DUE_READY : DUE_LOST;
}

/// Choose the sound if the due block is late, lost or incomplete.
static Sound
miss_block(Period* const period, const Due due)
{
  if (period->is_wet) {
    period->is_wet = false;
    period->is_short = period->n_good >= FALLBACK_GOOD_BLOCKS;
    period_begin_gap(period);
  }
  period->is_short &= due == DUE_LATE;
  period->n_good = 0;
  return SOUND_FALLBACK;
}

/// Count a good block.  True if the output of the worker is complete with it: the first frames of a
/// worker that has taken over, as many as the latency of the rack, are silent or incomplete.
static bool
is_complete(Period* const period)
{
  const uint64_t latency = atomic_load_explicit(&period->rack_latency_frames, memory_order_relaxed);
  const bool is_complete = period->n_fresh >= latency;
  period->n_fresh += period->n_fresh < PERIOD_ALL_FRESH ? period->shape.block_frames : 0U;
  return is_complete;
}

/// Choose the sound by the rules in period.h.  With `wait`, wet returns as soon as it is complete.
static Sound
choose_sound(Period* const period, const Due due, const bool wait)
{
  if (due == DUE_NOT_YET) {
    return SOUND_SILENCE;
  }
  if (due != DUE_READY) {
    return miss_block(period, due);
  }
  period->n_good += period->n_good <= FALLBACK_GOOD_BLOCKS;
  const bool has_all = is_complete(period);
  // The first block that is due after an odd period, in which another ring may have been taken.
  const bool is_first = period->n_blocks == period->config.depth + 1U;
  if (period->is_wet && is_first && !has_all) {
    return miss_block(period, due);
  }
  if (period->is_wet) {
    return SOUND_WET;
  }
  const bool is_bridged = period->is_short && bridge_is_open(period->bridge);
  period->is_wet = has_all && (wait || is_bridged || period->n_good > FALLBACK_GOOD_BLOCKS);
  return period->is_wet ? SOUND_FALLBACK_TO_WET : SOUND_FALLBACK;
}

/// Compute the gains of the fade to silence or back for this block.  Returns false at full level.
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
  float* const faded = period->rows.mixed;
  for (uint32_t i = 0; i < period->shape.block_frames; ++i) {
    faded[i] = row[i] * period->rows.gains[i];
  }
  return faded;
}

static void
advance_feedback(Period* const period, const uint32_t n_frames)
{
  counter_add(&period->counters.feedback, feedback_advance(period->feedback, n_frames));
}

/// Guard an output.  If `row` is the due block, which period_take_wet() has copied to `out` and
/// measured, only limit it.
static GuardCounts
guard_block(const Period* const period, const uint32_t c, const float* const row, float* const out)
{
  const uint32_t n_frames = period->shape.block_frames;
  if (row != out) {
    return guard_limit(out, row, n_frames, &period->curve);
  }
  GuardCounts met = period->wet[c];
  met.bad = met.denormal = 0U; // counted by period_sound_row()
  guard_bend(out, n_frames, &period->curve, &met);
  return met;
}

/// Write the outputs: choose the signal, fade it, guard it, attenuate outputs that feed back, and
/// measure what leaves.
static void
play_block(Period* const period, const Slice* const slice, const Sound sound)
{
  period->next_tap = atomic_load_explicit(&period->rack_latency_frames, memory_order_relaxed);
  const uint32_t n_frames = period->shape.block_frames;
  const bool is_fading = move_fade(period);
  for (uint32_t c = 0; c < period->shape.n_out; ++c) {
    float* const out = slice->out[c] + slice->first;
    const float* row = period_sound_row(period, sound, c, out);
    bridge_record(period->bridge, c, row, n_frames);
    if (is_fading) {
      row = faded_row(period, row);
    }
    GuardCounts met = guard_block(period, c, row, out);
    period_count_guard(period, true, c, &met);
    if (feedback_play(period->feedback, c, &met, out, n_frames)) {
      met.out = (Level){ guard_peak(out, n_frames), guard_energy(out, n_frames) };
    }
    levels_add_out(period->levels, c, &met.out);
    record(period, true, c, out, n_frames);
  }
  advance_feedback(period, n_frames);
  bridge_advance(period->bridge, n_frames);
  period->tap = period->next_tap;
  counter_add(&period->counters.dry, sound >= SOUND_FALLBACK);
  if (period->config.dry_spans) {
    dry_spans_add(period->config.dry_spans, period->frame - n_frames, period->frame,
                  sound >= SOUND_FALLBACK);
  }
}

/// Handle a period that is not a multiple of the block: play silence, and restart the pipeline
/// after it.
static void
play_odd_period(Period* const period, const float* const* const in, float* const* const out,
                const uint32_t n_frames)
{
  const uint32_t block = period->shape.block_frames;
  for (uint32_t first = 0; first < n_frames; first += block) {
    const uint32_t n = n_frames - first < block ? n_frames - first : block;
    begin_listeners(period, n);
    for (uint32_t c = 0; c < period->shape.n_in; ++c) {
      take_input(period, in[c] ? in[c] + first : period->rows.silence, c, period->rows.input, n);
    }
    for (uint32_t c = 0; c < period->shape.n_out; ++c) {
      record(period, true, c, period->rows.silence, n);
    }
    end_listeners(period, n);
    dry_line_advance(period->dry_line, n);
    advance_feedback(period, n);
    period->frame += n;
  }
  period_door_silence(out, period->shape.n_out, n_frames);
  for (uint32_t c = 0; c < period->shape.n_out; ++c) {
    bridge_record(period->bridge, c, NULL, n_frames);
  }
  bridge_advance(period->bridge, n_frames);
  period->n_blocks = 0;
  period->n_good = 0;
  period->is_wet = true;
  const bool down = atomic_load_explicit(&period->fade_to_silence, memory_order_relaxed);
  period->n_faded = down ? period->fade_frames : 0;
  counter_add(&period->counters.odd_periods, 1U);
}

/// Publish a frame time and its monotonic time as a pair.  The version is odd while the pair
/// changes; a reader that loads a new part of the pair with acquire also sees the odd version.
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
    const uint64_t ns = time_now_ns() - began;
    if (ns > atomic_load_explicit(&counters->callback_ns_max, memory_order_relaxed)) {
      atomic_store_explicit(&counters->callback_ns_max, ns, memory_order_relaxed);
    }
  }
  atomic_store_explicit(&counters->faults, period->past_faults + ring_faults(period->ring),
                        memory_order_relaxed);
  atomic_store_explicit(&period->is_silent, period->n_faded == period->fade_frames,
                        memory_order_release);
}

void
period_set_midi(Period* const period, MidiPeriod* const midi)
{
  period->midi->now = midi;
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
  const uint64_t began = time_now_ns();
  publish_clock(period, began, n_frames);
  const bool is_new_ring = take_offer(period);
  levels_begin(period->levels, period->frame);
  period_midi_begin(period->midi, period->frame, &period->counters);
  if (n_frames % period->shape.block_frames) {
    play_odd_period(period, in, out, n_frames);
  } else {
    const double usable_s = period->config.deadline_fraction * n_frames / period->config.rate_hz;
    Slice slice = { in, out, 0, wait, is_new_ring, began + (uint64_t)(usable_s * 1e9) };
    for (; slice.first < n_frames; slice.first += period->shape.block_frames) {
      begin_listeners(period, period->shape.block_frames);
      submit_block(period, &slice);
      const Due due = take_due_block(period, &slice);
      const Sound sound = choose_sound(period, due, wait);
      play_block(period, &slice, sound);
      end_listeners(period, period->shape.block_frames);
      slice.is_first_of_ring = false;
    }
  }
  period_midi_end(period->midi, &period->counters);
  levels_end(period->levels, n_frames);
  count_period(period, began, wait);
  rt_section_leave();
}
