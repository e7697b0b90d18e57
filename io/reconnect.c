// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps a driver running when its server or device ends.

#include "reconnect.h"

#include "engine/base/time.h"

#include <stdio.h>
#include <string.h>

#define HANG_NS     (2000U * NS_PER_MS)  // after which a call is reported as hanging
#define FIRST_NS    (10000U * NS_PER_MS) // jackd is silent for 6 s when a client has died
#define REFUSED_NS  (2000U * NS_PER_MS)  // a refused first start is retried for this time
#define PATIENCE_MS 50U                  // limit for a poll; a healthy server answers in time
#define CLOSE_MS    900U                 // reconnect_close() takes at most twice as long
#define MAX_STEPS   8U                   // of one poll; a reconnection takes four

// Memory that abandoned calls may still access.  This pointer keeps leak checkers from reporting
// it.
static Reconnect* left_behind;

static double
seconds_since(const uint64_t then_ns)
{
  return (double)(time_now_ns() - then_ns) * 1e-9;
}

// ---- calls ----

// Start a call.  Returns true if it runs.
static bool
begin_call(Reconnect* const reconnect, const Phase phase, const AsyncFunction call)
{
  reconnect->phase = phase;
  reconnect->call_ns = time_now_ns();
  reconnect->hang_told = false;
  return !async_call_start("warprack-driver", call, reconnect->session, &reconnect->call,
                           &reconnect->error);
}

bool
reconnect_is_calling(const Reconnect* const reconnect)
{
  return reconnect->call != NULL;
}

bool
reconnect_call(Reconnect* const reconnect, const AsyncFunction call)
{
  return begin_call(reconnect, RUNNING, call);
}

// Wait for the running call.  Returns true if no call runs afterwards.
static bool
has_returned(Reconnect* const reconnect, const uint32_t timeout_ms)
{
  if (reconnect->call && async_call_wait(reconnect->call, timeout_ms)) {
    reconnect->call = NULL;
  }
  return !reconnect->call;
}

static void
forget_session(Reconnect* const reconnect)
{
  reconnect->leaks = true;
  reconnect->session = NULL;
  reconnect->phase = AWAY;
}

static void
abandon_call(Reconnect* const reconnect, const AsyncFunction discard)
{
  async_call_abandon(reconnect->call, discard);
  reconnect->call = NULL;
  forget_session(reconnect);
}

// ---- the end of a session ----

void
io_session_process(IoSession* const session, const float* const* const in, float* const* const out,
                   const uint32_t n_frames, const bool wait, MidiPeriod* const midi)
{
  atomic_fetch_add_explicit(&session->periods, 1U, memory_order_relaxed);
  io_process(session->io, session, in, out, n_frames, wait, midi);
}

void
io_session_lose(IoSession* const session, const char* const reason)
{
  if (!atomic_exchange_explicit(&session->is_losing, true, memory_order_relaxed)) {
    snprintf(session->reason, sizeof(session->reason), "%.127s", reason);
    atomic_store_explicit(&session->lost, true, memory_order_release);
  }
}

// Silence all further periods of the session.
static void
retire(Reconnect* const reconnect)
{
  Error error;
  if (io_shut(&reconnect->io, &error)) {
    io_note(&reconnect->io, "%s", error.text);
  }
}

// Close the session.  Returns true, like every step that another may follow at once.
static bool
close_session(Reconnect* const reconnect)
{
  retire(reconnect);
  reconnect->past_xruns += reconnect->session->xruns;
  if (reconnect->kind->leave) {
    reconnect->kind->leave(reconnect);
  }
  if (!begin_call(reconnect, CLOSING, reconnect->kind->close)) {
    io_note(&reconnect->io, "cannot close %s: %s", reconnect->name, reconnect->error.text);
    forget_session(reconnect);
  }
  return true;
}

bool
reconnect_give_up(Reconnect* const reconnect, const Error* const error)
{
  if (reconnect->call) { // closed when the call returns, or abandoned
    io_session_lose(reconnect->session, error->text);
    return false;
  }
  const bool is_still_absent =
      reconnect->absent && reconnect->error.text[0]; // since it ran, or was first tried
  reconnect->absent = reconnect->session->absent;
  const bool is_news = reconnect->is_open && (!reconnect->absent || is_still_absent) &&
                       strcmp(reconnect->error.text, error->text) != 0;
  if (reconnect->phase == RUNNING) {
    reconnect->lost_ns = time_now_ns();
  }
  reconnect->error = *error;
  if (is_news) {
    io_note(&reconnect->io, "%s; trying again", error->text);
  }
  return close_session(reconnect);
}

static bool
lose_session(Reconnect* const reconnect)
{
  reconnect->lost_ns = time_now_ns();
  reconnect->attempt_ns = 0; // try at once: the server may be back already
  io_note(&reconnect->io, "lost %s (%s); trying again", reconnect->name,
          reconnect->session->reason);
  return close_session(reconnect);
}

// ---- from AWAY to RUNNING ----

static bool
open_session(Reconnect* const reconnect)
{
  reconnect->attempt_ns = time_now_ns();
  reconnect->session = reconnect->kind->make(reconnect);
  if (!reconnect->session) {
    error_set(&reconnect->error, STATUS_NO_MEM, "out of memory");
    return false;
  }
  reconnect->session->io = &reconnect->io;
  if (begin_call(reconnect, OPENING, reconnect->kind->open)) {
    return true;
  }
  reconnect->kind->close(reconnect->session); // not open yet, so it cannot hang
  reconnect->session = NULL;
  reconnect->phase = AWAY;
  return false;
}

static bool
start_session(Reconnect* const reconnect)
{
  IoSession* const session = reconnect->session;
  if (session->status || reconnect->kind->arm(reconnect, &session->error)) {
    return reconnect_give_up(reconnect, &session->error);
  }
  return begin_call(reconnect, STARTING, reconnect->kind->start)
             ? true
             : reconnect_give_up(reconnect, &reconnect->error);
}

static bool
run_session(Reconnect* const reconnect)
{
  IoSession* const session = reconnect->session;
  if (session->status) {
    return reconnect_give_up(reconnect, &session->error);
  }
  reconnect->phase = RUNNING;
  reconnect->error.text[0] = '\0';
  reconnect->kind->started(reconnect);
  if (reconnect->has_run) {
    ++reconnect->reconnects;
    io_note(&reconnect->io, "%s is back after %.2f s: %g Hz, %u frames%s", reconnect->name,
            seconds_since(reconnect->lost_ns), reconnect->io.rate_hz, reconnect->io.block_frames,
            session->details);
  } else if (reconnect->is_open) {
    io_note(&reconnect->io, "%s is available: %g Hz, %u frames", reconnect->name,
            reconnect->io.rate_hz, reconnect->io.block_frames);
  }
  reconnect->has_run = true;
  return true;
}

// ---- the state machine ----

static bool
call_returned(Reconnect* const reconnect)
{
  switch (reconnect->phase) {
  case OPENING:
    return start_session(reconnect);
  case STARTING:
    return run_session(reconnect);
  case CLOSING:
    reconnect->session = NULL; // freed by the call
    reconnect->phase = AWAY;
    return true;
  default:
    return true;
  }
}

static bool
is_lost(const Reconnect* const reconnect)
{
  return atomic_load_explicit(&reconnect->session->lost, memory_order_acquire);
}

static void
abandon_session(Reconnect* const reconnect)
{
  if (reconnect->phase != CLOSING) {
    reconnect->lost_ns = time_now_ns();
    retire(reconnect);
  }
  abandon_call(reconnect, NULL);
}

// Handle a call that has not returned yet.  Returns true if it is abandoned.
static bool
call_is_late(Reconnect* const reconnect)
{
  if (time_now_ns() - reconnect->call_ns < HANG_NS) {
    return false;
  }
  const bool is_over = reconnect->phase == CLOSING || is_lost(reconnect);
  const bool abandon = is_over && reconnect->kind->may_abandon;
  if (!reconnect->hang_told) {
    reconnect->hang_told = true;
    io_note(&reconnect->io,
            abandon ? "%s has ended, and a call to it hangs; it is abandoned"
                    : "%s does not answer; waiting for it",
            reconnect->name);
  }
  if (abandon) {
    abandon_session(reconnect);
  }
  return abandon;
}

// Take one step.  Returns true if another step may follow at once.
static bool
advance(Reconnect* const reconnect)
{
  if (reconnect->call) {
    if (has_returned(reconnect, PATIENCE_MS)) {
      return call_returned(reconnect);
    }
    if (call_is_late(reconnect)) {
      return true;
    }
    return reconnect->phase == RUNNING && !is_lost(reconnect) && reconnect->kind->follow(reconnect);
  }
  if (reconnect->phase == RUNNING) {
    return is_lost(reconnect) ? lose_session(reconnect) : reconnect->kind->follow(reconnect);
  }
  const uint64_t retry_ns = (uint64_t)reconnect->retry_ms * NS_PER_MS;
  return time_now_ns() - reconnect->attempt_ns >= retry_ns && open_session(reconnect);
}

void
reconnect_poll(Io* const io)
{
  Reconnect* const reconnect = (Reconnect*)io;
  for (unsigned n = 0; n < MAX_STEPS && advance(reconnect); ++n) {
  }
}

// True if a running server has refused this session, as jackd does when another client has just
// ended.  The server may accept the next session.
static bool
is_refused(const Reconnect* const reconnect)
{
  return reconnect->error.status == STATUS_AUDIO_IO && !reconnect->absent;
}

static Status
start_once(Reconnect* const reconnect, Error* const error)
{
  const uint64_t began_ns = time_now_ns();
  open_session(reconnect);
  while (reconnect->phase != RUNNING) {
    const uint64_t age_ns = time_now_ns() - began_ns;
    if (reconnect->phase == AWAY && (!is_refused(reconnect) || age_ns > REFUSED_NS)) {
      return error_set(error, reconnect->error.status, "%s", reconnect->error.text);
    }
    if (age_ns > FIRST_NS) {
      return error_set(error, STATUS_AUDIO_IO, "%s does not answer", reconnect->name);
    }
    if (!advance(reconnect) && reconnect->phase == AWAY) {
      time_sleep(10U * NS_PER_MS);
    }
  }
  return STATUS_OK;
}

Status
reconnect_start(Reconnect* const reconnect, Error* const error)
{
  const Status status = start_once(reconnect, error);
  reconnect->is_open = !status || (status == STATUS_AUDIO_IO && reconnect->wait);
  if (status && reconnect->is_open) {
    io_note(&reconnect->io, "%s; waiting for it", error->text);
  }
  return reconnect->is_open ? STATUS_OK : status;
}

bool
reconnect_close(Reconnect* const reconnect)
{
  retire(reconnect);
  if (!has_returned(reconnect, CLOSE_MS)) {
    abandon_call(reconnect, reconnect->phase == OPENING ? reconnect->kind->close : NULL);
  } else if (reconnect->phase == CLOSING) {
    reconnect->session = NULL; // freed by the call that has just returned
  }
  if (reconnect->session) {
    close_session(reconnect);
    if (!has_returned(reconnect, CLOSE_MS)) {
      abandon_call(reconnect, NULL);
    }
  }
  if (reconnect->leaks) {
    period_door_keep(reconnect->io.events.door);
    reconnect->next = left_behind;
    left_behind = reconnect;
  }
  return !reconnect->leaks;
}

void
reconnect_status(const Io* const io, IoStatus* const status)
{
  const Reconnect* const reconnect = (const Reconnect*)io;
  const bool runs =
      reconnect->phase == RUNNING && !period_door_is_shut(io->events.door, PERIOD_DOOR_DRIVER);
  *status = (IoStatus){ .state = runs ? IO_STATE_RUNNING : IO_STATE_WAITING,
                        .rate_hz = io->rate_hz,
                        .block_frames = io->block_frames,
                        .xruns = reconnect->past_xruns,
                        .reconnects = reconnect->reconnects,
                        .hang_s = reconnect->call ? seconds_since(reconnect->call_ns) : 0.0 };
  if (reconnect->phase == RUNNING) {
    status->xruns += reconnect->session->xruns;
  }
  snprintf(status->device, sizeof(status->device), "%s", reconnect->name);
}
