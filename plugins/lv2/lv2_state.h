// SPDX-License-Identifier: GPL-3.0-or-later
/**
   States of LV2 plugins (state:interface): in Turtle files, those of presets and the one that a
   plugin begins with (state:loadDefaultState), which lilv reads; and those that users save.

   The builder restores a state while no thread runs the instance, so that threadSafeRestore makes
   no difference, and a plugin gets no worker:schedule: it loads its files before the call returns.
   A state is saved while the instance runs, which LV2 allows.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_STATE_H
#define WARPRACK_PLUGINS_LV2_LV2_STATE_H

#include "engine/base/status.h"
#include "plugins/host.h"
#include "plugins/host_made.h"

#include <lv2/core/lv2.h>
#include <lv2/state/state.h>

/// A plugin whose state is restored.
typedef struct Lv2Stateful {
  const Plugin* plugin;
  const LV2_State_Interface* calls; ///< NULL: the plugin has none
  LV2_Handle handle;
  const LV2_Feature* const* features; ///< Without paths, which are lilv's
  HostMade* made;                     ///< The files that the instance makes
} Lv2Stateful;

/**
   Restore the properties that a file has for a subject: the URI of a preset, or of the plugin.

   @return STATUS_FILE if the file has no such state, or the plugin refuses it. [builder]
*/
NODISCARD Status lv2_state_load(const Lv2Stateful* to, const char* subject, const char* file,
                                Error* error);

/**
   Append the state of a plugin, as lv2_values_write() writes it.

   @param paths The files that it may name.  Those that the plugin has made, and names, are added by
   host_paths_keep().
   @return STATUS_FILE if the plugin cannot save it or it names another file, STATUS_LIMIT if it is
   too large. [builder, also while run() runs]
*/
NODISCARD Status lv2_state_save(const Lv2Stateful* from, HostPaths* paths, TextBuffer* part,
                                Error* error);

/// Restore a state of lv2_state_save(). STATUS_FILE, STATUS_NO_MEM. [builder]
NODISCARD Status lv2_state_restore(const Lv2Stateful* to, HostPaths* paths, const StatePart* part,
                                   Error* error);

/// InstanceCalls::find_files: files that the plugin has made, and those of values of the type
/// atom:Path. [builder]
NODISCARD Status lv2_state_find_files(const StatePart* part, HostPaths* paths, Error* error);

#endif
