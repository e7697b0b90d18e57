// SPDX-License-Identifier: GPL-3.0-or-later
/*
  delay: echoes; the method is in dsp_cpu/fx_delay.c.  A group runs one line, or the two lines of a
  ping-pong pair (N_LINES), and processes the block in spans.  A span ends at the shortest of three
  limits: the shorter delay, so that it reads only frames that are already written; the rest of a
  cross-fade; and the group size, because each frame has its own thread.  Groups in y: pairs of
  channels of the unit.

  The low-pass in the loop is recursive.  A frame moves its state y by share * (x - y), with share
  = 1 - pole; the remainders 1 - share of successive frames multiply, so the states of a span are
  computed by a scan.  The scan works on the difference between x and the state at the start of the
  span.  This keeps the gain exact at low frequencies, where the loop gain is highest: only the
  differences, which are small there, are rounded.  The state is the sum of two floats, because a
  span may change it by only a thousandth.

  Latency limits the speed: two barriers for each span, and log2 of its frames for the low-pass
  (none at 20 kHz).  With a delay of a few frames, spans are as short as the delay.  Local memory: 4
  KB.
*/

#include "delay_line.h"

#include "dsp_cpu/shared/delay_words.h"

#define MAX_FEEDBACK 0.99f

// State that passes from span to span, the same in all threads.
typedef struct Echoes {
  DelayLine line; // shared by the lines: they run in lock step
  Tap tap;
  Ramp feedback, mix, pole;
} Echoes;

DEVICE Echoes
echoes_load(const Stage stage, const u32 unit, GLOBAL const f32* const state)
{
  const u32 ring_frames = unit_param(stage, unit, DELAY_RING_FRAMES);
  const u32 ramp_frames = unit_param(stage, unit, DELAY_RAMP_FRAMES);
  const f32 feedback = unit_param_f32(stage, unit, DELAY_FEEDBACK);
  const f32 mix_level = unit_param_f32(stage, unit, DELAY_MIX);
  const f32 pole = unit_param_f32(stage, unit, DELAY_POLE);
  Echoes echoes;
  if (state[0] == 0.0f) {
    echoes.line = delay_line_at_start(ring_frames);
    echoes.tap = tap_at(unit_param(stage, unit, DELAY_FRAMES));
    echoes.feedback = ramp_at(feedback);
    echoes.mix = ramp_at(mix_level);
    echoes.pole = ramp_at(pole);
  } else {
    echoes.line = delay_line_load(state + DELAY_STATE_LINE, ring_frames);
    echoes.tap = tap_load(state + DELAY_STATE_TAP);
    echoes.feedback = ramp_load(state + DELAY_STATE_FEEDBACK);
    echoes.mix = ramp_load(state + DELAY_STATE_MIX);
    echoes.pole = ramp_load(state + DELAY_STATE_POLE);
  }
  ramp_aim(&echoes.feedback, feedback, ramp_frames);
  ramp_aim(&echoes.mix, mix_level, ramp_frames);
  ramp_aim(&echoes.pole, pole, ramp_frames);
  return echoes;
}

DEVICE void
echoes_store(GLOBAL f32* const state, const Echoes echoes)
{
  delay_line_store(state + DELAY_STATE_LINE, echoes.line);
  tap_store(state + DELAY_STATE_TAP, echoes.tap);
  ramp_store(state + DELAY_STATE_FEEDBACK, echoes.feedback);
  ramp_store(state + DELAY_STATE_MIX, echoes.mix);
  ramp_store(state + DELAY_STATE_POLE, echoes.pole);
  state[0] = 1.0f;
}

DEVICE void
echoes_advance(Echoes* const echoes, const u32 n_frames)
{
  delay_line_advance(&echoes->line, n_frames);
  tap_skip(&echoes->tap, n_frames);
  ramp_skip(&echoes->feedback, n_frames);
  ramp_skip(&echoes->mix, n_frames);
  ramp_skip(&echoes->pole, n_frames);
}

// The value of a ramp at frame i of the span, clamped: a ramp that moves may leave its range.
DEVICE f32
ramp_within(const Ramp ramp, const u32 i, const f32 low, const f32 high)
{
  return FMIN(FMAX(ramp_ahead(ramp, i + 1), low), high);
}

// ---- the low-pass ----

// Combine two steps. x: share, y and z: the movement of each line from the start of the span.
DEVICE float4
steps_join(const float4 earlier, const float4 later)
{
  const float4 share = F4(later.x, later.x, later.x, later.x);
  return FMA(share * -1.0f, earlier, earlier) + later;
}

// Scan: from the step of each frame to the step from the start of the span to that frame. steps:
// [2 * GROUP_SIZE]
DEVICE float4
steps_scan(float4 step, const u32 n_frames, LOCAL_POINTER float4* const steps)
{
  u32 from = 0;
  steps[LOCAL_ID] = step;
  for (u32 reach = 1; reach < n_frames; reach *= 2) {
    BARRIER();
    if (LOCAL_ID >= reach) {
      step = steps_join(steps[from + LOCAL_ID - reach], step);
    }
    from = GROUP_SIZE - from; // the other half, which no thread reads in this step
    steps[from + LOCAL_ID] = step;
  }
  return step;
}

// A state in two floats after a step that was computed from the first of them.  The error of the
// sum: D. E. Knuth, "The Art of Computer Programming", volume 2, 4.2.2, theorem B.
DEVICE float2
lowpass_after(const float2 state, const f32 share, const f32 moved_first)
{
  const f32 moved = moved_first + FMA(-share, state.y, state.y);
  const f32 sum = flush_denormal(state.x + moved);
  const f32 rounded = sum - state.x;
  return F2(sum, (state.x - (sum - rounded)) + (moved - rounded));
}

KERNEL
fx_delay(STAGE_ARGS)
{
  LOCAL_ARRAY(float4, steps, 2 * GROUP_SIZE);
  LOCAL_ARRAY(float2, lowpass, N_LINES);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const u32 first_channel = GROUP_Y * N_LINES;
  const u32 ring_frames = unit_param(stage, unit, DELAY_RING_FRAMES);
  const u32 delay = unit_param(stage, unit, DELAY_FRAMES);
  const u32 ramp_frames = unit_param(stage, unit, DELAY_RAMP_FRAMES);
  GLOBAL f32* const state =
      unit_state(stage, unit) + (u64)GROUP_Y * (DELAY_STATE_RINGS + (u64)N_LINES * ring_frames);
  Echoes echoes = echoes_load(stage, unit, state);

  Input inputs[N_LINES];
  GLOBAL f32* out[N_LINES];
  GLOBAL f32* rings[N_LINES];
  for (u32 l = 0; l < N_LINES; ++l) {
    inputs[l] = unit_input(stage, unit, first_channel + l);
    out[l] = unit_out(stage, unit, first_channel + l);
    rings[l] = state + DELAY_STATE_RINGS + (u64)l * ring_frames;
    if (LOCAL_ID == 0) {
      lowpass[l] = state[0] == 0.0f ? F2(0.0f, 0.0f)
                                    : F2(state[DELAY_STATE_LOWPASS + 2 * l],
                                         state[DELAY_STATE_LOWPASS + 2 * l + 1]);
    }
  }
  BARRIER();

  u32 is_bad = 0;
  u32 n = 0; // frames of the span
  for (u32 first = 0; first < stage.n_frames; first += n) {
    tap_aim(&echoes.tap, delay, ramp_frames);
    const u32 shortest = min(echoes.tap.now, echoes.tap.next);
    n = tap_span(&echoes.tap, min(min(stage.n_frames - first, (u32)GROUP_SIZE), shortest));
    const u32 has_frame = LOCAL_ID < n;

    f32 in[N_LINES];
    f32 echo[N_LINES];
    float2 filtered[N_LINES];
    for (u32 l = 0; l < N_LINES; ++l) {
      in[l] = has_frame ? input_at(stage, inputs[l], first + LOCAL_ID) : 0.0f;
      echo[l] = has_frame ? tap_get(echoes.tap, echoes.line, rings[l], 0, LOCAL_ID) : 0.0f;
      filtered[l] = F2(echo[l], 0.0f);
    }
    if (echoes.pole.frames_left > 0 || echoes.pole.target > 0.0f) {
      const f32 share = has_frame ? 1.0f - ramp_within(echoes.pole, LOCAL_ID, 0.0f, 1.0f) : 0.0f;
      const float4 step = steps_scan(F4(share, share * (echo[0] - lowpass[0].x),
                                        share * (echo[N_LINES - 1] - lowpass[N_LINES - 1].x), 0.0f),
                                     n, steps);
      for (u32 l = 0; l < N_LINES; ++l) {
        filtered[l] = lowpass_after(lowpass[l], step.x, l == 0 ? step.y : step.z);
      }
    }
    BARRIER(); // all threads have read rings and low-pass
    if (has_frame) {
      const f32 feedback = ramp_within(echoes.feedback, LOCAL_ID, -MAX_FEEDBACK, MAX_FEEDBACK);
      const f32 wet = ramp_within(echoes.mix, LOCAL_ID, 0.0f, 1.0f);
#if N_LINES == 1
      const f32 fed = flush_denormal(feedback * filtered[0].x);
      delay_line_put(echoes.line, rings[0], LOCAL_ID, in[0] + fed);
#else
      const f32 left = flush_denormal(feedback * filtered[1].x);
      const f32 right = flush_denormal(feedback * filtered[0].x);
      delay_line_put(echoes.line, rings[0], LOCAL_ID, 0.5f * (in[0] + in[1]) + left);
      delay_line_put(echoes.line, rings[1], LOCAL_ID, right);
#endif
      for (u32 l = 0; l < N_LINES; ++l) {
        const f32 y = (1.0f - wet) * in[l] + wet * echo[l];
        is_bad |= !is_finite(y);
        out[l][first + LOCAL_ID] = y;
        if (LOCAL_ID == n - 1) {
          lowpass[l] = filtered[l];
        }
      }
    }
    echoes_advance(&echoes, n);
    BARRIER(); // the rings contain the span
  }

  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    echoes_store(state, echoes);
    for (u32 l = 0; l < N_LINES; ++l) {
      state[DELAY_STATE_LOWPASS + 2 * l] = lowpass[l].x;
      state[DELAY_STATE_LOWPASS + 2 * l + 1] = lowpass[l].y;
    }
  }
  unit_end_part(stage, unit, first_channel, first_channel + N_LINES, state, is_bad, flag);
}
