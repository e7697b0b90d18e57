// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugin_names.h"

#include "plugin.h"

#include "engine/base/hash.h"
#include "engine/base/number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAME 48U // leaves room for a number after a name of PLUGIN_ID_BYTES

// ---- distinct names ----

NameSet
names_begin(Arena* const arena, const uint32_t n)
{
  uint32_t n_slots = 2;
  while (n_slots < 2U * n) {
    n_slots *= 2U;
  }
  return (NameSet){ .arena = arena,
                    .names = arena_take(arena, n_slots, sizeof(char*)),
                    .numbers = arena_take(arena, n_slots, sizeof(uint32_t)),
                    .mask = n_slots - 1U };
}

/// The slot of a name, or the empty slot for it.
static uint32_t
find_slot(const NameSet* const set, const char* const name)
{
  uint32_t slot = hash_text(HASH32_START, name) & set->mask;
  while (set->names[slot] && strcmp(set->names[slot], name) != 0) {
    slot = (slot + 1U) & set->mask;
  }
  return slot;
}

const char*
names_add(NameSet* const set, const char* const name, const char separator)
{
  if (set->arena->failed) {
    return NULL;
  }
  const uint32_t first = find_slot(set, name);
  if (!set->names[first]) {
    set->names[first] = name;
    return name;
  }
  const size_t n_bytes = strlen(name) + 16U;
  char* const numbered = arena_take(set->arena, 1, n_bytes);
  uint32_t slot = first;
  while (numbered && set->names[slot]) {
    set->numbers[first]++;
    snprintf(numbered, n_bytes, "%s%c%u", name, separator, set->numbers[first] + 1U);
    slot = find_slot(set, numbered);
  }
  set->names[slot] = numbered ? numbered : set->names[slot];
  return numbered;
}

// ---- words ----

/// True for the bytes of a bare word, see rack_quote().
static bool
is_bare(const char c)
{
  return isalnum((unsigned char)c) || c & 0x80 || (c && strchr("_./%-", c));
}

/// Copy at most `max` bytes, with one `separator` for each run of bytes that are not of a word and
/// none at the end.  Returns the length.
static size_t
copy_word(const char* from, bool (*const is_of_word)(char), const char separator, char* const to,
          const size_t max)
{
  size_t n = 0;
  for (; *from && n < max; ++from) {
    if (is_of_word(*from)) {
      to[n++] = *from;
    } else if (n && to[n - 1U] != separator) {
      to[n++] = separator;
    }
  }
  while (n && to[n - 1U] == separator) {
    --n;
  }
  to[n] = '\0';
  return n;
}

const char*
names_word(Arena* const arena, const char* const label, const double number)
{
  const char* at = label;
  while (is_bare(*at)) {
    ++at;
  }
  if (*label && !*at) {
    return label;
  }
  const size_t n_label = strlen(label);
  char* const word = arena_take(arena, 1, n_label + NUMBER_BYTES);
  if (word && !copy_word(label, is_bare, '-', word, n_label)) {
    number_print(number, word);
  }
  return word;
}

// ---- ids ----

/// Letters and digits of ASCII, whatever the locale.
static bool
is_of_id(const char c)
{
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool
is_of_name(const char c)
{
  return is_of_id(c) || c == '-';
}

/// Put "_" in front of a name that begins with a digit or a hyphen.
static void
begin_with_letter(char* const name)
{
  if ((*name >= '0' && *name <= '9') || *name == '-') {
    memmove(name + 1, name, strlen(name) + 1U);
    *name = '_';
  }
}

/// Copy a name without parts in parentheses or brackets, which are units and remarks.
static void
drop_remarks(const char* from, char* const to, const size_t n_bytes)
{
  size_t n = 0;
  for (uint32_t depth = 0; *from && n + 1U < n_bytes; ++from) {
    depth += *from == '(' || *from == '[';
    if (!depth) {
      to[n++] = *from;
    }
    depth -= depth && (*from == ')' || *from == ']');
  }
  to[n] = '\0';
}

void
plugin_param_id(const char* const name, char id[const PLUGIN_ID_BYTES])
{
  char bare[256];
  drop_remarks(name, bare, sizeof(bare));
  if (!copy_word(bare, is_of_id, '_', id, MAX_NAME) &&
      !copy_word(name, is_of_id, '_', id, MAX_NAME)) {
    strcpy(id, "param");
  }
  for (char* at = id; *at; ++at) {
    *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
  }
  begin_with_letter(id);
}

/// Find the last part of an id of n bytes: it follows the last byte that is one of `ends`.
static size_t
last_part(const char* const id, size_t n, const char* const ends)
{
  while (n && !strchr(ends, id[n - 1U])) {
    --n;
  }
  return n;
}

void
plugin_short_name(const char* const id, char name[const PLUGIN_ID_BYTES])
{
  static const char* const widths[] = { "mono", "stereo", "sum" }; // name no plugin alone
  const char* const ends = strpbrk(id, "/:") ? "/:" : ".";
  size_t n = strlen(id);
  while (n && strchr("/:#.", id[n - 1U])) {
    --n;
  }
  size_t start = last_part(id, n, ends);
  for (uint32_t w = 0; w < ARRAY_LEN(widths); ++w) {
    if (start && n - start == strlen(widths[w]) && !strncmp(id + start, widths[w], n - start)) {
      start = last_part(id, start - 1U, ends);
    }
  }
  char part[256];
  snprintf(part, sizeof(part), "%.*s", (int)(n - start), id + start);
  if (!copy_word(part, is_of_name, '-', name, MAX_NAME)) {
    strcpy(name, "plugin");
  }
  begin_with_letter(name);
  if (!strcmp(name, "in") || !strcmp(name, "out")) {
    strcat(name, "_"); // the ends of a rack
  }
}
