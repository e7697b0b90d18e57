// SPDX-License-Identifier: GPL-3.0-or-later
/**
   dcblock: takes the constant part out of a signal.

   Method: J. O. Smith III, "Introduction to Digital Filters with Audio Applications", W3K 2007,
   section "DC Blocker": a zero at DC and a pole at R just inside of it,

     y[n] = g (x[n] - x[n-1]) + R y[n-1],   g = (1 + R) / 2 for a gain of 1 at half the rate.

   Departures: R is solved for the cutoff, so that the gain there is exactly -3 dB,
   R = (1 - t) / (1 + t) with t = tan(pi cutoff / rate); and y is double, since with R this near to
   1 the rounding of each float y would come back 1 / (1 - R) times, 1,500 times at 5 Hz and 48 kHz.
*/

#include "../engine/effect.h"
#include "../engine/ramp.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CHUNK       64U  // frames at a time: the ramp's values stay in the first-level cache
#define TAIL_DECAY  13.8 // ln of 120 dB
#define MAX_OF_RATE 0.45 // cutoff over rate: tan() stays in its gentle part

enum { CUTOFF };

static const FxParam dcblock_params[] = {
  [CUTOFF] = { .id = "cutoff",
               .kind = PARAM_NUMBER,
               .unit = UNIT_HZ,
               .min = 1.0,
               .max = 1000.0,
               .initial = 5.0,
               .help = "Frequency that is 3 dB lower" },
};

typedef struct DcNode {
  double rate_hz;
  float distance; // target of 1 - R: as a float it keeps the digits that R would lose
  uint32_t ramp_frames;
  _Atomic uint64_t tail_frames; // relaxed: written by `set`, read by anyone who asks for the tail
} DcNode;

typedef struct DcUnit {
  Ramp distance;
  double y;
  float x;
} DcUnit;

static void
dcblock_set(void* const node, const uint32_t param, const double value)
{
  (void)param; // there is only one
  DcNode* const dc = node;
  const double t = tan(M_PI * fmin(value / dc->rate_hz, MAX_OF_RATE));
  dc->distance = (float)(2.0 * t / (1.0 + t));
  const double tail = TAIL_DECAY / -log1p(-(double)dc->distance);
  atomic_store_explicit(&dc->tail_frames, (uint64_t)ceil(tail), memory_order_relaxed);
}

static Status
dcblock_create(const FxSetup* const setup, FxShape* const shape, void** const node,
               Error* const error)
{
  DcNode* const dc = calloc(1, sizeof(DcNode));
  if (!dc) {
    return error_set(error, STATUS_NO_MEM, "dcblock: out of memory");
  }
  dc->rate_hz = setup->rate_hz;
  dc->ramp_frames = (uint32_t)lrint(FX_RAMP_SECONDS * setup->rate_hz);
  dcblock_set(dc, CUTOFF, setup->values[CUTOFF]);
  shape->unit_bytes = sizeof(DcUnit);
  shape->tail_frames = dc->tail_frames;
  *node = dc;
  return STATUS_OK;
}

static uint64_t
dcblock_tail(const void* const node)
{
  return atomic_load_explicit(&((const DcNode*)node)->tail_frames, memory_order_relaxed);
}

static void
dcblock_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  *(DcUnit*)state = (DcUnit){ .distance = ramp_at(((const DcNode*)node)->distance) };
}

static void
dcblock_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const DcNode* const node = units[u].node;
    DcUnit* const unit = units[u].state;
    const float* const in = units[u].in[0];
    float* const out = units[u].out[0];
    ramp_aim(&unit->distance, node->distance, node->ramp_frames);
    float distance[CHUNK];
    double y = unit->y;
    float x = unit->x;
    for (uint32_t done = 0; done < n_frames; done += CHUNK) {
      const uint32_t n = n_frames - done < CHUNK ? n_frames - done : CHUNK;
      ramp_fill(&unit->distance, distance, n);
      for (uint32_t i = 0; i < n; ++i) {
        const double d = distance[i];
        const double step = (double)in[done + i] - (double)x;
        x = in[done + i];
        y = (1.0 - 0.5 * d) * step + (1.0 - d) * y;
        out[done + i] = (float)y;
      }
    }
    unit->y = y;
    unit->x = x;
  }
}

const FxInfo fx_dcblock_info = {
  .name = "dcblock",
  .summary = "Take out the constant part of the signal",
  .params = dcblock_params,
  .n_params = ARRAY_LEN(dcblock_params),
  .tolerance = 1e-6,
  .tolerance_reason = "state in double, one rounding to float per sample, and of the ramp",
  .create = dcblock_create,
  .destroy = free,
  .unit_init = dcblock_unit_init,
  .set = dcblock_set,
  .run = dcblock_run,
  .tail = dcblock_tail,
};
