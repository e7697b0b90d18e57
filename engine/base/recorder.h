// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The flight recorder: memory that the server and one worker process share, in which each thread of
   the worker names the node whose code it executes.  After the loss of the worker the server reads
   there which node the process was in.

   The memory is a memfd of fixed size, made by the server and sealed against a change of its size.
   A thread of the worker takes a line at its first call, and writes one word before and after each
   call of the code of a node: relaxed stores, no system call.  When the process raises a fatal
   signal or exits inside of such a call, a handler stores which thread did it.

   The server checks all that it reads.  A worker that writes nonsense misnames a node.
*/
#ifndef WARPRACK_ENGINE_BASE_RECORDER_H
#define WARPRACK_ENGINE_BASE_RECORDER_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORDER_THREADS 512U // the player, 255 helpers, the thread of plugins, those of their work

// clang-format off

/// What is done with a node: word in enumerations, name for people.
#define RECORDER_PHASES(ROW)                                                                       \
  ROW(NONE,        "")                                                                             \
  ROW(INSTANTIATE, "instantiate") /* it is made, with the runs that find its latency */            \
  ROW(RUN,         "run")         /* a block */                                                    \
  ROW(RENEW,       "renew")       /* it is made anew after a NaN */                                \
  ROW(WORK,        "work")        /* its work outside of the audio threads */                      \
  ROW(CLOSE,       "close")       /* it is freed */

// clang-format on

#define RECORDER_PHASE_OF_ROW(word, name) RECORDER_##word,

typedef enum RecorderPhase {
  RECORDER_PHASES(RECORDER_PHASE_OF_ROW) RECORDER_N_PHASES
} RecorderPhase;

extern const char* const recorder_phase_names[RECORDER_N_PHASES];

/// A call of the code of a node.
typedef struct RecorderCall {
  uint32_t node;       ///< Its RackUid
  RecorderPhase phase; ///< RECORDER_NONE: the thread executes no such code
  uint32_t number;     ///< Differs from that of the thread's previous calls, modulo 2^24
} RecorderCall;

// ---- the worker ----

/// Record the calls of this process in the memory of `fd`, and handle the signals that crashes
/// raise; what handled them before is called afterwards.  To be called once, before other threads
/// start.  Without it, or after an error, the functions below do nothing.  STATUS_BAD_ARG if `fd`
/// is not of recorder_new(), STATUS_NO_MEM. [main]
NODISCARD Status recorder_attach(int fd, Error* error);

/// A call of a node's code begins on this thread.  Calls may nest.  Returns what recorder_leave()
/// needs. [any]
REALTIME uint64_t recorder_enter(uint32_t node, RecorderPhase phase);

/// The call ends.  `before`: what its recorder_enter() has returned. [any]
REALTIME void recorder_leave(uint64_t before);

/// The node whose code this thread executes; 0: none. [any]
REALTIME uint32_t recorder_node(void);

/// Give this thread's line to later threads.  To be called by a thread that ends before its
/// process. [any]
void recorder_thread_end(void);

// ---- the server ----

typedef struct Recorder Recorder;

/// Make the memory for a worker.  STATUS_NO_MEM. [any but rt]
NODISCARD Status recorder_new(Recorder** out, Error* error);

/// Accepts NULL. [any but rt]
void recorder_free(Recorder* recorder);

/// The descriptor for recorder_attach(). [any]
int recorder_fd(const Recorder* recorder);

/// The current call of a thread; with RECORDER_NONE also if the worker has written an invalid
/// value. `thread`: below RECORDER_THREADS. [any]
RecorderCall recorder_read(const Recorder* recorder, uint32_t thread);

/// True if a thread has raised a fatal signal, or has ended the process; then `thread` is its
/// number, or RECORDER_THREADS if it had never executed code of a node. [any]
bool recorder_has_crashed(const Recorder* recorder, uint32_t* thread);

#endif
