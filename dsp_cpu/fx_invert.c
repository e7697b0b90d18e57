// SPDX-License-Identifier: GPL-3.0-or-later
// invert: flips the polarity of all channels, or of those that are listed.

#include "dsp_cpu/shared/state_words.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS, ON };

// clang-format off
static const FxParam invert_params[] = {
  //             id          kind          unit       min  max  initial
  [CHANNELS] = { "channels", PARAM_TEXT,   UNIT_NONE, 0.0, 0.0,     0.0, .structural = true, .help = "Channels to flip, from 1, as in \"1,3-4\"; all when not given" },
  [ON]       = { "on",       PARAM_SWITCH, UNIT_NONE, 0.0, 0.0,     1.0,                     .help = "Off lets all channels pass as they are; the change fades through silence" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct InvertNode {
  bool listed[FX_MAX_CHANNELS];
  bool on;
  uint32_t ramp_frames;
} InvertNode;

typedef struct InvertUnit {
  Ramp gain; // 1 or -1
  bool is_listed;
} InvertUnit;

/// Read a channel number and move `at` past it; 0 if there is no number.
static unsigned long
read_channel(const char** const at)
{
  *at += strspn(*at, " ");
  if (!strchr("0123456789", **at) || !**at) {
    return 0;
  }
  char* end = NULL;
  const unsigned long channel = strtoul(*at, &end, 10);
  *at = end + strspn(end, " ");
  return channel;
}

/// Read a list such as "1,3-4" into flags.
static Status
read_list(const char* const text, const uint32_t n_channels, bool* const listed, Error* const error)
{
  for (const char* at = text;; ++at) {
    const unsigned long first = read_channel(&at);
    unsigned long last = first;
    if (*at == '-') {
      ++at;
      last = read_channel(&at);
    }
    if (first < 1U || last < first || (*at != ',' && *at != '\0')) {
      return error_set(error, STATUS_BAD_RACK,
                       "invert: \"%.60s\" is no list of channels; write 1,3-4, counted from 1",
                       text);
    }
    if (last > n_channels) {
      return error_set(error, STATUS_BAD_RACK,
                       "invert: channel %lu does not exist; the input has %u", last, n_channels);
    }
    memset(listed + first - 1U, true, last - first + 1U);
    if (*at == '\0') {
      return STATUS_OK;
    }
  }
}

static Status
invert_create(const FxSetup* const setup, FxShape* const shape, void** const node,
              Error* const error)
{
  InvertNode* const invert = calloc(1, sizeof(InvertNode));
  if (!invert) {
    return error_set(error, STATUS_NO_MEM, "invert: out of memory");
  }
  const char* const list = setup->texts[CHANNELS];
  if (list && *list) {
    const Status status = read_list(list, setup->n_in, invert->listed, error);
    if (status) {
      free(invert);
      return status;
    }
  } else {
    memset(invert->listed, true, sizeof(invert->listed));
  }
  invert->on = setup->values[ON] != 0.0;
  invert->ramp_frames = fx_ramp_frames(setup->rate_hz);
  shape->unit_bytes = sizeof(InvertUnit);
  *node = invert;
  return STATUS_OK;
}

static void
invert_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)param; // always ON, because the other parameter is structural
  InvertNode* const invert = node;
  invert->on = value != 0.0;
  invert->ramp_frames = ramp_frames;
}

static float
target(const InvertNode* const node, const InvertUnit* const unit)
{
  return node->on && unit->is_listed ? -1.0F : 1.0F;
}

static void
invert_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  const InvertNode* const invert = node;
  InvertUnit* const unit = state;
  unit->is_listed = invert->listed[channel];
  unit->gain = ramp_at(target(invert, unit));
}

static void
invert_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const InvertNode* const node = units[u].node;
    InvertUnit* const unit = units[u].state;
    ramp_aim(&unit->gain, target(node, unit), node->ramp_frames);
    ramp_multiply(&unit->gain, units[u].in[0], units[u].out[0], n_frames);
  }
}

static float
invert_factor(const void* const state)
{
  return ((const InvertUnit*)state)->gain.target;
}

static bool
invert_rests(const void* const node, const void* const state)
{
  const InvertUnit* const unit = state;
  return !unit->gain.frames_left && unit->gain.target == target(node, unit);
}

static const FxLinear invert_linear = { .factor = invert_factor, .rests = invert_rests };

static void
invert_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  (void)node;
  *shape = (FxKernelShape){ .passes = { { "fx_invert", 128U, 1U, 1U } },
                            .n_passes = 1,
                            .param_words = 2,
                            .data_words = FX_MAX_CHANNELS / 32U,
                            .state_words = 1 + RAMP_WORDS };
}

/// One bit for each channel of the list.
static void
invert_data(void* const node, uint32_t* const words)
{
  const InvertNode* const invert = node;
  memset(words, 0, FX_MAX_CHANNELS / 8U);
  for (uint32_t c = 0; c < FX_MAX_CHANNELS; ++c) {
    words[c / 32U] |= (uint32_t)invert->listed[c] << c % 32U;
  }
}

static void
invert_pack(const void* const node, uint32_t* const words)
{
  const InvertNode* const invert = node;
  words[0] = invert->on;
  words[1] = invert->ramp_frames;
}

static const FxKernel invert_kernel = {
  .file = "fx_invert.cu",
  .shape = invert_kernel_shape,
  .data = invert_data,
  .pack = invert_pack,
};

const FxInfo fx_invert_info = {
  .name = "invert",
  .summary = "Flip the polarity of channels",
  .params = invert_params,
  .n_params = ARRAY_LEN(invert_params),
  .tolerance = 1e-6,
  .tolerance_reason = "exact at rest; the rounding of the ramp while it is switched",
  .create = invert_create,
  .destroy = free,
  .unit_init = invert_unit_init,
  .set = invert_set,
  .run = invert_run,
  .linear = &invert_linear,
  .kernel = &invert_kernel,
};
