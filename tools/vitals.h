// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Decides when a service manager's watchdog is fed: after half of its interval, and only if all
   parts have done work since the last time.  Only a counter that advances proves that a part works.

   While the driver waits for an audio server or device, the audio callback and the worker have no
   work, and do not count; the main loop, which calls this, and the control thread still do.  A
   worker does not count while its supervisor starts it or waits before a restart: the dry signal
   that plays meanwhile is better than a restart of the service.
*/
#ifndef WARPRACK_TOOLS_VITALS_H
#define WARPRACK_TOOLS_VITALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct VitalSigns {
  bool has_audio;           ///< The driver runs, so that blocks are due
  bool has_worker;          ///< A worker accepts blocks
  uint64_t callback_blocks; ///< Periods that the audio callback completed
  uint64_t worker_blocks;   ///< Blocks that the worker completed
  uint64_t control_rounds;  ///< Rounds of the control thread
} VitalSigns;

typedef struct Vitals {
  uint64_t interval_ns; ///< 0: no watchdog
  uint64_t fed_ns;
  VitalSigns fed; ///< The counters at the last feeding
} Vitals;

/// Begin with a watchdog interval (0: none); the watchdog counts as just fed.
void vitals_begin(Vitals* vitals, uint64_t watchdog_ns, const VitalSigns* signs, uint64_t now_ns);

/// True if the watchdog must be fed now; records it as fed. [main]
bool vitals_feed(Vitals* vitals, const VitalSigns* signs, uint64_t now_ns);

/// The parts without progress since the last feeding, one word for each, "" for none. [main]
const char* vitals_idle(const Vitals* vitals, const VitalSigns* signs);

#endif
