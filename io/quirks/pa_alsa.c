// SPDX-License-Identifier: GPL-3.0-or-later
// ALSA's configuration before Pa_Initialize().

#include "pa_alsa.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

static const char no_device[] = "pcm.dmix { type warprack_no_device }\n";

typedef struct Config Config; // ALSA's snd_config_t
typedef struct Input Input;   // ALSA's snd_input_t

/// Functions of the ALSA library, looked up at run time as in library_log.c.
typedef struct Alsa {
  Config** config; ///< snd_config: the configuration of the process
  int (*update)(void);
  int (*search)(Config* config, const char* key, Config** found);
  int (*load)(Config* config, Input* input);
  int (*buffer_open)(Input** input, const char* buffer, ssize_t n_bytes);
  int (*close)(Input* input);
} Alsa;

static void*
look_up(const char* const name, int* const n_missing)
{
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  *n_missing += !symbol;
  return symbol;
}

void
pa_alsa_prepare(void)
{
  Alsa alsa;
  int n_missing = 0;
  alsa.config = look_up("snd_config", &n_missing);
  *(void**)&alsa.update = look_up("snd_config_update", &n_missing);
  *(void**)&alsa.search = look_up("snd_config_search", &n_missing);
  *(void**)&alsa.load = look_up("snd_config_load", &n_missing);
  *(void**)&alsa.buffer_open = look_up("snd_input_buffer_open", &n_missing);
  *(void**)&alsa.close = look_up("snd_input_close", &n_missing);
  if (n_missing || alsa.update() < 0 || !*alsa.config) {
    return;
  }
  Config* found = NULL;
  Input* input = NULL;
  if (alsa.search(*alsa.config, "pcm.default", &found) >= 0 ||
      alsa.search(*alsa.config, "pcm.dmix", &found) >= 0 ||
      alsa.buffer_open(&input, no_device, (ssize_t)strlen(no_device)) < 0) {
    return;
  }
  (void)!alsa.load(*alsa.config, input);
  alsa.close(input);
}
