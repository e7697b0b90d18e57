// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A list of the connections of a JACK client, by name, which survives the end of the server.

   A connection enters the list when it is first seen.  When a listed connection is missing later,
   the state of its ports shows the reason:

   - Both ports still exist: a user has disconnected them.  The connection leaves the list after
     100 ms.
   - The other port has disappeared, and was a port of a device or was chosen by the automatic
     connections (jack_places.h): the connection is restored when a port of that name exists again,
     after any time.
   - The other port has disappeared, and belonged to another program: the connection leaves the list
     after a second, because the program may have ended.  It does not leave at once, because a
     server that ends removes connections before its clients notice its end.

   Two facts about JACK that callers need:

   - A server notifies a client of a new connection one cycle of the graph before the connection is
     in shared memory (JackEngine.cpp, JackConnectionManager.cpp).  So call
     jack_connections_update() more than once after a notification.
   - A client registers its ports before it is active, and until then the server refuses connections
     to them.  So call jack_connections_restore() again until jack_connections_update() finds the
     connection.
*/
#ifndef WARPRACK_IO_JACK_CONNECTIONS_H
#define WARPRACK_IO_JACK_CONNECTIONS_H

#include <jack/jack.h>
#include <jack/uuid.h>
#include <stdbool.h>
#include <stdint.h>

#define JACK_CONNECTION_LOST UINT64_MAX

/// One connection, both ends by name.  A port of this client has no client name (":in_1"), because
/// a restarted server may give the client another name.
typedef struct JackConnection {
  char* from;
  char* to;
  uint64_t
      gone_ns; ///< 0: it exists; JACK_CONNECTION_LOST: to restore; else the time since which it is
               ///< missing
  bool is_lasting;  ///< It is restored when its other port returns
  jack_uuid_t peer; ///< The other port; a new port may get the same name, but has another UUID
} JackConnection;

typedef struct JackConnections {
  JackConnection* connections;
  uint32_t n;
} JackConnections;

/**
   Update the list from the current connections of ports[n_ports] of `client`.  Reads only shared
   memory, so that it also works after the end of the server.

   @param now_ns Monotonic time, not 0.  While the caller repeats the same time, no connection
   leaves the list.
   @return False if the caller must call again: a missing connection is still in the list, libjack
   did not answer, or memory was short.
*/
bool jack_connections_update(JackConnections* connections, jack_client_t* client,
                             jack_port_t* const* ports, uint32_t n_ports, uint64_t now_ns);

/// Add a connection to make, and to restore when its other port returns.  Names as in
/// JackConnection.  Returns false if out of memory.
bool jack_connections_want(JackConnections* connections, const char* from, const char* to);

/// Number of connections to make or restore.  Sets *first to the first of them; NULL if there is
/// none.
uint32_t
jack_connections_count_lost(const JackConnections* connections, const JackConnection** first);

/// Mark all connections as to restore, at the end of a session.
void jack_connections_lose(JackConnections* connections);

/// Add copies of the connections in `from` that are to restore.  Returns false if out of memory.
bool jack_connections_add_lost(JackConnections* connections, const JackConnections* from);

/// True if both ports of a connection to restore exist.
bool jack_connections_can_restore(const JackConnections* connections, jack_client_t* client);

/// Make the connections to restore whose ports both exist.  Returns how many of them exist
/// afterwards.
uint32_t jack_connections_restore(const JackConnections* connections, jack_client_t* client);

void jack_connections_clear(JackConnections* connections);

#endif
