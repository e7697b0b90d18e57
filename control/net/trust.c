// SPDX-License-Identifier: GPL-3.0-or-later
// Cookies, and a table of hosts with the ends of their leases.

#include "trust.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

bool
trust_init(Trust* const trust)
{
  trust->n_hosts = 0;
  return getrandom(trust->secret, sizeof(trust->secret), 0) == (ssize_t)sizeof(trust->secret);
}

// ---- cookies ----

static uint64_t
cookie_of(const Trust* const trust, const Peer* const peer, const uint64_t epoch)
{
  const PeerKey host = peer_host(peer);
  uint8_t text[sizeof(host.address) + sizeof(host.scope) + sizeof(epoch)];
  memcpy(text, host.address, sizeof(host.address));
  memcpy(text + sizeof(host.address), &host.scope, sizeof(host.scope));
  memcpy(text + sizeof(host.address) + sizeof(host.scope), &epoch, sizeof(epoch));
  return siphash(trust->secret, text, sizeof(text));
}

void
trust_print_cookie(const Trust* const trust, const Peer* const peer, const uint64_t now_ns,
                   char text[const TRUST_COOKIE_BYTES])
{
  snprintf(text, TRUST_COOKIE_BYTES, "%016" PRIx64,
           cookie_of(trust, peer, now_ns / TRUST_EPOCH_NS));
}

bool
trust_is_cookie(const Trust* const trust, const Peer* const peer, const uint64_t now_ns,
                const char* const text)
{
  const size_t n_digits = TRUST_COOKIE_BYTES - 1U;
  if (strlen(text) != n_digits || strspn(text, "0123456789abcdef") != n_digits) {
    return false;
  }
  const uint64_t epoch = now_ns / TRUST_EPOCH_NS;
  const uint64_t cookie = strtoull(text, NULL, 16);
  return cookie == cookie_of(trust, peer, epoch) ||
         (epoch > 0U && cookie == cookie_of(trust, peer, epoch - 1U));
}

// ---- hosts ----

/// The index of a peer's host; n_hosts if it is not in the table.
static uint32_t
find_host(const Trust* const trust, const Peer* const peer)
{
  const PeerKey host = peer_host(peer);
  uint32_t h = 0;
  while (h < trust->n_hosts && !peer_key_equal(&trust->hosts[h].key, &host)) {
    ++h;
  }
  return h;
}

bool
trust_has(const Trust* const trust, const Peer* const peer)
{
  return find_host(trust, peer) < trust->n_hosts;
}

/// The number of hosts with a lease that are the same machine.
static uint32_t
count_of_machine(const Trust* const trust, const Peer* const peer)
{
  const PeerKey machine = peer_machine(peer);
  uint32_t n = 0;
  for (uint32_t h = 0; h < trust->n_hosts; ++h) {
    const TrustedHost* const host = &trust->hosts[h];
    n += host->until_ns != UINT64_MAX && peer_key_equal(&host->machine, &machine);
  }
  return n;
}

bool
trust_begin(Trust* const trust, const Peer* const peer, const uint64_t until_ns)
{
  const uint32_t h = find_host(trust, peer);
  if (h == TRUST_MAX_HOSTS || (h == trust->n_hosts && until_ns != UINT64_MAX &&
                               count_of_machine(trust, peer) >= TRUST_PER_MACHINE)) {
    return false;
  }
  TrustedHost* const host = &trust->hosts[h];
  if (h == trust->n_hosts) {
    *host = (TrustedHost){ .key = peer_host(peer), .machine = peer_machine(peer) };
    ++trust->n_hosts;
  }
  host->until_ns = host->until_ns > until_ns ? host->until_ns : until_ns;
  return true;
}

void
trust_renew(Trust* const trust, const Peer* const peer, const uint64_t now_ns)
{
  if (trust_has(trust, peer)) {
    (void)trust_begin(trust, peer, now_ns + TRUST_LEASE_NS);
  }
}

void
trust_expire(Trust* const trust, const uint64_t now_ns)
{
  uint32_t n_kept = 0;
  for (uint32_t h = 0; h < trust->n_hosts; ++h) {
    if (trust->hosts[h].until_ns > now_ns) {
      trust->hosts[n_kept++] = trust->hosts[h];
    }
  }
  trust->n_hosts = n_kept;
}
