// SPDX-License-Identifier: GPL-3.0-or-later

#include "config.h"

#include <string.h>

#define NAME_OF_API(word, name) #name,

const char* const engine_backend_names[] = { "auto", "cpu", BACKEND_GPU_APIS(NAME_OF_API) NULL };

EngineBackend
engine_backend_find(const char* const name)
{
  uint32_t b = 0;
  while (engine_backend_names[b] && strcmp(engine_backend_names[b], name) != 0) {
    ++b;
  }
  return (EngineBackend)b;
}
