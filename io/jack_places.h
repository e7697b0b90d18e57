// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The automatic connections of a JACK client: which port of another client each of ours is to be
   connected to.

   Every port has one place, which is open until a port of others fits: for an input one that
   delivers sound, for an output one that takes it.  Without a pattern, the physical ports of one
   device fit: of the first one that the server lists, which is the default one on PipeWire.  With a
   pattern, all ports fit whose full name ("client:port") contains it, as it is or as a POSIX
   extended regular expression; except that an input never takes what comes back from a program, or
   a sink's monitor, that the pattern sends the outputs to.  Ports are taken in the server's order.

   A place that was filled belongs to the port of that name: a connection that is lost with its port
   is made again (jack_links.h), one that somebody cuts is not, and no other port takes its place.
*/
#ifndef WARPRACK_IO_JACK_PLACES_H
#define WARPRACK_IO_JACK_PLACES_H

#include "jack_links.h"

#include "../engine/status.h"

#include <regex.h>

typedef struct JackPlaces {
  char* pattern; ///< NULL: physical ports
  regex_t regex; ///< Of `pattern`
  uint32_t n_in, n_out;
  char** partners; ///< [n_in + n_out] full names, inputs first; NULL for a place that is open
  uint32_t n_open;
} JackPlaces;

/// All places are open.  STATUS_BAD_ARG for a pattern that is none.  Call jack_places_clear() also
/// on an error. [main]
NODISCARD Status jack_places_init(JackPlaces* places, const char* pattern, uint32_t n_in,
                                  uint32_t n_out, Error* error);

/// Fill the open places that can be, and add their connections to `links` as wanted.  How many.
/// `ports`: [n_in + n_out] of the client, inputs first. [main]
uint32_t jack_places_fill(JackPlaces* places, JackLinks* links, jack_client_t* client,
                          jack_port_t* const* ports);

/// Accepts all zero. [main]
void jack_places_clear(JackPlaces* places);

#endif
