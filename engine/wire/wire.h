// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Messages between the two halves of an engine when they are two processes: the server, which has
   the audio callback and the clients, and the worker, which makes plans and runs blocks
   (worker.h).

       server                                          worker
       ──────                                          ──────
       PLUGINS + the catalogue's memfd ──────────────▶ WorkerLoopFiles::use_plugins(), at any time
       CONFIG + the flight recorder's memfd ─────────▶ recorder_attach(), worker_new()
              ◀─────────────────────── READY or FAILED
       EDIT, SET, SAVE, RESET_LOAD ──────────────────▶ edit(), set(), save(), reset_load()
       ARM + the ring's memfd ───────────────────────▶ ring_attach(), arm()
              ◀───────────────────────────────── ARMED
              ◀── REPLY, SAVED, CHANGED, STATUS, PLACEMENTS, LOST, NOTE as they come
       DISARM ───────────────────────────────────────▶ disarm()
              ◀────────────────────────────── DISARMED

   The socket is a SOCK_STREAM pair on one machine, and both processes are the same build: CONFIG
   begins with a hash of version and table of effects, and another hash is an error.  A message is
   {u32 kind, u32 bytes} and a body.  The body is the fields in order, without padding, in the
   machine's byte order; a text is its length and its bytes.  Each kind has a maximum body size; the
   receiver ends the connection if the header states more, before it allocates memory.

   Neither side trusts the other: in each message from wire_receive(), every enum, count, text and
   number is in the range that this header gives for it.  Any other value is an error, and
   wire_receive() returns no message after an error.
*/
#ifndef WARPRACK_ENGINE_WIRE_WIRE_H
#define WARPRACK_ENGINE_WIRE_WIRE_H

#include "config.h"
#include "worker_calls.h"

#include <stdbool.h>
#include <stdint.h>

#define WIRE_MAX_MESSAGES 4096U                 // of one SET: capacity of the parameter ring
#define WIRE_MAX_LATENCY  2000000U              // frames: two seconds at the highest rate
#define WIRE_MAX_NODES    (4U * RACK_MAX_NODES) // of a plan, with nodes that fade out
#define WIRE_PATH_BYTES   4096U                 // with the final zero
#define WIRE_TEXT_BYTES   512U                  // with the final zero

/// The largest body: a document, its uids and quarantines, and the other fields of a CONFIG.
#define WIRE_MAX_BYTES                                                                             \
  (RACK_MAX_TEXT + 2U * RACK_MAX_NODES * (uint32_t)sizeof(uint32_t) + WIRE_PATH_BYTES + 256U)

/// Maximum size of the queue to a worker that does not read: four of the largest messages.
#define WIRE_QUEUE_BYTES (4U * (size_t)WIRE_MAX_BYTES)

typedef enum WireKind {
  WIRE_NONE, ///< No message

  // to the worker
  WIRE_CONFIG,     ///< `config`; once, before all others but PLUGINS
  WIRE_ARM,        ///< `arm`; answered by ARMED
  WIRE_DISARM,     ///< answered by DISARMED
  WIRE_EDIT,       ///< `edit`; answered by REPLY
  WIRE_SET,        ///< `set`
  WIRE_SAVE,       ///< `save`; answered by SAVED
  WIRE_RESET_LOAD, ///< WorkerCalls::reset_load
  WIRE_PLUGINS,    ///< `plugins_fd`; before CONFIG and later

  // to the server
  WIRE_READY,      ///< `status`: the worker exists
  WIRE_FAILED,     ///< `failed`: the worker could not be made, or has no catalogue of plugins; its
                   ///< process ends
  WIRE_ARMED,      ///< `armed`
  WIRE_DISARMED,   ///< All messages from the ring are applied
  WIRE_REPLY,      ///< `reply`
  WIRE_SAVED,      ///< `saved`
  WIRE_CHANGED,    ///< `changed`
  WIRE_STATUS,     ///< `status`, several times a second if it has changed
  WIRE_PLACEMENTS, ///< `placements`, if they have changed, and for their times every 5 s
  WIRE_LOST,       ///< `lost`
  WIRE_NOTE,       ///< `note`: EngineConfig::note
  WIRE_N_KINDS
} WireKind;

/// One end of the socket.  A kind that this end does not receive is an error.
typedef enum WireSide {
  WIRE_SERVER, ///< Never blocks: bytes that the socket does not take wait in a queue
  WIRE_WORKER  ///< Blocks
} WireSide;

typedef struct WireConfig {
  /// Plain values; no pointers: costs, files and note belong to the worker.  Only n_in, n_out,
  /// depth, on_late, realtime, priority, memory_bytes, n_helpers, backend, gpu_index,
  /// gpu_deadline_ns, plugin_start_s (at most ENGINE_PLUGIN_START_LONGEST_S), gpu_may_sleep,
  /// no_fusion and gpu_may_be_lost are sent; the other members arrive as zero.
  EngineConfig engine;
  char root[WIRE_PATH_BYTES]; ///< Folder that file names in racks are relative to
  const Rack* rack; ///< Files that this rack names may be outside of `root`; NULL: none, or a rack
                    ///< whose EDIT would be refused.  As WireEdit::rack
  int recorder_fd;  ///< recorder_fd(); as WireArm::ring_fd
} WireConfig;

typedef struct WireArm {
  Format format; ///< A rate that format_check() accepts, never offline
  uint64_t first_frame, n_sent;
  int ring_fd; ///< Sent: borrowed.  Received: owned by the message, -1 once taken
} WireArm;

typedef struct WireEdit {
  uint64_t id;
  uint64_t at_frame, stamp;
  const Rack* rack; ///< Sent: borrowed.  Received: owned by the message; uids, next_uid and
                    ///< quarantines as sent.  NULL: see `refusal`
  Error refusal;    ///< Received: why the document is no rack in this process, whose catalogue may
                    ///< lack a plugin, or say that it cannot be used.  STATUS_OK: it is one
  RackRefused refused; ///< Received: the nodes whose plugins are the reason of `refusal`
} WireEdit;

typedef struct WireSet {
  const ParamMessage* messages; ///< [n], all values finite; as WireEdit::rack
  uint32_t n;                   ///< 1 to WIRE_MAX_MESSAGES
} WireSet;

typedef struct WireSave {
  uint64_t id;
  RackUid uid;
} WireSave;

typedef struct WireSaved {
  uint64_t id;
  EngineSaved saved; ///< `bytes` as WireEdit::rack
} WireSaved;

typedef struct WireArmed {
  Error error;         ///< STATUS_OK: armed
  RackRefused refused; ///< If not armed: nodes of plugins that could not be made
  WorkerFacts facts;   ///< Of the current plan, armed or not
} WireArmed;

typedef struct WireReply {
  uint64_t id;
  EngineReply reply;
  WorkerFacts facts;
} WireReply;

typedef struct WirePlacements {
  const EnginePlacement* placements; ///< [n]; as WireEdit::rack
  uint32_t n;                        ///< 0 to RACK_MAX_NODES
} WirePlacements;

/**
   One message.  In a received message also:

     facts    latency at most WIRE_MAX_LATENCY, n_out at most FX_MAX_CHANNELS, counts at most those
              of a rack of RACK_MAX_NODES; the receiver checks that the latency is at most two
              seconds at the current rate
     status   in the enum; its text is empty with STATUS_OK, and not empty otherwise
     texts    valid UTF-8 without control characters, terminated; wire_send() converts other texts
     states   1 to FX_STATE_MAX_BYTES bytes of any content; none with another status than STATUS_OK
     loads    finite, not negative; costs may be infinite
*/
typedef struct WireMessage {
  WireKind kind;
  union {
    WireConfig config;
    WireArm arm;
    WireEdit edit;
    WireSet set;
    WireSave save;
    WireSaved saved;
    int plugins_fd; ///< As WireArm::ring_fd
    WorkerStatus status;
    Error failed; ///< Never STATUS_OK
    WireArmed armed;
    WireReply reply;
    WorkerFacts changed;
    WirePlacements placements;
    EngineNodeLoss lost;
    char note[WIRE_TEXT_BYTES];
  };
} WireMessage;

/// Free the memory and descriptor of a received message, and set it to WIRE_NONE. [any]
void wire_message_clear(WireMessage* message);

typedef struct Wire Wire;

/// Make a pair of sockets for the two ends, close-on-exec. [any]
NODISCARD Status wire_pair(int sockets[2], Error* error);

/// Make one end.  Takes ownership of the socket; on error the caller keeps it. [any]
NODISCARD Status wire_new(int socket, WireSide side, Wire** out, Error* error);

/// Close one end, its socket included.  Accepts NULL. [any]
void wire_free(Wire* wire);

/// The descriptor for poll(): readable when wire_receive() would read data or an end of file. [any]
int wire_fd(const Wire* wire);

/**
   Send a message completely, or not at all.  Several threads may call this.

   @return STATUS_LIMIT if too many bytes wait for the worker (WIRE_QUEUE_BYTES) or the message is
   too large, STATUS_BAD_ARG if this side may not send such a message, STATUS_NET if the other side
   is gone, STATUS_NO_MEM.
   [any but rt]
*/
NODISCARD Status wire_send(Wire* wire, const WireMessage* message, Error* error);

/// Server: pass queued bytes to the socket.  STATUS_NET if the other side is gone. [any but rt]
NODISCARD Status wire_flush(Wire* wire, Error* error);

/// Server: number of queued bytes; poll for writing while it is not 0. [any but rt]
size_t wire_queued(Wire* wire);

/**
   Receive at most one message; free it with wire_message_clear().  The worker's end waits for a
   message.  The server's end does not: `message` is WIRE_NONE until a complete message has arrived.
   A caller that polls should limit the number of messages that it receives at a time, because a
   worker can send without end.

   @return STATUS_NET if the other side has closed, STATUS_BAD_ARG with the reason if it sent
   invalid data, STATUS_NO_MEM.  Later calls return the same error; `message` is WIRE_NONE.
   [one thread at a time]
*/
NODISCARD Status wire_receive(Wire* wire, WireMessage* message, Error* error);

// ---- the codec alone ----

/// Encode the body of a message, without its descriptor.  The caller frees it.
/// STATUS_BAD_ARG, STATUS_LIMIT, STATUS_NO_MEM. [any]
NODISCARD Status wire_encode(const WireMessage* message, unsigned char** body, uint32_t* n_bytes,
                             Error* error);

/// Decode the body of a kind that `side` receives.  `fd`: of an ARM or PLUGINS, else -1; the
/// message owns it on success.  STATUS_BAD_ARG, STATUS_NO_MEM; then `message` is WIRE_NONE. [any]
NODISCARD Status wire_decode(WireSide side, uint32_t kind, const unsigned char* body,
                             uint32_t n_bytes, int fd, WireMessage* message, Error* error);

#endif
