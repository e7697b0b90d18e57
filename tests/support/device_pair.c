// SPDX-License-Identifier: GPL-3.0-or-later

#include "device_pair.h"

#include "fx_checks.h"
#include "signals.h"

#include <math.h>
#include <stdlib.h>

DevicePair
device_pair_new(const Backend* const device, const char* const rack, const Format* const format,
                float** const in, const uint32_t n_frames)
{
  DevicePair pair = { .in = in, .n_frames = n_frames };
  for (uint32_t r = 0; r < 2U; ++r) {
    const Backend* const backend = r ? &backend_cpu : device;
    rack_rig_new(&pair.rigs[r], backend, backend, rack, format, NULL, 0U);
    pair.n_out = rack_rig_n_out(&pair.rigs[r]);
    pair.outs[r] = planar_silence(pair.n_out, n_frames);
  }
  return pair;
}

void
device_pair_free(DevicePair* const pair)
{
  for (uint32_t r = 0; r < 2U; ++r) {
    rack_rig_free(&pair->rigs[r]);
    free(pair->outs[r]);
  }
  free(pair->in);
}

void
device_pair_play(DevicePair* const pair, const size_t first, const size_t n, const RigSplit split,
                 const uint64_t seed)
{
  const float* ins[FX_MAX_CHANNELS];
  float* outs[FX_MAX_CHANNELS];
  for (uint32_t r = 0; r < 2U; ++r) {
    for (uint32_t c = 0; c < pair->rigs[r].format.n_in; ++c) {
      ins[c] = pair->in[c] + first;
    }
    for (uint32_t c = 0; c < pair->n_out; ++c) {
      outs[c] = pair->outs[r][c] + first;
    }
    rack_rig_run(&pair->rigs[r], ins, outs, n, split, seed);
  }
}

void
device_pair_set(DevicePair* const pair, const char* const node, const char* const param,
                const double value, const uint64_t frame)
{
  for (uint32_t r = 0; r < 2U; ++r) {
    rack_rig_set(&pair->rigs[r], node, param, value, frame);
  }
}

void
device_pair_edit(DevicePair* const pair, const char* const rack)
{
  for (uint32_t r = 0; r < 2U; ++r) {
    rack_rig_edit(&pair->rigs[r], rack);
  }
}

double
device_pair_difference(const DevicePair* const pair)
{
  double worst = 0.0;
  for (uint32_t c = 0; c < pair->n_out; ++c) {
    worst = fmax(worst, max_difference(pair->outs[0][c], pair->outs[1][c], pair->n_frames, NULL));
  }
  return worst;
}
