// SPDX-License-Identifier: GPL-3.0-or-later
// The connections of a JACK client across all its sessions.

#include "jack_patch.h"

#include "engine/base/backoff.h"
#include "engine/base/time.h"

// Every second poll of 50 ms: a failed attempt costs a call.
#define RESTORE_NS     (90U * NS_PER_MS)
#define RESTORE_MAX_NS (5U * NS_PER_S)    // each attempt also writes a line to the server's log
#define SHOWN_NS       NS_PER_S           // time until shared memory shows a reported change
#define SETTLE_NS      (200U * NS_PER_MS) // the ports of a device appear one by one
#define REPORT_NS      NS_PER_S           // a connection that is missing this long is reported

Status
jack_patch_init(JackPatch* const patch, const IoConfig* const config, Error* const error)
{
  *patch = (JackPatch){ .is_settled = false };
  return jack_places_init(&patch->places, config->connect_to, config->connect ? config->n_in : 0U,
                          config->connect ? config->n_out : 0U, error);
}

static void
fill_places(JackPatch* const patch, const JackSession* const session)
{
  if (patch->places.n_open) {
    jack_places_fill(&patch->places, &patch->connections, session->client, session->ports);
  }
}

bool
jack_patch_prepare(JackPatch* const patch, JackSession* const session)
{
  jack_connections_lose(&patch->connections); // the connections of the last session
  fill_places(patch, session);
  return jack_connections_add_lost(&session->to_restore, &patch->connections);
}

void
jack_patch_begin(JackPatch* const patch, JackSession* const session, const uint64_t now_ns)
{
  const JackPlaces* const places = &patch->places;
  if (places->n_open && places->n_open == places->n_in + places->n_out) {
    io_note(session->base.io, "%s has no %s ports to connect to; waiting for them", session->place,
            places->pattern ? "such" : "physical");
  }
  atomic_store(&session->connections_changed, true);
  atomic_store(&session->ports_changed, true);
  patch->restore_ns = now_ns;
  patch->rest_ns = RESTORE_NS;
}

bool
jack_patch_update(JackPatch* const patch, const JackSession* const session,
                  const uint64_t played_ns)
{
  return jack_connections_update(&patch->connections, session->client, session->ports,
                                 session->n_ports, played_ns);
}

static void
follow_connections(JackPatch* const patch, JackSession* const session, const uint64_t played_ns,
                   const uint64_t now_ns)
{
  if (atomic_exchange(&session->connections_changed, false)) {
    patch->connections_ns = now_ns;
    patch->is_settled = false;
    patch->rest_ns = RESTORE_NS;
  }
  if (!patch->is_settled) {
    const bool is_late = now_ns - patch->connections_ns >= SHOWN_NS;
    patch->is_settled = jack_patch_update(patch, session, played_ns) && is_late;
  }
}

static void
follow_ports(JackPatch* const patch, JackSession* const session, const uint64_t now_ns)
{
  if (atomic_exchange(&session->ports_changed, false)) {
    patch->ports_ns = now_ns;
  }
  if (patch->ports_ns && now_ns - patch->ports_ns >= SETTLE_NS) {
    patch->ports_ns = 0;
    fill_places(patch, session);
  }
}

static void
report_away(JackPatch* const patch, const Io* const io, const uint64_t now_ns)
{
  const JackConnection* first;
  const uint32_t n_away = jack_connections_count_lost(&patch->connections, &first);
  if (n_away != patch->n_away) {
    patch->n_away = n_away;
    patch->away_ns = now_ns;
  }
  if (n_away == patch->n_reported || now_ns - patch->away_ns < REPORT_NS) {
    return;
  }
  patch->n_reported = n_away;
  if (n_away) {
    const char* const from = first->from + (first->from[0] == ':');
    const char* const to = first->to + (first->to[0] == ':');
    io_note(io, "%u connections wait for their ports, first %s → %s", n_away, from, to);
  } else {
    io_note(io, "all connections exist again");
  }
}

void
jack_patch_follow(JackPatch* const patch, JackSession* const session, const uint64_t played_ns)
{
  const uint64_t now_ns = time_now_ns();
  follow_connections(patch, session, played_ns, now_ns);
  follow_ports(patch, session, now_ns);
  report_away(patch, session->base.io, now_ns);
}

bool
jack_patch_must_restore(JackPatch* const patch, JackSession* const session)
{
  const uint64_t now_ns = time_now_ns();
  if (now_ns - patch->restore_ns < patch->rest_ns ||
      !jack_connections_can_restore(&patch->connections, session->client)) {
    return false;
  }
  patch->restore_ns = now_ns;
  patch->rest_ns = backoff_next(patch->rest_ns, RESTORE_NS, RESTORE_MAX_NS);
  jack_connections_clear(&session->to_restore);
  return jack_connections_add_lost(&session->to_restore, &patch->connections);
}

void
jack_patch_clear(JackPatch* const patch)
{
  jack_connections_clear(&patch->connections);
  jack_places_clear(&patch->places);
}
