// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the host gives to plugins when they are instantiated.

   | feature | what plugins get |
   |---|---|
   | urid:map, urid:unmap | one table per process |
   | options | block length, sequence size, sample rate |
   | boundedBlockLength | always |
   | fixedBlockLength, powerOf2BlockLength, coarseBlockLength | live only, where they are true |
   | worker:schedule | see lv2_worker.h |
   | log | lines on stderr, a limited number per process; nothing from run() |
   | state:mapPath, freePath | paths are kept as they are; while a state is loaded, those of lilv |
   | state:makePath | host_made.h; also while a state is saved |
   | state:loadDefaultState | see lv2_state.h |
   | state:threadSafeRestore, isLive, inPlaceBroken, hardRTCapable | accepted |

   A plugin never runs in place.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_FEATURES_H
#define WARPRACK_PLUGINS_LV2_LV2_FEATURES_H

#include "plugins/host.h"
#include "plugins/host_made.h"

#include <lv2/core/lv2.h>
#include <lv2/options/options.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <stdbool.h>

#define FEATURES_N 17U

/// The path that a plugin gets in place of one that is refused, because it may not expect NULL.  No
/// file can be there, also not one of root's.
#define FEATURES_NO_PATH "/dev/null/refused"

/// The features of an instance, at one place in memory while it lives.
typedef struct Lv2Features {
  float rate_hz;
  int32_t min_block_frames, max_block_frames;
  int32_t sequence_bytes;
  LV2_Options_Option options[6];
  LV2_State_Make_Path make_path;
  LV2_Feature options_feature, schedule_feature, make_feature;
  const LV2_Feature* list[FEATURES_N + 1U];      ///< NULL-terminated, as the next one
  const LV2_Feature* for_state[FEATURES_N + 1U]; ///< Without paths and work; see lv2_state.h
} Lv2Features;

/// True if plugins may require this feature. [any]
bool features_have(const char* uri);

/// True if plugins may require this option. [any]
bool features_have_option(const char* uri);

/**
   Fill the features of an instance.

   @param schedule NULL if the plugin has no worker.
   @param sequence_bytes Smallest buffer of its event ports.
   [builder]
*/
void features_init(Lv2Features* features, const InstanceSetup* setup, LV2_Worker_Schedule* schedule,
                   HostMade* made, uint32_t sequence_bytes);

/// The data of urid:map. [any]
LV2_URID_Map* features_urid_map(void);

/// Around run(): messages of a plugin from within are dropped, because writing them may block. [rt]
REALTIME void features_enter_run(void);
REALTIME void features_leave_run(void);

#endif
