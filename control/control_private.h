// SPDX-License-Identifier: GPL-3.0-or-later
/// The state of a control server.  All of it belongs to its thread, but for the inbox.
#ifndef WARPRACK_CONTROL_CONTROL_PRIVATE_H
#define WARPRACK_CONTROL_CONTROL_PRIVATE_H

#include "advice.h"
#include "control.h"
#include "folder.h"
#include "inbox.h"
#include "notify.h"
#include "rack_store.h"
#include "schedule.h"
#include "session.h"
#include "sync.h"

#include "control/net/gate.h"
#include "control/net/intake.h"
#include "control/net/outlet.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct ControlCounts {
  uint64_t messages;                ///< In packets that passed the gate
  uint64_t refused[GATE_N_REASONS]; ///< Packets that did not, by reason
  uint64_t answers;                 ///< Answers and news of another server, ignored
  uint64_t unknown;                 ///< Bundles with an unknown address or wrong arguments
  uint64_t late;                    ///< Bundles that came after their time
  uint64_t unscheduled;             ///< Bundles refused because too many wait for their time
  uint64_t unsaved;                 ///< Racks that could not be written
} ControlCounts;

struct Control {
  ControlConfig config;
  uint16_t port;
  pthread_t thread;
  Folder folder;
  RackStore* store;
  Allow allow;
  Intake intake;
  Inbox* inbox;
  Session* session;
  Outlet outlet;
  Schedule schedule;
  Notify notify;
  Syncs syncs;
  ControlCounts counts;
  _Atomic uint64_t rounds;   ///< [control] writes, [any] reads
  uint64_t heard;            ///< Number of the document that ControlConfig::heard received last
  char* rack_text;           ///< The document as text, NULL: not printed yet
  uint64_t rack_text_of;     ///< Number of the document that it is of
  Advice advice;             ///< Of the active document
  ControlAudio audio;        ///< As last asked for
  EngineStatus engine;       ///< From the last check; its texts from the last report
  uint64_t reported_lost;    ///< Packets lost in the kernel, as reported ...
  uint64_t reported_lost_ns; ///< ... then
  uint64_t now_ns;           ///< Of this round
  uint64_t start_ns;
  uint64_t next_look_ns; ///< When to look at the audio side again
};

/// The active document as text; NULL: out of memory.  Printed once for each document.
const char* control_rack_text(Control* control);

/// Pass the active document to the program by ControlConfig::heard, unless the program has it
/// already.
void control_report_rack(Control* control);

/// Queue an event for subscribers.
void control_notify(Control* control, NotifyEvent event);

/// The rate of the engine at this moment.
double control_rate_hz(const Control* control);

/// Send `/node/<node>/<param> value`; returns the bytes sent, 0 when the node is not in the rack.
size_t control_say_value(Control* control, const Peer* peer, size_t request_bytes,
                         const NotifyKey* key, double rate_hz);

/// Query the audio side and send changes to subscribers.
void control_look_at_audio(Control* control);

/// Collect the warnings of the active rack, and report new ones to the program, to subscribers and
/// to the client that made the edit, unless NULL.
void control_advise(Control* control, const Peer* maker);

/// Tell subscribers how things are now: NotifySay.
void control_say(void* context, const Peer* to, const NotifyKey* key);

#endif
