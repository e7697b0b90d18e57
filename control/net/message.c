// SPDX-License-Identifier: GPL-3.0-or-later
// From a packet that passed the gate to batches of messages; liblo decodes the arguments.

#include "message.h"

#include <stdlib.h>
#include <string.h>

typedef struct Reader {
  const Peer* peer;
  const Instant* arrival;
  Batch** tail; // where the next batch of the list goes
} Reader;

static Batch*
batch_new(const Peer* const peer, const uint64_t due_ns, const uint32_t capacity)
{
  Batch* const batch = calloc(1, sizeof(Batch) + capacity * sizeof(Message));
  if (batch) {
    batch->peer = *peer;
    batch->due_ns = due_ns;
  }
  return batch;
}

static void
message_clear(Message* const message)
{
  free(message->address);
  free(message->file);
  if (message->arguments) {
    lo_message_free(message->arguments);
  }
}

void
batch_free(Batch* const batch)
{
  if (batch) {
    for (uint32_t i = 0; i < batch->n_messages; ++i) {
      message_clear(&batch->messages[i]);
    }
    free(batch);
  }
}

/// Of memory, about.
static size_t
message_bytes(const Message* const message)
{
  return message->n_bytes + MESSAGE_BYTES;
}

static Status
add_message(Batch* const batch, const uint8_t* const data, const size_t n_bytes)
{
  int result = 0;
  Message message = { .address = strdup((const char*)data), .n_bytes = n_bytes };
  message.arguments = lo_message_deserialise((void*)data, n_bytes, &result); // copies
  if (!message.address || !message.arguments) {
    message_clear(&message);
    return STATUS_NO_MEM;
  }
  batch->messages[batch->n_messages++] = message;
  batch->n_bytes += message_bytes(&message);
  return STATUS_OK;
}

static Batch*
append_batch(Reader* const reader, const uint64_t due_ns, const uint32_t capacity)
{
  Batch* const batch = batch_new(reader->peer, due_ns, capacity);
  if (batch) {
    *reader->tail = batch;
    reader->tail = &batch->next;
  }
  return batch;
}

static uint32_t
count_elements(const uint8_t* const data, const size_t n_bytes)
{
  uint32_t n = 0;
  for (size_t at = 16U; at < n_bytes; at += 4U + gate_read_u32(data + at)) {
    ++n;
  }
  return n;
}

/// A bundle's own messages first, then the bundles inside it, at most GATE_MAX_DEPTH deep.
static Status
read_bundle(Reader* const reader, const uint8_t* const data, const size_t n_bytes,
            const uint64_t parent_due_ns)
{
  const uint64_t own_due_ns = instant_of_tag(reader->arrival, gate_read_u64(data + 8U));
  const uint64_t due_ns = own_due_ns ? own_due_ns : parent_due_ns;
  Batch* const batch = append_batch(reader, due_ns, count_elements(data, n_bytes));
  Status status = batch ? STATUS_OK : STATUS_NO_MEM;

  size_t n_element = 0;
  for (size_t at = 16U; at < n_bytes && status == STATUS_OK; at += n_element) {
    n_element = gate_read_u32(data + at);
    at += 4U;
    if (data[at] == '/') {
      status = add_message(batch, data + at, n_element);
    }
  }
  for (size_t at = 16U; at < n_bytes && status == STATUS_OK; at += n_element) {
    n_element = gate_read_u32(data + at);
    at += 4U;
    if (data[at] == '#') {
      status = read_bundle(reader, data + at, n_element, due_ns);
    }
  }
  return status;
}

Status
batches_read(const void* const packet, const size_t n_bytes, const Peer* const peer,
             const Instant* const arrival, Batch** const batches)
{
  Batch* list = NULL;
  Reader reader = { peer, arrival, &list };
  Status status = STATUS_NO_MEM;
  if (*(const char*)packet == '#') {
    status = read_bundle(&reader, packet, n_bytes, 0);
  } else {
    Batch* const batch = append_batch(&reader, 0, 1);
    status = batch ? add_message(batch, packet, n_bytes) : STATUS_NO_MEM;
  }

  while (status != STATUS_OK && list) {
    Batch* const next = list->next;
    batch_free(list);
    list = next;
  }
  *batches = list;
  return status;
}

Batch*
batch_split(Batch* const batch, bool (*const wanted)(const Message* message), bool* const failed)
{
  uint32_t n_wanted = 0;
  for (uint32_t i = 0; i < batch->n_messages; ++i) {
    n_wanted += wanted(&batch->messages[i]);
  }
  Batch* const part = n_wanted ? batch_new(&batch->peer, batch->due_ns, n_wanted) : NULL;
  *failed = n_wanted && !part;
  if (!part) {
    return NULL;
  }

  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < batch->n_messages; ++i) {
    const Message message = batch->messages[i];
    if (wanted(&message)) {
      part->messages[part->n_messages++] = message;
      part->n_bytes += message_bytes(&message);
    } else {
      batch->messages[n_kept++] = message;
    }
  }
  batch->n_messages = n_kept;
  batch->n_bytes -= part->n_bytes;
  part->frame = batch->frame;
  return part;
}

uint32_t
message_n_arguments(const Message* const message)
{
  return (uint32_t)lo_message_get_argc(message->arguments);
}

char
message_type(const Message* const message, const uint32_t argument)
{
  return lo_message_get_types(message->arguments)[argument];
}

/// Where an argument's value lies.  liblo's lo_arg wants 8-byte alignment that OSC does not give,
/// so it is not looked at as one.
static const void*
value_at(const Message* const message, const uint32_t argument)
{
  return lo_message_get_argv(message->arguments)[argument];
}

const char*
message_text(const Message* const message, const uint32_t argument)
{
  return value_at(message, argument);
}

double
message_number(const Message* const message, const uint32_t argument)
{
  const void* const at = value_at(message, argument);
  union {
    int32_t i;
    int64_t h;
    float f;
    double d;
  } value;
  switch (message_type(message, argument)) {
  case 'i':
    memcpy(&value.i, at, sizeof(value.i));
    return value.i;
  case 'h':
    memcpy(&value.h, at, sizeof(value.h));
    return (double)value.h;
  case 'f':
    memcpy(&value.f, at, sizeof(value.f));
    return value.f;
  case 'd':
    memcpy(&value.d, at, sizeof(value.d));
    return value.d;
  default:
    return message_type(message, argument) == 'T';
  }
}
