// SPDX-License-Identifier: GPL-3.0-or-later
// Denormals are flushed where a rack is run, so that a signal whose every product is one costs no
// more than silence.

#include "support/player.h"
#include "support/signals.h"
#include "support/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS   8U
#define BLOCKS   400U
#define N_FRAMES ((size_t)BLOCKS * PLAYER_BLOCK)
#define FIVE     "reverb | reverb | reverb | reverb | reverb | "
#define RACK     FIVE FIVE FIVE "gain -3dB"

/// Noise from FLT_MIN to twice that: what comes in is normal, what is made of it is not.
static void
be_tiny(Player* const player, const uint64_t seed)
{
  for (uint32_t c = 0; c < player->n_in; ++c) {
    float* const in = player->in[c];
    signal_noise(in, N_FRAMES, seed + c);
    for (size_t i = 0; i < N_FRAMES; ++i) {
      in[i] = copysignf(FLT_MIN * (1.0F + fabsf(in[i])), in[i]);
    }
  }
}

START_TEST(what_a_rack_makes_is_never_denormal)
{
  for (int offline = 1; offline >= 0; --offline) { // live, this thread is the driver, and flushes
    Player player = player_new(RACK, 2, 2, 1, offline, N_FRAMES);
    be_tiny(&player, 1);
    player_play(&player, BLOCKS);
    for (size_t i = 0; i < N_FRAMES; ++i) {
      ck_assert_int_ne(fpclassify(player.out[0][i]), FP_SUBNORMAL);
    }
    EngineStatus status;
    engine_status(player.engine, &status);
    ck_assert_uint_eq(status.counts.denormal_in, 0); // none of them are from outside
    ck_assert_uint_eq(status.counts.denormal_out, 0);
    player_free(&player);
  }
}
END_TEST

/// The load of a block in the middle, over the next BLOCKS blocks.
static double
median_load(Player* const player)
{
  EngineStatus status;
  player->position = 0;
  player_play(player, BLOCKS); // what has sounded before decays
  player->position = 0;
  engine_reset_load(player->engine);
  player_play(player, BLOCKS);
  engine_status(player->engine, &status);
  return status.load_p50;
}

// A ratio within one run, in turns and of the quickest rounds, so that it is no matter of the
// machine.
START_TEST(they_cost_no_more_than_silence)
{
  Player player = player_new(RACK, 2, 2, 1, false, N_FRAMES);
  double silent = INFINITY;
  double tiny = INFINITY;
  for (uint32_t round = 0; round < ROUNDS; ++round) {
    for (uint32_t c = 0; c < player.n_in; ++c) {
      memset(player.in[c], 0, N_FRAMES * sizeof(float));
    }
    silent = fmin(silent, median_load(&player));
    be_tiny(&player, 2U * round);
    tiny = fmin(tiny, median_load(&player));
  }
  printf("load %.4f in silence, %.4f with denormals\n", silent, tiny);
  ck_assert_double_le(tiny, 1.5 * silent);
  player_free(&player);
}
END_TEST

SUITE_MAIN("denormals", what_a_rack_makes_is_never_denormal, they_cost_no_more_than_silence)
