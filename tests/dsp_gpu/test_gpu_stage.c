// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The stage of a device as a part of the engine: two blocks at once, changes within a block, the
  ring as memory of the kernels, mixed racks, edits, the guard, armed blocks.  The CPU always plays
  the same rack for comparison.

      WARPRACK_TEST_BACKEND=cuda|opencl (default opencl)
*/

#include "dsp_gpu/kernels/layout.h"
#include "dsp_gpu/stage_private.h"
#include "engine/base/time.h"
#include "tests/support/device_pair.h"
#include "tests/support/device_suite.h"
#include "tests/support/fx_checks.h"
#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define RATE_HZ   48000.0
#define BLOCK     64U
#define N_BLOCKS  60U
#define FRAMES    (BLOCK * N_BLOCKS)
#define TOLERANCE 1e-6 // one or two roundings per node

#define TOO_LATE_NS 70000000U // for an armed device (AHEAD_NS in cuda_record.c)

static Backend* device;

static const Format stereo = { .rate_hz = RATE_HZ, .block_frames = BLOCK, .n_in = 2 };

static DevicePair
pair_new(const char* const rack, const Format* const format)
{
  float** const in = planar_noise(format->n_in, FRAMES, 7U, 0.5);
  return device_pair_new(device, rack, format, in, FRAMES);
}

TEST(changes_within_a_block_take_effect_at_their_frames)
{
  SCOPED(device_pair_free) DevicePair pair = pair_new("x: gain", &stereo);
  for (uint32_t e = 0; e < 7U; ++e) { // in one block, at odd frames
    device_pair_set(&pair, "x", "gain", e % 2U ? 0.0 : -20.0, 5U * BLOCK + 9U * e + 1U);
  }
  device_pair_play(&pair, 0U, FRAMES, RIG_BLOCKS, 0U);
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
}

TEST(more_changes_than_parts_are_early_by_less_than_an_eighth_of_a_block)
{
  // The values alternate, so that a lost or late change would be audible; if all arrive, the gain
  // ends at the value of the CPU.
  SCOPED(device_pair_free) DevicePair pair = pair_new("x: gain", &stereo);
  for (uint32_t e = 0; e < 40U; ++e) {
    device_pair_set(&pair, "x", "gain", e % 2U ? 0.0 : -20.0, 5U * BLOCK + e);
  }
  device_pair_set(&pair, "x", "gain", -7.0, 5U * BLOCK + 63U);
  device_pair_play(&pair, 0U, FRAMES, RIG_BLOCKS, 0U);
  const size_t settled = 30U * BLOCK; // past the ramp of 20 ms
  for (uint32_t c = 0; c < pair.n_out; ++c) {
    ck_assert_double_le(max_difference(pair.outs[0][c] + settled, pair.outs[1][c] + settled,
                                       FRAMES - settled, NULL),
                        TOLERANCE);
  }
}

TEST(a_fade_after_a_value_of_the_same_part_reaches_its_end)
{
  // Both fades are one ramp: their only points are at their first frames.
  SCOPED(device_pair_free) DevicePair pair = pair_new("x: gain | y: gain", &stereo);
  for (uint32_t r = 0; r < 2U; ++r) {
    rack_rig_set(&pair.rigs[r], "x", "gain", -30.0, 5U * BLOCK);
    rack_rig_fade(&pair.rigs[r], "x", "gain", -10.0, 5U * BLOCK, 48U, CURVE_LINEAR);
    for (uint32_t e = 0; e < 24U; ++e) { // more than parts
      rack_rig_set(&pair.rigs[r], "y", "gain", -1.0 * e, 5U * BLOCK + e);
    }
    rack_rig_fade(&pair.rigs[r], "y", "gain", -3.0, 5U * BLOCK + 25U, 48U, CURVE_LINEAR);
  }
  device_pair_play(&pair, 0U, FRAMES, RIG_BLOCKS, 0U);
  const size_t settled = 30U * BLOCK;
  for (uint32_t c = 0; c < pair.n_out; ++c) {
    ck_assert_double_le(max_difference(pair.outs[0][c] + settled, pair.outs[1][c] + settled,
                                       FRAMES - settled, NULL),
                        TOLERANCE);
  }
}

TEST(values_and_fades_of_one_frame_have_the_ramps_of_the_cpu)
{
  SCOPED(device_pair_free) DevicePair pair = pair_new("x: compressor | y: compressor", &stereo);
  for (uint32_t r = 0; r < 2U; ++r) {
    rack_rig_fade(&pair.rigs[r], "x", "threshold", -40.0, 5U * BLOCK + 3U, 20U, CURVE_LINEAR);
    rack_rig_set(&pair.rigs[r], "x", "makeup", 12.0, 5U * BLOCK + 3U);
    rack_rig_fade(&pair.rigs[r], "y", "makeup", 12.0, 5U * BLOCK + 3U, 500U, CURVE_LINEAR);
    rack_rig_fade(&pair.rigs[r], "y", "mix", 0.2, 5U * BLOCK + 3U, 20U, CURVE_LINEAR);
    rack_rig_fade(&pair.rigs[r], "y", "threshold", -40.0, 5U * BLOCK + 3U, 900U, CURVE_LINEAR);
  }
  device_pair_play(&pair, 0U, FRAMES, RIG_BLOCKS, 0U);
  ck_assert_double_le(device_pair_difference(&pair), 3e-5); // as the compressor's own test
}

/// Nodes of one effect in one launch or in several, as the device allows, and a node that an edit
/// adds.
TEST(nodes_in_several_chunks_play_like_the_cpu)
{
  GpuDeviceInfo* const info = &((Device*)device)->info;
  const uint64_t memory_bytes = info->memory_bytes;
  info->memory_bytes = 0U; // every node gets a chunk of its own
  SCOPED(device_pair_free)
  DevicePair pair =
      pair_new("(a: delay 1ms + b: delay 2ms + c: delay 3ms) | d: delay 4ms", &stereo);
  device_pair_play(&pair, 0U, FRAMES / 2U, RIG_BLOCKS, 0U);
  device_pair_edit(&pair, "(a: delay 1ms + b: delay 2ms + e: delay 5ms) | d: delay 4ms");
  info->memory_bytes = memory_bytes;
  device_pair_play(&pair, FRAMES / 2U, FRAMES / 2U, RIG_BLOCKS, 0U);
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
}

TEST(two_blocks_at_once_sound_like_one_after_the_other)
{
  SCOPED(device_pair_free) DevicePair pair = pair_new("x: gain -3dB | y: gain -3dB", &stereo);
  device_pair_play(&pair, 0U, BLOCK, RIG_BLOCKS, 0U);
  Player* const worker = &pair.rigs[0].player;
  for (uint32_t b = 1; b < N_BLOCKS; ++b) {
    float* const in[] = { pair.in[0] + b * BLOCK, pair.in[1] + b * BLOCK };
    float* const out[] = { pair.outs[0][0] + b * BLOCK, pair.outs[0][1] + b * BLOCK };
    if (b == 30U) {
      rack_rig_set(&pair.rigs[0], "x", "gain", 6.0, 0U);
    }
    player_begin(worker, pair.rigs[0].messages, b * BLOCK, BLOCK, in, out);
    if (worker->n_begun == PLAYER_MAX_BEGUN) {
      player_end(worker);
    }
  }
  while (worker->n_begun) {
    player_end(worker);
  }
  const float* const in[] = { pair.in[0] + BLOCK, pair.in[1] + BLOCK };
  float* const out[] = { pair.outs[1][0] + BLOCK, pair.outs[1][1] + BLOCK };
  rack_rig_set(&pair.rigs[1], "x", "gain", 6.0, 30U * BLOCK);
  rack_rig_run(&pair.rigs[1], in, out, FRAMES - BLOCK, RIG_BLOCKS, 0U);
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
}

TEST(kernels_work_in_an_attached_ring)
{
  const RingShape shape = {
    .n_in = 2, .n_out = 2, .block_frames = BLOCK, .n_slots = 4, .n_messages = 4
  };
  SCOPED_RING Ring* ring = NULL;
  OK(ring_new(&shape, &ring, &error));
  size_t n_bytes = 0;
  void* const region = ring_memory(ring, &n_bytes);
  DevicePair pair = pair_new("x: gain -3dB", &stereo);
  Plan* const plan = pair.rigs[0].player.plan;
  plan_drop_stages(plan);
  OK(device->attach(device, region, n_bytes, &error));
  OK(plan_make_stages(plan, NULL, &error));
  for (uint32_t e = 0; e < 7U; ++e) { // parts of a block that begin and end at any frame
    device_pair_set(&pair, "x", "gain", e % 2U ? 0.0 : -20.0, 5U * BLOCK + 9U * e + 1U);
  }
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    float* in[2];
    float* out[2];
    for (uint32_t c = 0; c < 2U; ++c) {
      in[c] = ring_input(ring, b, c);
      out[c] = ring_output(ring, b, c);
      for (uint32_t i = 0; i < BLOCK; ++i) {
        in[c][i] = pair.in[c][b * BLOCK + i];
        out[c][i] = NAN;
      }
    }
    player_run(&pair.rigs[0].player, pair.rigs[0].messages, b * BLOCK, BLOCK, in, out);
    for (uint32_t c = 0; c < 2U; ++c) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        pair.outs[0][c][b * BLOCK + i] = out[c][i];
      }
    }
  }
  rack_rig_run(&pair.rigs[1], (const float* const*)pair.in, pair.outs[1], FRAMES, RIG_BLOCKS, 0U);
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
  device_pair_free(&pair);
  device->detach(device);
}

TEST(rows_may_stay_on_the_device)
{
  // [block][input, output][channel][frame], in a buffer that no thread may access.
  enum { CHANNELS = 2, SAMPLES = N_BLOCKS * 2U * CHANNELS * BLOCK };
  static float samples[SAMPLES];
  DevicePair pair = pair_new("x: gain -3dB", &stereo);
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    for (uint32_t c = 0; c < CHANNELS; ++c) {
      memcpy(samples + (size_t)(b * 2U * CHANNELS + c) * BLOCK, pair.in[c] + (size_t)b * BLOCK,
             BLOCK * sizeof(float));
    }
  }
  Device* const on = (Device*)device;
  GpuBuffer* buffer = NULL;
  OK(on->api->buffer_new(on->gpu, sizeof(samples), &buffer, &error));
  OK(on->api->buffer_write(buffer, 0U, samples, sizeof(samples), &error));
  float* const region = mmap(NULL, sizeof(samples), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(region != MAP_FAILED);

  Plan* const plan = pair.rigs[0].player.plan;
  plan_drop_stages(plan);
  device_attach_buffer(on, region, buffer);
  OK(plan_make_stages(plan, NULL, &error));
  ck_assert_str_eq(stage_gpu_rows(plan->stages[0].stage), "attached");
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    float* const block = region + (size_t)b * 2U * CHANNELS * BLOCK;
    float* in[] = { block, block + BLOCK };
    float* out[] = { block + 2U * BLOCK, block + 3U * BLOCK };
    ck_assert(player_run(&pair.rigs[0].player, NULL, b * BLOCK, BLOCK, in, out));
  }
  OK(on->api->buffer_read(buffer, 0U, samples, sizeof(samples), &error));
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    for (uint32_t c = 0; c < CHANNELS; ++c) {
      memcpy(pair.outs[0][c] + (size_t)b * BLOCK,
             samples + (size_t)(b * 2U * CHANNELS + CHANNELS + c) * BLOCK, BLOCK * sizeof(float));
    }
  }
  rack_rig_run(&pair.rigs[1], (const float* const*)pair.in, pair.outs[1], FRAMES, RIG_BLOCKS, 0U);
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
  device_pair_free(&pair);
  device->detach(device);
  on->api->buffer_free(buffer);
  munmap(region, sizeof(samples));
}

TEST(a_rack_that_is_elsewhere_in_part_cannot_have_its_rows_on_the_device)
{
  DevicePair pair = pair_new("x: gain -3dB backend=gpu | y: limiter backend=cpu", &stereo);
  Plan* const plan = pair.rigs[0].player.plan;
  plan_drop_stages(plan);
  Error error = { STATUS_OK, "" };
  Device* const on = (Device*)device;
  GpuBuffer* buffer = NULL;
  ck_assert_int_eq(on->api->buffer_new(on->gpu, 4096U, &buffer, &error), STATUS_OK);
  device_attach_buffer(on, &pair, buffer);
  ck_assert_int_eq(plan_make_stages(plan, NULL, &error), STATUS_BAD_RACK);
  assert_says(error.text, "runs there as a whole");
  device_pair_free(&pair);
  device->detach(device);
  on->api->buffer_free(buffer);
}

/// Racks with nodes on CPU and device, and with every kind of connection between them.
static const char* const mixed_racks[] = {
  "x: gain -3dB backend=cpu | y: gain -2dB backend=gpu",
  "x: gain -3dB backend=gpu | y: gain -2dB backend=cpu | z: gain -1dB backend=gpu",
  "x: gain -3dB backend=gpu + y: gain -2dB backend=cpu",
  "(x: gain -3dB backend=cpu + y: gain -2dB backend=gpu) | z: gain -1dB backend=gpu",
  "(x: limiter -3dB backend=cpu + y: gain -2dB backend=gpu) | z: gain -1dB backend=gpu",
  "x: gain -3dB backend=gpu | (y: limiter -6dB lookahead=2ms backend=cpu + z: gain backend=gpu)",
};

TEST(mixed_racks_sound_like_the_cpu)
{
  for (size_t r = 0; r < ARRAY_LEN(mixed_racks); ++r) {
    SCOPED(device_pair_free) DevicePair pair = pair_new(mixed_racks[r], &stereo);
    device_pair_play(&pair, 0U, FRAMES / 2U, RIG_BLOCKS, 0U);
    device_pair_set(&pair, "x", r == 4U ? "ceiling" : "gain", -9.0, FRAMES / 2U + 7U);
    device_pair_play(&pair, FRAMES / 2U, FRAMES / 2U, RIG_BLOCKS, 0U);
    ck_assert_msg(device_pair_difference(&pair) <= TOLERANCE, "%s: difference %g", mixed_racks[r],
                  device_pair_difference(&pair));
  }
}

#define MANY_GAINS 1100U // of two words each: more than stage_begin copies in one pass

TEST(a_large_rack_has_all_its_parameters_in_the_first_block)
{
  SCOPED_MEMORY char* text = NULL;
  size_t n_bytes = 0;
  FILE* const stream = open_memstream(&text, &n_bytes);
  ck_assert_ptr_nonnull(stream);
  for (uint32_t g = 0; g < MANY_GAINS; ++g) {
    fprintf(stream, "add g%u gain %g\nconnect in g%u\nconnect g%u out\n", g, -60.0 - 0.01 * g, g,
            g);
  }
  ck_assert_int_eq(fclose(stream), 0);
  SCOPED(device_pair_free) DevicePair pair = pair_new(text, &stereo);
  device_pair_play(&pair, 0U, 2U * BLOCK, RIG_BLOCKS, 0U);
  ck_assert_msg(device_pair_difference(&pair) <= TOLERANCE, "difference %g",
                device_pair_difference(&pair));
}

TEST(edits_keep_state_and_fade_like_the_cpu)
{
  static const char* const racks[] = {
    "x: gain -3dB",
    "x: gain -3dB | y: gain -2dB",
    "x: gain -3dB | (y: gain -2dB + z: limiter -6dB)",
    "(y: gain -2dB + z: limiter -6dB lookahead=3ms)",
    "connect in out gain=-10dB",
  };
  SCOPED(device_pair_free) DevicePair pair = pair_new(racks[0], &stereo);
  const size_t part = FRAMES / ARRAY_LEN(racks);
  for (size_t r = 0; r < ARRAY_LEN(racks); ++r) {
    if (r) {
      device_pair_edit(&pair, racks[r]);
    }
    device_pair_play(&pair, r * part, part, RIG_BLOCKS, 0U);
  }
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
}

TEST(non_finite_outputs_are_silenced_counted_and_reset)
{
  SCOPED(device_pair_free) DevicePair pair = pair_new("x: gain 6dB", &stereo);
  pair.in[1][3U * BLOCK + 5U] = NAN;
  pair.in[0][7U * BLOCK + 5U] = INFINITY;
  device_pair_play(&pair, 0U, FRAMES, RIG_BLOCKS, 0U);
  ck_assert_uint_eq(pair.rigs[0].player.counts.units_reset, 2);
  ck_assert_uint_eq(pair.rigs[1].player.counts.units_reset, 2);
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
  for (uint32_t i = 0; i < BLOCK; ++i) {
    ck_assert(pair.outs[0][1][3U * BLOCK + i] == 0.0F && pair.outs[0][0][3U * BLOCK + i] != 0.0F);
  }
}

TEST(coupled_channels_are_silenced_together)
{
  const Format format = { .rate_hz = RATE_HZ, .block_frames = BLOCK, .n_in = 40 };
  SCOPED(device_pair_free)
  DevicePair pair = pair_new("x: reverb size=0 predelay=0 mix=0.5", &format);
  pair.in[33][9U * BLOCK + 5U] = NAN;
  pair.in[2][30U * BLOCK + 5U] = INFINITY;
  device_pair_play(&pair, 0U, FRAMES, RIG_BLOCKS, 0U);
  ck_assert_uint_eq(pair.rigs[0].player.counts.units_reset, 2);
  ck_assert_uint_eq(pair.rigs[1].player.counts.units_reset, 2);
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
  for (uint32_t c = 0; c < format.n_in; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      ck_assert(pair.outs[0][c][9U * BLOCK + i] == 0.0F);
      ck_assert(pair.outs[0][c][30U * BLOCK + i] == 0.0F);
    }
    ck_assert(pair.outs[0][c][10U * BLOCK] != 0.0F);
  }
}

// ---- armed ----

#define STATEFUL                                                                                   \
  "(a: delay 7ms feedback=0.5 + b: reverb mix=0.5) | c: lowpass 900 order=3 | "                    \
  "d: compressor -30dB | e: fir lowpass 1kHz taps=65 | f: limiter -6dB"

/// Run the next recording without a block, while its changes are being written.
static void
run_void(Stage* const stage)
{
  const GpuApi* const api = stage->device->api;
  Slot* const slot = &stage->slots[stage->next_slot];
  const uint64_t sequence = UINT64_MAX - stage->sequence;
  uint32_t word = 1U;
  bool done = false;
  OK(api->buffer_write(stage->live, LIVE_IS_VOID * sizeof(word), &word, sizeof(word), &error));
  slot->changes[CHANGES_N_FRAMES] = BLOCK;
  slot->changes[CHANGES_N] = 40U;
  for (uint32_t w = 0; w < 40U; ++w) {
    slot->changes[CHANGES_HEAD + 2U * w] = LIVE_HEAD + w;
    slot->changes[CHANGES_HEAD + 2U * w + 1U] = 0x40490FDBU;
  }
  ck_assert(!api->submit(slot->recording, sequence));
  while (!done) {
    ck_assert(!api->poll(slot->recording, sequence, &done));
  }
  word = 0U;
  OK(api->buffer_write(stage->live, LIVE_IS_VOID * sizeof(word), &word, sizeof(word), &error));
}

TEST(a_run_without_a_block_changes_nothing)
{
  SCOPED(device_pair_free) DevicePair undisturbed = pair_new(STATEFUL, &stereo);
  SCOPED(device_pair_free) DevicePair pair = pair_new(STATEFUL, &stereo);
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    const Plan* const plan = pair.rigs[0].player.plan;
    run_void(plan->stages[plan->n_stages - 1U].stage);
    device_pair_play(&pair, (size_t)b * BLOCK, BLOCK, RIG_BLOCKS, 0U);
  }
  device_pair_play(&undisturbed, 0U, FRAMES, RIG_BLOCKS, 0U);
  for (uint32_t c = 0; c < pair.n_out; ++c) {
    ck_assert_mem_eq(pair.outs[0][c], undisturbed.outs[0][c], FRAMES * sizeof(float));
  }
}

/// On a device that can be armed: blocks in time, too late, in parts, and around edits.
TEST(armed_blocks_sound_like_those_of_the_cpu)
{
  Device* const opened = (Device*)device;
  const bool keep_awake = opened->keep_awake;
  opened->keep_awake = true;
  SCOPED(device_pair_free) DevicePair pair = pair_new("x: gain -3dB | y: lowpass 900", &stereo);
  device_backend_play(device, true);
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    if (b % 20U == 10U) {
      time_sleep(TOO_LATE_NS);
      device_pair_set(&pair, "x", "gain", -(double)b, b * BLOCK + 9U);
    } else if (b % 20U == 15U) {
      device_pair_edit(&pair, b == 15U ? "x: gain | y: lowpass 900 | z: invert"
                                       : "x: gain | y: lowpass 900");
    }
    device_pair_play(&pair, (size_t)b * BLOCK, BLOCK, RIG_BLOCKS, 0U);
    plan_rest(pair.rigs[0].player.plan);
  }
  device_backend_play(device, false);
  opened->keep_awake = keep_awake;
  ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
}

TEST(an_empty_rack_passes_through_the_device)
{
  SCOPED(device_pair_free) DevicePair pair = pair_new("connect in out", &stereo);
  ck_assert_ptr_eq(pair.rigs[0].player.plan->out_backend, device);
  device_pair_play(&pair, 0U, FRAMES, RIG_BLOCKS, 0U);
  ck_assert(device_pair_difference(&pair) == 0.0);
}

TEST(freed_memory_is_reused_as_silence)
{
  // Nodes and their memory are added and removed a hundred times.  Without clearing the memory, a
  // ramp would start at the end of the ramp of its last owner.
  for (uint32_t round = 0; round < 100U; ++round) {
    SCOPED(rack_rig_free) RackRig rig;
    rack_rig_new(&rig, device, NULL, round % 2U ? "x: gain -40dB | y: gain 40dB" : "x: gain 0dB",
                 &stereo, NULL, 0U);
    float* const in[] = { (float[BLOCK]){ 1.0F }, (float[BLOCK]){ 1.0F } };
    float left[BLOCK];
    float right[BLOCK];
    float* const out[] = { left, right };
    rack_rig_run(&rig, (const float* const*)in, out, BLOCK, RIG_BLOCKS, 0U);
    ck_assert(fabsf(left[0] - 1.0F) < 1e-6F && left[1] == 0.0F);
  }
}

int
main(void)
{
  return device_suite_run("gpu_stage", ENGINE_BACKEND_AUTO, &device);
}
