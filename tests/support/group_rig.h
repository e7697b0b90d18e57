// SPDX-License-Identifier: GPL-3.0-or-later
/// A node with a plugin, in a group or in none, that plays a signal.  All memory stays until the
/// process ends.
#ifndef WARPRACK_TESTS_GROUP_RIG_H
#define WARPRACK_TESTS_GROUP_RIG_H

#include "dry_rig.h"

#include "plugins/host_group.h"

#define GROUP_RIG_RATE     48000.0
#define GROUP_RIG_BLOCK    64U
#define GROUP_RIG_BLOCKS   40U // of the signal
#define GROUP_RIG_CHANNELS 4U
#define GROUP_RIG_UID      20U

/// How a node is made.
typedef struct GroupRigSetup {
  const char* group; ///< NULL: none
  uint32_t n_in;
  bool offline;
  bool has_after; ///< Its parameter "after" is given
  double after;
  const char* preset;    ///< NULL: none
  const char* state;     ///< Path of its state; NULL: none
  const FxFiles* access; ///< For files that the state names; NULL: none
  uint32_t uid;          ///< 0: GROUP_RIG_UID
} GroupRigSetup;

typedef struct GroupRig {
  const FxInfo* fx;
  void* node;
  FxShape shape;
  uint32_t n_units;
  void* states[GROUP_RIG_CHANNELS];
  InputLine input_line;
  float in[GROUP_RIG_CHANNELS][GROUP_RIG_BLOCKS * GROUP_RIG_BLOCK]; ///< Sines
  float out[GROUP_RIG_CHANNELS][GROUP_RIG_BLOCKS * GROUP_RIG_BLOCK];
  uint64_t n_played; ///< Frames
} GroupRig;

/// A plugin with the functions of the host.  `folder`: the environment variable with the folder of
/// `file`.
const Plugin*
group_rig_plugin(const char* format, const char* folder, const char* file, const char* id);

/// A plugin of tests/support/plugins/ladspa: "effects/gain".
const Plugin* group_rig_ladspa(const char* id);

/// Let groups have processes from now on, and this thread wait for them.
void group_rig_start(void);

Status group_rig_try(GroupRig* rig, const Plugin* plugin, const GroupRigSetup* setup, Error* error);

/// As group_rig_try(); an error fails the test.
GroupRig* group_rig_open(const Plugin* plugin, const GroupRigSetup* setup);

void group_rig_close(const GroupRig* rig);

/// Play the next frames, at most a block.
void group_rig_play(GroupRig* rig, uint32_t n_frames);

/// Play blocks.
void group_rig_play_blocks(GroupRig* rig, uint32_t n_blocks);

void group_rig_set(const GroupRig* rig, const char* id, double value);

#endif
