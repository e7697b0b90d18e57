// SPDX-License-Identifier: GPL-3.0-or-later
// States of CLAP plugins: with the values of parameters, in pieces of any size, on the main thread.

#include "tests/support/plugins/clap/clap_rig.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/// Open an instance with a state; NULL: none.
static Status
open_with(const StateFile* const state, Error* const error)
{
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ,
                                .max_block_frames = CLAP_RIG_BLOCK,
                                .state = state };
  return clap_rig_try_open("test.learner", &setup, error);
}

/// The last sample that the instance makes of a constant one.
static float
play(const float sample)
{
  for (uint32_t f = 0; f < CLAP_RIG_BLOCK; ++f) {
    clap_rig.in[0][f] = sample;
  }
  clap_rig_run(CLAP_RIG_BLOCK);
  return clap_rig.out[0][CLAP_RIG_BLOCK - 1U];
}

static Status
save(const double mode, TextBuffer* const part, Error* const error)
{
  clap_rig_set("mode", mode, 0);
  clap_rig_run(CLAP_RIG_BLOCK);
  *part = (TextBuffer){ 0 };
  return clap_rig_calls()->save(clap_rig.instance, part, error);
}

TEST(a_state_has_what_was_learnt_and_the_values)
{
  TextBuffer part = { 0 };
  StateFile state = { 0 };
  ck_assert(clap_rig_calls()->state_has_values);
  OK(open_with(NULL, &error));
  clap_rig_set("gain", 0.5, 0);
  ck_assert_float_eq(play(0.5F), 0.5F);
  OK(save(0.0, &part, &error));
  ck_assert_float_eq(play(0.25F), 0.25F); // plays on
  clap_rig_calls()->close(clap_rig.instance);
  OK(state_file_set(&state, &(StatePart){ part.bytes, part.n }, 1));
  OK(open_with(&state, &error));
  ck_assert_double_eq(clap_rig_get("gain"), 0.5);
  ck_assert_float_eq(play(0.25F), 0.25F); // at once: no initial values follow
  ck_assert_uint_eq(clap_rig_n_reports(CLAP_REPORT_WRONG_THREAD), 0);
  OK(clap_rig_calls()->renew(clap_rig.instance, &error));
  ck_assert_float_eq(play(0.25F), 0.25F);
  state_file_clear(&state);
  free(part.bytes);
}

static const struct {
  double mode;
  Status status;
  const char* says;
} bad_saves[] = {
  { 1.0, STATUS_LIMIT, "its state has more than 16 MiB" },
  { 2.0, STATUS_LIMIT, "its state has more than 16 MiB" },
  { 5.0, STATUS_FILE, "clap test.learner does not save its state" },
};

TEST_ROWS(a_state_that_cannot_be_kept_is_an_error, bad_saves)
{
  TextBuffer part = { 0 };
  Error why = { STATUS_OK, "" };
  OK(open_with(NULL, &error));
  ck_assert_int_eq(save(bad_saves[row].mode, &part, &why), bad_saves[row].status);
  assert_says(why.text, bad_saves[row].says);
  ck_assert_uint_le(part.n, FX_STATE_MAX_BYTES);
  ck_assert_float_eq(play(0.5F), 1.0F);
  free(part.bytes);
}

static const StatePart bad_states[] = { { "", 0 },
                                        { "short", 5 },
                                        { "21 bytes: one too many", 21 } };

TEST_ROWS(a_state_that_the_plugin_refuses_makes_no_instance, bad_states)
{
  StateFile state = { 0 };
  Error why = { STATUS_OK, "" };
  OK(state_file_set(&state, &bad_states[row], 1));
  ck_assert_int_eq(open_with(&state, &why), STATUS_FILE);
  ck_assert_str_eq(why.text, "clap test.learner refuses its state");
  ck_assert_ptr_null(clap_rig.instance);
  state_file_clear(&state);
}

TEST(a_plugin_without_states_saves_none)
{
  TextBuffer part = { 0 };
  Error why = { STATUS_OK, "" };
  clap_rig_open_plugin("test.gain");
  ck_assert(!clap_rig.plugin->takes_state);
  ck_assert_int_eq(clap_rig_calls()->save(clap_rig.instance, &part, &why), STATUS_NOT_FOUND);
}

SUITE_MAIN_WITH("clap_state", clap_rig_begin, clap_rig_end)
