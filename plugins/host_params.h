// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The parameters of a node with a plugin, and their way to the ports of its instances.

   The node holds the targets; each unit moves the ports of its instance there.
*/
#ifndef WARPRACK_PLUGINS_HOST_PARAMS_H
#define WARPRACK_PLUGINS_HOST_PARAMS_H

#include "host.h"

#include "engine/contract/ramp.h"

/// How a port gets a new target.
typedef enum HostMotion {
  MOTION_NONE,   ///< No port: `bypass` and `preset`
  MOTION_JUMP,   ///< At once
  MOTION_RAMP,   ///< By a ramp, in steps
  MOTION_TRIGGER ///< `max` for one step, then `min` for at least one
} HostMotion;

typedef struct HostParam {
  HostMotion motion;
  uint32_t port;        ///< Place in Plugin::ports, or that of the tempo (InstanceCalls)
  double min, max;      ///< Of the port at this rate: nothing else is sent
  double initial;       ///< Value of the parameter if the rack states none
  bool is_set;          ///< [player] By a preset, the rack or the engine
  double value;         ///< [player] As the engine gave it
  double target;        ///< [player] For the port
  uint32_t ramp_frames; ///< [player] Of the ramp there
  uint64_t n_last;      ///< [player] HostParams::n_changes after its last change; 0: none
} HostParam;

#define HOST_STEP_FRAMES 64U // of a ramp, if runs are cut: 1.3 ms at 48 kHz

// Changes that a unit follows one by one; behind more, it gets the last value of each parameter
// that has changed.
#define HOST_CHANGES 256U

/// A new target of a parameter.
typedef struct HostChange {
  uint32_t param;
  uint32_t frame;       ///< Of the next run, at which it begins, without a ramp
  double target;        ///< For the port
  uint32_t ramp_frames; ///< Of the ramp there
} HostChange;

/// The parameters of a node.
typedef struct HostParams {
  const Plugin* plugin;
  HostParam* list; ///< [plugin->fx.n_params]
  bool is_cut;     ///< Runs end where parameters change, so that steps do not depend on the blocks;
                   ///< false: one step per block
  bool is_bypassed;                 ///< [player]
  uint64_t n_changes;               ///< [player]
  HostChange changes[HOST_CHANGES]; ///< [player] A ring: change n is at n % HOST_CHANGES
} HostParams;

/// A parameter on the way to its target in a unit.
typedef struct HostMove {
  Ramp ramp;
  uint32_t n_steps; ///< Of a trigger: 2 before the step with `max`, 1 in it; 2 more if another
                    ///< trigger follows
  uint32_t frame;   ///< Of a trigger: in its next step
} HostMove;

/// The parameters of a unit.
typedef struct HostMoves {
  HostMove* list;   ///< [n_params]
  uint32_t* moving; ///< [n_params] those on the way
  uint32_t n_moving;
  uint32_t frames_left; ///< Of the present step; 0: none
  uint64_t n_changes;   ///< Those of HostParams::n_changes that the unit has followed
} HostMoves;

/// Make the parameters of a node, at the values of its rack.
///
/// @param preset NULL: none. [builder]
void host_params_init(HostParams* params, const FxSetup* setup, const PluginPreset* preset);

/// Take over the values of a state that an instance has loaded, except those that the rack states
/// (`given`), which count more. [builder]
void host_params_take(HostParams* params, const bool* given, const InstanceCalls* calls,
                      const Instance* instance);

/// A new target, from FxInfo::set_at. [player]
REALTIME void host_params_set(HostParams* params, uint32_t param, double value,
                              uint32_t ramp_frames, uint32_t frame);

/// Send the targets to an instance, without ramps. [rt, builder]
REALTIME void
host_params_send(const HostParams* params, const InstanceCalls* calls, Instance* instance);

/// Send what is no parameter: the plugin does not bypass itself, and knows if a file is rendered.
/// [builder]
void
host_send_modes(const Plugin* plugin, const InstanceCalls* calls, Instance* instance, bool offline);

/// All parameters of a unit are at their targets. [rt, builder]
REALTIME void host_moves_rest(HostMoves* moves, const HostParams* params);

/// True if host_moves_run() has nothing to send and returns `n_frames`. [rt]
static inline bool
host_moves_are_at_rest(const HostMoves* const moves, const HostParams* const params)
{
  return moves->n_changes == params->n_changes && !moves->n_moving && !moves->frames_left;
}

/// Send what changes in the next run, which must have the returned number of frames, at most
/// `n_frames`. [rt]
REALTIME uint32_t host_moves_run(HostMoves* moves, const HostParams* params,
                                 const InstanceCalls* calls, Instance* instance, uint32_t n_frames);

/// A number in the range of a port at a sample rate. [any]
double host_port_clip(const PluginPort* port, double rate_hz, double number);

/// Place of the first input with any of these flags (PORT_FLAGS), or -1. [any]
int32_t host_port_find(const Plugin* plugin, uint32_t flags);

#endif
