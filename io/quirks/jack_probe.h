// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Finds out, with a second client, whether a JACK server still works that gives the first client no
   periods.

   PipeWire's libjack does not report that the daemon has ended, and keeps answering from its cache.
   A new client fails at once, or gets periods from a daemon that was started since.  If the server
   is suspended, the call waits until the server continues.
*/
#ifndef WARPRACK_IO_QUIRKS_JACK_PROBE_H
#define WARPRACK_IO_QUIRKS_JACK_PROBE_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum JackProbe {
  JACK_PROBE_NONE,      ///< No probe was made, or the first client got a period meanwhile
  JACK_PROBE_NO_SERVER, ///< The server accepts no client
  JACK_PROBE_PLAYS,     ///< The new client gets periods, the first one does not
  JACK_PROBE_STANDS     ///< Neither client gets periods
} JackProbe;

/**
   Open a second client and compare the periods of both.  Wait up to a second and four periods for
   the first period of the second client, then 250 ms.  May hang. [async call]

   @param server_name NULL: the default server.
   @param n_periods Counts the periods of the first client.
*/
JackProbe jack_probe(const char* server_name, const _Atomic uint64_t* n_periods);

#endif
