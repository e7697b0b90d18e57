// SPDX-License-Identifier: GPL-3.0-or-later
// The order of edits and values.  Batches wait while an edit is in flight, or others wait.

#include "session.h"

#include "command.h"
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

static Batch*
take_first(Session* const session)
{
  Batch* const batch = session->first;
  if (batch) {
    session->first = batch->next;
    session->last = session->first ? session->last : &session->first;
    batch->next = NULL;
    --session->counts.waiting;
    session->n_bytes -= batch->n_bytes;
  }
  return batch;
}

void
session_free(Session* const session)
{
  if (session) {
    for (Batch* batch = NULL; (batch = take_first(session));) {
      batch_free(batch);
    }
    batch_free(session->flight);
    rack_free(session->candidate);
    rack_free(session->committed);
    history_clear(&session->history);
    free(session);
  }
}

static void
fail(Session* const session, Batch* const batch, const Message* const failing,
     const Error* const error)
{
  ++session->counts.failed;
  session->config.events.failed(session->config.events.context, batch, failing, error);
  batch_free(batch);
}

static bool
all_are_sets(const Batch* const batch)
{
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    if (batch->messages[m].info->kind != COMMAND_SET) {
      return false;
    }
  }
  return true;
}

/// True when the values of a batch of sets can be set at once, past the edit in flight: all are
/// parameters that are heard, and that this edit keeps.
static bool
is_live(const Session* const session, const Batch* const batch, const Targets* const targets)
{
  return !targets->missing && !targets->is_structural &&
         (!session->candidate || values_agree(session->candidate, batch, targets));
}

// ---- edits ----

static Status
apply_messages(Session* const session, const Batch* const batch, const Message** const failing,
               Error* const error)
{
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    const Message* const message = &batch->messages[m];
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

/// The document that an undo or redo brings back, or the committed one for an edit; NULL with a
/// reason.
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
  copy->next_uid = session->next_uid; // no identity is given out twice, whatever was undone
  return copy;
}

/// Make the candidate of a batch.
static Status
make_candidate(Session* const session, const Batch* const batch, const Message** const failing,
               Error* const error)
{
  const CommandKind kind = batch->messages[0].info->kind;
  session->candidate = copy_base(session, kind, error);
  if (!session->candidate) {
    return error->status;
  }
  if (kind == COMMAND_UNDO || kind == COMMAND_REDO) {
    return STATUS_OK;
  }
  const Status status = apply_messages(session, batch, failing, error);
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

/// The candidate is heard: it takes the place of the committed document, which the history has
/// then.
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

/// True for an edit that changes nothing.  Undo and redo count as steps even then.
static bool
is_nothing(const Session* const session, const Batch* const batch)
{
  const CommandKind kind = batch->messages[0].info->kind;
  return kind != COMMAND_UNDO && kind != COMMAND_REDO &&
         rack_equal(session->candidate, session->committed);
}

/// Plan the edit of a batch that has all its files.
static void
plan_edit(Session* const session, Batch* const batch)
{
  const SessionConfig* const config = &session->config;
  const Message* failing = NULL;
  Error error;
  Status status = make_candidate(session, batch, &failing, &error);
  if (status == STATUS_OK && is_nothing(session, batch)) {
    drop_candidate(session);
    config->events.edit_done(config->events.context, batch, session->counts.revision,
                             engine_frame_now(config->engine));
    batch_free(batch);
    return;
  }
  if (status == STATUS_OK) {
    session->flight = batch;
    status = config->events.edit(config->events.context, session->candidate, batch->frame);
    if (status != STATUS_OK) {
      session->flight = NULL;
      error_set(&error, status, "%s", status_text(status));
    }
  }
  if (status != STATUS_OK) {
    drop_candidate(session);
    fail(session, batch, failing, &error);
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

/// One file less to wait for; with the last one the edit goes on.
static void
end_read(Session* const session)
{
  if (--session->n_reads > 0) {
    return;
  }
  Batch* const batch = session->flight;
  session->flight = NULL;
  if (session->unread) {
    fail(session, batch, session->unread, &session->read_error);
  } else {
    plan_edit(session, batch);
  }
}

/// Read the files that a batch names, if it does, then plan its edit.
static void
start_edit(Session* const session, Batch* const batch)
{
  const SessionEvents* const events = &session->config.events;
  session->flight = batch;
  session->unread = NULL;
  session->n_reads = 1; // until all have been asked for
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    Message* const message = &batch->messages[m];
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

/// Set a batch's values and answer; false when it failed, and is gone.
static bool
do_values(Session* const session, Batch* const batch, Targets* const targets, const uint64_t now_ns)
{
  const SessionEvents* const events = &session->config.events;
  const Message* failing = NULL;
  Error error;
  if (session_set_values(session, batch, targets, now_ns, &failing, &error) != STATUS_OK) {
    fail(session, batch, failing, &error);
    return false;
  }
  events->values_done(events->context, batch);
  return true;
}

/// Values that overtook edits are set again behind them, where they still can be.
static void
do_echo(Session* const session, Batch* const batch, Targets* const targets, const uint64_t now_ns)
{
  const Message* failing = NULL;
  if (is_live(session, batch, targets) &&
      session_set_values(session, batch, targets, now_ns, &failing, NULL) != STATUS_OK) {
    ++session->counts.values_lost;
  }
  batch_free(batch);
}

/// Run a batch of sets: values, or an edit where one is structural.
static void
carry_out_sets(Session* const session, Batch* const batch, const uint64_t now_ns)
{
  Targets targets;
  values_find(session->committed, batch, &targets);
  if (batch->is_echo) {
    do_echo(session, batch, &targets, now_ns);
  } else if (targets.is_structural && !targets.missing) {
    start_edit(session, batch);
  } else if (do_values(session, batch, &targets, now_ns)) {
    batch_free(batch);
  }
  changes_clear(&targets.changes);
}

/// Run a batch.  No edit is in flight, and no batch waits before this one.
static void
carry_out(Session* const session, Batch* const batch, const uint64_t now_ns)
{
  const SessionEvents* const events = &session->config.events;
  if (batch->messages[0].info->kind == COMMAND_BEHIND) {
    events->turn(events->context, batch);
  } else if (all_are_sets(batch)) {
    carry_out_sets(session, batch, now_ns);
  } else {
    start_edit(session, batch);
  }
}

static void
append(Session* const session, Batch* const batch)
{
  batch->next = NULL;
  *session->last = batch;
  session->last = &batch->next;
  ++session->counts.waiting;
  session->n_bytes += batch->n_bytes;
}

/// Whether one more batch may wait.
static Status
check_room(const Session* const session, const Batch* const batch, Error* const error)
{
  const Share max = { SESSION_MAX_WAITING, SESSION_MAX_BYTES };
  const Share used = { session->counts.waiting, session->n_bytes };
  return share_check(&max, &used, session->first, batch, "edits already wait", error);
}

/// True when both batches are one message that names the same parameter.
static bool
same_target(const Batch* const a, const Batch* const b)
{
  const Message* const x = &a->messages[0];
  const Message* const y = &b->messages[0];
  return a->n_messages == 1 && b->n_messages == 1 && strcmp(x->address, y->address) == 0 &&
         (strcmp(x->address, "/rack/set") != 0 ||
          strcmp(message_text(x, 0), message_text(y, 0)) == 0);
}

/// Put a batch in the place of one that waits.
static void
replace(Session* const session, Batch** const place, Batch* const batch)
{
  Batch* const old = *place;
  batch->next = old->next;
  *place = batch;
  session->last = session->last == &old->next ? &batch->next : session->last;
  session->n_bytes += batch->n_bytes;
  session->n_bytes -= old->n_bytes;
  batch_free(old);
}

/// Repeat values behind the edits that wait; a fader that keeps moving takes one place only.  Where
/// there is no room, an edit that waits may set them otherwise.
static void
append_echo(Session* const session, Batch* const batch)
{
  batch->is_echo = true;
  batch->is_sent = false;
  batch->frame = 0;
  Batch** same = NULL;
  for (Batch** at = &session->first; *at; at = &(*at)->next) {
    if (!(*at)->is_echo) {
      same = NULL; // it has to be behind the last edit
    } else if (same_target(*at, batch)) {
      same = at;
    }
  }
  if (same) {
    replace(session, same, batch);
  } else if (check_room(session, batch, NULL) == STATUS_OK) {
    append(session, batch);
  } else {
    ++session->counts.values_lost;
    batch_free(batch);
  }
}

/// Values that are heard overtake what waits.
static void
overtake(Session* const session, Batch* const batch, Targets* const targets, const uint64_t now_ns)
{
  if (do_values(session, batch, targets, now_ns)) {
    if (session->first) {
      append_echo(session, batch);
    } else {
      batch_free(batch);
    }
  }
}

/// What cannot be done now waits, where there is room.
static void
wait_behind(Session* const session, Batch* const batch)
{
  Error error;
  if (check_room(session, batch, &error) == STATUS_OK) {
    batch->is_sent = false; // to a node that may be another one by then
    append(session, batch);
  } else {
    fail(session, batch, NULL, &error);
  }
}

static void
submit_sets_behind(Session* const session, Batch* const batch, const uint64_t now_ns)
{
  Targets targets;
  values_find(session->committed, batch, &targets);
  if (is_live(session, batch, &targets)) {
    overtake(session, batch, &targets, now_ns);
  } else {
    wait_behind(session, batch);
  }
  changes_clear(&targets.changes);
}

void
session_submit(Session* const session, Batch* const batch, const uint64_t now_ns)
{
  if (!session->flight && !session->first) {
    carry_out(session, batch, now_ns);
  } else if (all_are_sets(batch)) {
    submit_sets_behind(session, batch, now_ns);
  } else {
    wait_behind(session, batch);
  }
}

/// Send the values of a batch to the engine, stamped with its frame.  They are written down only to
/// be checked and converted: the document changes in time.
static SessionAhead
send_ahead(Session* const session, const Batch* const batch, Targets* const targets)
{
  const Message* failing = NULL;
  Status status = values_set(session->committed, targets, &failing, NULL);
  if (status == STATUS_OK) {
    status = session_send_values(session, &targets->changes, batch->frame, NULL);
    values_revert(session->committed, &targets->changes);
  }
  return status == STATUS_OK ? AHEAD_SENT : AHEAD_LATER;
}

SessionAhead
session_ahead(Session* const session, const Batch* const batch)
{
  if (!all_are_sets(batch)) {
    return AHEAD_SUBMIT;
  }
  Targets targets;
  values_find(session->committed, batch, &targets);
  SessionAhead ahead = targets.is_structural && !targets.missing ? AHEAD_SUBMIT : AHEAD_LATER;
  if (is_live(session, batch, &targets)) {
    ahead = send_ahead(session, batch, &targets);
  }
  changes_clear(&targets.changes);
  return ahead;
}

const Batch*
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

/// The text of the /fail for the edit in flight.  Where the engine refuses a connection that the
/// edit made by removing a node, the text tells how to remove the node without it.
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
  Batch* const batch = session->flight;
  if (!batch) {
    return;
  }
  session->flight = NULL;
  if (reply->status == STATUS_OK) {
    const Rack* const before = commit(session, batch->messages[0].info->kind);
    events->edit_done(events->context, batch, session->counts.revision, reply->frame);
    events->rack_changed(events->context, before, batch);
    batch_free(batch);
  } else {
    Error error;
    explain(session, reply, &error);
    drop_candidate(session);
    fail(session, batch, NULL, &error);
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
