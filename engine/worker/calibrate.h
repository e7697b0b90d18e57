// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Measures the costs for placement.h: every effect alone, on one core of the CPU and on a device,
   with a few blocks of each of a few sizes.  Effects with one kernel, as all filters have, are
   measured once.

   The nodes of a measurement are side by side, with two channels and the initial values of their
   parameters; effects with an impulse response get noise of two lengths.  The larger sizes have so
   many nodes (on a GPU 512; 64 if its memory does not suffice) that they occupy a GPU completely
   and their responses exceed its caches: fewer nodes would take as long as one.  Blocks follow each
   other without a pause, and their median counts.  What pauses add, the slow first submission and
   the tail of a live run, is measured once for each side, with an empty stage: the least of three
   99th percentiles of paced blocks.  During these the device plays as in a live run: it is armed,
   or kept awake.
*/
#ifndef WARPRACK_ENGINE_WORKER_CALIBRATE_H
#define WARPRACK_ENGINE_WORKER_CALIBRATE_H

#include "placement.h"

#include "engine/base/status.h"
#include "engine/contract/backend.h"

#include <stdbool.h>
#include <stddef.h>

#define CALIBRATE_NAME_BYTES 2048U

/// The name under which costs are stored (device_remember()).  It lists the effects, because costs
/// are valid for one table of effects only.  may_sleep: DeviceChoice::keep_awake is false. [any]
void calibrate_name(bool may_sleep, char name[CALIBRATE_NAME_BYTES]);

/// Called after each effect, with the number of measurements done and of all.
typedef struct CalibrateProgress {
  void (*report)(void* context, uint32_t n_done, uint32_t n);
  void* context;
} CalibrateProgress;

/**
   Measure all effects, or one.

   @param device Device to measure; its kernels are compiled.  No other code may use it meanwhile.
   @param only Name of an effect, or NULL for all.  The costs of other effects stay unknown.
   @param progress May be NULL.
   @param[out] costs Costs that could not be measured have is_known false.
   @param[out] error With STATUS_OK: the first failure to measure an effect; unchanged if there is
   none.
   @return STATUS_DEVICE_LOST, or another error if even an empty stage does not run.
   [main]
*/
NODISCARD Status calibrate(Backend* device, const char* only, const CalibrateProgress* progress,
                           PlacementCosts* costs, Error* error);

/// Fill with the signal of the timed blocks: noise at -60 dBFS, the same in each call. [any]
void calibrate_noise(float* samples, size_t n);

#endif
