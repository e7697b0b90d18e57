// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Asks a JACK server that gives a client no periods whether it still works, by means of a second
   client.

   PipeWire's libjack reports to nobody that the daemon has ended, and goes on answering from what
   it knows.  A new client is refused at once, or gets periods from a daemon that was started since.
   A server that is stopped leaves the call waiting until it continues.
*/
#ifndef WARPRACK_IO_QUIRKS_JACK_PROBE_H
#define WARPRACK_IO_QUIRKS_JACK_PROBE_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum JackProbe {
  JACK_PROBE_NONE,      ///< No probe was made, or the first client got a period meanwhile
  JACK_PROBE_NO_SERVER, ///< The server takes no client
  JACK_PROBE_PLAYS,     ///< The new client gets periods, the first one none
  JACK_PROBE_STANDS     ///< The new client gets none either
} JackProbe;

/**
   Open a second client, and compare periods: for a second and four periods at most until the second
   client gets some, and for 250 ms then.  May hang.

   @param server_name NULL: the default server.
   @param n_periods Counts the periods of the first client.
*/
JackProbe jack_probe(const char* server_name, const _Atomic uint64_t* n_periods);

#endif
