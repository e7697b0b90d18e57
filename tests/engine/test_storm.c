// SPDX-License-Identifier: GPL-3.0-or-later
// A storm: random exchanges of racks with every kind of effect, and random changes of all
// parameters, while the thread of a driver plays block after block.  The output stays finite and no
// block is lost.  The sanitizers and the real-time trap run this test too.
//
// STORM_BLOCKS sets the number of blocks (default 30000), STORM_SEED the seed.

#include "engine/contract/fade.h"
#include "engine/engine.h"
#include "tests/support/made_files.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE     48000.0
#define BLOCK    64U
#define CHANNELS 2U

// Many racks have nodes of the same names, so that nodes persist, move, change structure and end.
static const char* const racks[] = {
  "",
  "eq: highpass 80 order=4 | pk: peaking 1000 6dB | comp: compressor | lim: limiter -1dB",
  "eq: highpass 80 order=2 | comp: compressor link=off | lim: limiter -1dB",
  "pk: peaking 1000 6dB | eq: highpass 80 order=4",
  "(dry: gain -3dB + rev: reverb mix=1) | lim: limiter -1dB",
  "(dry: gain -3dB + rev: reverb mix=1 size=0.3 + del: delay 100ms mix=1) | lim: limiter -1dB",
  "hall: convolver long mix=0.4 | lim: limiter -1dB lookahead=3ms",
  "hall: convolver short mix=0.4 | eq: lowpass 9000 type=elliptic order=6",
  "(hall: convolver short + hall2: convolver long + lin: fir lowpass 4000 taps=301)",
  "ls: lowshelf 200 3dB | hs: highshelf 5000 -3dB | no: notch 3000 | ap: allpass 700",
  "bp: bandpass 300 3000 order=3 + bs: bandstop 900 1100 type=chebyshev2",
  "gt: gate -60dB | pp: delay 50ms pingpong=on feedback=0.7 | dry: gain 2dB",
  "inv: invert | dc: dcblock | mid: matrix \"0.5 0.5; 0.5 -0.5\" | dry: gain | bal: pan 30%",
  "add left pan -50%\nadd right pan 50%\nconnect in:1 left\nconnect in:2 right\nconnect left "
  "out\nconnect right out",
  "add a gain\nadd b gain\nconnect in a\nconnect a:1 b:2\nconnect a:2 b:1\nconnect b out\nconnect "
  "in:1 out:2",
};

typedef struct Storm {
  Engine* engine;
  uint64_t n_blocks;
  _Atomic bool over;
  uint64_t n_bad; ///< Samples that were not finite
  float largest;
} Storm;

/// The thread of the driver.
static void*
drive(void* const context)
{
  Storm* const storm = context;
  float in[CHANNELS][BLOCK];
  float out[CHANNELS][BLOCK];
  const float* const ins[] = { in[0], in[1] };
  float* const outs[] = { out[0], out[1] };
  for (uint64_t b = 0; b < storm->n_blocks; ++b) {
    for (uint32_t c = 0; c < CHANNELS; ++c) {
      signal_noise(in[c], BLOCK, CHANNELS * b + c);
    }
    engine_process(storm->engine, ins, outs, BLOCK, true);
    for (uint32_t c = 0; c < CHANNELS; ++c) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        storm->n_bad += !isfinite(out[c][i]);
        storm->largest = fmaxf(storm->largest, fabsf(out[c][i]));
      }
    }
  }
  storm->over = true;
  return NULL;
}

/// Set one parameter of one node to a random value in its range, at once or by a fade.
static void
turn_something(Storm* const storm, const Rack* const rack, uint64_t* const random)
{
  if (rack->n_nodes == 0U) {
    return;
  }
  const RackNode* const node = &rack->nodes[signal_random(random) % rack->n_nodes];
  const uint32_t p = (uint32_t)(signal_random(random) % node->fx->n_params);
  const FxParam* const param = &node->fx->params[p];
  static const uint32_t fades[] = { 0U, 0U, 50U, 3000U };
  if (param->kind == PARAM_NUMBER && !param->structural) {
    const double share = (double)(signal_random(random) >> 11U) * 0x1p-53;
    const uint64_t at = engine_frame_now(storm->engine) + signal_random(random) % 1000U;
    const ParamMessage change = { .frame = at,
                                  .uid = node->uid,
                                  .param = p,
                                  .value = param->min + share * (param->max - param->min),
                                  .fade_frames = fades[signal_random(random) % ARRAY_LEN(fades)],
                                  .curve = (uint32_t)(signal_random(random) % FX_N_CURVES) };
    (void)!engine_set(storm->engine, &change, 1);
  }
}

TEST(random_edits_of_every_effect_lose_nothing)
{
  made_files_begin();
  const EngineConfig config = { .n_in = CHANNELS,
                                .n_out = CHANNELS,
                                .depth = 1,
                                .n_helpers = 1,
                                .ceiling_lin = 0.97F,
                                .files = made_files };
  Storm storm = { .n_blocks = suite_number("STORM_BLOCKS", 30000) };
  uint64_t random = suite_number("STORM_SEED", 1);
  OK(engine_new(&config, &storm.engine, &error));
  OK(engine_arm(storm.engine, RATE, BLOCK, CHANNELS, CHANNELS, &error));
  pthread_t driver;
  ck_assert_int_eq(pthread_create(&driver, NULL, drive, &storm), 0);

  Rack* rack = rack_new();
  uint64_t n_edits = 0;
  while (!storm.over) {
    const char* const text = racks[signal_random(&random) % ARRAY_LEN(racks)];
    Rack* const next = rack_of(text, rack);
    Error error = { STATUS_OK, "" };
    ck_assert_msg(engine_edit_wait(storm.engine, next, &error) == STATUS_OK, "%s: %s", text,
                  error.text);
    rack_free(rack);
    rack = next;
    ++n_edits;
    for (uint64_t n = signal_random(&random) % 20U; n > 0U; --n) {
      turn_something(&storm, rack, &random);
      usleep((useconds_t)(signal_random(&random) % 100U));
    }
  }
  pthread_join(driver, NULL);
  EngineStatus status;
  engine_status(storm.engine, &status);
  printf("%llu blocks, %llu edits, %llu plans, %llu parameters (%llu for nodes gone), largest "
         "sample %g\n",
         (unsigned long long)status.counts.blocks, (unsigned long long)n_edits,
         (unsigned long long)status.worker_counts.plans,
         (unsigned long long)status.worker_counts.params_applied,
         (unsigned long long)status.worker_counts.params_dropped, (double)storm.largest);
  ck_assert_uint_eq(storm.n_bad, 0);
  ck_assert_uint_eq(status.worker_counts.units_reset, 0);
  ck_assert_uint_eq(status.counts.late + status.counts.dropped, 0);
  ck_assert_uint_eq(status.counts.bad_out, 0);
  ck_assert_uint_eq(status.counts.blocks, storm.n_blocks);
  ck_assert(storm.largest <= 0.97F);
  engine_free(storm.engine);
  rack_free(rack);
}

SUITE_MAIN("storm")
