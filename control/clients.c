// SPDX-License-Identifier: GPL-3.0-or-later
// A client of another machine proves its address, then it has the rights of one of this machine
// while its leases last.

#include "clients.h"

#include "control_private.h"
#include "meters.h"

#include <string.h>

#define MAX_RATE_HZ ((double)NS_PER_S / NOTIFY_INTERVAL_NS)
#define UNNAMED_HOST                                                                               \
  "--osc-allow has no rule for this address but 0.0.0.0/0 or ::/0, and with these nobody can "     \
  "subscribe or get long answers by UDP"

// ---- ends of clients ----

/// A ClientEnded.
static void
on_ended(void* const context, const Client* const client, const unsigned wishes)
{
  Control* const control = context;
  if (wishes & CLIENT_NEWS) {
    notify_forget(&control->notify, client);
  }
  if (wishes & CLIENT_METERS) {
    meters_forget(&control->meters, client);
  }
}

void
clients_init(Control* const control)
{
  control->clients.machine = &control->outlet.machine;
  control->clients.ended = on_ended;
  control->clients.context = control;
  control->notify.clients = &control->clients;
}

void
clients_renew(Control* const control, const Peer* const sender)
{
  if (!peer_is_loopback(sender)) {
    trust_renew(&control->outlet.trust, sender, control->now_ns);
    client_renew(&control->clients, sender, control->now_ns);
  }
}

void
clients_expire(Control* const control)
{
  trust_expire(&control->outlet.trust, control->now_ns);
  client_expire(&control->clients, control->now_ns);
}

// ---- proof of an address ----

/// Trust the host of a peer for the time of a lease.
static Status
begin_trust(Outlet* const outlet, const Peer* const peer, const uint64_t now_ns, Error* const error)
{
  return trust_begin(&outlet->trust, peer, now_ns + TRUST_LEASE_NS)
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT,
                         "%u addresses are proved already, or %u of your machine", TRUST_MAX_HOSTS,
                         TRUST_PER_MACHINE);
}

/// Let the host of a client have complete answers and news by UDP: it has proved its address, or
/// has a connection and may do so.
static Status
trust_host(Control* const control, const Peer* const client, Error* const error)
{
  Outlet* const outlet = &control->outlet;
  Peer by_udp = *client;
  by_udp.connection = 0;
  if (outlet_trusts(outlet, &by_udp)) {
    return STATUS_OK;
  }
  if (!allow_names(&control->allow, &by_udp)) {
    return error_set(error, STATUS_BAD_ARG, UNNAMED_HOST);
  }
  return begin_trust(outlet, &by_udp, control->now_ns, error);
}

Status
query_hello(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  Outlet* const outlet = &control->outlet;
  if (outlet_trusts(outlet, peer)) {
    // A connection is a proof of the address, for the other ports of its machine, too.
    const Status status = trust_host(control, peer, error);
    if (!status) {
      outlet_done(outlet, peer, message->address, message->n_bytes);
    }
    return status;
  }
  if (!allow_names(&control->allow, peer)) {
    return error_set(error, STATUS_BAD_ARG, UNNAMED_HOST);
  }
  if (!trust_is_cookie(&outlet->trust, peer, control->now_ns, message_text(message, 0))) {
    // Not /server/hello: two servers would answer each other without end.
    char cookie[TRUST_COOKIE_BYTES];
    trust_print_cookie(&outlet->trust, peer, control->now_ns, cookie);
    lo_message arguments = lo_message_new();
    outlet_add(&arguments, "s", cookie);
    outlet_send(outlet, peer, message->n_bytes, "/server/cookie", arguments);
    ++control->counts.cookies;
    return STATUS_OK;
  }
  if (begin_trust(outlet, peer, control->now_ns, error)) {
    return error->status;
  }
  outlet_done(outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}

// ---- subscriptions and answers ----

Status
clients_add(Control* const control, const Listeners* const listeners, Error* const error)
{
  for (uint32_t l = 0; l < listeners->n; ++l) {
    Peer peer = listeners->peers[l];
    if (!outlet_reaches(&control->outlet, &peer)) {
      char name[PEER_TEXT_BYTES];
      peer_print(&peer, name);
      return error_set(error, STATUS_BAD_ARG,
                       "--osc-notify: the server cannot send to %s from the address of --osc-bind",
                       name);
    }
    // There is room: the tables are empty, and larger than the list.
    client_fix(&control->clients, &peer);
    if (!own_has(&control->outlet.machine, &peer)) {
      (void)trust_begin(&control->outlet.trust, &peer, UINT64_MAX);
    }
  }
  return STATUS_OK;
}

/// Read the rate of a subscription; *interval_ns is 0 without one.
static Status
read_rate(const Message* const message, uint64_t* const interval_ns, Error* const error)
{
  const double rate_hz = message_n_arguments(message) > 2U ? message_number(message, 2) : 0.0;
  *interval_ns = rate_hz > 0.0 ? (uint64_t)((double)NS_PER_S / rate_hz) : 0U;
  return message_n_arguments(message) < 3U || (rate_hz >= 1.0 && rate_hz <= MAX_RATE_HZ)
             ? STATUS_OK
             : error_set(error, STATUS_BAD_ARG, "a rate is a number from 1 to %g Hz", MAX_RATE_HZ);
}

/// Read a number that is 1 or 0.
static Status
read_switch(const Message* const message, bool* const is_on, Error* const error)
{
  const double number = message_number(message, 0);
  *is_on = number == 1.0;
  return number == 0.0 || number == 1.0
             ? STATUS_OK
             : error_set(error, STATUS_BAD_ARG, "1 subscribes, 0 unsubscribes");
}

/// Read the UDP port of a subscriber, which has the host of the sender; without one, or with 0, the
/// subscriber is the sender.
static Status
read_port(const Message* const message, Peer* const subscriber, Error* const error)
{
  const double port = message_n_arguments(message) > 1U ? message_number(message, 1) : 0.0;
  if (port < 0.0 || port > 65535.0) {
    return error_set(error, STATUS_BAD_ARG, "a port is a number from 1 to 65535");
  }
  if (port > 0.0) {
    peer_set_port(subscriber, (uint16_t)port);
    subscriber->connection = 0;
  }
  return STATUS_OK;
}

/// Subscribe a client, and queue all present values for it.
static Status
subscribe(Control* const control, const Peer* const peer, const Peer* const sender,
          const uint64_t interval_ns, Error* const error)
{
  const bool is_new = !client_has(&control->clients, peer, CLIENT_NEWS);
  if (!peer->connection && trust_host(control, peer, error)) {
    return error->status;
  }
  Client* const client =
      client_take(&control->clients, peer, sender, CLIENT_NEWS, control->now_ns, error);
  if (!client) {
    return error->status;
  }
  if (client->is_fixed && interval_ns) {
    return error_set(error, STATUS_BAD_ARG, "--osc-notify has subscribed this port, at 50 Hz");
  }
  if (!notify_greet(&control->notify, client, editor_rack(control->editor))) {
    client_end(&control->clients, client, is_new ? CLIENT_NEWS : 0U);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  notify_pace(&control->notify, client, interval_ns);
  return STATUS_OK;
}

static Status
unsubscribe(Control* const control, const Peer* const peer, Error* const error)
{
  Client* const client = client_find(&control->clients, peer);
  if (client && client->is_fixed) {
    return error_set(error, STATUS_BAD_ARG, "--osc-notify has subscribed this port for ever");
  }
  if (client) {
    client_end(&control->clients, client, CLIENT_NEWS);
  }
  return STATUS_OK;
}

Status
query_notify(Control* const control, const Peer* const peer, Message* const message,
             Error* const error)
{
  bool is_wanted = false;
  uint64_t interval_ns = 0;
  Peer client = *peer;
  Status status = outlet_check_trust(&control->outlet, peer, error);
  status = status ? status : read_switch(message, &is_wanted, error);
  status = status ? status : read_port(message, &client, error);
  status = status ? status : read_rate(message, &interval_ns, error);
  if (status == STATUS_OK) {
    status = is_wanted ? subscribe(control, &client, peer, interval_ns, error)
                       : unsubscribe(control, &client, error);
  }
  if (status != STATUS_OK) {
    return status;
  }
  char* const subscribers = control->config.subscribed ? client_print(&control->clients) : NULL;
  if (subscribers) {
    control->config.subscribed(control->config.context, subscribers);
  }
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}

Status
query_answers(Control* const control, const Peer* const peer, Message* const message,
              Error* const error)
{
  const char* const wanted = message_text(message, 0);
  const unsigned wish = strcmp(wanted, "failures") == 0  ? CLIENT_QUIET
                        : strcmp(wanted, "bundles") == 0 ? CLIENT_BUNDLES
                                                         : 0U;
  if (outlet_check_trust(&control->outlet, peer, error)) {
    return error->status;
  }
  if (!wish && strcmp(wanted, "all") != 0) {
    return error_set(error, STATUS_BAD_ARG, "\"%.60s\" is not all, failures or bundles", wanted);
  }
  ClientTable* const clients = &control->clients;
  if (wish && !client_take(clients, peer, peer, (ClientWish)wish, control->now_ns, error)) {
    return error->status;
  }
  Client* const client = client_find(clients, peer);
  if (client) {
    client_end(clients, client, (CLIENT_QUIET | CLIENT_BUNDLES) & ~wish);
  }
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}
