// SPDX-License-Identifier: GPL-3.0-or-later
// States on their way from the engine to files.

#include "saves.h"

#include "control_private.h"

#include <stdlib.h>
#include <string.h>

/// The node of a message; NULL with an error.
static const RackNode*
node_of(const Control* const control, const Message* const message, Error* const error)
{
  char name[RACK_NAME_BYTES];
  return rack_lookup(editor_rack(control->editor),
                     address_node(message->address, name, sizeof(name)), error);
}

Status
saves_add(Control* const control, Message* const message, Error* const error)
{
  Saves* const saves = &control->saves;
  const RackNode* const node = node_of(control, message, error);
  if (!node) {
    return STATUS_NOT_FOUND;
  }
  if (!node->fx->save) {
    return error_set(error, STATUS_NOT_FOUND, "%s",
                     node->fx->is_missing ? "the plugin is missing"
                                          : "it has no state: the rack has all its values");
  }
  if (saves->n == SAVES_MAX) {
    return error_set(error, STATUS_LIMIT, "%u states are being saved already", SAVES_MAX);
  }
  saves->waiting[saves->n++] = message;
  return STATUS_OK;
}

/// Give the state that has arrived to the rack store.
static Status
write_state(Control* const control, const EngineSaved* const saved, Message* const message,
            Error* const error)
{
  if (saved->error.status) {
    return error_set(error, saved->error.status, "%s", saved->error.text);
  }
  return rack_store_keep(control->store, control->saves.fx, (unsigned char*)saved->bytes,
                         saved->n_bytes, message, error);
}

static void
receive(Control* const control)
{
  Saves* const saves = &control->saves;
  EngineSaved saved;
  if (!inbox_take_saved(control->inbox, &saved)) {
    return;
  }
  Message* const message = saves->current;
  Error error = { STATUS_OK, "" };
  saves->current = NULL;
  if (write_state(control, &saved, message, &error)) { // else do_files() continues
    editor_read(control->editor, message, NULL, &error);
  }
}

static Message*
take_first(Saves* const saves)
{
  Message* const message = saves->waiting[0];
  memmove(saves->waiting, saves->waiting + 1, --saves->n * sizeof(Message*));
  return message;
}

/// Request the next state.
static void
start(Control* const control)
{
  Saves* const saves = &control->saves;
  Message* const message = take_first(saves);
  Error error = { STATUS_OK, "" };
  const RackNode* const node = node_of(control, message, &error);
  if (node) {
    saves->current = message;
    saves->fx = node->fx;
    inbox_expect(control->inbox);
    error.status =
        engine_save(control->config.engine, node->uid, inbox_saved, control->inbox, &error);
  }
  if (error.status) {
    if (saves->current) {
      inbox_unexpect(control->inbox);
      saves->current = NULL;
    }
    editor_read(control->editor, message, NULL, &error);
  }
}

void
saves_continue(Control* const control)
{
  receive(control);
  while (control->saves.n && !control->saves.current) {
    start(control);
  }
}
