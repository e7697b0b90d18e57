// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Keeps a driver alive across the death of its server or device: one session after the other.

              ┌────── every retry_ms ────────┐
              ▼                              │
      AWAY ─open─▶ OPENING ─arm─▶ STARTING ─▶ RUNNING ─lost─▶ CLOSING ─▶ AWAY
                      └─────────────── failed ──────────────▶ ┘

   The first start may find nothing; then it either fails or, where the driver waits, goes on
   trying. Every call to the server is an call, so that none can hang the main thread.  A call
   that hangs after the session was lost is left to itself where its library allows another session
   beside it, and what it may still touch is never freed; else its return is waited for.

   A driver puts a Reconnect first in its own struct and a Session first in what one session needs;
   the ReconnectKind says what is particular.
*/
#ifndef WARPRACK_IO_RECONNECT_H
#define WARPRACK_IO_RECONNECT_H

#include "io_driver.h"

#include "engine/base/async_call.h"

/// What the session of every driver begins with.
typedef struct Session {
  Io* io;
  Status status; ///< Result of the last call, with `error`
  Error error;
  bool absent;              ///< After `open`: there is no server or device, which is no news later
  char details[64];         ///< After `start`: for the line that tells of its return, or ""
  atomic_bool is_losing;    ///< Set by the thread that writes `reason`, before it writes
  atomic_bool lost;         ///< It is over (release: after `reason`)
  atomic_bool retired;      ///< Its periods are nobody's any more: it is being closed, or was left
  char reason[128];         ///< In words
  _Atomic uint64_t periods; ///< That came
  _Atomic uint64_t xruns;
} Session;

typedef struct Reconnect Reconnect;

typedef struct ReconnectKind {
  Session* (*make)(Reconnect* reconnect); ///< NULL when out of memory. [main]
  AsyncFunction open;                     ///< Find the server, prepare everything. [async call]
  /// Call io_arm() with the session's format. [main]
  Status (*arm)(Reconnect* reconnect, Error* error);
  AsyncFunction start; ///< Let periods come. [async call]
  /// It runs; notes that are due now. [main]
  void (*started)(Reconnect* reconnect);
  /// Each poll while it runs, also beside a call; true when there may be more to do at once. [main]
  bool (*follow)(Reconnect* reconnect);
  /// It is about to be closed: keep what the next one needs.  May be NULL. [main]
  void (*leave)(Reconnect* reconnect);
  AsyncFunction close; ///< Close and free the session, in whatever state it is. [async call]
  bool may_abandon;    ///< A new session can be opened beside one that hangs
} ReconnectKind;

typedef enum Phase { AWAY, OPENING, STARTING, RUNNING, CLOSING } Phase;

struct Reconnect {
  Io io; ///< First, so that an Io* is a Reconnect*
  const ReconnectKind* kind;
  char name[96]; ///< Of the server or device, for messages: "JACK server 'default'"
  Phase phase;
  Session* session; ///< NULL only when AWAY
  bool has_run;     ///< A session has run
  // Set by the driver
  bool wait;         ///< No server at the first start is waited for
  uint32_t retry_ms; ///< Between two attempts to open, at least
  // For reconnect.c alone
  AsyncCall* call;     ///< The running call; NULL for none
  uint64_t call_ns;    ///< When it began
  uint64_t attempt_ns; ///< When the last opening began
  bool is_open;        ///< The first start is over, what happens from now on is told by notes
  uint64_t lost_ns;    ///< When the last session ended
  bool hang_told;
  bool leaks;          ///< A call was left to itself
  Error error;         ///< Why the last attempt failed
  bool absent;         ///< Because there was no server or device
  uint64_t past_xruns; ///< Of sessions that are over
  uint64_t reconnects;
  Reconnect* next; ///< Closed, but never freed, see `leaks`
};

/// One period of a session; silence when it is retired, because a session whose close hangs may
/// come to life again beside its successor. [rt]
REALTIME void session_process(Session* session, const float* const* in, float* const* out,
                              uint32_t n_frames, bool wait);

/// The first start; waits 10 s for it at most.  A server that refuses is asked again for 2 s. Where
/// the driver waits and no server is there, this is no error but a note.  On an error call
/// reconnect_close(). [main]
NODISCARD Status reconnect_start(Reconnect* reconnect, Error* error);

/// End the session with a reason.  Threads of the library and the main thread may call it at the
/// same time; the reason of the first call stays. [any, not rt]
void session_lose(Session* session, const char* reason);

void reconnect_poll(Reconnect* reconnect); // [main]
void reconnect_status(const Reconnect* reconnect, IoStatus* status);

/// Stop, within 2 s.  True when the driver may free itself. [main]
bool reconnect_close(Reconnect* reconnect);

/// From `follow`: a call of this session has not returned yet, so that there can be no other.
bool reconnect_is_calling(const Reconnect* reconnect);

/// From `follow`, beside no other call: make one with the session as its context.  False when there
/// is no thread for it.
bool reconnect_call(Reconnect* reconnect, AsyncFunction call);

/// From `follow`, or from where its format is refused: the session cannot go on; close it, once no
/// call of it runs, and try again.
bool reconnect_give_up(Reconnect* reconnect, const Error* error);

#endif
