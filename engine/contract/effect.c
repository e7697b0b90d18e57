// SPDX-License-Identifier: GPL-3.0-or-later
// Look-ups in the table of effects.

#include "effect.h"

#include "engine/base/hash.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

void
fx_file_name(const FxInfo* const fx, const char* const suffix, const void* const bytes,
             const size_t n_bytes, char name[const FX_STATE_NAME_BYTES])
{
  snprintf(name, FX_STATE_NAME_BYTES, "%.64s-%016" PRIx64 ".%.8s", fx->name,
           hash_bytes(HASH64_START, bytes, n_bytes), suffix);
}

void
fx_state_name(const FxInfo* const fx, const void* const bytes, const size_t n_bytes,
              char name[const FX_STATE_NAME_BYTES])
{
  fx_file_name(fx, "state", bytes, n_bytes, name);
}

FxFile
fx_file_responses(const FxFile* const file)
{
  FxFile responses = *file;
  if (!file->is_audio && file->n_frames == 1U) { // either shape has the samples in the same order
    responses.n_frames = file->n_channels;
    responses.n_channels = 1;
  }
  return responses;
}

Status
fx_make(const FxInfo* const fx, const FxSetup* const setup, FxShape* const shape, void** const node,
        Error* const error)
{
  void* made = NULL;
  Status status = fx->create(setup, shape, &made, error);
  if (!status && fx->load) {
    status = fx->load(made, setup, shape, error);
  }
  if (status && made) {
    fx->destroy(made);
  }
  if (!status) {
    *node = made;
  }
  return status;
}

uint32_t
fx_side_channels(const FxInfo* const fx, const FxShape* const shape, const uint32_t side)
{
  const uint32_t n_channels = fx->sides[side].n_channels;
  return n_channels ? n_channels : shape->unit_in;
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

int
fx_file_param(const FxInfo* const fx)
{
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    if (fx->params[p].kind == PARAM_FILE) {
      return (int)p;
    }
  }
  return -1;
}

double
fx_choice_number(const FxParam* const param, const uint32_t choice)
{
  return param->choice_values ? param->choice_values[choice] : choice;
}

int
fx_choice_find(const FxParam* const param, const double number)
{
  for (uint32_t c = 0; param->choices[c]; ++c) {
    if ((float)fx_choice_number(param, c) == (float)number) {
      return (int)c;
    }
  }
  return -1;
}

static void
choice_range(const FxParam* const param, double* const min, double* const max)
{
  *min = *max = fx_choice_number(param, 0);
  for (uint32_t c = 1; param->choices[c]; ++c) {
    *min = fmin(*min, fx_choice_number(param, c));
    *max = fmax(*max, fx_choice_number(param, c));
  }
}

bool
fx_param_range(const FxParam* const param, double* const min, double* const max)
{
  *min = param->min;
  *max = param->max;
  switch (param->kind) {
  case PARAM_FILE:
  case PARAM_PATH:
  case PARAM_TEXT:
    return false;
  case PARAM_SWITCH:
    *min = 0.0;
    *max = 1.0;
    break;
  case PARAM_CHOICE:
    choice_range(param, min, max);
    break;
  default:
    break;
  }
  return true;
}

bool
fx_param_accepts(const FxParam* const param, const double number)
{
  if (param->kind == PARAM_CHOICE) {
    return fx_choice_find(param, number) >= 0;
  }
  double min = 0.0;
  double max = 0.0;
  const bool is_whole = number == floor(number);
  return fx_param_range(param, &min, &max) && number >= min && number <= max &&
         (param->kind == PARAM_NUMBER || is_whole);
}
