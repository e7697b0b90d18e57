// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Messages between the two halves of an engine when they are two processes: the server, which plays
   and listens, and the worker, whose Worker makes plans and runs blocks (worker.h).

       server                                          worker
       ──────                                          ──────
       CONFIG ───────────────────────────────────────▶ worker_new()
              ◀─────────────────────── READY or FAILED
       EDIT, SET, RESET_LOAD ────────────────────────▶ edit(), set(), reset_load()
       ARM + the ring's memfd ───────────────────────▶ ring_attach(), arm()
              ◀───────────────────────────────── ARMED
              ◀── REPLY, CHANGED, STATUS, PLACES, NOTE   as they come
       DISARM ───────────────────────────────────────▶ disarm()
              ◀────────────────────────────── DISARMED

   Over a SOCK_STREAM pair of one machine and one build: CONFIG begins with version and table of
   effects, and another one is an error.  A frame is {u32 kind, u32 bytes} and a body: fields one
   behind the other, without padding, in the machine's byte order; a text is its length and its
   bytes.  Each kind has a largest body, and a length beyond it ends the connection before memory is
   taken for it.

   Neither side trusts the other: what wire_receive() returns has every enum, count, text and number
   in the range that is written beside it here.  Anything else is an error, and after an error
   nothing is received any more.
*/
#ifndef WARPRACK_ENGINE_WIRE_WIRE_H
#define WARPRACK_ENGINE_WIRE_WIRE_H

#include "config.h"
#include "worker_calls.h"

#include <stdbool.h>
#include <stdint.h>

#define WIRE_MAX_MESSAGES 4096U // of one SET: as many as the parameter ring holds
#define WIRE_MAX_RATE_HZ  1e6
#define WIRE_MAX_LATENCY  2000000U              // frames: two seconds at the highest rate
#define WIRE_MAX_NODES    (4U * RACK_MAX_NODES) // of a plan: those that still sound as well
#define WIRE_PATH_BYTES   4096U                 // with the final zero
#define WIRE_TEXT_BYTES   512U                  // with the final zero

/// The largest body: a document, its uids, and what a CONFIG has beside them.
#define WIRE_MAX_BYTES                                                                             \
  (RACK_MAX_TEXT + RACK_MAX_NODES * (uint32_t)sizeof(RackUid) + WIRE_PATH_BYTES + 256U)

/// What may wait for a worker that does not read: four of the largest.
#define WIRE_QUEUE_BYTES (4U * (size_t)WIRE_MAX_BYTES)

typedef enum WireKind {
  WIRE_NONE, ///< No message (yet)

  // to the worker
  WIRE_CONFIG,     ///< `config`; the first one, once
  WIRE_ARM,        ///< `arm`; answered by ARMED
  WIRE_DISARM,     ///< answered by DISARMED
  WIRE_EDIT,       ///< `edit`; answered by REPLY
  WIRE_SET,        ///< `set`
  WIRE_RESET_LOAD, ///< WorkerCalls::reset_load

  // to the server
  WIRE_READY,    ///< `status`: the worker is made
  WIRE_FAILED,   ///< `failed`: it cannot be, and the worker ends
  WIRE_ARMED,    ///< `armed`
  WIRE_DISARMED, ///< All messages that were in the ring are applied
  WIRE_REPLY,    ///< `reply`
  WIRE_CHANGED,  ///< `changed`
  WIRE_STATUS,   ///< `status`, some times a second when something in it is new
  WIRE_PLACES,   ///< `places`, when they are new
  WIRE_NOTE,     ///< `note`: EngineConfig::note
  WIRE_N_KINDS
} WireKind;

/// Which end of the socket.  A kind that is not meant for it is an error.
typedef enum WireSide {
  WIRE_SERVER, ///< Never blocks: what the socket does not take waits in a queue
  WIRE_WORKER  ///< Blocks
} WireSide;

typedef struct WireConfig {
  /// Plain values; no pointers: costs, load_file, free_file and note are the worker's own.  Of the
  /// rest travel n_in, n_out, depth, on_late, realtime, priority, n_helpers, backend, gpu_index,
  /// gpu_deadline_ns, gpu_may_sleep and gpu_may_be_lost; what else is there arrives as zero.
  EngineConfig engine;
  char root[WIRE_PATH_BYTES]; ///< Folder that file names in racks are relative to
  const Rack* rack; ///< Files that this one names may be outside of `root`; NULL: none.  As
                    ///< WireEdit::rack
} WireConfig;

typedef struct WireArm {
  Format format; ///< Rate 1000 to WIRE_MAX_RATE_HZ, never offline
  uint64_t first_frame, n_sent;
  int ring_fd; ///< Sent: borrowed.  Received: the message's, -1 once taken
} WireArm;

typedef struct WireEdit {
  uint64_t id;
  uint64_t at_frame, stamp;
  const Rack* rack; ///< Sent: borrowed.  Received: the message's; uids and next_uid as sent
} WireEdit;

typedef struct WireSet {
  const ParamMessage* messages; ///< [n], all values finite; as WireEdit::rack
  uint32_t n;                   ///< 1 to WIRE_MAX_MESSAGES
} WireSet;

typedef struct WireArmed {
  Error error;       ///< STATUS_OK when armed
  WorkerFacts facts; ///< Of the plan that there is, armed or not
} WireArmed;

typedef struct WireReply {
  uint64_t id;
  EngineReply reply;
  WorkerFacts facts;
} WireReply;

typedef struct WirePlaces {
  const EnginePlace* places; ///< [n]; as WireEdit::rack
  uint32_t n;                ///< 0 to RACK_MAX_NODES
} WirePlaces;

/**
   One message.  Received, in addition to what is said above:

     facts    latency at most WIRE_MAX_LATENCY, n_out at most FX_MAX_CHANNELS, counts at most what
              racks of RACK_MAX_NODES can give; two seconds at the present rate are for the receiver
              to check
     status   in the enum; its text is empty with STATUS_OK, and not empty otherwise
     texts    valid UTF-8 without control characters, terminated; what is to be sent is made so
     loads    finite, not negative; costs may be infinite
*/
typedef struct WireMessage {
  WireKind kind;
  union {
    WireConfig config;
    WireArm arm;
    WireEdit edit;
    WireSet set;
    WorkerStatus status;
    Error failed; ///< Never STATUS_OK
    WireArmed armed;
    WireReply reply;
    WorkerFacts changed;
    WirePlaces places;
    char note[WIRE_TEXT_BYTES];
  };
} WireMessage;

/// Free what a received message owns, and make it WIRE_NONE. [any]
void wire_message_clear(WireMessage* message);

typedef struct Wire Wire;

/// A pair of sockets for the two ends, close-on-exec. [any]
NODISCARD Status wire_pair(int sockets[2], Error* error);

/// One end.  Owns the socket from then on; on error it stays with the caller. [any]
NODISCARD Status wire_new(int socket, WireSide side, Wire** out, Error* error);

/// Close it.  Accepts NULL. [any]
void wire_free(Wire* wire);

/// For poll(): readable when wire_receive() has something to do. [any]
int wire_fd(const Wire* wire);

/**
   Send a message: whole, or not at all.  Several threads may.

   @return STATUS_LIMIT when too much waits for the worker (WIRE_QUEUE_BYTES) or the message is
   larger than the wire takes, STATUS_BAD_ARG when it is none that may be sent from this side,
   STATUS_NET when the other side is gone, STATUS_NO_MEM.
   [any but rt]
*/
NODISCARD Status wire_send(Wire* wire, const WireMessage* message, Error* error);

/// Server: give the socket what waits.  STATUS_NET when the other side is gone. [any but rt]
NODISCARD Status wire_flush(Wire* wire, Error* error);

/// Server: bytes that wait; poll for writing while there are any. [any but rt]
size_t wire_queued(Wire* wire);

/**
   Receive at most one message, for wire_message_clear(): the worker waits for it; the server takes
   what is there, and `message` is WIRE_NONE when that was not a whole one.  Whoever polls should
   take a bounded number at a time: a worker can send without end.

   @return STATUS_NET when the other side has closed, STATUS_BAD_ARG, saying what was wrong, when it
   sent invalid data, STATUS_NO_MEM.  The same again from then on; `message` is WIRE_NONE.
   [one thread at a time]
*/
NODISCARD Status wire_receive(Wire* wire, WireMessage* message, Error* error);

// ---- the codec by itself ----

/// A message's body as bytes, for the caller to free.  STATUS_BAD_ARG, STATUS_LIMIT, STATUS_NO_MEM.
/// The descriptor of an ARM is not among them. [any]
NODISCARD Status wire_encode(const WireMessage* message, unsigned char** body, uint32_t* n_bytes,
                             Error* error);

/// The body of a kind that `side` receives.  `fd`: of an ARM, else -1; the message's on success,
/// untouched on error.  STATUS_BAD_ARG, STATUS_NO_MEM; then `message` is WIRE_NONE. [any]
NODISCARD Status wire_decode(WireSide side, uint32_t kind, const unsigned char* body,
                             uint32_t n_bytes, int fd, WireMessage* message, Error* error);

#endif
