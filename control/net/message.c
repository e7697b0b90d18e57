// SPDX-License-Identifier: GPL-3.0-or-later
// Makes bundles of messages from a packet that packet_check() has accepted.  Each message is one
// allocation: its bytes, and the places of its arguments in them.

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
  const Peer* peer;
  const Instant* arrival;
  uint64_t group;
  Bundle** tail; // the place of the next bundle in the list
} Reader;

static Bundle*
bundle_new(const Peer* const peer, const uint64_t due_ns, const uint32_t capacity)
{
  Bundle* const bundle = calloc(1, sizeof(Bundle) + capacity * sizeof(Message));
  if (bundle) {
    bundle->peer = *peer;
    bundle->due_ns = due_ns;
  }
  return bundle;
}

// ---- one message ----

/// The size of a text with its zero and its padding.
static size_t
text_bytes(const char* const text)
{
  return (strlen(text) + 4U) & ~(size_t)3U;
}

/// The size of an argument's value.
static size_t
value_bytes(const char type, const char* const value)
{
  switch (type) {
  case 's':
  case 'S':
    return text_bytes(value);
  case 'b':
    return 4U + ((packet_read_u32(value) + 3U) & ~(size_t)3U);
  case 'd':
  case 'h':
  case 't':
    return 8U;
  case 'F':
  case 'I':
  case 'N':
  case 'T':
    return 0U;
  default:
    return 4U;
  }
}

Status
message_read(Message* const message, const void* const packet, const size_t n_bytes)
{
  const char* const all_types = (const char*)packet + text_bytes(packet); // with the comma
  const size_t n_arguments = strlen(all_types) - 1U;
  char* const copy = malloc(n_bytes + n_arguments * sizeof(uint32_t)); // n_bytes: a multiple of 4
  if (!copy) {
    return STATUS_NO_MEM;
  }
  memcpy(copy, packet, n_bytes);
  uint32_t* const places = (uint32_t*)(void*)(copy + n_bytes);
  size_t place = (size_t)(all_types - (const char*)packet) + text_bytes(all_types);
  for (size_t a = 0; a < n_arguments; ++a) {
    places[a] = (uint32_t)place;
    place += value_bytes(all_types[1U + a], copy + place);
  }
  *message = (Message){ .address = copy,
                        .types = copy + (all_types - (const char*)packet) + 1,
                        .places = places,
                        .n_bytes = n_bytes };
  return STATUS_OK;
}

void
message_clear(Message* const message)
{
  free(message->address);
  free(message->file);
  free(message->text);
}

// ---- bundles ----

static void
free_one(Bundle* const bundle)
{
  for (uint32_t i = 0; i < bundle->n_messages; ++i) {
    message_clear(&bundle->messages[i]);
  }
  free(bundle);
}

void
bundle_free(Bundle* const bundle)
{
  if (bundle) {
    for (Bundle* older = bundle->older; older;) {
      Bundle* const next = older->next;
      free_one(older);
      older = next;
    }
    free_one(bundle);
  }
}

/// Approximate memory of a message, in bytes.
static size_t
message_bytes(const Message* const message)
{
  return message->n_bytes + MESSAGE_BYTES;
}

/// Append a message.  `n_answers`: the bytes that answers to a stranger may have.
static Status
add_message(Bundle* const bundle, const uint8_t* const data, const size_t n_bytes,
            const size_t n_answers)
{
  Message message;
  if (message_read(&message, data, n_bytes)) {
    return STATUS_NO_MEM;
  }
  message.n_bytes = n_answers;
  bundle->messages[bundle->n_messages++] = message;
  bundle->n_bytes += message_bytes(&message);
  return STATUS_OK;
}

static Bundle*
append_bundle(Reader* const reader, const uint64_t due_ns, const uint32_t capacity)
{
  Bundle* const bundle = bundle_new(reader->peer, due_ns, capacity);
  if (bundle) {
    bundle->group = reader->group;
    *reader->tail = bundle;
    reader->tail = &bundle->next;
  }
  return bundle;
}

static uint32_t
count_elements(const uint8_t* const data, const size_t n_bytes)
{
  uint32_t n = 0;
  for (size_t at = 16U; at < n_bytes; at += 4U + packet_read_u32(data + at)) {
    ++n;
  }
  return n;
}

/// Read a bundle's own messages, then its nested bundles, at most PACKET_MAX_DEPTH deep.
static Status
read_bundle(Reader* const reader, const uint8_t* const data, const size_t n_bytes,
            const uint64_t parent_due_ns)
{
  const uint64_t own_due_ns = instant_of_tag(reader->arrival, packet_read_u64(data + 8U));
  const uint64_t due_ns = own_due_ns ? own_due_ns : parent_due_ns;
  Bundle* const bundle = append_bundle(reader, due_ns, count_elements(data, n_bytes));
  Status status = bundle ? STATUS_OK : STATUS_NO_MEM;

  size_t n_element = 0;
  for (size_t at = 16U; at < n_bytes && status == STATUS_OK; at += n_element) {
    n_element = packet_read_u32(data + at);
    at += 4U;
    if (data[at] == '/') {
      // The messages share one packet, but each answer is a packet with headers of its own.
      const size_t n_headers = n_element < MESSAGE_HEADER_BYTES ? n_element : MESSAGE_HEADER_BYTES;
      status = add_message(bundle, data + at, n_element, n_element - n_headers);
    }
  }
  for (size_t at = 16U; at < n_bytes && status == STATUS_OK; at += n_element) {
    n_element = packet_read_u32(data + at);
    at += 4U;
    if (data[at] == '#') {
      status = read_bundle(reader, data + at, n_element, due_ns);
    }
  }
  return status;
}

Status
bundles_read(const void* const packet, const size_t n_bytes, const Peer* const peer,
             const Instant* const arrival, Bundle** const bundles)
{
  Bundle* list = NULL;
  Reader reader = { peer, arrival, 0, &list };
  Status status = STATUS_NO_MEM;
  if (*(const char*)packet == '#') {
    reader.group = arrival->monotonic_ns; // no two packets of a sender arrive at the same time
    status = read_bundle(&reader, packet, n_bytes, 0);
  } else {
    Bundle* const bundle = append_bundle(&reader, 0, 1);
    status = bundle ? add_message(bundle, packet, n_bytes, n_bytes) : STATUS_NO_MEM;
  }

  while (status != STATUS_OK && list) {
    Bundle* const next = list->next;
    bundle_free(list);
    list = next;
  }
  *bundles = list;
  return status;
}

Bundle*
bundle_split(Bundle* const bundle, bool (*const wanted)(const Message* message), bool* const failed)
{
  uint32_t n_wanted = 0;
  for (uint32_t i = 0; i < bundle->n_messages; ++i) {
    n_wanted += wanted(&bundle->messages[i]);
  }
  Bundle* const part = n_wanted ? bundle_new(&bundle->peer, bundle->due_ns, n_wanted) : NULL;
  *failed = n_wanted && !part;
  if (!part) {
    return NULL;
  }

  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < bundle->n_messages; ++i) {
    const Message message = bundle->messages[i];
    if (wanted(&message)) {
      part->messages[part->n_messages++] = message;
      part->n_bytes += message_bytes(&message);
    } else {
      bundle->messages[n_kept++] = message;
    }
  }
  bundle->n_messages = n_kept;
  bundle->n_bytes -= part->n_bytes;
  part->frame = bundle->frame;
  part->group = bundle->group;
  return part;
}

const char*
address_node(const char* const address, char* const name, const size_t n_bytes)
{
  const char* const start = address + strlen("/node/");
  snprintf(name, n_bytes, "%.*s", (int)strcspn(start, "/"), start);
  return name;
}

uint32_t
message_n_arguments(const Message* const message)
{
  return (uint32_t)strlen(message->types);
}

char
message_type(const Message* const message, const uint32_t argument)
{
  return message->types[argument];
}

const char*
message_text(const Message* const message, const uint32_t argument)
{
  return message->address + message->places[argument];
}

double
message_number(const Message* const message, const uint32_t argument)
{
  const char* const at = message_text(message, argument);
  union {
    uint32_t bits;
    float f;
  } single;
  union {
    uint64_t bits;
    double d;
  } twice;
  switch (message_type(message, argument)) {
  case 'i':
    return (int32_t)packet_read_u32(at);
  case 'h':
    return (double)(int64_t)packet_read_u64(at);
  case 'f':
    single.bits = packet_read_u32(at);
    return single.f;
  case 'd':
    twice.bits = packet_read_u64(at);
    return twice.d;
  default:
    return message_type(message, argument) == 'T';
  }
}
