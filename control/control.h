// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Control of a running engine over OSC/UDP: sockets, packet gate, commands, replies, subscribers,
   on one thread of its own.  It holds the rack document; the engine only ever sees whole racks and
   parameter messages.
*/
#ifndef WARPRACK_CONTROL_CONTROL_H
#define WARPRACK_CONTROL_CONTROL_H

#include "control/net/allow.h"
#include "control/net/peer.h"
#include "engine/base/status.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define CONTROL_DEFAULT_PORT 9770U

/// The audio part of /server/status.
typedef struct ControlAudio {
  char driver[32]; ///< "jack", "portaudio", "dummy"
  char state[32];  ///< "opening" at the start, then "running", "waiting", "ended"
  char device[128];
  uint64_t xruns;
  uint64_t overlaps; ///< Periods silenced because the driver called from two threads at once
  uint64_t reconnects;
  double hang_s; ///< Time for which a call to the server has had no answer, 0: none waits
  bool freewheeling;
} ControlAudio;

/// The program's part of /server/status.
typedef struct ControlProgram {
  uint64_t log_lines, log_left_out, log_dropped;
  uint64_t watchdog_fed;
  uint64_t state_saved, state_failed;
  uint32_t starts; ///< In a row that have not lived; 0: none counted
  bool muted;
} ControlProgram;

typedef struct ControlConfig {
  Engine* engine;           ///< Borrowed until control_stop()
  const char* bind_address; ///< Numeric, default "127.0.0.1"
  uint16_t port;            ///< 0: any free one, see control_port()
  const Allow* allow;       ///< Allowed senders besides this machine; copied.  NULL: none
  const char* root;         ///< Folder that file names in commands are relative to, default "."
  void* context;            ///< For the functions below; those that may be NULL say so
  void (*audio)(void* context, ControlAudio* audio);       ///< [control] Fill in the audio side
  void (*program)(void* context, ControlProgram* program); ///< [control] Fill in; may be NULL
  /// [control] The rack that now plays, as text that the callee owns: at the start, at most every
  /// 250 ms after changes, at the end.  May be NULL.
  void (*heard)(void* context, char* rack_text);
  /// [control] New warnings of the active rack, one per line.  May be NULL.
  void (*warned)(void* context, const char* lines);
  /// Subscribers of the previous run, from `subscribed`: each gets /server/started and all values.
  /// Read by control_start(); NULL: none.
  const char* subscribers;
  /// [control] The subscribers from now on, as text that is given away.  May be NULL.
  void (*subscribed)(void* context, char* subscribers);
  void (*latency_changed)(void* context); ///< [any] After an edit that changed the rack's latency
  void (*quit)(void* context);            ///< [control] /server/quit
  /// [control] Packets were dropped: whose and how many, at most once a second for each sender.
  void (*flood)(void* context, const char* text); ///< May be NULL
  /// [main] During control_start(): clients on this machine do not reach the server at 127.0.0.1,
  /// and why.  May be NULL.
  void (*note)(void* context, const char* text);
} ControlConfig;

typedef struct Control Control;

/// Bind and start the thread.  `rack` is the document that the engine plays already; copied.
/// A port in use is STATUS_NET with the port and the way out.  [main]
NODISCARD Status control_start(const ControlConfig* config, const Rack* rack, Control** out,
                               Error* error);

uint16_t control_port(const Control* control);

/// Where this machine reaches the server; perhaps the unspecified address, which Linux connects to
/// loopback. [any]
Peer control_own_peer(const Control* control);

/// Rounds that the thread has done: four a second at least, while it is alive. [any]
uint64_t control_rounds(const Control* control);

/// Stop, join, free.  Accepts NULL. [main]
void control_stop(Control* control);

#endif
