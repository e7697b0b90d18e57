// SPDX-License-Identifier: GPL-3.0-or-later
// The features that plugins get, and the functions behind them.

#include "lv2_features.h"
#include "lv2_urids.h"

#include "engine/base/text.h"

#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/log/log.h>
#include <lv2/parameters/parameters.h>
#include <lv2/state/state.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOG_LINES 100U // per process

static _Thread_local bool in_run;

// ---- urid ----

static LV2_URID
on_map(const LV2_URID_Map_Handle context, const char* const uri)
{
  (void)context;
  return urid_map(uri);
}

static const char*
on_unmap(const LV2_URID_Unmap_Handle context, const LV2_URID urid)
{
  (void)context;
  return urid_unmap(urid);
}

static LV2_URID_Map map_data = { .map = on_map };
static LV2_URID_Unmap unmap_data = { .unmap = on_unmap };

LV2_URID_Map*
features_urid_map(void)
{
  return &map_data;
}

// ---- log ----

static int
on_vprintf(const LV2_Log_Handle context, const LV2_URID type, const char* const format,
           va_list args)
{
  (void)context;
  (void)type;
  static atomic_uint n_lines;
  if (in_run || atomic_fetch_add(&n_lines, 1U) >= MAX_LOG_LINES) {
    return 0;
  }
  char text[512];
  const int n_bytes = vsnprintf(text, sizeof(text), format, args);
  text[strcspn(text, "\n")] = '\0';
  text_make_printable(text);
  fprintf(stderr, "plugin: %s\n", text);
  return n_bytes;
}

static int
on_printf(const LV2_Log_Handle context, const LV2_URID type, const char* const format, ...)
{
  va_list args;
  va_start(args, format);
  const int n_bytes = on_vprintf(context, type, format, args);
  va_end(args);
  return n_bytes;
}

static LV2_Log_Log log_data = { .printf = on_printf, .vprintf = on_vprintf };

void
features_enter_run(void)
{
  in_run = true;
}

void
features_leave_run(void)
{
  in_run = false;
}

// ---- state ----

static char*
copy_path(const LV2_State_Map_Path_Handle context, const char* const path)
{
  (void)context;
  return strdup(path);
}

static void
free_path(const LV2_State_Free_Path_Handle context, char* const path)
{
  (void)context;
  free(path);
}

static char*
make_path(const LV2_State_Make_Path_Handle made, const char* const name)
{
  char* const path = host_made_path(made, name);
  return path ? path : strdup(FEATURES_NO_PATH);
}

static LV2_State_Map_Path map_path_data = { .abstract_path = copy_path,
                                            .absolute_path = copy_path };
static LV2_State_Free_Path free_path_data = { .free_path = free_path };

// ---- the lists ----

/// Features without data of the instance.
static const LV2_Feature common_features[] = {
  { LV2_BUF_SIZE__boundedBlockLength, NULL },
  { LV2_CORE__hardRTCapable, NULL },
  { LV2_CORE__inPlaceBroken, NULL },
  { LV2_CORE__isLive, NULL },
  { LV2_LOG__log, &log_data },
  { LV2_STATE__loadDefaultState, NULL },
  { LV2_STATE__threadSafeRestore, NULL },
  { LV2_URID__map, &map_data },
  { LV2_URID__unmap, &unmap_data },
};

/// Features for paths, outside of the loading of a state.
static const LV2_Feature path_features[] = {
  { LV2_STATE__freePath, &free_path_data },
  { LV2_STATE__mapPath, &map_path_data },
};

/// Features of live instances: there all blocks have the same length.
static const LV2_Feature fixed_length = { LV2_BUF_SIZE__fixedBlockLength, NULL };
static const LV2_Feature coarse_length = { LV2_BUF_SIZE_PREFIX "coarseBlockLength", NULL };
static const LV2_Feature power_of_2 = { LV2_BUF_SIZE__powerOf2BlockLength, NULL };

static bool
is_in(const LV2_Feature* const features, const size_t n_features, const char* const uri)
{
  bool is_found = false;
  for (size_t f = 0; f < n_features; ++f) {
    is_found = is_found || !strcmp(uri, features[f].URI);
  }
  return is_found;
}

bool
features_have(const char* const uri)
{
  return !strcmp(uri, LV2_OPTIONS__options) || !strcmp(uri, LV2_STATE__makePath) ||
         !strcmp(uri, LV2_WORKER__schedule) ||
         is_in(common_features, ARRAY_LEN(common_features), uri) ||
         is_in(path_features, ARRAY_LEN(path_features), uri);
}

bool
features_have_option(const char* const uri)
{
  static const char* const options[] = {
    LV2_BUF_SIZE__maxBlockLength,     LV2_BUF_SIZE__minBlockLength, LV2_BUF_SIZE__sequenceSize,
    LV2_BUF_SIZE__nominalBlockLength, LV2_PARAMETERS__sampleRate,
  };
  bool has = false;
  for (size_t o = 0; o < ARRAY_LEN(options); ++o) {
    has = has || !strcmp(uri, options[o]);
  }
  return has;
}

static LV2_Options_Option
option(const char* const key, const char* const type, const void* const value)
{
  return (LV2_Options_Option){
    .context = LV2_OPTIONS_INSTANCE,
    .key = urid_map(key),
    .size = 4U,
    .type = urid_map(type),
    .value = value,
  };
}

static void
init_options(Lv2Features* const features)
{
  const LV2_Options_Option options[] = {
    option(LV2_BUF_SIZE__minBlockLength, LV2_ATOM__Int, &features->min_block_frames),
    option(LV2_BUF_SIZE__maxBlockLength, LV2_ATOM__Int, &features->max_block_frames),
    option(LV2_BUF_SIZE__nominalBlockLength, LV2_ATOM__Int, &features->max_block_frames),
    option(LV2_BUF_SIZE__sequenceSize, LV2_ATOM__Int, &features->sequence_bytes),
    option(LV2_PARAMETERS__sampleRate, LV2_ATOM__Float, &features->rate_hz),
    { .value = NULL },
  };
  _Static_assert(sizeof(options) == sizeof(features->options), "one row per option");
  memcpy(features->options, options, sizeof(options));
}

void
features_init(Lv2Features* const features, const InstanceSetup* const setup,
              LV2_Worker_Schedule* const schedule, HostMade* const made,
              const uint32_t sequence_bytes)
{
  const uint32_t n_frames = setup->max_block_frames;
  *features = (Lv2Features){
    .rate_hz = (float)setup->rate_hz,
    .min_block_frames = setup->offline ? 1 : (int32_t)n_frames, // the last block may be shorter
    .max_block_frames = (int32_t)n_frames,
    .sequence_bytes = (int32_t)sequence_bytes,
    .options_feature = { LV2_OPTIONS__options, features->options },
    .schedule_feature = { LV2_WORKER__schedule, schedule },
    .make_path = { made, make_path },
    .make_feature = { LV2_STATE__makePath, &features->make_path },
  };
  init_options(features);
  uint32_t n = 0;
  for (; n < ARRAY_LEN(common_features); ++n) {
    features->list[n] = common_features + n;
  }
  features->list[n++] = &features->options_feature;
  features->list[n++] = &features->make_feature;
  memcpy(features->for_state, features->list, n * sizeof(*features->list));
  for (size_t p = 0; p < ARRAY_LEN(path_features); ++p) {
    features->list[n++] = path_features + p;
  }
  if (schedule) {
    features->list[n++] = &features->schedule_feature;
  }
  if (!setup->offline) {
    features->list[n++] = &coarse_length;
    features->list[n++] = &fixed_length;
    if (!(n_frames & (n_frames - 1U))) {
      features->list[n++] = &power_of_2;
    }
  }
}
