// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Decides when a service manager's watchdog is fed: at half of its time, and only when all parts
   have done work since it was fed last.  That a thread is there proves nothing; a counter that
   moves does.

   The audio callback and the worker cannot do work while the driver waits for an audio server or
   device.  Then they do not count: the main loop, which tries to come back and asks here, proves
   itself by asking, and the control thread by its rounds.  Nor does a worker count while its
   supervisor starts it or lets it rest: the dry signal that plays meanwhile is better than a
   restart.
*/
#ifndef WARPRACK_TOOLS_VITALS_H
#define WARPRACK_TOOLS_VITALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct VitalSigns {
  bool has_audio;           ///< The driver runs, so that blocks are due
  bool has_worker;          ///< There is one that takes blocks
  uint64_t callback_blocks; ///< Periods that the audio callback was through with
  uint64_t worker_blocks;   ///< Blocks that came back from the worker
  uint64_t control_rounds;  ///< Of the control thread
} VitalSigns;

typedef struct Vitals {
  uint64_t interval_ns; ///< 0: there is no watchdog
  uint64_t fed_ns;
  VitalSigns fed; ///< The counters when it was fed last
} Vitals;

/// Begin with a watchdog of so many nanoseconds (0: none), which was fed just now.
void vitals_begin(Vitals* vitals, uint64_t watchdog_ns, const VitalSigns* signs, uint64_t now_ns);

/// True when the watchdog is to be fed now; it counts as fed then. [main]
bool vitals_feed(Vitals* vitals, const VitalSigns* signs, uint64_t now_ns);

/// The parts that have done nothing since the watchdog was fed, "" for none: a word for each.
/// [main]
const char* vitals_idle(const Vitals* vitals, const VitalSigns* signs);

#endif
