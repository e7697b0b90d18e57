// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A plugin format whose plugins are functions of the test program, without a binary.  Its plugins
   multiply by a gain, delay by a latency, and do on demand what plugins must not do.

     out[o] = gain * in[o mod n_main], `latency_frames` later, plus all side chains; without main
     inputs gain, at every frame

   Needs the dependency fake_plugin_dep of meson.build.
*/
#ifndef WARPRACK_TESTS_FAKE_PLUGIN_H
#define WARPRACK_TESTS_FAKE_PLUGIN_H

#include "fx_rig.h"

#include "plugins/host.h"

#include <pthread.h>

#define FAKE_RATE      48000.0
#define FAKE_MAX_PORTS 32U
#define FAKE_MAX_SETS  4096U
#define FAKE_POISON    100.0F // an input above it makes an instance put out NaN until it is renewed

/// The control ports, at the same places in Plugin::ports and in the table of parameters.
enum { GAIN, STEPPED, WHOLE, CHOICE, SWITCH, TRIGGER, CUTOFF, N_FAKE_PARAMS };

/// The control ports that follow, without a parameter.
enum { HIDDEN = N_FAKE_PARAMS, OFFLINE, N_FAKE_CONTROLS };

/// The parameters that follow those of ports.
enum { FAKE_BYPASS = N_FAKE_PARAMS, FAKE_PRESET, N_ALL_FAKE_PARAMS };

/// A call of InstanceCalls::set.
typedef struct FakeSet {
  uint32_t instance; ///< From 0, in the order of their opening
  uint32_t run;      ///< Runs of that instance before the call, since it was opened or renewed
  uint32_t port;
  double value;
  uint32_t frame;
} FakeSet;

typedef struct FakePlugin {
  Plugin plugin; ///< First
  PluginPort ports[FAKE_MAX_PORTS];
  FxParam params[N_ALL_FAKE_PARAMS];
  int32_t param_ports[N_ALL_FAKE_PARAMS];
  FxSide sides[1]; ///< All side chains are one side input
  uint32_t side_of[FAKE_MAX_PORTS];
  uint32_t n_main, n_side, n_out;
  // What the instances do
  uint32_t latency_frames;
  uint32_t latency_growth; ///< Each further instance has a latency that is longer by this
  bool latency_follows;    ///< The latency is `whole`, in frames
  uint32_t latency_error;  ///< What it reports beyond the latency that it has
  uint32_t fails_at;       ///< open() fails for this instance; UINT32_MAX: none
  bool renewal_fails;
  uint32_t open_ms;        ///< How long open() takes
  size_t n_bytes;          ///< Memory that each instance takes
  size_t n_state;          ///< Size of the state that each instance saves
  size_t n_file;           ///< Size of a file that each instance makes for its state; 0: none
  bool writes_inputs;      ///< run() overwrites its inputs
  bool gives_nan;          ///< As after an input above FAKE_POISON
  bool changes_process;    ///< All calls change float mode, locale and handlers of signals
  void (*meanwhile)(void); ///< The next run() calls it once, before it reads its inputs
  // What they have done
  uint32_t n_opened, n_closed, n_renewed, n_runs;
  size_t n_restored;               ///< Size of the state that the last renewal restored
  pthread_t thread;                ///< That opened the first instance
  uint32_t n_elsewhere;            ///< Calls of open, close and renew on another thread
  bool was_offline;                ///< InstanceSetup::offline of the last one
  const PluginPreset* last_preset; ///< InstanceSetup::preset of the last one
  uint32_t n_sets;
  FakeSet sets[FAKE_MAX_SETS];
} FakePlugin;

/// Describe a plugin with these numbers of audio ports.
void fake_plugin_init(FakePlugin* fake, uint32_t n_main, uint32_t n_side, uint32_t n_out);

/// Add a control port from 0 to 1: PORT_ENABLED or PORT_BYPASS.
void fake_plugin_add(FakePlugin* fake, uint32_t flags, double initial);

/// Give the plugin presets.
void fake_plugin_presets(FakePlugin* fake, const PluginPreset* presets, uint32_t n_presets);

/// fake_rig(&rig, &fake, n_in, max_block, SET("gain", 2.0)): a node in a rig; an error fails the
/// test.
#define fake_rig(rig, fake, n_in, max_block, ...)                                                  \
  do {                                                                                             \
    const RigArg rig_args_[] = { { 0 }, __VA_ARGS__ };                                             \
    OK(rig_try_fx(rig, &(fake)->plugin.fx, FAKE_RATE, n_in, max_block, false, rig_args_ + 1,       \
                  (uint32_t)ARRAY_LEN(rig_args_) - 1U, &error));                                   \
  } while (0)

/// Calls of set() for a port of the first instance, from call `first` on.  Copies up to n_values
/// values, and returns the number of calls.
uint32_t fake_plugin_values(const FakePlugin* fake, uint32_t first, uint32_t port, double* values,
                            uint32_t n_values);

#endif
