// SPDX-License-Identifier: GPL-3.0-or-later
// Files with states, and the values of LV2 plugins in them: refused with a reason, or the same when
// they are written and read again.

#include "fuzz.h"

#include "plugins/lv2/lv2_values.h"
#include "plugins/state_file.h"

#include <stdlib.h>
#include <string.h>

static const FxOrigin origin = { "lv2", "urn:fuzz" };

static void
check_equal(const void* const a, const size_t n_a, const void* const b, const size_t n_b)
{
  fuzz_check(n_a == n_b && !memcmp(a, b, n_a), "what was written is written again");
}

/// Write the values of a part, and read them again.
static void
write_values(const Lv2Values* const values, const int is_again)
{
  TextBuffer part = { 0 };
  Lv2ValueWriter writer = { .part = &part };
  Lv2Values again = { 0 };
  Error error = { STATUS_OK, "" };
  Status status = STATUS_OK;
  for (uint32_t v = 0; v < values->n && !status; ++v) {
    status = lv2_values_write(&writer, &values->list[v], &error);
  }
  lv2_values_end(&writer);
  fuzz_check(!status, "values that were read can be written");
  fuzz_check(!part.n || !lv2_values_read(&(StatePart){ part.bytes, part.n }, &again, &error),
             "values that were written can be read");
  fuzz_check(again.n == values->n, "all values are read again");
  for (uint32_t v = 0; v < again.n; ++v) {
    check_equal(values->list[v].body, values->list[v].n_bytes, again.list[v].body,
                again.list[v].n_bytes);
  }
  if (!is_again) {
    write_values(&again, 1);
  }
  lv2_values_clear(&again);
  free(part.bytes);
}

static void
try_values(const StatePart* const part)
{
  Lv2Values values = { 0 };
  Error error = { STATUS_OK, "" };
  if (lv2_values_read(part, &values, &error)) {
    fuzz_check(error.text[0] != '\0', "an error has a reason");
  } else {
    write_values(&values, 0);
  }
  lv2_values_clear(&values);
}

static void
try_file(const char* const bytes, const size_t n_bytes)
{
  StateFile file = { 0 };
  TextBuffer written = { 0 };
  Error error = { STATUS_OK, "" };
  if (state_file_parse(&origin, bytes, n_bytes, &file, &error)) {
    fuzz_check(error.text[0] != '\0' && !file.n_parts, "an error has a reason, and no parts");
    return;
  }
  fuzz_check(file.n_parts && file.n_parts <= STATE_MAX_PARTS, "a file has parts");
  fuzz_check(!state_file_write(&origin, file.parts, file.n_parts, &written, &error),
             "a file that was read can be written");
  StateFile again = { 0 };
  fuzz_check(!state_file_parse(&origin, written.bytes, written.n, &again, &error),
             "a file that was written can be read");
  for (uint32_t p = 0; p < file.n_parts; ++p) {
    const StatePart* const part = state_file_part(&again, p);
    check_equal(file.parts[p].bytes, file.parts[p].n_bytes, part->bytes, part->n_bytes);
    try_values(part);
  }
  state_file_clear(&again);
  state_file_clear(&file);
  free(written.bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  char* const copy = malloc(n_bytes + !n_bytes); // of this size, so that no byte behind it is read
  if (copy) {
    memcpy(copy, bytes, n_bytes);
    try_file(copy, n_bytes);
    try_values(&(StatePart){ copy, n_bytes }); // the hash of a file keeps most inputs from here
  }
  free(copy);
  return 0;
}

#define ATOM "http://lv2plug.in/ns/ext/atom#"
#define URIS "uri urn:key\nuri " ATOM "Tuple\nuri " ATOM "Int\nuri " ATOM "Object\n"

static const struct {
  const char* bytes;
  size_t n_bytes;
} parts[] = {
#define PART(text)                                                                                 \
  {                                                                                                \
    text, sizeof(text) - 1U                                                                        \
  }
  PART("uri urn:key\nuri " ATOM "String\nvalue 1 2 3\nabc\n"),
  PART(URIS "value 1 2 16\n\4\0\0\0\3\0\0\0\1\2\3\4\0\0\0\0\n"),
  PART(URIS "value 1 4 24\n\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\4\0\0\0\3\0\0\0\n"),
  PART("uri urn:key\nuri " ATOM "Vector\nuri " ATOM "URID\n"
       "value 1 2 16\n\4\0\0\0\3\0\0\0\1\0\0\0\2\0\0\0\n"),
  PART("uri urn:key\nuri " ATOM "Sequence\nuri " ATOM "Int\n"
       "value 1 2 28\n\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\4\0\0\0\3\0\0\0\7\0\0\0\n"),
#undef PART
};

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  StatePart all[sizeof(parts) / sizeof(parts[0])];
  const uint32_t n = sizeof(parts) / sizeof(parts[0]);
  for (uint32_t p = 0; p < n; ++p) {
    all[p] = (StatePart){ parts[p].bytes, parts[p].n_bytes };
    visit(context, parts[p].bytes, parts[p].n_bytes);
  }
  TextBuffer file = { 0 };
  Error error = { STATUS_OK, "" };
  fuzz_check(!state_file_write(&origin, all, n, &file, &error), "the examples can be written");
  visit(context, file.bytes, file.n);
  free(file.bytes);
}
