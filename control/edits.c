// SPDX-License-Identifier: GPL-3.0-or-later
// One function per address of an edit.  command_find() has checked the argument types.

#include "edits.h"

#include "command.h"

#include "engine/base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Replace `*rack` by `next`, without reusing uids of `*rack`.
static void
replace_rack(Rack** const rack, Rack* const next)
{
  if (next->next_uid < (*rack)->next_uid) {
    next->next_uid = (*rack)->next_uid;
  }
  rack_free(*rack);
  *rack = next;
}

static Status
replace_by_text(Rack** const rack, const RackReader read, const char* const text,
                const char* const place, Error* const error)
{
  Rack* next = NULL;
  const Status status = read(text, place, *rack, &next, error);
  if (status == STATUS_OK) {
    replace_rack(rack, next);
  }
  return status;
}

Status
edit_value(RackNode* const node, const uint32_t param, const Message* const message,
           const uint32_t argument, Error* const error)
{
  const char type = message_type(message, argument);
  if (type == 's' || type == 'S') {
    return rack_set_param(node, param, message_text(message, argument), error);
  }
  const double number = message_number(message, argument);
  if (!isfinite(number)) {
    return error_set(error, STATUS_BAD_ARG, "%s.%s: not a finite number", node->name,
                     param < node->fx->n_params ? node->fx->params[param].id : "backend");
  }
  return rack_set_param_number(node, param, number, error);
}

static Status
set_value(RackNode* const node, const char* const param, const Message* const message,
          const uint32_t argument, Error* const error)
{
  uint32_t p = 0;
  const Status status = rack_find_param(node->fx, param, &p, error);
  return status ? status : edit_value(node, p, message, argument, error);
}

/// Set the parameters of a node from [param value]..., from the argument `first` on.
static Status
set_values(const Rack* const rack, const char* const name, const Message* const message,
           const uint32_t first, Error* const error)
{
  RackNode* const node = rack_lookup(rack, name, error);
  Status status = node ? STATUS_OK : STATUS_NOT_FOUND;
  for (uint32_t i = first; i < message_n_arguments(message) && status == STATUS_OK; i += 2U) {
    const char* const param = message_text(message, i);
    for (uint32_t before = first; before < i && status == STATUS_OK; before += 2U) {
      if (!strcmp(message_text(message, before), param)) {
        status = error_set(error, STATUS_BAD_ARG, "%.63s is given twice; remove one", param);
      }
    }
    status = status ? status : set_value(node, param, message, i + 1U, error);
  }
  return status;
}

Status
edit_add(Rack** const rack, const Message* const message, Error* const error)
{
  const char* const name = message_text(message, 0);
  const Status status = rack_add(*rack, name, message_text(message, 1), error);
  return status ? status : set_values(*rack, name, message, 2, error);
}

Status
edit_chain(Rack** const rack, const Message* const message, Error* const error)
{
  return replace_by_text(rack, rack_parse, message_text(message, 0), "chain", error);
}

Status
edit_clear(Rack** const rack, const Message* const message, Error* const error)
{
  (void)message;
  Rack* const empty = rack_new();
  if (!empty) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  replace_rack(rack, empty);
  return STATUS_OK;
}

Status
edit_connect(Rack** const rack, const Message* const message, Error* const error)
{
  const double gain_db = message_n_arguments(message) > 2U ? message_number(message, 2) : 0.0;
  if (!isfinite(gain_db)) {
    return error_set(error, STATUS_BAD_ARG, "gain: not a finite number");
  }
  return rack_connect(*rack, message_text(message, 0), message_text(message, 1), gain_db, error);
}

Status
edit_disconnect(Rack** const rack, const Message* const message, Error* const error)
{
  return rack_disconnect(*rack, message_text(message, 0), message_text(message, 1), error);
}

Status
edit_do(Rack** const rack, const Message* const message, Error* const error)
{
  const uint32_t n = message_n_arguments(message);
  size_t n_bytes = 1;
  for (uint32_t i = 0; i < n; ++i) {
    n_bytes += strlen(message_text(message, i)) + 1U;
  }
  char* const lines = malloc(n_bytes);
  if (!lines) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  char* end = lines;
  for (uint32_t i = 0; i < n; ++i) {
    end += sprintf(end, "%s%s", i ? "\n" : "", message_text(message, i));
  }
  const Status status = rack_apply(*rack, lines, "statement", error);
  free(lines);
  if (status && n > 1U && !strchr(message_text(message, 0), ' ')) { // "remove" "vol"
    const Error cause = *error;
    error_set(error, status,
              "%.400s; send each statement as one argument (in a shell, put quotes around it)",
              cause.text);
  }
  return status;
}

Status
edit_find(Rack** const rack, const Message* const message, Error* const error)
{
  (void)message;
  (void)error;
  rack_return_plugins(*rack);
  return STATUS_OK;
}

/// True if one of the statements removes a node.
static bool
has_removal(const Message* const message)
{
  bool has_one = false;
  for (uint32_t i = 0; i < message_n_arguments(message); ++i) {
    const char* const text = message_text(message, i);
    has_one = has_one || !strncmp(text + strspn(text, " \t"), "remove ", 7U);
  }
  return has_one;
}

bool
edit_makes_smaller(const Message* const message)
{
  const CommandInfo* const info = message->info;
  return info->kind == COMMAND_UNDO || info->apply == edit_remove || info->apply == edit_clear ||
         info->apply == edit_chain || info->apply == edit_load ||
         (info->apply == edit_do && has_removal(message));
}

Status
edit_insert(Rack** const rack, const Message* const message, Error* const error)
{
  const char* const name = message_text(message, 0);
  const Status status = rack_insert(*rack, name, message_text(message, 1), message_text(message, 2),
                                    message_text(message, 3), error);
  return status ? status : set_values(*rack, name, message, 4, error);
}

Status
edit_late(Rack** const rack, const Message* const message, Error* const error)
{
  const char type = message_type(message, 1);
  const bool is_text = type == 's' || type == 'S';
  char level[NUMBER_BYTES];
  return rack_late(
      *rack, message_text(message, 0),
      is_text ? message_text(message, 1) : number_print(message_number(message, 1), level), error);
}

Status
edit_load(Rack** const rack, const Message* const message, Error* const error)
{
  const char* const missing = message_n_arguments(message) > 1U ? message_text(message, 1) : NULL;
  if (missing && strcmp(missing, "bypass") != 0) {
    return error_set(error, STATUS_BAD_ARG, "\"%.60s\" is not the word bypass", missing);
  }
  return replace_by_text(rack, missing ? rack_parse_bypass : rack_parse, message->file,
                         message_text(message, 0), error);
}

Status
edit_remove(Rack** const rack, const Message* const message, Error* const error)
{
  return rack_remove(*rack, message_text(message, 0), error);
}

Status
edit_rename(Rack** const rack, const Message* const message, Error* const error)
{
  return rack_rename(*rack, message_text(message, 0), message_text(message, 1), error);
}

Status
edit_save(Rack** const rack, const Message* const message, Error* const error)
{
  char name[RACK_NAME_BYTES];
  RackNode* const node =
      rack_lookup(*rack, address_node(message->address, name, sizeof(name)), error);
  if (!node) {
    return STATUS_NOT_FOUND;
  }
  return node->fx->save ? rack_set_param(node, node->fx->state_param, message->file, error)
                        : error_set(error, STATUS_NOT_FOUND, "%s has no state", node->name);
}
