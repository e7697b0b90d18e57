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

// ---- proof of an address ----

/// Trust the host of a peer for the time of a lease.
static Status
begin_trust(Outlet* const outlet, const Peer* const peer, const uint64_t now_ns, Error* const error)
{
  return trust_begin(&outlet->trust, peer, now_ns + TRUST_LEASE_NS)
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT, "%u machines have proved their addresses already",
                         TRUST_MAX_HOSTS);
}

Status
query_hello(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  Outlet* const outlet = &control->outlet;
  if (outlet_trusts(outlet, peer)) {
    outlet_done(outlet, peer, message->address, message->n_bytes);
    return STATUS_OK;
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

/// Give a client of another machine its lease, unless it has a connection, whose end is known.
static void
begin_lease(Control* const control, const Peer* const client, const Peer* const sender)
{
  if (!client->connection && !own_has(&control->outlet.machine, client)) {
    notify_lease(&control->notify, client, sender, control->now_ns + TRUST_LEASE_NS);
  }
}

void
clients_renew(Control* const control, const Peer* const sender)
{
  if (!peer_is_loopback(sender)) {
    trust_renew(&control->outlet.trust, sender, control->now_ns);
    notify_renew(&control->notify, sender, control->now_ns + TRUST_LEASE_NS);
    meters_renew(control, sender);
  }
}

void
clients_expire(Control* const control)
{
  trust_expire(&control->outlet.trust, control->now_ns);
  notify_expire(&control->notify, control->now_ns);
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
    (void)notify_fix(&control->notify, &peer);
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

/// Let a client have the news: its host has proved its address, or has a connection and may do so.
static Status
trust_host(Control* const control, const Peer* const client, Error* const error)
{
  Outlet* const outlet = &control->outlet;
  if (outlet_trusts(outlet, client)) {
    return STATUS_OK;
  }
  if (!allow_names(&control->allow, client)) {
    return error_set(error, STATUS_BAD_ARG, UNNAMED_HOST);
  }
  return begin_trust(outlet, client, control->now_ns, error);
}

/// Subscribe a client, and queue all present values for it.
static Status
subscribe(Control* const control, const Peer* const client, const Peer* const sender,
          Error* const error)
{
  Notify* const notify = &control->notify;
  if (trust_host(control, client, error)) {
    return error->status;
  }
  if (!notify_set(notify, client, NOTIFY_NEWS, true)) {
    return error_set(error, STATUS_LIMIT,
                     "%u clients subscribe already; close one of them, or unsubscribe it",
                     NOTIFY_MAX_CLIENTS);
  }
  begin_lease(control, client, sender);
  if (!notify_greet(notify, client, editor_rack(control->editor))) {
    notify_set(notify, client, NOTIFY_NEWS, false);
    return error_set(error, STATUS_NO_MEM, "out of memory");
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
  if (status == STATUS_OK && is_wanted) {
    status = subscribe(control, &client, peer, error);
    notify_pace(&control->notify, &client, interval_ns);
  } else if (status == STATUS_OK && notify_is_fixed(&control->notify, &client)) {
    status = error_set(error, STATUS_BAD_ARG, "--osc-notify has subscribed this port for ever");
  } else if (status == STATUS_OK) {
    notify_set(&control->notify, &client, NOTIFY_NEWS, false);
  }
  if (status != STATUS_OK) {
    return status;
  }
  char* const subscribers =
      control->config.subscribed ? notify_print_subscribers(&control->notify) : NULL;
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
  const bool is_quiet = strcmp(wanted, "all") != 0;
  if (outlet_check_trust(&control->outlet, peer, error)) {
    return error->status;
  }
  if (is_quiet && strcmp(wanted, "failures") != 0) {
    return error_set(error, STATUS_BAD_ARG, "\"%.60s\" is neither all nor failures", wanted);
  }
  if (!notify_set(&control->notify, peer, NOTIFY_QUIET, is_quiet)) {
    return error_set(error, STATUS_LIMIT, "%u clients already get failures only; close one of them",
                     NOTIFY_MAX_CLIENTS);
  }
  begin_lease(control, peer, peer);
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}
