// SPDX-License-Identifier: GPL-3.0-or-later
// Makes LV2 plugins of fixtures, whose descriptions write_turtle.c writes.

#include "tests/support/plugins/instance.h"

#include <lv2/core/lv2.h>
#include <stdio.h>

#define URI_BYTES 128U

static LV2_Descriptor descriptors[FIXTURE_MAX_PLUGINS];
static char uris[FIXTURE_MAX_PLUGINS][URI_BYTES];

static LV2_Handle
instantiate(const LV2_Descriptor* const descriptor, const double rate_hz, const char* const folder,
            const LV2_Feature* const* const features)
{
  (void)folder;
  (void)features;
  return fixture_instantiate(&fixtures[descriptor - descriptors], rate_hz);
}

LV2_SYMBOL_EXPORT const LV2_Descriptor*
lv2_descriptor(const uint32_t index)
{
  const Fixture* const fixture = fixture_at(index);
  if (!fixture) {
    return NULL;
  }
  snprintf(uris[index], URI_BYTES, FIXTURE_URI "%s", fixture->label);
  descriptors[index] = (LV2_Descriptor){
    .URI = uris[index],
    .instantiate = instantiate,
    .connect_port = fixture_connect,
    .activate = fixture_activate,
    .run = fixture_run,
    .cleanup = fixture_cleanup,
  };
  return &descriptors[index];
}
