// SPDX-License-Identifier: GPL-3.0-or-later
// The JACK driver: one client after the other, with the same ports and connections.

#include "jack_patch.h"
#include "jack_session.h"
#include "library_log.h"
#include "pipewire.h"

#include "engine/base/time.h"
#include "io/quirks/jack_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 40U // every poll of 50 ms; a failed attempt costs 0.2 ms of a core
// Every fifth poll: an attempt costs 5 ms, because libjack loads PipeWire again.
#define RETRY_PIPEWIRE_MS 240U
#define WORDS_NS          NS_PER_S // before a message of libjack is reported, unless the session ends

typedef struct Jack {
  Reconnect reconnect; // First member, so that an Io* is a Jack*
  char* client_name;
  char* server_name;    // NULL: default
  char first_name[256]; // The client's name in the first session; "" before it
  bool has_midi;        // The client has MIDI ports
  JackPatch patch;
  bool latency_changed; // The new latency must be reported to the server
  JackWatch watch;
  char words[256];   // First message of libjack that is not reported yet
  uint64_t words_ns; // Time at which it was read
} Jack;

static JackSession*
session_of(const Reconnect* const reconnect)
{
  return (JackSession*)reconnect->session;
}

// ---- life of a session ----

static IoSession*
make_session(Reconnect* const reconnect)
{
  Jack* const jack = (Jack*)reconnect;
  JackSession* const session = jack_session_new(&reconnect->io, jack->has_midi);
  if (!session) {
    return NULL;
  }
  session->client_name = jack->client_name;
  session->server_name = jack->server_name;
  session->place = reconnect->name;
  memcpy(session->first_name, jack->first_name, sizeof(jack->first_name));
  return &session->base;
}

static Status
arm_for_format(Reconnect* const reconnect, Error* const error)
{
  jack_client_t* const client = session_of(reconnect)->client;
  const jack_nframes_t rate = jack_get_sample_rate(client);
  const jack_nframes_t frames = jack_get_buffer_size(client);
  if (!rate || !frames) {
    return error_set(error, STATUS_AUDIO_IO, "%s reports no rate or no period", reconnect->name);
  }
  return io_arm(&reconnect->io, reconnect->session, rate, frames, error);
}

static Status
arm(Reconnect* const reconnect, Error* const error)
{
  Jack* const jack = (Jack*)reconnect;
  return jack_patch_prepare(&jack->patch, session_of(reconnect))
             ? arm_for_format(reconnect, error)
             : error_set(error, STATUS_NO_MEM, "out of memory");
}

// Report a name that differs from the wanted one, and from that of the first session.
static void
report_name(Jack* const jack, const char* const name)
{
  if (name && strcmp(name, jack->client_name) != 0 && strcmp(name, jack->first_name) != 0) {
    io_note(&jack->reconnect.io, "the JACK client name '%s' is taken; this one is called '%s'",
            jack->client_name, name);
  }
  if (name && !jack->first_name[0]) {
    snprintf(jack->first_name, sizeof(jack->first_name), "%s", name);
  }
}

static void
report_start(Reconnect* const reconnect)
{
  Jack* const jack = (Jack*)reconnect;
  JackSession* const session = session_of(reconnect);
  report_name(jack, jack_get_client_name(session->client));
  jack->words[0] = '\0';
  const uint64_t now_ns = time_now_ns();
  jack_patch_begin(&jack->patch, session, now_ns);
  jack_watch_begin(&jack->watch, jack_last_frame_time(session->client), now_ns);
}

static void
leave(Reconnect* const reconnect)
{
  // Connections made since the last poll are still visible in shared memory.  A session that never
  // ran has no connections, and may lack ports.
  if (reconnect->phase == RUNNING) {
    Jack* const jack = (Jack*)reconnect;
    jack_patch_update(&jack->patch, session_of(reconnect), jack->watch.played_ns);
  }
}

// ---- while it runs ----

// Handle a server that runs without this client, because the client that should wake this one in
// each cycle wakes another one (see missed_an_end() in jack_session.c; other programs lack that
// check).  A new session repairs this.  If it does not, for example because the other client hangs,
// the attempts become rarer.  The function waits until the connections are known, because the new
// session restores them.
static bool
lose_if_left_out(Jack* const jack, const JackVerdict verdict)
{
  if (verdict != JACK_LEFT_OUT || !jack->patch.is_settled) {
    return false;
  }
  io_session_lose(&session_of(&jack->reconnect)->base,
                  "it plays without this client, because another client does not wake it");
  jack_watch_lost(&jack->watch, time_now_ns());
  return true;
}

// Handle the result of the probe, once.  Returns true if the session is over.
static bool
lose_if_gone(Jack* const jack)
{
  JackSession* const session = session_of(&jack->reconnect);
  const JackProbe found = session->probe;
  session->probe = JACK_PROBE_NONE;
  if (found == JACK_PROBE_STANDS) {
    jack_watch_doubted(&jack->watch);
  } else if (found == JACK_PROBE_PLAYS) {
    jack_watch_replaced(&jack->watch);
  }
  if (found == JACK_PROBE_STANDS && jack->watch.n_probes == 1U) {
    io_note(&jack->reconnect.io, "%s hangs: neither this client nor a new one gets periods",
            jack->reconnect.name);
  } else if (found == JACK_PROBE_NO_SERVER) {
    io_session_lose(&session->base, "this client gets no periods, and no server answers");
  } else if (found == JACK_PROBE_PLAYS) {
    io_session_lose(&session->base, "this client gets no periods, but a new client does");
  }
  return found == JACK_PROBE_NO_SERVER || found == JACK_PROBE_PLAYS;
}

// Probe a server that has stopped.  Returns true while a call runs.
static bool
probe_if_still(Jack* const jack, const JackVerdict verdict)
{
  if (verdict != JACK_STANDS || atomic_load(&session_of(&jack->reconnect)->freewheeling)) {
    return false;
  }
  jack_watch_probed(&jack->watch);
  return reconnect_call(&jack->reconnect, jack_session_probe);
}

static JackVerdict
check_periods(Jack* const jack)
{
  const JackSession* const session = session_of(&jack->reconnect);
  const Io* const io = &jack->reconnect.io;
  return jack_watch_check(&jack->watch, atomic_load(&session->base.periods),
                          jack_last_frame_time(session->client), io->block_frames, io->rate_hz,
                          time_now_ns());
}

// True if the server's format has changed.  A rate or period of 0 is invalid: libjack has lost the
// server.
static bool
has_other_format(const Reconnect* const reconnect)
{
  jack_client_t* const client = session_of(reconnect)->client;
  const jack_nframes_t rate = jack_get_sample_rate(client);
  const jack_nframes_t frames = jack_get_buffer_size(client);
  return rate && frames &&
         (period_door_is_shut(reconnect->io.events.door, PERIOD_DOOR_DRIVER) ||
          frames != reconnect->io.block_frames || rate != reconnect->io.rate_hz);
}

static bool
follow_format(Jack* const jack)
{
  Reconnect* const reconnect = &jack->reconnect;
  Error error;
  if (arm_for_format(reconnect, &error)) {
    return reconnect_give_up(reconnect, &error);
  }
  io_note(&reconnect->io, "%s now runs at %g Hz with %u frames", reconnect->name,
          reconnect->io.rate_hz, reconnect->io.block_frames);
  jack->latency_changed = true;
  return true;
}

// Describe the ports once, when no other work is left.  Returns true while a call runs.
static bool
describe_ports(Jack* const jack)
{
  JackSession* const session = session_of(&jack->reconnect);
  if (session->is_described || !jack->patch.is_settled) {
    return false;
  }
  session->is_described = true;
  return reconnect_call(&jack->reconnect, jack_session_describe);
}

// Report what libjack says.  What it says when it loses the server is not reported: the driver has
// its own words for that.
static void
pass_on_words(Jack* const jack)
{
  const uint64_t now_ns = time_now_ns();
  if (!jack->words[0]) {
    library_log_take(jack->words, sizeof(jack->words));
    jack->words_ns = now_ns;
  } else if (now_ns - jack->words_ns >= WORDS_NS) {
    io_note(&jack->reconnect.io, "libjack: %s", jack->words);
    jack->words[0] = '\0';
  }
}

static bool
follow(Reconnect* const reconnect)
{
  Jack* const jack = (Jack*)reconnect;
  if (has_other_format(reconnect)) {
    return follow_format(jack);
  }
  if (reconnect_is_calling(reconnect)) {
    return false;
  }
  const JackVerdict verdict = check_periods(jack);
  jack_patch_follow(&jack->patch, session_of(reconnect), jack->watch.played_ns);
  pass_on_words(jack);
  if (lose_if_left_out(jack, verdict) || lose_if_gone(jack) || probe_if_still(jack, verdict)) {
    return true;
  }
  if (atomic_exchange(&session_of(reconnect)->latency_changed, false)) {
    jack->latency_changed = true;
  }
  if (jack->latency_changed) {
    jack->latency_changed = !reconnect_call(reconnect, jack_session_tell_latency);
    return !jack->latency_changed;
  }
  return (jack_patch_must_restore(&jack->patch, session_of(reconnect)) &&
          reconnect_call(reconnect, jack_session_restore)) ||
         describe_ports(jack);
}

static const ReconnectKind kind = {
  .make = make_session,
  .open = jack_session_open,
  .arm = arm,
  .start = jack_session_start,
  .started = report_start,
  .follow = follow,
  .leave = leave,
  .close = jack_session_close,
  .may_abandon = true,
};

// ---- the driver ----

static Status
jack_close(Io* const io)
{
  Jack* const jack = (Jack*)io;
  if (reconnect_close(&jack->reconnect)) {
    jack_patch_clear(&jack->patch);
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
  library_log_catch();
  const Status status = reconnect_start(&jack->reconnect, error);
  const Io* const io = &jack->reconnect.io;
  if (jack->reconnect.has_run &&
      ((config->rate_hz > 0.0 && config->rate_hz != io->rate_hz) ||
       (config->block_frames && config->block_frames != io->block_frames))) {
    io_note(io, "the JACK server decides: %g Hz, %u frames", io->rate_hz, io->block_frames);
  }
  return status;
}

static void
name_server(Jack* const jack, const char* const given)
{
  char* const name = jack->reconnect.name;
  const size_t size = sizeof(jack->reconnect.name);
  if (pipewire_is_libjack()) {
    jack->reconnect.retry_ms = RETRY_PIPEWIRE_MS;
    snprintf(name, size, given ? "PipeWire '%s'" : "PipeWire", given);
  } else {
    const char* const preset = getenv("JACK_DEFAULT_SERVER");
    jack->reconnect.retry_ms = RETRY_MS;
    snprintf(name, size, "JACK server '%s'", given ? given : preset ? preset : "default");
  }
}

static Status
jack_open(const IoConfig* const config, const IoEvents* const events, Io** const io,
          Error* const error)
{
  Jack* const jack = calloc(1, sizeof(Jack));
  if (!jack) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  jack->reconnect.io =
      (Io){ .driver = &io_jack, .events = *events, .n_in = config->n_in, .n_out = config->n_out };
  jack->reconnect.kind = &kind;
  name_server(jack, config->server_name);
  jack->reconnect.wait = config->wait;
  jack->has_midi = config->midi;
  jack->client_name = strdup(config->client_name ? config->client_name : "warprack");
  jack->server_name = config->server_name ? strdup(config->server_name) : NULL;
  Error reason = { STATUS_AUDIO_IO, "" };
  Status status = jack_patch_init(&jack->patch, config, &reason);
  status = status ? status : start(jack, config, &reason);
  if (status) {
    jack_close(&jack->reconnect.io);
    return error_set(error, status, "%s", reason.text);
  }
  *io = &jack->reconnect.io;
  return STATUS_OK;
}

static void
jack_status(const Io* const io, IoStatus* const status)
{
  const Reconnect* const reconnect = (const Reconnect*)io;
  reconnect_status(io, status);
  if (reconnect->phase == RUNNING) {
    status->freewheeling = session_of(reconnect)->freewheeling;
    status->transport_bpm = session_of(reconnect)->transport_bpm;
  }
}

static void
jack_latency_changed(Io* const io)
{
  Jack* const jack = (Jack*)io;
  jack->latency_changed = true;
  if (jack->reconnect.phase == RUNNING) {
    reconnect_poll(io);
  }
}

const IoDriver io_jack = {
  .name = "jack",
  .summary = "JACK or PipeWire's JACK, with ports for other programs",
  .open = jack_open,
  .poll = reconnect_poll,
  .status = jack_status,
  .latency_changed = jack_latency_changed,
  .close = jack_close,
};
