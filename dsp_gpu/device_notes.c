// SPDX-License-Identifier: GPL-3.0-or-later
// Measurements of a device, stored beside the compiled modules (gpu_cache.h).  The key contains
// all kernels, so that a different build measures again.

#include "device.h"
#include "gpu_cache.h"
#include "gpu_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_OWN_WORDS 7U

/// The processor's name as Linux reports it, "" if there is none.
static void
read_processor(char* const name, const int n_bytes)
{
  name[0] = '\0';
  FILE* const file = fopen("/proc/cpuinfo", "re");
  while (file && fgets(name, n_bytes, file) && strncmp(name, "model name", 10) != 0) {
    name[0] = '\0';
  }
  if (file) {
    fclose(file);
  }
}

/// Words of a key; they point to `processor`, and the caller frees the array.
static const char**
make_key(const Device* const device, const char* const name, char* const processor,
         const int processor_bytes)
{
  const char** const words = calloc(N_OWN_WORDS + gpu_n_sources + 1U, sizeof(char*));
  if (!words) {
    return NULL;
  }
  read_processor(processor, processor_bytes);
  const char* const own[N_OWN_WORDS] = { "notes",           name,
                                         WARPRACK_VERSION,  engine_backend_names[device->api->kind],
                                         device->info.name, device->info.driver,
                                         processor };
  memcpy(words, own, sizeof(own));
  for (uint32_t s = 0; s < gpu_n_sources; ++s) {
    words[N_OWN_WORDS + s] = gpu_sources[s].text;
  }
  return words;
}

bool
device_recall(const Backend* const backend, const char* const name, void* const bytes,
              const size_t n_bytes)
{
  char processor[256];
  const char** const key = make_key((const Device*)backend, name, processor, sizeof(processor));
  void* kept = NULL;
  size_t n_kept = 0;
  bool is_there = key && gpu_cache_load(key, &kept, &n_kept);
  if (is_there && n_kept == n_bytes) {
    memcpy(bytes, kept, n_bytes);
  } else {
    is_there = false;
  }
  free(kept);
  free(key);
  return is_there;
}

bool
device_remember(const Backend* const backend, const char* const name, const void* const bytes,
                const size_t n_bytes)
{
  char processor[256];
  const char** const key = make_key((const Device*)backend, name, processor, sizeof(processor));
  const bool is_kept = key && gpu_cache_store(key, bytes, n_bytes);
  free(key);
  return is_kept;
}
