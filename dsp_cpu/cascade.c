// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Nodes and units of the filters: design on change, cross-fade, and batches of units for the SIMD
   kernel.

   The weight of the cross-fade is the quintic 6 w^5 - 15 w^4 + 10 w^3 (K. Perlin, "Improving
   Noise", SIGGRAPH 2002).  Its first and second derivatives are 0 at both ends, so that neither end
   is audible on a low note, and the weight stays near 0 while the next filter's transients decay.
*/

#include "cascade.h"

#include "dsp_cpu/shared/cascade_words.h"

#include <complex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_JOBS   16U  // of a call of the kernel: a unit that fades has two
#define FADE_CHUNK 128U // frames of the next filter's output that fit on the stack

// Limits of the form that cuts blocks into segments (fx_cascade_long.cu): it takes twice the
// arithmetic and four more launches, and keeps all multiprocessors busy with few channels.
#define LONG_MOST_CHANNELS 64U
#define LONG_LEAST_FRAMES  512U
#define LONG_TILE_FRAMES   64U  // shortest segment
#define LONG_SEGMENTS      512U // most: the states before them are computed one after the other

typedef struct CascadeNode {
  CascadePlan plan;
  const CascadeKernel* kernel;
  double rate_hz;
  double values[CASCADE_MAX_PARAMS];
  uint32_t fade_frames;                    ///< Of the next cross-fade
  uint32_t n_segments;                     ///< Most of a block on a device; 0: not cut
  uint32_t version;                        ///< Number of designs so far
  _Atomic uint64_t tail_frames;            ///< Read by any thread, written by `set`; relaxed
  CascadeRow target[CASCADE_MAX_SECTIONS]; ///< The current design, with a state of zero
} CascadeNode;

typedef struct CascadeUnit {
  uint32_t version;     ///< Version of the design that is active or fades in
  uint32_t fade_left;   ///< Frames until the cross-fade ends; 0: only the old filter runs
  uint32_t fade_frames; ///< Length of that cross-fade, without the time before it
  _Alignas(64) CascadeRow filters[]; ///< [n_sections] active, then [n_sections] next: a line each
} CascadeUnit;

static CascadeRow*
next_filter(CascadeUnit* const unit, const CascadeNode* const node)
{
  return unit->filters + node->plan.n_sections;
}

/// The bilinear transform of a section, in the kernel's terms: z^-1 = (1 - s) / (1 + s) in
/// Section's H(s), multiplied out so that nothing cancels at low frequencies.
static CascadeRow
row_of(const Section* const section)
{
  const double b2 = section->b2;
  const double b1 = section->b1;
  const double b0 = section->b0;
  const double a1 = section->a1;
  const double a0 = section->a0;
  const double scale = 1.0 / (1.0 + a1 + a0);
  const double cv = 4.0 * scale * scale * (b0 * (1.0 + a1) - a0 * (b2 + b1));
  return (CascadeRow){ .s = 4.0 * a0 * scale,
                       .r = (1.0 - a1 - 3.0 * a0) * scale,
                       .b0 = (b2 + b1 + b0) * scale,
                       .cv = cv,
                       .cd = cv + 2.0 * scale * scale * (b1 * (1.0 + a0) - a1 * (b2 + b0)) };
}

/// The slower of the two poles -a1/2 +- sqrt(a1^2/4 - a0).
static double complex
slow_pole(const double a1, const double a0)
{
  const double complex root = csqrt(0.25 * a1 * a1 - a0);
  // Real poles: -a1/2 + root cancels when the poles are far apart; their product a0 gives this pole
  // without cancellation.
  return -a0 / (0.5 * a1 + root);
}

/// The slower of the two poles of a row, in the variable of the bilinear transform.
static double complex
slow_pole_of(const CascadeRow* const row)
{
  const double inverse_scale = 4.0 / (2.0 * (1.0 + row->r) + row->s); // 1 + a1 + a0
  const double a0 = 0.25 * row->s * inverse_scale;
  return slow_pole(inverse_scale - 1.0 - a0, a0);
}

/// Frames in which an oscillation with this pole falls by 120 dB.
static double
decay_frames(const double complex pole)
{
  // |z|^2 - 1 = 4 Re s / |1 - s|^2 for z = (1 + s) / (1 - s): exact next to the unit circle.
  const double complex to_z = 1.0 - pole;
  const double excess = 4.0 * creal(pole) / creal(to_z * conj(to_z));
  return log(1e-6) / (0.5 * log1p(fmax(excess, -1.0)));
}

static double
tail_frames(const Section* const section)
{
  const double complex pole = slow_pole(section->a1, section->a0);
  const double complex other = section->a0 / pole; // the slower pole in z when it is beyond s = -1
  return fmax(decay_frames(pole), decay_frames(other));
}

static void
redesign(CascadeNode* const node)
{
  Section sections[CASCADE_MAX_SECTIONS];
  node->plan.design(node->values, node->rate_hz, sections);
  double tail = 2.0 * node->plan.n_sections; // each section's zeros
  for (uint32_t s = 0; s < node->plan.n_sections; ++s) {
    node->target[s] = row_of(&sections[s]);
    tail += tail_frames(&sections[s]);
  }
  atomic_store_explicit(&node->tail_frames, (uint64_t)ceil(tail), memory_order_relaxed);
  ++node->version;
}

static uint32_t
most_segments(const FxSetup* const setup)
{
  const uint32_t n = setup->max_block_frames / LONG_TILE_FRAMES;
  const bool is_long =
      setup->n_in <= LONG_MOST_CHANNELS && setup->max_block_frames >= LONG_LEAST_FRAMES;
  return !is_long ? 0U : n < LONG_SEGMENTS ? n : LONG_SEGMENTS;
}

Status
cascade_create(const CascadePlan* const plan, const FxSetup* const setup, FxShape* const shape,
               void** const node, Error* const error)
{
  CascadeNode* const cascade = calloc(1, sizeof(CascadeNode));
  if (!cascade) {
    return error_set(error, STATUS_NO_MEM, "filter: out of memory");
  }
  uint32_t n_kernels = 0;
  cascade->plan = *plan;
  cascade->kernel = cascade_kernels(&n_kernels)[0];
  cascade->rate_hz = setup->rate_hz;
  cascade->fade_frames = fx_ramp_frames(setup->rate_hz);
  cascade->n_segments = most_segments(setup);
  memcpy(cascade->values, setup->values, plan->n_params * sizeof(double));
  redesign(cascade);
  shape->tail_frames = cascade_tail(cascade);
  shape->unit_bytes = sizeof(CascadeUnit) + 2U * plan->n_sections * sizeof(CascadeRow);
  *node = cascade;
  return STATUS_OK;
}

Status
cascade_create_one(const uint32_t n_params, const CascadeDesign design, const FxSetup* const setup,
                   FxShape* const shape, void** const node, Error* const error)
{
  const CascadePlan plan = { .n_params = n_params, .n_sections = 1, .design = design };
  return cascade_create(&plan, setup, shape, node, error);
}

void
cascade_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  const CascadeNode* const cascade = node;
  CascadeUnit* const unit = state;
  unit->version = cascade->version;
  unit->fade_left = unit->fade_frames = 0;
  memcpy(unit->filters, cascade->target, cascade->plan.n_sections * sizeof(CascadeRow));
}

void
cascade_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  CascadeNode* const cascade = node;
  if (cascade->values[param] != value) {
    cascade->values[param] = value;
    cascade->fade_frames = ramp_frames;
    redesign(cascade);
  }
}

uint64_t
cascade_tail(const void* const node)
{
  return atomic_load_explicit(&((const CascadeNode*)node)->tail_frames, memory_order_relaxed);
}

/// Similarity of the impulse responses of two sections, 0 to 1: the cosine between exp(p t) and
/// exp(q t) as vectors.
static double
overlap(const double complex p, const double complex q)
{
  return 2.0 * sqrt(creal(p) * creal(q)) / cabs(conj(p) + q);
}

/**
   Start the next filter.  Its exact state would depend on all past input.  If the poles hardly
   move, the old state is a good approximation; if they move far, the old state would only ring at
   the wrong frequency.  Therefore the next filter starts from the old state times the similarity of
   the two sections.  The smaller this factor is, the longer the next filter runs before the fade
   begins.
*/
static void
fade_begin(CascadeUnit* const unit, const CascadeNode* const node)
{
  const CascadeRow* const old = unit->filters;
  CascadeRow* const next = next_filter(unit, node);
  double least_kept = 1.0;
  for (uint32_t s = 0; s < node->plan.n_sections; ++s) {
    next[s] = node->target[s];
    const double kept = overlap(slow_pole_of(&old[s]), slow_pole_of(&next[s]));
    const double scale = old[s].s / next[s].s; // s v is the low output, sqrt(s) d the band output
    next[s].v = kept * scale * old[s].v;
    next[s].d = kept * sqrt(scale) * old[s].d;
    least_kept = fmin(least_kept, kept);
  }
  unit->version = node->version;
  unit->fade_frames = node->fade_frames;
  unit->fade_left = node->fade_frames + (uint32_t)((1.0 - least_kept) * node->fade_frames);
}

static void
fade_end(CascadeUnit* const unit, const CascadeNode* const node)
{
  memcpy(unit->filters, next_filter(unit, node), node->plan.n_sections * sizeof(CascadeRow));
}

/// Cross-fade `out` from the old filter to the next one; `left` frames remain until the fade ends.
static void
fade_mix(float* const out, const float* const next, const uint32_t n_frames, const uint32_t left,
         const uint32_t fade_frames)
{
  // Before frame `first` the next filter only settles.
  const uint32_t first = left > fade_frames ? left - fade_frames : 0U;
  const double per_frame = 1.0 / fade_frames;
  for (uint32_t i = first; i < n_frames; ++i) {
    const double w = 1.0 - (double)(left - i) * per_frame;
    const double weight = w * w * w * (10.0 + w * (6.0 * w - 15.0));
    out[i] = (float)(out[i] + weight * ((double)next[i] - out[i]));
  }
}

/// True if a unit runs its active filter only.
static bool
rests(const void* const node, const void* const state)
{
  const CascadeUnit* const unit = state;
  return !unit->fade_left && unit->version == ((const CascadeNode*)node)->version;
}

static bool
fades(const FxUnit* const unit)
{
  return !rests(unit->node, unit->state);
}

/// A job for the kernel; `rows` becomes its pointers to `filters`.
static CascadeJob
job_of(CascadeRow* const filters, const uint32_t n_sections, CascadeRow** const rows,
       const float* const in, float* const out)
{
  for (uint32_t s = 0; s < n_sections; ++s) {
    rows[s] = filters + s;
  }
  return (CascadeJob){ rows, in, out };
}

/// Run a unit up to the next frame at which a fade begins or ends, at most n_frames; returns the
/// number of frames.
static uint32_t
run_segment(const FxUnit* const units, const uint32_t n_units, const uint32_t first,
            uint32_t n_frames)
{
  const CascadeNode* const node = units[0].node;
  const uint32_t n_sections = node->plan.n_sections;
  float faded_in[MAX_JOBS / 2U][FADE_CHUNK];
  CascadeRow* rows[MAX_JOBS][CASCADE_MAX_SECTIONS];
  CascadeJob jobs[MAX_JOBS] = { 0 };
  uint32_t n_jobs = 0;
  uint32_t n_faded = 0;
  for (uint32_t u = 0; u < n_units; ++u) {
    CascadeUnit* const unit = units[u].state;
    const float* const in = units[u].in[0] + first;
    jobs[n_jobs] = job_of(unit->filters, n_sections, rows[n_jobs], in, units[u].out[0] + first);
    ++n_jobs;
    if (!fades(&units[u])) {
      continue;
    }
    if (!unit->fade_left) {
      fade_begin(unit, units[u].node);
    }
    CascadeRow* const next = next_filter(unit, units[u].node);
    jobs[n_jobs] = job_of(next, n_sections, rows[n_jobs], in, faded_in[n_faded++]);
    ++n_jobs;
    n_frames = n_frames < FADE_CHUNK ? n_frames : FADE_CHUNK;
    n_frames = n_frames < unit->fade_left ? n_frames : unit->fade_left;
  }
  node->kernel->run(jobs, n_jobs, (CascadeForm){ .n_sections = n_sections }, n_frames);

  n_faded = 0;
  for (uint32_t u = 0; u < n_units; ++u) {
    CascadeUnit* const unit = units[u].state;
    if (unit->fade_left) {
      const CascadeNode* const own = units[u].node;
      fade_mix(units[u].out[0] + first, faded_in[n_faded++], n_frames, unit->fade_left,
               unit->fade_frames);
      unit->fade_left -= n_frames;
      if (!unit->fade_left) {
        fade_end(unit, own);
      }
    }
  }
  return n_frames;
}

/// The number of units that fit into one call of the kernel.  All units of a call have the same
/// number of sections; a unit that fades takes two jobs.
static uint32_t
batch_size(const FxUnit* const units, const uint32_t n_units)
{
  const CascadeNode* const node = units[0].node;
  uint32_t n_jobs = 0;
  for (uint32_t u = 0; u < n_units; ++u) {
    const CascadeNode* const other = units[u].node;
    n_jobs += fades(&units[u]) ? 2U : 1U;
    if (other->plan.n_sections != node->plan.n_sections || n_jobs > MAX_JOBS) {
      return u;
    }
  }
  return n_units;
}

void
cascade_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units;) {
    const uint32_t batch = batch_size(units + u, n_units - u);
    for (uint32_t done = 0; done < n_frames;) {
      done += run_segment(units + u, batch, done, n_frames - done);
    }
    u += batch;
  }
}

// ---- in chains ----

static uint32_t
linear_sections(const void* const node)
{
  return ((const CascadeNode*)node)->plan.n_sections;
}

static CascadeRow*
active_filter(void* const state)
{
  return ((CascadeUnit*)state)->filters;
}

const FxLinear cascade_linear = {
  .n_sections = linear_sections,
  .sections = active_filter,
  .rests = rests,
};

// ---- for dsp_gpu/kernels/fx_cascade.cu ----

static FxKernelPass
chains_pass(const char* const entry)
{
  return (FxKernelPass){ entry, CASCADE_GROUP_THREADS, CASCADE_GROUP_CHANNELS, 1U };
}

/// Groups for all segments, and for the columns of the matrix, of a chain with the most sections.
static FxKernelPass
signals_pass(const char* const entry, const uint32_t n_segments)
{
  const uint32_t n_signals = 2U * CASCADE_MAX_SECTIONS + n_segments;
  return (FxKernelPass){ entry, CASCADE_GROUP_THREADS, 1U,
                         (n_signals + CASCADE_GROUP_CHANNELS - 1U) / CASCADE_GROUP_CHANNELS };
}

static void
cascade_shape(const void* const node, FxKernelShape* const shape)
{
  const CascadeNode* const cascade = node;
  const uint32_t n_sections = cascade->plan.n_sections;
  *shape =
      (FxKernelShape){ .passes = { chains_pass("fx_cascade") },
                       .n_passes = 1,
                       .n_parts = n_sections,
                       .param_words = CASCADE_PARAM_HEAD + n_sections * CASCADE_COEFFICIENT_WORDS,
                       .state_words = CASCADE_STATE_HEAD + 2U * n_sections * CASCADE_ROW_WORDS };
  if (cascade->n_segments) {
    shape->file = "fx_cascade_long.cu";
    shape->passes[0] = chains_pass("cascade_begin");
    shape->passes[1] = signals_pass("cascade_probe", cascade->n_segments);
    shape->passes[2] = (FxKernelPass){ "cascade_starts", CASCADE_GROUP_THREADS, 1U, 1U };
    shape->passes[3] = signals_pass("cascade_play", cascade->n_segments);
    shape->passes[4] = chains_pass("cascade_end");
    shape->n_passes = 5U;
    shape->most_parts = CASCADE_MAX_SECTIONS;
    shape->state_words +=
        (CASCADE_RECORDS + cascade->n_segments) * n_sections * CASCADE_RECORD_WORDS;
  }
}

/// Split a double into two floats: the rounded value and the rounding error.
static float*
pack_two(float* const out, const double value)
{
  out[0] = (float)value;
  out[1] = (float)(value - out[0]);
  return out + 2;
}

static void
pack_section(const CascadeRow* const row, float* out)
{
  const double complex pole = slow_pole_of(row);
  out = pack_two(out, row->s);
  out = pack_two(out, row->r + row->s);
  out = pack_two(out, row->b0);
  out = pack_two(out, row->cv);
  out = pack_two(out, row->cd - row->cv);
  *out++ = (float)-creal(pole);
  pack_two(out, cimag(pole));
}

static void
cascade_pack(const void* const node, uint32_t* const words)
{
  const CascadeNode* const cascade = node;
  words[CASCADE_VERSION] = cascade->version;
  words[CASCADE_N_SECTIONS] = cascade->plan.n_sections;
  words[CASCADE_FADE_FRAMES] = cascade->fade_frames;
  words[CASCADE_N_SEGMENTS] = cascade->n_segments;
  for (uint32_t s = 0; s < cascade->plan.n_sections; ++s) {
    float numbers[CASCADE_COEFFICIENT_WORDS];
    pack_section(&cascade->target[s], numbers);
    memcpy(words + CASCADE_PARAM_HEAD + s * CASCADE_COEFFICIENT_WORDS, numbers, sizeof(numbers));
  }
}

const FxKernel cascade_kernel = {
  .file = "fx_cascade.cu",
  .chains = true,
  .shape = cascade_shape,
  .pack = cascade_pack,
};
