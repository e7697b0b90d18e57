// SPDX-License-Identifier: GPL-3.0-or-later
// What one thread publishes is complete when another thread can see it: the observer runs after
// each single instruction of the publisher (support/steps.h).

#include "engine/callback/period.h"
#include "engine/callback/period_state.h"
#include "engine/ring/ring.h"
#include "engine/worker/player.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/steps.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define CHANNELS 2U
#define BLOCK    32U
#define FRAME    12345U

/// Run the steps.  Prints that the test is skipped and returns false on processors without them.
static bool
take_steps(void (*const run)(void*), void (*const look)(void*), void* const context)
{
  const uint64_t n = steps_run(run, look, context);
  if (n == 0U) {
    fputs("skipped: single-stepping is not available on this processor\n", stderr);
    return false;
  }
  ck_assert_uint_gt(n, 4);
  return true;
}

/// Record the first complaint; later ones are dropped.
static void
complain(const char** const complaint, const char* const text)
{
  *complaint = *complaint ? *complaint : text;
}

// ---- control: the observer detects torn values ----

typedef struct Pair {
  volatile uint32_t first, second;
  uint32_t n_torn;
} Pair;

static void
write_pair(void* const context)
{
  Pair* const pair = context;
  pair->first = 1;
  pair->second = 1;
}

static void
look_at_pair(void* const context)
{
  Pair* const pair = context;
  pair->n_torn += pair->first != pair->second;
}

TEST(a_torn_pair_is_detected)
{
  Pair pair = { 0 };
  if (take_steps(write_pair, look_at_pair, &pair)) {
    ck_assert_uint_ge(pair.n_torn, 1);
    ck_assert_uint_eq(pair.second, 1);
  }
}

// ---- plans ----

typedef struct Swap {
  Player player;
  Plan old, new;
  uint64_t n_before, n_after;
  const char* complaint;
} Swap;

static void
swap(void* const context)
{
  player_idle(&((Swap*)context)->player);
}

/// Observe as the builder: once the offer is taken, the other fields have their new values.
static void
look_as_builder(void* const context)
{
  Swap* const swap = context;
  Player* const player = &swap->player;
  const Plan* const retired = atomic_load(&player->retired);
  if (retired && (retired != &swap->old || player->plan == retired)) {
    complain(&swap->complaint, "the player still uses the retired plan");
  }
  if (!player_has_taken(player)) {
    ++swap->n_before;
    return;
  }
  ++swap->n_after;
  if (retired != &swap->old) {
    complain(&swap->complaint, "the new plan is taken, and the old plan cannot be collected");
  }
  if (player->plan != &swap->new) {
    complain(&swap->complaint, "the new plan is taken, and the player has another plan");
  }
  if (atomic_load(&player->first_frame) != FRAME) {
    complain(&swap->complaint, "the new plan is taken, and first_frame is not set");
  }
}

TEST(a_plan_is_exchanged_as_a_whole)
{
  static Swap swapped;
  Player* const player = &swapped.player;
  player->plan = &swapped.old;
  atomic_store(&player->next_frame, FRAME);
  player_offer(player, &swapped.new);
  if (take_steps(swap, look_as_builder, &swapped)) {
    ck_assert_msg(!swapped.complaint, "%s", swapped.complaint);
    ck_assert(swapped.n_before && swapped.n_after);
    ck_assert_ptr_eq(player_collect(player), &swapped.old);
    ck_assert_ptr_null(player_collect(player));
  }
}

// ---- blocks ----

typedef struct Blocks {
  Ring* ring; ///< The callback's
  Ring* view; ///< The player's
  Period* period;
  float in[CHANNELS][BLOCK], out[CHANNELS][BLOCK];
  uint64_t sequence; ///< Of the block that is handed over
  uint64_t frame;
  uint64_t n_before, n_after;
  bool fails;
  const char* complaint;
} Blocks;

static void
blocks_new(Blocks* const blocks)
{
  const RingShape shape = { CHANNELS, CHANNELS, BLOCK, 4, 8, 0 };
  *blocks = (Blocks){ .ring = NULL };
  ck_assert(ring_new(&shape, &blocks->ring, NULL) == STATUS_OK);
  ck_assert(ring_attach(ring_fd(blocks->ring), &blocks->view, NULL) == STATUS_OK);
  const PeriodConfig config = {
    .ring = blocks->ring, .rate_hz = 48000.0, .depth = 1, .max_latency_frames = 100
  };
  ck_assert(period_new(&config, &blocks->period, NULL) == STATUS_OK);
  signal_noise(blocks->in[0], BLOCK, 1);
  signal_noise(blocks->in[1], BLOCK, 2);
}

static void
blocks_free(Blocks* const blocks)
{
  period_free(blocks->period);
  ring_free(blocks->view);
  ring_free(blocks->ring);
}

static void
play(void* const context)
{
  Blocks* const blocks = context;
  const float* const in[] = { blocks->in[0], blocks->in[1] };
  float* const out[] = { blocks->out[0], blocks->out[1] };
  period_run(blocks->period, in, out, BLOCK, false);
}

static void
look_as_worker(void* const context)
{
  Blocks* const blocks = context;
  uint64_t sequence = 0;
  if (!ring_take(blocks->view, 0, &sequence)) {
    ++blocks->n_before;
    return;
  }
  ++blocks->n_after;
  const SlotHeader* const slot = ring_slot(blocks->view, sequence);
  if (sequence != blocks->sequence || slot->frame != blocks->frame || slot->n_frames != BLOCK) {
    complain(&blocks->complaint, "a block can be taken, and its header is not complete");
  }
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    if (memcmp(ring_input(blocks->view, sequence, c), blocks->in[c], sizeof(blocks->in[c])) != 0) {
      complain(&blocks->complaint, "a block can be taken, and its samples are not complete");
    }
  }
}

TEST(a_block_that_the_player_takes_is_complete)
{
  SCOPED(blocks_free) Blocks blocks;
  blocks_new(&blocks);
  for (uint32_t round = 0; round < 6U; ++round) { // more blocks than slots
    blocks.sequence = round;
    blocks.frame = (uint64_t)round * BLOCK;
    blocks.in[0][3] = (float)round;
    blocks.n_before = blocks.n_after = 0;
    if (!take_steps(play, look_as_worker, &blocks)) {
      break;
    }
    ck_assert_msg(!blocks.complaint, "round %u: %s", round, blocks.complaint);
    ck_assert(blocks.n_before && blocks.n_after);
    ring_finish(blocks.view);
  }
}

static void
finish(void* const context)
{
  Blocks* const blocks = context;
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    memcpy(ring_output(blocks->view, blocks->sequence, c), blocks->in[c], sizeof(blocks->in[c]));
  }
  if (blocks->fails) {
    ring_fail(blocks->view);
  } else {
    ring_finish(blocks->view);
  }
}

static void
look_as_callback(void* const context)
{
  Blocks* const blocks = context;
  if (!ring_is_finished(blocks->ring, blocks->sequence)) {
    ++blocks->n_before;
    return;
  }
  ++blocks->n_after;
  const RingResult result = ring_result(blocks->ring, blocks->sequence);
  if (result != (blocks->fails ? RING_NO_SOUND : RING_SOUND)) {
    complain(&blocks->complaint, "a block is finished, and its result is not set");
  }
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    if (memcmp(ring_output(blocks->ring, blocks->sequence, c), blocks->in[c],
               sizeof(blocks->in[c])) != 0) {
      complain(&blocks->complaint, "a block is finished, and its samples are not complete");
    }
  }
}

TEST(a_block_that_the_callback_collects_is_complete)
{
  SCOPED(blocks_free) Blocks blocks;
  blocks_new(&blocks);
  for (uint32_t round = 0; round < 6U; ++round) {
    blocks.sequence = round;
    blocks.fails = round % 2U;
    blocks.in[0][3] = (float)round;
    blocks.n_before = blocks.n_after = 0;
    ring_submit(blocks.ring);
    if (!take_steps(finish, look_as_callback, &blocks)) {
      break;
    }
    ck_assert_msg(!blocks.complaint, "round %u: %s", round, blocks.complaint);
    ck_assert(blocks.n_before && blocks.n_after);
  }
  ck_assert_uint_eq(ring_faults(blocks.ring), 0);
}

// ---- messages ----

static const ParamMessage messages[] = {
  { .frame = 1, .uid = 2, .param = 3, .value = 4.0 },
  { .frame = 5, .uid = 6, .param = 7, .value = 8.0, .kind = MESSAGE_NOTE, .n_frames = 9 },
  { .frame = 9, .uid = 10, .param = 11, .value = 12.0, .kind = MESSAGE_NOTES_OFF }
};

static void
send_messages(void* const context)
{
  Blocks* const blocks = context;
  blocks->fails = !ring_send(blocks->ring, messages, (uint32_t)ARRAY_LEN(messages));
}

/// Observe as the receiver: all messages of a group or none, each complete.
static void
look_as_receiver(void* const context)
{
  Blocks* const blocks = context;
  ParamMessage got;
  uint32_t n = 0;
  while (ring_receive(blocks->view, &got)) {
    if (n >= ARRAY_LEN(messages) || memcmp(&got, &messages[n], sizeof(got)) != 0) {
      complain(&blocks->complaint, "a message arrives that was not sent");
    }
    ++n;
  }
  if (n != 0U && n != ARRAY_LEN(messages)) {
    complain(&blocks->complaint, "only a part of a group of messages arrives");
  }
  blocks->n_after += n;
}

TEST(messages_that_are_sent_as_one_arrive_as_one)
{
  SCOPED(blocks_free) Blocks blocks;
  blocks_new(&blocks);
  for (uint32_t round = 0; round < 6U; ++round) {
    blocks.n_after = 0;
    if (!take_steps(send_messages, look_as_receiver, &blocks)) {
      break;
    }
    ck_assert_msg(!blocks.complaint, "round %u: %s", round, blocks.complaint);
    ck_assert(!blocks.fails);
    ck_assert_uint_eq(blocks.n_after, ARRAY_LEN(messages));
  }
}

// ---- rings, and the clock ----

typedef struct Exchange {
  Blocks blocks;
  Ring* old;
  Ring* new;
  const Ring* collected;
  uint64_t clock[2][2]; ///< Frame and time, before and after the period
  uint64_t n_clocks[2];
} Exchange;

static void
play_exchange(void* const context)
{
  play(&((Exchange*)context)->blocks);
}

static void
look_as_supervisor(void* const context)
{
  Exchange* const exchange = context;
  const Period* const period = exchange->blocks.period;
  const Ring* const left = atomic_load(&period->exchange.left);
  // The callback must not use the old ring any more.  This observer can check only that the new
  // ring is no longer offered; the callback stores its own pointer after that.
  if (left && (left != exchange->old || atomic_load(&period->exchange.offered))) {
    complain(&exchange->blocks.complaint, "a ring that is still in use is marked as left");
  }
  exchange->collected = left ? left : exchange->collected;
}

TEST(a_ring_is_left_only_for_another_one)
{
  static Exchange exchange;
  Blocks* const blocks = &exchange.blocks;
  blocks_new(blocks);
  const RingShape shape = *ring_shape(blocks->ring);
  exchange.old = blocks->ring;
  ck_assert(ring_new(&shape, &exchange.new, NULL) == STATUS_OK);
  ck_assert_ptr_null(period_offer_ring(blocks->period, exchange.new));
  if (take_steps(play_exchange, look_as_supervisor, &exchange)) {
    ck_assert_msg(!blocks->complaint, "%s", blocks->complaint);
    ck_assert_ptr_eq(exchange.collected, exchange.old);
    ck_assert_ptr_eq(period_collect_ring(blocks->period), exchange.old);
    ck_assert_uint_eq(ring_next(exchange.new), 1);
  }
  blocks_free(blocks);
  ring_free(exchange.new);
}

/// Check the pairs that a reader accepts: those with an even version.
static void
look_at_clock(void* const context)
{
  Exchange* const exchange = context;
  const Period* const period = exchange->blocks.period;
  const uint32_t version = atomic_load(&period->clock_version);
  if (version % 2U == 0U) {
    const uint32_t after = version != exchange->blocks.sequence;
    const uint64_t pair[2] = { atomic_load(&period->clock_frame), atomic_load(&period->clock_ns) };
    if (!exchange->n_clocks[after]++) {
      memcpy(exchange->clock[after], pair, sizeof(pair));
    }
    if (memcmp(exchange->clock[after], pair, sizeof(pair)) != 0) {
      complain(&exchange->blocks.complaint,
               "the pair of the clock changes while its version is even");
    }
  }
}

TEST(frame_and_time_are_a_pair)
{
  static Exchange exchange;
  Blocks* const blocks = &exchange.blocks;
  blocks_new(blocks);
  play(blocks);
  blocks->sequence = atomic_load(&blocks->period->clock_version);
  if (take_steps(play_exchange, look_at_clock, &exchange)) {
    ck_assert_msg(!blocks->complaint, "%s", blocks->complaint);
    ck_assert(exchange.n_clocks[0] && exchange.n_clocks[1]);
    ck_assert_uint_eq(exchange.clock[1][0], exchange.clock[0][0] + BLOCK);
    ck_assert_uint_gt(exchange.clock[1][1], exchange.clock[0][1]);
  }
  blocks_free(blocks);
}

SUITE_MAIN("steps")
