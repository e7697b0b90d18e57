// SPDX-License-Identifier: GPL-3.0-or-later
/// The meters of clients: the data of meters.h.
#ifndef WARPRACK_CONTROL_METER_TABLE_H
#define WARPRACK_CONTROL_METER_TABLE_H

#include "client_table.h"
#include "loudness.h"

#include "engine/base/time.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define METERS_MAX 256U // of all clients
// Of the clients of one machine that is not this one, so that it leaves some for others:
#define METERS_PER_MACHINE   64U
#define TAPS_PER_MACHINE     (RING_TAPS / 2U)
#define LOUDNESS_PER_MACHINE (LISTEN_MAX / 2U)
#define METERS_PER_S         120U // divides into the usual rates of displays: 60, 40, 30, 24, 20 ...
#define METERS_MAX_RATE      60.0               // messages a second
#define METERS_RATE          25.0               // unless the client asks for another one
#define METERS_READ_NS       (100U * NS_PER_MS) // shortest span of a read
#define METERS_IDLE_NS       (250U * NS_PER_MS) // between two collections without a meter
#define METERS_SILENT_NS     (500U * NS_PER_MS) // between two messages while no audio runs

typedef enum MeterKind {
  METER_IN,
  METER_OUT,
  N_METER_SIDES,
  METER_NODE = N_METER_SIDES,
  METER_LOUDNESS
} MeterKind;

/// The source of a meter's levels.
typedef struct MeterOf {
  MeterKind kind;
  RackUid uid;     ///< Of METER_NODE, else RACK_UID_NONE
  PortRange ports; ///< Of METER_LOUDNESS
} MeterOf;

/// Sums over the channels of a side of the rack, or over all channels of a node together.
typedef struct MeterSums {
  uint64_t n_frames;  ///< Of a node: samples of all channels
  float reduction_db; ///< Of a node
  uint32_t n_channels;
  Level of[FX_MAX_CHANNELS]; ///< [n_channels]
} MeterSums;

/// A subscription of one client.
typedef struct Meter {
  const Client* client; ///< It has CLIENT_METERS
  MeterOf shows;
  bool is_float;
  uint64_t interval_ns; ///< Between two messages
  uint64_t due_ns;      ///< Time of the next message
  uint64_t sent_ns;     ///< Time of the last message, at first of the subscription
  uint64_t from_frame;  ///< Levels before this frame do not count
  MeterSums sums;       ///< Since the last message; of a node, its memory ends with of[0]
} Meter;

typedef struct Meters {
  Meter* of[METERS_MAX]; ///< [n]
  uint32_t n;
  uint64_t next_ns;                   ///< Time of the next collection
  PortLevels levels;                  ///< Collected last
  uint64_t levels_ns;                 ///< Time of that
  MeterSums recent[N_METER_SIDES][2]; ///< For reads: the newest sums, which become those before
                                      ///< after METERS_READ_NS
  uint64_t recent_ns;                 ///< When the newest ones began
  MeterSums answer;                   ///< To a read
  RackUid taps[RING_TAPS];            ///< [n_taps] the nodes that have meters, RACK_UID_NONE: free
  uint32_t n_taps;
  Loudness* loudness;           ///< NULL until a client has such a meter
  PortRange places[LISTEN_MAX]; ///< The ports that `loudness` measures; n 0: free
} Meters;

#endif
