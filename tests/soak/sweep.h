// SPDX-License-Identifier: GPL-3.0-or-later
/// One plugin of the catalogue for tools/sweep: played by warprack's host, or by a reference host.
#ifndef WARPRACK_TESTS_SWEEP_H
#define WARPRACK_TESTS_SWEEP_H

#include "plugins/plugin.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SWEEP_RATE_HZ  48000.0
#define SWEEP_MAX_ROWS 256U
#define SWEEP_INPUTS   64U // rows of the input file

/// Planar samples.
typedef struct SweepRows {
  float* samples; ///< [n_rows][n_frames]
  float* rows[SWEEP_MAX_ROWS];
  uint32_t n_rows, n_frames;
} SweepRows;

/// How a plugin is played.
typedef struct SweepPlay {
  const Plugin* plugin;
  SweepRows in; ///< A row per main audio input
  uint32_t block_frames;
  char state[4096]; ///< Path of a file for the state, which the host writes
  // Of reference hosts only: what other hosts do.
  bool in_place;        ///< Inputs and outputs are the same memory
  bool with_denormals;  ///< Denormals are not flushed to zero
  bool with_own_values; ///< LV2: lilv's defaults instead of those of the description
  bool without_options; ///< LV2: the plugin gets no options
  bool has_nan_outputs; ///< LV2: control outputs without a default begin as NaN
  bool is_second;       ///< It is the second instance of the process; the first played silence
} SweepPlay;

/// Zeroed rows; frees earlier ones.
void sweep_rows_take(SweepRows* rows, uint32_t n_rows, uint32_t n_frames);

/// The number of a control input at which a new node plays.
double sweep_value(const Plugin* plugin, uint32_t port);

/// Ports of a plugin: those of this type and direction, with or without side chains.
uint32_t sweep_count(const Plugin* plugin, PortType type, bool is_output, bool with_sidechains);

/**
   Take a plugin through all steps in warprack's host.  Prints the name of each step to stderr
   before it begins, so that a crash has a place.

   @param[out] out The samples of the first step.
   @return An object: "plays", "reason" if it does not, and the result of each step.
*/
json_t* sweep_steps(const SweepPlay* play, SweepRows* out);

/// Play a plugin in the reference host of its format.  Returns NULL, or why it does not play.
const char* sweep_reference(const SweepPlay* play, SweepRows* out);

#endif
