// SPDX-License-Identifier: GPL-3.0-or-later
#include "tempo.h"

#include "command.h"

#include "engine/base/hash.h"
#include "engine/base/number.h"

#include <math.h>
#include <string.h>

/// Smaller changes are jitter of the source.
#define DEAD_BAND_BPM 0.5

/// An argument as a word of the statement `tempo`.
static const char*
word_of(const Message* const message, const uint32_t index, char number[const NUMBER_BYTES])
{
  const bool is_text = strchr("sS", message_type(message, index));
  return is_text ? message_text(message, index)
                 : number_print(message_number(message, index), number);
}

/// Read the tempo of a message; *tempo is the present one.
static Status
read_tempo(const Message* const message, RackTempo* const tempo, Error* const error)
{
  char numbers[2][NUMBER_BYTES];
  const char* const first = word_of(message, 0, numbers[0]);
  const char* const second =
      message_n_arguments(message) > 1U ? word_of(message, 1U, numbers[1]) : NULL;
  return rack_read_tempo(first, second, tempo, error);
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
tempo_add_followers(const Rack* const rack, Changes* const found, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t n = 0; n < rack->n_nodes && !status; ++n) {
    status = add_node(&rack->nodes[n], found, error);
  }
  return status;
}

Status
tempo_find(const Rack* const rack, const Message* const message, Changes* const found,
           Error* const error)
{
  RackTempo tempo = rack->tempo;
  const Status status = read_tempo(message, &tempo, error);
  return status ? status : tempo_add_followers(rack, found, error);
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
  RackTempo tempo = rack->tempo;
  const Status status = tempo_is(message) ? read_tempo(message, &tempo, error) : STATUS_OK;
  if (tempo_is(message) && !status) {
    rack_set_tempo(rack, tempo);
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

void
tempo_keep(Rack* const rack, const Rack* const present)
{
  if (rack->tempo.source != RACK_TEMPO_FIXED && rack->tempo.source == present->tempo.source) {
    rack_set_tempo(rack, present->tempo);
  }
}

bool
tempo_differs(const double source_bpm, const double bpm)
{
  return rack_is_tempo(source_bpm) && fabs(source_bpm - bpm) > DEAD_BAND_BPM;
}

bool
tempo_fader(const Bundle* const bundle, Change* const fader)
{
  bool only_sets = bundle->n_messages > 0U;
  uint32_t hash = hash_text(HASH32_START, "/rack/tempo");
  for (uint32_t m = 0; m < bundle->n_messages && only_sets; ++m) {
    const Message* const message = &bundle->messages[m];
    only_sets = tempo_is(message);
    for (uint32_t a = 0; a < message_n_arguments(message) && only_sets; ++a) {
      const bool is_text = strchr("sS", message_type(message, a)); // another source: another step
      hash = is_text ? hash_text(hash, message_text(message, a)) : hash;
    }
  }
  if (only_sets) {
    *fader = (Change){ .uid = RACK_UID_NONE, .param = hash };
  }
  return only_sets;
}
