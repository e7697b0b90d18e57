// SPDX-License-Identifier: GPL-3.0-or-later
// Checks packets.  Format: Matthew Wright, "The Open Sound Control 1.0 Specification", 2002.

#include "packet_check.h"

#include "clock.h"

#include <stdbool.h>
#include <string.h>

static const struct {
  const char* word;
  const char* text;
} reasons[PACKET_N_FAULTS] = {
  [PACKET_OK] = { "ok", "well-formed" },
  [PACKET_EMPTY] = { "empty", "an empty packet" },
  [PACKET_SIZE] = { "size", "the size is not a multiple of 4" },
  [PACKET_TOO_LARGE] = { "too_large", "the packet is too large" },
  [PACKET_START] = { "start", "starts with neither an address nor \"#bundle\"" },
  [PACKET_ADDRESS_OPEN] = { "address_open", "the address is not terminated" },
  [PACKET_ADDRESS_LONG] = { "address_long", "the address is too long" },
  [PACKET_ADDRESS_CHARACTER] = { "address_character",
                                 "a character that is not allowed in an address" },
  [PACKET_ADDRESS_SLASH] = { "address_slash", "an empty part in the address, or \"/\" at its end" },
  [PACKET_PATTERN] = { "pattern", "unbalanced or empty brackets in the address" },
  [PACKET_PADDING] = { "padding", "padding that is not zero" },
  [PACKET_NO_TYPES] = { "no_types", "no type tag string" },
  [PACKET_TYPES_OPEN] = { "types_open", "the type tag string is not terminated" },
  [PACKET_TYPE] = { "type", "an unknown type tag" },
  [PACKET_TOO_MANY_ARGUMENTS] = { "too_many_arguments", "too many arguments" },
  [PACKET_ARGUMENT_SHORT] = { "argument_short", "an argument lacks bytes" },
  [PACKET_STRING_OPEN] = { "string_open", "a string is not terminated" },
  [PACKET_STRING_CHARACTER] = { "string_character", "a control character in a string" },
  [PACKET_BLOB] = { "blob", "a blob longer than its packet" },
  [PACKET_TRAILING] = { "trailing", "bytes after the last argument" },
  [PACKET_BUNDLE_SHORT] = { "bundle_short", "a bundle without time tag, or cut off" },
  [PACKET_ELEMENT] = { "element", "a bundle element with an impossible size" },
  [PACKET_DEPTH] = { "depth", "bundles nested too deeply" },
  [PACKET_TOO_MANY_MESSAGES] = { "too_many_messages", "too many messages in one packet" },
  [PACKET_TIME_FAR] = { "time_far", "a time tag more than 10 s ahead" },
  [PACKET_TIME_ORDER] = { "time_order", "a nested bundle earlier than the one around it" },
};

typedef struct Walk {
  uint64_t now_ntp;
  uint32_t n_messages;
} Walk;

uint32_t
packet_read_u32(const void* const bytes)
{
  const uint8_t* const b = bytes;
  return (uint32_t)b[0] << 24U | (uint32_t)b[1] << 16U | (uint32_t)b[2] << 8U | b[3];
}

uint64_t
packet_read_u64(const void* const bytes)
{
  return (uint64_t)packet_read_u32(bytes) << 32U | packet_read_u32((const uint8_t*)bytes + 4);
}

/// Number of bytes of a string with terminator and padding; 0 if the string is not terminated.
static size_t
string_bytes(const uint8_t* const data, const size_t n_bytes)
{
  const uint8_t* const end = memchr(data, 0, n_bytes);
  return end ? ((size_t)(end - data) + 4U) & ~(size_t)3U : 0;
}

static bool
is_zero(const uint8_t* const data, const size_t n_bytes)
{
  for (size_t i = 0; i < n_bytes; ++i) {
    if (data[i]) {
      return false;
    }
  }
  return true;
}

static bool
has_zero_padding(const uint8_t* const data, const size_t n_bytes)
{
  const size_t length = strlen((const char*)data);
  return is_zero(data + length, n_bytes - length);
}

/// Check a group in brackets or braces.  `*at` is the index of the opening character, afterwards
/// that of the closing one.
static PacketFault
check_group(const uint8_t* const data, size_t* const at)
{
  const uint8_t close = data[*at] == '[' ? ']' : '}';
  const size_t first = *at + 1U;
  for (size_t i = first; data[i] && data[i] != '/'; ++i) {
    if (data[i] == close) {
      *at = i;
      return i > first ? PACKET_OK : PACKET_PATTERN;
    }
    if (strchr("[]{}*?", data[i])) {
      return PACKET_PATTERN;
    }
    if (data[i] <= ' ' || data[i] > '~' || data[i] == '#') {
      return PACKET_ADDRESS_CHARACTER;
    }
  }
  return PACKET_PATTERN;
}

static PacketFault
check_address(const uint8_t* const data)
{
  const size_t length = strlen((const char*)data);
  if (length > PACKET_MAX_ADDRESS) {
    return PACKET_ADDRESS_LONG;
  }
  for (size_t i = 0; i < length; ++i) {
    if (data[i] == '/' && (data[i + 1U] == '/' || data[i + 1U] == 0)) {
      return PACKET_ADDRESS_SLASH;
    }
    if (data[i] <= ' ' || data[i] > '~' || data[i] == '#' || data[i] == ',') {
      return PACKET_ADDRESS_CHARACTER;
    }
    if (data[i] == ']' || data[i] == '}') {
      return PACKET_PATTERN;
    }
    if (data[i] == '[' || data[i] == '{') {
      const PacketFault reason = check_group(data, &i);
      if (reason != PACKET_OK) {
        return reason;
      }
    }
  }
  return PACKET_OK;
}

static PacketFault
check_text(const uint8_t* const data, const size_t n_bytes, size_t* const n_used)
{
  *n_used = string_bytes(data, n_bytes);
  if (*n_used == 0) {
    return PACKET_STRING_OPEN;
  }
  for (const uint8_t* c = data; *c; ++c) {
    if ((*c < ' ' && *c != '\n' && *c != '\r' && *c != '\t') || *c == 0x7F) {
      return PACKET_STRING_CHARACTER;
    }
  }
  return has_zero_padding(data, *n_used) ? PACKET_OK : PACKET_PADDING;
}

static PacketFault
check_blob(const uint8_t* const data, const size_t n_bytes, size_t* const n_used)
{
  if (n_bytes < 4U) {
    return PACKET_ARGUMENT_SHORT;
  }
  const size_t length = packet_read_u32(data);
  if (length > n_bytes - 4U) {
    return PACKET_BLOB;
  }
  *n_used = 4U + ((length + 3U) & ~(size_t)3U);
  return is_zero(data + 4U + length, *n_used - 4U - length) ? PACKET_OK : PACKET_PADDING;
}

static PacketFault
check_argument(const uint8_t type, const uint8_t* const data, const size_t n_bytes,
               size_t* const n_used)
{
  switch (type) {
  case 'c':
  case 'f':
  case 'i':
  case 'm':
    *n_used = 4U;
    break;
  case 'd':
  case 'h':
  case 't':
    *n_used = 8U;
    break;
  case 'F':
  case 'I':
  case 'N':
  case 'T':
    *n_used = 0U;
    break;
  case 'S':
  case 's':
    return check_text(data, n_bytes, n_used);
  case 'b':
    return check_blob(data, n_bytes, n_used);
  default:
    return PACKET_TYPE;
  }
  return *n_used <= n_bytes ? PACKET_OK : PACKET_ARGUMENT_SHORT;
}

static PacketFault
check_arguments(const char* type, const uint8_t* data, size_t n_bytes)
{
  for (; *type; ++type) {
    size_t n_used = 0;
    const PacketFault reason = check_argument((uint8_t)*type, data, n_bytes, &n_used);
    if (reason != PACKET_OK) {
      return reason;
    }
    data += n_used;
    n_bytes -= n_used;
  }
  return n_bytes == 0 ? PACKET_OK : PACKET_TRAILING;
}

static PacketFault
check_message(Walk* const walk, const uint8_t* const data, const size_t n_bytes)
{
  if (++walk->n_messages > PACKET_MAX_MESSAGES) {
    return PACKET_TOO_MANY_MESSAGES;
  }
  const size_t n_address = string_bytes(data, n_bytes);
  if (n_address == 0) {
    return PACKET_ADDRESS_OPEN;
  }
  const PacketFault reason = check_address(data);
  if (reason != PACKET_OK) {
    return reason;
  }
  if (!has_zero_padding(data, n_address)) {
    return PACKET_PADDING;
  }

  const uint8_t* const types = data + n_address;
  const size_t n_left = n_bytes - n_address;
  if (n_left == 0 || types[0] != ',') {
    return PACKET_NO_TYPES;
  }
  const size_t n_types = string_bytes(types, n_left);
  if (n_types == 0) {
    return PACKET_TYPES_OPEN;
  }
  if (!has_zero_padding(types, n_types)) {
    return PACKET_PADDING;
  }
  if (strlen((const char*)types) - 1U > PACKET_MAX_ARGUMENTS) {
    return PACKET_TOO_MANY_ARGUMENTS;
  }
  return check_arguments((const char*)types + 1, types + n_types, n_left - n_types);
}

static PacketFault
check_time(const uint64_t now_ntp, const uint64_t tag, const uint64_t parent)
{
  if (tag_is_immediate(tag)) {
    return PACKET_OK; // a nested bundle has the time of the outer one
  }
  if (tag_minus(tag, now_ntp) > (int64_t)(PACKET_HORIZON_S * TAG_SECOND)) {
    return PACKET_TIME_FAR;
  }
  return !tag_is_immediate(parent) && tag_minus(tag, parent) < 0 ? PACKET_TIME_ORDER : PACKET_OK;
}

static PacketFault
check_element(Walk* walk, const uint8_t* data, size_t n_bytes, uint32_t depth, uint64_t parent);

static PacketFault
check_bundle(Walk* const walk, const uint8_t* const data, const size_t n_bytes,
             const uint32_t depth, const uint64_t parent)
{
  if (depth > PACKET_MAX_DEPTH) {
    return PACKET_DEPTH;
  }
  if (n_bytes < 16U) {
    return PACKET_BUNDLE_SHORT;
  }
  const uint64_t own = packet_read_u64(data + 8U);
  const PacketFault timing = check_time(walk->now_ntp, own, parent);
  if (timing != PACKET_OK) {
    return timing;
  }
  const uint64_t tag = tag_is_immediate(own) ? parent : own;

  for (size_t at = 16U; at < n_bytes;) {
    const size_t n_left = n_bytes - at - 4U; // n_bytes and at are multiples of 4
    const size_t n_element = packet_read_u32(data + at);
    if (n_element == 0 || n_element % 4U || n_element > n_left) {
      return PACKET_ELEMENT;
    }
    const PacketFault reason = check_element(walk, data + at + 4U, n_element, depth, tag);
    if (reason != PACKET_OK) {
      return reason;
    }
    at += 4U + n_element;
  }
  return PACKET_OK;
}

static PacketFault
check_element(Walk* const walk, const uint8_t* const data, const size_t n_bytes,
              const uint32_t depth, const uint64_t parent)
{
  if (data[0] == '/') {
    return check_message(walk, data, n_bytes);
  }
  if (n_bytes >= 8U && memcmp(data, "#bundle", 8) == 0) {
    return check_bundle(walk, data, n_bytes, depth + 1U, parent);
  }
  return PACKET_START;
}

PacketFault
packet_check(const void* const packet, const size_t n_bytes, const uint64_t now_ntp,
             uint32_t* const n_messages)
{
  if (n_bytes == 0) {
    return PACKET_EMPTY;
  }
  if (n_bytes > PACKET_MAX_BYTES) {
    return PACKET_TOO_LARGE;
  }
  if (n_bytes % 4U) {
    return PACKET_SIZE;
  }
  Walk walk = { now_ntp, 0 };
  const PacketFault reason = check_element(&walk, packet, n_bytes, 0, TAG_IMMEDIATELY);
  if (reason == PACKET_OK) {
    *n_messages = walk.n_messages;
  }
  return reason;
}

const char*
packet_fault_text(const PacketFault reason)
{
  return reasons[reason].text;
}

const char*
packet_fault_word(const PacketFault reason)
{
  return reasons[reason].word;
}
