// SPDX-License-Identifier: GPL-3.0-or-later
/// A list of parameters with their values before and after a change.
#ifndef WARPRACK_CONTROL_CHANGES_H
#define WARPRACK_CONTROL_CHANGES_H

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

/// Limits for the parameters that one change sets, and for the names that it compares.
#define VALUES_MAX         4096U
#define VALUES_MAX_COMPARE 65536U

/// One parameter, with its value before and after a change.
typedef struct Change {
  RackUid uid;
  uint32_t param;         ///< The effect's n_params for "backend"
  const Message* message; ///< The message that sets it; valid while its bundle lives
  const char* text;       ///< The value of a scene, which the rack owns; NULL: none
  bool has_number;        ///< The value is `number`; without both it is that of `message`
  double number;
  double seconds;          ///< Time of the fade; 0: none, the node's own ramp
  uint32_t curve;          ///< Of the fade: FxCurve
  RackValue before, after; ///< Numbers only
} Change;

/// A growing list; a zeroed one is empty.
typedef struct Changes {
  Change* items;
  uint32_t n, capacity;
  uint32_t n_compared;
  bool has_missing; ///< A recall has left out values, because their parameters are missing
} Changes;

void changes_clear(Changes* changes);

/// Append a copy of a change: STATUS_LIMIT, STATUS_NO_MEM.
NODISCARD Status changes_add(Changes* changes, const Change* change, Error* error);

#endif
