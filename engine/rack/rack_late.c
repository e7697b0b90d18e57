// SPDX-License-Identifier: GPL-3.0-or-later
// The fallbacks of the outputs: ranges of channels, in order and without overlaps; neighbouring
// ranges have different fallbacks.

#include "rack_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const FxParam level_param = { .id = "late",
                                     .kind = PARAM_NUMBER,
                                     .unit = UNIT_DB,
                                     .min = RACK_LATE_MIN_DB,
                                     .max = 0.0,
                                     .help = "Level of an output while blocks are late" };

Status
rack_read_fallback(const char* const text, RackFallback* const fallback, Error* const error)
{
  static const struct {
    const char* word;
    RackFallback means;
  } words[] = { { "auto", { .is_fixed = false } },
                { "dry", { .is_fixed = true } },
                { "silence", { true, -(double)INFINITY } } };
  for (uint32_t w = 0; w < ARRAY_LEN(words); ++w) {
    if (!strcmp(text, words[w].word)) {
      *fallback = words[w].means;
      return STATUS_OK;
    }
  }
  Decimal decimal;
  if (!number_scan(text, &decimal)) {
    return error_set(error, STATUS_BAD_RACK,
                     "late takes auto, dry, silence or a level such as -20dB, not \"%.60s\"", text);
  }
  RackValue level = { 0 };
  const Status status = rack_value_from_text(&level_param, text, &level, error);
  if (!status) {
    *fallback = (RackFallback){ true, level.number }; // VALUE_INITIAL is 0
  }
  return status;
}

const char*
rack_print_fallback(const RackFallback fallback, char text[const RACK_FALLBACK_BYTES])
{
  if (!fallback.is_fixed) {
    return "auto";
  }
  if (fallback.level_db == 0.0) {
    return "dry";
  }
  return isinf(fallback.level_db) ? "silence"
                                  : rack_print_quantity(fallback.level_db, UNIT_DB, text);
}

const RackFallback*
rack_find_fallback(const Rack* const rack, const uint32_t channel)
{
  for (uint32_t l = 0; l < rack->n_lates && rack->lates[l].first <= channel; ++l) {
    if (channel <= rack->lates[l].last) {
      return &rack->lates[l].fallback;
    }
  }
  return NULL;
}

/// Make ranges from the fallback of each channel (NULL: none).  Returns the number of ranges.
static uint32_t
join(const RackFallback* const* const of, RackLate* const lates)
{
  uint32_t n = 0;
  for (uint32_t c = 1; c <= FX_MAX_CHANNELS; ++c) {
    RackLate* const last = n ? &lates[n - 1U] : NULL;
    if (of[c] && last && last->last == c - 1U && rack_same_fallback(last->fallback, *of[c])) {
      last->last = (uint16_t)c;
    } else if (of[c]) {
      lates[n++] = (RackLate){ (uint16_t)c, (uint16_t)c, *of[c] };
    }
  }
  return n;
}

Status
rack_set_fallback(Rack* const rack, const RackEnd end, const RackFallback fallback,
                  Error* const error)
{
  if (end.uid != RACK_UID_OUT) {
    return error_set(error, STATUS_BAD_RACK,
                     "late is for the rack's outputs; write out or out:1-2");
  }
  const uint32_t first = end.first ? end.first : 1U;
  const uint32_t last = end.first ? end.last : FX_MAX_CHANNELS;
  const RackFallback* of[FX_MAX_CHANNELS + 1U] = { NULL };
  for (uint32_t c = 1; c <= FX_MAX_CHANNELS; ++c) {
    of[c] = c >= first && c <= last ? &fallback : rack_find_fallback(rack, c);
  }
  RackLate* const lates = malloc(FX_MAX_CHANNELS * sizeof(RackLate));
  if (!lates) {
    return rack_no_memory(error);
  }
  const uint32_t n = join(of, lates);
  RackLate* const fitting = realloc(lates, n * sizeof(RackLate));
  free(rack->lates);
  rack->lates = fitting ? fitting : lates;
  rack->n_lates = n;
  return STATUS_OK;
}

Status
rack_late(Rack* const rack, const char* const end, const char* const fallback, Error* const error)
{
  RackEnd range = { 0 };
  RackFallback wanted = { 0 };
  Status status = rack_read_end(rack, end, &range, error);
  status = status ? status : rack_read_fallback(fallback, &wanted, error);
  return status ? status : rack_set_fallback(rack, range, wanted, error);
}
