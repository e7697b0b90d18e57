// SPDX-License-Identifier: GPL-3.0-or-later
// PortAudio's JACK host API after the end of its server.

#include "pa_jack.h"

#include <dlfcn.h>
#include <jack/jack.h>
#include <stdatomic.h>
#include <stddef.h>

// Weak, so that a program may define these functions itself.
#define BEFORE_LIBJACK __attribute__((weak))

// PortAudio has one JACK client at a time: from Pa_Initialize() to Pa_Terminate().
static JackShutdownCallback callback;
static void* callback_context;
static atomic_bool is_down;

// ---- recorded calls ----

static void
on_shutdown(void* const context)
{
  (void)context;
  callback(callback_context);
  atomic_store(&is_down, true);
}

BEFORE_LIBJACK void
jack_on_shutdown(jack_client_t* const client, const JackShutdownCallback function, void* const arg)
{
  void (*libjacks)(jack_client_t*, JackShutdownCallback, void*) = NULL;
  *(void**)&libjacks = dlsym(RTLD_NEXT, "jack_on_shutdown");
  callback = function;
  callback_context = arg;
  atomic_store(&is_down, false);
  libjacks(client, on_shutdown, NULL);
}

// ---- calls that report success on a dead server ----

BEFORE_LIBJACK int
jack_client_close(jack_client_t* const client)
{
  int (*libjacks)(jack_client_t*) = NULL;
  *(void**)&libjacks = dlsym(RTLD_NEXT, "jack_client_close");
  libjacks(client);
  return 0;
}

BEFORE_LIBJACK int
jack_deactivate(jack_client_t* const client)
{
  int (*libjacks)(jack_client_t*) = NULL;
  *(void**)&libjacks = dlsym(RTLD_NEXT, "jack_deactivate");
  libjacks(client);
  return 0;
}

// ---- ports ----

BEFORE_LIBJACK int
jack_port_unregister(jack_client_t* const client, jack_port_t* const port)
{
  (void)client;
  (void)port;
  return 0;
}

// ---- functions of pa_jack.h ----

bool
pa_jack_is_down(void)
{
  return atomic_load(&is_down);
}

void
pa_jack_wake(void)
{
  if (atomic_load(&is_down)) {
    callback(callback_context);
  }
}
