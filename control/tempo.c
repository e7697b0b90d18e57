// SPDX-License-Identifier: GPL-3.0-or-later
#include "tempo.h"

#include "command.h"

#include "engine/base/hash.h"
#include "engine/base/number.h"

#include <string.h>

static Status
read_tempo(const Message* const message, double* const bpm, Error* const error)
{
  const bool is_text = strchr("sS", message_type(message, 0));
  char number[NUMBER_BYTES];
  return rack_read_tempo(is_text ? message_text(message, 0)
                                 : number_print(message_number(message, 0), number),
                         bpm, error);
}

/// Append the parameters of a node that follow the tempo.
static Status
add_node(const RackNode* const node, Changes* const found, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t p = 0; p < node->fx->n_params && !status; ++p) {
    if (node->values[p].kind == VALUE_TEMPO) {
      status = changes_add(found, &(Change){ .uid = node->uid, .param = p }, error);
    }
  }
  return status;
}

Status
tempo_find(const Rack* const rack, const Message* const message, Changes* const found,
           Error* const error)
{
  double bpm = 0.0;
  Status status = read_tempo(message, &bpm, error);
  for (uint32_t n = 0; n < rack->n_nodes && !status; ++n) {
    status = add_node(&rack->nodes[n], found, error);
  }
  return status;
}

bool
tempo_is(const Message* const message)
{
  return message->info->find == tempo_find;
}

bool
tempo_is_set(const Bundle* const bundle)
{
  bool is_set = false;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    is_set = is_set || tempo_is(&bundle->messages[m]);
  }
  return is_set;
}

Status
tempo_set_message(Rack* const rack, const Message* const message, Error* const error)
{
  double bpm = 0.0;
  const Status status = tempo_is(message) ? read_tempo(message, &bpm, error) : STATUS_OK;
  if (tempo_is(message) && !status) {
    rack_set_tempo(rack, bpm);
  }
  return status;
}

Status
tempo_set(Rack* const rack, const Bundle* const bundle, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t m = 0; m < bundle->n_messages && !status; ++m) {
    status = tempo_set_message(rack, &bundle->messages[m], error);
  }
  return status;
}

bool
tempo_fader(const Bundle* const bundle, Change* const fader)
{
  bool only_sets = bundle->n_messages > 0U;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    only_sets = only_sets && tempo_is(&bundle->messages[m]);
  }
  if (only_sets) {
    *fader = (Change){ .uid = RACK_UID_NONE, .param = hash_text(HASH32_START, "/rack/tempo") };
  }
  return only_sets;
}
