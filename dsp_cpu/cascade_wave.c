// SPDX-License-Identifier: GPL-3.0-or-later

#include "cascade_wave.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define WHERE  __attribute__((target("avx2,fma")))
#define INLINE static inline __attribute__((always_inline)) WHERE

#define LANES        4U
#define MAX_WAVES    (CASCADE_MAX_SECTIONS / LANES)
#define CHUNK_FRAMES 512U

// Frames between two sections.  One wave, or one for each of two signals, is fastest with 4; two
// linked waves, which do more work in a step, with 3.
#define SKEW        4U
#define LINKED_SKEW 3U
#define MAX_LAG     (LINKED_SKEW * (2U * LANES - 1U)) // of the last section behind the first one

#define MOVE_UP 0x93 // shuffle: lane i takes lane i - 1, and lane 0 takes lane 3

/// Up to four neighbouring sections of a signal.  The last one is in the last lane; the lanes
/// before the first one compute nothing of use.
typedef struct Wave {
  __m256d s, r, b0, cv, cd;
  __m256d v, d;
  __m256d is_source;  ///< Mask: lanes that take the input, the first section and those before it
  __m256d is_rounded; ///< Mask: lanes after a section that ends a node
  uint32_t n_sections;
  bool ends_node; ///< True of the last section
} Wave;

/// Some frames of a signal, and zeros for the steps that follow the last one.
typedef double Signal[CHUNK_FRAMES + MAX_LAG];

/// What run_waves() is compiled for.
typedef struct Shape {
  uint32_t n_waves;
  bool is_linked; ///< Two waves for one signal, else one for each signal
  bool rounds;    ///< A node ends before the last section
} Shape;

/// What a wave carries from step to step.
typedef struct Flow {
  __m256d v, d;
  __m256d waiting[SKEW]; ///< Inputs of the next steps, without those of the first section
  __m256d is_source, is_rounded;
  __m256i frame; ///< Of each lane
  double* signal;
} Flow;

/// The steps of a call.
typedef struct Course {
  uint32_t n_frames;
  uint32_t skew; ///< Frames between two sections
  uint32_t lag;  ///< Frames of the last section behind the first one
} Course;

/// A double of each row; `at` is its index in the row.
INLINE __m256d
gather(const CascadeRow* const* const rows, const size_t at)
{
  return _mm256_setr_pd((&rows[0]->s)[at], (&rows[1]->s)[at], (&rows[2]->s)[at], (&rows[3]->s)[at]);
}

INLINE __m256d
mask_of(const bool lane0, const bool lane1, const bool lane2, const bool lane3)
{
  return _mm256_castsi256_pd(_mm256_setr_epi64x(-lane0, -lane1, -lane2, -lane3));
}

/// Load a wave; bit i of node_ends: its section i ends a node.
static WHERE void
load_wave(Wave* const wave, CascadeRow* const* const rows, const uint32_t n_sections,
          const uint32_t node_ends)
{
  static const CascadeRow no_section;
  const uint32_t first = LANES - n_sections;
  const uint32_t ends = node_ends << first;
  const CascadeRow* lanes[LANES];
  for (uint32_t l = 0; l < LANES; ++l) {
    lanes[l] = l < first ? &no_section : rows[l - first];
  }
  *wave = (Wave){ .s = gather(lanes, 0),
                  .r = gather(lanes, 1),
                  .b0 = gather(lanes, 2),
                  .cv = gather(lanes, 3),
                  .cd = gather(lanes, 4),
                  .v = gather(lanes, 6),
                  .d = gather(lanes, 7),
                  .is_source = mask_of(true, first >= 1U, first >= 2U, first >= 3U),
                  .is_rounded = mask_of(ends & 8U, ends & 1U, ends & 2U, ends & 4U),
                  .n_sections = n_sections,
                  .ends_node = ends & 8U };
}

static WHERE void
store_states(const Wave* const wave, CascadeRow* const* const rows)
{
  double v[LANES];
  double d[LANES];
  _mm256_storeu_pd(v, wave->v);
  _mm256_storeu_pd(d, wave->d);
  const uint32_t first = LANES - wave->n_sections;
  for (uint32_t l = first; l < LANES; ++l) {
    rows[l - first]->v = v[l];
    rows[l - first]->d = d[l];
  }
}

INLINE __m256d
settled(const __m256d state)
{
  const __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), state);
  const __m256d smallest = _mm256_set1_pd(CASCADE_SMALLEST_STATE);
  return _mm256_and_pd(state, _mm256_cmp_pd(size, smallest, _CMP_NLT_UQ));
}

/// Undo the step of the states in the lanes that have no frame of the signal.
INLINE void
hold_states(Flow* const flow, const __m256d old_v, const __m256d old_d, const uint32_t n_frames)
{
  const __m256i works =
      _mm256_and_si256(_mm256_cmpgt_epi64(flow->frame, _mm256_set1_epi64x(-1)),
                       _mm256_cmpgt_epi64(_mm256_set1_epi64x(n_frames), flow->frame));
  flow->v = _mm256_blendv_pd(old_v, flow->v, _mm256_castsi256_pd(works));
  flow->d = _mm256_blendv_pd(old_d, flow->d, _mm256_castsi256_pd(works));
  flow->frame = _mm256_add_epi64(flow->frame, _mm256_set1_epi64x(1));
}

/// One frame of each lane of a wave; returns the outputs.
INLINE __m256d
filter(const Wave* const wave, Flow* const flow, const __m256d x)
{
  const __m256d v = flow->v;
  const __m256d d = flow->d;
  flow->d = _mm256_fmadd_pd(wave->r, d, _mm256_fnmadd_pd(wave->s, v, x));
  flow->v = _mm256_add_pd(v, d);
  return _mm256_fmadd_pd(wave->b0, x, _mm256_fmadd_pd(wave->cv, v, _mm256_mul_pd(wave->cd, d)));
}

/// The outputs, each in the lane of the next section, rounded where a node ends.
INLINE __m256d
move_up(const __m256d y, const __m256d is_rounded, const bool rounds)
{
  const __m256d moved = _mm256_permute4x64_pd(y, MOVE_UP);
  if (!rounds) {
    return moved;
  }
  const __m256d rounded = _mm256_cvtps_pd(_mm_permute_ps(_mm256_cvtpd_ps(y), MOVE_UP));
  return _mm256_blendv_pd(moved, rounded, is_rounded);
}

INLINE __m256d
take_input(const Flow* const flow, const uint32_t t, const uint32_t slot)
{
  return _mm256_blendv_pd(flow->waiting[slot], _mm256_broadcast_sd(flow->signal + t),
                          flow->is_source);
}

/// The step of one wave with inputs x; returns the outputs.
INLINE __m256d
step_wave(const Wave* const wave, Flow* const flow, const Course* const course, const __m256d x,
          const uint32_t slot, const bool rounds, const bool is_partial)
{
  const __m256d old_v = flow->v;
  const __m256d old_d = flow->d;
  const __m256d y = filter(wave, flow, x);
  if (is_partial) {
    hold_states(flow, old_v, old_d, course->n_frames);
  }
  flow->waiting[slot] = move_up(y, flow->is_rounded, rounds);
  return y;
}

INLINE void
put_output(const Flow* const flow, const Course* const course, const uint32_t t, const __m256d y,
           const bool is_partial)
{
  if (!is_partial || t >= course->lag) {
    _mm_storeh_pd(flow->signal + (t - course->lag), _mm256_extractf128_pd(y, 1));
  }
}

/// Step t: the first section takes frame t, the last one writes frame t - lag.  `slot`: where the
/// inputs wait.  `is_partial`: some lanes are before or behind the signal.
INLINE void
step(const Wave* const waves, const Shape shape, Flow* const one, Flow* const two,
     const Course* const course, const uint32_t t, const uint32_t slot, const bool is_partial)
{
  const __m256d y =
      step_wave(&waves[0], one, course, take_input(one, t, slot), slot, shape.rounds, is_partial);
  if (!shape.is_linked) {
    put_output(one, course, t, y, is_partial);
  }
  if (shape.n_waves == 2U) {
    const __m256d x = shape.is_linked ? two->waiting[slot] : take_input(two, t, slot);
    const __m256d y_two = step_wave(&waves[1], two, course, x, slot, shape.rounds, is_partial);
    put_output(two, course, t, y_two, is_partial);
    if (shape.is_linked) {
      two->waiting[slot] = _mm256_blend_pd(two->waiting[slot], one->waiting[slot], 1);
    }
  }
}

/// After a step in slot 0: the inputs that have waited longest move there.
INLINE void
turn(Flow* const flow, const uint32_t skew)
{
  const __m256d newest = flow->waiting[0];
  flow->waiting[0] = flow->waiting[1];
  flow->waiting[1] = flow->waiting[2];
  flow->waiting[2] = skew > 3U ? flow->waiting[3] : newest;
  flow->waiting[3] = newest;
}

/// Steps [from, to), in which some lanes are before or behind the signal.
INLINE void
step_partly(const Wave* const waves, const Shape shape, Flow* const one, Flow* const two,
            const Course* const course, const uint32_t from, const uint32_t to)
{
  for (uint32_t t = from; t < to; ++t) {
    step(waves, shape, one, two, course, t, 0U, true);
    turn(one, course->skew);
    turn(two, course->skew);
  }
}

/// Begin the flow of a wave.  `last`: the frame that its last lane has in step 0.
INLINE Flow
begin_flow(const Wave* const wave, double* const signal, const int64_t last, const int64_t skew)
{
  return (Flow){ .v = wave->v,
                 .d = wave->d,
                 .is_source = wave->is_source,
                 .is_rounded = wave->is_rounded,
                 .frame = _mm256_setr_epi64x(last + 3 * skew, last + 2 * skew, last + skew, last),
                 .signal = signal };
}

INLINE void
end_flow(const Flow* const flow, Wave* const wave)
{
  wave->v = settled(flow->v);
  wave->d = settled(flow->d);
}

/// Run frames of one signal through one wave or two linked ones, or of two signals through one wave
/// each.  The output replaces the signal, behind which `lag` more frames are read.
INLINE void
run_waves(Wave* const waves, const Shape shape, Signal* const signals, const uint32_t n_frames)
{
  const bool has_two = shape.n_waves == 2U;
  const uint32_t skew = shape.is_linked ? LINKED_SKEW : SKEW;
  const uint32_t n_sections = waves[0].n_sections + (shape.is_linked ? waves[1].n_sections : 0U);
  const uint32_t lag = skew * (n_sections - 1U);
  const Course course = { n_frames, skew, lag };
  Flow one = begin_flow(&waves[0], signals[0], -(int64_t)(skew * (waves[0].n_sections - 1U)), skew);
  Flow two = begin_flow(&waves[has_two], signals[has_two && !shape.is_linked], -(int64_t)lag, skew);

  step_partly(waves, shape, &one, &two, &course, 0U, lag);
  uint32_t t = lag;
  for (; t + skew <= n_frames; t += skew) {
    step(waves, shape, &one, &two, &course, t, 0U, false);
    step(waves, shape, &one, &two, &course, t + 1U, 1U, false);
    step(waves, shape, &one, &two, &course, t + 2U, 2U, false);
    if (skew > 3U) {
      step(waves, shape, &one, &two, &course, t + 3U, 3U, false);
    }
  }
  one.frame = _mm256_add_epi64(one.frame, _mm256_set1_epi64x(t - lag));
  two.frame = _mm256_add_epi64(two.frame, _mm256_set1_epi64x(t - lag));
  step_partly(waves, shape, &one, &two, &course, t, n_frames + lag);

  end_flow(&one, &waves[0]);
  if (has_two) {
    end_flow(&two, &waves[1]);
  }
}

#define RUN_WAVES(name, n_waves, is_linked, rounds)                                                \
  static WHERE __attribute__((noinline)) void name(Wave* const waves, Signal* const signals,       \
                                                   const uint32_t n_frames)                        \
  {                                                                                                \
    run_waves(waves, (Shape){ n_waves, is_linked, rounds }, signals, n_frames);                    \
  }

RUN_WAVES(run_one, 1U, false, false)
RUN_WAVES(run_one_rounded, 1U, false, true)
RUN_WAVES(run_two, 2U, false, false)
RUN_WAVES(run_two_rounded, 2U, false, true)
RUN_WAVES(run_linked, 2U, true, false)
RUN_WAVES(run_linked_rounded, 2U, true, true)

static WHERE void
widen(double* const to, const float* const from, const uint32_t n_frames)
{
  uint32_t i = 0;
  for (; i + 4U <= n_frames; i += 4U) {
    _mm256_storeu_pd(to + i, _mm256_cvtps_pd(_mm_loadu_ps(from + i)));
  }
  for (; i < n_frames; ++i) {
    to[i] = from[i];
  }
  memset(to + n_frames, 0, MAX_LAG * sizeof(double));
}

/// No output is -0, as in cascade_lanes.inc.
static WHERE void
narrow(float* const to, const double* const from, const uint32_t n_frames)
{
  uint32_t i = 0;
  for (; i + 4U <= n_frames; i += 4U) {
    const __m128 floats = _mm256_cvtpd_ps(_mm256_loadu_pd(from + i));
    _mm_storeu_ps(to + i, _mm_add_ps(floats, _mm_setzero_ps()));
  }
  for (; i < n_frames; ++i) {
    to[i] = (float)from[i] + 0.0F;
  }
}

/// Round a signal to float, up to three frames behind it, too.
static WHERE void
round_signal(double* const signal, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; i += 4U) {
    _mm256_storeu_pd(signal + i, _mm256_cvtps_pd(_mm256_cvtpd_ps(_mm256_loadu_pd(signal + i))));
  }
}

/// Run one signal through its waves, two by two.
static void
run_signal(Wave* const waves, const uint32_t n_waves, Signal* const signal, const uint32_t n_frames,
           const bool rounds)
{
  for (uint32_t w = 0; w < n_waves; w += 2U) {
    if (n_waves - w > 1U) {
      (rounds ? run_linked_rounded : run_linked)(waves + w, signal, n_frames);
    } else {
      (rounds ? run_one_rounded : run_one)(waves + w, signal, n_frames);
    }
    if (w + 2U < n_waves && waves[w + 1U].ends_node) {
      round_signal(*signal, n_frames);
    }
  }
}

/// Load the waves of a signal.  Only the first one may have less than four sections.
static void
load_waves(Wave* const waves, const CascadeJob* const job, const CascadeForm form)
{
  uint32_t n = (form.n_sections - 1U) % LANES + 1U;
  uint32_t w = 0;
  for (uint32_t s = 0; s < form.n_sections; s += n, n = LANES) {
    load_wave(&waves[w++], job->rows + s, n, form.node_ends >> s);
  }
}

static void
store_waves(const Wave* const waves, const CascadeJob* const job, const CascadeForm form)
{
  uint32_t w = 0;
  for (uint32_t s = 0; s < form.n_sections; s += waves[w++].n_sections) {
    store_states(&waves[w], job->rows + s);
  }
}

void
cascade_wave(const CascadeJob* const jobs, const uint32_t n_jobs, const CascadeForm form,
             const uint32_t n_frames)
{
  const uint32_t n_waves = (form.n_sections + LANES - 1U) / LANES; // of a job
  if (n_jobs == 2U && n_waves > 1U) {
    cascade_wave(jobs, 1U, form, n_frames);
    cascade_wave(jobs + 1, 1U, form, n_frames);
    return;
  }
  const bool rounds = form.node_ends & ((1U << (form.n_sections - 1U)) - 1U);
  Wave waves[MAX_WAVES];
  Signal signals[2];
  for (uint32_t j = 0; j < n_jobs; ++j) {
    load_waves(waves + j, &jobs[j], form);
  }
  for (uint32_t first = 0; first < n_frames; first += CHUNK_FRAMES) {
    const uint32_t n = n_frames - first < CHUNK_FRAMES ? n_frames - first : CHUNK_FRAMES;
    for (uint32_t j = 0; j < n_jobs; ++j) {
      widen(signals[j], jobs[j].in + first, n);
    }
    if (n_jobs == 2U) {
      (rounds ? run_two_rounded : run_two)(waves, signals, n);
    } else {
      run_signal(waves, n_waves, signals, n, rounds);
    }
    for (uint32_t j = 0; j < n_jobs; ++j) {
      narrow(jobs[j].out + first, signals[j], n);
    }
  }
  for (uint32_t j = 0; j < n_jobs; ++j) {
    store_waves(waves + j, &jobs[j], form);
  }
}

#endif
