// SPDX-License-Identifier: GPL-3.0-or-later
/// The connections of a JACK client, remembered by name so that they outlive the server.
#ifndef WARPRACK_IO_JACK_LINKS_H
#define WARPRACK_IO_JACK_LINKS_H

#include <jack/jack.h>
#include <stdbool.h>
#include <stdint.h>

/// One connection, both ends by name.  A port of the client itself is written without the client's
/// name (":in_1"), because a server that comes back may give it another.
typedef struct JackLink {
  char* from;
  char* to;
} JackLink;

typedef struct JackLinks {
  JackLink* links;
  uint32_t n;
} JackLinks;

/// Add the connections that ports[n_ports] of `client` have now; those that are there already stay
/// single.  Reads shared memory only, so it also works after the server's death.  False when out of
/// memory.
bool jack_links_add(JackLinks* links, jack_client_t* client, jack_port_t* const* ports,
                    uint32_t n_ports);

/// Move everything from `other`, which becomes empty.  False when out of memory.
bool jack_links_merge(JackLinks* links, JackLinks* other);

/// True when both ends of at least one link are there.
bool jack_links_can_restore(const JackLinks* links, jack_client_t* client);

/// Make the connections whose ends are both there, and drop those from the list; the number made.
uint32_t jack_links_restore(JackLinks* links, jack_client_t* client);

void jack_links_clear(JackLinks* links);

#endif
