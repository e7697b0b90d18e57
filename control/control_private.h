// SPDX-License-Identifier: GPL-3.0-or-later
/// The state of a control server.  Only its thread uses it, except for the inbox and members marked
/// with other threads.
#ifndef WARPRACK_CONTROL_CONTROL_PRIVATE_H
#define WARPRACK_CONTROL_CONTROL_PRIVATE_H

#include "advice.h"
#include "client_table.h"
#include "control.h"
#include "controller_state.h"
#include "folder.h"
#include "inbox.h"
#include "meter_table.h"
#include "midi_clock.h"
#include "notes.h"
#include "notify.h"
#include "rack_store.h"
#include "schedule.h"
#include "editor.h"
#include "sync.h"
#include "take_state.h"

#include "control/net/packet_check.h"
#include "control/net/intake.h"
#include "control/net/outlet.h"
#include "control/net/streams.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct ControlCounts {
  uint64_t messages;                 ///< Messages in packets that passed packet_check()
  uint64_t refused[PACKET_N_FAULTS]; ///< Packets that packet_check() refused, by reason
  uint64_t answers;                  ///< Ignored messages that only servers send
  uint64_t unknown;                  ///< Bundles with an unknown address or wrong arguments
  uint64_t late;                     ///< Bundles that arrived after their time
  uint64_t unscheduled;              ///< Bundles refused because too many wait for their time
  uint64_t unsaved;                  ///< Racks that could not be written
  uint64_t unplayed;                 ///< Bundles of notes that failed
  uint64_t cookies;                  ///< Cookies sent, see trust.h
} ControlCounts;

#define SAVES_MAX 64U // that wait; all of one bundle

/// The states that are being saved; see saves.h.
typedef struct Saves {
  Message* waiting[SAVES_MAX]; ///< [n] in order
  uint32_t n;
  Message* current; ///< NULL: none is in flight
  const FxInfo* fx; ///< Of its node
} Saves;

#define MIDI_VALUES_MAX  1024U
#define MIDI_RECENTS_MAX 64U

/// A parameter whose value in the document was set by MIDI, in a worker.
typedef struct MidiRecent {
  RackUid uid;
  uint32_t param;
  uint64_t until_ns; ///< 0: free
} MidiRecent;

/// The newest values of parameters that MIDI has set, for the document; see reports.h.
typedef struct MidiValues {
  MidiValue of[MIDI_VALUES_MAX]; ///< [n]
  uint32_t n;
  MidiRecent recents[MIDI_RECENTS_MAX]; ///< Values that were in `of` a moment ago
  uint32_t next_recent;                 ///< The one that the next addition replaces
  uint64_t recent_until_ns;             ///< Of the newest one
} MidiValues;

/// A rack that a client wants to be checked.
typedef struct RackCheck {
  char* text; ///< Owned
  Peer peer;  ///< The client that gets the answer
} RackCheck;

#define RACK_CHECKS_MAX 8U

/// The checks of racks; see checks.h.
typedef struct RackChecks {
  RackCheck of[RACK_CHECKS_MAX]; ///< [n] in the order of their requests
  uint32_t n;
  bool runs; ///< The first one has begun
} RackChecks;

struct Control {
  ControlConfig config;
  const struct CommandInfo* commands; ///< [n_commands] the table of commands
  uint32_t n_commands;
  uint16_t port;
  pthread_t thread;
  Folder folder;
  int folder_mark; ///< folder_mark_used()
  RackStore* store;
  Saves saves;
  Allow allow;
  Intake intake;
  Streams streams;
  Inbox* inbox;
  Editor* editor;
  Outlet outlet;
  Schedule schedule;
  Notes notes;
  ClientTable clients;
  Notify notify;
  Meters meters;
  MidiState midi;
  MidiValues midi_values;
  Syncs syncs;
  Takes takes;
  RackChecks checks;
  MidiClock clock; ///< That the rack may follow
  ControlCounts counts;
  _Atomic uint64_t rounds; ///< [control] writes, [any] reads
  uint64_t reported_rack;  ///< Number of the document that ControlConfig::active_rack received last
  char* rack_text;         ///< The document as text, NULL: not printed yet
  uint64_t rack_text_of;   ///< Number of the document of rack_text
  Advice advice;           ///< Of the active document
  ControlAudio audio;      ///< From the last check
  ControlScan scan;        ///< From the last check
  uint64_t n_scans_used;  ///< ControlScan::n_ended after which missing plugins were last looked for
  EngineStatus engine;    ///< From the last check
  uint64_t reported_lost; ///< Lost packets that are reported ...
  uint64_t reported_lost_ns; ///< ... and the time of that report
  Instant round;             ///< The start of this round
  uint64_t now_ns;           ///< Monotonic time of the present step of this round
  uint64_t start_ns;
  uint64_t next_check_ns; ///< Time of the next check of the audio
  uint64_t next_tempo_ns; ///< Time of the next look at the tempo of JACK
};

/// The active document as text, printed once for each document; NULL if out of memory.
const char* control_rack_text(Control* control);

/// Pass the active document to ControlConfig::active_rack, unless the program has it already.
void control_report_rack(Control* control);

/// Queue an event for subscribers.
void control_notify(Control* control, NotifyEvent event);

/// The engine's current rate.
double control_rate_hz(const Control* control);

/// Send `/node/<node>/<param> value`.  Returns the number of bytes sent; 0 if the node is not in
/// the rack.
size_t control_say_value(Control* control, const Peer* peer, size_t request_bytes,
                         const NotifyKey* key, double rate_hz);

/// Send `/norm/<node>/<param> position`, of a parameter that is no text.  As control_say_value().
size_t control_say_norm(Control* control, const Peer* peer, size_t request_bytes,
                        const NotifyKey* key, double rate_hz);

/// Append the tempo of the rack and its source to a message.
void control_append_tempo(const Control* control, lo_message* arguments);

/// Check the state of the audio, and report changes to subscribers.
void control_check_audio(Control* control);

/// Collect the warnings of the active rack, and report new ones to the program, to subscribers, and
/// to `maker`, the client that made the edit (may be NULL), unless it is a stranger.
void control_advise(Control* control, const Peer* maker);

/// Send the current state of a key to a subscriber.  A NotifySay.
void control_say(void* context, const Peer* to, const NotifyKey* key, bool has_norm);

#endif
