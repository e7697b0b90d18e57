// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The connections of a JACK client, remembered by name so that they outlive the server.

   A connection is remembered when it is first seen.  One that is missed later was cut, or has lost
   its other port, or the server is about to end; only the state of the ports tells which:

   - Both ports are still there: somebody cut it.  It is forgotten after 100 ms.
   - The other port has gone, and is that of a device, or one that the automatic connections chose:
     it is made again when a port of that name is back, however long that takes.
   - The other port has gone, and is that of another program: it is forgotten after a second, for
     that program's next start is another story.  Until then it may turn out that the server ends,
     which takes connections down before its clients know.
   - A server tells of a connection before its shared memory shows it; a cycle of the graph lies
     between (JackEngine.cpp, JackConnectionManager.cpp).  So one look after a message is not
   enough.
   - A client registers its ports before it is active, and connections to it are refused meanwhile.
     So one attempt to restore is not enough; only what is seen again counts as restored.
*/
#ifndef WARPRACK_IO_JACK_LINKS_H
#define WARPRACK_IO_JACK_LINKS_H

#include <jack/jack.h>
#include <jack/uuid.h>
#include <stdbool.h>
#include <stdint.h>

#define JACK_LINK_LOST UINT64_MAX

/// One connection, both ends by name.  A port of the client itself is written without the client's
/// name (":in_1"), because a server that comes back may give it another.
typedef struct JackLink {
  char* from;
  char* to;
  uint64_t gone_ns; ///< 0: there; JACK_LINK_LOST: to be made again; else when it was missed first
  bool is_lasting;  ///< It outlives its other port
  jack_uuid_t peer; ///< That port, as it was last seen: another one may come under its name
} JackLink;

typedef struct JackLinks {
  JackLink* links;
  uint32_t n;
} JackLinks;

/**
   Bring the list up to date with the connections that ports[n_ports] of `client` have now.  Reads
   shared memory only, so it also works after the server's death.

   @param now_ns Monotonic time, not 0.  It may stand: while it does, nothing is forgotten.
   @return False when it is to be called again because something is missed but not forgotten yet,
   libjack did not answer, or memory was short.
*/
bool jack_links_look(JackLinks* links, jack_client_t* client, jack_port_t* const* ports,
                     uint32_t n_ports, uint64_t now_ns);

/// Remember a connection that is to be made, and outlives its other port.  Names as in JackLink.
/// False when out of memory.
bool jack_links_want(JackLinks* links, const char* from, const char* to);

/// How many are to be made (again), and one of them; NULL for none.
uint32_t jack_links_count_lost(const JackLinks* links, const JackLink** first);

/// The session is over: all are to be made again.
void jack_links_lose(JackLinks* links);

/// Add copies of the links that are to be made again.  False when out of memory.
bool jack_links_add_lost(JackLinks* links, const JackLinks* from);

/// True when one of those that are to be made again has both its ends.
bool jack_links_can_restore(const JackLinks* links, jack_client_t* client);

/// Try to make those that are to be made again and have both their ends.  The number of those that
/// are there now.
uint32_t jack_links_restore(const JackLinks* links, jack_client_t* client);

void jack_links_clear(JackLinks* links);

#endif
