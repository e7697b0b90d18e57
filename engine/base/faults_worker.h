// SPDX-License-Identifier: GPL-3.0-or-later
/// The hooks of the faults named worker.* (faults.h), where racks are planned and blocks are run.
/// In release builds they are empty.
#ifndef WARPRACK_ENGINE_BASE_FAULTS_WORKER_H
#define WARPRACK_ENGINE_BASE_FAULTS_WORKER_H

#include <stdint.h>

struct BatchUnit;
struct Plan;
struct Rack;
struct Ring;

#ifdef WARPRACK_FAULTS

/// A rack is about to be planned. [builder, main]
void worker_faults_plan(const struct Rack* rack);

/// A block of a plan has begun. [player]
void worker_faults_begin(const struct Plan* plan, const struct Ring* ring);

/// Units are about to run together. [player]
void worker_faults_run(const struct BatchUnit* units, uint32_t n_units);

/// A step of the worker's work on messages and reports. [player]
void worker_faults_step(void);

/// The oldest block of the ring is about to be returned. [player]
void worker_faults_end(struct Ring* ring);

/// The result with which a block is returned: `result`, or a wrong one. [player]
uint64_t worker_faults_result(uint64_t result);

#else
#define worker_faults_plan(rack)
#define worker_faults_begin(plan, ring)
#define worker_faults_run(units, n_units)
#define worker_faults_step()
#define worker_faults_end(ring)
#define worker_faults_result(result) (result)
#endif

#endif
