// SPDX-License-Identifier: GPL-3.0-or-later
// A table that is searched from its start: it is small, and its keys are prepared.

#include "client_table.h"

#include "engine/base/status.h"

#include <stdlib.h>
#include <string.h>

static Client*
find_key(ClientTable* const table, const PeerKey* const key)
{
  for (uint32_t c = 0; table->n && c < CLIENTS_MAX; ++c) {
    Client* const client = &table->of[c];
    if (client->wishes && peer_key_equal(&client->key, key)) {
      return client;
    }
  }
  return NULL;
}

Client*
client_find(ClientTable* const table, const Peer* const peer)
{
  const PeerKey key = peer_key(peer);
  return find_key(table, &key);
}

bool
client_has(ClientTable* const table, const Peer* const peer, const ClientWish wish)
{
  const Client* const client = client_find(table, peer);
  return client && client->wishes & wish;
}

uint32_t
client_count(const ClientTable* const table, const ClientWish wish)
{
  return table->n_with[wish];
}

/// Change the settings of a client, and the counts of clients.
static void
set_wishes(ClientTable* const table, Client* const client, const unsigned wishes)
{
  for (unsigned wish = 1; wish < CLIENT_WISHES_END; wish <<= 1U) {
    table->n_with[wish] += (wishes & wish) != 0;
    table->n_with[wish] -= (client->wishes & wish) != 0;
  }
  table->n += wishes != 0;
  table->n -= client->wishes != 0;
  client->wishes = wishes;
}

void
client_end(ClientTable* const table, Client* const client, const unsigned wishes)
{
  const unsigned ended = client->wishes & wishes;
  set_wishes(table, client, client->wishes & ~wishes);
  if (ended) {
    table->ended(table->context, client, ended);
  }
}

void
client_forget(ClientTable* const table, const Peer* const peer)
{
  Client* const client = client_find(table, peer);
  if (client) {
    client_end(table, client, client->wishes);
  }
}

// ---- leases ----

static void
renew(Client* const client, const uint64_t now_ns)
{
  if (!client->is_fixed && !client->key.connection) {
    client->until_ns = now_ns + CLIENT_LEASE_NS;
  }
}

void
client_renew(ClientTable* const table, const Peer* const sender, const uint64_t now_ns)
{
  const PeerKey key = peer_key(sender);
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    Client* const client = &table->of[c];
    if (client->wishes &&
        (peer_key_equal(&client->key, &key) || peer_key_equal(&client->renewer, &key))) {
      renew(client, now_ns);
    }
  }
}

/// Look at the ports of this machine: renew the leases of those that are open, and end the settings
/// of those that are closed again.  `is_full`: also of those that were never open.
static void
look(ClientTable* const table, const bool is_full, const uint64_t now_ns)
{
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    Client* const client = &table->of[c];
    if (!client->wishes || client->is_fixed || client->key.connection ||
        !own_has(table->machine, &client->peer)) {
      continue;
    }
    if (!peer_is_closed(&client->peer)) {
      client->was_open = true;
      renew(client, now_ns);
    } else if (client->was_open || is_full) {
      client_end(table, client, client->wishes);
    }
  }
}

void
client_expire(ClientTable* const table, const uint64_t now_ns)
{
  if (now_ns >= table->look_ns) {
    table->look_ns = now_ns + CLIENT_LOOK_NS;
    look(table, false, now_ns);
  }
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    Client* const client = &table->of[c];
    if (client->wishes && client->until_ns <= now_ns) {
      client_end(table, client, client->wishes);
    }
  }
}

// ---- places ----

/// The number of clients of a machine with this setting, except fixed ones.
static uint32_t
count_of_machine(const ClientTable* const table, const Peer* const peer, const ClientWish wish)
{
  uint32_t n = 0;
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    const Client* const client = &table->of[c];
    n += client->wishes & wish && !client->is_fixed && peer_machine_equal(&client->peer, peer);
  }
  return n;
}

static Client*
find_free(ClientTable* const table)
{
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    if (!table->of[c].wishes) {
      return &table->of[c];
    }
  }
  return NULL;
}

static bool
has_no_place(ClientTable* const table, const Peer* const peer, const ClientWish wish)
{
  return client_count(table, wish) == CLIENTS_PER_WISH ||
         (!client_find(table, peer) && !find_free(table));
}

static const char*
words_of(const ClientWish wish)
{
  return wish == CLIENT_NEWS     ? "subscribe"
         : wish == CLIENT_QUIET  ? "get failures only"
         : wish == CLIENT_METERS ? "have meters"
                                 : "get bundles";
}

/// Fail if there is no place for one more setting of a client.
static Status
check_room(ClientTable* const table, const Peer* const peer, const ClientWish wish,
           const uint64_t now_ns, Error* const error)
{
  if (has_no_place(table, peer, wish)) {
    look(table, true, now_ns);
  }
  if (!own_has(table->machine, peer) &&
      count_of_machine(table, peer, wish) >= CLIENTS_PER_MACHINE) {
    return error_set(error, STATUS_LIMIT,
                     "%u clients of your machine %s already; close one of them",
                     CLIENTS_PER_MACHINE, words_of(wish));
  }
  if (client_count(table, wish) == CLIENTS_PER_WISH) {
    return error_set(error, STATUS_LIMIT, "%u clients %s already; close one of them",
                     CLIENTS_PER_WISH, words_of(wish));
  }
  return has_no_place(table, peer, wish)
             ? error_set(error, STATUS_LIMIT, "%u clients have settings already; close one of them",
                         CLIENTS_MAX)
             : STATUS_OK;
}

Client*
client_take(ClientTable* const table, const Peer* const peer, const Peer* const renewer,
            const ClientWish wish, const uint64_t now_ns, Error* const error)
{
  if (!client_has(table, peer, wish) && check_room(table, peer, wish, now_ns, error)) {
    return NULL;
  }
  Client* client = client_find(table, peer);
  if (!client) {
    client = find_free(table);
    *client = (Client){ .peer = *peer,
                        .key = peer_key(peer),
                        .was_open = peer_equal(peer, renewer),
                        .until_ns = UINT64_MAX };
  }
  if (!client->is_fixed) {
    client->renewer = peer_key(renewer);
  }
  set_wishes(table, client, client->wishes | wish);
  renew(client, now_ns);
  return client;
}

void
client_fix(ClientTable* const table, const Peer* const peer)
{
  if (!client_find(table, peer)) {
    Client* const client = find_free(table);
    *client = (Client){ .peer = *peer,
                        .key = peer_key(peer),
                        .renewer = peer_key(peer),
                        .is_fixed = true,
                        .until_ns = UINT64_MAX };
    set_wishes(table, client, CLIENT_NEWS);
  }
}

// ---- the next server ----

char*
client_print(const ClientTable* const table)
{
  char* const text = calloc(CLIENTS_MAX, PEER_TEXT_BYTES + 1U);
  char* end = text;
  for (uint32_t c = 0; c < CLIENTS_MAX && text; ++c) {
    const Client* const client = &table->of[c];
    if (client->wishes & CLIENT_NEWS && !client->is_fixed && !client->key.connection &&
        peer_is_loopback(&client->peer)) {
      peer_print(&client->peer, end);
      end = strcat(end, "\n") + strlen(end);
    }
  }
  return text;
}

void
client_read(ClientTable* const table, const char* const text, const sa_family_t family,
            const uint64_t now_ns)
{
  for (const char* line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    Peer peer;
    if (peer_read(line, &peer) && peer.address.ss_family == family && peer_is_loopback(&peer)) {
      // Further ones have no place.
      Client* const client = client_take(table, &peer, &peer, CLIENT_NEWS, now_ns, NULL);
      if (client) {
        client->was_open = false; // it may start later than the server
      }
    }
  }
}
