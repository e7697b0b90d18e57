// SPDX-License-Identifier: GPL-3.0-or-later
/// Values that several subcommands read alike: the backend and "IN:OUT" channels.
#ifndef WARPRACK_TOOLS_ENGINE_ARGS_H
#define WARPRACK_TOOLS_ENGINE_ARGS_H

#include "../engine/engine.h"
#include "../engine/status.h"

#include <stdint.h>

/// Names for `--backend`, in the order of EngineBackend, NULL-terminated.
extern const char* const backend_choices[];

/// Read "IN:OUT", or "N" for both: each 1 to FX_MAX_CHANNELS.
NODISCARD Status channels_read(const char* text, uint32_t* n_in, uint32_t* n_out, Error* error);

#endif
