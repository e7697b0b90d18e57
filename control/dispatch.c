// SPDX-License-Identifier: GPL-3.0-or-later
// Passes packets as bundles to the editor, and the editor's answers to the senders.

#include "dispatch.h"

#include "clients.h"
#include "commands.h"
#include "edits.h"
#include "midi_commands.h"
#include "queries.h"
#include "reports.h"
#include "saves.h"
#include "takes.h"
#include "values.h"
#include "scenes.h"

#include "engine/base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t
dispatch_cpu_ns(void)
{
  return time_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// ---- what became of messages ----

/// Note what became of a bundle.  `message`: the one that failed, or another one to show.
static void
note_bundle(Control* const control, const Bundle* const bundle, const Message* const message,
            const WatchVerdict verdict, const char* const reason)
{
  const WatchNote note = { verdict, message->address, SIZE_MAX, bundle->n_messages, reason };
  watch_note(&control->intake.watch, control->now_ns, &bundle->peer, &note);
}

/// Note a query; not those of the notes themselves, which would replace all others.
static void
note_query(Control* const control, const Peer* const peer, const Message* const message,
           const WatchVerdict verdict, const char* const reason)
{
  const WatchNote note = { verdict, message->address, SIZE_MAX, 1, reason };
  if (strcmp(message->address, "/server/watch") != 0) {
    watch_note(&control->intake.watch, control->now_ns, peer, &note);
  }
}

// ---- events of the editor ----

static Status
on_edit(void* const context, const Rack* const rack, const uint64_t at_frame)
{
  Control* const control = context;
  const bool has_read_all = reports_read(control); // the plan of the edit before
  takes_edit(control, rack, has_read_all);
  inbox_expect(control->inbox);
  const Status status =
      engine_edit(control->config.engine, rack, at_frame, inbox_done, control->inbox);
  if (status != STATUS_OK) {
    inbox_unexpect(control->inbox);
  }
  return status;
}

static Status
on_read(void* const context, Message* const message, Error* const error)
{
  Control* const control = context;
  if (message->info->saves_state) {
    return saves_add(control, message, error);
  }
  return rack_store_read(control->store, message_text(message, 0), message, error);
}

/// Let the answers to a bundle share datagrams, until end_answers().  Returns the settings of its
/// sender, bits of ClientWish.
static unsigned
begin_answers(Control* const control, const Bundle* const bundle)
{
  const Client* const client = client_find(&control->clients, &bundle->peer);
  const unsigned wishes = client ? client->wishes : 0U;
  control->outlet.group = wishes & CLIENT_BUNDLES ? OUTBOX_ANY : bundle->group;
  return wishes;
}

static void
end_answers(Control* const control)
{
  control->outlet.group = 0;
}

/// Answer a change that made a document: with the file that it has written, or with the names of
/// the parameters that a recall has left out.  `may_miss`: it may have left out some; else there is
/// no search for them, because that takes as long as the recall.
static void
answer_edit(Control* const control, const Bundle* const bundle, const Message* const message,
            const bool may_miss, const uint32_t revision, const uint64_t frame)
{
  const bool names_missing = may_miss && message->info->find == scenes_find;
  char* const missing =
      names_missing ? scenes_missing(editor_rack(control->editor), message) : NULL;
  outlet_done_edit(&control->outlet, &bundle->peer, message, revision, frame,
                   message->info->saves_state ? message->file : missing);
  free(missing);
}

static void
on_values_done(void* const context, const Bundle* const bundle, const uint32_t revision,
               const uint64_t frame)
{
  Control* const control = context;
  const bool is_quiet = begin_answers(control, bundle) & CLIENT_QUIET;
  note_bundle(control, bundle, &bundle->messages[0], WATCH_DONE, NULL);
  for (uint32_t m = 0; m < bundle->n_messages && !is_quiet; ++m) {
    const Message* const message = &bundle->messages[m];
    if (message->info->find == scenes_find || message->info->find == scenes_find_stopped ||
        message->info->find == scenes_find_compared) {
      answer_edit(control, bundle, message, bundle->has_missing, revision, frame);
    } else {
      outlet_done(&control->outlet, &bundle->peer, message->address, message->n_bytes);
    }
  }
  end_answers(control);
}

static void
on_edit_done(void* const context, const Bundle* const bundle, const uint32_t revision,
             const uint64_t frame)
{
  Control* const control = context;
  control_advise(control, bundle->is_own ? NULL : &bundle->peer);
  if (!bundle->is_own) {
    note_bundle(control, bundle, &bundle->messages[0], WATCH_DONE, NULL);
  } else if (bundle->messages[0].info->apply == edit_midi_map) {
    snprintf(control->midi.learnt, sizeof(control->midi.learnt), "%s",
             message_text(&bundle->messages[0], 0));
    control_notify(control, NOTIFY_LEARNED);
  }
  const bool is_quiet = begin_answers(control, bundle) & CLIENT_QUIET || bundle->is_own;
  for (uint32_t m = 0; m < bundle->n_messages && !is_quiet; ++m) {
    answer_edit(control, bundle, &bundle->messages[m], true, revision, frame);
  }
  end_answers(control);
}

/// Report that a command of the server itself has failed.
static void
warn_of_own(const Control* const control, const Bundle* const bundle, const Error* const error)
{
  const Message* const message = &bundle->messages[0];
  char line[sizeof(error->text) + 128U];
  snprintf(line, sizeof(line), "%.60s: %s\n",
           message->info && message->info->apply == edit_find
               ? "plugins that were missing are installed now, but do not play"
               : message->address,
           error->text);
  if (control->config.warned) {
    control->config.warned(control->config.context, line);
  }
}

/// Report to the sender of a bundle that it failed as a whole.  `failing`: the message that is the
/// reason, or NULL.
static void
on_failed(void* const context, const Bundle* const bundle, const Message* const failing,
          const Error* const error)
{
  Control* const control = context;
  if (bundle->is_own) {
    warn_of_own(control, bundle, error);
    return;
  }
  note_bundle(control, bundle, failing ? failing : &bundle->messages[0], WATCH_FAILED, error->text);
  begin_answers(control, bundle);
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    const Message* const message = &bundle->messages[m];
    Error reason = *error;
    if (failing && message != failing) {
      error_set(&reason, error->status,
                "not done, because %.100s in the same bundle failed: %.300s", failing->address,
                error->text);
    }
    outlet_fail(&control->outlet, &bundle->peer, message->n_bytes, message->address, &reason);
  }
  end_answers(control);
}

/// Run a message of a bundle, or one step of it.  Returns false if it needs another step.
static bool
run_message(Control* const control, const Bundle* const bundle, Message* const message)
{
  Error error;
  message->is_unfinished = false;
  begin_answers(control, bundle);
  if (message->text) {
    queries_continue(control, &bundle->peer, message);
  } else if (message->info->run(control, &bundle->peer, message, &error) != STATUS_OK) {
    message->is_unfinished = false;
    note_query(control, &bundle->peer, message, WATCH_FAILED, error.text);
    outlet_fail(&control->outlet, &bundle->peer, message->n_bytes, message->address, &error);
    end_answers(control);
    return true;
  }
  if (!message->is_unfinished) {
    note_query(control, &bundle->peer, message, WATCH_DONE, NULL);
  }
  end_answers(control);
  return !message->is_unfinished;
}

static void
on_turn(void* const context, Bundle* const bundle)
{
  Control* const control = context;
  (void)!editor_flush_now(control->editor); // so that /server/sync waits for the values before it
  (void)reports_read(control);              // of what came before
  reports_apply(control);                   // so that commands find the values of MIDI
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    run_message(control, bundle, &bundle->messages[m]);
  }
  bundle_free(bundle);
}

static void
on_value_changed(void* const context, const RackUid uid, const uint32_t param,
                 const Peer* const maker)
{
  Control* const control = context;
  control->midi.is_shown = false;
  reports_forget(control, uid, param);
  notify_change(&control->notify, (NotifyKey){ uid, param }, maker, control->now_ns);
}

static void
on_tempo_changed(void* const context, const Peer* const maker)
{
  Control* const control = context;
  notify_change(&control->notify, (NotifyKey){ RACK_UID_NONE, NOTIFY_TEMPO }, maker,
                control->now_ns);
}

static void
on_rack_changed(void* const context, const Rack* const before, const Bundle* const bundle)
{
  Control* const control = context;
  control->midi.has_table = false;
  reports_forget_all(control);
  bool knows_values = bundle;
  for (uint32_t m = 0; bundle && m < bundle->n_messages; ++m) {
    const CommandInfo* const info = bundle->messages[m].info;
    knows_values = knows_values && info->kind == COMMAND_SET && !info->find;
  }
  notify_change(&control->notify, (NotifyKey){ RACK_UID_NONE, NOTIFY_RACK },
                bundle ? &bundle->peer : NULL, control->now_ns);
  if (!rack_same_tempo(before->tempo, editor_rack(control->editor)->tempo)) {
    control_notify(control, NOTIFY_TEMPO);
  }
  notify_replaced(&control->notify, before, editor_rack(control->editor),
                  knows_values ? &bundle->peer : NULL);
}

// ---- bundles ----

static bool
is_now(const Message* const message)
{
  return message->info->kind == COMMAND_NOW;
}

static bool
is_behind(const Message* const message)
{
  return message->info->kind == COMMAND_BEHIND;
}

static bool
is_note(const Message* const message)
{
  return message->info->kind == COMMAND_NOTE;
}

static bool
is_change(const Message* const message)
{
  return !is_now(message) && !is_behind(message) && !is_note(message);
}

/// True for addresses that only servers send; clients send that of NOTIFY_TEMPO, too.  They get no
/// answer, because two servers would otherwise answer each other without end.
static bool
is_answer_address(const char* const address)
{
  const bool is_value = address_is_under(address, "/node/") || address_is_under(address, "/norm/");
  static const char* const answers[] = { "/done", "/fail", "/server/synced", "/server/cookie" };
  for (uint32_t a = 0; a < ARRAY_LEN(answers) && !is_value; ++a) {
    if (strcmp(address, answers[a]) == 0) {
      return true;
    }
  }
  for (uint32_t e = 0; e < N_NOTIFY_EVENTS && !is_value; ++e) {
    if (e != NOTIFY_TEMPO && strcmp(address, notify_address((NotifyEvent)e)) == 0) {
      return true;
    }
  }
  return false;
}

static bool
is_answer(const Message* const message)
{
  return is_answer_address(message->address);
}

/// Remove the answers of other servers from a bundle.  Returns false if out of memory.
static bool
drop_answers(Control* const control, Bundle* const bundle)
{
  bool no_memory = false;
  Bundle* const answers = bundle_split(bundle, is_answer, &no_memory);
  if (answers) {
    control->counts.answers += answers->n_messages;
    note_bundle(control, answers, &answers->messages[0], WATCH_IGNORED, "only servers send this");
  }
  bundle_free(answers);
  return !no_memory;
}

/// Find the row of every message.  If one has none, returns false, and all messages are answered.
static bool
find_commands(Control* const control, Bundle* const bundle)
{
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    Message* const message = &bundle->messages[m];
    Error error;
    Status status = command_find(message, &message->info, &error);
    if (status == STATUS_OK && bundle->n_messages > 1 &&
        (message->info->kind == COMMAND_UNDO || message->info->kind == COMMAND_REDO)) {
      status = error_set(&error, STATUS_BAD_ARG, "is not allowed in a bundle with other commands");
    }
    if (values_is_norm(message)) {
      notify_norm(&control->notify, &bundle->peer);
    }
    if (status != STATUS_OK) {
      ++control->counts.unknown;
      on_failed(control, bundle, message, &error);
      return false;
    }
  }
  return bundle->n_messages > 0;
}

/// What the notes of a bundle need.  Values that were set before the notes are sent first; if the
/// engine takes none, it takes no notes either.
static NotesTo
notes_to(const Control* const control)
{
  (void)!editor_flush_now(control->editor);
  return (NotesTo){ .engine = control->config.engine,
                    .rack = editor_rack(control->editor),
                    .rate_hz = control_rate_hz(control) };
}

static void
refuse_bundle(Control* const control, Bundle* const bundle, const Error* const error)
{
  if (is_note(&bundle->messages[0])) {
    const NotesTo to = notes_to(control);
    notes_end(&control->notes, &to, bundle);
  }
  on_failed(control, bundle, NULL, error);
  bundle_free(bundle);
}

/// Queue a bundle before its sender's packets, or keep it in the schedule until its time.
static void
place_bundle(Control* const control, Sender* const sender, Bundle* const bundle)
{
  if (bundle->due_ns <= control->now_ns) {
    control->counts.late += bundle->due_ns != 0;
    senders_put_bundle(&control->intake.senders, sender, bundle, control->now_ns);
    return;
  }
  Error error;
  if (schedule_add(&control->schedule, bundle, &error) != STATUS_OK) {
    ++control->counts.unscheduled;
    refuse_bundle(control, bundle, &error);
  }
}

static bool
are_all_changes(const Bundle* const bundle)
{
  uint32_t m = 0;
  while (m < bundle->n_messages && is_change(&bundle->messages[m])) {
    ++m;
  }
  return m == bundle->n_messages;
}

/// Split a bundle: its changes stay together; its notes, its queries, and the commands that wait
/// for the changes, follow.
static void
accept_bundle(Control* const control, Sender* const sender, Bundle* const bundle)
{
  Bundle* parts[4] = { NULL, NULL, bundle, NULL };
  bool no_memory = !drop_answers(control, bundle);
  if (!no_memory && !find_commands(control, bundle)) {
    bundle_free(bundle);
    return;
  }
  if (!no_memory && are_all_changes(bundle)) {
    place_bundle(control, sender, bundle);
    return;
  }
  parts[0] = no_memory ? NULL : bundle_split(bundle, is_change, &no_memory);
  parts[1] = no_memory ? NULL : bundle_split(bundle, is_note, &no_memory);
  parts[3] = no_memory ? NULL : bundle_split(bundle, is_behind, &no_memory);
  for (uint32_t p = 0; p < ARRAY_LEN(parts); ++p) {
    if (parts[p] && parts[p]->n_messages && !no_memory) {
      place_bundle(control, sender, parts[p]);
    } else {
      bundle_free(parts[p]);
    }
  }
  control->outlet.failed += no_memory;
}

// ---- bundles that wait ----

/// Prepare a bundle whose time is near: pass its values or notes to the engine, or submit its edit.
static void
do_ahead(Control* const control, Bundle* const bundle)
{
  const uint64_t frame = engine_frame_at(control->config.engine, bundle->due_ns);
  bundle->frame = frame ? frame : 1U;
  if (is_note(&bundle->messages[0])) {
    const NotesTo to = notes_to(control);
    bundle->is_sent = notes_ahead(&control->notes, &to, bundle);
  }
  if (!is_change(&bundle->messages[0])) {
    return;
  }
  const EditorAhead ahead = editor_ahead(control->editor, bundle);
  if (ahead == AHEAD_SUBMIT) {
    schedule_take(&control->schedule, bundle);
    schedule_release(&control->schedule, bundle);
    editor_submit(control->editor, bundle, control->now_ns);
  }
}

static bool
has_credit(void* const context, const Peer* const peer)
{
  Control* const control = context;
  return senders_has_credit(&control->intake.senders, peer, control->now_ns);
}

/// Queue the bundles whose time has come for their senders' next turns.  If the table has no place
/// for a sender, its bundle waits until there is one.
static void
let_due_in(Control* const control)
{
  Senders* const senders = &control->intake.senders;
  Sender* sender = NULL;
  for (Bundle* bundle = NULL; (bundle = schedule_due(&control->schedule, control->now_ns)) &&
                              (sender = senders_get(senders, &bundle->peer, control->now_ns));) {
    schedule_take(&control->schedule, bundle);
    senders_put_bundle(senders, sender, bundle, control->now_ns);
  }
}

void
dispatch_waiting(Control* const control)
{
  const Bundle* const next = editor_next(control->editor);
  if (next) {
    const Peer peer = next->peer;
    const uint64_t begin_ns = dispatch_cpu_ns();
    editor_run_next(control->editor, control->now_ns);
    control->now_ns = time_now_ns();
    senders_charge_peer(&control->intake.senders, &peer, control->now_ns,
                        dispatch_cpu_ns() - begin_ns);
  }
}

void
dispatch_due(Control* const control)
{
  const uint64_t end_ns = control->now_ns + DISPATCH_ROUND_NS;
  for (Bundle* bundle = NULL;
       control->now_ns < end_ns &&
       (bundle = schedule_ahead(&control->schedule, control->now_ns, has_credit, control));) {
    const Peer peer = bundle->peer;
    const uint64_t begin_ns = dispatch_cpu_ns();
    do_ahead(control, bundle);
    control->now_ns = time_now_ns();
    senders_charge_peer(&control->intake.senders, &peer, control->now_ns,
                        dispatch_cpu_ns() - begin_ns);
  }
  let_due_in(control);
}

// ---- packets ----

static void
refuse_packet(Control* const control, const Packet* const packet, const PacketFault reason)
{
  ++control->counts.refused[reason];
  const WatchNote note = { .verdict = WATCH_REFUSED,
                           .address = (const char*)packet->bytes,
                           .n_address_bytes = packet->n_bytes,
                           .n_messages = 1,
                           .reason = packet_fault_text(reason) };
  watch_note(&control->intake.watch, control->now_ns, &packet->peer, &note);
  if (is_answer_address((const char*)packet->bytes)) { // zeros follow the packet
    return;
  }
  Error error;
  error_set(&error, STATUS_BAD_ARG, "packet refused: %s", packet_fault_text(reason));
  outlet_fail(&control->outlet, &packet->peer, packet->n_bytes, "", &error);
}

/// Check a packet, and read its bundles into Sender::bundles.
static void
open_packet(Control* const control, Sender* const sender, const Packet* const packet)
{
  const Instant arrival = instant_after(&control->round, control->now_ns);
  uint32_t n_messages = 0;
  clients_renew(control, &packet->peer);
  const PacketFault reason = packet_check(packet->bytes, packet->n_bytes, arrival.ntp, &n_messages);
  if (reason != PACKET_OK) {
    refuse_packet(control, packet, reason);
    return;
  }
  control->counts.messages += n_messages;
  if (bundles_read(packet->bytes, packet->n_bytes, &packet->peer, &arrival, &sender->bundles) !=
      STATUS_OK) {
    ++control->outlet.failed;
  }
}

/// Take the first bundle of a sender.
static Bundle*
take_bundle(Control* const control, Sender* const sender)
{
  Bundle* const bundle = sender->bundles;
  schedule_release(&control->schedule, bundle);
  sender->bundles = bundle->next;
  bundle->next = NULL;
  return bundle;
}

/// Play the notes of a bundle, unless they were sent ahead, and answer it.
static void
do_notes(Control* const control, Bundle* const bundle)
{
  const NotesTo to = notes_to(control);
  const Message* failing = NULL;
  Error error;
  if (bundle->is_sent || !notes_play(&control->notes, &to, bundle, &failing, &error)) {
    on_values_done(control, bundle, 0, 0); // notes have neither
  } else {
    ++control->counts.unplayed;
    on_failed(control, bundle, failing, &error);
  }
  bundle_free(bundle);
}

/// Run the first bundle of a sender: submit its changes, play its notes, or run one step of a
/// query.
static void
do_bundle(Control* const control, Sender* const sender)
{
  Bundle* const bundle = sender->bundles;
  if (is_note(&bundle->messages[0])) {
    do_notes(control, take_bundle(control, sender));
    return;
  }
  if (!is_now(&bundle->messages[0])) {
    editor_submit(control->editor, take_bundle(control, sender), control->now_ns);
    return;
  }
  bundle->n_run += run_message(control, bundle, &bundle->messages[bundle->n_run]);
  if (bundle->n_run == bundle->n_messages) {
    bundle_free(take_bundle(control, sender));
  }
}

/// Run one step of a turn: one bundle of changes, or one step of a query.
static void
do_step(Control* const control, Sender* const sender)
{
  if (!sender->bundles) {
    Packet* const packet = senders_take(&control->intake.senders, sender);
    if (!packet) {
      return; // the rest of its last packet was dropped
    }
    open_packet(control, sender, packet);
    free(packet);
  }
  if (sender->bundles && !sender->bundles->is_sorted) {
    accept_bundle(control, sender, take_bundle(control, sender));
  }
  if (sender->bundles && sender->bundles->is_sorted) {
    do_bundle(control, sender);
  }
}

uint64_t
dispatch_turn(Control* const control, Sender* const sender, const uint64_t begin_ns)
{
  const int64_t quantum_ns = sender->is_fresh ? 0 : senders_quantum_ns(&control->intake.senders);
  const uint64_t end_ns = control->now_ns + (uint64_t)quantum_ns;
  do {
    do_step(control, sender);
    control->now_ns = time_now_ns();
  } while (sender_is_waiting(sender) && control->now_ns < end_ns &&
           !streams_is_full(&control->streams, &sender->peer));
  const uint64_t cpu_ns = dispatch_cpu_ns();
  senders_charge(&control->intake.senders, sender, control->now_ns, cpu_ns - begin_ns);
  return cpu_ns;
}

/// Append a text to a packet of zeros.  Returns the place after it.
static size_t
put_text(char* const packet, const size_t at, const char* const text)
{
  const size_t n = strlen(text);
  memcpy(packet + at, text, n);
  return at + (n / 4U + 1U) * 4U;
}

void
dispatch_own(Control* const control, const char* const address, const char* const text)
{
  char packet[DISPATCH_OWN_BYTES + 64U] = { 0 };
  size_t n = put_text(packet, 0, address);
  n = put_text(packet, n, text ? ",s" : ",");
  if (text && strlen(text) < DISPATCH_OWN_BYTES - n) {
    n = put_text(packet, n, text);
  }
  const Instant now = instant_now();
  const Peer self = outlet_own_peer(&control->outlet);
  Bundle* bundle = NULL;
  if (bundles_read(packet, n, &self, &now, &bundle)) {
    return; // out of memory
  }
  bundle->is_own = true;
  if (find_commands(control, bundle)) {
    editor_submit(control->editor, bundle, control->now_ns);
  } else {
    bundle_free(bundle);
  }
}

EditorEvents
dispatch_events(Control* const control)
{
  return (EditorEvents){ .context = control,
                         .edit = on_edit,
                         .read = on_read,
                         .values_done = on_values_done,
                         .edit_done = on_edit_done,
                         .failed = on_failed,
                         .turn = on_turn,
                         .value_changed = on_value_changed,
                         .tempo_changed = on_tempo_changed,
                         .rack_changed = on_rack_changed };
}
