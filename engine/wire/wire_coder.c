// SPDX-License-Identifier: GPL-3.0-or-later
// Encodes and decodes single fields of messages.

#include "wire_private.h"

#include "engine/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
coder_fail(Coder* const coder, const Status status, const char* const format, ...)
{
  if (!coder->error.status) {
    coder->error.status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(coder->error.text, sizeof(coder->error.text), format, args);
    va_end(args);
  }
}

static bool
write_bytes(Coder* const coder, const void* const bytes, const size_t n)
{
  if (n > coder->max - coder->at) {
    coder_fail(coder, STATUS_LIMIT, "larger than a message may be (%u bytes)", coder->max);
    return false;
  }
  if (n > coder->bytes - coder->at) {
    const uint32_t room = 2U * coder->bytes + (uint32_t)n;
    unsigned char* const out = realloc(coder->out, room);
    if (!out) {
      coder_fail(coder, STATUS_NO_MEM, "out of memory");
      return false;
    }
    coder->out = out;
    coder->bytes = room;
  }
  if (n) {
    memcpy(coder->out + coder->at, bytes, n);
  }
  return true;
}

static bool
read_bytes(Coder* const coder, void* const bytes, const size_t n)
{
  if (n > coder_left(coder)) {
    coder_fail(coder, STATUS_BAD_ARG, "it ends too early");
    return false;
  }
  if (n) {
    memcpy(bytes, coder->in + coder->at, n);
  }
  return true;
}

bool
coder_bytes(Coder* const coder, void* const bytes, const size_t n)
{
  if (coder->error.status ||
      !(coder->writes ? write_bytes(coder, bytes, n) : read_bytes(coder, bytes, n))) {
    return false;
  }
  coder->at += (uint32_t)n;
  return true;
}

uint32_t
coder_left(const Coder* const coder)
{
  return coder->bytes - coder->at;
}

// ---- numbers ----

void
coder_u32(Coder* const coder, uint32_t* const value, const uint32_t min, const uint32_t max,
          const char* const name)
{
  if (coder_bytes(coder, value, sizeof(*value)) && (*value < min || *value > max)) {
    coder_fail(coder, STATUS_BAD_ARG, "%s is %u, not in %u..%u", name, *value, min, max);
  }
}

void
coder_u64(Coder* const coder, uint64_t* const value)
{
  coder_bytes(coder, value, sizeof(*value));
}

void
coder_bool(Coder* const coder, bool* const value, const char* const name)
{
  uint8_t byte = coder->writes && *value;
  if (coder_bytes(coder, &byte, sizeof(byte)) && byte > 1U) {
    coder_fail(coder, STATUS_BAD_ARG, "%s is %u, at most 1", name, byte);
  }
  *value = byte == 1U;
}

void
coder_double(Coder* const coder, double* const value, const double min, const double max,
             const char* const name)
{
  if (coder_bytes(coder, value, sizeof(*value)) && !(*value >= min && *value <= max)) {
    coder_fail(coder, STATUS_BAD_ARG, "%s is %g, not in %g..%g", name, *value, min, max);
  }
}

// ---- texts ----

/// Code the length and the bytes; `text` is terminated, and empty after a failure.
static void
counted_bytes(Coder* const coder, char* const text, const size_t n_bytes, const char* const name)
{
  uint32_t length = coder->writes ? (uint32_t)strnlen(text, n_bytes - 1U) : 0U;
  coder_u32(coder, &length, 0U, (uint32_t)n_bytes - 1U, name);
  const bool is_there = !coder->error.status && coder_bytes(coder, text, length);
  text[is_there ? length : 0U] = '\0';
  if (is_there && strlen(text) != length) {
    coder_fail(coder, STATUS_BAD_ARG, "%s holds a zero", name);
  }
}

void
coder_text(Coder* const coder, char* const text, const size_t n_bytes, const char* const name)
{
  if (coder->writes) {
    text[n_bytes - 1U] = '\0';
    text_make_printable(text);
  }
  counted_bytes(coder, text, n_bytes, name);
  if (!coder->error.status && !text_is_printable(text)) {
    coder_fail(coder, STATUS_BAD_ARG, "%s is no text", name);
  }
}

void
coder_path(Coder* const coder, char* const path, const size_t n_bytes, const char* const name)
{
  counted_bytes(coder, path, n_bytes, name);
  if (!coder->error.status && !*path) {
    coder_fail(coder, STATUS_BAD_ARG, "%s is empty", name);
  }
}

void*
coder_array(Coder* const coder, const uint32_t n, const size_t bytes, const uint32_t at_least)
{
  if (!coder->error.status && coder_left(coder) / at_least < n) {
    coder_fail(coder, STATUS_BAD_ARG, "it ends too early");
  }
  void* const array = coder->error.status ? NULL : calloc(n + 1U, bytes);
  if (!array) {
    coder_fail(coder, STATUS_NO_MEM, "out of memory");
  }
  return array;
}
