// SPDX-License-Identifier: GPL-3.0-or-later
// The values of states as bytes.

#include "lv2_values.h"

#include "lv2_atom_uris.h"
#include "lv2_urids.h"

#include "engine/base/macros.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1024U

// ---- write ----

/// Append the line of a URI.  Returns its number, 0 if there is no room.
static uint32_t
add_uri(Lv2ValueWriter* const writer, const LV2_URID urid)
{
  const char* const uri = urid ? urid_unmap(urid) : NULL;
  LV2_URID* const uris = writer->n_uris < LV2_URIS_MAX
                             ? realloc(writer->uris, (writer->n_uris + 1U) * sizeof(LV2_URID))
                             : NULL;
  writer->uris = uris ? uris : writer->uris;
  char line[LINE_BYTES];
  const int n_line = uri && !strchr(uri, '\n') ? snprintf(line, sizeof(line), "uri %s\n", uri) : -1;
  if (!uris || n_line < 0 || n_line >= (int)sizeof(line) ||
      !state_append(writer->part, line, (size_t)n_line)) {
    return 0U;
  }
  uris[writer->n_uris++] = urid;
  return writer->n_uris;
}

/// The number of the line with a URI, which is appended if it is new; 0 on failure.
static uint32_t
uri_number(Lv2ValueWriter* const writer, const LV2_URID urid)
{
  for (uint32_t u = 0; u < writer->n_uris; ++u) {
    if (writer->uris[u] == urid) {
      return u + 1U;
    }
  }
  return add_uri(writer, urid);
}

/// AtomUris::exchange.
static bool
number_here(void* const writer, LV2_URID* const urid, LV2_URID* const here)
{
  *here = *urid;
  *urid = uri_number(writer, *urid);
  return *urid;
}

/// Append a value with its numbers replaced.
static bool
write_numbered(Lv2ValueWriter* const writer, const Lv2Value* const value, void* const body)
{
  const AtomUris uris = { writer, number_here };
  const uint32_t key = uri_number(writer, value->key);
  const uint32_t type = uri_number(writer, value->type);
  if (!key || !type || !atom_uris_exchange(&uris, value->type, body, value->n_bytes)) {
    return false;
  }
  char line[LINE_BYTES];
  const int n_line = snprintf(line, sizeof(line), "value %u %u %zu\n", key, type, value->n_bytes);
  return state_append(writer->part, line, (size_t)n_line) &&
         state_append(writer->part, body, value->n_bytes) && state_append(writer->part, "\n", 1U);
}

Status
lv2_values_write(Lv2ValueWriter* const writer, const Lv2Value* const value, Error* const error)
{
  const char* const key = urid_unmap(value->key);
  const char* const type = urid_unmap(value->type);
  if (value->n_bytes > FX_STATE_MAX_BYTES - writer->part->n) {
    return state_too_large(error);
  }
  if (writer->n_values == LV2_VALUES_MAX) {
    return error_set(error, STATUS_LIMIT, "its state has more than %u values", LV2_VALUES_MAX);
  }
  void* const body = malloc(value->n_bytes + 1U);
  if (!body) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memcpy(body, value->body, value->n_bytes);
  const bool is_written = write_numbered(writer, value, body);
  free(body);
  writer->n_values += is_written;
  return is_written ? STATUS_OK
                    : error_set(error, STATUS_FILE,
                                "its state has a value that cannot be saved: %.150s of type %.150s",
                                key ? key : "without a name", type ? type : "unknown");
}

Status
lv2_values_write_file(Lv2ValueWriter* const writer, const char* const name,
                      const char* const stored, Error* const error)
{
  char line[LINE_BYTES];
  const int n_line = snprintf(line, sizeof(line), "file %s %s\n", stored, name);
  const bool is_written =
      n_line > 0 && n_line < (int)sizeof(line) && state_append(writer->part, line, (size_t)n_line);
  return is_written ? STATUS_OK : state_too_large(error);
}

void
lv2_values_end(Lv2ValueWriter* const writer)
{
  free(writer->uris);
  *writer = (Lv2ValueWriter){ .part = writer->part };
}

// ---- read ----

typedef struct Reader {
  const char* at;
  const char* end;
  LV2_URID* uris; ///< [LV2_URIS_MAX]
  uint32_t n_uris;
  bool lacks_numbers; ///< Too few are left for the URIs of states
} Reader;

/// AtomUris::exchange.
static bool
number_there(void* const context, LV2_URID* const urid, LV2_URID* const here)
{
  const Reader* const reader = context;
  const bool is_known = *urid && *urid <= reader->n_uris;
  *urid = is_known ? reader->uris[*urid - 1U] : 0U;
  *here = *urid;
  return is_known;
}

/// The next line, without its newline; false if there is none of that length.
static bool
take_line(Reader* const reader, char line[const LINE_BYTES])
{
  const char* const end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
  const size_t n = end ? (size_t)(end - reader->at) : LINE_BYTES;
  if (n >= LINE_BYTES || memchr(reader->at, '\0', n)) {
    return false;
  }
  memcpy(line, reader->at, n);
  line[n] = '\0';
  reader->at = end + 1;
  return true;
}

static bool
take_uri(Reader* const reader, const char* const uri)
{
  const bool is_good = *uri && reader->n_uris < LV2_URIS_MAX;
  const LV2_URID urid = is_good ? urid_map_sparingly(uri) : 0U;
  reader->lacks_numbers = is_good && !urid;
  if (urid) {
    reader->uris[reader->n_uris++] = urid;
  }
  return urid;
}

/// Read the numbers of "KEY TYPE SIZE".
static bool
take_numbers(const char* text, unsigned long long numbers[const 3])
{
  bool is_good = true;
  for (int n = 0; n < 3 && is_good; ++n) {
    const size_t n_digits = strspn(text, "0123456789");
    is_good = n_digits && n_digits < 10U && text[n_digits] == (n < 2 ? ' ' : '\0');
    numbers[n] = is_good ? strtoull(text, NULL, 10) : 0U;
    text += n_digits + 1U;
  }
  return is_good;
}

/// Copy a value, with the numbers of this process.
static bool
take_value(Reader* const reader, const char* const text, Lv2Value* const value)
{
  const AtomUris uris = { reader, number_there };
  unsigned long long numbers[3];
  if (!take_numbers(text, numbers)) {
    return false;
  }
  const size_t n_left = (size_t)(reader->end - reader->at);
  *value = (Lv2Value){ (LV2_URID)numbers[0], (LV2_URID)numbers[1], NULL, (size_t)numbers[2] };
  if (value->n_bytes >= n_left || reader->at[value->n_bytes] != '\n' ||
      !number_there(reader, &value->key, &value->key) ||
      !number_there(reader, &value->type, &value->type)) {
    return false;
  }
  char* const body = malloc(value->n_bytes + 1U);
  if (!body) {
    return false;
  }
  memcpy(body, reader->at, value->n_bytes);
  body[value->n_bytes] = '\0'; // plugins read texts up to their zero, which a file may lack
  value->body = body;
  reader->at += value->n_bytes + 1U;
  return atom_uris_exchange(&uris, value->type, value->body, value->n_bytes);
}

/// Read "STORED NAME".
static bool
take_file(const char* const text, Lv2Values* const values)
{
  const char* const space = strchr(text, ' ');
  Lv2File* const files = space && space > text && space[1] && values->n_files < LV2_FILES_MAX
                             ? realloc(values->files, (values->n_files + 1U) * sizeof(Lv2File))
                             : NULL;
  values->files = files ? files : values->files;
  if (!files) {
    return false;
  }
  Lv2File* const file = &files[values->n_files++];
  *file = (Lv2File){ strdup(space + 1), strndup(text, (size_t)(space - text)) };
  return file->name && file->stored;
}

/// Read a line, and its value if it has one.
static bool
take(Reader* const reader, Lv2Values* const values)
{
  char line[LINE_BYTES];
  if (!take_line(reader, line)) {
    return false;
  }
  if (!strncmp(line, "uri ", 4U)) {
    return take_uri(reader, line + 4);
  }
  if (!strncmp(line, "file ", 5U)) {
    return take_file(line + 5, values);
  }
  Lv2Value* const list = values->n < LV2_VALUES_MAX
                             ? realloc(values->list, (values->n + 1U) * sizeof(Lv2Value))
                             : NULL;
  values->list = list ? list : values->list;
  if (!list || strncmp(line, "value ", 6U) != 0) {
    return false;
  }
  Lv2Value* const value = &list[values->n];
  *value = (Lv2Value){ 0 };
  const bool is_taken = take_value(reader, line + 6, value);
  values->n += value->body != NULL;
  return is_taken;
}

Status
lv2_values_read(const StatePart* const part, Lv2Values* const values, Error* const error)
{
  Reader reader = { .at = part->bytes,
                    .end = part->bytes + part->n_bytes,
                    .uris = calloc(LV2_URIS_MAX, sizeof(LV2_URID)) };
  bool is_good = reader.uris;
  while (is_good && reader.at < reader.end) {
    is_good = take(&reader, values);
  }
  if (!reader.uris) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  free(reader.uris);
  if (reader.lacks_numbers) {
    return error_set(error, STATUS_LIMIT, "the worker knows too many URIs to read the state");
  }
  return is_good ? STATUS_OK
                 : error_set(error, STATUS_FILE, "the state is damaged after %u values", values->n);
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

const char*
lv2_values_stored(const Lv2Values* const values, const char* const name)
{
  for (uint32_t f = 0; f < values->n_files; ++f) {
    if (!strcmp(values->files[f].name, name)) {
      return values->files[f].stored;
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
  for (uint32_t f = 0; f < values->n_files; ++f) {
    free(values->files[f].name);
    free(values->files[f].stored);
  }
  free(values->files);
  free(values->list);
  *values = (Lv2Values){ 0 };
}
