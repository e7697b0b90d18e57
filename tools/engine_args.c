// SPDX-License-Identifier: GPL-3.0-or-later
// Option values that several subcommands share.

#include "engine_args.h"

#include "commands.h"

#include "engine/contract/effect.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status
backend_read(const BackendArgs* const args, EngineConfig* const config, Error* const error)
{
  const bool has_index = args->gpu_index != BACKEND_ANY_GPU;
  if (has_index && args->backend == ENGINE_BACKEND_CPU) {
    return error_set(error, STATUS_BAD_ARG,
                     "--gpu names a device, which --backend cpu does not use");
  }
  config->backend = (EngineBackend)args->backend;
  config->gpu_index = has_index ? (uint32_t)args->gpu_index : UINT32_MAX;
  config->memory_bytes = (size_t)args->memory_mib << 20U;
  config->no_fusion = args->no_fusion;
  return STATUS_OK;
}

const char*
backend_words(const char* const backend, const char* const device, char words[BACKEND_WORDS_BYTES])
{
  const char* const name = backend[0] ? backend : "no worker";
  snprintf(words, BACKEND_WORDS_BYTES, device[0] ? "%.15s (%.255s)" : "%.15s", name, device);
  return words;
}

void
engine_say(void* const context, const char* const text)
{
  (void)context;
  fprintf(stderr, PROGRAM_NAME ": %s\n", text);
}

static bool
read_count(const char** const at, uint32_t* const count)
{
  if (!isdigit((unsigned char)**at)) { // strtoul() would accept blanks and a minus sign
    return false;
  }
  char* end = NULL;
  const unsigned long value = strtoul(*at, &end, 10);
  *at = end;
  *count = value <= FX_MAX_CHANNELS ? (uint32_t)value : 0U;
  return *count != 0U;
}

Status
channels_read(const char* const text, uint32_t* const n_in, uint32_t* const n_out,
              Error* const error)
{
  const char* at = text;
  uint32_t in = 0;
  uint32_t out = 0;
  bool good = read_count(&at, &in);
  if (good && *at == ':') {
    ++at;
    good = read_count(&at, &out);
  } else {
    out = in;
  }
  if (!good || *at) {
    return error_set(error, STATUS_BAD_ARG, "--channels takes IN:OUT, each from 1 to %u, not '%s'",
                     FX_MAX_CHANNELS, text);
  }
  *n_in = in;
  *n_out = out;
  return STATUS_OK;
}
