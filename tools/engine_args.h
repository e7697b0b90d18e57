// SPDX-License-Identifier: GPL-3.0-or-later
/// Option values that several subcommands share: the backend, its memory, and "IN:OUT" channels.
#ifndef WARPRACK_TOOLS_ENGINE_ARGS_H
#define WARPRACK_TOOLS_ENGINE_ARGS_H

#include "engine/base/status.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

/// Values of `--backend`, `--gpu`, `--memory` and `--no-fusion`.
typedef struct BackendArgs {
  uint32_t backend;   ///< EngineBackend
  int64_t gpu_index;  ///< BACKEND_ANY_GPU: the best one
  int64_t memory_mib; ///< 0: the default
  bool no_fusion;
} BackendArgs;

#define BACKEND_ANY_GPU (-1)
#define MEMORY_MOST_MIB (1 << 24) // 16 TiB

/// The four rows of an option table that fill `args`.
// clang-format off
#define BACKEND_OPTIONS(args)                                                                                                                                                                                               \
  { "backend", 0,   OPTION_CHOICE,                             .choices = engine_backend_names, .to.choice = &(args)->backend, .help = "Where effects run (default auto)" },                                                 \
  { "gpu",     'g', OPTION_INTEGER, "N",   0,              63, .to.integer = &(args)->gpu_index,                          .help = "Index of the GPU in \"warprack list devices\", default the best" },                      \
  { "memory",  0,   OPTION_INTEGER, "MIB", 1, MEMORY_MOST_MIB, .to.integer = &(args)->memory_mib,                         .help = "Memory limit of old plus new rack, default half of the available memory" },               \
  { "no-fusion", 0, OPTION_FLAG,                               .to.flag = &(args)->no_fusion,                             .help = "Let every filter and gain on the CPU run by itself, to compare: slower, with the same samples" }
// clang-format on

/// Store the values in `config`.  STATUS_BAD_ARG if they contradict each other.
NODISCARD Status backend_read(const BackendArgs* args, EngineConfig* config, Error* error);

#define BACKEND_WORDS_BYTES 288U

/// Print the backends (as in EngineStatus), followed by the device if there is one; "no worker" if
/// there is no worker.
const char* backend_words(const char* backend, const char* device, char words[BACKEND_WORDS_BYTES]);

/// Print a line to stderr.  An EngineConfig::note.
void engine_say(void* context, const char* text);

/// Read "IN:OUT", or "N" for both; each is 1 to FX_MAX_CHANNELS.
NODISCARD Status channels_read(const char* text, uint32_t* n_in, uint32_t* n_out, Error* error);

#endif
