// SPDX-License-Identifier: GPL-3.0-or-later
// One session of a JACK client.

#include "jack_session.h"

#include "library_log.h"
#include "pipewire.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "io/quirks/jack_database.h"

#include <jack/metadata.h>
#include <jack/midiport.h>
#include <jack/uuid.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_TRIES    4U // attempts to open a client that knows all other clients
#define MAX_NAMESAKES 100U
#define NAME_TRIES    10U // attempts to get the first session's name again
#define NAME_NS       (50U * NS_PER_MS)
#define LET_GO_TRIES  10U
#define LET_GO_NS     (5U * NS_PER_MS)
#define XSD_INTEGER   "http://www.w3.org/2001/XMLSchema#integer"

// ---- callbacks ----

// Get the buffers of this period.  Returns false if libjack lacks one, because the server's graph
// is gone; the other outputs are then silent.
static bool
get_buffers(JackSession* const session, const uint32_t n_frames)
{
  const uint32_t n_in = session->base.io->n_in;
  const uint32_t n_out = session->base.io->n_out;
  bool has_all = true;
  for (uint32_t c = 0; c < n_in; ++c) {
    session->in[c] = jack_port_get_buffer(session->ports[c], n_frames);
    has_all &= session->in[c] != NULL;
  }
  for (uint32_t c = 0; c < n_out; ++c) {
    session->out[c] = jack_port_get_buffer(session->ports[n_in + c], n_frames);
    has_all &= session->out[c] != NULL;
  }
  if (!has_all) {
    period_door_silence(session->out, n_out, n_frames);
  }
  return has_all;
}

static jack_port_t*
midi_port(const JackSession* const session, const bool is_output)
{
  return session->ports[session->base.io->n_in + session->base.io->n_out + is_output];
}

// Read the MIDI messages of this period.  Once there is no more room, the rest is counted only.
static void
read_midi(const JackSession* const session, const uint32_t n_frames)
{
  MidiPeriod* const midi = session->midi;
  void* const buffer = jack_port_get_buffer(midi_port(session, false), n_frames);
  const uint32_t n = buffer ? jack_midi_get_event_count(buffer) : 0U;
  midi_period_begin(midi);
  for (uint32_t e = 0; e < n && !midi->n_lost; ++e) {
    jack_midi_event_t event;
    if (!jack_midi_event_get(&event, buffer, e) &&
        !midi_period_add(midi, event.time, event.buffer, event.size)) {
      midi->n_lost = n - e;
    }
  }
  midi->n_lost += buffer ? jack_midi_get_lost_event_count(buffer) : 0U;
}

static void
write_midi(const JackSession* const session, const uint32_t n_frames)
{
  MidiPeriod* const midi = session->midi;
  void* const buffer = jack_port_get_buffer(midi_port(session, true), n_frames);
  if (!buffer) {
    return; // the server's graph is gone
  }
  jack_midi_clear_buffer(buffer);
  for (uint32_t e = 0; e < midi->out.n; ++e) {
    const MidiEvent* const event = &midi->out.events[e];
    midi->n_unsent +=
        jack_midi_event_write(buffer, event->frame, event->bytes, event->n_bytes) != 0;
  }
}

// Store the tempo of this period.
static void
follow_transport(JackSession* const session)
{
  jack_position_t position;
  (void)jack_transport_query(session->client, &position);
  const bool has_tempo = position.valid & JackPositionBBT;
  atomic_store_explicit(&session->transport_bpm, has_tempo ? position.beats_per_minute : 0.0,
                        memory_order_relaxed);
}

static int
on_process(const jack_nframes_t n_frames, void* const context)
{
  JackSession* const session = context;
  follow_transport(session);
  if (get_buffers(session, n_frames)) {
    if (session->midi) {
      read_midi(session, n_frames);
    }
    io_session_process(&session->base, session->in, session->out, n_frames,
                       atomic_load_explicit(&session->freewheeling, memory_order_relaxed),
                       session->midi);
    if (session->midi) {
      write_midi(session, n_frames);
    }
  } else {
    atomic_fetch_add_explicit(&session->base.xruns, 1U, memory_order_relaxed);
  }
  return 0;
}

static void
on_thread(void* const context)
{
  (void)context;
  // Otherwise the thread has the name of the thread that opened the client.
  pthread_setname_np(pthread_self(), "jack");
  rt_flush_denormals();
}

// The server is about to change the period: shut the door until the main thread has handled the
// change.
static int
on_buffer_size(const jack_nframes_t n_frames, void* const context)
{
  IoSession* const session = context;
  const Io* const io = session->io;
  PeriodDoor* const door = io->events.door;
  if (n_frames != atomic_load(&io->block_frames) && period_door_admits(door, session)) {
    period_door_shut(door, PERIOD_DOOR_DRIVER);
  }
  return 0;
}

static void
on_freewheel(const int starting, void* const context)
{
  atomic_store_explicit(&((JackSession*)context)->freewheeling, starting != 0,
                        memory_order_relaxed);
}

static int
on_xrun(void* const context)
{
  atomic_fetch_add_explicit(&((IoSession*)context)->xruns, 1U, memory_order_relaxed);
  return 0;
}

static void
on_connect(const jack_port_id_t a, const jack_port_id_t b, const int connected, void* const context)
{
  (void)a;
  (void)b;
  (void)connected;
  atomic_store(&((JackSession*)context)->connections_changed, true);
}

static void
on_port(const jack_port_id_t port, const int registered, void* const context)
{
  (void)port;
  (void)registered;
  JackSession* const session = context;
  atomic_store(&session->ports_changed, true);
  // The connections of a port that disappears have changed, too.
  atomic_store(&session->connections_changed, true);
}

static void
on_shutdown(const jack_status_t code, const char* const reason, void* const context)
{
  (void)code;
  JackSession* const session = context;
  const char* const text = reason ? reason : "the server has ended";
  char line[sizeof(session->base.reason)];
  snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
  io_session_lose(&session->base, line);
}

// Latency beyond ports[n]: the widest range of the connected ports.
static jack_latency_range_t
range_of(jack_port_t* const* const ports, const uint32_t n, const jack_latency_callback_mode_t mode)
{
  jack_latency_range_t widest = { 0, 0 };
  bool is_first = true;
  for (uint32_t p = 0; p < n; ++p) {
    if (jack_port_connected(ports[p]) <= 0) { // -1: unknown
      continue;
    }
    jack_latency_range_t range = { 0, 0 }; // libjack may leave it unchanged
    jack_port_get_latency_range(ports[p], mode, &range);
    widest.min = is_first || range.min < widest.min ? range.min : widest.min;
    widest.max = range.max > widest.max ? range.max : widest.max;
    is_first = false;
  }
  return widest;
}

// Set the capture latency of the outputs to that of the inputs plus the engine's, and the playback
// latency of the inputs to that of the outputs plus the engine's.
static void
set_latency(const JackSession* const session, const jack_latency_callback_mode_t mode)
{
  const Io* const io = session->base.io;
  jack_port_t* const* const in = session->ports;
  jack_port_t* const* const out = session->ports + io->n_in;
  const bool capture = mode == JackCaptureLatency;
  jack_latency_range_t range =
      capture ? range_of(in, io->n_in, mode) : range_of(out, io->n_out, mode);
  const CancelMode before = rt_hold_cancel(); // the engine locks
  const uint32_t latency = io->events.latency(io->events.context);
  rt_allow_cancel(before);
  range.min += latency;
  range.max += latency;
  for (uint32_t p = 0; p < (capture ? io->n_out : io->n_in); ++p) {
    jack_port_set_latency_range(capture ? out[p] : in[p], mode, &range);
  }
}

// jackd requires that this callback sets the latency.  PipeWire's libjack (0.3.65) deadlocks in
// jack_port_set_latency_range() if another of its callbacks is due at this moment: it calls that
// callback inside this one, while it holds a lock that is not recursive.
static void
on_latency(const jack_latency_callback_mode_t mode, void* const context)
{
  JackSession* const session = context;
  if (session->defers_latency) {
    atomic_store(&session->latency_changed, true);
  } else if (!period_door_is_kept(session->base.io->events.door)) { // otherwise the run has ended
    set_latency(session, mode);
  }
}

// ---- open ----

void
jack_session_close(void* const context)
{
  JackSession* const session = context;
  if (session->client) {
    jack_client_close(session->client);
  }
  jack_connections_clear(&session->to_restore);
  free(session->midi);
  free(session->out);
  free(session->in);
  free(session->ports);
  free(session);
}

JackSession*
jack_session_new(Io* const io, const bool has_midi)
{
  JackSession* const session = calloc(1, sizeof(JackSession));
  if (!session) {
    return NULL;
  }
  session->base.io = io;
  session->defers_latency = pipewire_is_libjack();
  session->n_ports = io->n_in + io->n_out + (has_midi ? 2U : 0U);
  session->ports = calloc(session->n_ports + 1U, sizeof(jack_port_t*));
  session->midi = has_midi ? rt_memory(sizeof(MidiPeriod)) : NULL;
  session->in = calloc(io->n_in + 1U, sizeof(float*));
  session->out = calloc(io->n_out + 1U, sizeof(float*));
  if (!session->ports || !session->in || !session->out || (has_midi && !session->midi)) {
    jack_session_close(session);
    return NULL;
  }
  return session;
}

static Status
fail(JackSession* const session, const char* const what)
{
  return library_log_fail(&session->base.error, STATUS_AUDIO_IO, what);
}

// True if another client has ports with the name of this client.  This client has no ports yet.
static bool
has_namesake(jack_client_t* const client)
{
  const char* const name = jack_get_client_name(client);
  const size_t length = name ? strlen(name) : 0U;
  const char** const ports = jack_get_ports(client, NULL, NULL, 0);
  bool found = false;
  for (const char** port = ports; port && *port; ++port) {
    found |= length && !strncmp(*port, name, length) && (*port)[length] == ':';
  }
  jack_free(ports);
  return found;
}

// True if a running server refuses the client, for example because its name is taken.  libjack of
// jackd replaces the flag JackNameNotUnique by JackServerError.
static bool
is_refused(const jack_status_t status)
{
  return !(status & JackServerFailed) && status & (JackNameNotUnique | JackServerError);
}

// Open the client under the name of the first session, by which other programs know its ports.
// jackd may keep a name for a moment after its client has ended.
static jack_client_t*
open_under_first_name(const JackSession* const session, const jack_options_t options,
                      jack_status_t* const status)
{
  for (unsigned n = 0; n < NAME_TRIES; ++n) {
    jack_client_t* const client = jack_client_open(session->first_name, options | JackUseExactName,
                                                   status, session->server_name);
    if (client || !is_refused(*status)) {
      return client;
    }
    time_sleep(NAME_NS);
  }
  return NULL;
}

// Open the client under the name of the first session, or else under any name.
static jack_client_t*
open_under_best_name(const JackSession* const session, const jack_options_t options,
                     jack_status_t* const status)
{
  if (session->first_name[0]) {
    jack_client_t* const client = open_under_first_name(session, options, status);
    if (client || !is_refused(*status)) {
      return client;
    }
    char complaint[256]; // drops messages about the taken name
    library_log_take(complaint, sizeof(complaint));
  }
  return jack_client_open(session->client_name, options, status, session->server_name);
}

// Open the client under a name that no other client has.  jackd adds a number to a name in use.
// PipeWire allows equal names and mixes up the ports of such clients, so this function adds the
// number.
static jack_client_t*
open_under_free_name(const JackSession* const session, jack_status_t* const status)
{
  const jack_options_t options =
      JackNoStartServer | (session->server_name ? JackServerName : JackNullOption);
  char name[256];
  jack_client_t* client = open_under_best_name(session, options, status);
  for (unsigned n = 1; client && has_namesake(client) && n < MAX_NAMESAKES; ++n) {
    jack_client_close(client);
    snprintf(name, sizeof(name), "%.200s-%02u", session->client_name, n);
    client = jack_client_open(name, options, status, session->server_name);
  }
  return client;
}

// A possible reason for a missing server, or "".
static const char*
missing_server_hint(void)
{
  if (pipewire_is_libjack()) {
    return getenv("XDG_RUNTIME_DIR") ? "" : " for this user: XDG_RUNTIME_DIR is not set";
  }
  return pipewire_runs() ? ", but PipeWire does: start this program with pw-jack" : "";
}

static Status
open_client(JackSession* const session)
{
  jack_status_t status = 0;
  char what[256];
  library_log_take(what, sizeof(what)); // earlier messages are not the reason
  session->client = open_under_free_name(session, &status);
  if (session->client) {
    return STATUS_OK;
  }
  if (status & JackVersionError) {
    snprintf(what, sizeof(what), "%s speaks another protocol than libjack", session->place);
  } else if (status & JackShmFailure) { // io/quirks/jack_database.h
    snprintf(what, sizeof(what), "%s cannot be reached", session->place);
    if (jack_database_lacks_files()) {
      return library_log_fail(&session->base.error, STATUS_NO_MEM, what);
    }
  } else if (status & JackServerFailed) {
    session->base.absent = true;
    snprintf(what, sizeof(what), "%s does not run%s", session->place, missing_server_hint());
  } else {
    snprintf(what, sizeof(what), "%s refused the client '%.64s', status 0x%x", session->place,
             session->client_name, (unsigned)status);
  }
  return fail(session, what);
}

static Status
set_callbacks(JackSession* const session)
{
  jack_client_t* const client = session->client;
  jack_on_info_shutdown(client, on_shutdown, session);
  const bool all_are_set = !jack_set_thread_init_callback(client, on_thread, session) &&
                           !jack_set_process_callback(client, on_process, session) &&
                           !jack_set_buffer_size_callback(client, on_buffer_size, session) &&
                           !jack_set_freewheel_callback(client, on_freewheel, session) &&
                           !jack_set_xrun_callback(client, on_xrun, session) &&
                           !jack_set_port_connect_callback(client, on_connect, session) &&
                           !jack_set_port_registration_callback(client, on_port, session) &&
                           !jack_set_latency_callback(client, on_latency, session);
  return all_are_set ? STATUS_OK : fail(session, "libjack refuses a callback");
}

static Status
make_port(JackSession* const session, const uint32_t p, const char* const name,
          const char* const type, const bool is_input)
{
  session->ports[p] = jack_port_register(session->client, name, type,
                                         is_input ? JackPortIsInput : JackPortIsOutput, 0);
  if (session->ports[p]) {
    return STATUS_OK;
  }
  char what[64];
  snprintf(what, sizeof(what), "JACK does not make the port %s", name);
  return fail(session, what);
}

static Status
make_ports(JackSession* const session)
{
  const uint32_t n_in = session->base.io->n_in;
  const uint32_t n_audio = n_in + session->base.io->n_out;
  Status status = STATUS_OK;
  for (uint32_t p = 0; p < n_audio && !status; ++p) {
    const bool is_input = p < n_in;
    const uint32_t number = is_input ? p + 1U : p - n_in + 1U;
    char name[16];
    snprintf(name, sizeof(name), "%s_%u", is_input ? "in" : "out", number);
    status = make_port(session, p, name, JACK_DEFAULT_AUDIO_TYPE, is_input);
  }
  if (session->midi && !status) {
    status = make_port(session, n_audio, "midi_in", JACK_DEFAULT_MIDI_TYPE, true);
    status = status ? status
                    : make_port(session, n_audio + 1U, "midi_out", JACK_DEFAULT_MIDI_TYPE, false);
  }
  return status;
}

static Status
open_with_ports(JackSession* const session)
{
  Status status = open_client(session);
  status = status ? status : set_callbacks(session);
  return status ? status : make_ports(session);
}

// Number of semaphores of ended clients that this process still has mapped.
static uint32_t
count_gone_semaphores(void)
{
  FILE* const maps = fopen("/proc/self/maps", "re");
  char* line = NULL;
  size_t size = 0;
  uint32_t n = 0;
  while (maps && getline(&line, &size, maps) > 0) {
    n += strstr(line, "jack_sem.") && strstr(line, "(deleted)");
  }
  free(line);
  if (maps) {
    fclose(maps);
  }
  return n;
}

// True if libjack has missed the end of a client that ended while this client opened (jack2, issue
// 721).  libjack then keeps the semaphore of the ended client, and signals it instead of that of
// the next client in the same slot, which therefore waits without end.  The server has answered
// calls made after the opening, so that the semaphores of ended clients are disconnected by now;
// libjack soon unmaps the semaphores of clients whose end it has noticed.
static bool
missed_an_end(const uint32_t n_gone_before)
{
  bool missed = true;
  for (unsigned n = 0; n < LET_GO_TRIES && missed; ++n) {
    if (n) {
      time_sleep(LET_GO_NS);
    }
    missed = count_gone_semaphores() > n_gone_before;
  }
  return missed;
}

void
jack_session_open(void* const context)
{
  JackSession* const session = context;
  for (unsigned n = 0; n < OPEN_TRIES; ++n) {
    const uint32_t n_gone = count_gone_semaphores();
    session->base.status = open_with_ports(session);
    if (session->base.status || n + 1U == OPEN_TRIES || !missed_an_end(n_gone)) {
      return;
    }
    jack_client_close(session->client);
    session->client = NULL;
  }
}

// ---- run ----

// libjack prints an error for a peer that is not active yet.
static uint32_t
restore(JackSession* const session)
{
  char complaint[256];
  const uint32_t n_there = jack_connections_restore(&session->to_restore, session->client);
  library_log_take(complaint, sizeof(complaint));
  return n_there;
}

void
jack_session_start(void* const context)
{
  JackSession* const session = context;
  if (jack_activate(session->client)) {
    session->base.status = fail(session, "JACK does not activate the client");
    return;
  }
  session->n_connected = restore(session);
  snprintf(session->base.details, sizeof(session->base.details), ", %u connections restored",
           session->n_connected);
  jack_session_tell_latency(session);
  session->base.status = STATUS_OK;
}

void
jack_session_restore(void* const context)
{
  restore(context);
}

static void
describe_port(JackSession* const session, jack_port_t* const port, const char* const name,
              const uint32_t order)
{
  const jack_uuid_t uuid = jack_port_uuid(port);
  if (jack_uuid_empty(uuid)) {
    return; // otherwise every client would print this error as its own
  }
  char text[32];
  jack_set_property(session->client, uuid, JACK_METADATA_PRETTY_NAME, name, "text/plain");
  snprintf(text, sizeof(text), "%u", order);
  jack_set_property(session->client, uuid, JACK_METADATA_ORDER, text, XSD_INTEGER);
}

void
jack_session_describe(void* const context)
{
  JackSession* const session = context;
  const uint32_t n_in = session->base.io->n_in;
  const uint32_t n_audio = n_in + session->base.io->n_out;
  for (uint32_t p = 0; p < n_audio; ++p) {
    const bool is_input = p < n_in;
    char name[32];
    snprintf(name, sizeof(name), "%s %u", is_input ? "Input" : "Output",
             (is_input ? p : p - n_in) + 1U);
    describe_port(session, session->ports[p], name, p);
  }
  if (session->midi) {
    describe_port(session, midi_port(session, false), "MIDI input", n_audio);
    describe_port(session, midi_port(session, true), "MIDI output", n_audio + 1U);
  }
}

void
jack_session_probe(void* const context)
{
  JackSession* const session = context;
  session->probe = jack_probe(session->server_name, &session->base.periods);
  char complaint[256]; // drops messages about the second client
  library_log_take(complaint, sizeof(complaint));
}

void
jack_session_tell_latency(void* const context)
{
  const JackSession* const session = context;
  if (session->defers_latency) {
    set_latency(session, JackCaptureLatency);
    set_latency(session, JackPlaybackLatency);
  } else {
    jack_recompute_total_latencies(session->client);
  }
}
