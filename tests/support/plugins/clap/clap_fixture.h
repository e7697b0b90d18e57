// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A CLAP plugin for tests: a table of parameters, audio ports, and a function that makes the sound.
   Each source with a table of kinds, fixtures.c and broken.c, forms a file together with as_clap.c
   and presets.c.
*/
#ifndef WARPRACK_TESTS_CLAP_FIXTURE_H
#define WARPRACK_TESTS_CLAP_FIXTURE_H

#include <clap/plugin.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef FIXTURE_MAJOR
#define FIXTURE_MAJOR 1 // of the version of CLAP
#endif

#define MAX_VALUES   16U
#define DELAY_FRAMES 64U
#define N(array)     ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/// The version of CLAP that a descriptor or file claims.
#define VERSION                                                                                    \
  {                                                                                                \
    FIXTURE_MAJOR, 2, 0                                                                            \
  }

typedef struct Fixture Fixture;

typedef struct Param {
  clap_id id;
  uint32_t flags;
  const char *module, *name;
  double min, max, initial;
  const char* format;        // of value_to_text, with the number
  const char* const* labels; // of the values from `min`
} Param;

typedef struct Kind {
  clap_plugin_descriptor_t descriptor;
  uint32_t n_main, n_side; // channels: of main input and output, of the side chain
  uint32_t n_notes;
  const Param* params;
  uint32_t n_params;
  void (*process)(Fixture* fixture, const clap_process_t* block);
} Kind;

struct Fixture {
  clap_plugin_t clap;
  const Kind* kind;
  const clap_host_t* host;
  _Atomic double values[MAX_VALUES]; // the host may save the state while the plugin runs
  bool is_offline, is_active, is_processing;
  atomic_bool is_wrong_thread;
  uint32_t n_activations;
  float delay[DELAY_FRAMES];
  uint32_t at, latency_frames;
  float memory;
  _Atomic float peak;
  int pipe[2];
  uint32_t n_timers, n_fds, n_callbacks;
};

/// The factory of preset providers, or NULL for another id.
const void* fixture_preset_factory(const char* id);

/// The extension that loads presets, or NULL for another id.
const void* fixture_preset_load(const char* id);

extern const Kind fixture_kinds[];
extern const uint32_t fixture_n_kinds;

#endif
