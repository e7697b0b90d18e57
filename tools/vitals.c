// SPDX-License-Identifier: GPL-3.0-or-later
// Decides when to feed a watchdog.

#include "vitals.h"

#include <stddef.h>

void
vitals_begin(Vitals* const vitals, const uint64_t watchdog_ns, const VitalSigns* const signs,
             const uint64_t now_ns)
{
  *vitals = (Vitals){ .interval_ns = watchdog_ns / 2U, .fed_ns = now_ns, .fed = *signs };
}

const char*
vitals_idle(const Vitals* const vitals, const VitalSigns* const signs)
{
  const VitalSigns* const fed = &vitals->fed;
  if (signs->control_rounds == fed->control_rounds) {
    return "control";
  }
  if (signs->has_audio && signs->callback_blocks == fed->callback_blocks) {
    return "callback";
  }
  const bool is_idle = signs->worker_blocks == fed->worker_blocks;
  return signs->has_audio && signs->has_worker && is_idle ? "worker" : "";
}

bool
vitals_feed(Vitals* const vitals, const VitalSigns* const signs, const uint64_t now_ns)
{
  if (!vitals->interval_ns || now_ns - vitals->fed_ns < vitals->interval_ns ||
      vitals_idle(vitals, signs)[0]) {
    return false;
  }
  vitals->fed = *signs;
  vitals->fed_ns = now_ns;
  return true;
}
