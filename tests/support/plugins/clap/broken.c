// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins with wrong descriptors, parameters or ports; none of them is run.

#include "clap_fixture.h"

#include <math.h>
#include <stddef.h>

static const char* const effect[] = { CLAP_PLUGIN_FEATURE_INSTRUMENT, NULL };

static const Param bad_params[] = {
  { 1, 0, "", "Broken", (double)NAN, 1.0, 0.0, NULL, NULL },
  { 2, 0, "", "Endless", 0.0, (double)INFINITY, 0.0, NULL, NULL },
  { 3, 0, "", "Inverted", 1.0, 0.0, 0.0, NULL, NULL },
  { 4, 0, "", "Outside", 0.0, 1.0, 7.0, NULL, NULL },
  { 5, 0, "", "Unknown", 0.0, 1.0, (double)NAN, NULL, NULL },
  { 5, 0, "", "Twice", 0.0, 1.0, 0.0, NULL, NULL },
  { 6, 0, "", "", 0.0, 1.0, 0.0, NULL, NULL },
  { 8, 0, "", "bad \xFF name", 0.0, 1.0, 0.0, NULL, NULL },
  { 9, 0, "", NULL, 0.0, 1.0, 0.0, NULL, NULL }, // get_info() fails
};

#define EFFECT(word) .descriptor = { VERSION, .id = "test." word, .name = word, .features = effect }

const Kind fixture_kinds[] = {
  { .descriptor = { VERSION, .id = NULL, .name = "none" } },
  { .descriptor = { VERSION, .id = "", .name = "empty" } },
  { .descriptor = { VERSION, .id = "test.line\n", .name = "control character" } },
  { .descriptor = { VERSION, .id = "test.nameless" },
    .n_main = 1,
    .params = bad_params,
    .n_params = N(bad_params) },
  { EFFECT("twice"), .n_main = 1 },
  { .descriptor = { VERSION, .id = "test.twice", .name = "second" }, .n_main = 1 },
  { .descriptor = { { 0, 18, 0 }, .id = "test.draft", .name = "draft" }, .n_main = 1 },
  { EFFECT("many"), .n_main = 1 }, // 10,000 parameters
  { EFFECT("wide"), .n_main = UINT32_MAX },
  { EFFECT("unmade"), .n_main = 1 },
  { EFFECT("uninitialised"), .n_main = 1 },
};

const uint32_t fixture_n_kinds = N(fixture_kinds);
