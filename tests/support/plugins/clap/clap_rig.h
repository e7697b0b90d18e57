// SPDX-License-Identifier: GPL-3.0-or-later
/// An instance of a CLAP plugin of the fixtures; see plugin_rig.h for descriptions.
#ifndef WARPRACK_TESTS_CLAP_RIG_H
#define WARPRACK_TESTS_CLAP_RIG_H

#include "plugins/clap/clap_host.h"
#include "plugins/format.h"

#define CLAP_RIG_RATE_HZ 48000.0
#define CLAP_RIG_BLOCK   256U
#define CLAP_RIG_ROWS    8U

/// An instance of a fixture.
typedef struct ClapRig {
  const Plugin* plugin;
  Instance* instance;
  float in[CLAP_RIG_ROWS][CLAP_RIG_BLOCK], out[CLAP_RIG_ROWS][CLAP_RIG_BLOCK];
} ClapRig;

extern ClapRig clap_rig;

/// Fill the inputs: row r with r + 1.
void clap_rig_begin(void);

/// Close the instance, if there is one.
void clap_rig_end(void);

const InstanceCalls* clap_rig_calls(void);

/// The path of a file of the fixtures: "broken".  Valid until the next call.
const char* clap_rig_path(const char* name);

/// The place of a parameter of ClapRig::plugin, which must be there.
uint32_t clap_rig_port_of(const char* symbol);

/// Open an instance of a fixture, for blocks of CLAP_RIG_BLOCK frames without a setup.
Status clap_rig_try_open(const char* id, const InstanceSetup* setup, Error* error);
void clap_rig_open_plugin(const char* id);

/// Calls of the instance.
void clap_rig_set(const char* symbol, double value, uint32_t frame);
double clap_rig_get(const char* symbol);
void clap_rig_run(uint32_t n_frames);
uint32_t clap_rig_n_reports(ClapReport report);

#endif
