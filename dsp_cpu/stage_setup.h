// SPDX-License-Identifier: GPL-3.0-or-later
/// Makes and frees a stage on the CPU, which stage_cpu.c runs.
#ifndef WARPRACK_DSP_CPU_STAGE_SETUP_H
#define WARPRACK_DSP_CPU_STAGE_SETUP_H

#include "stage_guard.h"

/// Backend::stage_bytes. [builder]
size_t stage_cpu_bytes(const Backend* self, const StageSpec* spec);

/// Backend::stage_new. [builder]
NODISCARD Status stage_cpu_new(const Backend* self, const StageSpec* spec, Pool* pool, Stage** out,
                               Error* error);

/// Backend::stage_free; also for a stage that was made in part. [builder]
void stage_cpu_free(Stage* stage);

#endif
