// SPDX-License-Identifier: GPL-3.0-or-later
// The feedback detector.  Within a window it counts; at the end of the window it decides.

#include "feedback.h"

#include "engine/base/rt.h"
#include "engine/contract/ramp.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define WINDOW_S 0.1

// In windows.
#define PINNED_WINDOWS  5U   // pinned windows before the output is attenuated
#define COMPARED        3U   // windows compared on each side of the step
#define SETTLE_WINDOWS  3U   // one for the step, and two for the delay of the loop
#define CALM_WINDOWS    100U // until the output's record is cleared
#define HOLD_WINDOWS    10U  // initial length of "hold"
#define MAX_HOLD        640U
#define RECOVER_WINDOWS 10U // between two steps of the recovery

#define PROBE_WINDOWS (SETTLE_WINDOWS + COMPARED)
#define HISTORY       (COMPARED + PROBE_WINDOWS) // stored peaks
#define FULL_PART     4U                         // a quarter of the samples
#define FLOOR         0.001F                     // of an input's peak: -60 dBFS
#define FOLLOWED      0.70794578F                // -3 dB

typedef enum LoopState { WATCH, PROBE, MUTE, HOLD, EXEMPT } LoopState;

typedef struct Output {
  Ramp gain;
  uint32_t n_full; ///< Samples at the ceiling in the current window
  LoopState state;
  uint32_t n_windows; ///< Windows in this state; in WATCH, since the last step of the recovery
  uint32_t n_pinned;  ///< Pinned windows in a row
  uint32_t n_calm;    ///< Windows in a row that were not pinned; restarts at each step of the
                      ///< recovery
  uint32_t n_proofs;  ///< Number of probes that an input followed
  uint32_t hold_windows;
  _Atomic uint32_t n_steps;
} Output;

struct Feedback {
  uint32_t n_in, n_out;
  uint32_t window_frames;
  uint32_t n_frames;  ///< Frames of the current window so far
  uint64_t n_windows; ///< Completed windows
  float* peaks;       ///< [n_in][HISTORY], index n_windows % HISTORY
  Output* outputs;
  float* gains; ///< [block]
};

Status
feedback_new(const double rate_hz, const uint32_t n_in, const uint32_t n_out,
             const uint32_t block_frames, Feedback** const out, Error* const error)
{
  const size_t n_floats = (size_t)n_in * HISTORY + block_frames;
  Feedback* const feedback = malloc(sizeof(Feedback));
  float* const floats = rt_memory(n_floats * sizeof(float));
  Output* const outputs = malloc((n_out + 1U) * sizeof(Output)); // never 0
  if (!feedback || !floats || !outputs) {
    free(feedback);
    free(floats);
    free(outputs);
    return error_set(error, STATUS_NO_MEM, "no memory for the detection of feedback");
  }
  *feedback = (Feedback){ .n_in = n_in,
                          .n_out = n_out,
                          .window_frames = (uint32_t)ceil(WINDOW_S * rate_hz),
                          .peaks = floats + block_frames,
                          .outputs = outputs,
                          .gains = floats };
  for (uint32_t c = 0; c < n_out; ++c) {
    outputs[c] = (Output){ .gain = ramp_at(1.0F), .n_calm = CALM_WINDOWS };
  }
  *out = feedback;
  return STATUS_OK;
}

void
feedback_free(Feedback* const feedback)
{
  if (feedback) {
    free(feedback->gains);
    free(feedback->outputs);
    free(feedback);
  }
}

// ---- in every block ----

/// The stored peak of an input, `ago` windows before the current one.
static float*
peak_at(const Feedback* const feedback, const uint32_t channel, const uint32_t ago)
{
  const uint64_t window = feedback->n_windows + HISTORY - ago;
  return &feedback->peaks[(size_t)channel * HISTORY + window % HISTORY];
}

void
feedback_record(Feedback* const feedback, const uint32_t channel, const GuardCounts* const met)
{
  float* const peak = peak_at(feedback, channel, 0);
  *peak = met->peak > *peak ? met->peak : *peak;
}

bool
feedback_play(Feedback* const feedback, const uint32_t channel, const GuardCounts* const met,
              float* const out, const uint32_t n_frames)
{
  Output* const output = &feedback->outputs[channel];
  output->n_full += met->full;
  if (output->gain.frames_left == 0 && output->gain.target == 1.0F) {
    return false;
  }
  ramp_fill_within(&output->gain, 0.0F, 1.0F, feedback->gains, n_frames);
  for (uint32_t i = 0; i < n_frames; ++i) {
    out[i] *= feedback->gains[i];
  }
  return true;
}

// ---- at the end of a window ----

/// True if the peak of an input has fallen by 3 dB since a step PROBE_WINDOWS ago.
static bool
some_input_followed(const Feedback* const feedback)
{
  for (uint32_t c = 0; c < feedback->n_in; ++c) {
    float before = INFINITY;
    float after = 0.0F;
    for (uint32_t w = 0; w < COMPARED; ++w) {
      before = fminf(before, *peak_at(feedback, c, PROBE_WINDOWS + w));
      after = fmaxf(after, *peak_at(feedback, c, w));
    }
    if (before >= FLOOR && after <= FOLLOWED * before) {
      return true;
    }
  }
  return false;
}

static uint32_t
steps_of(const Output* const output)
{
  return atomic_load_explicit(&output->n_steps, memory_order_relaxed);
}

static void
set_steps(Output* const output, const uint32_t n_steps, const uint32_t ramp_frames)
{
  const float target = n_steps == FEEDBACK_MUTE ? 0.0F : ldexpf(1.0F, -(int)n_steps);
  ramp_aim(&output->gain, target, ramp_frames);
  atomic_store_explicit(&output->n_steps, n_steps, memory_order_relaxed);
}

/// Attenuate the output by one more step.
static void
step_down(Output* const output, const uint32_t ramp_frames)
{
  const uint32_t n_steps = steps_of(output);
  set_steps(output, n_steps < FEEDBACK_MUTE ? n_steps + 1U : FEEDBACK_MUTE, ramp_frames);
}

static void
enter(Output* const output, const LoopState state)
{
  output->state = state;
  output->n_windows = 0;
}

static void
enter_hold(Output* const output)
{
  const uint32_t twice = 2U * output->hold_windows;
  output->hold_windows = twice == 0 ? HOLD_WINDOWS : twice < MAX_HOLD ? twice : MAX_HOLD;
  enter(output, HOLD);
}

/// Decide at the end of a probe.  Returns true if the output is now known to feed back.
static bool
judge_probe(Output* const output, const bool followed, const uint32_t ramp_frames)
{
  if (!followed) {
    output->n_proofs = 0;
    set_steps(output, 0, ramp_frames);
    enter(output, EXEMPT);
    return false;
  }
  if (++output->n_proofs >= 2U) {
    enter(output, MUTE);
    return true;
  }
  if (output->n_pinned) {
    step_down(output, ramp_frames);
    enter(output, PROBE);
    return false;
  }
  enter_hold(output);
  return true;
}

static void
watch(Output* const output, const uint32_t ramp_frames)
{
  if (output->n_pinned >= PINNED_WINDOWS) {
    step_down(output, ramp_frames);
    enter(output, PROBE);
  } else if (steps_of(output) && output->n_windows >= RECOVER_WINDOWS) {
    set_steps(output, steps_of(output) - 1U, ramp_frames);
    enter(output, WATCH);
    output->n_calm = 0;
  } else if (output->n_calm == CALM_WINDOWS) {
    output->n_proofs = 0;
    output->hold_windows = 0;
  }
}

/// Update an output at the end of a window.  Returns true if it is now known to feed back.
static bool
judge(Output* const output, const bool is_pinned, const bool followed, const uint32_t ramp_frames)
{
  output->n_pinned = is_pinned ? output->n_pinned + 1U : 0;
  output->n_calm = is_pinned ? 0 : output->n_calm + (output->n_calm < CALM_WINDOWS);
  ++output->n_windows;
  switch (output->state) {
  case WATCH:
    watch(output, ramp_frames);
    break;
  case PROBE:
    return output->n_windows == PROBE_WINDOWS && judge_probe(output, followed, ramp_frames);
  case MUTE:
    step_down(output, ramp_frames);
    if (steps_of(output) == FEEDBACK_MUTE) {
      enter_hold(output);
    }
    break;
  case HOLD:
    if (output->n_windows >= output->hold_windows) {
      enter(output, WATCH);
      output->n_calm = 0; // the muted windows do not count
    }
    break;
  case EXEMPT:
    if (output->n_calm == CALM_WINDOWS) {
      enter(output, WATCH);
    }
    break;
  }
  return false;
}

uint32_t
feedback_advance(Feedback* const feedback, const uint32_t n_frames)
{
  feedback->n_frames += n_frames;
  if (feedback->n_frames < feedback->window_frames) {
    return 0;
  }
  const bool followed = some_input_followed(feedback);
  uint32_t n_found = 0;
  for (uint32_t c = 0; c < feedback->n_out; ++c) {
    Output* const output = &feedback->outputs[c];
    const bool is_pinned = (uint64_t)output->n_full * FULL_PART >= feedback->n_frames;
    n_found += judge(output, is_pinned, followed, feedback->window_frames);
    output->n_full = 0;
  }
  feedback->n_frames = 0;
  ++feedback->n_windows;
  for (uint32_t c = 0; c < feedback->n_in; ++c) {
    *peak_at(feedback, c, 0) = 0.0F;
  }
  return n_found;
}

// ---- other threads ----

uint32_t
feedback_steps(const Feedback* const feedback, const uint32_t channel)
{
  return steps_of(&feedback->outputs[channel]);
}
