// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The automatic connections of a JACK client: choose the port of another client for each port of
   this client.

   Each port of this client has one *place*, which holds the name of one port of another client.  A
   place is open until a matching port exists: an output port of another client for an input, an
   input port for an output.  Without a pattern, the physical ports of one device match: the first
   device that the server lists, which is PipeWire's default device.  With a pattern, all ports
   match whose full name ("client:port") contains the pattern, as plain text or as a POSIX extended
   regular expression.  To avoid a loop there is one exception: if the pattern connects the outputs
   to another program or to a sink, no input is connected to that program or to that sink's monitor.
   The places are filled in the order in which the server lists the ports.

   A place keeps the name that it got.  If the other port disappears and returns, the connection is
   restored (jack_connections.h).  If the user disconnects it, it is not restored, and no other port
   gets the place.
*/
#ifndef WARPRACK_IO_JACK_PLACES_H
#define WARPRACK_IO_JACK_PLACES_H

#include "jack_connections.h"

#include "engine/base/status.h"

#include <regex.h>

typedef struct JackPlaces {
  char* pattern; ///< NULL: physical ports
  regex_t regex; ///< Compiled from `pattern`
  uint32_t n_in, n_out;
  char** partners; ///< [n_in + n_out] the places: full names, inputs first; NULL: open
  uint32_t n_open;
} JackPlaces;

/// Begin with all places open.  STATUS_BAD_ARG if `pattern` is not a valid regular expression.
/// Call jack_places_clear() also after an error. [main]
NODISCARD Status jack_places_init(JackPlaces* places, const char* pattern, uint32_t n_in,
                                  uint32_t n_out, Error* error);

/// Fill the open places for which a port matches, and add their connections to `connections` with
/// jack_connections_want().  `ports`: [n_in + n_out] of the client, inputs first.  Returns the
/// number of filled places. [main]
uint32_t jack_places_fill(JackPlaces* places, JackConnections* connections, jack_client_t* client,
                          jack_port_t* const* ports);

/// Free the places.  Accepts a struct of zeros. [main]
void jack_places_clear(JackPlaces* places);

#endif
