// SPDX-License-Identifier: GPL-3.0-or-later
// The connections of a JACK client, stored by name.
//
// Once the server's graph is gone, libjack returns NULL for names, types and lists, and -1 for
// flags: such a result is ignored, and the list stays unchanged.

#include "jack_connections.h"

#include "engine/base/time.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 512U // more than client and port names of JACK and PipeWire together
// Time after which a disconnected connection leaves the list.
#define CUT_NS     (100U * NS_PER_MS)
#define ENDLESS_NS NS_PER_S // as above, if the other port has disappeared

// The stored form of a port's name: without the client's name `own` if the port belongs to this
// client.
static const char*
to_memory(const char* const name, const char* const own)
{
  const size_t length = strlen(own);
  return !strncmp(name, own, length) && name[length] == ':' ? name + length : name;
}

// The full name for a stored name.  If libjack does not know this client's name, the result matches
// no port.
static const char*
from_memory(const char* const name, jack_client_t* const client, char buffer[static NAME_BYTES])
{
  const char* const own = name[0] == ':' ? jack_get_client_name(client) : "";
  snprintf(buffer, NAME_BYTES, "%s%s", own ? own : "", name);
  return buffer;
}

static JackConnection*
find(const JackConnections* const connections, const char* const from, const char* const to)
{
  for (uint32_t i = 0; i < connections->n; ++i) {
    if (!strcmp(connections->connections[i].from, from) &&
        !strcmp(connections->connections[i].to, to)) {
      return &connections->connections[i];
    }
  }
  return NULL;
}

static void
clear_connection(JackConnection* const connection)
{
  free(connection->from);
  free(connection->to);
}

// Add a copy of a connection.  If the connection is already stored, update it from `connection`; it
// is then lasting if either is.
static bool
add(JackConnections* const connections, const JackConnection* const connection)
{
  JackConnection* const known = find(connections, connection->from, connection->to);
  if (known) {
    known->gone_ns = connection->gone_ns;
    known->is_lasting |= connection->is_lasting;
    known->peer = connection->peer;
    return true;
  }
  JackConnection copy = *connection;
  copy.from = strdup(connection->from);
  copy.to = strdup(connection->to);
  JackConnection* const grown =
      copy.from && copy.to
          ? realloc(connections->connections, (connections->n + 1U) * sizeof(JackConnection))
          : NULL;
  if (!grown) {
    clear_connection(&copy);
    return false;
  }
  connections->connections = grown;
  connections->connections[connections->n++] = copy;
  return true;
}

static bool
has_flag(const jack_port_t* const port, const int flag)
{
  const int flags = jack_port_flags(port);
  return flags >= 0 && flags & flag;
}

// Add the connections of one port.  Returns false if libjack lacks some data of the port, or if out
// of memory.
static bool
add_connections(JackConnections* const connections, jack_client_t* const client,
                const jack_port_t* const port)
{
  const char* const client_name = jack_get_client_name(client);
  const char* const name = jack_port_name(port);
  const int flags = jack_port_flags(port);
  if (!client_name || !name || flags < 0) {
    return false;
  }
  const char** const peers = jack_port_get_all_connections(client, port);
  char* const own = (char*)to_memory(name, client_name); // copied by add()
  bool is_complete = true;
  for (uint32_t i = 0; peers && peers[i]; ++i) {
    char* const peer = (char*)to_memory(peers[i], client_name);
    const jack_port_t* const other = jack_port_by_name(client, peers[i]);
    const JackConnection connection = { .from = flags & JackPortIsOutput ? own : peer,
                                        .to = flags & JackPortIsOutput ? peer : own,
                                        .is_lasting = other && has_flag(other, JackPortIsPhysical),
                                        .peer = other ? jack_port_uuid(other) : 0 };
    is_complete &= add(connections, &connection);
  }
  jack_free(peers);
  return is_complete;
}

static bool
add_present(JackConnections* const connections, jack_client_t* const client,
            jack_port_t* const* const ports, const uint32_t n_ports)
{
  bool is_complete = true;
  for (uint32_t p = 0; p < n_ports; ++p) {
    is_complete &= add_connections(connections, client, ports[p]);
  }
  return is_complete;
}

static bool
have_one_type(const jack_port_t* const a, const jack_port_t* const b)
{
  const char* const type = jack_port_type(a);
  const char* const other = jack_port_type(b);
  return type && other && !strcmp(type, other);
}

// Find the port of a stored name; NULL also if the name is only an alias of another port.
static const jack_port_t*
port_of(const char* const name, jack_client_t* const client)
{
  char full[NAME_BYTES];
  const jack_port_t* const port = jack_port_by_name(client, from_memory(name, client, full));
  const char* const found = port ? jack_port_name(port) : NULL;
  return found && !strcmp(found, full) ? port : NULL;
}

// True if both ports of a connection exist and can be connected.
static bool
has_ends(const JackConnection* const connection, jack_client_t* const client)
{
  const jack_port_t* const from = port_of(connection->from, client);
  const jack_port_t* const to = port_of(connection->to, client);
  return from && to && has_flag(from, JackPortIsOutput) && has_flag(to, JackPortIsInput) &&
         have_one_type(from, to);
}

// True if the other port has disappeared, also if a new port has the same name.
static bool
has_lost_peer(const JackConnection* const connection, jack_client_t* const client)
{
  const jack_port_t* const port =
      port_of(connection->from[0] == ':' ? connection->to : connection->from, client);
  return !port || jack_port_uuid(port) != connection->peer;
}

// Update a stored connection that is missing.  Returns false if it leaves the list.
static bool
keep_missing(JackConnection* const connection, jack_client_t* const client, const uint64_t now_ns)
{
  const bool is_cut = !has_lost_peer(connection, client);
  if (!is_cut && connection->is_lasting) {
    connection->gone_ns = JACK_CONNECTION_LOST;
  } else if (connection->gone_ns == 0) {
    connection->gone_ns = now_ns;
  }
  return connection->gone_ns == JACK_CONNECTION_LOST ||
         now_ns - connection->gone_ns < (is_cut ? CUT_NS : ENDLESS_NS);
}

// Update the connections that are not in `present`.  Returns false while a missing connection is
// still in the list.
static bool
miss_absent(JackConnections* const connections, const JackConnections* const present,
            jack_client_t* const client, const uint64_t now_ns)
{
  bool is_settled = true;
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < connections->n; ++i) {
    JackConnection connection = connections->connections[i];
    if (connection.gone_ns != JACK_CONNECTION_LOST &&
        !find(present, connection.from, connection.to)) {
      if (!keep_missing(&connection, client, now_ns)) {
        clear_connection(&connection);
        continue;
      }
      is_settled &= connection.gone_ns == JACK_CONNECTION_LOST;
    }
    connections->connections[n_kept++] = connection;
  }
  connections->n = n_kept;
  return is_settled;
}

bool
jack_connections_update(JackConnections* const connections, jack_client_t* const client,
                        jack_port_t* const* const ports, const uint32_t n_ports,
                        const uint64_t now_ns)
{
  JackConnections present = { NULL, 0 };
  bool is_settled = add_present(&present, client, ports, n_ports) &&
                    miss_absent(connections, &present, client, now_ns);
  for (uint32_t i = 0; i < present.n; ++i) {
    is_settled &= add(connections, &present.connections[i]);
  }
  jack_connections_clear(&present);
  return is_settled;
}

bool
jack_connections_want(JackConnections* const connections, const char* const from,
                      const char* const to)
{
  return add(connections, &(JackConnection){ .from = (char*)from,
                                             .to = (char*)to,
                                             .gone_ns = JACK_CONNECTION_LOST,
                                             .is_lasting = true });
}

uint32_t
jack_connections_count_lost(const JackConnections* const connections,
                            const JackConnection** const first)
{
  uint32_t n = 0;
  *first = NULL;
  for (uint32_t i = connections->n; i-- > 0;) {
    if (connections->connections[i].gone_ns == JACK_CONNECTION_LOST) {
      *first = &connections->connections[i];
      ++n;
    }
  }
  return n;
}

void
jack_connections_lose(JackConnections* const connections)
{
  for (uint32_t i = 0; i < connections->n; ++i) {
    connections->connections[i].gone_ns = JACK_CONNECTION_LOST;
  }
}

bool
jack_connections_add_lost(JackConnections* const connections, const JackConnections* const from)
{
  bool is_complete = true;
  for (uint32_t i = 0; i < from->n; ++i) {
    const JackConnection* const connection = &from->connections[i];
    is_complete &= connection->gone_ns != JACK_CONNECTION_LOST || add(connections, connection);
  }
  return is_complete;
}

bool
jack_connections_can_restore(const JackConnections* const connections, jack_client_t* const client)
{
  for (uint32_t i = 0; i < connections->n; ++i) {
    if (connections->connections[i].gone_ns == JACK_CONNECTION_LOST &&
        has_ends(&connections->connections[i], client)) {
      return true;
    }
  }
  return false;
}

uint32_t
jack_connections_restore(const JackConnections* const connections, jack_client_t* const client)
{
  char from[NAME_BYTES];
  char to[NAME_BYTES];
  uint32_t n_there = 0;
  for (uint32_t i = 0; i < connections->n; ++i) {
    const JackConnection* const connection = &connections->connections[i];
    if (connection->gone_ns == JACK_CONNECTION_LOST && has_ends(connection, client)) {
      const int result = jack_connect(client, from_memory(connection->from, client, from),
                                      from_memory(connection->to, client, to));
      n_there += !result || result == EEXIST;
    }
  }
  return n_there;
}

void
jack_connections_clear(JackConnections* const connections)
{
  for (uint32_t i = 0; i < connections->n; ++i) {
    clear_connection(&connections->connections[i]);
  }
  free(connections->connections);
  *connections = (JackConnections){ NULL, 0 };
}
