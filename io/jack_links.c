// SPDX-License-Identifier: GPL-3.0-or-later
// The connections of a JACK client, stored by name.
//
// Once the server's graph is gone, libjack returns NULL for names, types and lists, and -1 for
// flags: such a result is ignored, and the list stays unchanged.

#include "jack_links.h"

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

static JackLink*
find(const JackLinks* const links, const char* const from, const char* const to)
{
  for (uint32_t i = 0; i < links->n; ++i) {
    if (!strcmp(links->links[i].from, from) && !strcmp(links->links[i].to, to)) {
      return &links->links[i];
    }
  }
  return NULL;
}

static void
clear_link(JackLink* const link)
{
  free(link->from);
  free(link->to);
}

// Add a copy of a link.  If the link is already stored, update it from `link`; it is then lasting
// if either is.
static bool
add(JackLinks* const links, const JackLink* const link)
{
  JackLink* const known = find(links, link->from, link->to);
  if (known) {
    known->gone_ns = link->gone_ns;
    known->is_lasting |= link->is_lasting;
    known->peer = link->peer;
    return true;
  }
  JackLink copy = *link;
  copy.from = strdup(link->from);
  copy.to = strdup(link->to);
  JackLink* const grown =
      copy.from && copy.to ? realloc(links->links, (links->n + 1U) * sizeof(JackLink)) : NULL;
  if (!grown) {
    clear_link(&copy);
    return false;
  }
  links->links = grown;
  links->links[links->n++] = copy;
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
add_connections(JackLinks* const links, jack_client_t* const client, const jack_port_t* const port)
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
    const JackLink link = { .from = flags & JackPortIsOutput ? own : peer,
                            .to = flags & JackPortIsOutput ? peer : own,
                            .is_lasting = other && has_flag(other, JackPortIsPhysical),
                            .peer = other ? jack_port_uuid(other) : 0 };
    is_complete &= add(links, &link);
  }
  jack_free(peers);
  return is_complete;
}

static bool
add_present(JackLinks* const links, jack_client_t* const client, jack_port_t* const* const ports,
            const uint32_t n_ports)
{
  bool is_complete = true;
  for (uint32_t p = 0; p < n_ports; ++p) {
    is_complete &= add_connections(links, client, ports[p]);
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

// True if both ports of a link exist and can be connected.
static bool
has_ends(const JackLink* const link, jack_client_t* const client)
{
  const jack_port_t* const from = port_of(link->from, client);
  const jack_port_t* const to = port_of(link->to, client);
  return from && to && has_flag(from, JackPortIsOutput) && has_flag(to, JackPortIsInput) &&
         have_one_type(from, to);
}

// True if the other port has disappeared, also if a new port has the same name.
static bool
has_lost_peer(const JackLink* const link, jack_client_t* const client)
{
  const jack_port_t* const port = port_of(link->from[0] == ':' ? link->to : link->from, client);
  return !port || jack_port_uuid(port) != link->peer;
}

// Update a stored link that is missing.  Returns false if it leaves the list.
static bool
keep_missing(JackLink* const link, jack_client_t* const client, const uint64_t now_ns)
{
  const bool is_cut = !has_lost_peer(link, client);
  if (!is_cut && link->is_lasting) {
    link->gone_ns = JACK_LINK_LOST;
  } else if (link->gone_ns == 0) {
    link->gone_ns = now_ns;
  }
  return link->gone_ns == JACK_LINK_LOST || now_ns - link->gone_ns < (is_cut ? CUT_NS : ENDLESS_NS);
}

// Update the links that are not in `present`.  Returns false while a missing link is still in the
// list.
static bool
miss_absent(JackLinks* const links, const JackLinks* const present, jack_client_t* const client,
            const uint64_t now_ns)
{
  bool is_settled = true;
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < links->n; ++i) {
    JackLink link = links->links[i];
    if (link.gone_ns != JACK_LINK_LOST && !find(present, link.from, link.to)) {
      if (!keep_missing(&link, client, now_ns)) {
        clear_link(&link);
        continue;
      }
      is_settled &= link.gone_ns == JACK_LINK_LOST;
    }
    links->links[n_kept++] = link;
  }
  links->n = n_kept;
  return is_settled;
}

bool
jack_links_update(JackLinks* const links, jack_client_t* const client,
                  jack_port_t* const* const ports, const uint32_t n_ports, const uint64_t now_ns)
{
  JackLinks present = { NULL, 0 };
  bool is_settled =
      add_present(&present, client, ports, n_ports) && miss_absent(links, &present, client, now_ns);
  for (uint32_t i = 0; i < present.n; ++i) {
    is_settled &= add(links, &present.links[i]);
  }
  jack_links_clear(&present);
  return is_settled;
}

bool
jack_links_want(JackLinks* const links, const char* const from, const char* const to)
{
  return add(links, &(JackLink){ .from = (char*)from,
                                 .to = (char*)to,
                                 .gone_ns = JACK_LINK_LOST,
                                 .is_lasting = true });
}

uint32_t
jack_links_count_lost(const JackLinks* const links, const JackLink** const first)
{
  uint32_t n = 0;
  *first = NULL;
  for (uint32_t i = links->n; i-- > 0;) {
    if (links->links[i].gone_ns == JACK_LINK_LOST) {
      *first = &links->links[i];
      ++n;
    }
  }
  return n;
}

void
jack_links_lose(JackLinks* const links)
{
  for (uint32_t i = 0; i < links->n; ++i) {
    links->links[i].gone_ns = JACK_LINK_LOST;
  }
}

bool
jack_links_add_lost(JackLinks* const links, const JackLinks* const from)
{
  bool is_complete = true;
  for (uint32_t i = 0; i < from->n; ++i) {
    const JackLink* const link = &from->links[i];
    is_complete &= link->gone_ns != JACK_LINK_LOST || add(links, link);
  }
  return is_complete;
}

bool
jack_links_can_restore(const JackLinks* const links, jack_client_t* const client)
{
  for (uint32_t i = 0; i < links->n; ++i) {
    if (links->links[i].gone_ns == JACK_LINK_LOST && has_ends(&links->links[i], client)) {
      return true;
    }
  }
  return false;
}

uint32_t
jack_links_restore(const JackLinks* const links, jack_client_t* const client)
{
  char from[NAME_BYTES];
  char to[NAME_BYTES];
  uint32_t n_there = 0;
  for (uint32_t i = 0; i < links->n; ++i) {
    const JackLink* const link = &links->links[i];
    if (link->gone_ns == JACK_LINK_LOST && has_ends(link, client)) {
      const int result = jack_connect(client, from_memory(link->from, client, from),
                                      from_memory(link->to, client, to));
      n_there += !result || result == EEXIST;
    }
  }
  return n_there;
}

void
jack_links_clear(JackLinks* const links)
{
  for (uint32_t i = 0; i < links->n; ++i) {
    clear_link(&links->links[i]);
  }
  free(links->links);
  *links = (JackLinks){ NULL, 0 };
}
