// SPDX-License-Identifier: GPL-3.0-or-later
// Under the real-time trap, no format makes a call for notes that an audio thread must not make.

#include "engine/base/rt.h"
#include "tests/support/instruments.h"
#include "tests/support/rt_trap.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define N_BLOCKS 200U
#define BLOCK    64U

TEST_ROWS(notes_make_no_forbidden_call, instruments)
{
  const Plugin* const plugin = instrument_describe(row);
  if (!plugin) {
    return;
  }
  const InstanceCalls* const of = plugin_format_find(plugin->origin.format)->calls;
  const InstanceSetup setup = { .rate_hz = 48000.0, .max_block_frames = BLOCK };
  Instance* instance = NULL;
  OK(of->open(plugin, &setup, &instance, &error));
  static float samples[BLOCK];
  float* const out[] = { samples };
  rt_trap_reset();
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    rt_section_enter();
    for (uint32_t e = 0; e < FX_MAX_EVENTS + 100U; ++e) { // more than may come
      const bool is_on = e % 2U == 0U;
      const FxEvent event = { is_on ? FX_NOTE_ON : FX_NOTE_OFF, e / 2U % FX_KEYS, is_on };
      of->event(instance, &event, e * BLOCK / (FX_MAX_EVENTS + 100U));
    }
    of->run(instance, NULL, out, BLOCK);
    rt_section_leave();
  }
  rt_trap_report(stdout);
  const RtTrapCounts counts = rt_trap_counts();
  ck_assert_uint_eq(counts.sections, N_BLOCKS);
  ck_assert_uint_eq(counts.violations, 0);
  of->close(instance);
}

SUITE_MAIN("notes_rt_trap")
