// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A list of the connections of a JACK client, by name, which survives the end of the server.

   A connection enters the list when it is first seen.  When a listed connection is missing later,
   the state of its ports tells the reason:

   - Both ports still exist: somebody disconnected them.  The connection leaves the list after
     100 ms.
   - The other port has disappeared, and was a port of a device or was chosen by the automatic
     connections (jack_places.h): the connection is restored when a port of that name exists again,
     after any time.
   - The other port has disappeared, and belonged to another program: the connection leaves the list
     after a second, because the program may have ended.  It does not leave at once, because a
     server that ends removes connections before its clients notice its end.

   Two facts about JACK that callers need:

   - A server notifies a client of a new connection one cycle of the graph before the connection is
     in shared memory (JackEngine.cpp, JackConnectionManager.cpp).  So call jack_links_look() more
     than once after a notification.
   - A client registers its ports before it is active, and until then the server refuses connections
     to them.  So call jack_links_restore() again until jack_links_look() finds the connection.
*/
#ifndef WARPRACK_IO_JACK_LINKS_H
#define WARPRACK_IO_JACK_LINKS_H

#include <jack/jack.h>
#include <jack/uuid.h>
#include <stdbool.h>
#include <stdint.h>

#define JACK_LINK_LOST UINT64_MAX

/// One connection, both ends by name.  A port of this client has no client name (":in_1"), because
/// a restarted server may give the client another name.
typedef struct JackLink {
  char* from;
  char* to;
  uint64_t gone_ns; ///< 0: it exists; JACK_LINK_LOST: to be restored; else the time at which it was
                    ///< missing first
  bool is_lasting;  ///< It is restored when its other port returns
  jack_uuid_t peer; ///< The other port; a new port may get the same name, but has another UUID
} JackLink;

typedef struct JackLinks {
  JackLink* links;
  uint32_t n;
} JackLinks;

/**
   Update the list from the connections that ports[n_ports] of `client` have now.  Reads shared
   memory only, so it also works after the end of the server.

   @param now_ns Monotonic time, not 0.  While the caller repeats the same time, no connection
   leaves the list.
   @return False: call again, because a missing connection is still in the list, libjack did not
   answer, or there was no memory.
*/
bool jack_links_look(JackLinks* links, jack_client_t* client, jack_port_t* const* ports,
                     uint32_t n_ports, uint64_t now_ns);

/// Add a connection that must be made, and restored when its other port returns.  Names as in
/// JackLink.  False when out of memory.
bool jack_links_want(JackLinks* links, const char* from, const char* to);

/// The number of connections to make or restore; `*first` is the first of them, NULL for none.
uint32_t jack_links_count_lost(const JackLinks* links, const JackLink** first);

/// The session is over: mark all connections to be restored.
void jack_links_lose(JackLinks* links);

/// Add copies of the connections in `from` that are to be restored.  False when out of memory.
bool jack_links_add_lost(JackLinks* links, const JackLinks* from);

/// True when both ports of a connection that is to be restored exist.
bool jack_links_can_restore(const JackLinks* links, jack_client_t* client);

/// Make the connections that are to be restored and whose ports both exist.  Returns how many of
/// them exist afterwards.
uint32_t jack_links_restore(const JackLinks* links, jack_client_t* client);

void jack_links_clear(JackLinks* links);

#endif
