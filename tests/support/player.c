// SPDX-License-Identifier: GPL-3.0-or-later
// The test is the audio driver.

#include "player.h"

#include "suite.h"

#include "../../engine/engine_private.h"
#include "../../engine/runner_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define POLL_US 200U

Player
player_from(const EngineConfig* const config, const char* const rack_text, const size_t n_frames)
{
  Player player = {
    .n_in = config->n_in, .n_out = config->n_out, .block = PLAYER_BLOCK, .n_frames = n_frames
  };
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_new(config, &player.engine, &error), STATUS_OK);
  Rack* const rack = player_rack(rack_text);
  ck_assert_msg(engine_edit_wait(player.engine, rack, &error) == STATUS_OK, "%s", error.text);
  rack_free(rack);
  ck_assert_msg(engine_arm(player.engine, PLAYER_RATE_HZ, PLAYER_BLOCK, config->n_in, config->n_out,
                           &error) == STATUS_OK,
                "%s", error.text);
  for (uint32_t c = 0; c < PLAYER_CHANNELS; ++c) {
    player.in[c] = calloc(n_frames + PLAYER_BLOCK, sizeof(float));
    player.out[c] = calloc(n_frames + PLAYER_BLOCK, sizeof(float));
  }
  return player;
}

Player
player_new(const char* const rack_text, const uint32_t n_in, const uint32_t n_out,
           const uint32_t depth, const bool offline, const size_t n_frames)
{
  const EngineConfig config = {
    .n_in = n_in, .n_out = n_out, .depth = depth, .deadline = 0.75, .offline = offline
  };
  return player_from(&config, rack_text, n_frames);
}

void
player_free(Player* const player)
{
  engine_free(player->engine);
  for (uint32_t c = 0; c < PLAYER_CHANNELS; ++c) {
    free(player->in[c]);
    free(player->out[c]);
  }
}

void
player_play(Player* const player, const size_t n_blocks)
{
  for (size_t b = 0; b < n_blocks; ++b) {
    ck_assert_uint_le(player->position + player->block, player->n_frames);
    const float* in[PLAYER_CHANNELS];
    float* out[PLAYER_CHANNELS];
    for (uint32_t c = 0; c < PLAYER_CHANNELS; ++c) {
      in[c] = player->in[c] + player->position;
      out[c] = player->out[c] + player->position;
    }
    engine_process(player->engine, in, out, player->block, true);
    player->position += player->block;
  }
}

typedef struct Answer {
  _Atomic bool arrived;
  EngineReply reply;
} Answer;

static void
take_answer(void* const context, const EngineReply* const reply)
{
  Answer* const answer = context;
  answer->reply = *reply;
  answer->arrived = true;
}

/// Whether an edit on its way waits for the next block.
static bool
awaits_block(const Player* const player)
{
  const Runner* const runner = player->engine->runner;
  return engine_frame_now(player->engine) < atomic_load(&runner->awaited_frame);
}

void
player_await_builder(const Player* const player, const uint64_t frame)
{
  const Runner* const runner = player->engine->runner;
  while (atomic_load(&runner->awaited_frame) != frame) {
    usleep(POLL_US);
  }
}

/// The block in which the edit is heard depends on no clock: one is played while it is planned, and
/// then those that it waits for.
static Status
edit_to(Player* const player, Rack** const rack, Rack* const next, Error* const error)
{
  Answer answer = { .arrived = false };
  ck_assert_int_eq(engine_edit(player->engine, next, 0, take_answer, &answer), STATUS_OK);
  player_play(player, 1);
  while (!answer.arrived) {
    if (awaits_block(player)) {
      player_play(player, 1);
    }
    usleep(POLL_US);
  }
  if (answer.reply.status) {
    rack_free(next);
    return error_set(error, answer.reply.status, "%s", answer.reply.text);
  }
  rack_free(*rack);
  *rack = next;
  return STATUS_OK;
}

Status
player_edit(Player* const player, Rack** const rack, const char* const text, Error* const error)
{
  Rack* next = NULL;
  ck_assert_msg(rack_parse(text, "rack", *rack, &next, error) == STATUS_OK, "%s", error->text);
  return edit_to(player, rack, next, error);
}

Status
player_apply(Player* const player, Rack** const rack, const char* const statements,
             Error* const error)
{
  Rack* const next = rack_copy(*rack);
  ck_assert_msg(rack_apply(next, statements, "rack", error) == STATUS_OK, "%s", error->text);
  return edit_to(player, rack, next, error);
}

Rack*
player_rack(const char* const text)
{
  Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_msg(rack_parse(text, "rack", NULL, &rack, &error) == STATUS_OK, "%s", error.text);
  return rack;
}
