// SPDX-License-Identifier: GPL-3.0-or-later
// The control thread: receives and answers packets, and runs everything that waits for its time.

#include "checks.h"
#include "clients.h"
#include "control_private.h"
#include "commands.h"
#include "dispatch.h"
#include "meters.h"
#include "midi.h"
#include "pending.h"
#include "reports.h"
#include "saves.h"
#include "takes.h"
#include "tempo_source.h"

#include "engine/base/time.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOOPBACK             "127.0.0.1"
#define THREAD_STACK_BYTES   (1U << 20U) // packet_check() and the parser need a fraction of it
#define RECEIVE_BUFFER_BYTES (4U << 20U) // for bursts of packets; the system may grant less
#define PORT_TRIES           16U         // attempts to find a port that is free on both addresses
#define CHECK_INTERVAL_NS    (250U * NS_PER_MS)

// ---- one round ----

/// After a scan for plugins, use those that the rack has missed, or that edits in flight have.
static void
find_missing(Control* const control)
{
  const EditorCounts counts = editor_counts(control->editor);
  const bool has_edit = counts.in_flight || counts.waiting;
  const bool has_scanned = control->scan.n_ended != control->n_scans_used;
  control->n_scans_used = control->scan.n_ended;
  if (has_scanned && (has_edit || rack_has_missing(editor_rack(control->editor)))) {
    dispatch_own(control, "/rack/find", NULL);
  }
}

/// Send what waits to be sent together: values to the engine, then answers.
static void
send_all(Control* const control)
{
  editor_flush(control->editor);
  outlet_flush(&control->outlet);
}

static void
do_turns(Control* const control)
{
  Senders* const senders = &control->intake.senders;
  const uint64_t end_ns = control->now_ns + DISPATCH_ROUND_NS;
  senders_release(senders);
  intake_receive(&control->intake, control->now_ns);
  uint64_t cpu_ns = dispatch_cpu_ns();
  for (Sender* sender = NULL; control->now_ns < end_ns && (sender = senders_turn(senders));) {
    if (streams_is_full(&control->streams, &sender->peer)) {
      senders_hold(senders, sender); // until its client has read
    } else {
      cpu_ns = dispatch_turn(control, sender, cpu_ns);
    }
    if (intake_is_due(&control->intake, control->now_ns)) {
      intake_receive(&control->intake, control->now_ns);
      send_all(control);
      cpu_ns = dispatch_cpu_ns();
    }
  }
}

static void
report_flood(Control* const control, const char* const text)
{
  if (control->config.flood) {
    control->config.flood(control->config.context, text);
  }
}

/// Report packets without a known sender: those that the kernel dropped, and those that found no
/// place in the table of senders.
static void
report_lost(Control* const control)
{
  const uint64_t lost = intake_lost(&control->intake) + control->intake.senders.crowded;
  if (lost != control->reported_lost &&
      control->now_ns - control->reported_lost_ns >= SENDERS_REPORT_NS) {
    char text[160];
    snprintf(text, sizeof(text),
             "%llu packets lost: they arrived faster than the server reads them, or from too many "
             "senders",
             (unsigned long long)(lost - control->reported_lost));
    report_flood(control, text);
    control->reported_lost = lost;
    control->reported_lost_ns = control->now_ns;
  }
}

/// Report dropped packets to the log, and to senders that are no strangers.
static void
report_drops(Control* const control)
{
  uint64_t n = 0;
  uint32_t index = 0;
  for (const Sender* sender = NULL;
       (sender = senders_report(&control->intake.senders, control->now_ns, &index, &n));) {
    Error error;
    error_set(&error, STATUS_LIMIT,
              "%llu packets dropped: they arrived faster than the server handles them",
              (unsigned long long)n);
    if (outlet_trusts(&control->outlet, &sender->peer)) {
      outlet_fail(&control->outlet, &sender->peer, 0, "", &error);
    }
    char name[PEER_TEXT_BYTES];
    char text[sizeof(name) + sizeof(error.text) + 2U];
    peer_print(&sender->peer, name);
    snprintf(text, sizeof(text), "%s: %s", name, error.text);
    report_flood(control, text);
  }
  report_lost(control);
}

static void
do_reply(Control* const control)
{
  EngineReply reply;
  if (!inbox_take(control->inbox, &reply)) {
    return;
  }
  editor_reply(control->editor, &reply);
  if (reply.status == STATUS_OK && reply.latency_frames != control->engine.rack_latency_frames) {
    control_check_audio(control);
  }
}

/// Handle finished jobs of the rack store.
static void
do_files(Control* const control)
{
  for (RackStoreJob* job = NULL; (job = rack_store_take(control->store));) {
    if (job->kind == STORE_TAKE) {
      takes_written(control, job);
    }
    if (job->kind == STORE_READ) {
      editor_read(control->editor, job->message, job->text, &job->error);
      job->text = NULL;
    } else if (job->kind == STORE_STATE) {
      editor_read(control->editor, job->message, job->name, &job->error);
      job->name = NULL;
    } else if (job->kind == STORE_TAKE && !job->address) {
      // a part for which no client waits
    } else if (job->error.status != STATUS_OK) {
      ++control->counts.unsaved;
      outlet_fail(&control->outlet, &job->peer, job->n_bytes, job->address, &job->error);
    } else if (!client_has(&control->clients, &job->peer, CLIENT_QUIET)) {
      outlet_done(&control->outlet, &job->peer, job->address, job->n_bytes);
    }
    rack_store_job_free(job);
  }
}

static void
do_syncs(Control* const control)
{
  Sync sync;
  Status status = STATUS_OK;
  while (syncs_take(&control->syncs, control->config.engine, control->now_ns, &sync, &status)) {
    if (status != STATUS_OK) {
      Error error;
      error_set(&error, status, "no audio has run for %d s", (int)(SYNC_TIMEOUT_NS / NS_PER_S));
      outlet_fail(&control->outlet, &sync.peer, sync.request_bytes, "/server/sync", &error);
      continue;
    }
    lo_message arguments = lo_message_new();
    outlet_add(&arguments, "i", sync.number);
    outlet_send(&control->outlet, &sync.peer, sync.request_bytes, "/server/synced", arguments);
  }
}

static uint64_t
min_ns(const uint64_t a, const uint64_t b)
{
  return a < b ? a : b;
}

/// The time at which this thread must wake up even if no packet arrives.
static uint64_t
wake_ns(const Control* const control)
{
  const bool is_work =
      senders_are_waiting(&control->intake.senders) || editor_next(control->editor);
  uint64_t wake = is_work ? 0U : control->next_check_ns;
  wake = min_ns(wake, schedule_wake_ns(&control->schedule));
  wake = min_ns(wake, notify_wake_ns(&control->notify));
  wake = min_ns(wake, meters_wake_ns(&control->meters));
  wake = min_ns(wake, takes_wake_ns(&control->takes));
  wake = min_ns(wake, midi_wake_ns(control));
  wake = min_ns(wake, tempo_wake_ns(control));
  wake = control->notes.n ? min_ns(wake, control->now_ns + NOTES_POLL_NS) : wake;
  wake =
      editor_holds_values(control->editor) ? min_ns(wake, control->now_ns + PENDING_POLL_NS) : wake;
  return control->syncs.n ? min_ns(wake, control->now_ns + SYNC_POLL_NS) : wake;
}

static void
wait_for_work(Control* const control)
{
  const uint64_t now_ns = time_now_ns();
  const uint64_t wake = wake_ns(control);
  const struct timespec timeout = time_spec(wake > now_ns ? wake - now_ns : 0U);
  Senders* const senders = &control->intake.senders;
  enum { N_OWN = 4 };
  struct pollfd fds[N_OWN + STREAMS_POLLED] = {
    { control->outlet.socket, POLLIN, 0 },
    { control->outlet.loopback, POLLIN, 0 }, // poll() ignores -1
    { inbox_fd(control->inbox), POLLIN, 0 },
    { rack_store_fd(control->store), POLLIN, 0 },
  };
  struct pollfd* const of_streams = &fds[N_OWN];
  const uint32_t n_fds = streams_prepare(&control->streams, senders, now_ns, of_streams);
  const uint64_t next_ns = intake_next_ns(&control->intake);
  if (wake > now_ns && next_ns > now_ns) {
    time_sleep(next_ns - now_ns);
  }
  if (ppoll(fds, N_OWN + n_fds, &timeout, NULL) >= 0) {
    streams_serve(&control->streams, senders, time_now_ns(), of_streams);
  }
}

/// Forget a client whose connection has ended.  A StreamClosed.
static void
on_closed(void* const context, const Peer* const peer)
{
  Control* const control = context;
  client_forget(&control->clients, peer);
}

/// Send the start and all values to the subscribers of the previous run.
static void
greet_subscribers(Control* const control)
{
  control_notify(control, NOTIFY_STARTED);
  if (rack_uses_tempo(editor_rack(control->editor))) {
    control_notify(control, NOTIFY_TEMPO);
  }
  notify_replaced(&control->notify, NULL, editor_rack(control->editor), NULL);
}

static void*
control_run(void* const context)
{
  Control* const control = context;
  greet_subscribers(control);
  while (!inbox_is_closed(control->inbox)) {
    atomic_fetch_add_explicit(&control->rounds, 1U, memory_order_relaxed);
    control->round = instant_now();
    control->now_ns = control->round.monotonic_ns;
    if (control->now_ns >= control->next_check_ns) {
      control->next_check_ns = control->now_ns + CHECK_INTERVAL_NS;
      control_check_audio(control);
      control_report_rack(control);
      find_missing(control);
      report_drops(control);
      checks_run(control);
      clients_expire(control);
    }
    (void)reports_read(control);
    midi_run(control); // before reports_apply(): adds values of events that no worker has run
    reports_apply(control);
    takes_run(control);
    do_reply(control);
    do_files(control);
    tempo_follow(control);
    dispatch_waiting(control);
    do_turns(control);
    dispatch_due(control);
    notes_flush(&control->notes, control->config.engine);
    saves_continue(control);
    do_syncs(control);
    notify_flush(&control->notify, control->now_ns);
    meters_run(control);
    send_all(control);
    wait_for_work(control);
  }
  (void)reports_read(control);
  takes_end(control);
  control_report_rack(control);
  send_all(control);
  return NULL;
}

// ---- start and stop ----

static Status
fail_no_socket(const char* const address, const uint16_t port, const int code, Error* const error)
{
  if (code == EADDRINUSE) {
    return error_set(error, STATUS_NET,
                     "UDP port %u on %s is in use, perhaps by another warprack; choose another one "
                     "with --osc-port, or 0 for any free one",
                     port, address);
  }
  return error_set(error, status_of_errno(code, STATUS_NET), "cannot listen on %s, UDP port %u: %s",
                   address, port, strerror(code));
}

/// Make a socket that is bound to an address.  Returns -1 with errno on failure.  It does not set
/// SO_REUSEADDR, because two servers must not share a port.
static int
bind_socket(const struct addrinfo* const address)
{
  const int fd = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return -1;
  }
  const int n_bytes = RECEIVE_BUFFER_BYTES;
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n_bytes,
                   sizeof(n_bytes)); // a smaller buffer is no error
  peer_report_local(fd, address->ai_family);
  if (bind(fd, address->ai_addr, address->ai_addrlen) != 0) {
    const int code = errno;
    close(fd);
    errno = code;
    return -1;
  }
  return fd;
}

static Status
open_socket(const char* const address, const uint16_t number, int* const fd, Error* const error)
{
  char port[8];
  snprintf(port, sizeof(port), "%u", number);
  const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                  .ai_socktype = SOCK_DGRAM };
  struct addrinfo* found = NULL;
  if (getaddrinfo(address, port, &hints, &found) != 0) {
    return error_set(error, STATUS_BAD_ARG, "\"%.100s\" is not a numeric IP address", address);
  }
  *fd = bind_socket(found);
  const int code = errno;
  freeaddrinfo(found);
  return *fd < 0 ? fail_no_socket(address, number, code, error) : STATUS_OK;
}

/// Open the socket of ControlConfig::bind_address.
static Status
open_main_socket(Control* const control, const char* const address, Error* const error)
{
  Outlet* const outlet = &control->outlet;
  const Status status = open_socket(address, control->config.port, &outlet->socket, error);
  if (status == STATUS_OK) {
    const Peer own = peer_bound(outlet->socket);
    outlet->own = peer_key(&own);
    control->port = outlet->own.port;
  }
  return status;
}

/// Report that the server works without one of its sockets.
static void
note(const Control* const control, const char* const text)
{
  if (control->config.note) {
    control->config.note(control->config.context, text);
  }
}

/// Open a second socket on 127.0.0.1 with the same port, so that clients on this machine need no
/// address.  If another program uses that port there, either fail, or report it and continue
/// without this socket.
static Status
open_loopback_socket(Control* const control, const char* const address, const bool may_fail,
                     Error* const error)
{
  const Status status = open_socket(LOOPBACK, control->port, &control->outlet.loopback, error);
  if (status != STATUS_NET || may_fail) {
    return status;
  }
  char text[sizeof(error->text) + 256U];
  snprintf(text, sizeof(text),
           "clients that send to " LOOPBACK " do not reach this server: %s; use --host: warprack "
           "send --host %.100s -p %u",
           error->text, address, control->port);
  note(control, text);
  return STATUS_OK;
}

/// Listen for TCP connections at the address of a UDP socket; if that is not possible, fail or
/// report it.
static Status
open_listener(Control* const control, const int udp, int* const listener, const bool may_fail,
              Error* const error)
{
  const Peer at = peer_bound(udp);
  *listener = streams_listen(&at);
  if (*listener >= 0) {
    return STATUS_OK;
  }
  const int code = errno;
  char name[PEER_TEXT_BYTES];
  peer_print(&at, name);
  const Status status =
      error_set(error, status_of_errno(code, STATUS_NET),
                "clients that use TCP do not reach this server at %s: %s", name, strerror(code));
  if (status != STATUS_NET || may_fail) {
    return status;
  }
  note(control, error->text);
  return STATUS_OK;
}

/// True for a server at one address of a network.
static bool
needs_loopback_socket(const Control* const control)
{
  const Peer own = peer_bound(control->outlet.socket);
  return !peer_is_loopback(&own) && !peer_key_is_any(&control->outlet.own);
}

/// Open all sockets but the main one, with its port.
static Status
open_other_sockets(Control* const control, const char* const address, const bool may_fail,
                   Error* const error)
{
  Outlet* const outlet = &control->outlet;
  int* const listeners = control->streams.listeners;
  Status status = STATUS_OK;
  if (needs_loopback_socket(control)) {
    status = open_loopback_socket(control, address, may_fail, error);
  }
  if (status == STATUS_OK) {
    status = open_listener(control, outlet->socket, &listeners[0], may_fail, error);
  }
  if (status == STATUS_OK && outlet->loopback >= 0) {
    status = open_listener(control, outlet->loopback, &listeners[1], may_fail, error);
  }
  return status;
}

static void
close_other_sockets(Control* const control)
{
  streams_clear(&control->streams);
  if (control->outlet.loopback >= 0) {
    close(control->outlet.loopback);
    control->outlet.loopback = -1;
  }
}

/// Open the main socket, then the others.  If the port is in use for one of those, and the
/// configured port is 0, try other ports.
static Status
open_with_port(Control* const control, const char* const address, Error* const error)
{
  const bool is_any_port = control->config.port == 0;
  Status status = open_other_sockets(control, address, is_any_port, error);
  for (uint32_t n = 1; status == STATUS_NET && is_any_port && n < PORT_TRIES; ++n) {
    const int taken = control->outlet.socket; // closed later: the kernel chooses another port
    close_other_sockets(control);
    status = open_main_socket(control, address, error);
    close(taken);
    if (status) {
      return status;
    }
    status = open_other_sockets(control, address, n + 1U < PORT_TRIES, error);
  }
  return status;
}

static Status
open_sockets(Control* const control, Error* const error)
{
  const ControlConfig* const config = &control->config;
  const char* const address = config->bind_address ? config->bind_address : LOOPBACK;
  Status status = open_main_socket(control, address, error);
  if (status) {
    return status;
  }
  const Peer own = peer_bound(control->outlet.socket);
  if (!peer_is_loopback(&own) && !config->allow) {
    return error_set(error, STATUS_BAD_ARG,
                     "other machines can reach %.100s, and there is no password: list those that "
                     "may send with --osc-allow ADDRESS[/BITS]",
                     address);
  }
  return open_with_port(control, address, error);
}

/// Allow the senders of the configuration, and the address that the socket is bound to.
static void
fill_allow(Control* const control)
{
  const Peer own = peer_bound(control->outlet.socket);
  if (control->config.allow) {
    control->allow = *control->config.allow;
  }
  allow_add(&control->allow, &own);
}

/// Start the thread with all signals blocked, because the main thread handles them.
static int
start_thread(Control* const control)
{
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int code = pthread_create(&control->thread, &attributes, control_run, control);
  if (code == 0) {
    pthread_setname_np(control->thread, "warprack-osc");
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return code;
}

/// Free all parts; the thread has ended or was never started.
static void
control_free(Control* const control)
{
  rack_store_free(control->store);
  takes_clear(control);
  checks_clear(control);
  schedule_clear(&control->schedule);
  notes_clear(&control->notes);
  notify_clear(&control->notify);
  meters_clear(&control->meters);
  midi_clear(control);
  editor_free(control->editor);
  advice_clear(&control->advice);
  inbox_release(control->inbox);
  intake_clear(&control->intake);
  free(control->rack_text);
  folder_close(&control->folder);
  if (control->folder_mark >= 0) {
    close(control->folder_mark);
  }
  if (control->outlet.socket >= 0) {
    close(control->outlet.socket);
  }
  close_other_sockets(control);
  outbox_free(control->outlet.outbox);
  free(control);
}

static Status
prepare(Control* const control, const Rack* const rack, Error* const error)
{
  const ControlConfig* const config = &control->config;
  Status status = folder_open(&control->folder, config->root ? config->root : ".", error);
  if (status == STATUS_OK) {
    control->folder_mark = folder_mark_used(&control->folder);
    status = open_sockets(control, error);
  }
  if (status == STATUS_OK) {
    status = rack_store_new(&control->folder, &control->store, error);
  }
  if (status != STATUS_OK) {
    return status;
  }
  fill_allow(control);
  if (!trust_init(&control->outlet.trust)) {
    return error_set(error, STATUS_NET, "control: no random numbers: %s", strerror(errno));
  }
  control->inbox = inbox_new();
  control->outlet.outbox = outbox_new();
  if (!control->inbox || !control->outlet.outbox) {
    return error_set(error, STATUS_NO_MEM, "control: %s", strerror(errno));
  }
  const int sockets[INTAKE_SOCKETS] = { control->outlet.socket, control->outlet.loopback };
  status = intake_init(&control->intake, sockets, &control->allow, error);
  if (status != STATUS_OK) {
    return status;
  }
  control->advice.lacks_midi = config->lacks_midi;
  control->start_ns = time_now_ns();
  control->now_ns = control->start_ns;
  engine_status(config->engine, &control->engine); // report only changes after the start
  control->engine.quarantined = 0;                 // but `rack` may be reverted already
  control->notify.say = control_say;
  control->notify.context = control;
  clients_init(control);
  midi_decoder_init(&control->midi.decoder);
  if (config->listeners && clients_add(control, config->listeners, error)) {
    return error->status;
  }
  if (config->subscribers) {
    client_read(&control->clients, config->subscribers,
                peer_bound(control->outlet.socket).address.ss_family, control->now_ns);
  }
  const EditorConfig editor = { .engine = config->engine, .events = dispatch_events(control) };
  return editor_new(&editor, rack, &control->editor, error);
}

Status
control_start(const ControlConfig* const config, const Rack* const rack, Control** const out,
              Error* const error)
{
  Control* const control = calloc(1, sizeof(Control));
  if (!control) {
    return error_set(error, STATUS_NO_MEM, "control: out of memory");
  }
  control->config = *config;
  control->commands = command_table;
  control->n_commands = n_commands;
  control->folder.fd = control->folder_mark = -1;
  control->outlet.socket = -1;
  control->outlet.loopback = -1;
  control->outlet.streams = &control->streams;
  streams_init(&control->streams, &control->allow, &control->intake.watch, on_closed, control);
  Status status = prepare(control, rack, error);
  if (status == STATUS_OK) {
    const int code = start_thread(control);
    status = code ? error_set(error, STATUS_NO_MEM, "control: no thread: %s", strerror(code))
                  : STATUS_OK;
  }
  if (status != STATUS_OK) {
    control_free(control);
    return status;
  }
  *out = control;
  return STATUS_OK;
}

uint16_t
control_port(const Control* const control)
{
  return control->port;
}

Peer
control_own_peer(const Control* const control)
{
  return outlet_own_peer(&control->outlet);
}

uint64_t
control_rounds(const Control* const control)
{
  return atomic_load_explicit(&control->rounds, memory_order_relaxed);
}

void
control_stop(Control* const control)
{
  if (control) {
    inbox_close(control->inbox);
    pthread_join(control->thread, NULL);
    control_free(control);
  }
}
