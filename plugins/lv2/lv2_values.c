// SPDX-License-Identifier: GPL-3.0-or-later
// The values of states as bytes.

#include "lv2_values.h"

#include "lv2_urids.h"

#include "engine/base/macros.h"

#include <lv2/atom/atom.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 2048U // of the URIs of a value

static bool
is_type(const char* const uri, const char* const type)
{
  return !strcmp(uri, type);
}

/// True for types that may have numbers for URIs at places that the host does not know.
static bool
is_nested(const char* const type)
{
  static const char* const nested[] = { LV2_ATOM__Blank,    LV2_ATOM__Event,    LV2_ATOM__Literal,
                                        LV2_ATOM__Object,   LV2_ATOM__Property, LV2_ATOM__Resource,
                                        LV2_ATOM__Sequence, LV2_ATOM__Tuple };
  bool is_one = false;
  for (size_t t = 0; t < ARRAY_LEN(nested); ++t) {
    is_one = is_one || is_type(type, nested[t]);
  }
  return is_one;
}

// ---- write ----

/// The URI of a number; NULL if it has none that can be written in a line.
static const char*
printable_uri(const LV2_URID urid)
{
  const char* const uri = urid ? urid_unmap(urid) : NULL;
  return uri && *uri && !strpbrk(uri, " \t\r\n") && strlen(uri) < LINE_BYTES / 4U ? uri : NULL;
}

/// The type of a vector's elements; NULL if it is no vector, or none that can be stored.
static const char*
element_of(const Lv2Value* const value)
{
  LV2_Atom_Vector_Body body;
  if (value->n_bytes < sizeof(body)) {
    return NULL;
  }
  memcpy(&body, value->body, sizeof(body));
  const char* const uri = printable_uri(body.child_type);
  return uri && !is_type(uri, LV2_ATOM__URID) && !is_type(uri, LV2_ATOM__Vector) && !is_nested(uri)
             ? uri
             : NULL;
}

Status
lv2_values_write(TextBuffer* const part, const Lv2Value* const value, Error* const error)
{
  const char* const key = printable_uri(value->key);
  const char* const type = printable_uri(value->type);
  const bool is_vector = type && is_type(type, LV2_ATOM__Vector);
  const char* const element = is_vector ? element_of(value) : "-";
  const void* body = value->body;
  size_t n_bytes = value->n_bytes;
  if (type && is_type(type, LV2_ATOM__URID)) {
    LV2_URID urid = 0;
    memcpy(&urid, value->body, n_bytes == sizeof(urid) ? sizeof(urid) : 0U);
    body = printable_uri(urid);
    n_bytes = body ? strlen(body) : 0U;
  }
  if (!key || !type || !element || !body || is_nested(type)) {
    return error_set(error, STATUS_FILE, "its state has a value of a type that cannot be saved: %s",
                     type ? type : "unknown");
  }
  char line[LINE_BYTES];
  const int n_line = snprintf(line, sizeof(line), "%s %s %s %zu\n", key, type, element, n_bytes);
  const bool has_room = state_append(part, line, (size_t)n_line) &&
                        state_append(part, body, n_bytes) && state_append(part, "\n", 1U);
  return has_room ? STATUS_OK
                  : error_set(error, STATUS_LIMIT, "its state has more than %u MiB",
                              FX_STATE_MAX_BYTES >> 20U);
}

// ---- read ----

/// Copy the next word of a line, up to `end`.
static bool
take_word(const char** const at, const char end, char word[const LINE_BYTES / 4U])
{
  const size_t n = strcspn(*at, " \n");
  const bool is_word = n && n < LINE_BYTES / 4U && (*at)[n] == end;
  if (is_word) {
    memcpy(word, *at, n);
    word[n] = '\0';
    *at += n + 1U;
  }
  return is_word;
}

/// Copy a value, with its URIs as numbers of this process.
static bool
take_body(Lv2Value* const value, const char* const type, const char* const element,
          const char* const bytes)
{
  const bool is_urid = is_type(type, LV2_ATOM__URID);
  value->body = calloc(1, value->n_bytes + 1U);
  if (!value->body) {
    return false;
  }
  memcpy(value->body, bytes, value->n_bytes);
  if (is_urid) {
    const LV2_URID urid = urid_map(value->body);
    value->n_bytes = sizeof(urid);
    free(value->body);
    value->body = calloc(1, sizeof(urid));
    if (value->body) {
      memcpy(value->body, &urid, sizeof(urid));
    }
  } else if (is_type(type, LV2_ATOM__Vector)) {
    ((LV2_Atom_Vector_Body*)value->body)->child_type = urid_map(element);
  }
  return value->body;
}

/// Read the next value.  Returns false if there is none, or no memory for it.
static bool
take_value(const char** const at, const char* const end, Lv2Value* const value)
{
  char key[LINE_BYTES / 4U];
  char type[LINE_BYTES / 4U];
  char element[LINE_BYTES / 4U];
  char size[LINE_BYTES / 4U];
  if (!take_word(at, ' ', key) || !take_word(at, ' ', type) || !take_word(at, ' ', element) ||
      !take_word(at, '\n', size) || strspn(size, "0123456789") != strlen(size) ||
      strlen(size) > 10U) {
    return false;
  }
  value->n_bytes = strtoul(size, NULL, 10);
  const size_t n_left = (size_t)(end - *at);
  const bool is_short =
      is_type(type, LV2_ATOM__Vector) && value->n_bytes < sizeof(LV2_Atom_Vector_Body);
  if (value->n_bytes >= n_left || (*at)[value->n_bytes] != '\n' || is_short || is_nested(type)) {
    return false;
  }
  value->key = urid_map(key);
  value->type = urid_map(type);
  const bool is_taken = value->key && value->type && take_body(value, type, element, *at);
  *at = *at + (strtoul(size, NULL, 10) + 1U);
  return is_taken;
}

Status
lv2_values_read(const StatePart* const part, Lv2Values* const values, Error* const error)
{
  const char* at = part->bytes;
  const char* const end = part->bytes + part->n_bytes;
  while (at < end && values->n < LV2_VALUES_MAX) {
    Lv2Value* const list = realloc(values->list, (values->n + 1U) * sizeof(Lv2Value));
    values->list = list ? list : values->list;
    if (!list) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    list[values->n] = (Lv2Value){ 0 };
    if (!take_value(&at, end, &list[values->n])) {
      return error_set(error, STATUS_FILE, "value %u of the state is damaged", values->n + 1U);
    }
    ++values->n;
  }
  return at == end
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT, "the state has more than %u values", LV2_VALUES_MAX);
}

const Lv2Value*
lv2_values_find(const Lv2Values* const values, const LV2_URID key)
{
  for (uint32_t v = 0; v < values->n; ++v) {
    if (values->list[v].key == key) {
      return &values->list[v];
    }
  }
  return NULL;
}

void
lv2_values_clear(Lv2Values* const values)
{
  for (uint32_t v = 0; v < values->n; ++v) {
    free(values->list[v].body);
  }
  free(values->list);
  *values = (Lv2Values){ 0 };
}
