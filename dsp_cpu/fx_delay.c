// SPDX-License-Identifier: GPL-3.0-or-later
/**
   delay: echoes, by time or by tempo, plain or ping-pong.

     line input = in + feedback * lowpass(echo),   echo = line output `delay` frames later
     out        = (1 - mix) * in + mix * echo

   The first echo is unfiltered; the k-th echo has passed the low-pass k-1 times.  Ping-pong joins
   channels in pairs: the mean of both enters the left line, and each line feeds the other, so that
   echoes alternate left, right, left with the levels of the plain delay.

   - Times are rounded to whole frames, at least one: half a frame is 10 us at 48 kHz, and an
     interpolator inside the loop would filter every repetition once more.
   - A new time cross-fades to a second read position (see Tap): no pitch sweep, no click.
   - The low-pass is one pole, y = (1 - p) x + p y, with p solved so that its gain at `tone` is
     exactly -3 dB: p^2 - 2 (2 - cos w) p + 1 = 0.  Its state is double: at 20 Hz and 192 kHz a
     float adds an error of -117 dB in every repetition.
   - Each channel needs memory for max_time of float samples: 384 kB for the default 2 s at 48 kHz.
     A node that is created with a longer time gets memory for that time, so that every saved rack
     can be loaded again.
*/

#include "delay_line.h"

#include "dsp_cpu/shared/delay_words.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK        64U  // frames at a time: the scratch memory stays in the first-level cache
#define MAX_FEEDBACK 0.99 // a loop gain of 1 would never end
#define TONE_OFF_HZ  20000.0
#define TAIL_LEVEL   1e-6 // -120 dB
#define LONGEST_MS   60000.0

enum { TIME, FEEDBACK, MIX, TONE, BPM, NOTE, PINGPONG, MAX_TIME, N_PARAMS };

static const char* const note_names[] = { "1/1",   "1/2",  "1/2d",  "1/2t",  "1/4",  "1/4d",
                                          "1/4t",  "1/8",  "1/8d",  "1/8t",  "1/16", "1/16d",
                                          "1/16t", "1/32", "1/32d", "1/32t", NULL };

/// Length of each note name in quarter notes (beats); d is a dotted note, t a note of a triplet.
static const double note_beats[] = { 4.0,       2.0,   3.0,    4.0 / 3.0, 1.0,  1.5,
                                     2.0 / 3.0, 0.5,   0.75,   1.0 / 3.0, 0.25, 0.375,
                                     0.5 / 3.0, 0.125, 0.1875, 0.25 / 3.0 };

// clang-format off
static const FxParam delay_params[] = {
  //             id          kind          unit                 min           max      initial
  [TIME]     = { "time",     PARAM_NUMBER, UNIT_MS,             0.0,   LONGEST_MS,       250.0, .taper = TAPER_LOG,                        .help = "Time between echoes, rounded to frames; a change is held at max_time" },
  [FEEDBACK] = { "feedback", PARAM_NUMBER, UNIT_NONE, -MAX_FEEDBACK, MAX_FEEDBACK,         0.3,                                            .help = "Level of each echo relative to the one before" },
  [MIX]      = { "mix",      PARAM_NUMBER, UNIT_NONE,           0.0,          1.0,         0.5,                                            .help = "0: only the input; 1: only the echoes" },
  [TONE]     = { "tone",     PARAM_NUMBER, UNIT_HZ,            20.0,  TONE_OFF_HZ, TONE_OFF_HZ, .taper = TAPER_LOG,                        .help = "Low-pass that each repetition passes; 20 kHz is off" },
  [BPM]      = { "bpm",      PARAM_NUMBER, UNIT_BPM,            0.0,        999.0,         0.0,                                            .help = "Tempo that sets the time together with note: a number, or the word tempo for that of the rack; 0 uses time" },
  [NOTE]     = { "note",     PARAM_CHOICE, UNIT_NONE,           0.0,          0.0,           4,                     .choices = note_names, .help = "Time between echoes as a note; d is dotted, t triplet" },
  [PINGPONG] = { "pingpong", PARAM_SWITCH, UNIT_NONE,           0.0,          0.0,         0.0,                     .structural = true,    .help = "Echoes alternate between the channels of each pair" },
  [MAX_TIME] = { "max_time", PARAM_NUMBER, UNIT_MS,             1.0,   LONGEST_MS,      2000.0, .taper = TAPER_LOG, .structural = true,    .help = "Longest time to change to, if not longer from the start; takes memory" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct DelayNode {
  double rate_hz;
  double values[N_PARAMS];
  double max_ms;       // longest time that fits into the ring
  uint32_t n_channels; // channels of one unit
  uint32_t ring_frames;
  uint32_t ramp_frames;
  // Targets
  uint32_t delay_frames;
  float feedback, mix, pole;
  _Atomic uint64_t tail_frames; // relaxed: written by `set`, read by any thread
} DelayNode;

/// Followed by float rings[n_channels][ring_frames].
typedef struct DelayUnit {
  DelayLine line; // shared by the channels, which run in lock step
  Tap tap;
  Ramp feedback, mix, pole;
  double lowpass[]; // [n_channels]
} DelayUnit;

/// The values of the ramps for one chunk.
typedef struct Chunk {
  float feedback[CHUNK], mix[CHUNK], pole[CHUNK], fade[CHUNK];
  uint32_t first, n_frames;
  bool rests;   // the values are those of all frames of the run
  bool is_open; // the pole rests at 0: no low-pass
} Chunk;

static float*
ring_of(const DelayNode* const node, DelayUnit* const unit, const uint32_t channel)
{
  float* const rings = (float*)(unit->lowpass + node->n_channels);
  return rings + (size_t)channel * node->ring_frames;
}

static double
time_ms(const DelayNode* const node)
{
  const double bpm = node->values[BPM];
  return bpm > 0.0 ? 60000.0 / bpm * note_beats[(uint32_t)node->values[NOTE]] : node->values[TIME];
}

static double
lowpass_pole(const double tone_hz, const double rate_hz)
{
  if (tone_hz >= TONE_OFF_HZ) {
    return 0.0;
  }
  const double c = 2.0 - cos(2.0 * M_PI * fmin(tone_hz / rate_hz, 0.5));
  return c - sqrt(c * c - 1.0);
}

/// Frames until the first echo below TAIL_LEVEL.
static uint64_t
tail_frames(const DelayNode* const node)
{
  const double feedback = fabs(node->values[FEEDBACK]);
  const double n_repeats = feedback > TAIL_LEVEL ? ceil(log(TAIL_LEVEL) / log(feedback)) : 0.0;
  return (uint64_t)((n_repeats + 1.0) * node->delay_frames) + node->ramp_frames;
}

static void
design(DelayNode* const node)
{
  const double ms = fmin(time_ms(node), node->max_ms);
  node->delay_frames = (uint32_t)fmax(1.0, round(ms * 1e-3 * node->rate_hz));
  node->feedback = (float)node->values[FEEDBACK];
  node->mix = (float)node->values[MIX];
  node->pole = (float)lowpass_pole(node->values[TONE], node->rate_hz);
  atomic_store_explicit(&node->tail_frames, tail_frames(node), memory_order_relaxed);
}

static void
delay_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  DelayNode* const delay = node;
  delay->values[param] = value;
  delay->ramp_frames = ramp_frames;
  design(delay);
}

static uint64_t
delay_tail(const void* const node)
{
  return atomic_load_explicit(&((const DelayNode*)node)->tail_frames, memory_order_relaxed);
}

static Status
delay_create(const FxSetup* const setup, FxShape* const shape, void** const node,
             Error* const error)
{
  const bool pingpong = setup->values[PINGPONG] != 0.0;
  if (pingpong && setup->n_in % 2U) {
    return error_set(error, STATUS_BAD_ARG,
                     "delay: pingpong needs pairs of channels, here are %u; connect one more or "
                     "turn it off",
                     setup->n_in);
  }
  DelayNode* const delay = calloc(1, sizeof(DelayNode));
  if (!delay) {
    return error_set(error, STATUS_NO_MEM, "delay: out of memory");
  }
  delay->rate_hz = setup->rate_hz;
  delay->ramp_frames = fx_ramp_frames(setup->rate_hz);
  memcpy(delay->values, setup->values, sizeof(delay->values));
  delay->n_channels = pingpong ? setup->n_in : 1U;
  shape->unit_in = shape->unit_out = delay->n_channels;
  delay->max_ms = fmin(fmax(delay->values[MAX_TIME], time_ms(delay)), LONGEST_MS);
  delay->ring_frames = (uint32_t)ceil(delay->max_ms * 1e-3 * setup->rate_hz) + 1U;
  design(delay);
  const size_t channel_bytes = sizeof(double) + delay->ring_frames * sizeof(float);
  shape->unit_bytes = sizeof(DelayUnit) + delay->n_channels * channel_bytes;
  *node = delay;
  return STATUS_OK;
}

static void
delay_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  const DelayNode* const delay = node;
  DelayUnit* const unit = state;
  unit->line = delay_line_at_start(delay->ring_frames);
  unit->tap = tap_at(delay->delay_frames);
  unit->feedback = ramp_at(delay->feedback);
  unit->mix = ramp_at(delay->mix);
  unit->pole = ramp_at(delay->pole);
  for (uint32_t c = 0; c < delay->n_channels; ++c) {
    unit->lowpass[c] = 0.0;
  }
}

/// The frames at the tap, in the ring if it has them in one piece, else in `copy`.
static const float*
read_echo(const DelayNode* const node, DelayUnit* const unit, const uint32_t channel,
          const Chunk* const chunk, float* const copy)
{
  const Tap* const tap = &unit->tap;
  const float* const ring = ring_of(node, unit, channel);
  if (tap->next == tap->now && delay_line_has(&unit->line, tap->now, chunk->n_frames)) {
    return ring + delay_line_place(&unit->line, tap->now);
  }
  float scratch[CHUNK];
  tap_get(tap, &unit->line, ring, 0, chunk->fade, copy, scratch, chunk->n_frames);
  return copy;
}

/// The signal that returns into the line: the echo, low-passed and multiplied by the feedback.
static void
feed_back(double* const lowpass, const Chunk* const chunk, const float* const restrict echo,
          float* const restrict fed)
{
  if (chunk->is_open) {
    for (uint32_t i = 0; i < chunk->n_frames; ++i) {
      fed[i] = chunk->feedback[i] * echo[i];
    }
    *lowpass = (double)echo[chunk->n_frames - 1U];
    return;
  }
  double y = *lowpass;
  for (uint32_t i = 0; i < chunk->n_frames; ++i) {
    const double pole = chunk->pole[i];
    y = (1.0 - pole) * echo[i] + pole * y;
    fed[i] = chunk->feedback[i] * (float)y;
  }
  *lowpass = y;
}

static void
mix_out(const FxUnit* const io, const uint32_t channel, const Chunk* const chunk,
        const float* const restrict echo)
{
  const float* const restrict in = io->in[channel] + chunk->first;
  float* const restrict out = io->out[channel] + chunk->first;
  for (uint32_t i = 0; i < chunk->n_frames; ++i) {
    out[i] = (1.0F - chunk->mix[i]) * in[i] + chunk->mix[i] * echo[i];
  }
}

// The echo may lie where the line is written: it is used before that.

static void
run_plain(const FxUnit* const io, DelayUnit* const unit, const Chunk* const chunk)
{
  const DelayNode* const node = io->node;
  const float* const restrict in = io->in[0] + chunk->first;
  float copy[CHUNK];
  float line_in[CHUNK];
  const float* const echo = read_echo(node, unit, 0, chunk, copy);
  feed_back(&unit->lowpass[0], chunk, echo, line_in);
  for (uint32_t i = 0; i < chunk->n_frames; ++i) {
    line_in[i] += in[i];
  }
  mix_out(io, 0, chunk, echo);
  delay_line_put(&unit->line, ring_of(node, unit, 0), line_in, chunk->n_frames);
}

static void
run_pair(const FxUnit* const io, DelayUnit* const unit, const uint32_t left,
         const Chunk* const chunk)
{
  const DelayNode* const node = io->node;
  const uint32_t right = left + 1U;
  const float* const restrict in_left = io->in[left] + chunk->first;
  const float* const restrict in_right = io->in[right] + chunk->first;
  float copies[2][CHUNK];
  float line_in[2][CHUNK];
  const float* const echo_left = read_echo(node, unit, left, chunk, copies[0]);
  const float* const echo_right = read_echo(node, unit, right, chunk, copies[1]);
  feed_back(&unit->lowpass[left], chunk, echo_left, line_in[1]);
  feed_back(&unit->lowpass[right], chunk, echo_right, line_in[0]);
  for (uint32_t i = 0; i < chunk->n_frames; ++i) {
    line_in[0][i] += 0.5F * (in_left[i] + in_right[i]);
  }
  mix_out(io, left, chunk, echo_left);
  mix_out(io, right, chunk, echo_right);
  delay_line_put(&unit->line, ring_of(node, unit, left), line_in[0], chunk->n_frames);
  delay_line_put(&unit->line, ring_of(node, unit, right), line_in[1], chunk->n_frames);
}

/// The longest chunk that lies within one cross-fade and reads only frames that are already
/// written.
static uint32_t
chunk_frames(const Tap* const tap, const uint32_t n_left)
{
  const uint32_t shortest = tap->now < tap->next ? tap->now : tap->next;
  const uint32_t n = n_left < CHUNK ? n_left : CHUNK;
  return tap_span(tap, n < shortest ? n : shortest);
}

static void
fill_ramps(DelayUnit* const unit, Chunk* const chunk)
{
  chunk->rests = !unit->feedback.frames_left && !unit->mix.frames_left && !unit->pole.frames_left;
  chunk->is_open = !unit->pole.frames_left && unit->pole.target == 0.0F;
  const uint32_t n_frames = chunk->rests ? CHUNK : chunk->n_frames; // for longer chunks that follow
  ramp_fill_within(&unit->feedback, (float)-MAX_FEEDBACK, (float)MAX_FEEDBACK, chunk->feedback,
                   n_frames);
  ramp_fill_within(&unit->mix, 0.0F, 1.0F, chunk->mix, n_frames);
  ramp_fill_within(&unit->pole, 0.0F, 1.0F, chunk->pole, n_frames);
}

static void
run_unit(const FxUnit* const io, const uint32_t n_frames)
{
  const DelayNode* const node = io->node;
  DelayUnit* const unit = io->state;
  ramp_aim(&unit->feedback, node->feedback, node->ramp_frames);
  ramp_aim(&unit->mix, node->mix, node->ramp_frames);
  ramp_aim(&unit->pole, node->pole, node->ramp_frames);
  Chunk chunk;
  chunk.rests = false;
  for (chunk.first = 0; chunk.first < n_frames; chunk.first += chunk.n_frames) {
    tap_aim(&unit->tap, node->delay_frames, node->ramp_frames);
    chunk.n_frames = chunk_frames(&unit->tap, n_frames - chunk.first);
    if (!chunk.rests) {
      fill_ramps(unit, &chunk);
    }
    if (unit->tap.next != unit->tap.now) {
      tap_weights(&unit->tap, chunk.fade, chunk.n_frames);
    }
    if (node->n_channels == 1U) {
      run_plain(io, unit, &chunk);
    }
    for (uint32_t left = 0; left + 1U < node->n_channels; left += 2U) {
      run_pair(io, unit, left, &chunk);
    }
    delay_line_advance(&unit->line, chunk.n_frames);
  }
}

static void
delay_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    run_unit(&units[u], n_frames);
  }
}

static uint32_t
n_kernel_lines(const DelayNode* const node)
{
  return node->n_channels == 1U ? 1U : 2U;
}

static_assert(DELAY_STATE_LOWPASS + 4 <= DELAY_STATE_RINGS,
              "the rings begin behind the low-passes of two lines");

/// One group for each line, or for each pair of lines, with its own state.
static void
delay_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  const DelayNode* const delay = node;
  const uint32_t n_lines = n_kernel_lines(delay);
  const uint32_t n_groups = delay->n_channels / n_lines;
  const uint64_t group_words = DELAY_STATE_RINGS + (uint64_t)n_lines * delay->ring_frames;
  *shape = (FxKernelShape){
    .sizes = { { "N_LINES", n_lines } },
    .passes = { { "fx_delay", 128U, 1U, n_groups } },
    .n_passes = 1,
    .param_words = DELAY_PARAM_WORDS,
    .state_words = n_groups * group_words,
  };
}

static void
delay_pack(const void* const node, uint32_t* const words)
{
  const DelayNode* const delay = node;
  words[DELAY_FRAMES] = delay->delay_frames;
  memcpy(&words[DELAY_FEEDBACK], &delay->feedback, sizeof(float));
  memcpy(&words[DELAY_MIX], &delay->mix, sizeof(float));
  memcpy(&words[DELAY_POLE], &delay->pole, sizeof(float));
  words[DELAY_RAMP_FRAMES] = delay->ramp_frames;
  words[DELAY_RING_FRAMES] = delay->ring_frames;
}

static const FxKernel delay_kernel = {
  .file = "fx_delay.cu",
  .shape = delay_kernel_shape,
  .pack = delay_pack,
};

const FxInfo fx_delay_info = {
  .name = "delay",
  .summary = "Echoes, by time or by tempo",
  .params = delay_params,
  .n_params = ARRAY_LEN(delay_params),
  .tolerance = 1e-5,
  .tolerance_reason = "single precision in the line, repeated up to a feedback of 0.99",
  .create = delay_create,
  .destroy = free,
  .unit_init = delay_unit_init,
  .set = delay_set,
  .run = delay_run,
  .tail = delay_tail,
  .kernel = &delay_kernel,
};
