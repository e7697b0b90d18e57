// SPDX-License-Identifier: GPL-3.0-or-later
// The JACK driver: one client after the other, with the same ports and connections.

#include "jack_session.h"
#include "words.h"

#include "../engine/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS     40U         // every poll of 50 ms; an attempt in vain costs 0.2 ms of a core
#define RESTORE_NS   90000000U   // the same for connections, every other poll
#define SHOWN_NS     1000000000U // by when shared memory shows a change that was told
#define LOOK_NS      50000000U   // from one look for periods to the next
#define PATIENCE_MIN 5U          // looks without a period
#define PATIENCE_MAX 1280U       // 64 s
#define LATELY_NS    120000000000U

typedef struct Jack {
  Reviver reviver; // First, so that an Io* is a Jack*
  char* client_name;
  char* server_name;    // NULL: default
  bool connect;         // To the physical ports, at the first start
  JackLinks links;      // Connections to come back to
  bool links_settled;   // They need no look before the server tells of a change
  uint64_t links_ns;    // When it told of one
  uint64_t restore_ns;  // When restoring connections was tried last
  bool latency_changed; // The server has to be told
  uint64_t left_out_ns; // When the server was seen to play without us
  uint32_t patience;    // Looks until it is again
} Jack;

static JackSession*
session_of(const Reviver* const reviver)
{
  return (JackSession*)reviver->session;
}

// ---- a session's life ----

static Session*
make_session(Reviver* const reviver)
{
  Jack* const jack = (Jack*)reviver;
  JackSession* const session = jack_session_new(&reviver->io);
  if (!session) {
    return NULL;
  }
  session->client_name = jack->client_name;
  session->server_name = jack->server_name;
  session->place = reviver->name;
  session->connect = jack->connect && !reviver->has_run;
  jack_links_lose(&jack->links);
  if (!jack_links_add_lost(&session->to_restore, &jack->links)) {
    jack_session_close(session);
    return NULL;
  }
  return &session->base;
}

static Status
arm(Reviver* const reviver, Error* const error)
{
  jack_client_t* const client = session_of(reviver)->client;
  const jack_nframes_t rate = jack_get_sample_rate(client);
  const jack_nframes_t frames = jack_get_buffer_size(client);
  if (!rate || !frames) {
    return error_set(error, STATUS_AUDIO_IO, "%s tells no rate or no period", reviver->name);
  }
  return io_arm(&reviver->io, rate, frames, error);
}

static void
tell_start(Reviver* const reviver)
{
  Jack* const jack = (Jack*)reviver;
  JackSession* const session = session_of(reviver);
  const char* const name = jack_get_client_name(session->client);
  if (name && strcmp(name, jack->client_name) != 0) {
    io_note(&reviver->io, "the JACK client name '%s' is taken; this one is called '%s'",
            jack->client_name, name);
  }
  if (session->connect && !session->n_connected) {
    io_note(&reviver->io, "%s has no physical ports to connect to", reviver->name);
  }
  atomic_store(&session->links_changed, true);
  jack->restore_ns = rt_now_ns();
}

static bool
look_at_links(Jack* const jack, const uint64_t now_ns)
{
  const Io* const io = &jack->reviver.io;
  const JackSession* const session = session_of(&jack->reviver);
  return jack_links_look(&jack->links, session->client, session->ports, io->n_in + io->n_out,
                         now_ns);
}

static void
leave(Reviver* const reviver)
{
  // Connections made since the last poll are still to be seen in shared memory.  A session that
  // never ran has none of its own, and may lack ports.
  if (reviver->phase == RUNNING) {
    look_at_links((Jack*)reviver, rt_now_ns());
  }
}

// ---- while it runs ----

// Count the looks since the last period at which the server's time had gone on by a cycle that is
// over.  A server that stands still, and a program that was stopped itself, add none or one.
static void
count_skipped(JackSession* const session, const uint64_t now_ns)
{
  if (now_ns - session->seen_ns < LOOK_NS) {
    return;
  }
  session->seen_ns = now_ns;
  const uint64_t periods = atomic_load_explicit(&session->base.periods, memory_order_relaxed);
  const jack_nframes_t time = jack_last_frame_time(session->client);
  if (periods != session->seen_periods) {
    session->seen_periods = periods;
    session->seen_time = time;
    session->n_skipped = 0;
  } else if (time - session->seen_time > jack_get_buffer_size(session->client)) {
    session->seen_time = time;
    ++session->n_skipped;
  }
}

// The server plays, but not with us: the client that should wake ours for its cycle wakes another
// one (see missed_an_end() in jack_session.c, which other programs have not).  A new client of ours
// makes it look again.  Where that does not help, because that client hangs, say, it is tried less
// and less often.  Not before the connections are known, which the new client is to have.
static bool
lose_if_left_out(Jack* const jack)
{
  JackSession* const session = session_of(&jack->reviver);
  const uint64_t now_ns = rt_now_ns();
  if (now_ns - jack->left_out_ns >= LATELY_NS) {
    jack->patience = PATIENCE_MIN;
  }
  count_skipped(session, now_ns);
  if (session->n_skipped < jack->patience || !jack->links_settled) {
    return false;
  }
  session_lose(&session->base, "it plays without us, as another client does not wake this one");
  jack->left_out_ns = now_ns;
  jack->patience = 4U * jack->patience < PATIENCE_MAX ? 4U * jack->patience : PATIENCE_MAX;
  return true;
}

// A rate or a period of 0 is no format: libjack does not know the server's any more.
static bool
has_other_format(const Reviver* const reviver)
{
  jack_client_t* const client = session_of(reviver)->client;
  const jack_nframes_t rate = jack_get_sample_rate(client);
  const jack_nframes_t frames = jack_get_buffer_size(client);
  return rate && frames &&
         (!atomic_load(&reviver->io.open) || frames != reviver->io.block_frames ||
          rate != reviver->io.rate_hz);
}

static bool
follow_format(Jack* const jack)
{
  Reviver* const reviver = &jack->reviver;
  Error error;
  if (arm(reviver, &error)) {
    return reviver_give_up(reviver, &error);
  }
  io_note(&reviver->io, "%s now runs at %g Hz with %u frames", reviver->name, reviver->io.rate_hz,
          reviver->io.block_frames);
  jack->latency_changed = true;
  return true;
}

static void
remember_links(Jack* const jack)
{
  const uint64_t now_ns = rt_now_ns();
  if (atomic_exchange(&session_of(&jack->reviver)->links_changed, false)) {
    jack->links_ns = now_ns;
    jack->links_settled = false;
  }
  if (!jack->links_settled) {
    const bool is_late = now_ns - jack->links_ns >= SHOWN_NS;
    jack->links_settled = look_at_links(jack, now_ns) && is_late;
  }
}

// Restore what was not there when the session began; true when a call does.
static bool
restore_links(Jack* const jack)
{
  Reviver* const reviver = &jack->reviver;
  JackSession* const session = session_of(reviver);
  const uint64_t now_ns = rt_now_ns();
  if (now_ns - jack->restore_ns < RESTORE_NS ||
      !jack_links_can_restore(&jack->links, session->client)) {
    return false;
  }
  jack->restore_ns = now_ns;
  jack_links_clear(&session->to_restore);
  return jack_links_add_lost(&session->to_restore, &jack->links) &&
         reviver_call(reviver, jack_session_restore);
}

// Once, when nothing else is to be done; true when a call does.
static bool
describe_ports(Jack* const jack)
{
  JackSession* const session = session_of(&jack->reviver);
  if (session->is_described || !jack->links_settled) {
    return false;
  }
  session->is_described = true;
  return reviver_call(&jack->reviver, jack_session_describe);
}

static void
pass_on_words(const Io* const io)
{
  char said[256];
  words_take(said, sizeof(said));
  if (said[0]) {
    io_note(io, "libjack: %s", said);
  }
}

static bool
follow(Reviver* const reviver)
{
  Jack* const jack = (Jack*)reviver;
  if (has_other_format(reviver)) {
    return follow_format(jack);
  }
  if (reviver_is_calling(reviver)) {
    return false;
  }
  remember_links(jack);
  pass_on_words(&reviver->io);
  if (lose_if_left_out(jack)) {
    return true;
  }
  if (jack->latency_changed) {
    jack->latency_changed = !reviver_call(reviver, jack_session_tell_latency);
    return !jack->latency_changed;
  }
  return restore_links(jack) || describe_ports(jack);
}

static const ReviverKind kind = {
  .make = make_session,
  .open = jack_session_open,
  .arm = arm,
  .start = jack_session_start,
  .started = tell_start,
  .follow = follow,
  .leave = leave,
  .close = jack_session_close,
  .retry_ms = RETRY_MS,
  .may_abandon = true,
};

// ---- the driver ----

static Status
jack_close(Io* const io)
{
  Jack* const jack = (Jack*)io;
  if (reviver_close(&jack->reviver)) {
    jack_links_clear(&jack->links);
    free(jack->server_name);
    free(jack->client_name);
    free(jack);
  }
  return STATUS_OK;
}

static Status
start(Jack* const jack, const IoConfig* const config, Error* const error)
{
  if (!jack->client_name || (config->server_name && !jack->server_name)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  words_catch();
  const Status status = reviver_start(&jack->reviver, error);
  const Io* const io = &jack->reviver.io;
  if (jack->reviver.has_run &&
      ((config->rate_hz > 0.0 && config->rate_hz != io->rate_hz) ||
       (config->block_frames && config->block_frames != io->block_frames))) {
    io_note(io, "the JACK server decides: %g Hz, %u frames", io->rate_hz, io->block_frames);
  }
  return status;
}

static void
name_server(Jack* const jack, const char* const name)
{
  snprintf(jack->reviver.name, sizeof(jack->reviver.name), "JACK server '%s'",
           name ? name : "default");
}

static Status
jack_open(const IoConfig* const config, const IoEvents* const events, Io** const io,
          Error* const error)
{
  Jack* const jack = calloc(1, sizeof(Jack));
  if (!jack) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  jack->reviver.io =
      (Io){ .driver = &io_jack, .events = *events, .n_in = config->n_in, .n_out = config->n_out };
  jack->reviver.kind = &kind;
  name_server(jack, config->server_name ? config->server_name : getenv("JACK_DEFAULT_SERVER"));
  jack->reviver.wait = config->wait;
  jack->connect = config->connect;
  jack->patience = PATIENCE_MIN;
  jack->client_name = strdup(config->client_name ? config->client_name : "warprack");
  jack->server_name = config->server_name ? strdup(config->server_name) : NULL;
  Error reason = { STATUS_AUDIO_IO, "" };
  const Status status = start(jack, config, &reason);
  if (status) {
    jack_close(&jack->reviver.io);
    return error_set(error, status, "%s", reason.text);
  }
  *io = &jack->reviver.io;
  return STATUS_OK;
}

static void
jack_poll(Io* const io)
{
  reviver_poll((Reviver*)io);
}

static void
jack_status(const Io* const io, IoStatus* const status)
{
  const Reviver* const reviver = (const Reviver*)io;
  reviver_status(reviver, status);
  status->freewheeling = reviver->phase == RUNNING && session_of(reviver)->freewheeling;
}

static void
jack_latency_changed(Io* const io)
{
  Jack* const jack = (Jack*)io;
  jack->latency_changed = true;
  if (jack->reviver.phase == RUNNING) {
    jack_poll(io);
  }
}

const IoDriver io_jack = {
  .name = "jack",
  .summary = "JACK or PipeWire's JACK, with ports for other programs",
  .open = jack_open,
  .poll = jack_poll,
  .status = jack_status,
  .latency_changed = jack_latency_changed,
  .close = jack_close,
};
