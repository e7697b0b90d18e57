// SPDX-License-Identifier: GPL-3.0-or-later
// Compares the warnings of a document with those of the previous one, line by line.

#include "advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
compare_lines(const void* const a, const void* const b)
{
  const char* const x = *(const char* const*)a;
  const char* const y = *(const char* const*)b;
  const size_t x_bytes = strcspn(x, "\n");
  const size_t y_bytes = strcspn(y, "\n");
  const int order = memcmp(x, y, x_bytes < y_bytes ? x_bytes : y_bytes);
  return order ? order : (x_bytes > y_bytes) - (x_bytes < y_bytes);
}

static uint32_t
count_lines(const char* const text)
{
  uint32_t n = 0;
  for (const char* at = text; *at; at += strcspn(at, "\n") + 1U) {
    ++n;
  }
  return n;
}

/// Copy the lines of `text` that are missing in `before` (n_before lines).  The caller frees the
/// result; NULL if out of memory.
static char*
new_lines(const char* const text, const char* const before, const uint32_t n_before)
{
  char* const added = calloc(1, strlen(text) + 1U);
  const char** const lines = calloc(n_before + 1U, sizeof(*lines));
  if (!added || !lines) {
    free(added);
    free(lines);
    return NULL;
  }
  uint32_t n = 0;
  for (const char* at = before; *at; at += strcspn(at, "\n") + 1U) {
    lines[n++] = at;
  }
  qsort(lines, n, sizeof(*lines), compare_lines);
  char* to = added;
  for (const char* at = text; *at; at += strcspn(at, "\n") + 1U) {
    if (!bsearch(&at, lines, n, sizeof(*lines), compare_lines)) {
      to = mempcpy(to, at, strcspn(at, "\n") + 1U);
    }
  }
  free(lines);
  return added;
}

/// The text of all warnings; "" before the first advice_update().
static const char*
advice_text(const Advice* const advice)
{
  return advice->text ? advice->text : "";
}

/// The warnings of a rack in this run.  The caller frees them; NULL if out of memory.
static char*
warnings_of(const Advice* const advice, const Rack* const rack, const double rate_hz)
{
  static const char no_ports[] =
      "the rack has MIDI lines, but this run has no MIDI ports; start it "
      "with --io jack --midi\n";
  char* const text = rack_warnings(rack, rate_hz);
  if (!text || !advice->lacks_midi || !rack->n_midi) {
    return text;
  }
  const size_t n_bytes = strlen(text);
  char* const longer = realloc(text, n_bytes + sizeof(no_ports));
  if (!longer) {
    free(text);
    return NULL;
  }
  memcpy(longer + n_bytes, no_ports, sizeof(no_ports));
  return longer;
}

bool
advice_update(Advice* const advice, const Rack* const rack, const uint64_t number,
              const double rate_hz, char** const fresh)
{
  if (advice->text && number == advice->of && rate_hz == advice->rate_hz) {
    return false;
  }
  char* const text = warnings_of(advice, rack, rate_hz);
  const bool is_other = text && strcmp(text, advice_text(advice)) != 0;
  char* const added = is_other ? new_lines(text, advice_text(advice), advice->n_lines) : NULL;
  if (!text || (is_other && !added)) {
    free(text);
    return false; // the next call tries again
  }
  free(advice->text);
  *advice = (Advice){ text, number, rate_hz, count_lines(text), advice->lacks_midi };
  if (is_other) {
    *fresh = added;
  }
  return is_other;
}

void
advice_print(const Advice* const advice, char text[const ADVICE_BYTES])
{
  const size_t room = ADVICE_BYTES - sizeof("4294967295 more warnings\n");
  char* to = text;
  uint32_t n_left = advice->n_lines;
  for (const char* at = advice_text(advice); *at; --n_left) {
    const size_t length = strcspn(at, "\n") + 1U;
    if ((size_t)(to - text) + length > room) {
      to += sprintf(to, "%u more warnings\n", n_left);
      break;
    }
    to = mempcpy(to, at, length);
    at += length;
  }
  *to = '\0';
}

void
advice_clear(Advice* const advice)
{
  free(advice->text);
  *advice = (Advice){ 0 };
}
