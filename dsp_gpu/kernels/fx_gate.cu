// SPDX-License-Identifier: GPL-3.0-or-later
// gate: the method is in dsp_cpu/fx_gate.c.  One group for each unit, see sidechain.h.

#include "sidechain.h"

#include "dsp_cpu/shared/gate_words.h"

typedef struct Gate {
  f32 open, close; // settings
  u32 hold_frames;
  f32 attack, release;
  Smooth gain; // from frame to frame
  u32 is_open;
  u32 hold_left;
} Gate;

DEVICE Gate
gate_load(const Stage stage, const u32 unit, GLOBAL const f32* const state)
{
  const u32 has_begun = state[0] != 0.0f;
  Gate gate;
  gate.open = unit_param_f32(stage, unit, GATE_OPEN);
  gate.close = unit_param_f32(stage, unit, GATE_CLOSE);
  gate.hold_frames = unit_param(stage, unit, GATE_HOLD);
  gate.attack = unit_param_f32(stage, unit, GATE_ATTACK);
  gate.release = unit_param_f32(stage, unit, GATE_RELEASE);
  gate.gain = has_begun ? smooth_load(state + GATE_STATE_GAIN)
                        : smooth_at(unit_param_f32(stage, unit, GATE_RANGE));
  gate.is_open = has_begun ? BITS_OF_F32(state[GATE_STATE_IS_OPEN]) : 0;
  gate.hold_left = has_begun ? BITS_OF_F32(state[GATE_STATE_HOLD_LEFT]) : 0;
  return gate;
}

DEVICE void
gate_store(GLOBAL f32* const state, const Gate gate)
{
  smooth_store(state + GATE_STATE_GAIN, gate.gain);
  state[GATE_STATE_IS_OPEN] = F32_OF_BITS(gate.is_open);
  state[GATE_STATE_HOLD_LEFT] = F32_OF_BITS(gate.hold_left);
  state[0] = 1.0f;
}

// Convert peaks to gains, in place.
DEVICE void
gains(Gate* const gate, LOCAL_POINTER const f32* const range, LOCAL_POINTER f32* const peak,
      const u32 n_frames)
{
  for (u32 i = 0; i < n_frames; ++i) {
    const u32 is_loud = peak[i] >= (gate->is_open ? gate->close : gate->open);
    const u32 is_held = gate->is_open && gate->hold_left > 0;
    gate->is_open = is_loud || is_held;
    gate->hold_left = is_loud ? gate->hold_frames : gate->hold_left - is_held;
    const f32 way = smooth_way(gate->gain, gate->is_open ? 1.0f : range[i]);
    gate->gain = smooth_step(gate->gain, way, gate->is_open ? gate->attack : gate->release);
    peak[i] = gate->gain.high;
  }
}

KERNEL
fx_gate(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  LOCAL_ARRAY(Input, inputs, CHANNELS);
  LOCAL_ARRAY(Ramp, ramp, 1);
  LOCAL_ARRAY(f32, peaks, GROUP_SIZE);
  LOCAL_ARRAY(f32, level, TILE); // peak, then gain
  LOCAL_ARRAY(f32, range, TILE);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const u32 n_channels = unit_word(stage, unit, UNIT_N_IN);
  GLOBAL f32* const state = unit_state(stage, unit);
  Gate gate = gate_load(stage, unit, state);
  ramps_begin(stage, unit, state + GATE_STATE_RAMP, state[0] != 0.0f,
              unit_param(stage, unit, GATE_RAMP_FRAMES), 1, ramp);
  sidechain_begin(stage, unit, inputs);

  u32 is_bad = 0;
  for (u32 first = 0; first < stage.n_frames; first += TILE) {
    const u32 n_frames = min(stage.n_frames - first, (u32)TILE);
    const u32 frame = first + TILE_FRAME;
    const u32 n = TILE_FRAME < n_frames ? n_channels : 0;
    const f32 peak = sidechain_peak(stage, unit, inputs, n, frame, peaks);
    if (LANE == 0) {
      level[TILE_FRAME] = peak;
      range[TILE_FRAME] = ramp_ahead(ramp[0], frame + 1);
    }
    BARRIER();
    if (LOCAL_ID == 0) {
      gains(&gate, range, level, n_frames);
    }
    BARRIER();
    is_bad |= sidechain_apply(stage, unit, n, frame, level[TILE_FRAME]);
  }

  ramps_end(stage, state + GATE_STATE_RAMP, 1, ramp);
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    gate_store(state, gate);
  }
  unit_end(stage, unit, is_bad, flag);
}
