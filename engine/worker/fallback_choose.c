// SPDX-License-Identifier: GPL-3.0-or-later
// A copy of the rack gets one test signal in each input: a sum of sines of equal level at steps of
// a sixth of an octave, so that its spectrum is that of pink noise.  It lasts for a tenth of a
// second and has the level of loud music, so that gates open and compressors reduce it; an impulse
// would be over before a gate has opened.  All sines sound at the same time: an effect whose gain
// changes during the signal acts on lows and highs alike, unlike during a sweep.
//
// The powers of the signal and of each output are measured at these frequencies by Goertzel's
// algorithm (G. Goertzel, "An Algorithm for the Evaluation of Finite Trigonometric Series",
// American Mathematical Monthly 65(1), 1958).  Their ratio is the power of the response.
//
// Inputs that meet, in a mix or in an effect, get their signals in different runs, and each run
// begins with the copy in its initial state.  Otherwise one signal would change the gain of a
// compressor for the next one, and two mixed signals could cancel.  The powers of all runs are
// added.

#include "fallback_choose.h"

#include "player.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIGNAL_S       0.1
#define PEAK           0.5F    // of the signal: -6 dBFS
#define GOLDEN_RATIO   0.61803 // sine m begins at this times m^2 turns: phases without a pattern
#define DECAY_S        0.1     // length of a measured response after the signal
#define BEGUN          5e-6F   // smallest sample of a response: 100 dB below the signal
#define FAINT          5e-4F   // a response that begins below this (-60 dB) may become louder later
#define LOUDER         10.0F   // a sample this many times the beginning is the new beginning
#define MAX_RUNS       8U      // the channels of 7.1
#define APART_S        3.48e-3 // between the signals of inputs that meet and share a run
#define SPREAD_S       21.03e-3 // from the first to the last signal; not a multiple of APART_S
#define FIRST_HZ       20.0
#define LAST_HZ        20000.0
#define LOWS_HZ        150.0
#define PER_OCTAVE     6.0
#define LACKING        0.1 // share of the largest magnitude above LOWS_HZ
#define MAX_MAGNITUDES 64U

/// The states of one signal's Goertzel filters, one for each frequency.
typedef struct Spectrum {
  double last[MAX_MAGNITUDES], before[MAX_MAGNITUDES];
  double power[MAX_MAGNITUDES]; ///< Sum of the runs that have ended
  bool is_active;               ///< The run has had a sample that is not 0
} Spectrum;

/// The beginning of one input's signal.
typedef struct Start {
  uint32_t run, frame;
  uint32_t family; ///< Lowest input of those that this one meets, directly or through others
} Start;

/// The beginning of an output's response to its own input: the first sample that is not small
/// beside those that follow.
typedef struct Beginning {
  uint64_t frame;
  float sample; ///< Magnitude; 0: the response has not begun
} Beginning;

struct FallbackProbe {
  Player player;
  uint32_t n_in, n_out, block_frames;
  uint32_t run, n_runs;
  uint64_t frame;        ///< Of the next block, from the beginning of the run
  uint64_t first_frames; ///< The rack's latency, and the frame of the last start
  Start* starts;         ///< [n_in]
  Beginning* beginnings; ///< [n_out]
  float* samples;        ///< [n_in + n_out][block_frames]
  float *in[FX_MAX_CHANNELS], *out[FX_MAX_CHANNELS];
  double turn[MAX_MAGNITUDES]; ///< 2 cos(2 pi f / rate) for each frequency f
  uint32_t n_magnitudes;
  float* signal; ///< [n_signal]
  uint32_t n_signal;
  Spectrum* sent;    ///< Of the signal
  Spectrum* spectra; ///< [n_out]
  uint64_t* reached; ///< [n_rows][n_words] one bit per input: set if it leads to the row
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
join_all(const FallbackProbe* const probe, uint64_t* const sum, const uint32_t* const rows,
         const uint32_t n)
{
  for (uint32_t r = 0; r < n; ++r) {
    if (rows[r] != BACKEND_NO_ROW) {
      join(probe, sum, rows[r]);
    }
  }
}

static uint32_t
family_of(const FallbackProbe* const probe, uint32_t c)
{
  while (probe->starts[c].family != c) {
    c = probe->starts[c].family;
  }
  return c;
}

/// Make one family of the inputs of a sum.
static void
meet(const FallbackProbe* const probe, const uint64_t* const sum)
{
  uint32_t family = UINT32_MAX;
  for (uint32_t w = 0; w < probe->n_words; ++w) {
    for (uint64_t inputs = sum[w]; inputs; inputs &= inputs - 1U) {
      const uint32_t other = family_of(probe, 64U * w + (uint32_t)__builtin_ctzll(inputs));
      const uint32_t former = family == UINT32_MAX ? other : family;
      family = other < former ? other : former;
      probe->starts[former].family = probe->starts[other].family = family;
    }
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
    meet(probe, sum);
    memcpy(reached(probe, row->to), sum, probe->n_words * sizeof(uint64_t));
  }
}

/// Apply a batch: all main inputs of a unit lead to all of its outputs.  Its side inputs change
/// what the others become.
static void
walk_batch(const FallbackProbe* const probe, const StageStep* const step, uint64_t* const sum)
{
  for (uint32_t u = 0; u < step->n_units; ++u) {
    const BatchUnit* const unit = &step->units[u];
    memset(sum, 0, probe->n_words * sizeof(uint64_t));
    join_all(probe, sum, unit->in_rows, unit->n_in);
    join_all(probe, sum, unit->side_rows, unit->n_side);
    meet(probe, sum);
    memset(sum, 0, probe->n_words * sizeof(uint64_t));
    join_all(probe, sum, unit->in_rows, unit->n_in);
    for (uint32_t r = 0; r < unit->n_out; ++r) {
      memcpy(reached(probe, unit->out_rows[r]), sum, probe->n_words * sizeof(uint64_t));
    }
  }
}

/// Follow the inputs through the steps in the order of execution, because steps reuse rows.
static void
walk(const FallbackProbe* const probe)
{
  const Plan* const plan = probe->player.plan;
  uint64_t sum[(FX_MAX_CHANNELS + 63U) / 64U];
  for (uint32_t c = 0; c < probe->n_in; ++c) {
    reached(probe, c)[c / 64U] |= UINT64_C(1) << c % 64U;
    probe->starts[c].family = c;
  }
  for (uint32_t s = 0; s < plan->n_steps; ++s) {
    if (plan->steps[s].kind == STEP_MIX) {
      walk_mix(probe, &plan->steps[s], sum);
    } else {
      walk_batch(probe, &plan->steps[s], sum);
    }
  }
}

/// Give each input of a family another run, or another frame of a run.
static void
place_starts(FallbackProbe* const probe)
{
  uint32_t n_members[FX_MAX_CHANNELS] = { 0 };
  uint32_t last_frame = 0;
  const uint32_t apart = (uint32_t)(APART_S * probe->player.rate_hz);
  const uint32_t spread = (uint32_t)(SPREAD_S * probe->player.rate_hz);
  probe->n_runs = 1;
  for (uint32_t c = 0; c < probe->n_in; ++c) {
    Start* const start = &probe->starts[c];
    const uint32_t nth = n_members[family_of(probe, c)]++;
    start->run = nth % MAX_RUNS;
    start->frame = nth / MAX_RUNS * apart % spread;
    probe->n_runs = start->run < probe->n_runs ? probe->n_runs : start->run + 1U;
    last_frame = start->frame < last_frame ? last_frame : start->frame;
  }
  probe->first_frames = probe->player.plan->latency_frames + last_frame;
}

static uint32_t
own_input(const FallbackProbe* const probe, const uint32_t c)
{
  return probe->n_in == 1U ? 0U : c;
}

static bool
has_own_input(const FallbackProbe* const probe, const uint32_t c)
{
  const uint32_t own = own_input(probe, c);
  return own < probe->n_in && (reached(probe, probe->n_in + c)[own / 64U] >> own % 64U & 1U) != 0U;
}

/// True in the run in which an output's own input has its signal.
static bool
is_own_run(const FallbackProbe* const probe, const uint32_t c)
{
  return has_own_input(probe, c) && probe->starts[own_input(probe, c)].run == probe->run;
}

// ---- the response ----

static double
frequency(const uint32_t m)
{
  return FIRST_HZ * exp2(m / PER_OCTAVE);
}

/// Filter n samples of a signal.  Blocks of zeros at its beginning are skipped.
static void
add_to_spectrum(const FallbackProbe* const probe, Spectrum* const spectrum,
                const float* const samples, const uint32_t n)
{
  for (uint32_t i = 0; i < n && !spectrum->is_active; ++i) {
    spectrum->is_active = samples[i] != 0.0F;
  }
  for (uint32_t i = 0; i < n && spectrum->is_active; ++i) {
    const double x = isfinite(samples[i]) ? (double)samples[i] : 0.0;
    for (uint32_t m = 0; m < probe->n_magnitudes; ++m) {
      const double next = x + probe->turn[m] * spectrum->last[m] - spectrum->before[m];
      spectrum->before[m] = spectrum->last[m];
      spectrum->last[m] = next;
    }
  }
}

/// Find the beginning of an output's response to its own input.  A faint beginning, such as the
/// noise before the impulse of a linear-phase response, gives way to a louder one.
static void
find_beginning(const FallbackProbe* const probe, const uint32_t c)
{
  Beginning* const beginning = &probe->beginnings[c];
  for (uint32_t i = 0; i < probe->block_frames; ++i) {
    const float x = fabsf(probe->out[c][i]);
    if (x >= BEGUN && x >= LOUDER * beginning->sample) { // false for a NaN
      *beginning = (Beginning){ probe->frame + i, x };
    }
  }
}

/// Length of a measured response.
static uint64_t
response_frames(const FallbackProbe* const probe)
{
  return probe->n_signal + (uint64_t)(DECAY_S * probe->player.rate_hz);
}

/// First frame after the response of an output, or after the time in which it may begin.
static uint64_t
end_of_response(const FallbackProbe* const probe, const uint32_t c)
{
  const double rate_hz = probe->player.rate_hz;
  const Beginning* const beginning = &probe->beginnings[c];
  const uint64_t latest = probe->first_frames + (uint64_t)(FALLBACK_BEGIN_S * rate_hz);
  const uint64_t end = beginning->frame + response_frames(probe);
  return beginning->sample < FAINT && end < latest ? latest : end;
}

/// True until all responses of the run have been measured, or did not begin.
static bool
run_goes_on(const FallbackProbe* const probe)
{
  bool goes_on = probe->frame < probe->first_frames + response_frames(probe);
  for (uint32_t c = 0; !goes_on && c < probe->n_out; ++c) {
    goes_on = is_own_run(probe, c) && probe->frame < end_of_response(probe, c);
  }
  return goes_on;
}

/// Add the power of a signal that has ended, and forget the signal.
static void
add_power(const FallbackProbe* const probe, Spectrum* const spectrum)
{
  for (uint32_t m = 0; m < probe->n_magnitudes; ++m) {
    const double last = spectrum->last[m];
    const double before = spectrum->before[m];
    const double power = last * last + before * before - probe->turn[m] * last * before;
    spectrum->power[m] += fmax(0.0, power);
    spectrum->last[m] = spectrum->before[m] = 0.0;
  }
  spectrum->is_active = false;
}

static void
end_run(FallbackProbe* const probe)
{
  for (uint32_t c = 0; c < probe->n_out; ++c) {
    add_power(probe, &probe->spectra[c]);
  }
  probe->frame = 0;
  Error error = { STATUS_OK, "" };
  if (++probe->run < probe->n_runs && plan_reset(probe->player.plan, &error)) {
    probe->run = probe->n_runs; // a node cannot be renewed: the other inputs have no response
  }
}

bool
fallback_probe_run(FallbackProbe* const probe)
{
  for (uint32_t c = 0; c < probe->n_in; ++c) {
    const Start* const start = &probe->starts[c];
    for (uint32_t i = 0; i < probe->block_frames; ++i) {
      const uint64_t at = probe->frame + i - start->frame; // before the start: beyond the signal
      probe->in[c][i] = start->run == probe->run && at < probe->n_signal ? probe->signal[at] : 0.0F;
    }
  }
  player_run(&probe->player, NULL, probe->frame, probe->block_frames, probe->in, probe->out);
  for (uint32_t c = 0; c < probe->n_out; ++c) {
    add_to_spectrum(probe, &probe->spectra[c], probe->out[c], probe->block_frames);
    if (is_own_run(probe, c)) {
      find_beginning(probe, c);
    }
  }
  probe->frame += probe->block_frames;
  if (!run_goes_on(probe)) {
    end_run(probe);
  }
  return probe->run == probe->n_runs;
}

// ---- the copy ----

/// Plan a copy of the rack on the CPU, without nodes of the active plan.
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
                                .no_fusion = like->no_fusion,
                                .max_bytes = like->max_bytes,
                                .held_bytes = like->held_bytes,
                                .is_cancelled = like->is_cancelled,
                                .cancel_context = like->cancel_context };
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
  probe->starts = calloc(plan->n_in + 1U, sizeof(Start));
  probe->beginnings = calloc(plan->n_out + 1U, sizeof(Beginning));
  if (!probe->samples || !probe->spectra || !probe->reached || !probe->starts ||
      !probe->beginnings) {
    return false;
  }
  for (uint32_t r = 0; r < n_rows; ++r) {
    float* const row = probe->samples + (size_t)r * format->block_frames;
    *(r < plan->n_in ? &probe->in[r] : &probe->out[r - plan->n_in]) = row;
  }
  return true;
}

/// Make a sum of sines of amplitude 1, one for each frequency that is measured, by the recurrence
/// of add_to_spectrum().
static void
sum_sines(const FallbackProbe* const probe, float* const samples, const uint32_t n)
{
  double now[MAX_MAGNITUDES];
  double last[MAX_MAGNITUDES];
  for (uint32_t m = 0; m < probe->n_magnitudes; ++m) {
    const double phase = 2.0 * M_PI * GOLDEN_RATIO * m * m;
    now[m] = sin(phase);
    last[m] = sin(phase - acos(probe->turn[m] / 2.0));
  }
  for (uint32_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (uint32_t m = 0; m < probe->n_magnitudes; ++m) {
      const double next = probe->turn[m] * now[m] - last[m];
      sum += now[m];
      last[m] = now[m];
      now[m] = next;
    }
    samples[i] = (float)sum;
  }
}

/// Choose the frequencies, and make the signal: the sum of their sines.
static bool
make_signal(FallbackProbe* const probe, const double rate_hz)
{
  probe->n_signal = (uint32_t)(SIGNAL_S * rate_hz);
  probe->signal = malloc(probe->n_signal * sizeof(float));
  probe->sent = calloc(1, sizeof(Spectrum));
  if (!probe->signal || !probe->sent) {
    return false;
  }
  for (uint32_t m = 0; frequency(m) < fmin(LAST_HZ, 0.45 * rate_hz); ++m) {
    probe->turn[m] = 2.0 * cos(2.0 * M_PI * frequency(m) / rate_hz);
    probe->n_magnitudes = m + 1U;
  }
  sum_sines(probe, probe->signal, probe->n_signal);
  float peak = 0.0F;
  for (uint32_t i = 0; i < probe->n_signal; ++i) {
    peak = fmaxf(peak, fabsf(probe->signal[i]));
  }
  for (uint32_t i = 0; i < probe->n_signal; ++i) {
    probe->signal[i] *= PEAK / peak;
  }
  add_to_spectrum(probe, probe->sent, probe->signal, probe->n_signal);
  add_power(probe, probe->sent);
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
  if (!status && (player_init(&probe->player, error) || !make_room(probe, format) ||
                  !make_signal(probe, format->rate_hz))) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  if (status) {
    fallback_probe_free(probe);
    return status;
  }
  probe->player.rate_hz = format->rate_hz;
  walk(probe);
  place_starts(probe);
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
    free(probe->signal);
    free(probe->sent);
    free(probe->spectra);
    free(probe->reached);
    free(probe->starts);
    free(probe->beginnings);
    free(probe);
  }
}

// ---- the choice ----

/// Choose a fallback from the response alone; the caller applies the document's statements.
static Fallback
choose_auto(const FallbackProbe* const probe, const uint32_t c)
{
  double lows = 0.0;
  double highs = 0.0;
  double mean = 0.0;
  for (uint32_t m = 0; m < probe->n_magnitudes; ++m) {
    const double power = probe->spectra[c].power[m] / probe->sent->power[m];
    double* const largest = frequency(m) < LOWS_HZ ? &lows : &highs;
    *largest = fmax(*largest, power);
    mean += power / probe->n_magnitudes;
  }
  const float response = (float)fmin(1.0, sqrt(mean));
  if (!has_own_input(probe, c)) {
    return (Fallback){ .response = response, .why = FALLBACK_NO_INPUT };
  }
  if (probe->beginnings[c].sample == 0.0F) {
    return (Fallback){ .why = FALLBACK_UNKNOWN };
  }
  if (lows <= LACKING * LACKING * highs) {
    return (Fallback){ .response = response, .why = FALLBACK_NO_LOWS };
  }
  return (Fallback){ response, response, .follows = true, .why = FALLBACK_LEVEL };
}

/// Set the level that the rack or the option states for an output.  Returns false if it is `auto`.
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

Status
fallback_of_rack(const PlanRequest* const request, const RackFallback on_late, const uint32_t n_out,
                 Fallbacks* const fallbacks, Error* const error)
{
  FallbackProbe* probe = NULL;
  const Status status = fallback_probe_new(request, &probe, error);
  if (!status) {
    while (!fallback_probe_run(probe)) {
    }
    fallback_measure(probe, n_out, fallbacks);
    (void)fallback_choose(request->rack, on_late, fallbacks, fallbacks);
  }
  fallback_probe_free(probe);
  return status;
}

Fallback
fallback_before(const RackFallback on_late)
{
  const double level = on_late.is_fixed ? pow(10.0, on_late.level_db / 20.0) : 0.0;
  return (Fallback){ .level = (float)level, .why = FALLBACK_OPTION };
}
