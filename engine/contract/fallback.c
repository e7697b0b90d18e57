// SPDX-License-Identifier: GPL-3.0-or-later
// Texts for fallbacks.

#include "fallback.h"

#include "engine/base/text_buffer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TOO_LOUD 1.995F // times the rack's own level, 6 dB

static const struct {
  const char* name; ///< For programs
  const char* text; ///< For people
} whys[FALLBACK_N_WHYS] = {
  [FALLBACK_RACK] = { "rack", "set by the rack" },
  [FALLBACK_OPTION] = { "option", "set by --on-late" },
  [FALLBACK_LEVEL] = { "level", "auto: the output's own level" },
  [FALLBACK_NO_INPUT] = { "no-input", "auto: its own input does not reach it" },
  [FALLBACK_NO_LOWS] = { "no-lows", "auto: an output without lows" },
  [FALLBACK_UNKNOWN] = { "unknown", "auto: its level could not be measured" },
};

static bool
is_auto(const Fallback* const fallback)
{
  return fallback->why != FALLBACK_RACK && fallback->why != FALLBACK_OPTION;
}

void
fallback_keep(const Fallbacks* const before, Fallbacks* const now)
{
  for (uint32_t c = 0; c < now->n && now->n == before->n; ++c) {
    const bool is_measured = !now->of[c].follows || now->of[c].level > 0.0F;
    if (!is_measured && is_auto(&before->of[c])) {
      now->of[c] = before->of[c];
      now->of[c].response = 0.0F;
    }
  }
}

const char*
fallback_why(const FallbackWhy why)
{
  return whys[why].name;
}

static double
decibels(const float level)
{
  return 20.0 * log10((double)level);
}

static bool
is_same(const Fallback* const a, const Fallback* const b)
{
  return a->why == b->why && a->level == b->level && a->response == b->response;
}

/// Name the outputs from `first` on that have the same fallback: "out:1-2".  Returns the first
/// output after them.
static uint32_t
name_range(const Fallbacks* const fallbacks, const uint32_t first, char name[const 32])
{
  uint32_t next = first + 1U;
  while (next < fallbacks->n && is_same(&fallbacks->of[first], &fallbacks->of[next])) {
    ++next;
  }
  if (next == first + 1U) {
    snprintf(name, 32U, "out:%u", next);
  } else {
    snprintf(name, 32U, "out:%u-%u", first + 1U, next);
  }
  return next;
}

uint32_t
fallback_describe(const Fallbacks* const fallbacks, const uint32_t first,
                  char text[const FALLBACK_TEXT_BYTES])
{
  const Fallback* const fallback = &fallbacks->of[first];
  char name[32];
  const uint32_t next = name_range(fallbacks, first, name);
  if (fallback->level > 0.0F) {
    snprintf(text, FALLBACK_TEXT_BYTES, "%s: the input at %.1f dB (%s)", name,
             decibels(fallback->level), whys[fallback->why].text);
  } else {
    snprintf(text, FALLBACK_TEXT_BYTES, "%s: silence (%s)", name, whys[fallback->why].text);
  }
  return next;
}

char*
fallback_warnings(const Fallbacks* const fallbacks)
{
  TextBuffer lines = { 0 };
  for (uint32_t first = 0; first < fallbacks->n;) {
    const Fallback* const fallback = &fallbacks->of[first];
    char name[32];
    first = name_range(fallbacks, first, name);
    if (fallback->response > 0.0F && fallback->level >= TOO_LOUD * fallback->response) {
      text_buffer_print(
          &lines,
          "while blocks are late %s plays the input at %.1f dB, and the rack makes it %.1f dB; "
          "write: late %s auto\n",
          name, decibels(fallback->level), decibels(fallback->response), name);
    }
    if (fallback->why == FALLBACK_UNKNOWN) {
      text_buffer_print(
          &lines,
          "while blocks are late %s is silent: its level could not be measured, because it did "
          "not respond to a test signal of -6 dB within %g s, or because there was no memory "
          "for a copy of the rack; write: late %s LEVEL, or allow more --memory\n",
          name, FALLBACK_BEGIN_S, name);
    }
  }
  return text_buffer_take(&lines);
}
