// SPDX-License-Identifier: GPL-3.0-or-later
// Look-ups in the table of effects, and the nearest name to a mistyped one.

#include "effect.h"

#include <math.h>
#include <string.h>

#define NEAREST_MAX 64U // longest name that is compared

const FxInfo*
fx_find(const char* const name)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  for (uint32_t i = 0; i < n; ++i) {
    if (!strcmp(table[i]->name, name)) {
      return table[i];
    }
  }
  return NULL;
}

FxFile
fx_file_responses(const FxFile* const file)
{
  FxFile responses = *file;
  if (!file->is_audio && file->n_frames == 1U) { // the samples lie in the same order
    responses.n_frames = file->n_channels;
    responses.n_channels = 1;
  }
  return responses;
}

int
fx_param_find(const FxInfo* const fx, const char* const id)
{
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    if (!strcmp(fx->params[p].id, id)) {
      return (int)p;
    }
  }
  return -1;
}

bool
fx_param_range(const FxParam* const param, double* const min, double* const max)
{
  *min = param->min;
  *max = param->max;
  switch (param->kind) {
  case PARAM_FILE:
  case PARAM_TEXT:
    return false;
  case PARAM_SWITCH:
    *min = 0.0;
    *max = 1.0;
    break;
  case PARAM_CHOICE:
    for (*min = *max = 0.0; param->choices[(uint32_t)*max + 1U]; *max += 1.0) {
    }
    break;
  default:
    break;
  }
  return true;
}

bool
fx_param_accepts(const FxParam* const param, const double number)
{
  double min = 0.0;
  double max = 0.0;
  const bool is_whole = number == floor(number);
  return fx_param_range(param, &min, &max) && number >= min && number <= max &&
         (param->kind == PARAM_NUMBER || is_whole);
}

/// Optimal string alignment distance (Damerau-Levenshtein without overlapping swaps).
static uint32_t
edit_distance(const char* const a, const uint32_t n_a, const char* const b, const uint32_t n_b)
{
  uint32_t rows[3][NEAREST_MAX + 1U];
  uint32_t* before_last = rows[0];
  uint32_t* last = rows[1];
  uint32_t* now = rows[2];
  for (uint32_t j = 0; j <= n_b; ++j) {
    last[j] = j;
  }
  for (uint32_t i = 1; i <= n_a; ++i) {
    now[0] = i;
    for (uint32_t j = 1; j <= n_b; ++j) {
      uint32_t best = last[j - 1U] + (a[i - 1U] != b[j - 1U]);
      best = last[j] + 1U < best ? last[j] + 1U : best;
      best = now[j - 1U] + 1U < best ? now[j - 1U] + 1U : best;
      if (i > 1U && j > 1U && a[i - 1U] == b[j - 2U] && a[i - 2U] == b[j - 1U]) {
        best = before_last[j - 2U] + 1U < best ? before_last[j - 2U] + 1U : best;
      }
      now[j] = best;
    }
    uint32_t* const oldest = before_last;
    before_last = last;
    last = now;
    now = oldest;
  }
  return last[n_b];
}

const char*
nearest_name(const char* const wrong, const char* const* const names, const uint32_t n_names)
{
  const uint32_t n_wrong = (uint32_t)strnlen(wrong, NEAREST_MAX);
  const uint32_t limit = n_wrong < 3U ? 1U : (n_wrong + 2U) / 3U;
  const char* nearest = NULL;
  uint32_t least = limit + 1U;
  for (uint32_t i = 0; i < n_names; ++i) {
    const uint32_t n_name = (uint32_t)strnlen(names[i], NEAREST_MAX);
    const uint32_t distance = edit_distance(wrong, n_wrong, names[i], n_name);
    if (distance < least) {
      least = distance;
      nearest = names[i];
    }
  }
  return nearest;
}
