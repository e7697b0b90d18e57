// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps a driver alive across the death of its server or device.

#include "reviver.h"

#include "../engine/rt.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_MS   1000000U
#define HANG_NS     (2000U * NS_PER_MS)  // after which a call is said to hang
#define FIRST_NS    (10000U * NS_PER_MS) // jackd is silent for 6 s when a client has died
#define REFUSED_NS  (2000U * NS_PER_MS)  // a first start that is refused is tried again for so long
#define PATIENCE_MS 50U                  // of one poll; a healthy server answers within
#define CLOSE_MS    900U                 // twice that is the longest that reviver_close() takes
#define MAX_STEPS   8U                   // of one poll; a return takes four

// What calls that were left to themselves may still touch: kept in reach, so that a leak checker
// does not take it for lost.
static Reviver* left_behind;

static double
seconds_since(const uint64_t then_ns)
{
  return (double)(rt_now_ns() - then_ns) * 1e-9;
}

// ---- calls ----

// True when the call has been started.
static bool
begin_call(Reviver* const reviver, const Phase phase, const ErrandCall call)
{
  reviver->phase = phase;
  reviver->errand_ns = rt_now_ns();
  reviver->hang_told = false;
  return !errand_start(call, reviver->session, &reviver->errand, &reviver->error);
}

bool
reviver_is_calling(const Reviver* const reviver)
{
  return reviver->errand != NULL;
}

bool
reviver_call(Reviver* const reviver, const ErrandCall call)
{
  return begin_call(reviver, RUNNING, call);
}

// Wait for the running call; true when there is none any more.
static bool
has_returned(Reviver* const reviver, const uint32_t timeout_ms)
{
  if (reviver->errand && errand_wait(reviver->errand, timeout_ms)) {
    reviver->errand = NULL;
  }
  return !reviver->errand;
}

static void
forget_session(Reviver* const reviver)
{
  reviver->leaks = true;
  reviver->session = NULL;
  reviver->phase = AWAY;
}

static void
abandon_call(Reviver* const reviver, const ErrandCall discard)
{
  errand_abandon(reviver->errand, discard);
  reviver->errand = NULL;
  forget_session(reviver);
}

// ---- the end of a session ----

void
session_process(Session* const session, const float* const* const in, float* const* const out,
                const uint32_t n_frames, const bool wait)
{
  atomic_fetch_add_explicit(&session->periods, 1U, memory_order_relaxed);
  if (atomic_load_explicit(&session->retired, memory_order_acquire)) {
    io_silence(session->io, out, n_frames);
  } else {
    io_process(session->io, in, out, n_frames, wait);
  }
}

void
session_lose(Session* const session, const char* const reason)
{
  if (!atomic_exchange_explicit(&session->is_losing, true, memory_order_relaxed)) {
    snprintf(session->reason, sizeof(session->reason), "%.127s", reason);
    atomic_store_explicit(&session->lost, true, memory_order_release);
  }
}

// No period of the session is heard any more.
static void
retire(Reviver* const reviver)
{
  Error error;
  if (reviver->session) {
    atomic_store_explicit(&reviver->session->retired, true, memory_order_release);
  }
  if (io_shut(&reviver->io, &error)) {
    io_note(&reviver->io, "%s", error.text);
  }
}

// True, as everything that may be followed at once by another step.
static bool
close_session(Reviver* const reviver)
{
  retire(reviver);
  reviver->past_xruns += reviver->session->xruns;
  if (reviver->kind->leave) {
    reviver->kind->leave(reviver);
  }
  if (!begin_call(reviver, CLOSING, reviver->kind->close)) {
    io_note(&reviver->io, "%s cannot be left: %s", reviver->name, reviver->error.text);
    forget_session(reviver);
  }
  return true;
}

bool
reviver_give_up(Reviver* const reviver, const Error* const error)
{
  if (reviver->errand) { // closed when that returns, or is left to itself
    session_lose(reviver->session, error->text);
    return false;
  }
  reviver->absent = reviver->session->absent;
  const bool is_news =
      reviver->is_open && !reviver->absent && strcmp(reviver->error.text, error->text) != 0;
  if (reviver->phase == RUNNING) {
    reviver->lost_ns = rt_now_ns();
  }
  reviver->error = *error;
  if (is_news) {
    io_note(&reviver->io, "%s; trying again", error->text);
  }
  return close_session(reviver);
}

static bool
lose_session(Reviver* const reviver)
{
  reviver->lost_ns = rt_now_ns();
  reviver->attempt_ns = 0; // it may be back already
  io_note(&reviver->io, "lost %s (%s); trying again", reviver->name, reviver->session->reason);
  return close_session(reviver);
}

// ---- from AWAY to RUNNING ----

static bool
open_session(Reviver* const reviver)
{
  reviver->attempt_ns = rt_now_ns();
  reviver->session = reviver->kind->make(reviver);
  if (!reviver->session) {
    error_set(&reviver->error, STATUS_NO_MEM, "out of memory");
    return false;
  }
  reviver->session->io = &reviver->io;
  if (begin_call(reviver, OPENING, reviver->kind->open)) {
    return true;
  }
  reviver->kind->close(reviver->session); // not open yet, so it cannot hang
  reviver->session = NULL;
  reviver->phase = AWAY;
  return false;
}

static bool
start_session(Reviver* const reviver)
{
  Session* const session = reviver->session;
  if (session->status || reviver->kind->arm(reviver, &session->error)) {
    return reviver_give_up(reviver, &session->error);
  }
  return begin_call(reviver, STARTING, reviver->kind->start)
             ? true
             : reviver_give_up(reviver, &reviver->error);
}

static bool
run_session(Reviver* const reviver)
{
  Session* const session = reviver->session;
  if (session->status) {
    return reviver_give_up(reviver, &session->error);
  }
  reviver->phase = RUNNING;
  reviver->error.text[0] = '\0';
  reviver->kind->started(reviver);
  if (reviver->has_run) {
    ++reviver->reconnects;
    io_note(&reviver->io, "%s is back after %.2f s: %g Hz, %u frames%s", reviver->name,
            seconds_since(reviver->lost_ns), reviver->io.rate_hz, reviver->io.block_frames,
            session->details);
  } else if (reviver->is_open) {
    io_note(&reviver->io, "%s is there: %g Hz, %u frames", reviver->name, reviver->io.rate_hz,
            reviver->io.block_frames);
  }
  reviver->has_run = true;
  return true;
}

// ---- the machine ----

static bool
call_returned(Reviver* const reviver)
{
  switch (reviver->phase) {
  case OPENING:
    return start_session(reviver);
  case STARTING:
    return run_session(reviver);
  case CLOSING:
    reviver->session = NULL; // freed by the call
    reviver->phase = AWAY;
    return true;
  default:
    return true;
  }
}

static bool
is_lost(const Reviver* const reviver)
{
  return atomic_load_explicit(&reviver->session->lost, memory_order_acquire);
}

static void
abandon_session(Reviver* const reviver)
{
  if (reviver->phase != CLOSING) {
    reviver->lost_ns = rt_now_ns();
    retire(reviver);
  }
  abandon_call(reviver, NULL);
}

// The call has not returned yet.  True when it is left to itself.
static bool
call_is_late(Reviver* const reviver)
{
  if (rt_now_ns() - reviver->errand_ns < HANG_NS) {
    return false;
  }
  const bool is_over = reviver->phase == CLOSING || is_lost(reviver);
  const bool abandon = is_over && reviver->kind->may_abandon;
  if (!reviver->hang_told) {
    reviver->hang_told = true;
    io_note(&reviver->io,
            abandon ? "a call to %s, which is gone, hangs and is left to itself"
                    : "%s does not answer; waiting for it",
            reviver->name);
  }
  if (abandon) {
    abandon_session(reviver);
  }
  return abandon;
}

// One step; true when there may be another at once.
static bool
advance(Reviver* const reviver)
{
  if (reviver->errand) {
    if (has_returned(reviver, PATIENCE_MS)) {
      return call_returned(reviver);
    }
    if (call_is_late(reviver)) {
      return true;
    }
    return reviver->phase == RUNNING && !is_lost(reviver) && reviver->kind->follow(reviver);
  }
  if (reviver->phase == RUNNING) {
    return is_lost(reviver) ? lose_session(reviver) : reviver->kind->follow(reviver);
  }
  const uint64_t retry_ns = (uint64_t)reviver->retry_ms * NS_PER_MS;
  return rt_now_ns() - reviver->attempt_ns >= retry_ns && open_session(reviver);
}

void
reviver_poll(Reviver* const reviver)
{
  for (unsigned n = 0; n < MAX_STEPS && advance(reviver); ++n) {
  }
}

// A server that is there refused this session, as jackd does where another client has just ended:
// it may take the next one.
static bool
is_refused(const Reviver* const reviver)
{
  return reviver->error.status == STATUS_AUDIO_IO && !reviver->absent;
}

static Status
start_once(Reviver* const reviver, Error* const error)
{
  const struct timespec pause = { .tv_nsec = 10L * NS_PER_MS };
  const uint64_t began_ns = rt_now_ns();
  open_session(reviver);
  while (reviver->phase != RUNNING) {
    const uint64_t age_ns = rt_now_ns() - began_ns;
    if (reviver->phase == AWAY && (!is_refused(reviver) || age_ns > REFUSED_NS)) {
      return error_set(error, reviver->error.status, "%s", reviver->error.text);
    }
    if (age_ns > FIRST_NS) {
      return error_set(error, STATUS_AUDIO_IO, "%s does not answer", reviver->name);
    }
    if (!advance(reviver) && reviver->phase == AWAY) {
      nanosleep(&pause, NULL);
    }
  }
  return STATUS_OK;
}

Status
reviver_start(Reviver* const reviver, Error* const error)
{
  const Status status = start_once(reviver, error);
  reviver->is_open = !status || (status == STATUS_AUDIO_IO && reviver->wait);
  if (status && reviver->is_open) {
    io_note(&reviver->io, "%s; waiting for it", error->text);
  }
  return reviver->is_open ? STATUS_OK : status;
}

bool
reviver_close(Reviver* const reviver)
{
  retire(reviver);
  if (!has_returned(reviver, CLOSE_MS)) {
    abandon_call(reviver, reviver->phase == OPENING ? reviver->kind->close : NULL);
  } else if (reviver->phase == CLOSING) {
    reviver->session = NULL; // freed by the call that has just returned
  }
  if (reviver->session) {
    close_session(reviver);
    if (!has_returned(reviver, CLOSE_MS)) {
      abandon_call(reviver, NULL);
    }
  }
  if (reviver->leaks) {
    reviver->next = left_behind;
    left_behind = reviver;
  }
  return !reviver->leaks;
}

void
reviver_status(const Reviver* const reviver, IoStatus* const status)
{
  const Io* const io = &reviver->io;
  const bool runs = reviver->phase == RUNNING && atomic_load(&io->open);
  *status = (IoStatus){ .state = runs ? IO_STATE_RUNNING : IO_STATE_WAITING,
                        .rate_hz = io->rate_hz,
                        .block_frames = io->block_frames,
                        .xruns = reviver->past_xruns,
                        .reconnects = reviver->reconnects,
                        .hang_s = reviver->errand ? seconds_since(reviver->errand_ns) : 0.0 };
  if (reviver->phase == RUNNING) {
    status->xruns += reviver->session->xruns;
  }
  snprintf(status->device, sizeof(status->device), "%s", reviver->name);
}
