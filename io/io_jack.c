// SPDX-License-Identifier: GPL-3.0-or-later
// The JACK driver: one client after the other, with the same ports and connections.
//
//             ┌───────── every 250 ms ──────────┐
//             ▼                                 │
//     AWAY ─open─▶ OPENING ─format─▶ STARTING ─▶ RUNNING ─server gone─▶ CLOSING ─▶ AWAY
//                     └──────────────── failed ─────────────────────────▶ ┘
//
// The four calls that talk to the server (open, start, ask, close) are errands: none of them can
// hang the main thread.  A call that hangs after the server's death is left to itself, and what it
// may still touch is never freed.

#include "errand.h"
#include "jack_session.h"

#include "../engine/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS   1000000U
#define RETRY_NS    (240U * NS_PER_MS)  // a poll every 250 ms finds it due each time
#define HANG_NS     (2000U * NS_PER_MS) // after which a call to the server is said to hang
#define FIRST_NS    (5000U * NS_PER_MS) // for the first start
#define PATIENCE_MS 50U                 // of one poll; a healthy server answers within
#define CLOSE_MS    900U                // twice that is the longest that io_close() takes

typedef enum Phase { AWAY, OPENING, STARTING, RUNNING, CLOSING } Phase;

typedef struct Jack {
  Io io; // First, so that an Io* is a Jack*
  char* client_name;
  char* server_name; // NULL: default
  bool connect;      // To the physical ports, at the first start
  Phase phase;
  JackSession* session; // NULL only when AWAY
  Errand* errand;       // Running call to the server, for `phase`; NULL for none
  uint64_t errand_ns;   // When it began
  uint64_t attempt_ns;  // When the last opening began
  uint64_t lost_ns;     // When the server went, 0: it has not yet
  JackLinks known;      // Connections to come back to
  bool has_run;         // The first start has succeeded
  bool latency_changed; // The server has to be told
  bool hang_told;
  bool leaks;          // A call was left to itself: it may still touch this struct
  Error error;         // Why the last attempt failed
  uint64_t past_xruns; // Of sessions that are over
  uint64_t reconnects;
} Jack;

static const char*
server_name(const Jack* const jack)
{
  return jack->server_name ? jack->server_name : "default";
}

// ---- errands ----

// True when the call has been started.
static bool
call_server(Jack* const jack, const Phase phase, const ErrandCall call)
{
  jack->phase = phase;
  jack->errand_ns = rt_now_ns();
  jack->hang_told = false;
  return !errand_start(call, jack->session, &jack->errand, &jack->error);
}

// Wait for the running call; true when there is none any more.
static bool
has_answered(Jack* const jack, const uint32_t timeout_ms)
{
  if (jack->errand && errand_wait(jack->errand, timeout_ms)) {
    jack->errand = NULL;
  }
  return !jack->errand;
}

static void
leave_session(Jack* const jack)
{
  jack->leaks = true;
  jack->session = NULL;
  jack->phase = AWAY;
}

static void
abandon_call(Jack* const jack, const ErrandCall discard)
{
  errand_abandon(jack->errand, discard);
  jack->errand = NULL;
  leave_session(jack);
}

// True when there may be more to do at once.
static bool
close_session(Jack* const jack)
{
  if (!jack_links_merge(&jack->known, &jack->session->pending)) {
    io_note(&jack->io, "out of memory: not all JACK connections will come back");
  }
  if (!call_server(jack, CLOSING, jack_session_close)) {
    io_note(&jack->io, "the JACK client cannot be closed: %s", jack->error.text);
    leave_session(jack);
  }
  return true;
}

// The attempt has failed; said once for each reason, and not at all where the loss has been said.
static bool
give_up_attempt(Jack* const jack, const Error* const error)
{
  const bool is_news =
      jack->has_run && !jack->session->absent && strcmp(jack->error.text, error->text) != 0;
  jack->error = *error;
  if (is_news) {
    io_note(&jack->io, "%s; trying again every 250 ms", error->text);
  }
  return close_session(jack);
}

// ---- from AWAY to RUNNING ----

static bool
open_session(Jack* const jack)
{
  jack->attempt_ns = rt_now_ns();
  jack->session = jack_session_new(&jack->io);
  if (!jack->session) {
    error_set(&jack->error, STATUS_NO_MEM, "out of memory");
    return false;
  }
  jack->session->client_name = jack->client_name;
  jack->session->server_name = jack->server_name;
  jack->session->connect = jack->connect && !jack->has_run;
  if (!jack_links_merge(&jack->session->pending, &jack->known)) {
    io_note(&jack->io, "out of memory: not all JACK connections will come back");
  }
  if (!call_server(jack, OPENING, jack_session_open)) {
    jack_session_free(jack->session);
    jack->session = NULL;
    jack->phase = AWAY;
    return false;
  }
  return true;
}

static Status
arm(Jack* const jack, Error* const error)
{
  jack_client_t* const client = jack->session->client;
  return io_arm(&jack->io, jack_get_sample_rate(client), jack_get_buffer_size(client), error);
}

static bool
start_session(Jack* const jack)
{
  JackSession* const session = jack->session;
  if (session->status || arm(jack, &session->error)) {
    return give_up_attempt(jack, &session->error);
  }
  if (!call_server(jack, STARTING, jack_session_start)) {
    return give_up_attempt(jack, &jack->error);
  }
  return true;
}

static bool
run_session(Jack* const jack)
{
  JackSession* const session = jack->session;
  if (session->status) {
    return give_up_attempt(jack, &session->error);
  }
  const char* const name = jack_get_client_name(session->client);
  if (strcmp(name, jack->client_name) != 0) {
    io_note(&jack->io, "the JACK client name '%s' is taken; this one is called '%s'",
            jack->client_name, name);
  }
  if (jack->has_run) {
    ++jack->reconnects;
    io_note(&jack->io,
            "JACK server '%s' is back after %.2f s: %g Hz, %u frames, %u connections restored",
            server_name(jack), (double)(rt_now_ns() - jack->lost_ns) * 1e-9, jack->io.rate_hz,
            jack->io.block_frames, session->n_restored);
  } else if (session->connect && !session->n_restored) {
    io_note(&jack->io, "JACK server '%s' has no physical ports to connect to", server_name(jack));
  }
  jack->has_run = true;
  jack->phase = RUNNING;
  jack->error.text[0] = '\0';
  atomic_store(&session->links_changed, true);
  return true;
}

// ---- while RUNNING ----

static bool
lose_server(Jack* const jack)
{
  JackSession* const session = jack->session;
  jack->lost_ns = rt_now_ns();
  jack->attempt_ns = 0;
  io_note(&jack->io, "lost JACK server '%s' (%s); trying again every 250 ms", server_name(jack),
          session->reason);
  // Connections made since the last poll are still to be seen in shared memory; those that the
  // server itself took down while it ended are not, but known from before.
  if (atomic_load(&session->links_changed)) {
    jack_links_add(&jack->known, session->client, session->ports, jack->io.n_in + jack->io.n_out);
  }
  jack->past_xruns += session->xruns;
  Error error;
  if (io_shut(&jack->io, &error)) {
    io_note(&jack->io, "%s", error.text);
  }
  return close_session(jack);
}

static bool
has_other_format(const Jack* const jack)
{
  return !atomic_load(&jack->io.open) ||
         jack_get_buffer_size(jack->session->client) != jack->io.block_frames ||
         jack_get_sample_rate(jack->session->client) != jack->io.rate_hz;
}

static bool
follow_format(Jack* const jack)
{
  Error error;
  if (arm(jack, &error)) {
    jack->past_xruns += jack->session->xruns;
    jack->lost_ns = rt_now_ns();
    return give_up_attempt(jack, &error);
  }
  io_note(&jack->io, "JACK server '%s' now runs at %g Hz with %u frames", server_name(jack),
          jack->io.rate_hz, jack->io.block_frames);
  jack->latency_changed = true;
  return true;
}

static void
remember_links(Jack* const jack)
{
  JackSession* const session = jack->session;
  if (atomic_exchange(&session->links_changed, false)) {
    jack_links_clear(&jack->known);
    if (!jack_links_add(&jack->known, session->client, session->ports,
                        jack->io.n_in + jack->io.n_out)) {
      atomic_store(&session->links_changed, true); // out of memory: once more
    }
  }
}

static void
pass_on_words(const Jack* const jack)
{
  char said[256];
  jack_words_take(said, sizeof(said));
  if (said[0]) {
    io_note(&jack->io, "libjack: %s", said);
  }
}

static bool
follow_server(Jack* const jack)
{
  JackSession* const session = jack->session;
  if (atomic_load_explicit(&session->lost, memory_order_acquire)) {
    return lose_server(jack);
  }
  if (has_other_format(jack)) {
    return follow_format(jack);
  }
  remember_links(jack);
  pass_on_words(jack);
  if (jack->latency_changed) {
    jack->latency_changed = !call_server(jack, RUNNING, jack_session_tell_latency);
    return !jack->latency_changed;
  }
  return session->pending.n && jack_links_can_restore(&session->pending, session->client) &&
         call_server(jack, RUNNING, jack_session_restore);
}

// ---- the machine ----

static bool
call_returned(Jack* const jack)
{
  switch (jack->phase) {
  case OPENING:
    return start_session(jack);
  case STARTING:
    return run_session(jack);
  case CLOSING:
    jack->session = NULL;
    jack->phase = AWAY;
    return true;
  default:
    return true;
  }
}

// The call has not returned: wait further, unless the server is known to be gone.
static bool
call_is_late(Jack* const jack)
{
  const bool is_gone =
      jack->phase == CLOSING ||
      (jack->phase != OPENING && atomic_load_explicit(&jack->session->lost, memory_order_acquire));
  if (rt_now_ns() - jack->errand_ns < HANG_NS || (jack->hang_told && !is_gone)) {
    return false;
  }
  jack->hang_told = true;
  if (!is_gone) {
    io_note(&jack->io, "JACK server '%s' does not answer; waiting for it", server_name(jack));
    return false;
  }
  io_note(&jack->io,
          "libjack hangs in a call to a server that is gone; the call is left to itself");
  if (jack->phase != CLOSING) { // the gate is still open
    Error error;
    jack->lost_ns = rt_now_ns();
    if (io_shut(&jack->io, &error)) {
      io_note(&jack->io, "%s", error.text);
    }
  }
  abandon_call(jack, NULL);
  return true;
}

// One step; true when there may be another at once.
static bool
advance(Jack* const jack)
{
  if (jack->errand) {
    return has_answered(jack, PATIENCE_MS) ? call_returned(jack) : call_is_late(jack);
  }
  if (jack->phase == RUNNING) {
    return follow_server(jack);
  }
  return rt_now_ns() - jack->attempt_ns >= RETRY_NS && open_session(jack);
}

static void
jack_poll(Io* const io)
{
  for (unsigned n = 0; n < 8U && advance((Jack*)io); ++n) { // a start takes four steps
  }
}

// ---- open, status, close ----

static void
jack_free_all(Jack* const jack)
{
  jack_links_clear(&jack->known);
  free(jack->server_name);
  free(jack->client_name);
  free(jack);
}

static Status
jack_close(Io* const io)
{
  Jack* const jack = (Jack*)io;
  Error error;
  if (io_shut(io, &error)) {
    jack->leaks = true;
  }
  if (!has_answered(jack, CLOSE_MS)) {
    abandon_call(jack, jack->phase == OPENING ? jack_session_close : NULL);
  } else if (jack->phase == CLOSING) {
    jack->session = NULL; // freed by the call that has just returned
  }
  if (jack->session) {
    close_session(jack);
    if (!has_answered(jack, CLOSE_MS)) {
      abandon_call(jack, NULL);
    }
  }
  if (!jack->leaks) {
    jack_free_all(jack);
  }
  return STATUS_OK;
}

static Status
first_start(Jack* const jack, const IoConfig* const config, Error* const error)
{
  const uint64_t began_ns = rt_now_ns();
  open_session(jack);
  while (jack->phase != RUNNING && jack->phase != AWAY) {
    if (rt_now_ns() - began_ns > FIRST_NS) {
      return error_set(error, STATUS_AUDIO_IO, "JACK server '%s' does not answer",
                       server_name(jack));
    }
    advance(jack);
  }
  if (jack->phase == AWAY) {
    *error = jack->error;
    return jack->error.status;
  }
  if ((config->rate_hz > 0.0 && config->rate_hz != jack->io.rate_hz) ||
      (config->block_frames && config->block_frames != jack->io.block_frames)) {
    io_note(&jack->io, "the JACK server decides: %g Hz, %u frames", jack->io.rate_hz,
            jack->io.block_frames);
  }
  return STATUS_OK;
}

static Status
jack_open(const IoConfig* const config, const IoEvents* const events, Io** const io,
          Error* const error)
{
  Jack* const jack = calloc(1, sizeof(Jack));
  if (!jack) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  jack->io.driver = &io_jack;
  jack->io.events = *events;
  jack->io.n_in = config->n_in;
  jack->io.n_out = config->n_out;
  jack->connect = config->connect;
  jack->client_name = strdup(config->client_name ? config->client_name : "warprack");
  jack->server_name = config->server_name ? strdup(config->server_name) : NULL;
  if (!jack->client_name || (config->server_name && !jack->server_name)) {
    jack_free_all(jack);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  jack_words_catch();
  Error reason = { STATUS_AUDIO_IO, "" };
  const Status status = first_start(jack, config, &reason);
  if (status) {
    jack_close(&jack->io);
    return error_set(error, status, "%s", reason.text);
  }
  *io = &jack->io;
  return STATUS_OK;
}

static void
jack_status(const Io* const io, IoStatus* const status)
{
  const Jack* const jack = (const Jack*)io;
  const JackSession* const session = jack->phase == RUNNING ? jack->session : NULL;
  *status =
      (IoStatus){ .state = session && atomic_load(&io->open) ? IO_STATE_RUNNING : IO_STATE_WAITING,
                  .rate_hz = io->rate_hz,
                  .block_frames = io->block_frames,
                  .xruns = jack->past_xruns,
                  .reconnects = jack->reconnects };
  if (session) {
    status->xruns += session->xruns;
    status->freewheeling = session->freewheeling;
  }
  snprintf(status->device, sizeof(status->device), "JACK server '%.64s'", server_name(jack));
}

static void
jack_latency_changed(Io* const io)
{
  Jack* const jack = (Jack*)io;
  jack->latency_changed = true;
  if (jack->phase == RUNNING) {
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
