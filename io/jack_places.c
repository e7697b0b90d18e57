// SPDX-License-Identifier: GPL-3.0-or-later
// The automatic connections of a JACK client.

#include "jack_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status
jack_places_init(JackPlaces* const places, const char* const pattern, const uint32_t n_in,
                 const uint32_t n_out, Error* const error)
{
  *places = (JackPlaces){ .n_in = n_in, .n_out = n_out, .n_open = n_in + n_out };
  if (pattern) {
    const int code = regcomp(&places->regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (code) {
      char why[128];
      regerror(code, &places->regex, why, sizeof(why));
      return error_set(error, STATUS_BAD_ARG,
                       "the pattern of ports '%.128s' is no regular expression: %s", pattern, why);
    }
    places->pattern = strdup(pattern);
    if (!places->pattern) {
      regfree(&places->regex);
    }
  }
  places->partners = calloc(n_in + n_out + 1U, sizeof(char*));
  return places->partners && (!pattern || places->pattern)
             ? STATUS_OK
             : error_set(error, STATUS_NO_MEM, "out of memory");
}

// One direction: the ports of this client, their partners, and the ports that the server lists as
// candidates.
typedef struct Side {
  bool is_input;
  uint32_t n;
  jack_port_t* const* own; // [n]
  char** partners;         // [n]
  const char** listed;     // NULL-terminated; NULL for none
} Side;

static bool
is_of_client(const char* const port, const char* const client, const size_t length)
{
  return !strncmp(port, client, length) && port[length] == ':';
}

static bool
have_one_client(const char* const port, const char* const other)
{
  return is_of_client(port, other, strcspn(other, ":"));
}

static bool
matches(const JackPlaces* const places, const char* const port)
{
  return strstr(port, places->pattern) || !regexec(&places->regex, port, 0, NULL, 0);
}

static bool
is_physical(jack_client_t* const client, const char* const name)
{
  const jack_port_t* const port = jack_port_by_name(client, name);
  const int flags = port ? jack_port_flags(port) : -1;
  return flags >= 0 && flags & JackPortIsPhysical;
}

// True if a port of another client would feed the outputs of this client back to its inputs.
static bool
leads_back(const JackPlaces* const places, jack_client_t* const client, const char* const port,
           const Side* const out)
{
  if (!places->pattern || !out->n || is_physical(client, port)) {
    return false;
  }
  for (const char** sink = out->listed; sink && *sink; ++sink) {
    if (have_one_client(*sink, port) && matches(places, *sink)) {
      return true;
    }
  }
  return false;
}

// Find the first partner, or the partner with this name.
static const char*
find_partner(const Side* const side, const char* const name)
{
  for (uint32_t p = 0; p < side->n; ++p) {
    if (side->partners[p] && (!name || !strcmp(side->partners[p], name))) {
      return side->partners[p];
    }
  }
  return NULL;
}

// True if a port of another client may fill a place.
static bool
fits(const JackPlaces* const places, jack_client_t* const client, const Side* const side,
     const char* const port)
{
  const char* const own = jack_get_client_name(client);
  if (!own || is_of_client(port, own, strlen(own)) || find_partner(side, port)) {
    return false;
  }
  if (places->pattern) {
    return matches(places, port);
  }
  const char* const device = find_partner(side, NULL);
  return !device || have_one_client(port, device);
}

// Fill a place.  Returns false if libjack no longer knows the port of this client, or if out of
// memory.
static bool
fill_place(const Side* const side, const uint32_t p, JackConnections* const connections,
           const char* const port)
{
  char name[32];
  const char* const short_name = jack_port_short_name(side->own[p]);
  char* const partner = short_name ? strdup(port) : NULL;
  snprintf(name, sizeof(name), ":%s", short_name ? short_name : "");
  if (!partner || !jack_connections_want(connections, side->is_input ? port : name,
                                         side->is_input ? name : port)) {
    free(partner);
    return false;
  }
  side->partners[p] = partner;
  return true;
}

static uint32_t
fill_side(const JackPlaces* const places, JackConnections* const connections,
          jack_client_t* const client, const Side* const side, const Side* const out)
{
  uint32_t n_filled = 0;
  uint32_t p = 0;
  for (const char** port = side->listed; port && *port; ++port) {
    while (p < side->n && side->partners[p]) {
      ++p;
    }
    if (p < side->n && fits(places, client, side, *port) &&
        !(side->is_input && leads_back(places, client, *port, out))) {
      n_filled += fill_place(side, p, connections, *port);
    }
  }
  return n_filled;
}

uint32_t
jack_places_fill(JackPlaces* const places, JackConnections* const connections,
                 jack_client_t* const client, jack_port_t* const* const ports)
{
  const unsigned long kind = places->pattern ? 0U : JackPortIsPhysical;
  const uint32_t n_in = places->n_in;
  const Side in = { true, n_in, ports, places->partners,
                    jack_get_ports(client, NULL, JACK_DEFAULT_AUDIO_TYPE,
                                   JackPortIsOutput | kind) };
  const Side out = { false, places->n_out, ports + n_in, places->partners + n_in,
                     jack_get_ports(client, NULL, JACK_DEFAULT_AUDIO_TYPE,
                                    JackPortIsInput | kind) };
  const uint32_t n_filled = fill_side(places, connections, client, &in, &out) +
                            fill_side(places, connections, client, &out, &out);
  places->n_open -= n_filled;
  jack_free(out.listed);
  jack_free(in.listed);
  return n_filled;
}

void
jack_places_clear(JackPlaces* const places)
{
  for (uint32_t p = 0; places->partners && p < places->n_in + places->n_out; ++p) {
    free(places->partners[p]);
  }
  free(places->partners);
  if (places->pattern) {
    regfree(&places->regex);
    free(places->pattern);
  }
  *places = (JackPlaces){ .pattern = NULL };
}
