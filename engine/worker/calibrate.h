// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Measures the costs for placement.h: every effect by itself, on one core of the CPU and on a
   device, a few blocks each of a few sizes.

   The nodes of a measurement are side by side, with two channels and the initial values of their
   parameters; effects with an impulse response get noise of two lengths.  Blocks follow each other
   without a pause, so that a GPU is at its fastest; the margins of placement.c cover the cost of
   idling between real blocks.
*/
#ifndef WARPRACK_ENGINE_WORKER_CALIBRATE_H
#define WARPRACK_ENGINE_WORKER_CALIBRATE_H

#include "placement.h"

#include "engine/base/status.h"
#include "engine/contract/backend.h"

#include <stddef.h>

#define CALIBRATE_NAME_BYTES 2048U

/// The name under which costs are stored (device_remember()): they belong to a table of effects.
/// [any]
void calibrate_name(char name[CALIBRATE_NAME_BYTES]);

/**
   Measure all effects, or one.

   @param device Its kernels are compiled; nothing else may use it meanwhile.
   @param only Name of an effect, NULL for all; the others stay unknown.
   @param[out] costs What could not be measured is not known.
   @param[out] error Why the first effect could not be measured on the device, when STATUS_OK is
   returned and one could not.
   @return STATUS_DEVICE_LOST, or another error when not even an empty stage runs.
   [main]
*/
NODISCARD Status calibrate(const Backend* device, const char* only, PlacementCosts* costs,
                           Error* error);

/// Fill with what blocks are timed on: noise at -60 dBFS, always the same. [any]
void calibrate_noise(float* samples, size_t n);

#endif
