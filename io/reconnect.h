// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Keeps a driver running when its server or device dies: one session follows the other.

              ┌────── every retry_ms ────────┐
              ▼                              │
      AWAY ─open─▶ OPENING ─arm─▶ STARTING ─▶ RUNNING ─lost─▶ CLOSING ─▶ AWAY
                      └─────────────── failed ──────────────▶ ┘

   The first start may find no server; then it fails or, if the driver waits, retries.  Every call
   to the server is an async call, so that it cannot hang the main thread.  A call that hangs after
   the loss of its session is abandoned if its library allows another session beside it, and memory
   that it may access is never freed; otherwise the reconnection waits for its return.

   A driver has a Reconnect as the first member of its struct and an IoSession as the first member
   of its session's struct; a ReconnectKind has its functions.
*/
#ifndef WARPRACK_IO_RECONNECT_H
#define WARPRACK_IO_RECONNECT_H

#include "io_driver.h"

#include "engine/base/async_call.h"

/// The first member of every driver's session.
typedef struct IoSession {
  Io* io;
  Status status; ///< Result of the last call, with `error`
  Error error;
  bool absent;              ///< After `open`: there is no server or device; reported again only
                            ///< if the error changes
  char details[64];         ///< After `start`: text for the line that reports the reconnection, or
                            ///< ""
  atomic_bool is_losing;    ///< Set by the thread that writes `reason`, before it writes
  atomic_bool lost;         ///< It is over (release: after `reason`)
  char reason[128];         ///< Text
  _Atomic uint64_t periods; ///< Number of periods so far
  _Atomic uint64_t xruns;
} IoSession;

typedef struct Reconnect Reconnect;

typedef struct ReconnectKind {
  IoSession* (*make)(Reconnect* reconnect); ///< NULL when out of memory. [main]
  AsyncFunction open; ///< Find the server and prepare everything. [async call]
  /// Call io_arm() with the session's format. [main]
  Status (*arm)(Reconnect* reconnect, Error* error);
  AsyncFunction start; ///< Activate the session: periods begin. [async call]
  /// The session runs: report notes that are due. [main]
  void (*started)(Reconnect* reconnect);
  /// Each poll while it runs, also during a call; returns true if another step may follow at once.
  /// [main]
  bool (*follow)(Reconnect* reconnect);
  /// The session is about to be closed: keep the data that the next one needs.  May be NULL.
  /// [main]
  void (*leave)(Reconnect* reconnect);
  AsyncFunction close; ///< Close and free the session in any state. [async call]
  bool may_abandon;    ///< A new session can be opened while an old one hangs
} ReconnectKind;

typedef enum Phase { AWAY, OPENING, STARTING, RUNNING, CLOSING } Phase;

struct Reconnect {
  Io io; ///< First member, so that an Io* is a Reconnect*
  const ReconnectKind* kind;
  char name[96]; ///< Of the server or device, for messages: "JACK server 'default'"
  Phase phase;
  IoSession* session; ///< NULL only in AWAY
  bool has_run;       ///< A session has run
  // Set by the driver
  bool wait;         ///< Wait for a missing server at the first start
  uint32_t retry_ms; ///< Minimum time between two attempts to open
  // Used by reconnect.c only
  AsyncCall* call;     ///< The running call; NULL for none
  uint64_t call_ns;    ///< When it began
  uint64_t attempt_ns; ///< When the last opening began
  bool is_open;        ///< The first start is over; later events are reported by notes
  uint64_t lost_ns;    ///< When the last session ended
  bool hang_told;
  bool leaks;          ///< A call was abandoned
  Error error;         ///< Reason of the last failed attempt
  bool absent;         ///< Because there was no server or device
  uint64_t past_xruns; ///< Sum over past sessions
  uint64_t reconnects;
  Reconnect* next; ///< List of closed drivers that are never freed, see `leaks`
};

/// One period of a session; silence unless this session is the one that runs. [rt]
REALTIME void io_session_process(IoSession* session, const float* const* in, float* const* out,
                                 uint32_t n_frames, bool wait, MidiPeriod* midi);

/// The first start; waits at most 10 s for it.  A server that refuses it is asked again for 2 s.
/// If the driver waits and there is no server, this succeeds with a note.  On an error call
/// reconnect_close(). [main]
NODISCARD Status reconnect_start(Reconnect* reconnect, Error* error);

/// End the session with a reason.  Threads of the library and the main thread may call it at the
/// same time; the first reason stays. [any, not rt]
void io_session_lose(IoSession* session, const char* reason);

/// `poll` and `status` of an IoDriver that has a Reconnect. [main]
void reconnect_poll(Io* io);
void reconnect_status(const Io* io, IoStatus* status);

/// Stop, within 2 s.  Returns true if the driver may free itself. [main]
bool reconnect_close(Reconnect* reconnect);

/// For `follow`: true while a call of this session runs, so that no other can start.
bool reconnect_is_calling(const Reconnect* reconnect);

/// For `follow`, while no call runs: start a call with the session as its context.  False if no
/// thread could be started.
bool reconnect_call(Reconnect* reconnect, AsyncFunction call);

/// For `follow`, or when the session's format is refused: close the session once none of its
/// calls runs, and try again.
bool reconnect_give_up(Reconnect* reconnect, const Error* error);

#endif
