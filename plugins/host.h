// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Hosts plugins of any format as effects.

   What all formats need is here: instances for groups of channels, parameters and their ramps, the
   bypass, the latency, the renewal after a NaN.  A format only opens one instance and runs it
   (InstanceCalls).

   - A plugin with i main audio inputs on n channels has n / i instances, in the order of the
     channels, with one set of parameters.  One channel feeds all inputs of a plugin with several;
     another n that i does not divide is refused.  A plugin without main audio inputs has one
     instance.  A plugin without audio outputs is refused.
   - Side chains are side inputs of the effect (FxSide), of every instance; silent without a
     connection.  CV inputs are silent.
   - A control input begins at the value of the rack, else of the preset, else at its initial value.
     FxInfo::initial is its value without that of the rack.
   - A change of a parameter takes effect at its frame, where the run is cut, if the plugin's report
     shows that its output does not depend on how the input is split (report.h).  After FX_MAX_CUTS
     cuts of a block the changes that are left take effect at the last one.  Without such a report
     a change takes effect at the start of the block, and the last one of a parameter counts; CLAP
     plugins get all with their frames.
   - A number moves to its new value in the ramp of the change, in steps of HOST_STEP_FRAMES, or
     without such a report in one step per block; not if its port is PORT_STEPPED, an integer, a
     choice or a switch.
   - create() opens the instances, because a plan needs the latency before load().  Memory of the
     process that comes to be present meanwhile counts as memory of the node, but at least what the
     plugin's report tells: what closed nodes have left is used again.  What the instances take
     later is not known.
   - A state (PLUGIN_STATE) is loaded when an instance is made, after the preset and before the
     values of the rack.  FxInfo::save saves one while the node plays; a renewal loads that one
     as soon as the rack names its file (FxInfo::end_save).
   - A plugin with an input for events takes notes (FxInfo::event).  All instances of a node get
     them, with their frames, and no run is cut for them.  A plugin with several such inputs gets
     them at the first.  In a bypass the plugin gets them, too, so that none goes on after it.
   - The latency may change while the plugin runs, and in a live rack the builder follows it
     (FxInfo::latency); a file that is rendered keeps the delays of its start.  A latency of more
     than latency_limit() is refused when the plugin is opened, and not followed later.  During a
     bypass the latency does not change.  The bypass has room for 0.5 s, or for a longer latency
     that the node begins with; the dry signal is early if the latency grows beyond that.
   - A plugin that asks for a restart while it plays gets another instance beside it, with all
     values, which cross-fades in, except in `warprack render`.
   - `bypass` cross-fades in 10 ms to the input, delayed by the latency, or to silence if there is
     none.  The plugin runs on, so that it is warm when it returns.  A port of the plugin for this,
     PORT_ENABLED or PORT_BYPASS, stays at the number that does not bypass: what plugins do with the
     other one differs, down to silence and crashes.
   - A node with `group=NAME` has its instances in a process of their own: host_group.h.
*/
#ifndef WARPRACK_PLUGINS_HOST_H
#define WARPRACK_PLUGINS_HOST_H

#include "host_paths.h"
#include "plugin.h"
#include "state_file.h"

/// How an instance will run.
typedef struct InstanceSetup {
  double rate_hz;
  uint32_t max_block_frames;
  bool offline;               ///< A file is rendered: work is done at once
  const PluginPreset* preset; ///< With a state, to be loaded by the format; else NULL
  const StateFile* state;     ///< To be loaded after the preset; NULL: none.  Lives as long as the
                              ///< instance, and may change between two calls
  uint32_t index;             ///< Of the instance in its node, for state_file_part()
  uint32_t uid;               ///< FxSetup::uid
  const char* group;          ///< Of HostRemote: the name; else NULL
  HostPaths* paths;           ///< Of the files in states; with `state`, and lives as long
} InstanceSetup;

/// One instance of a plugin, of a type of the format's own.
typedef struct Instance Instance;

/// The calls of a format.  A port is a place in Plugin::ports; for `set`, the one behind the last
/// is the tempo of the host, in bpm, of a plugin that gets it (plugin_takes_tempo()).
typedef struct InstanceCalls {
  /// Load the binary, once per process and never to be unloaded, and make and activate an instance.
  /// All control inputs are at their initial values. [builder]
  Status (*open)(const Plugin* plugin, const InstanceSetup* setup, Instance** out, Error* error);
  /// Deactivate and free. [builder]
  void (*close)(Instance* instance);
  /// Return to the state after open(), but keep the values of the control inputs and the latency.
  /// [builder]
  Status (*renew)(Instance* instance, Error* error);
  /// Set a control input for the next run(), at a frame of it: formats that know no frames apply it
  /// to the whole run. [rt, builder]
  void (*set)(Instance* instance, uint32_t port, double value, uint32_t frame);
  /// Set a property with a text: PORT_TEXT, or the path of PORT_FILE.  It counts from the next
  /// renew() on.  STATUS_LIMIT, STATUS_NO_MEM.  NULL: the format has none. [builder]
  Status (*set_text)(Instance* instance, uint32_t port, const char* text, Error* error);
  /// An event at a frame of the next run(), before which all calls come in order of their frames.
  /// NULL: the format has no notes. [rt]
  void (*event)(Instance* instance, const FxEvent* event, uint32_t frame);
  /// The last value of a control output; with `state_has_values`, after open() with a state or a
  /// preset, also that of a control input. [rt, builder]
  double (*get)(const Instance* instance, uint32_t port);
  /**
     Run for n_frames, at least 1.

     @param in One row per audio input in the order of the ports, side chains included; CV inputs
     are not in it.  They are copies, to which the plugin may write, usually in the memory of the
     last run.
     @param out One row per audio output.  No row overlaps another one.
     [rt]
  */
  void (*run)(Instance* instance, const float* const* in, float* const* out, uint32_t n_frames);
  /// The latency in frames that the plugin last reported: in run(), or when it was activated. [rt,
  /// builder]
  uint32_t (*latency)(const Instance* instance);
  /// True if the plugin reports a latency, which may change. [builder]
  bool (*has_latency)(const Instance* instance);
  /// True if the plugin asks to be activated again, which its node does by a new instance.  NULL:
  /// the format has no such request. [builder]
  bool (*wants_restart)(const Instance* instance);
  /// True if the process of the instance is lost and may start again.  NULL: it is in this process.
  /// [builder]
  bool (*is_lost)(const Instance* instance);
  /// Append the state of an instance to `part`: all but the values of its control inputs, or with
  /// these (`state_has_values`).  STATUS_LIMIT if it is too large (state_append()), STATUS_FILE.
  /// NULL: the format has no states. [builder, also while run() runs]
  Status (*save)(Instance* instance, TextBuffer* part, Error* error);
  bool state_has_values;
  /// Find the files that a state names, by host_paths_find(), for an instance in another process: a
  /// file of the rack that is not found is left out, and the plugin gets no path for it.
  /// STATUS_FILE if a file that the plugin has made is not found or the state is damaged,
  /// STATUS_LIMIT, STATUS_NO_MEM.  NULL: states of the format name no files to the host. [builder]
  Status (*find_files)(const StatePart* state, HostPaths* paths, Error* error);
  /// Do the work of all instances of the format that is not audio: timers, descriptors, callbacks,
  /// reports; then restore the state of process_state.h.  NULL: there is no such work.  See
  /// fx_idle(). [builder]
  void (*idle)(void);
} InstanceCalls;

/// Fail because the code of a plugin is not that of its description: STATUS_FILE, and `error` says
/// what helps.  A process keeps code that it has loaded and effects that it has read, so the
/// scan alone does not help a run without a worker process. [any, not rt]
Status host_changed(const Plugin* plugin, Error* error);

/// The functions of FxInfo for plugins of all formats.
extern const FxInfo host_functions;

#endif
