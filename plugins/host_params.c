// SPDX-License-Identifier: GPL-3.0-or-later
// The parameters of a node with a plugin: from values of the rack to numbers of ports, by ramps.

#include "host_params.h"

#include <math.h>

int32_t
host_port_find(const Plugin* const plugin, const uint32_t flags)
{
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    if (plugin->ports[p].flags & flags && !(plugin->ports[p].flags & PORT_OUTPUT)) {
      return (int32_t)p;
    }
  }
  return -1;
}

static double
port_scale(const PluginPort* const port, const double rate_hz)
{
  return port->flags & PORT_RATE ? rate_hz : 1.0;
}

double
host_port_clip(const PluginPort* const port, const double rate_hz, const double number)
{
  const double scale = port_scale(port, rate_hz);
  return fmin(fmax(number, port->min * scale), port->max * scale);
}

static double
clip(const HostParam* const param, const double number)
{
  return fmin(fmax(number, param->min), param->max);
}

/// The number of a port for a value of its parameter.
static double
port_number(const HostParam* const param, const FxParam* const row, const double value)
{
  if (row->kind == PARAM_SWITCH) {
    return value != 0.0 ? param->max : param->min;
  }
  return clip(param, value);
}

static HostMotion
motion_of(const PluginPort* const port, const FxParam* const row)
{
  const uint32_t jumps = PORT_INTEGER | PORT_TOGGLED | PORT_CHOICE | PORT_STEPPED;
  if (row->kind == PARAM_SWITCH && port->flags & PORT_TRIGGER) {
    return MOTION_TRIGGER;
  }
  return row->kind == PARAM_NUMBER && !(port->flags & jumps) ? MOTION_RAMP : MOTION_JUMP;
}

/// A parameter at the initial value of its port.
static HostParam
param_of(const FxSetup* const setup, const uint32_t p)
{
  const Plugin* const plugin = plugin_of(setup->fx);
  const FxParam* const row = &setup->fx->params[p];
  const int32_t place = plugin->param_ports[p];
  if (place == PLUGIN_TEMPO) {
    return (HostParam){ .motion = MOTION_JUMP,
                        .port = plugin->n_ports,
                        .min = row->min,
                        .max = row->max,
                        .value = row->initial,
                        .target = row->initial };
  }
  if (place < 0 || fx_param_is_text(row)) {
    return (HostParam){ .value = row->initial };
  }
  const PluginPort* const port = &plugin->ports[place];
  const double scale = port_scale(port, setup->rate_hz);
  return (HostParam){ .motion = motion_of(port, row),
                      .port = (uint32_t)place,
                      .min = port->min * scale,
                      .max = port->max * scale,
                      .value = row->initial,
                      .target = port->flags & PORT_RATE
                                    ? host_port_clip(port, setup->rate_hz, row->initial)
                                    : port->initial };
}

/// The value of a parameter for a number of its port.
static double
param_value(const HostParam* const param, const FxParam* const row, const double number)
{
  const bool is_on = number - param->min > param->max - number;
  return row->kind == PARAM_SWITCH ? is_on : number;
}

/// Take over a number of a port, which the rack does not state.
static void
take_number(const HostParams* const params, const uint32_t p, const double number)
{
  HostParam* const param = &params->list[p];
  param->target = clip(param, number);
  param->value = param_value(param, &params->plugin->fx.params[p], param->target);
  param->is_set = true;
}

/// Take over the values of a preset.
static void
load_preset(HostParams* const params, const PluginPreset* const preset)
{
  for (uint32_t p = 0; p < params->plugin->fx.n_params; ++p) {
    for (uint32_t v = 0; v < preset->n_values; ++v) {
      if (params->plugin->param_ports[p] == (int32_t)preset->ports[v]) {
        take_number(params, p, preset->values[v]);
      }
    }
  }
}

/// A new value.  A trigger returns to `min` by itself: only `max` is a change of it.
static void
set_target(HostParams* const params, const uint32_t p, const double value,
           const uint32_t ramp_frames, const uint32_t frame)
{
  HostParam* const param = &params->list[p];
  param->value = value;
  param->is_set = true;
  if (params->plugin->param_ports[p] == PLUGIN_BYPASS) {
    params->is_bypassed = value != 0.0;
  } else if (param->motion != MOTION_NONE && (param->motion != MOTION_TRIGGER || value != 0.0)) {
    param->target = port_number(param, &params->plugin->fx.params[p], value);
    param->ramp_frames = ramp_frames;
    params->changes[params->n_changes++ % HOST_CHANGES] =
        (HostChange){ p, frame, param->target, ramp_frames };
    param->n_last = params->n_changes;
  }
}

void
host_params_init(HostParams* const params, const FxSetup* const setup,
                 const PluginPreset* const preset)
{
  for (uint32_t p = 0; p < setup->fx->n_params; ++p) {
    params->list[p] = param_of(setup, p);
  }
  if (preset) {
    load_preset(params, preset);
  }
  for (uint32_t p = 0; p < setup->fx->n_params; ++p) {
    params->list[p].initial = params->list[p].value;
    if (setup->given[p]) {
      set_target(params, p, setup->values[p], fx_ramp_frames(setup->rate_hz), 0U);
    }
  }
}

void
host_params_take(HostParams* const params, const bool* const given,
                 const InstanceCalls* const calls, const Instance* const instance)
{
  for (uint32_t p = 0; p < params->plugin->fx.n_params; ++p) {
    HostParam* const param = &params->list[p];
    if (param->motion != MOTION_NONE && params->plugin->param_ports[p] >= 0 && !given[p]) {
      take_number(params, p, calls->get(instance, param->port));
      param->initial = param->value;
    }
  }
}

void
host_params_set(HostParams* const params, const uint32_t p, const double value,
                const uint32_t ramp_frames, const uint32_t frame)
{
  const HostParam* const param = &params->list[p];
  if (value != param->value || param->motion == MOTION_TRIGGER) { // the engine repeats values
    set_target(params, p, value, ramp_frames, frame);
  }
}

/// True for a property without a value: what a plugin declares as its default is often missing or
/// wrong.
static bool
is_untouched_property(const Plugin* const plugin, const HostParam* const param)
{
  return param->port < plugin->n_ports && plugin->ports[param->port].type == PORT_PROPERTY &&
         !param->is_set;
}

void
host_params_send(const HostParams* const params, const InstanceCalls* const calls,
                 Instance* const instance)
{
  for (uint32_t p = 0; p < params->plugin->fx.n_params; ++p) {
    const HostParam* const param = &params->list[p];
    if (param->motion != MOTION_NONE && !is_untouched_property(params->plugin, param)) {
      const bool is_trigger = param->motion == MOTION_TRIGGER;
      calls->set(instance, param->port, is_trigger ? param->min : param->target, 0U);
    }
  }
}

/// Set the port with a flag, if there is one, to an end of its range.
static void
send_end(const Plugin* const plugin, const InstanceCalls* const calls, Instance* const instance,
         const uint32_t flag, const bool is_max)
{
  const int32_t place = host_port_find(plugin, flag);
  if (place >= 0) {
    const PluginPort* const port = &plugin->ports[place];
    calls->set(instance, (uint32_t)place, is_max ? port->max : port->min, 0U);
  }
}

void
host_send_modes(const Plugin* const plugin, const InstanceCalls* const calls,
                Instance* const instance, const bool offline)
{
  send_end(plugin, calls, instance, PORT_ENABLED, true);
  send_end(plugin, calls, instance, PORT_BYPASS, false);
  send_end(plugin, calls, instance, PORT_OFFLINE, offline);
}

void
host_moves_rest(HostMoves* const moves, const HostParams* const params)
{
  for (uint32_t p = 0; p < params->plugin->fx.n_params; ++p) {
    moves->list[p] = (HostMove){ .ramp = ramp_at((float)params->list[p].target) };
  }
  moves->n_moving = 0;
  moves->frames_left = 0;
  moves->n_changes = params->n_changes;
}

static bool
is_moving(const HostMove* const move)
{
  return move->ramp.frames_left || move->n_steps;
}

/// Go on to the end of the next `n_frames` frames.  The last value of a ramp is the target itself,
/// not its float.
static void
step(HostMove* const move, const HostParam* const param, const InstanceCalls* const calls,
     Instance* const instance, const uint32_t n_frames)
{
  if (param->motion == MOTION_TRIGGER) {
    const bool is_max = --move->n_steps % 2U;
    calls->set(instance, param->port, is_max ? param->max : param->min, move->frame);
    move->frame = 0U;
    return;
  }
  ramp_skip(&move->ramp, n_frames);
  const double number =
      move->ramp.frames_left ? clip(param, (double)ramp_value(&move->ramp)) : param->target;
  calls->set(instance, param->port, number, 0U);
}

/// Begin a trigger.  During another one it follows after a step with `min`, which makes the edge;
/// if one follows already, the new one is dropped.
static void
fire(HostMove* const move, const uint32_t frame)
{
  if (!move->n_steps) {
    move->frame = frame;
  }
  if (move->n_steps <= 2U) {
    move->n_steps += 2U;
  }
}

/// Begin a move for a change, and take its part of a step that others have begun.  Returns false if
/// no move is necessary.
static bool
begin(HostMoves* const moves, const HostParams* const params, const InstanceCalls* const calls,
      Instance* const instance, const HostChange* const change)
{
  HostMove* const move = &moves->list[change->param];
  const HostParam* const param = &params->list[change->param];
  const bool was_moving = is_moving(move);
  if (param->motion == MOTION_TRIGGER) {
    fire(move, change->frame);
  } else if (param->motion == MOTION_RAMP) {
    ramp_aim(&move->ramp, (float)change->target, change->ramp_frames);
  }
  if (!was_moving && is_moving(move)) {
    moves->moving[moves->n_moving++] = change->param;
    if (moves->frames_left) {
      step(move, param, calls, instance, moves->frames_left);
    }
  }
  return is_moving(move);
}

static void
follow(HostMoves* const moves, const HostParams* const params, const InstanceCalls* const calls,
       Instance* const instance, const HostChange* const change)
{
  if (!begin(moves, params, calls, instance, change)) {
    calls->set(instance, params->list[change->param].port, change->target, change->frame);
  }
}

/// Follow all changes since the last run, in their order.
static void
follow_changes(HostMoves* const moves, const HostParams* const params,
               const InstanceCalls* const calls, Instance* const instance)
{
  const bool has_all = params->n_changes - moves->n_changes <= HOST_CHANGES;
  for (uint32_t p = 0; !has_all && p < params->plugin->fx.n_params; ++p) {
    const HostChange last = { p, 0U, params->list[p].target, params->list[p].ramp_frames };
    if (params->list[p].n_last > moves->n_changes) {
      follow(moves, params, calls, instance, &last);
    }
  }
  for (uint64_t n = moves->n_changes; has_all && n < params->n_changes; ++n) {
    follow(moves, params, calls, instance, &params->changes[n % HOST_CHANGES]);
  }
  moves->n_changes = params->n_changes;
}

/// Take a step of all moves.
static void
step_all(HostMoves* const moves, const HostParams* const params, const InstanceCalls* const calls,
         Instance* const instance, const uint32_t n_frames)
{
  uint32_t n_left = 0;
  for (uint32_t m = 0; m < moves->n_moving; ++m) {
    const uint32_t p = moves->moving[m];
    step(&moves->list[p], &params->list[p], calls, instance, n_frames);
    if (is_moving(&moves->list[p])) {
      moves->moving[n_left++] = p;
    }
  }
  moves->n_moving = n_left;
}

uint32_t
host_moves_run(HostMoves* const moves, const HostParams* const params,
               const InstanceCalls* const calls, Instance* const instance, const uint32_t n_frames)
{
  if (moves->n_changes != params->n_changes) {
    follow_changes(moves, params, calls, instance);
  }
  if (moves->n_moving && !moves->frames_left) {
    moves->frames_left = params->is_cut ? HOST_STEP_FRAMES : n_frames;
    step_all(moves, params, calls, instance, moves->frames_left);
  }
  const uint32_t n =
      moves->frames_left && moves->frames_left < n_frames ? moves->frames_left : n_frames;
  moves->frames_left -= moves->frames_left ? n : 0U;
  return n;
}
