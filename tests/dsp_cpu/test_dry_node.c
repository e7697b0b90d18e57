// SPDX-License-Identifier: GPL-3.0-or-later
// A node in quarantine plays its input, delayed by the latency of its effect, whatever the effect
// and the lengths of the blocks.

#include "engine/contract/effect.h"
#include "tests/support/dry_rig.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define N_IN   3U
#define BLOCK  64U
#define FRAMES 4800U

static float in[N_IN][FRAMES];
static float out[FX_MAX_CHANNELS][FRAMES];

typedef struct DryRig {
  FxInfo dry;
  FxShape shape;
  void* node;
  uint32_t n_units;
  void* states[N_IN];
  InputLine line;
} DryRig;

/// Returns false if the effect makes no node of its initial values.
static bool
start(DryRig* const rig, const FxInfo* const fx)
{
  double values[64] = { 0 };
  bool given[64] = { 0 };
  const char* texts[64] = { 0 };
  const FxFile* files[64] = { 0 };
  ck_assert_uint_le(fx->n_params, 64U);
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    values[p] = fx->params[p].initial;
  }
  const FxSetup setup = { .fx = fx,
                          .rate_hz = RATE,
                          .max_block_frames = BLOCK,
                          .n_in = N_IN,
                          .values = values,
                          .given = given,
                          .texts = texts,
                          .files = files,
                          .is_quarantined = true };
  *rig = (DryRig){ .dry = fx_dry(fx), .shape = { .unit_in = 1U, .unit_out = 1U } };
  Error error = { STATUS_OK, "" };
  if (fx->offline_only || rig->dry.create(&setup, &rig->shape, &rig->node, &error)) {
    return false;
  }
  rig->n_units = N_IN / rig->shape.unit_in;
  rig->line = dry_rig_new(&rig->shape, N_IN, BLOCK);
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    const size_t n_bytes = rig->shape.unit_bytes / 64U * 64U + 64U;
    rig->states[u] = aligned_alloc(64, n_bytes);
    ck_assert_ptr_nonnull(rig->states[u]);
    memset(rig->states[u], 0x55, n_bytes);
    rig->dry.unit_init(rig->node, rig->states[u], u);
  }
  return true;
}

static void
run(DryRig* const rig, const uint32_t first, const uint32_t n_frames)
{
  const float* all[N_IN];
  for (uint32_t c = 0; c < N_IN; ++c) {
    all[c] = in[c] + first;
  }
  dry_rig_put(&rig->line, &rig->dry, rig->node, all, N_IN, n_frames);
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    const float* ins[N_IN];
    float* outs[FX_MAX_CHANNELS];
    for (uint32_t c = 0; c < rig->shape.unit_in; ++c) {
      ins[c] = in[u * rig->shape.unit_in + c] + first;
    }
    for (uint32_t c = 0; c < rig->shape.unit_out; ++c) {
      outs[c] = out[u * rig->shape.unit_out + c] + first;
    }
    const FxUnit unit = { .node = rig->node,
                          .state = rig->states[u],
                          .in = ins,
                          .out = outs,
                          .dry = dry_rig_unit(&rig->line, &rig->shape, u) };
    rig->dry.run(&unit, 1U, n_frames);
  }
  dry_rig_advance(&rig->line, n_frames);
}

static void
check(const DryRig* const rig, const char* const name)
{
  const uint32_t latency = rig->shape.latency_frames;
  for (uint32_t c = 0; c < rig->n_units * rig->shape.unit_out; ++c) {
    const uint32_t unit = c / rig->shape.unit_out;
    const uint32_t of_unit = c % rig->shape.unit_out;
    const uint32_t last = rig->shape.unit_in - 1U;
    const float* const from = in[unit * rig->shape.unit_in + (of_unit < last ? of_unit : last)];
    for (uint32_t i = 0; i < FRAMES; ++i) {
      const float expected = i < latency ? 0.0F : from[i - latency];
      ck_assert_msg(out[c][i] == expected, "%s: output %u, frame %u: %g instead of %g", name, c, i,
                    (double)out[c][i], (double)expected);
    }
  }
}

TEST(every_effect_plays_its_input_delayed_by_its_latency)
{
  uint32_t n_effects = 0;
  uint32_t n_late = 0;
  uint32_t n_played = 0;
  const FxInfo* const* const effects = fx_table(&n_effects);
  for (uint32_t c = 0; c < N_IN; ++c) {
    signal_noise(in[c], FRAMES, c + 1U);
  }
  for (uint32_t e = 0; e < n_effects; ++e) {
    DryRig rig;
    if (!start(&rig, effects[e])) {
      continue;
    }
    static const uint32_t lengths[] = { BLOCK, 1U, 17U, BLOCK - 1U };
    for (uint32_t done = 0, n = 0; done < FRAMES; ++n) {
      const uint32_t most = FRAMES - done;
      const uint32_t length = lengths[n % ARRAY_LEN(lengths)];
      run(&rig, done, length < most ? length : most);
      rig.dry.set(rig.node, 0U, 1.0, 1U);
      done += length < most ? length : most;
    }
    check(&rig, effects[e]->name);
    n_late += rig.shape.latency_frames > 0U;
    ++n_played;
    for (uint32_t u = 0; u < rig.n_units; ++u) {
      free(rig.states[u]);
    }
    free(rig.line.samples);
    rig.dry.destroy(rig.node);
  }
  ck_assert_uint_gt(n_played, n_effects / 2U);
  ck_assert_uint_gt(n_late, 0U);
}

TEST(an_effect_that_makes_no_node_makes_no_dry_one)
{
  const FxInfo* const fx = fx_find("convolver");
  DryRig rig;
  ck_assert(!start(&rig, fx)); // it has no file
  ck_assert_ptr_null(rig.node);
}

SUITE_MAIN("dry node")
