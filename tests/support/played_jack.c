// SPDX-License-Identifier: GPL-3.0-or-later
// A JACK server played by a test.

#include "played_jack.h"

#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 32U
#define MAX_WIRES 16U

static jack_port_t ports[MAX_PORTS];
static unsigned n_ports;
static struct {
  char from[64];
  char to[64];
} wires[MAX_WIRES];
unsigned n_wires;
unsigned n_refused;
static char client_name[32];
bool graph_is_gone;

void
play_jack(const char* const name)
{
  snprintf(client_name, sizeof(client_name), "%s", name);
  n_ports = n_wires = n_refused = 0;
}

jack_port_t*
add_port(const char* const name, const unsigned long flags)
{
  ck_assert_uint_lt(n_ports, MAX_PORTS);
  jack_port_t* const port = &ports[n_ports++];
  *port = (jack_port_t){ .type = JACK_DEFAULT_AUDIO_TYPE, .flags = flags, .is_active = true };
  snprintf(port->name, sizeof(port->name), "%s", name);
  return port;
}

void
remove_port(jack_port_t* const port)
{
  port->is_gone = true;
  for (unsigned w = n_wires; w-- > 0;) {
    if (!strcmp(wires[w].from, port->name) || !strcmp(wires[w].to, port->name)) {
      wires[w] = wires[--n_wires];
    }
  }
}

void
add_wire(const char* const from, const char* const to)
{
  ck_assert_uint_lt(n_wires, MAX_WIRES);
  snprintf(wires[n_wires].from, sizeof(wires[n_wires].from), "%s", from);
  snprintf(wires[n_wires].to, sizeof(wires[n_wires].to), "%s", to);
  ++n_wires;
}

bool
has_wire(const char* const from, const char* const to)
{
  for (unsigned w = 0; w < n_wires; ++w) {
    if (!strcmp(wires[w].from, from) && !strcmp(wires[w].to, to)) {
      return true;
    }
  }
  return false;
}

void
cut(const char* const from, const char* const to)
{
  for (unsigned w = 0; w < n_wires; ++w) {
    if (!strcmp(wires[w].from, from) && !strcmp(wires[w].to, to)) {
      wires[w] = wires[--n_wires];
      return;
    }
  }
  ck_abort_msg("no such connection");
}

jack_port_t*
jack_port_by_name(jack_client_t* const client, const char* const name)
{
  (void)client;
  for (unsigned p = 0; p < n_ports && !graph_is_gone; ++p) {
    if (!ports[p].is_gone && (!strcmp(ports[p].name, name) || !strcmp(ports[p].alias, name))) {
      return &ports[p];
    }
  }
  return NULL;
}

const char*
jack_port_name(const jack_port_t* const port)
{
  return port && !graph_is_gone ? port->name : NULL;
}

const char*
jack_port_short_name(const jack_port_t* const port)
{
  return port && !graph_is_gone ? strchr(port->name, ':') + 1 : NULL;
}

jack_uuid_t
jack_port_uuid(const jack_port_t* const port)
{
  return (jack_uuid_t)(port - ports) + 1U;
}

const char*
jack_port_type(const jack_port_t* const port)
{
  return port && !graph_is_gone ? port->type : NULL;
}

int
jack_port_flags(const jack_port_t* const port)
{
  return port && !graph_is_gone ? (int)port->flags : -1;
}

char*
jack_get_client_name(jack_client_t* const client)
{
  (void)client;
  return graph_is_gone ? NULL : client_name;
}

const char**
jack_port_get_all_connections(const jack_client_t* const client, const jack_port_t* const port)
{
  (void)client;
  if (!port || graph_is_gone) {
    return NULL;
  }
  const char** const peers = calloc(MAX_WIRES + 1U, sizeof(char*));
  unsigned n = 0;
  for (unsigned w = 0; w < n_wires; ++w) {
    if (!strcmp(wires[w].from, port->name)) {
      peers[n++] = wires[w].to;
    } else if (!strcmp(wires[w].to, port->name)) {
      peers[n++] = wires[w].from;
    }
  }
  return peers;
}

const char**
jack_get_ports(jack_client_t* const client, const char* const name, const char* const type,
               const unsigned long flags)
{
  (void)client;
  (void)name;
  if (graph_is_gone) {
    return NULL;
  }
  const char** const found = calloc(MAX_PORTS + 1U, sizeof(char*));
  unsigned n = 0;
  for (unsigned p = 0; p < n_ports; ++p) {
    if (!ports[p].is_gone && (ports[p].flags & flags) == flags && !strcmp(ports[p].type, type)) {
      found[n++] = ports[p].name;
    }
  }
  return found;
}

void
jack_free(void* const memory)
{
  free(memory);
}

int
jack_connect(jack_client_t* const client, const char* const from, const char* const to)
{
  const jack_port_t* const a = jack_port_by_name(client, from);
  const jack_port_t* const b = jack_port_by_name(client, to);
  if (!a || !b || !a->is_active || !b->is_active) {
    ++n_refused;
    return -1;
  }
  if (has_wire(from, to)) {
    return EEXIST;
  }
  add_wire(from, to);
  return 0;
}
