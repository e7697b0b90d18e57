// SPDX-License-Identifier: GPL-3.0-or-later
/// Descriptions and instances of LV2 plugins for tests.
#ifndef WARPRACK_TESTS_LV2_RIG_H
#define WARPRACK_TESTS_LV2_RIG_H

#include "plugins/format.h"

#define LV2_RIG_RATE_HZ 48000.0
#define LV2_RIG_BLOCK   64U

extern const PluginFormat plugin_format_lv2;

/// Path of the bundle of fixtures in the build folder.
const char* lv2_rig_fixtures(void);

/// Describe all plugins of some bundles; replaces all earlier descriptions.  Returns the status of
/// the first bundle that fails, with its error.
Status lv2_rig_describe(const char* const* bundles, uint32_t n_bundles, Error* error);

/// Describe the fixtures.  Returns the calls of their instances.
const InstanceCalls* lv2_rig_begin(void);

/// A plugin that was described; NULL if there is none.
const Plugin* lv2_rig_find(const char* id);

/// The number of plugins that were described.
uint32_t lv2_rig_count(void);

/// The place of a port, which must be there.
uint32_t lv2_rig_place(const Plugin* plugin, const char* symbol);

/// The port itself.
const PluginPort* lv2_rig_port(const Plugin* plugin, const char* symbol);

/// An instance of a fixture, for blocks of LV2_RIG_BLOCK frames.
Instance* lv2_rig_open(const char* id, bool offline);

void lv2_rig_close(Instance* const* instance); ///< For SCOPED()

/// Set a control input of an instance, and get a control output.
void lv2_rig_set(Instance* instance, const char* id, const char* symbol, double value);
double lv2_rig_get(const Instance* instance, const char* id, const char* symbol);

/// An instance with a state, of a fixture with an input, an output and the control "mode".
typedef struct Lv2StateRig {
  const char* id;
  const FxFiles* files; ///< Access to files of the rack; NULL: none
  StateFile state;
  HostPaths paths;
  Instance* instance;
} Lv2StateRig;

/// Open the instance, with the state that is set.
Status lv2_rig_state_open(Lv2StateRig* rig, Error* error);
void lv2_rig_state_close(Lv2StateRig* rig);

/// The last sample that the instance makes of a constant one.
float lv2_rig_state_play(const Lv2StateRig* rig, float sample);

/// Save the state in a mode of the fixture, into a new buffer.
Status lv2_rig_state_save(const Lv2StateRig* rig, double mode, TextBuffer* part, Error* error);

/// Expect another instance with this saved state to play as if it had learnt the peak 0.5, and then
/// 0.75; a renewal restores the saved peak.
void lv2_rig_state_expect_half(const char* id, const FxFiles* files, const TextBuffer* part);

#endif
