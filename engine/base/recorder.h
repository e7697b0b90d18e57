// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The flight recorder: memory that the server and one worker process share, in which each thread of
   the worker names the node whose code it executes.  After the loss of the worker the server reads
   there which node the process was in.

   The memory is a memfd of fixed size, made by the server and sealed against a change of its size.
   A thread of the worker takes a line at its first call, and writes one word before and after each
   call of the code of a node: relaxed stores, no system call.  When the process raises a fatal
   signal or exits, a handler stores the call of the thread that did it.  A thread that a plugin has
   started has no line: then the handler looks for code of plugins on the stack of the thread.

   The server checks all that it reads.  A worker that writes nonsense misnames a node.
*/
#ifndef WARPRACK_ENGINE_BASE_RECORDER_H
#define WARPRACK_ENGINE_BASE_RECORDER_H

#include "status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORDER_THREADS 512U // the player, 255 helpers, the thread of plugins, those of their work

// clang-format off

/// What is done with a node: word in enumerations, name for people.
#define RECORDER_PHASES(ROW)                                                                       \
  ROW(NONE,        "")                                                                             \
  ROW(INSTANTIATE, "instantiate") /* it is made, with the runs that find its latency */            \
  ROW(RUN,         "run")         /* a block */                                                    \
  ROW(RENEW,       "renew")       /* it is made again after a NaN */                               \
  ROW(WORK,        "work")        /* its work outside of the audio threads */                      \
  ROW(STATE,       "state")       /* its state is saved */                                         \
  ROW(CLOSE,       "close")       /* it is freed */                                                \
  ROW(THREAD,      "a thread")    /* a thread that the plugin has started */

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
  uint32_t number;     ///< Differs from that of the thread's last 2^24 calls; 0: recorder_mark()
  bool is_of_player;   ///< The thread plays blocks, see recorder_thread_plays()
  bool is_shared;      ///< The node is one of several that have the code: which one is not known
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

/// The line of this thread, for recorder_mark(). [any]
REALTIME _Atomic uint64_t* recorder_line(void);

/// The word for a run of built-in effects: of this node, or if `is_shared` of it and others with
/// the same effect. [any]
uint64_t recorder_word(uint32_t node, bool is_shared);

/// As recorder_enter() with RECORDER_RUN, and with 0 as recorder_leave(), for calls that do not
/// nest and have no number: one store. [rt]
static inline void
recorder_mark(_Atomic uint64_t* const line, const uint64_t word)
{
  atomic_store_explicit(line, word, memory_order_relaxed);
}

/// The node whose code this thread executes; 0: none. [any]
REALTIME uint32_t recorder_node(void);

/// The library that contains `address` has code of the node that this thread makes: a thread that
/// crashes in it belongs to that node.  If nodes share the library, also one after the other, it is
/// not known to which.  Libraries stay loaded. [thread of plugins]
void recorder_add_code(const void* address);

/// This thread plays the blocks of the callback.  Other threads run nodes, too, to measure them.
/// [player, helpers]
REALTIME void recorder_thread_plays(void);

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

/// True if a thread has raised a fatal signal, or has ended the process in the code of a node; then
/// `call` is the call that it was in, with RECORDER_NONE if that is not known. [any]
bool recorder_has_crashed(const Recorder* recorder, RecorderCall* call);

/// A call that a thread has been in at the last looks.
typedef struct RecorderWatch {
  RecorderCall call;
  uint64_t lasted_ns; ///< From look to look
} RecorderWatch;

/// Look at the calls of all threads, `passed_ns` after the last look.
///
/// @param watches [RECORDER_THREADS] zeros before the first look.
/// @return A call that has lasted `limit_ns` or longer; NULL if there is none. [any]
const RecorderWatch* recorder_watch(const Recorder* recorder, RecorderWatch* watches,
                                    uint64_t passed_ns, uint64_t limit_ns);

#endif
