// SPDX-License-Identifier: GPL-3.0-or-later
/// A control server with two clients and an engine that plays nothing (fake_engine.h).
#ifndef WARPRACK_TESTS_CONTROL_RIG_H
#define WARPRACK_TESTS_CONTROL_RIG_H

#include "fake_engine.h"
#include "osc_client.h"
#include "scratch.h"

#include "control/control.h"

#include <stdatomic.h>

/// The rack is `lowcut: highpass 80 | vol: gain -6dB`; support/fx_sample.c defines its effects.
typedef struct ControlRig {
  Scratch folder;
  Engine* engine;
  Control* control;  ///< NULL after control_rig_stop_server()
  int port_keeper;   ///< The socket that keeps the port then, or -1
  char port[8];      ///< The server's port
  OscClient* client; ///< Sends commands
  OscClient* other;  ///< A second client, mostly a subscriber
  _Atomic int n_quits, n_latency_changes, n_scans;
  _Atomic bool is_watcher_ahead; ///< At the last latency change, `other` had an unread message
  _Atomic int audio_state;       ///< 0 "running", 1 "waiting"
  _Atomic double transport_bpm;  ///< ControlAudio::transport_bpm
  _Atomic uint32_t n_asked;      ///< Times that the server has asked for the audio state
  _Atomic int check_state;       ///< 0 no check, 1 one runs, 2 it ends, 3 it fails
  char check_text[64];           ///< The rack of the last check
  _Atomic bool hold;             ///< Block the server's thread when it asks for the audio state
  _Atomic bool is_held;          ///< The server's thread is blocked there
} ControlRig;

/// The rig of this test program.
extern ControlRig rig;

void control_rig_start(void);
void control_rig_stop(void);

/// Stop the server, and keep its port: no other process gets it, and nobody listens there.
void control_rig_stop_server(void);

/// The number that /server/status has for this key.
double control_rig_status(const char* key);

/// The same from an answer to /server/status that has arrived already.
double control_rig_number(const char* answer, const char* key);

/// True if the server has warned of this (ControlConfig::warned).
bool control_rig_has_warned(const char* text);

/// Fails the test unless the reply to /rack/get contains this text.
void control_rig_expect_rack(const char* text);

/// The value that the engine was given last: the first one of the newest engine_set().
double control_rig_newest_value(void);

#endif
