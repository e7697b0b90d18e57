// SPDX-License-Identifier: GPL-3.0-or-later
// The connections of a JACK client, remembered by name.

#include "jack_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 512U // more than client and port names of JACK and PipeWire together

// A port's name as it is remembered: without the client's name when it is our own.
static const char*
to_memory(const char* const name, jack_client_t* const client)
{
  const char* const own = jack_get_client_name(client);
  const size_t length = strlen(own);
  return !strncmp(name, own, length) && name[length] == ':' ? name + length : name;
}

static const char*
from_memory(const char* const name, jack_client_t* const client, char buffer[static NAME_BYTES])
{
  snprintf(buffer, NAME_BYTES, "%s%s", name[0] == ':' ? jack_get_client_name(client) : "", name);
  return buffer;
}

// Takes both names.
static bool
add(JackLinks* const links, char* const from, char* const to)
{
  bool is_known = false;
  for (uint32_t i = 0; from && to && i < links->n; ++i) {
    is_known |= !strcmp(links->links[i].from, from) && !strcmp(links->links[i].to, to);
  }
  JackLink* const grown =
      from && to && !is_known ? realloc(links->links, (links->n + 1U) * sizeof(JackLink)) : NULL;
  if (!grown) {
    free(from);
    free(to);
    return is_known;
  }
  links->links = grown;
  links->links[links->n++] = (JackLink){ from, to };
  return true;
}

bool
jack_links_add(JackLinks* const links, jack_client_t* const client, jack_port_t* const* const ports,
               const uint32_t n_ports)
{
  bool is_complete = true;
  for (uint32_t p = 0; p < n_ports; ++p) {
    const char** const peers = jack_port_get_all_connections(client, ports[p]);
    const bool is_output = jack_port_flags(ports[p]) & JackPortIsOutput;
    for (uint32_t i = 0; peers && peers[i]; ++i) {
      char* const own = strdup(to_memory(jack_port_name(ports[p]), client));
      char* const peer = strdup(to_memory(peers[i], client));
      is_complete &= is_output ? add(links, own, peer) : add(links, peer, own);
    }
    jack_free(peers);
  }
  return is_complete;
}

bool
jack_links_merge(JackLinks* const links, JackLinks* const other)
{
  bool is_complete = true;
  for (uint32_t i = 0; i < other->n; ++i) {
    is_complete &= add(links, other->links[i].from, other->links[i].to);
  }
  free(other->links);
  *other = (JackLinks){ NULL, 0 };
  return is_complete;
}

static bool
has_ends(const JackLink* const link, jack_client_t* const client)
{
  char name[NAME_BYTES];
  return jack_port_by_name(client, from_memory(link->from, client, name)) &&
         jack_port_by_name(client, from_memory(link->to, client, name));
}

bool
jack_links_can_restore(const JackLinks* const links, jack_client_t* const client)
{
  for (uint32_t i = 0; i < links->n; ++i) {
    if (has_ends(&links->links[i], client)) {
      return true;
    }
  }
  return false;
}

uint32_t
jack_links_restore(JackLinks* const links, jack_client_t* const client)
{
  char from[NAME_BYTES];
  char to[NAME_BYTES];
  uint32_t n_made = 0;
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < links->n; ++i) {
    const JackLink link = links->links[i];
    if (!has_ends(&link, client)) {
      links->links[n_kept++] = link;
      continue;
    }
    const int result = jack_connect(client, from_memory(link.from, client, from),
                                    from_memory(link.to, client, to));
    n_made += !result || result == EEXIST;
    free(link.from);
    free(link.to);
  }
  links->n = n_kept;
  return n_made;
}

void
jack_links_clear(JackLinks* const links)
{
  for (uint32_t i = 0; i < links->n; ++i) {
    free(links->links[i].from);
    free(links->links[i].to);
  }
  free(links->links);
  *links = (JackLinks){ NULL, 0 };
}
