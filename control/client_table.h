// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The clients that have settings: subscriptions to news and to levels, and the choice of answers.

   A client is an address with a port, or a connection.  All its settings end together, by one rule:
   those of a connection with it; on this machine, when the client has closed its port; else
   CLIENT_LEASE_NS after the last packet from it, or from the client that has asked for it.  A port
   of this machine that was not open yet has such a lease, too.  The clients of --osc-notify stay
   for ever.

   A machine that is not this one has at most CLIENTS_PER_MACHINE clients of each setting, so that
   it leaves places for others.  Clients of this machine may take all places: the server sees when
   they close their ports.
*/
#ifndef WARPRACK_CONTROL_CLIENT_TABLE_H
#define WARPRACK_CONTROL_CLIENT_TABLE_H

#include "control/net/own.h"
#include "control/net/peer.h"
#include "control/net/trust.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define CLIENTS_MAX         64U
#define CLIENTS_PER_WISH    32U
#define CLIENTS_PER_MACHINE 8U // for each ClientWish
#define CLIENT_LEASE_NS     TRUST_LEASE_NS
#define CLIENT_LOOK_NS      (2U * NS_PER_S) // between two looks at the ports of this machine

/// A setting of a client, as a bit.
typedef enum ClientWish {
  CLIENT_NEWS = 1,    ///< The client gets the changes of others (notify.h)
  CLIENT_QUIET = 2,   ///< The client gets no /done
  CLIENT_METERS = 4,  ///< The client gets levels (meters.h)
  CLIENT_BUNDLES = 8, ///< All its answers may share datagrams (net/outbox.h)
  CLIENT_WISHES_END = 16
} ClientWish;

typedef struct Client {
  Peer peer;
  PeerKey key;       ///< Of the peer
  PeerKey renewer;   ///< Of the client that has asked for it: its packets renew the lease, too
  unsigned wishes;   ///< Bits of ClientWish; 0: the entry is free
  bool is_fixed;     ///< It stays for ever
  bool was_open;     ///< Its port was open, if it is one of this machine
  uint64_t until_ns; ///< End of the lease; UINT64_MAX: it has none
} Client;

/// Called when settings of a client have ended: bits of ClientWish.
typedef void (*ClientEnded)(void* context, const Client* client, unsigned wishes);

typedef struct ClientTable {
  Client of[CLIENTS_MAX];
  uint32_t n;                         ///< Clients with settings ...
  uint32_t n_with[CLIENT_WISHES_END]; ///< ... and those with this ClientWish
  uint64_t look_ns;                   ///< Time of the next look at the ports of this machine
  OwnAddresses* machine;              ///< Borrowed
  ClientEnded ended;
  void* context;
} ClientTable;

/// NULL if the peer has no settings.
Client* client_find(ClientTable* table, const Peer* peer);

/// True if a client has this setting.
bool client_has(ClientTable* table, const Peer* peer, ClientWish wish);

/// The number of clients with this setting.
uint32_t client_count(const ClientTable* table, ClientWish wish);

/// Give a client a setting, which it may have already, and begin its lease.  `renewer`: the client
/// that has asked for it.  Returns NULL with STATUS_LIMIT, without any change, if there is no room.
Client* client_take(ClientTable* table, const Peer* peer, const Peer* renewer, ClientWish wish,
                    uint64_t now_ns, Error* error);

/// Subscribe a client to news for ever.  There must be room: the table is empty but for such ones.
/// [main]
void client_fix(ClientTable* table, const Peer* peer);

/// End settings of a client, bits of ClientWish.
void client_end(ClientTable* table, Client* client, unsigned wishes);

/// End all settings of a client, because its connection has ended.
void client_forget(ClientTable* table, const Peer* peer);

/// Renew the leases that a packet of this sender renews.
void client_renew(ClientTable* table, const Peer* sender, uint64_t now_ns);

/// End the settings of clients that are gone.
void client_expire(ClientTable* table, uint64_t now_ns);

/// Print the subscribers to news on this machine that the next server may have: without a
/// connection, which would end with this one, and not those of --osc-notify.  One per line; the
/// caller frees the text; NULL if out of memory.
char* client_print(const ClientTable* table);

/// Subscribe clients from a text of client_print(): those with this address family. [main]
void client_read(ClientTable* table, const char* text, sa_family_t family, uint64_t now_ns);

#endif
