// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Decides when to feed a service manager's watchdog: after half of its interval, and only if the
   counters of all parts have advanced since the last time.

   While the driver waits for an audio server or device, the audio callback and the worker have no
   work and are not checked; the main loop (which calls this code) and the control thread still are.
   A worker is not checked while its supervisor starts it or waits before a restart, because the
   fallbacks that play meanwhile are better than a restart of the service.
*/
#ifndef WARPRACK_TOOLS_VITALS_H
#define WARPRACK_TOOLS_VITALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct VitalSigns {
  bool has_audio;           ///< The driver runs, so that blocks are due
  bool has_worker;          ///< A worker accepts blocks
  uint64_t callback_blocks; ///< Periods that the audio callback has completed
  uint64_t worker_blocks;   ///< Blocks that the worker has completed
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

/// The parts without progress since the last feeding, one word for each; "" if there are none.
/// [main]
const char* vitals_idle(const Vitals* vitals, const VitalSigns* signs);

#endif
