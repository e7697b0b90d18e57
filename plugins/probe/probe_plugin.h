// SPDX-License-Identifier: GPL-3.0-or-later
/// Measures one plugin, in a process that it may crash.
#ifndef WARPRACK_PLUGINS_PROBE_PROBE_PLUGIN_H
#define WARPRACK_PLUGINS_PROBE_PROBE_PLUGIN_H

#include "plugins/plugin.h"

/// The steps of the measurements, and what a plugin that crashes was doing.
#define PROBE_STEPS(ROW)                                                                           \
  ROW(OPEN, "while it was opened")                                                                 \
  ROW(LATENCY, "with a parameter at an end of its range")                                          \
  ROW(RUN, "while it ran")                                                                         \
  ROW(BLOCKS, "while it ran in blocks of other lengths")                                           \
  ROW(MOVE, "while its parameters moved")                                                          \
  ROW(RANDOM, "with values inside the ranges of its parameters")

#define PROBE_STEP_WORD(word, text) PROBE_##word,
typedef enum ProbeStep { PROBE_STEPS(PROBE_STEP_WORD) PROBE_N_STEPS } ProbeStep;

/**
   Measure a plugin.

   @param began Is called before each part of a step.
   @param[out] report Its `moving` is in the arena.
   @return The error of the format if the plugin cannot be opened, STATUS_NO_MEM.
   [child]
*/
NODISCARD Status probe_plugin(const Plugin* plugin, void (*began)(void* context, ProbeStep step),
                              void* context, Arena* arena, PluginReport* report, Error* error);

#endif
