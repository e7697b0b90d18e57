// SPDX-License-Identifier: GPL-3.0-or-later
/// The JACK driver on a real server, and other clients of that server in the same process.
#ifndef WARPRACK_TESTS_JACK_RIG_H
#define WARPRACK_TESTS_JACK_RIG_H

#include "fake_events.h"
#include "jackd.h"

#include <jack/jack.h>
#include <stdbool.h>
#include <stdint.h>

/// Open the driver as client "rack".
Io*
jack_rig_open(const Jackd* jackd, FakeEvents* fake, uint32_t n_in, uint32_t n_out, bool connect);

/// Start a server with 48000 Hz and 64 frames, and open the driver.
Io* jack_rig_start(Jackd* jackd, FakeEvents* fake, uint32_t n_in, uint32_t n_out, bool connect);

/// Open another client, and do not activate it.  A server refuses a new client while another one
/// ends, so there are several attempts.
jack_client_t* jack_rig_client(const Jackd* jackd, const char* name);

/// Open an active client, to query the server.  jack_activate() fails if libjack's thread does not
/// run within a second, which happens on busy machines, so there are several attempts.
jack_client_t* jack_rig_probe(const Jackd* jackd);

/// For SCOPED().
static inline void
jack_rig_client_close(jack_client_t* const* const client)
{
  jack_client_close(*client);
}

/// Whether two ports are connected.  Both have full names.
bool jack_rig_is_connected(jack_client_t* probe, const char* from, const char* to);

/// Whether the metadata of a port, which has its full name, have this value at `key`.
bool
jack_rig_has_property(jack_client_t* probe, const char* port, const char* key, const char* wanted);

/// Wait until the server has removed the ports of the closed driver, which it does after
/// jack_client_close() has returned.
void jack_rig_wait_for_end(jack_client_t* probe);

#endif
