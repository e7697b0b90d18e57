// SPDX-License-Identifier: GPL-3.0-or-later
// Values by MIDI: into the documents and the history.

#include "editor_private.h"

/// The node of a value, if the document has its parameter and the parameter takes it; else NULL.
static RackNode*
node_of(Rack* const rack, const ParamMessage* const value)
{
  RackNode* const node = (RackNode*)rack_find_uid(rack, value->uid); // the editor owns the rack
  const bool is_valid = node && value->param < node->fx->n_params &&
                        !node->fx->params[value->param].structural &&
                        fx_param_accepts(&node->fx->params[value->param], value->value);
  return is_valid ? node : NULL;
}

/// Set a value, and append it to the changes.  Returns false without any effect for a value that
/// the document does not take.
static bool
set_value(Rack* const rack, const ParamMessage* const value, Changes* const changes)
{
  Error ignored;
  RackNode* const node = node_of(rack, value);
  if (!node) {
    return false;
  }
  Change change = { .uid = value->uid,
                    .param = value->param,
                    .has_number = true,
                    .number = value->value,
                    .before = node->values[value->param] };
  if (rack_set_param_number(node, value->param, value->value, &ignored)) {
    return false;
  }
  change.after = node->values[value->param];
  if (changes_add(changes, &change, &ignored)) {
    node->values[value->param] = change.before;
    return false;
  }
  return true;
}

/// Add a step to the history, unless a gesture goes on, or an undo or redo is in flight, to whose
/// document the values belong.
static void
record(Editor* const editor, const Changes* const changes, const uint64_t now_ns)
{
  const bool is_no_step =
      editor_is_stepping(editor) || history_is_gesture(&editor->history, changes, now_ns);
  Rack* const before = is_no_step ? NULL : rack_copy(editor->committed);
  if (before) {
    values_revert(before, changes);
    history_set(&editor->history, before);
  }
}

void
editor_take_midi(Editor* const editor, const MidiValue* const values, const uint32_t n,
                 const uint64_t now_ns)
{
  Changes changes = { .items = NULL };
  for (uint32_t v = 0; v < n; ++v) {
    ParamMessage value = values[v].message;
    if (set_value(editor->committed, &value, &changes)) {
      value.param_id =
          fx_param_hash(&rack_find_uid(editor->committed, value.uid)->fx->params[value.param]);
      pending_follow(&editor->pending, &value);
      Status status = engine_set_midi(editor->config.engine, &value, values[v].ring);
      if (status == STATUS_LIMIT && !values[v].ring) { // no worker has set it
        status = pending_add(&editor->pending, editor->config.engine, &value, 1U);
      }
      editor->counts.values_lost += status != STATUS_OK;
    }
  }
  if (!changes.n) {
    return;
  }
  record(editor, &changes, now_ns);
  editor->counts.values_set += changes.n;
  const EditorEvents* const events = &editor->config.events;
  for (uint32_t c = 0; c < changes.n; ++c) {
    const Change* const change = &changes.items[c];
    if (editor->candidate) {
      rack_set_value(editor->candidate, change->uid, change->param, 0U, change->number);
    }
    events->value_changed(events->context, change->uid, change->param, NULL);
  }
  changes_clear(&changes);
}
