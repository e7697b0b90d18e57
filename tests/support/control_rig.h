// SPDX-License-Identifier: GPL-3.0-or-later
/// A control server in front of an engine that plays nothing, with two clients.
#ifndef WARPRACK_TESTS_CONTROL_RIG_H
#define WARPRACK_TESTS_CONTROL_RIG_H

#include "fake_engine.h"
#include "osc_client.h"
#include "scratch.h"

#include "control/control.h"

#include <stdatomic.h>

/// `lowcut: highpass 80 | vol: gain -6dB`, see support/fx_sample.c for the effects.
typedef struct ControlRig {
  Scratch folder;
  Engine* engine;
  Control* control;
  char port[8];      ///< Of the server
  OscClient* client; ///< Sends commands
  OscClient* other;  ///< Watches
  _Atomic int n_quits, n_latency_changes;
  _Atomic bool is_watcher_ahead; ///< A message waited for `other` when the latency last changed
  _Atomic int audio_state;       ///< 0 "running", 1 "waiting"
  _Atomic bool hold;             ///< Keep the server's thread where it asks for the audio state ...
  _Atomic bool is_held;          ///< ... as it is now
} ControlRig;

/// The rig of this test program.
extern ControlRig rig;

void control_rig_start(void);
void control_rig_stop(void);

/// One number from /server/status.
double control_rig_status(const char* key);

/// The active document must contain this text.
void control_rig_expect_rack(const char* text);

/// The newest parameter value that the engine has.
double control_rig_newest_value(void);

#endif
