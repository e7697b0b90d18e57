// SPDX-License-Identifier: GPL-3.0-or-later
// The bundles that wait behind an edit.  Values of one structural parameter that wait at the same
// time become one edit, because each edit can take as long as the latency of the rack.

#include "editor_private.h"

#include "command.h"

void
editor_append(Editor* const editor, Bundle* const bundle)
{
  bundle->next = NULL;
  *editor->last = bundle;
  editor->last = &bundle->next;
  ++editor->counts.waiting;
  editor->n_bytes += bundle->n_bytes;
}

Bundle*
editor_take(Editor* const editor, Bundle** const place)
{
  Bundle* const bundle = *place;
  if (bundle) {
    *place = bundle->next;
    editor->last = bundle->next ? editor->last : place;
    bundle->next = NULL;
    --editor->counts.waiting;
    editor->n_bytes -= bundle->n_bytes;
  }
  return bundle;
}

/// The parameter that a bundle sets by its name; RACK_UID_NONE if it sets several, or changes
/// anything else.  All values of a node whose plugin is missing are in one parameter: none of them
/// replaces another.
static Change
only_change(const Editor* const editor, const Bundle* const bundle)
{
  const CommandInfo* const info = bundle->messages[0].info;
  Change only = { .uid = RACK_UID_NONE };
  if (bundle->n_messages == 1U && info->kind == COMMAND_SET && !info->find) {
    Targets targets;
    values_find(editor->committed, bundle, &targets);
    const Changes* const changes = &targets.changes;
    if (!targets.missing && changes->n == 1U && !changes->n_compared &&
        !rack_find_uid(editor->committed, changes->items[0].uid)->fx->is_missing) {
      only.uid = changes->items[0].uid;
      only.param = changes->items[0].param;
    }
    changes_clear(&targets.changes);
  }
  return only;
}

Bundle*
editor_newest(Editor* const editor, Bundle* const first)
{
  const Change wanted = only_change(editor, first);
  Bundle* newest = first;
  Bundle* older = NULL;
  Bundle** end = &older;
  Bundle** at = &editor->first;
  while (wanted.uid != RACK_UID_NONE && *at) {
    if ((*at)->is_echo) { // of parameters that are not structural
      at = &(*at)->next;
      continue;
    }
    const Change change = only_change(editor, *at);
    if (change.uid == RACK_UID_NONE || (*at)->frame != first->frame) {
      break;
    }
    if (change.uid == wanted.uid && change.param == wanted.param) {
      *end = newest;
      end = &newest->next;
      newest = editor_take(editor, at);
    } else {
      at = &(*at)->next;
    }
  }
  newest->older = older;
  return newest;
}

void
editor_put_back(Editor* const editor, Bundle* const bundle)
{
  Bundle** end = &bundle->older;
  for (; *end; end = &(*end)->next) {
    ++editor->counts.waiting;
    editor->n_bytes += (*end)->n_bytes;
  }
  if (bundle->older) {
    *end = editor->first;
    editor->last = editor->first ? editor->last : end;
    editor->first = bundle->older;
    bundle->older = NULL;
  }
}
