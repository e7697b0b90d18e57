// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Control of a running engine over OSC, by UDP and TCP: sockets, check of packets, commands,
   replies and subscribers, on one thread.  It has the rack document; the engine receives complete
   racks and parameter messages only.
*/
#ifndef WARPRACK_CONTROL_CONTROL_H
#define WARPRACK_CONTROL_CONTROL_H

#include "control/net/allow.h"
#include "control/net/listeners.h"
#include "control/net/peer.h"
#include "engine/base/status.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define CONTROL_DEFAULT_PORT 9770U

/// The audio part of /server/status.
typedef struct ControlAudio {
  char driver[32]; ///< Name of the audio driver
  char state[32];  ///< "opening" at the start, then "running", "waiting", "ended"
  char device[128];
  uint64_t xruns;
  uint64_t overlaps; ///< Periods silenced because the driver called from two threads at once
  uint64_t reconnects;
  double hang_s; ///< Time for which a call to the audio server has not returned; 0: no call waits
  bool freewheeling;
  double transport_bpm; ///< Of the timebase master of JACK; 0: there is none
} ControlAudio;

/// The program's part of /server/status.
typedef struct ControlProgram {
  uint64_t log_lines, log_left_out, log_dropped;
  uint64_t watchdog_fed;
  uint64_t state_saved, state_failed;
  uint32_t starts; ///< Successive starts that neither ran for long enough nor ended normally; 0:
                   ///< not counted
  bool muted;
} ControlProgram;

/// The result of the last scan for plugins, as /server/scanned.
typedef struct ControlScan {
  uint64_t n_ended;    ///< Scans since the start; 0: the other members are 0
  uint32_t n_plugins;  ///< That can be used
  uint32_t n_unusable; ///< That cannot
  uint32_t n_failed;   ///< Bundles that could not be described
  char text[256];      ///< For people; why it failed, if it did
} ControlScan;

/// The plugins of the program, for /server/plugins, /server/plugin and /server/scan. [control]
typedef struct ControlPlugins {
  /// List the plugins in which all words occur, one per line; the caller frees the text.  NULL: out
  /// of memory.
  char* (*list)(void* context, const char* const* words, uint32_t n_words);
  /// List the presets of an effect, one per line; the caller frees the text.  NULL: out of memory.
  char* (*presets)(void* context, const FxInfo* fx);
  /// Describe one; the caller frees the text.
  Status (*describe)(void* context, const char* format, const char* id, char** text, Error* error);
  void (*scan)(void* context);                       ///< Request a scan
  void (*scanned)(void* context, ControlScan* scan); ///< Fills in `scan`
} ControlPlugins;

/// Predictions of the cost of racks, for /rack/check. [control]
typedef struct ControlChecks {
  /// Begin to check the rack in a text.  STATUS_LIMIT while another check runs.
  Status (*begin)(void* context, const char* text, Error* error);
  /// Returns true once for each check, when it has ended.  The caller frees `lines`: of a key, a
  /// type (i, h, f or s) and a value, with tabs between them.  NULL: the check has failed, and
  /// `why` says why.
  bool (*take)(void* context, char** lines, Error* why);
} ControlChecks;

typedef struct ControlConfig {
  Engine* engine;             ///< Borrowed until control_stop()
  const char* bind_address;   ///< Numeric, default "127.0.0.1"
  uint16_t port;              ///< 0: any free port, see control_port()
  const Allow* allow;         ///< Allowed senders besides this machine; copied.  NULL: none
  const Listeners* listeners; ///< Subscribers for ever; read by control_start().  NULL: none
  const char* root;           ///< Folder that file names in commands are relative to, default "."
  void* context;              ///< For the functions below, which may be NULL only where stated
  void (*audio)(void* context, ControlAudio* audio);       ///< [control] Fills in `audio`
  void (*program)(void* context, ControlProgram* program); ///< [control] Fills in `program`; may be
                                                           ///< NULL
  const ControlPlugins* plugins;                           ///< NULL: there are none
  const ControlChecks* checks;                             ///< NULL: there are none
  /// [control] Receives the active rack, and its text, which the callee owns: at the start, after
  /// changes at most every 250 ms, before the answer to /rack/save, and at the end.  May be NULL.
  void (*active_rack)(void* context, const Rack* rack, char* rack_text);
  /// [control] Receives new warnings of the active rack, one per line.  May be NULL.
  void (*warned)(void* context, const char* lines);
  /// Subscribers of the previous run, from `subscribed`: each gets /server/started and all values.
  /// control_start() reads the text; NULL: none.
  const char* subscribers;
  /// [control] Receives the subscribers after each change, as text that the callee owns.  May be
  /// NULL.
  void (*subscribed)(void* context, char* subscribers);
  void (*latency_changed)(void* context); ///< [any] Called after an edit that has changed the
                                          ///< rack's latency
  void (*quit)(void* context);            ///< [control] /server/quit
  /// [control] Receives the file of a take that has ended without /take/stop, and why.  May be
  /// NULL.
  void (*take_ended)(void* context, const char* file, const char* reason);
  /// [control] Receives a report of dropped packets, at most once a second for each sender.
  bool lacks_midi; ///< The run has no MIDI ports: warn of racks with MIDI lines
  void (*flood)(void* context, const char* text); ///< May be NULL
  /// [main] Called during control_start() if clients on this machine do not reach the server at
  /// 127.0.0.1, or clients that use TCP do not reach it, with the reason.  May be NULL.
  void (*note)(void* context, const char* text);
} ControlConfig;

typedef struct Control Control;

/// Bind the sockets and start the thread.  `rack` is the document that the engine plays already;
/// copied.  For a port in use, STATUS_NET with a hint. [main]
NODISCARD Status control_start(const ControlConfig* config, const Rack* rack, Control** out,
                               Error* error);

uint16_t control_port(const Control* control);

/// outlet_own_peer() of the server. [any]
Peer control_own_peer(const Control* control);

/// Number of rounds of the thread, which makes at least four per second. [any]
uint64_t control_rounds(const Control* control);

/// Stop the thread and free the server.  Accepts NULL. [main]
void control_stop(Control* control);

#endif
