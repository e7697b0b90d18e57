// SPDX-License-Identifier: GPL-3.0-or-later
/*
  An engine with a device: edits, also those that move nodes between CPU and device, take effect
  without a click and at the same latency; nodes without backend= go to the side with the lower
  cost; the status has the placement of each node, and the reason.

      WARPRACK_TEST_BACKEND=cuda|opencl (default opencl)
*/

#include "engine/base/time.h"
#include "engine/engine.h"
#include "engine/worker/calibrate.h"
#include "engine/worker/placement.h"
#include "tests/support/device_suite.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK DRIVER_BLOCK

/// An engine on the device with this depth.
static TestDriver
driver_on_device(const EngineBackend backend, const PlacementCosts* const costs,
                 const char* const rack, const uint32_t depth, const size_t n_blocks)
{
  const EngineConfig config = { .n_in = 1,
                                .n_out = 1,
                                .depth = depth,
                                .deadline_fraction = 0.75,
                                .backend = backend,
                                .gpu_index = UINT32_MAX,
                                .gpu_deadline_ns = DEVICE_PATIENT_NS,
                                .costs = costs };
  return driver_from(&config, rack, n_blocks * BLOCK);
}

/// The name of the API under test.
static const char*
api_name(void)
{
  return engine_backend_names[device_suite_api()];
}

/// Place and reason of the node `name`, as "backend reason".
static const char*
place_of(const TestDriver* const driver, const Rack* const rack, const char* const name)
{
  static char text[64];
  EnginePlacement placements[16];
  const uint32_t n = engine_placements(driver->engine, placements, ARRAY_LEN(placements));
  ck_assert_uint_eq(n, rack->n_nodes);
  for (uint32_t i = 0; i < n; ++i) {
    const RackNode* const node = rack_find_uid(rack, placements[i].uid);
    ck_assert_ptr_nonnull(node);
    if (!strcmp(node->name, name)) {
      snprintf(text, sizeof(text), "%s %s", engine_backend_names[placements[i].backend],
               place_reason_names[placements[i].reason]);
      return text;
    }
  }
  return "no such node";
}

static void
assert_place(const TestDriver* const driver, const Rack* const rack, const char* const name,
             const char* const backend, const char* const why)
{
  char expected[64];
  snprintf(expected, sizeof(expected), "%s %s", backend, why);
  const char* const place = place_of(driver, rack, name);
  ck_assert_msg(!strcmp(place, expected), "%s runs on %s, not %s", name, place, expected);
}

static EngineStatus
status_of(const TestDriver* const driver)
{
  EngineStatus status;
  engine_status(driver->engine, &status);
  return status;
}

TEST(edits_and_moves_between_backends_do_not_click)
{
  static const char* const racks[] = {
    "g: gain 0dB",
    "g: gain 0dB backend=cpu",
    "g: gain 0dB backend=gpu",
    "g: gain 0dB backend=cpu | h: gain -6dB | i: gain 3dB backend=cpu",
    "g: gain 0dB | h: gain -6dB backend=cpu | i: gain 3dB",
    "g: gain 0dB backend=gpu | (h: gain -6dB + i: gain -9dB backend=cpu)",
    "g: gain 0dB | l: dcblock 2 backend=cpu",
    "l: dcblock 2 backend=cpu | g: gain -3dB",
    "",
    "g: gain backend=cpu + h: gain -6dB",
    "d: delay 20ms mix=0.4 feedback=50%",             // its tail plays on the device
    "d: delay 20ms mix=0.4 feedback=50% backend=cpu", // beside the new node on the CPU; then back
    "d: delay 20ms mix=0.4 feedback=50% backend=gpu | l: limiter lookahead=1ms backend=cpu",
    "d: delay 20ms mix=0.4 feedback=50% | g: gain",
    "",
  };
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    SCOPED(driver_free)
    TestDriver driver =
        driver_on_device(device_suite_api(), NULL, racks[0], depth, 1000U * ARRAY_LEN(racks));
    SCOPED_RACK Rack* rack = rack_of(racks[0], NULL);
    signal_sine(driver.in[0], driver.n_frames, 440.0, DRIVER_RATE_HZ, 0.5, 0.0);
    driver_play(&driver, 100);
    char where[32];
    snprintf(where, sizeof(where), "depth %u", depth);
    for (uint32_t r = 1; r < ARRAY_LEN(racks); ++r) {
      driver_assert_smooth_edit(&driver, &rack, racks[r], where);
      ck_assert_uint_eq(engine_latency(driver.engine),
                        depth * BLOCK + engine_rack_latency(driver.engine));
    }
    const EngineStatus status = status_of(&driver);
    ck_assert_uint_eq(status.counts.late, 0);
    ck_assert_uint_eq(status.worker_counts.units_reset, 0);
  }
}

TEST(mixed_racks_play_what_the_cpu_plays)
{
  static const char* const mixed =
      "a: gain -3dB backend=gpu | b: peaking 1000 6dB backend=cpu | c: gain 2dB backend=gpu | "
      "(d: gain -6dB backend=cpu + e: gain -9dB backend=gpu) | f: gain 1dB backend=cpu";
  static const char* const plain = "a: gain -3dB | b: peaking 1000 6dB | c: gain 2dB | "
                                   "(d: gain -6dB + e: gain -9dB) | f: gain 1dB";
  SCOPED(driver_free)
  TestDriver device = driver_on_device(device_suite_api(), NULL, mixed, 1, 200U);
  SCOPED(driver_free) TestDriver cpu = driver_on_device(ENGINE_BACKEND_CPU, NULL, plain, 1, 200U);
  signal_noise(device.in[0], device.n_frames, 1);
  signal_noise(cpu.in[0], cpu.n_frames, 1);
  driver_play(&device, 200);
  driver_play(&cpu, 200);
  const double worst = max_difference(device.out[0], cpu.out[0], device.n_frames, NULL);
  ck_assert_msg(worst < 1e-6, "the outputs differ by %g", worst); // -120 dB
  const EngineStatus status = status_of(&device);
  ck_assert_uint_eq(status.n_gpu_nodes, 3);
  ck_assert_msg(!strncmp(status.backend, "cpu+", 4) && !strcmp(status.backend + 4, api_name()),
                "%s", status.backend);
}

TEST(the_status_reports_the_backend_of_each_node_and_its_reason)
{
  const char* const text = "a: gain | b: gain backend=cpu | c: gain backend=gpu";
  SCOPED(driver_free) TestDriver driver = driver_on_device(device_suite_api(), NULL, text, 1, 10U);
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  assert_place(&driver, rack, "a", api_name(), "option");
  assert_place(&driver, rack, "b", "cpu", "node");
  assert_place(&driver, rack, "c", api_name(), "node");
  const EngineStatus status = status_of(&driver);
  ck_assert_uint_eq(status.n_gpu_nodes, 2);
  ck_assert_msg(strstr(status.device, api_name()) == status.device, "%s", status.device);
}

TEST(a_node_with_a_connected_side_input_is_on_the_cpu)
{
  static const char free[] = "c: compressor -40dB";
  static const char keyed[] = "chain c: compressor -40dB\nconnect in c.sidechain";
  static const char wanted[] = "chain c: compressor -40dB backend=gpu\nconnect in c.sidechain";
  SCOPED(driver_free)
  TestDriver driver = driver_on_device(device_suite_api(), NULL, free, 1, 200U);
  SCOPED_RACK Rack* rack = rack_of(free, NULL);
  assert_place(&driver, rack, "c", api_name(), "option");
  OK(driver_edit(&driver, &rack, keyed, &error));
  driver_play(&driver, 10);
  assert_place(&driver, rack, "c", "cpu", "side-input");
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(driver_edit(&driver, &rack, wanted, &error), STATUS_NO_BACKEND);
  assert_says(error.text,
              "c: backend=gpu: a node with a connected side input runs on the CPU only");
  ck_assert_int_eq(driver_edit(&driver, &rack, free, &error), STATUS_OK);
  driver_play(&driver, 10);
  assert_place(&driver, rack, "c", api_name(), "option");
}

static void
set_switch(const TestDriver* const driver, const RackNode* const node, const char* const param,
           const double value, const uint64_t frame)
{
  const ParamMessage message = { .frame = frame,
                                 .uid = node->uid,
                                 .param = (uint32_t)fx_param_find(node->fx, param),
                                 .value = value,
                                 .kind = MESSAGE_VALUE };
  OK(engine_set(driver->engine, &message, 1U));
}

/// True if the last block played is the input times `level`.
static bool
last_is(const TestDriver* const driver, const float level)
{
  const float* const out = driver->out[0] + driver->position - BLOCK;
  const float* const in = driver->in[0] + driver->position - BLOCK - engine_latency(driver->engine);
  bool is = true;
  for (uint32_t i = 0; i < BLOCK; ++i) {
    is = is && fabsf(out[i] - level * in[i]) < 1e-6F;
  }
  return is;
}

/// Play until the last block is the input times `level`: the builder first plans the rack again.
static void
play_until(TestDriver* const driver, const float level)
{
  for (uint32_t tries = 0; tries < 1000U && !last_is(driver, level); ++tries) {
    driver_play(driver, 4);
    time_sleep(NS_PER_S / 20U);
  }
  ck_assert_msg(last_is(driver, level), "the level is not %g", (double)level);
}

TEST(a_message_turns_on_the_switches_of_a_node_on_the_device)
{
  static const struct {
    const char* param;
    float level;
  } switches[] = { { "bypass", 1.0F }, { "mute", 0.0F } };
  static const char text[] = "g: gain 0dB | x: gain -20dB | h: gain 0dB";
  for (uint32_t s = 0; s < ARRAY_LEN(switches); ++s) {
    SCOPED(driver_free)
    TestDriver driver = driver_on_device(device_suite_api(), NULL, text, 1, 6000U);
    SCOPED_RACK Rack* const rack = rack_of(text, NULL);
    const RackNode* const x = rack_find(rack, "x");
    signal_sine(driver.in[0], driver.n_frames, 440.0, DRIVER_RATE_HZ, 0.5, 0.0);
    driver_play(&driver, 100);
    ck_assert(last_is(&driver, 0.1F));
    set_switch(&driver, x, switches[s].param, 1.0, 0U);
    play_until(&driver, switches[s].level);
    // From now on, a change takes effect at its frame.
    const uint32_t latency = engine_latency(driver.engine);
    const size_t at = driver.position + 7U + latency;
    set_switch(&driver, x, switches[s].param, 0.0, at - latency);
    driver_play(&driver, 100);
    ck_assert(last_is(&driver, 0.1F));
    for (size_t i = driver.position - 100U * BLOCK; i < at + 960U + BLOCK; ++i) {
      const float level = i < at ? switches[s].level : 0.1F;
      const float wanted = level * driver.in[0][i - latency];
      ck_assert_msg((i >= at && i < at + 960U) || fabsf(driver.out[0][i] - wanted) < 1e-6F,
                    "%s, frame %zu: %g, not %g", switches[s].param, i - at,
                    (double)driver.out[0][i], (double)wanted);
    }
    const double fade = 6.0 * 0.5 / (960.0 * 960.0); // second derivative of the ramp
    const uint32_t begin = latency + BLOCK;          // after the silence before the sine
    ck_assert_double_lt(max_second_difference(driver.out[0] + begin, driver.position - begin),
                        max_second_difference(driver.in[0], driver.position) + fade + 1e-5);
    assert_place(&driver, rack, "x", api_name(), "option");
  }
}

TEST(without_a_gpu_a_node_that_asks_for_one_is_refused_with_the_reason)
{
  static const struct {
    EngineBackend backend;
    const char* why;
    const char* reason;
  } cases[] = { { ENGINE_BACKEND_CPU, "option", "--backend cpu does not use GPUs" },
                { ENGINE_BACKEND_AUTO, "no-gpu", "WARPRACK_AUTO_GPU=none disables GPUs" } };
  setenv("WARPRACK_AUTO_GPU", "none", 1);
  for (uint32_t c = 0; c < ARRAY_LEN(cases); ++c) {
    SCOPED(driver_free)
    TestDriver driver = driver_on_device(cases[c].backend, NULL, "g: gain", 1, 200U);
    SCOPED_RACK Rack* rack = rack_of("g: gain", NULL);
    driver_play(&driver, 10);
    assert_place(&driver, rack, "g", "cpu", cases[c].why);
    Error error = { STATUS_OK, "" };
    ck_assert_int_eq(driver_edit(&driver, &rack, "g: gain backend=gpu", &error), STATUS_NO_BACKEND);
    assert_says(error.text, "g: backend=gpu: ");
    assert_says(error.text, cases[c].reason);
  }
  setenv("WARPRACK_AUTO_GPU", "any", 1);
}

/// Costs with which n gains in series take n us on the CPU and 10 us on the GPU.
static PlacementCosts
gain_costs(void)
{
  PlacementCosts costs = { .stage = { [PLACEMENT_CPU] = { .is_known = true },
                                      [PLACEMENT_GPU] = { .is_known = true, .base = 10000.0 } } };
  uint32_t n = 0;
  const FxInfo* const* const effects = fx_table(&n);
  for (uint32_t e = 0; e < n; ++e) {
    if (!strcmp(effects[e]->name, "gain")) {
      costs.effects[PLACEMENT_CPU][e] = (PlacementCost){ .is_known = true, .base = 1000.0 };
      costs.effects[PLACEMENT_GPU][e] = (PlacementCost){ .is_known = true };
    }
  }
  return costs;
}

/// A series of n gains, the first one called g0.
static const char*
gains(const uint32_t n)
{
  static char text[1024];
  size_t at = 0;
  for (uint32_t i = 0; i < n; ++i) {
    at += (size_t)snprintf(text + at, sizeof(text) - at, "%sg%u: gain", i ? " | " : "", i);
  }
  return text;
}

TEST(a_free_choice_goes_to_the_faster_backend_and_does_not_flap)
{
  static const struct {
    uint32_t n;
    bool is_on_gpu;
  } steps[] = { { 2, false }, { 15, false }, { 19, false }, { 22, true },
                { 9, true },  { 6, true },   { 4, false },  { 12, false } };
  const PlacementCosts costs = gain_costs();
  SCOPED(driver_free)
  TestDriver driver = driver_on_device(ENGINE_BACKEND_AUTO, &costs, gains(2), 1, 600U);
  SCOPED_RACK Rack* rack = rack_of(gains(2), NULL);
  driver_play(&driver, 10);
  for (uint32_t s = 0; s < ARRAY_LEN(steps); ++s) {
    OK(driver_edit(&driver, &rack, gains(steps[s].n), &error));
    driver_play(&driver, 30);
    const EngineStatus status = status_of(&driver);
    ck_assert_msg(status.n_gpu_nodes == (steps[s].is_on_gpu ? steps[s].n : 0U),
                  "%u gains: %u on the GPU; %s", steps[s].n, status.n_gpu_nodes,
                  status.backend_note);
    assert_says(status.backend_note, "by measured costs");
    ck_assert_double_eq(status.cost_us[PLACEMENT_CPU], steps[s].n);
    ck_assert_double_eq(status.cost_us[PLACEMENT_GPU], 10.0);
  }
  assert_place(&driver, rack, "g0", "cpu", "cost");
}

TEST(a_rack_begins_on_the_gpu_when_that_is_quicker)
{
  const PlacementCosts costs = gain_costs();
  SCOPED(driver_free)
  TestDriver driver = driver_on_device(ENGINE_BACKEND_AUTO, &costs, gains(13), 1, 100U);
  SCOPED_RACK Rack* const rack = rack_of(gains(13), NULL);
  signal_noise(driver.in[0], driver.n_frames, 1);
  driver_play(&driver, 100);
  ck_assert(!memcmp(driver.out[0] + BLOCK, driver.in[0], 99U * BLOCK * sizeof(float)));
  char chosen[8] = ""; // the first of CUDA and OpenCL that has a device
  sscanf(status_of(&driver).device, "%7s", chosen);
  assert_place(&driver, rack, "g12", chosen, "cost");
}

TEST(costs_are_measured_and_kept)
{
  const DeviceChoice choice = { .api = device_suite_api(),
                                .index = UINT32_MAX,
                                .deadline_ns = DEVICE_PATIENT_NS };
  Backend* device = NULL;
  OK(device_backend_new(&choice, &device, &error));
  PlacementCosts costs;
  Error error = { STATUS_OK, "" };
  ck_assert_msg(calibrate(device, "gain", NULL, &costs, &error) == STATUS_OK, "%s", error.text);
  ck_assert_msg(error.status == STATUS_OK, "%s", error.text);
  uint32_t n = 0;
  const FxInfo* const* const effects = fx_table(&n);
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    ck_assert(costs.stage[s].is_known);
    ck_assert_double_gt(costs.stage[s].base + costs.stage[s].per_sample, 0.0);
    for (uint32_t e = 0; e < n; ++e) {
      const PlacementCost* const cost = &costs.effects[s][e];
      ck_assert(cost->is_known == !strcmp(effects[e]->name, "gain"));
      ck_assert(cost->base >= 0.0 && cost->per_channel >= 0.0 && cost->per_frame >= 0.0 &&
                cost->per_sample >= 0.0);
      ck_assert(cost->per_tap == 0.0 && cost->per_tap_frame == 0.0);
    }
  }
  PlacementCosts kept;
  ck_assert(device_remember(device, "test costs", &costs, sizeof(costs)));
  ck_assert(device_recall(device, "test costs", &kept, sizeof(kept)));
  ck_assert(!memcmp(&kept, &costs, sizeof(costs)));
  ck_assert(!device_recall(device, "test costs", &kept, sizeof(kept) - 1U));
  ck_assert(!device_recall(device, "other costs", &kept, sizeof(kept)));
  device_backend_free(device);
}

static void
count_note(void* const context, const char* const text)
{
  (void)text;
  ++*(uint32_t*)context;
}

TEST(kept_costs_are_not_measured_again)
{
  // Only these costs: measuring all effects would compile all kernels.
  DeviceChoice choice = { .index = UINT32_MAX, .deadline_ns = DEVICE_PATIENT_NS };
  Backend* device = NULL;
  OK(device_backend_new(&choice, &device, &error));
  char name[CALIBRATE_NAME_BYTES];
  calibrate_name(false, name);
  const PlacementCosts costs = gain_costs();
  ck_assert(device_remember(device, name, &costs, sizeof(costs)));
  uint32_t n_notes = 0;
  const EngineConfig config = { .n_in = 1,
                                .n_out = 1,
                                .deadline_fraction = 0.75,
                                .backend = ENGINE_BACKEND_AUTO,
                                .gpu_index = UINT32_MAX,
                                .gpu_deadline_ns = DEVICE_PATIENT_NS,
                                .note = count_note,
                                .note_context = &n_notes };
  TestDriver driver = driver_from(&config, gains(13), 10U * BLOCK);
  ck_assert_uint_eq(n_notes, 0);
  ck_assert_uint_eq(status_of(&driver).n_gpu_nodes, 13);
  ck_assert_double_eq(status_of(&driver).cost_us[PLACEMENT_CPU], 13.0);
  driver_free(&driver);
  const PlacementCosts none = { 0 }; // the next start of any program measures
  device_remember(device, name, &none, sizeof(none) - 1U);
  device_backend_free(device);
}

int
main(void)
{
  setenv("WARPRACK_AUTO_GPU", "any", 1);
  return device_suite_run("engine_device", ENGINE_BACKEND_AUTO, NULL);
}
