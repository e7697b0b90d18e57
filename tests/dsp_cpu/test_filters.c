// SPDX-License-Identifier: GPL-3.0-or-later
// Every filter effect equals the double-precision design and filter of SciPy, to -120 dB of full
// scale, for every family, order and rate, and reports the length of its ringing.

#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FRAMES 65536U
#define MAX_LINE   4096U
#define MAX_ARGS   8U

static float in[MAX_FRAMES];
static float out[MAX_FRAMES];
static const float* const ins[] = { in };
static float* const outs[] = { out };

/// Split a line of tests/data/filters.txt in place: `effect rate id=value ...`.
typedef struct Case {
  const char* effect;
  double rate_hz;
  RigArg args[MAX_ARGS];
  uint32_t n_args;
} Case;

static Case
parse_case(char* const line)
{
  char* rest = NULL;
  Case c = { .effect = strtok_r(line, " \n", &rest) };
  c.rate_hz = atof(strtok_r(NULL, " \n", &rest));
  for (char* word; (word = strtok_r(NULL, " \n", &rest)); ++c.n_args) {
    char* const value = strchr(word, '=');
    ck_assert(value && c.n_args < MAX_ARGS);
    *value = '\0';
    const bool is_name = strchr("abcdefghijklmnopqrstuvwxyz", value[1]) != NULL;
    c.args[c.n_args] = (RigArg){ .id = word,
                                 .number = is_name ? 0.0 : atof(value + 1),
                                 .text = is_name ? value + 1 : NULL };
  }
  return c;
}

static FxRig
rig_of(const Case* const c)
{
  FxRig rig;
  OK(rig_try(&rig, c->effect, c->rate_hz, 1, 512, false, c->args, c->n_args, &error));
  return rig;
}

/// Largest difference between every stride-th output sample and the numbers of a line.
static double
distance(const char* numbers, const uint32_t stride, const uint32_t n_frames)
{
  double largest = 0.0;
  for (uint32_t i = 0; i < n_frames; i += stride) {
    char* end = NULL;
    const double expected = strtod(numbers, &end);
    ck_assert_msg(end != numbers, "a line of the reference is too short");
    numbers = end;
    const double difference = fabs(out[i] - expected);
    largest = difference <= largest ? largest : difference; // keeps NaN
  }
  return largest;
}

/// Print the worst case of each effect if WARPRACK_TEST_VERBOSE=1.
typedef struct Worst {
  char effect[16];
  double difference;
  char line[128];
} Worst;

static void
note_worst(Worst* const table, const uint32_t n, const char* const effect, const double difference,
           const char* const line)
{
  for (uint32_t w = 0; w < n; ++w) {
    if (!*table[w].effect || !strcmp(table[w].effect, effect)) {
      snprintf(table[w].effect, sizeof(table[w].effect), "%s", effect);
      if (difference > table[w].difference) {
        table[w].difference = difference;
        snprintf(table[w].line, sizeof(table[w].line), "%.*s", (int)strcspn(line, "\n"), line);
      }
      return;
    }
  }
}

TEST(every_design_agrees_with_scipy)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/filters.txt", getenv("WARPRACK_TEST_DATA"));
  FILE* const file = fopen(path, "r");
  ck_assert_msg(file, "cannot read %s", path);
  static char line[MAX_LINE];
  static char name[MAX_LINE];
  uint32_t stride = 0;
  uint32_t n_frames = 0;
  uint32_t n_cases = 0;
  Worst worst[16] = { 0 };
  while (fgets(line, sizeof(line), file)) {
    if (*line == '#') {
      sscanf(line, "# Written by make_filters.py: stride %u, frames %u", &stride, &n_frames);
      continue;
    }
    ck_assert(stride && n_frames <= MAX_FRAMES);
    signal_noise(in, n_cases ? 0 : n_frames, 1);
    strcpy(name, line);
    const Case c = parse_case(line);
    FxRig rig = rig_of(&c);
    rig_run(&rig, ins, outs, n_frames, RIG_BLOCKS, 0);
    static char numbers[MAX_LINE];
    ck_assert(fgets(numbers, sizeof(numbers), file));
    const double difference = distance(numbers, stride, n_frames);
    note_worst(worst, (uint32_t)ARRAY_LEN(worst), c.effect, difference, name);
    ck_assert_msg(difference <= rig.fx->tolerance, "%.1f dB off: %s", decibels(difference), name);
    rig_free(&rig);
    ++n_cases;
  }
  fclose(file);
  ck_assert_uint_gt(n_cases, 900);
  for (uint32_t w = 0; getenv("WARPRACK_TEST_VERBOSE") && *worst[w].effect; ++w) {
    printf("%-10s %7.1f dB  %s\n", worst[w].effect, decibels(worst[w].difference), worst[w].line);
  }
}

/// Effects with long tails, each for another reason.
static const Case ringing[] = {
  { "lowpass", 48000.0, { SET("order", 16.0) }, 1 },
  { "lowpass", 44100.0, { SET("frequency", 30000.0) }, 1 },
  { "lowpass", 48000.0, { SET("order", 12.0), { .id = "type", .text = "linkwitz-riley" } }, 2 },
  { "highpass",
    48000.0,
    { SET("frequency", 1000.0), SET("order", 9.0), { .id = "type", .text = "elliptic" } },
    3 },
  { "highpass", 48000.0, { SET("order", 1.0) }, 1 },
  { "bandpass", 48000.0, { SET("order", 5.0), { .id = "type", .text = "chebyshev1" } }, 2 },
  { "bandstop", 48000.0, { SET("order", 4.0), { .id = "type", .text = "chebyshev2" } }, 2 },
  { "peaking", 48000.0, { SET("gain", 18.0), SET("q", 40.0) }, 2 },
  { "notch", 48000.0, { SET("frequency", 1000.0) }, 1 },
};

TEST(an_impulse_decays_by_the_end_of_the_tail_and_not_long_before)
{
  memset(in, 0, sizeof(in));
  in[0] = 1.0F;
  for (uint32_t k = 0; k < ARRAY_LEN(ringing); ++k) {
    SCOPED(rig_free) FxRig rig = rig_of(&ringing[k]);
    const uint64_t tail = rig.fx->tail(rig.node);
    ck_assert_uint_lt(tail, MAX_FRAMES);
    ck_assert_uint_eq(rig.shape.latency_frames, 0);
    rig_run(&rig, ins, outs, MAX_FRAMES, RIG_BLOCKS, 0);
    uint32_t last = 0;
    for (uint32_t i = 0; i < MAX_FRAMES; ++i) {
      last = fabsf(out[i]) >= 1e-6F ? i : last;
    }
    ck_assert_msg(last <= tail, "%s %u: sounds at %u, tail %u", ringing[k].effect, k, last,
                  (uint32_t)tail);
    ck_assert_msg(5U * last + 100U > tail, "%s %u: over at %u, tail %u", ringing[k].effect, k, last,
                  (uint32_t)tail);
  }
}

TEST(the_tail_follows_the_parameters)
{
  SCOPED(rig_free) FxRig rig = rig_of(&ringing[ARRAY_LEN(ringing) - 1U]);
  const uint64_t before = rig.fx->tail(rig.node);
  rig_set(&rig, "q", 100.0);
  ck_assert_uint_gt(rig.fx->tail(rig.node), 8U * before);
}

TEST(the_edges_of_a_band_may_change_places)
{
  static float other[MAX_FRAMES];
  signal_noise(in, MAX_FRAMES, 1);
  FxRig rig;
  rig_new(&rig, "bandpass", 48000.0, 1, 512, SET("low", 200.0), SET("high", 900.0));
  rig_run(&rig, ins, outs, MAX_FRAMES, RIG_BLOCKS, 0);
  rig_free(&rig);
  rig_new(&rig, "bandpass", 48000.0, 1, 512, SET("low", 900.0), SET("high", 200.0));
  rig_run(&rig, ins, (float*[]){ other }, MAX_FRAMES, RIG_BLOCKS, 0);
  rig_free(&rig);
  ck_assert_double_le(max_difference(out, other, MAX_FRAMES, NULL), 0.0);
}

TEST(an_odd_linkwitz_riley_order_is_refused_with_a_reason)
{
  FxRig rig;
  Error error = { STATUS_OK, "" };
  const RigArg args[] = { SET("order", 5.0), { .id = "type", .text = "linkwitz-riley" } };
  ck_assert_int_eq(rig_try(&rig, "highpass", 48000.0, 1, 512, false, args, 2, &error),
                   STATUS_BAD_ARG);
  assert_says(error.text, "even");
}

SUITE_MAIN("filters")
