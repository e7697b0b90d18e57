// SPDX-License-Identifier: GPL-3.0-or-later
/// How the channels of a node are spread over the instances of its plugin.
#ifndef WARPRACK_PLUGINS_HOST_LANES_H
#define WARPRACK_PLUGINS_HOST_LANES_H

#include "plugin.h"

#include "engine/base/arena.h"

/// The source of an audio input of an instance.
typedef struct HostSource {
  bool is_side;     ///< A channel of FxUnit::side, else of FxUnit::in
  uint32_t channel; ///< Of that
} HostSource;

typedef struct HostLanes {
  uint32_t n_instances;
  uint32_t n_in;       ///< Channels of the node for each instance
  uint32_t n_rows;     ///< Audio inputs of an instance, with side chains
  HostSource* sources; ///< [n_rows]
  uint32_t n_out;      ///< Audio outputs of an instance
} HostLanes;

/**
   Spread `n_in` channels; a plugin without main inputs has one instance.

   @return STATUS_BAD_RACK with the numbers that are possible, STATUS_NO_MEM.
   [builder]
*/
NODISCARD Status host_lanes_make(HostLanes* lanes, const Plugin* plugin, uint32_t n_in,
                                 Arena* arena, Error* error);

/// The channels of a node that only passes its input on. [builder]
void host_lanes_pass(HostLanes* lanes, uint32_t n_in, uint32_t n_out);

#endif
