// SPDX-License-Identifier: GPL-3.0-or-later
// Warnings of one document compared with those of the one before, line by line.

#include "advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Whether a text has this line.
static bool
has_line(const char* const text, const char* const line, const size_t length)
{
  for (const char* at = text; *at; at += strcspn(at, "\n") + 1U) {
    if (strcspn(at, "\n") == length && !strncmp(at, line, length)) {
      return true;
    }
  }
  return false;
}

/// The text of all warnings; "" before the first advice_update().
static const char*
advice_text(const Advice* const advice)
{
  return advice->text ? advice->text : "";
}

bool
advice_update(Advice* const advice, const Rack* const rack, const uint64_t number,
              const double rate_hz, char** const fresh)
{
  if (advice->text && number == advice->of && rate_hz == advice->rate_hz) {
    return false;
  }
  char* const text = rack_warnings(rack, rate_hz);
  char* const added = text ? calloc(1, strlen(text) + 1U) : NULL;
  if (!added) {
    free(text);
    return false; // looked at again next time
  }
  uint32_t n_lines = 0;
  char* to = added;
  for (const char* at = text; *at; at += strcspn(at, "\n") + 1U, ++n_lines) {
    const size_t length = strcspn(at, "\n");
    if (!has_line(advice_text(advice), at, length)) {
      to = mempcpy(to, at, length + 1U);
    }
  }
  const bool is_other = strcmp(text, advice_text(advice)) != 0;
  free(advice->text);
  *advice = (Advice){ text, number, rate_hz, n_lines };
  *fresh = is_other ? added : NULL;
  if (!is_other) {
    free(added);
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
