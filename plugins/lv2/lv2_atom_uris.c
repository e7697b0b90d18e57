// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers for URIs in atoms.  The layouts are those of lv2/atom/atom.h.

#include "lv2_atom_uris.h"

#include "lv2_urids.h"

#include <lv2/atom/atom.h>

#include <stdint.h>
#include <string.h>

#define MAX_DEPTH 16U // of nested atoms; each costs one recursion

/// The rest of a body.
typedef struct Rest {
  const AtomUris* uris;
  unsigned char* at;
  size_t n_bytes;
  unsigned depth;
} Rest;

/// Types with numbers for URIs, or with other atoms.
typedef enum Kind {
  KIND_BLANK,
  KIND_EVENT,
  KIND_LITERAL,
  KIND_OBJECT,
  KIND_PROPERTY,
  KIND_RESOURCE,
  KIND_SEQUENCE,
  KIND_TUPLE,
  KIND_URID,
  KIND_VECTOR,
  KIND_PLAIN ///< Any other
} Kind;

static Kind
kind_of(const LV2_URID type)
{
  static const char* const types[] = {
    [KIND_BLANK] = LV2_ATOM__Blank,       [KIND_EVENT] = LV2_ATOM__Event,
    [KIND_LITERAL] = LV2_ATOM__Literal,   [KIND_OBJECT] = LV2_ATOM__Object,
    [KIND_PROPERTY] = LV2_ATOM__Property, [KIND_RESOURCE] = LV2_ATOM__Resource,
    [KIND_SEQUENCE] = LV2_ATOM__Sequence, [KIND_TUPLE] = LV2_ATOM__Tuple,
    [KIND_URID] = LV2_ATOM__URID,         [KIND_VECTOR] = LV2_ATOM__Vector,
  };
  Kind kind = KIND_BLANK;
  while (kind < KIND_PLAIN && type != urid_map(types[kind])) {
    ++kind;
  }
  return kind;
}

static bool
skip(Rest* const rest, const size_t n_bytes)
{
  const bool has = rest->n_bytes >= n_bytes;
  rest->at += has ? n_bytes : 0U;
  rest->n_bytes -= has ? n_bytes : 0U;
  return has;
}

/// Replace the number that comes next.  `here`: as AtomUris::exchange, 0 for 0.
static bool
take_urid(Rest* const rest, LV2_URID* const here)
{
  LV2_URID urid = 0;
  unsigned char* const at = rest->at;
  if (!skip(rest, sizeof(urid))) {
    return false;
  }
  memcpy(&urid, at, sizeof(urid));
  *here = 0;
  const bool is_known = !urid || rest->uris->exchange(rest->uris->context, &urid, here);
  memcpy(at, &urid, sizeof(urid));
  return is_known;
}

static bool
take_urids(Rest* const rest, const unsigned n)
{
  LV2_URID here = 0;
  bool is_good = true;
  for (unsigned i = 0; i < n && is_good; ++i) {
    is_good = take_urid(rest, &here);
  }
  return is_good;
}

static bool take_body(const Rest* rest, LV2_URID type);

/// Take a complete atom, with its padding unless it is the last.
static bool
take_atom(Rest* const rest)
{
  uint32_t n_body = 0;
  LV2_URID type = 0;
  unsigned char* const at = rest->at;
  if (!skip(rest, sizeof(n_body))) {
    return false;
  }
  memcpy(&n_body, at, sizeof(n_body));
  if (!take_urid(rest, &type) || n_body > rest->n_bytes) {
    return false;
  }
  const Rest body = { rest->uris, rest->at, n_body, rest->depth + 1U };
  const size_t n_padded = ((size_t)n_body + 7U) & ~(size_t)7U;
  return take_body(&body, type) && skip(rest, n_padded < rest->n_bytes ? n_padded : rest->n_bytes);
}

static bool
take_vector(Rest* const rest)
{
  uint32_t n_element = 0;
  LV2_URID type = 0;
  const unsigned char* const at = rest->at;
  if (!skip(rest, sizeof(n_element)) || !take_urid(rest, &type)) {
    return false;
  }
  memcpy(&n_element, at, sizeof(n_element));
  bool is_good = n_element && rest->n_bytes % n_element == 0U;
  const bool is_plain = kind_of(type) == KIND_PLAIN;
  while (is_good && !is_plain && rest->n_bytes) {
    const Rest element = { rest->uris, rest->at, n_element, rest->depth + 1U };
    is_good = take_body(&element, type) && skip(rest, n_element);
  }
  return is_good;
}

/// Take atoms to the end, each behind `n_urids` numbers and `n_other` bytes.
static bool
take_atoms(Rest* const rest, const unsigned n_urids, const size_t n_other)
{
  bool is_good = true;
  while (is_good && rest->n_bytes) {
    is_good = take_urids(rest, n_urids) && skip(rest, n_other) && take_atom(rest);
  }
  return is_good;
}

static bool
take_body(const Rest* const body, const LV2_URID type)
{
  Rest rest = *body;
  LV2_URID here = 0;
  if (rest.depth > MAX_DEPTH) {
    return false;
  }
  switch (kind_of(type)) {
  case KIND_URID:
    return take_urid(&rest, &here) && !rest.n_bytes;
  case KIND_VECTOR:
    return take_vector(&rest);
  case KIND_TUPLE:
    return take_atoms(&rest, 0U, 0U);
  case KIND_OBJECT:
  case KIND_RESOURCE:
    return take_urids(&rest, 2U) && take_atoms(&rest, 2U, 0U);
  case KIND_BLANK: // its id is no URI
    return skip(&rest, sizeof(LV2_URID)) && take_urids(&rest, 1U) && take_atoms(&rest, 2U, 0U);
  case KIND_PROPERTY:
    return take_urids(&rest, 2U) && take_atom(&rest);
  case KIND_LITERAL:
    return take_urids(&rest, 2U);
  case KIND_SEQUENCE:
    return take_urids(&rest, 1U) && skip(&rest, sizeof(uint32_t)) &&
           take_atoms(&rest, 0U, sizeof(int64_t));
  case KIND_EVENT: // no atom
    return false;
  case KIND_PLAIN:
    break;
  }
  return true;
}

bool
atom_uris_exchange(const AtomUris* const uris, const LV2_URID type, void* const body,
                   const size_t n_bytes)
{
  const Rest rest = { uris, body, n_bytes, 0U };
  return take_body(&rest, type);
}
