// SPDX-License-Identifier: GPL-3.0-or-later
// The order of edits and values.  A bundle waits while an edit is in flight or other bundles wait.

#include "session.h"

#include "command.h"
#include "edits.h"
#include "session_private.h"

#include "control/net/share.h"

#include <stdlib.h>
#include <string.h>

Status
session_new(const SessionConfig* const config, const Rack* const rack, Session** const out,
            Error* const error)
{
  Session* const session = calloc(1, sizeof(Session));
  Rack* const committed = rack_copy(rack);
  if (!session || !committed) {
    free(session);
    rack_free(committed);
    return error_set(error, STATUS_NO_MEM, "control: out of memory");
  }
  session->config = *config;
  session->committed = committed;
  session->last = &session->first;
  session->next_uid = rack->next_uid;
  *out = session;
  return STATUS_OK;
}

static Bundle*
take_first(Session* const session)
{
  Bundle* const bundle = session->first;
  if (bundle) {
    session->first = bundle->next;
    session->last = session->first ? session->last : &session->first;
    bundle->next = NULL;
    --session->counts.waiting;
    session->n_bytes -= bundle->n_bytes;
  }
  return bundle;
}

void
session_free(Session* const session)
{
  if (session) {
    for (Bundle* bundle = NULL; (bundle = take_first(session));) {
      bundle_free(bundle);
    }
    bundle_free(session->flight);
    rack_free(session->candidate);
    rack_free(session->committed);
    history_clear(&session->history);
    free(session);
  }
}

static void
fail(Session* const session, Bundle* const bundle, const Message* const failing,
     const Error* const error)
{
  ++session->counts.failed;
  session->config.events.failed(session->config.events.context, bundle, failing, error);
  bundle_free(bundle);
}

static bool
all_are_sets(const Bundle* const bundle)
{
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    if (bundle->messages[m].info->kind != COMMAND_SET) {
      return false;
    }
  }
  return true;
}

/// True if the values of a bundle of sets can be set before the edit in flight is active: all
/// parameters belong to active nodes that the edit keeps.
static bool
is_live(const Session* const session, const Bundle* const bundle, const Targets* const targets)
{
  return !targets->missing && !targets->is_structural &&
         (!session->candidate || values_agree(session->candidate, bundle, targets));
}

// ---- edits ----

static Status
apply_messages(Session* const session, const Bundle* const bundle, const Message** const failing,
               Error* const error)
{
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    const Message* const message = &bundle->messages[m];
    const CommandInfo* const info = message->info;
    const Status status = info->kind == COMMAND_SET
                              ? values_set_any(session->candidate, message, error)
                              : info->apply(&session->candidate, message, error);
    if (status != STATUS_OK) {
      *failing = message;
      return status;
    }
  }
  const Status status = rack_check_text(session->candidate, error);
  return status ? status : session_check_frames(session, session->candidate, error);
}

/// Copy the base of a candidate: the document that an undo or redo restores, or the committed one
/// for an edit.  NULL with an error.
static Rack*
copy_base(Session* const session, const CommandKind kind, Error* const error)
{
  const Rack* const base = kind == COMMAND_UNDO   ? history_undo(&session->history)
                           : kind == COMMAND_REDO ? history_redo(&session->history)
                                                  : session->committed;
  if (!base) {
    error_set(error, STATUS_NOT_FOUND, "nothing to %s", kind == COMMAND_UNDO ? "undo" : "redo");
    return NULL;
  }
  Rack* const copy = rack_copy(base);
  if (!copy) {
    error_set(error, STATUS_NO_MEM, "out of memory");
    return NULL;
  }
  copy->next_uid = session->next_uid; // no uid is used twice, also after an undo
  return copy;
}

/// Make the candidate document of a bundle.
static Status
make_candidate(Session* const session, const Bundle* const bundle, const Message** const failing,
               Error* const error)
{
  const CommandKind kind = bundle->messages[0].info->kind;
  session->candidate = copy_base(session, kind, error);
  if (!session->candidate) {
    return error->status;
  }
  if (kind == COMMAND_UNDO || kind == COMMAND_REDO) {
    return STATUS_OK;
  }
  const Status status = apply_messages(session, bundle, failing, error);
  if (session->candidate->next_uid > session->next_uid) {
    session->next_uid = session->candidate->next_uid;
  }
  return status;
}

static void
drop_candidate(Session* const session)
{
  rack_free(session->candidate);
  session->candidate = NULL;
}

/// Make the candidate, which is now active, the committed document.  The old one goes to the
/// history.
static const Rack*
commit(Session* const session, const CommandKind kind)
{
  Rack* const before = session->committed;
  session->committed = session->candidate;
  session->candidate = NULL;
  ++session->counts.revision;
  if (kind == COMMAND_UNDO) {
    history_undone(&session->history, before);
  } else if (kind == COMMAND_REDO) {
    history_redone(&session->history, before);
  } else {
    history_edited(&session->history, before);
  }
  return before;
}

/// True for an edit that changes nothing.  Undo and redo are steps even if they change nothing.
static bool
is_nothing(const Session* const session, const Bundle* const bundle)
{
  const CommandKind kind = bundle->messages[0].info->kind;
  return kind != COMMAND_UNDO && kind != COMMAND_REDO &&
         rack_equal(session->candidate, session->committed);
}

/// True if a bundle takes nodes away, or replaces the rack.
static bool
makes_smaller(const Bundle* const bundle)
{
  bool is_smaller = false;
  for (uint32_t m = 0; m < bundle->n_messages && !is_smaller; ++m) {
    is_smaller = edit_makes_smaller(&bundle->messages[m]);
  }
  return is_smaller;
}

/// Let the bundles from `first` on overtake the edit in flight, if it adds nodes, and one of them
/// makes the rack smaller: the engine does not try that edit again after it has cost a worker.
static void
overtake_edit(const Session* const session, const Bundle* const first)
{
  const Bundle* bundle = first;
  while (bundle && !bundle->makes_smaller) {
    bundle = bundle->next;
  }
  if (bundle && session->candidate && !rack_has_nodes(session->committed, session->candidate)) {
    engine_overtake(session->config.engine);
  }
}

/// Plan the edit of a bundle whose files are all read.
static void
plan_edit(Session* const session, Bundle* const bundle)
{
  const SessionConfig* const config = &session->config;
  const Message* failing = NULL;
  Error error;
  Status status = make_candidate(session, bundle, &failing, &error);
  if (status == STATUS_OK && is_nothing(session, bundle)) {
    drop_candidate(session);
    config->events.edit_done(config->events.context, bundle, session->counts.revision,
                             engine_frame_now(config->engine));
    bundle_free(bundle);
    return;
  }
  if (status == STATUS_OK) {
    session->flight = bundle;
    status = config->events.edit(config->events.context, session->candidate, bundle->frame);
    if (status != STATUS_OK) {
      session->flight = NULL;
      error_set(&error, status, "%s", status_text(status));
    } else {
      overtake_edit(session, session->first);
    }
  }
  if (status != STATUS_OK) {
    drop_candidate(session);
    fail(session, bundle, failing, &error);
  }
}

static void
note_read_error(Session* const session, const Message* const message, const Error* const error)
{
  if (!session->unread) {
    session->unread = message;
    session->read_error = *error;
  }
}

/// End the reading of a file.  After the last file, continue the edit.
static void
end_read(Session* const session)
{
  if (--session->n_reads > 0) {
    return;
  }
  Bundle* const bundle = session->flight;
  session->flight = NULL;
  if (session->unread) {
    fail(session, bundle, session->unread, &session->read_error);
  } else {
    plan_edit(session, bundle);
  }
}

/// Request the files that a bundle names.  When all are read, plan its edit.
static void
start_edit(Session* const session, Bundle* const bundle)
{
  const SessionEvents* const events = &session->config.events;
  session->flight = bundle;
  session->unread = NULL;
  session->n_reads = 1; // until all files are requested
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    Message* const message = &bundle->messages[m];
    Error error;
    if (message->info->reads_file) {
      ++session->n_reads;
      if (events->read(events->context, message, &error) != STATUS_OK) {
        note_read_error(session, message, &error);
        --session->n_reads;
      }
    }
  }
  end_read(session);
}

// ---- order ----

/// Set a bundle's values and answer it.  Returns false if it failed; then the bundle is freed.
static bool
do_values(Session* const session, Bundle* const bundle, Targets* const targets,
          const uint64_t now_ns)
{
  const SessionEvents* const events = &session->config.events;
  const Message* failing = NULL;
  Error error;
  if (session_set_values(session, bundle, targets, now_ns, &failing, &error) != STATUS_OK) {
    fail(session, bundle, failing, &error);
    return false;
  }
  events->values_done(events->context, bundle);
  return true;
}

/// Set values again that have overtaken edits, if their parameters are still in the rack.
static void
do_echo(Session* const session, Bundle* const bundle, Targets* const targets, const uint64_t now_ns)
{
  const Message* failing = NULL;
  if (is_live(session, bundle, targets) &&
      session_set_values(session, bundle, targets, now_ns, &failing, NULL) != STATUS_OK) {
    ++session->counts.values_lost;
  }
  bundle_free(bundle);
}

/// Run a bundle of sets: set its values, or make an edit if one is structural.
static void
carry_out_sets(Session* const session, Bundle* const bundle, const uint64_t now_ns)
{
  Targets targets;
  values_find(session->committed, bundle, &targets);
  if (bundle->is_echo) {
    do_echo(session, bundle, &targets, now_ns);
  } else if (targets.is_structural && !targets.missing) {
    start_edit(session, bundle);
  } else if (do_values(session, bundle, &targets, now_ns)) {
    bundle_free(bundle);
  }
  changes_clear(&targets.changes);
}

/// Run a bundle.  No edit is in flight, and no bundle waits before this one.
static void
carry_out(Session* const session, Bundle* const bundle, const uint64_t now_ns)
{
  const SessionEvents* const events = &session->config.events;
  if (bundle->messages[0].info->kind == COMMAND_BEHIND) {
    events->turn(events->context, bundle);
  } else if (all_are_sets(bundle)) {
    carry_out_sets(session, bundle, now_ns);
  } else {
    start_edit(session, bundle);
  }
}

static void
append(Session* const session, Bundle* const bundle)
{
  bundle->next = NULL;
  *session->last = bundle;
  session->last = &bundle->next;
  ++session->counts.waiting;
  session->n_bytes += bundle->n_bytes;
}

/// Check that one more bundle may wait.
static Status
check_room(const Session* const session, const Bundle* const bundle, Error* const error)
{
  const Share max = { SESSION_MAX_WAITING, SESSION_MAX_BYTES };
  const Share used = { session->counts.waiting, session->n_bytes };
  return share_check(&max, &used, session->first, bundle, "edits already wait", error);
}

/// True if each bundle is one message, and both name the same parameter.
static bool
same_target(const Bundle* const a, const Bundle* const b)
{
  const Message* const x = &a->messages[0];
  const Message* const y = &b->messages[0];
  return a->n_messages == 1 && b->n_messages == 1 && strcmp(x->address, y->address) == 0 &&
         (strcmp(x->address, "/rack/set") != 0 ||
          strcmp(message_text(x, 0), message_text(y, 0)) == 0);
}

/// Replace a waiting bundle by another one.
static void
replace(Session* const session, Bundle** const place, Bundle* const bundle)
{
  Bundle* const old = *place;
  bundle->next = old->next;
  *place = bundle;
  session->last = session->last == &old->next ? &bundle->next : session->last;
  session->n_bytes += bundle->n_bytes;
  session->n_bytes -= old->n_bytes;
  bundle_free(old);
}

/// Queue values to be set again after the edits that wait.  Repeated values of one parameter take
/// one place only.  If there is no room, the values are lost when a waiting edit sets them
/// differently.
static void
append_echo(Session* const session, Bundle* const bundle)
{
  bundle->is_echo = true;
  bundle->is_sent = false;
  bundle->frame = 0;
  Bundle** same = NULL;
  for (Bundle** at = &session->first; *at; at = &(*at)->next) {
    if (!(*at)->is_echo) {
      same = NULL; // only echoes after the last edit
    } else if (same_target(*at, bundle)) {
      same = at;
    }
  }
  if (same) {
    replace(session, same, bundle);
  } else if (check_room(session, bundle, NULL) == STATUS_OK) {
    append(session, bundle);
  } else {
    ++session->counts.values_lost;
    bundle_free(bundle);
  }
}

/// Let values of active nodes overtake the bundles that wait.
static void
overtake(Session* const session, Bundle* const bundle, Targets* const targets,
         const uint64_t now_ns)
{
  if (do_values(session, bundle, targets, now_ns)) {
    if (session->first) {
      append_echo(session, bundle);
    } else {
      bundle_free(bundle);
    }
  }
}

/// Let a bundle wait that cannot run now.  It fails if there is no room.
static void
wait_behind(Session* const session, Bundle* const bundle)
{
  Error error;
  if (check_room(session, bundle, &error) == STATUS_OK) {
    bundle->is_sent = false; // an edit may replace its nodes
    bundle->makes_smaller = makes_smaller(bundle);
    append(session, bundle);
    overtake_edit(session, bundle);
  } else {
    fail(session, bundle, NULL, &error);
  }
}

static void
submit_sets_behind(Session* const session, Bundle* const bundle, const uint64_t now_ns)
{
  Targets targets;
  values_find(session->committed, bundle, &targets);
  if (is_live(session, bundle, &targets)) {
    overtake(session, bundle, &targets, now_ns);
  } else {
    wait_behind(session, bundle);
  }
  changes_clear(&targets.changes);
}

void
session_submit(Session* const session, Bundle* const bundle, const uint64_t now_ns)
{
  if (!session->flight && !session->first) {
    carry_out(session, bundle, now_ns);
  } else if (all_are_sets(bundle)) {
    submit_sets_behind(session, bundle, now_ns);
  } else {
    wait_behind(session, bundle);
  }
}

/// Send the values of a bundle to the engine, with its frame.  The values are set in the document
/// to check and convert them, then reverted: the document changes when the time has come.
static SessionAhead
send_ahead(Session* const session, const Bundle* const bundle, Targets* const targets)
{
  const Message* failing = NULL;
  Status status = values_set(session->committed, targets, &failing, NULL);
  if (status == STATUS_OK) {
    status = session_send_values(session, &targets->changes, bundle->frame, NULL);
    values_revert(session->committed, &targets->changes);
  }
  return status == STATUS_OK ? AHEAD_SENT : AHEAD_LATER;
}

SessionAhead
session_ahead(Session* const session, Bundle* const bundle)
{
  if (!all_are_sets(bundle)) {
    return AHEAD_SUBMIT;
  }
  Targets targets;
  values_find(session->committed, bundle, &targets);
  SessionAhead ahead = targets.is_structural && !targets.missing ? AHEAD_SUBMIT : AHEAD_LATER;
  if (is_live(session, bundle, &targets)) {
    ahead = send_ahead(session, bundle, &targets);
  }
  bundle->is_sent = ahead == AHEAD_SENT;
  bundle->sent_revision = session->counts.revision;
  changes_clear(&targets.changes);
  return ahead;
}

const Bundle*
session_next(const Session* const session)
{
  return session->flight ? NULL : session->first;
}

void
session_run_next(Session* const session, const uint64_t now_ns)
{
  carry_out(session, take_first(session), now_ns);
}

void
session_read(Session* const session, Message* const message, char* const text,
             const Error* const error)
{
  message->file = text;
  if (error->status != STATUS_OK) {
    note_read_error(session, message, error);
  }
  end_read(session);
}

/// Write the text of the /fail for the edit in flight.  If the engine refuses a connection that the
/// edit made because it removed a node, the text says how to remove the node without that
/// connection.
static void
explain(const Session* const session, const EngineReply* const reply, Error* const error)
{
  const Rack* const rack = session->candidate;
  const uint32_t e = reply->refused_edge - 1U;
  const RackEdge* const edge = e < rack->n_edges ? &rack->edges[e] : NULL;
  const RackNode* const gone = edge ? rack_find_uid(session->committed, edge->replaces) : NULL;
  if (!gone) {
    error_set(error, reply->status, "%s", reply->text);
    return;
  }
  const RackNode* const from = rack_find_uid(rack, edge->from.uid);
  error_set(error, reply->status, "remove %s connects its neighbours; first disconnect %s %s: %s",
            gone->name, from ? from->name : "in", gone->name, reply->text);
}

void
session_reply(Session* const session, const EngineReply* const reply)
{
  const SessionEvents* const events = &session->config.events;
  Bundle* const bundle = session->flight;
  if (!bundle) {
    return;
  }
  session->flight = NULL;
  if (reply->status == STATUS_OK) {
    const Rack* const before = commit(session, bundle->messages[0].info->kind);
    events->edit_done(events->context, bundle, session->counts.revision, reply->frame);
    events->rack_changed(events->context, before, bundle);
    bundle_free(bundle);
  } else {
    Error error;
    explain(session, reply, &error);
    drop_candidate(session);
    fail(session, bundle, NULL, &error);
  }
}

void
session_taken_back(Session* const session, Rack* const rack)
{
  Rack* const before = session->committed;
  rack->next_uid = session->next_uid > rack->next_uid ? session->next_uid : rack->next_uid;
  session->committed = rack;
  ++session->counts.revision;
  history_taken_back(&session->history, before, rack);
  session->config.events.rack_changed(session->config.events.context, before, NULL);
}

const Rack*
session_rack(const Session* const session)
{
  return session->committed;
}

SessionCounts
session_counts(const Session* const session)
{
  SessionCounts counts = session->counts;
  counts.undo = session->history.undo.n;
  counts.redo = session->history.redo.n;
  counts.in_flight = session->flight != NULL;
  return counts;
}
