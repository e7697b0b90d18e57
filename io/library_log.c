// SPDX-License-Identifier: GPL-3.0-or-later
// Captures messages that audio libraries print instead of returning errors.

#include "library_log.h"

#include "engine/base/rt.h"

#include <dlfcn.h>
#include <jack/jack.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef void (*AlsaHandler)(const char* file, int line, const char* function, int code,
                            const char* format, ...);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char words[256];

// Libraries print from all their threads, some of which are real-time: this function must not wait.
// A thread of libjack that is cancelled here (see io_process()) would never unlock.
static void
store_text(const char* const text)
{
  const CancelMode before = rt_hold_cancel();
  if (!pthread_mutex_trylock(&lock)) {
    if (!words[0]) {
      snprintf(words, sizeof(words), "%s", text);
      words[strcspn(words, "\n")] = '\0';
    }
    pthread_mutex_unlock(&lock);
  }
  rt_allow_cancel(before);
}

static void
ignore_words(const char* const text)
{
  (void)text;
}

static void
    PRINTF_LIKE(5, 6) keep_alsa(const char* const file, const int line, const char* const function,
                                const int code, const char* const format, ...)
{
  (void)file;
  (void)line;
  (void)function;
  (void)code;
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  store_text(text);
}

void
library_log_catch(void)
{
  jack_set_error_function(store_text);
  jack_set_info_function(ignore_words);
  // Not linked but looked up at run time, because ALSA is a dependency of PortAudio, not of this
  // program, and may be absent.
  int (*set_handler)(AlsaHandler) = NULL;
  *(void**)&set_handler = dlsym(RTLD_DEFAULT, "snd_lib_error_set_handler");
  if (set_handler) {
    set_handler(keep_alsa);
  }
}

void
library_log_take(char* const buffer, const size_t buffer_bytes)
{
  pthread_mutex_lock(&lock);
  snprintf(buffer, buffer_bytes, "%s", words);
  words[0] = '\0';
  pthread_mutex_unlock(&lock);
}

Status
library_log_fail(Error* const error, const Status status, const char* const what)
{
  char said[256];
  library_log_take(said, sizeof(said));
  return said[0] ? error_set(error, status, "%s (\"%s\")", what, said)
                 : error_set(error, status, "%s", what);
}
