// SPDX-License-Identifier: GPL-3.0-or-later
// The order of edits and values.  A bundle waits while an edit is in flight or other bundles wait.

#include "editor.h"

#include "command.h"
#include "edits.h"
#include "editor_private.h"
#include "scenes.h"
#include "tempo.h"

#include "control/net/share.h"

#include <stdlib.h>
#include <string.h>

Status
editor_new(const EditorConfig* const config, const Rack* const rack, Editor** const out,
           Error* const error)
{
  Editor* const editor = calloc(1, sizeof(Editor));
  Rack* const committed = rack_copy(rack);
  if (!editor || !committed) {
    free(editor);
    rack_free(committed);
    return error_set(error, STATUS_NO_MEM, "control: out of memory");
  }
  editor->config = *config;
  editor->committed = committed;
  editor->last = &editor->first;
  editor->next_uid = rack->next_uid;
  *out = editor;
  return STATUS_OK;
}

void
editor_free(Editor* const editor)
{
  if (editor) {
    for (Bundle* bundle = NULL; (bundle = editor_take(editor, &editor->first));) {
      bundle_free(bundle);
    }
    bundle_free(editor->flight);
    rack_free(editor->candidate);
    rack_free(editor->committed);
    history_clear(&editor->history);
    rack_fades_clear(&editor->fades);
    free(editor);
  }
}

static void
fail(Editor* const editor, Bundle* const bundle, const Message* const failing,
     const Error* const error)
{
  ++editor->counts.failed;
  editor->config.events.failed(editor->config.events.context, bundle, failing, error);
  editor_put_back(editor, bundle);
  bundle_free(bundle);
}

/// Report that the edit of a bundle, and of the bundles that it replaces, is active.
static void
report_done(Editor* const editor, const Bundle* const bundle, const uint64_t frame)
{
  const EditorEvents* const events = &editor->config.events;
  for (const Bundle* older = bundle->older; older; older = older->next) {
    events->edit_done(events->context, older, editor->counts.revision, frame);
  }
  events->edit_done(events->context, bundle, editor->counts.revision, frame);
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

static bool
stops(const Bundle* const bundle)
{
  bool any = false;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    any = any || scenes_stops(&bundle->messages[m]);
  }
  return any;
}

/// True if the values of a bundle of sets can be set before the edit in flight is active: all
/// parameters belong to active nodes that the edit keeps.
static bool
is_live(const Editor* const editor, const Bundle* const bundle, const Targets* const targets)
{
  return !targets->missing && !targets->is_structural &&
         (!editor->candidate || values_agree(editor->candidate, bundle, targets));
}

// ---- edits ----

static Status
apply_messages(Editor* const editor, const Bundle* const bundle, const Message** const failing,
               Error* const error)
{
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    const Message* const message = &bundle->messages[m];
    const CommandInfo* const info = message->info;
    const Status status = info->kind == COMMAND_SET
                              ? values_set_any(editor->candidate, message, error)
                              : info->apply(&editor->candidate, message, error);
    if (status != STATUS_OK) {
      *failing = message;
      return status;
    }
    scenes_mark_message(editor->candidate, message);
  }
  const Status status = rack_check_text(editor->candidate, error);
  return status ? status : editor_check_frames(editor, editor->candidate, error);
}

/// Copy the base of a candidate: the document that an undo or redo restores, or the committed one
/// for an edit.  NULL with an error.
static Rack*
copy_base(Editor* const editor, const CommandKind kind, Error* const error)
{
  const Rack* const base = kind == COMMAND_UNDO   ? history_undo(&editor->history)
                           : kind == COMMAND_REDO ? history_redo(&editor->history)
                                                  : editor->committed;
  if (!base) {
    error_set(error, STATUS_NOT_FOUND, "nothing to %s", kind == COMMAND_UNDO ? "undo" : "redo");
    return NULL;
  }
  Rack* const copy = rack_copy(base);
  if (!copy) {
    error_set(error, STATUS_NO_MEM, "out of memory");
    return NULL;
  }
  copy->next_uid = editor->next_uid; // no uid is used twice, also after an undo
  tempo_keep(copy, editor->committed);
  if (base != editor->committed) {
    rack_return_plugins(copy); // that were missing then
  }
  return copy;
}

/// Make the candidate document of a bundle.
static Status
make_candidate(Editor* const editor, const Bundle* const bundle, const Message** const failing,
               Error* const error)
{
  const CommandKind kind = bundle->messages[0].info->kind;
  editor->candidate = copy_base(editor, kind, error);
  if (!editor->candidate) {
    return error->status;
  }
  if (kind == COMMAND_UNDO || kind == COMMAND_REDO) {
    return STATUS_OK;
  }
  const Status status = apply_messages(editor, bundle, failing, error);
  if (editor->candidate->next_uid > editor->next_uid) {
    editor->next_uid = editor->candidate->next_uid;
  }
  return status;
}

static void
drop_candidate(Editor* const editor)
{
  rack_free(editor->candidate);
  editor->candidate = NULL;
}

/// Make the candidate, which is now active, the committed document.  Returns the old one.
static Rack*
commit(Editor* const editor)
{
  Rack* const before = editor->committed;
  editor->committed = editor->candidate;
  editor->candidate = NULL;
  ++editor->counts.revision;
  return before;
}

/// True if a bundle only lets nodes play the plugins that were missing.
static bool
only_finds(const Bundle* const bundle)
{
  bool finds = true;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    finds = finds && bundle->messages[m].info->apply == edit_find;
  }
  return finds;
}

/// Give the document before a bundle to the history.  A bundle that only finds plugins is no step,
/// because copy_base() finds them, too.
static void
record(Editor* const editor, const Bundle* const bundle, Rack* const before)
{
  const CommandKind kind = bundle->messages[0].info->kind;
  if (kind == COMMAND_UNDO) {
    history_undone(&editor->history, before);
  } else if (kind == COMMAND_REDO) {
    history_redone(&editor->history, before);
  } else if (only_finds(bundle)) {
    rack_free(before);
  } else {
    history_edited(&editor->history, before);
  }
}

/// True for an edit that changes nothing.  Undo and redo are steps even if they change nothing.
static bool
is_nothing(const Editor* const editor, const Bundle* const bundle)
{
  const CommandKind kind = bundle->messages[0].info->kind;
  return kind != COMMAND_UNDO && kind != COMMAND_REDO &&
         rack_equal(editor->candidate, editor->committed);
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
overtake_edit(const Editor* const editor, const Bundle* const first)
{
  const Bundle* bundle = first;
  while (bundle && !bundle->makes_smaller) {
    bundle = bundle->next;
  }
  if (bundle && editor->candidate && !rack_has_nodes(editor->committed, editor->candidate)) {
    engine_overtake(editor->config.engine);
  }
}

/// Plan the edit of a bundle whose files are all read.
static void
plan_edit(Editor* const editor, Bundle* const bundle)
{
  const EditorConfig* const config = &editor->config;
  const Message* failing = NULL;
  Error error;
  Status status = make_candidate(editor, bundle, &failing, &error);
  if (status == STATUS_OK && is_nothing(editor, bundle)) {
    memcpy(editor->committed->recalled, editor->candidate->recalled, RACK_NAME_BYTES);
    drop_candidate(editor);
    report_done(editor, bundle, engine_frame_now(config->engine));
    bundle_free(bundle);
    return;
  }
  if (status == STATUS_OK) {
    editor->flight = bundle;
    status = editor_flush_now(editor); // in the engine these values are older than the edit
    status = status ? status
                    : config->events.edit(config->events.context, editor->candidate, bundle->frame);
    if (status != STATUS_OK) {
      editor->flight = NULL;
      error_set(&error, status, "%s", status_text(status));
    } else {
      overtake_edit(editor, editor->first);
    }
  }
  if (status != STATUS_OK) {
    drop_candidate(editor);
    fail(editor, bundle, failing, &error);
  }
}

static void
note_read_error(Editor* const editor, const Message* const message, const Error* const error)
{
  if (!editor->unread) {
    editor->unread = message;
    editor->read_error = *error;
  }
}

/// End the reading of a file.  After the last file, continue the edit.
static void
end_read(Editor* const editor)
{
  if (--editor->n_reads > 0) {
    return;
  }
  Bundle* const bundle = editor->flight;
  editor->flight = NULL;
  if (editor->unread) {
    fail(editor, bundle, editor->unread, &editor->read_error);
  } else {
    plan_edit(editor, bundle);
  }
}

/// Request the files that a bundle names.  When all are read, plan its edit.
static void
start_edit(Editor* const editor, Bundle* const bundle)
{
  const EditorEvents* const events = &editor->config.events;
  editor->flight = bundle;
  editor->unread = NULL;
  editor->n_reads = 1; // until all files are requested
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    Message* const message = &bundle->messages[m];
    Error error;
    if (message->info->reads_file || message->info->saves_state) {
      ++editor->n_reads;
      if (events->read(events->context, message, &error) != STATUS_OK) {
        note_read_error(editor, message, &error);
        --editor->n_reads;
      }
    }
  }
  end_read(editor);
}

// ---- order ----

/// Set a bundle's values and answer it.  Returns false if it failed; then the bundle is freed.
static bool
do_values(Editor* const editor, Bundle* const bundle, Targets* const targets, const uint64_t now_ns)
{
  const EditorEvents* const events = &editor->config.events;
  const Message* failing = NULL;
  Error error;
  if (editor_set_values(editor, bundle, targets, now_ns, &failing, &error) != STATUS_OK) {
    fail(editor, bundle, failing, &error);
    return false;
  }
  bundle->has_missing = targets->changes.has_missing;
  events->values_done(events->context, bundle, editor->counts.revision,
                      bundle->frame ? bundle->frame : engine_frame_now(editor->config.engine));
  return true;
}

/// Set values again that have overtaken edits, if their parameters are still in the rack.
static void
do_echo(Editor* const editor, Bundle* const bundle, Targets* const targets, const uint64_t now_ns)
{
  const Message* failing = NULL;
  if (is_live(editor, bundle, targets) &&
      editor_set_values(editor, bundle, targets, now_ns, &failing, NULL) != STATUS_OK) {
    ++editor->counts.values_lost;
  }
  bundle_free(bundle);
}

/// Run a bundle of sets: set its values, or make an edit if one is structural.
static void
carry_out_sets(Editor* const editor, Bundle* const bundle, const uint64_t now_ns)
{
  Targets targets;
  values_find(editor->committed, bundle, &targets);
  if (bundle->is_echo) {
    do_echo(editor, bundle, &targets, now_ns);
  } else if (targets.is_structural && !targets.missing) {
    start_edit(editor, editor_newest(editor, bundle));
  } else if (do_values(editor, bundle, &targets, now_ns)) {
    bundle_free(bundle);
  }
  changes_clear(&targets.changes);
}

/// Run a bundle.  No edit is in flight, and no bundle waits before this one.
static void
carry_out(Editor* const editor, Bundle* const bundle, const uint64_t now_ns)
{
  const EditorEvents* const events = &editor->config.events;
  editor_find_fades(editor, bundle);
  if (bundle->messages[0].info->kind == COMMAND_BEHIND) {
    events->turn(events->context, bundle);
  } else if (all_are_sets(bundle)) {
    carry_out_sets(editor, bundle, now_ns);
  } else {
    start_edit(editor, bundle);
  }
}

/// Check that one more bundle may wait.
static Status
check_room(const Editor* const editor, const Bundle* const bundle, Error* const error)
{
  const Share max = { EDITOR_MAX_WAITING, EDITOR_MAX_BYTES };
  const Share used = { editor->counts.waiting, editor->n_bytes };
  return share_check(&max, &used, editor->first, bundle, "edits already wait", error);
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
replace(Editor* const editor, Bundle** const place, Bundle* const bundle)
{
  Bundle* const old = *place;
  bundle->next = old->next;
  *place = bundle;
  editor->last = editor->last == &old->next ? &bundle->next : editor->last;
  editor->n_bytes += bundle->n_bytes;
  editor->n_bytes -= old->n_bytes;
  bundle_free(old);
}

/// Queue values to be set again after the edits that wait.  Repeated values of one parameter take
/// one place only.  If there is no room, the values are lost when a waiting edit sets them
/// differently.
static void
append_echo(Editor* const editor, Bundle* const bundle)
{
  bundle->is_echo = true;
  bundle->is_sent = false;
  bundle->frame = 0;
  Bundle** same = NULL;
  for (Bundle** at = &editor->first; *at; at = &(*at)->next) {
    if (!(*at)->is_echo) {
      same = NULL; // only echoes after the last edit
    } else if (same_target(*at, bundle)) {
      same = at;
    }
  }
  if (same) {
    replace(editor, same, bundle);
  } else if (check_room(editor, bundle, NULL) == STATUS_OK) {
    editor_append(editor, bundle);
  } else {
    ++editor->counts.values_lost;
    bundle_free(bundle);
  }
}

/// Let values of active nodes overtake the bundles that wait.
static void
overtake(Editor* const editor, Bundle* const bundle, Targets* const targets, const uint64_t now_ns)
{
  if (do_values(editor, bundle, targets, now_ns)) {
    if (editor->first) {
      append_echo(editor, bundle);
    } else {
      bundle_free(bundle);
    }
  }
}

/// Let a bundle wait that cannot run now.  It fails if there is no room.
static void
wait_behind(Editor* const editor, Bundle* const bundle)
{
  Error error;
  if (check_room(editor, bundle, &error) == STATUS_OK) {
    bundle->is_sent = false; // an edit may replace its nodes
    bundle->makes_smaller = makes_smaller(bundle);
    editor_append(editor, bundle);
    overtake_edit(editor, bundle);
  } else {
    fail(editor, bundle, NULL, &error);
  }
}

static void
submit_sets_behind(Editor* const editor, Bundle* const bundle, const uint64_t now_ns)
{
  Targets targets;
  editor_find_fades(editor, bundle);
  values_find(editor->committed, bundle, &targets);
  // A recall waits for edits, which may change its scene.
  const bool may_change = editor->first && scenes_are_used(bundle);
  if (!may_change && is_live(editor, bundle, &targets)) {
    overtake(editor, bundle, &targets, now_ns);
  } else {
    wait_behind(editor, bundle);
  }
  changes_clear(&targets.changes);
}

void
editor_submit(Editor* const editor, Bundle* const bundle, const uint64_t now_ns)
{
  if (!editor->flight && !editor->first) {
    carry_out(editor, bundle, now_ns);
  } else if (all_are_sets(bundle)) {
    submit_sets_behind(editor, bundle, now_ns);
  } else {
    wait_behind(editor, bundle);
  }
}

/// Send the values of a bundle to the engine, with its frame.  The values are set in the document
/// to check and convert them, then reverted: the document changes when the time has come.
static EditorAhead
send_ahead(Editor* const editor, const Bundle* const bundle, Targets* const targets)
{
  Rack* const rack = editor->committed;
  const RackTempo tempo = rack->tempo;
  const Message* failing = NULL;
  Status status = values_set(rack, targets, &failing, NULL);
  if (status == STATUS_OK) {
    status = tempo_set(rack, bundle, NULL);
    status = status ? status : editor_send_values(editor, &targets->changes, bundle->frame, NULL);
    values_revert(rack, &targets->changes);
    rack_set_tempo(rack, tempo);
  }
  return status == STATUS_OK ? AHEAD_SENT : AHEAD_LATER;
}

EditorAhead
editor_ahead(Editor* const editor, Bundle* const bundle)
{
  if (!all_are_sets(bundle)) {
    return AHEAD_SUBMIT;
  }
  if (stops(bundle)) {
    return AHEAD_LATER;
  }
  Targets targets;
  values_find(editor->committed, bundle, &targets);
  EditorAhead ahead = targets.is_structural && !targets.missing ? AHEAD_SUBMIT : AHEAD_LATER;
  if (is_live(editor, bundle, &targets)) {
    ahead = send_ahead(editor, bundle, &targets);
  }
  bundle->is_sent = ahead == AHEAD_SENT;
  bundle->sent_revision = editor->counts.revision;
  changes_clear(&targets.changes);
  return ahead;
}

const Bundle*
editor_next(const Editor* const editor)
{
  return editor->flight ? NULL : editor->first;
}

void
editor_run_next(Editor* const editor, const uint64_t now_ns)
{
  carry_out(editor, editor_take(editor, &editor->first), now_ns);
}

void
editor_read(Editor* const editor, Message* const message, char* const text,
            const Error* const error)
{
  message->file = text;
  if (error->status != STATUS_OK) {
    note_read_error(editor, message, error);
  }
  end_read(editor);
}

/// Write the text of the /fail for the edit in flight.  If the engine refuses a connection that the
/// edit made because it removed a node, the text says how to remove the node without that
/// connection.
static void
explain(const Editor* const editor, const EngineReply* const reply, Error* const error)
{
  const Rack* const rack = editor->candidate;
  const uint32_t e = reply->refused_edge - 1U;
  const RackEdge* const edge = e < rack->n_edges ? &rack->edges[e] : NULL;
  const RackNode* const gone = edge ? rack_find_uid(editor->committed, edge->replaces) : NULL;
  if (!gone) {
    error_set(error, reply->status, "%s", reply->text);
    return;
  }
  const RackNode* const from = rack_find_uid(rack, edge->from.uid);
  error_set(error, reply->status, "remove %s connects its neighbours; first disconnect %s %s: %s",
            gone->name, from ? from->name : "in", gone->name, reply->text);
}

void
editor_reply(Editor* const editor, const EngineReply* const reply)
{
  const EditorEvents* const events = &editor->config.events;
  Bundle* const bundle = editor->flight;
  if (!bundle) {
    return;
  }
  editor->flight = NULL;
  if (reply->status == STATUS_OK) {
    Rack* const before = commit(editor);
    report_done(editor, bundle, reply->frame);
    events->rack_changed(events->context, before, bundle);
    record(editor, bundle, before);
    bundle_free(bundle);
  } else {
    Error error;
    explain(editor, reply, &error);
    drop_candidate(editor);
    fail(editor, bundle, NULL, &error);
  }
}

void
editor_taken_back(Editor* const editor, Rack* const rack)
{
  Rack* const before = editor->committed;
  rack->next_uid = editor->next_uid > rack->next_uid ? editor->next_uid : rack->next_uid;
  editor->committed = rack;
  ++editor->counts.revision;
  history_taken_back(&editor->history, before, rack);
  editor->config.events.rack_changed(editor->config.events.context, before, NULL);
}

bool
editor_holds_values(const Editor* const editor)
{
  return editor->pending.n;
}

const Rack*
editor_rack(const Editor* const editor)
{
  return editor->committed;
}

EditorCounts
editor_counts(const Editor* const editor)
{
  EditorCounts counts = editor->counts;
  counts.undo = editor->history.undo.n;
  counts.redo = editor->history.redo.n;
  counts.in_flight = editor->flight != NULL;
  counts.values_merged = editor->pending.merged;
  return counts;
}
