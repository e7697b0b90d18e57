// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The switches `bypass` and `mute` of a node, which the engine executes: what leaves the node is

     wet * output of its effect + dry * its input, delayed by its latency

   Both weights follow ramps (ramp.h) from the frame of the change on.  They are 1 and 0 while no
   switch is on, 0 and 1 with `bypass`, 0 and 0 with `mute`, also with both.  The effect runs on, so
   that its tail and its envelope are as if it had been heard.

   On the CPU the stage applies them to the outputs (dsp_cpu/stage_guard.c).  On a device they are a
   mix behind the effect, which a plan contains only for nodes that are *placed*, because it costs a
   launch: the builder places a node when it finds a switch that is on (worker_edit.c).
*/
#ifndef WARPRACK_ENGINE_CONTRACT_NODE_SWITCHES_H
#define WARPRACK_ENGINE_CONTRACT_NODE_SWITCHES_H

#include "mix_link.h"

/// The weight of the output that the switches demand; next, that of the input.
static inline float
node_switches_wet(NodeSwitches* const switches)
{
  return atomic_load_explicit(&switches->is_bypassed, memory_order_relaxed) ||
                 atomic_load_explicit(&switches->is_muted, memory_order_relaxed)
             ? 0.0F
             : 1.0F;
}

static inline float
node_switches_dry(NodeSwitches* const switches)
{
  return atomic_load_explicit(&switches->is_bypassed, memory_order_relaxed) &&
                 !atomic_load_explicit(&switches->is_muted, memory_order_relaxed)
             ? 1.0F
             : 0.0F;
}

/// True while a switch is on. [any]
static inline bool
node_switches_are_on(NodeSwitches* const switches)
{
  return node_switches_wet(switches) == 0.0F;
}

/// True if the output of the effect leaves the node as it is. [player]
static inline bool
node_switches_rest_off(NodeSwitches* const switches)
{
  return !node_switches_are_on(switches) && !switches->wet.next.frames_left;
}

/// Set the weights to the values that the switches demand, without ramps: in a new node, or one
/// that is reset. [builder, or player before the node runs]
static inline void
node_switches_rest(NodeSwitches* const switches)
{
  switches->wet.gain = switches->wet.next = ramp_at(node_switches_wet(switches));
  switches->dry.gain = switches->dry.next = ramp_at(node_switches_dry(switches));
  switches->wet.hold_frames = switches->dry.hold_frames = 0U;
}

/// After hold_frames, ramp the weights to the values that the switches demand, in ramp_frames >= 1.
/// [player]
static inline void
node_switches_aim(NodeSwitches* const switches, const uint32_t ramp_frames,
                  const uint32_t hold_frames)
{
  mix_link_aim(&switches->wet, node_switches_wet(switches), ramp_frames, hold_frames);
  mix_link_aim(&switches->dry, node_switches_dry(switches), ramp_frames, hold_frames);
}

/// Turn a switch on or off, with ramps from the next frame that the node plays on. [player]
static inline void
node_switches_set(NodeSwitches* const switches, const FxOfEngine which, const bool is_on,
                  const uint32_t ramp_frames)
{
  atomic_store_explicit(which == FX_SWITCH_MUTE ? &switches->is_muted : &switches->is_bypassed,
                        is_on, memory_order_relaxed);
  if (switches->is_played) {
    node_switches_aim(switches, ramp_frames,
                      switches->dry.hold_frames); // its delay line may still be filling
  }
}

#endif
