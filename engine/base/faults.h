// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Injected faults, for tests: named hooks in the code that must handle them.  A program contains
   the hooks only if it is built with -Dfaults=true, or is a test.

   A list of faults arms them; the environment variable WARPRACK_FAULTS has the first one:

       gpu.hang@100,worker:worker.late@1+10=40,alloc.fail@17

       [server:|worker:]NAME[@N[+[M]]][=VALUE]

   N is the occurrence at which a fault occurs, counted from 1 since it was armed (default 1), `+`
   all later ones as well, `+M` each M-th one after it.  `server:` and `worker:` are for one of the
   two processes of `warprack run`, whose workers all start with the same variable.

     alloc.fail          an allocation fails (of the program's own, not those of libraries)
     clock.jump=S        the wall clock is S seconds ahead; lasts
     fs.eio              reading a regular file fails
     fs.full             writing to a regular file, or flushing it, finds the disk full
     fs.short            reading a regular file gives one byte
     gpu.build           a kernel's source has a mistake at its end
     gpu.error=CODE      a submission ends with an asynchronous error; the device is lost
     gpu.hang            a submission and all later ones are never done
     gpu.late=MS         a submission is seen done MS milliseconds late
     gpu.nomem           a buffer and all later ones do not fit
     gpu.record          a recording is refused
     worker.crash        a block of the worker is its last one: SIGSEGV
     worker.crash-on=NODE      the same, when a rack with a node of that name is planned
     worker.crash-plays=NODE   the same, when a block of such a rack is run
     worker.exit=CODE    a block of the worker ends its process
     worker.garbage      from a block on, random words everywhere in the memory that is shared
     worker.hang         a block of the worker never ends
     worker.late=MS      a block comes back MS milliseconds late
     worker.nan          a block comes back as NaN, infinities and 1e30
     worker.stop         SIGSTOP at a block
     worker.wrong        a block comes back as another one

   What is counted: allocations; readings of the clock; readings, writings of files; modules,
   submissions, buffers, recordings of a device, from 1 again whenever one is opened; blocks; racks
   with that node.  gpu_faults.h has more on the device's.

   At run time datagrams arm faults (faults_socket.c).
*/
#ifndef WARPRACK_ENGINE_BASE_FAULTS_H
#define WARPRACK_ENGINE_BASE_FAULTS_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum FaultId {
  FAULT_ALLOC_FAIL,
  FAULT_CLOCK_JUMP,
  FAULT_FS_EIO,
  FAULT_FS_FULL,
  FAULT_FS_SHORT,
  FAULT_GPU_BUILD,
  FAULT_GPU_ERROR,
  FAULT_GPU_HANG,
  FAULT_GPU_LATE,
  FAULT_GPU_NOMEM,
  FAULT_GPU_RECORD,
  FAULT_WORKER_CRASH,
  FAULT_WORKER_CRASH_ON,
  FAULT_WORKER_CRASH_PLAYS,
  FAULT_WORKER_EXIT,
  FAULT_WORKER_GARBAGE,
  FAULT_WORKER_HANG,
  FAULT_WORKER_LATE,
  FAULT_WORKER_NAN,
  FAULT_WORKER_STOP,
  FAULT_WORKER_WRONG,
  N_FAULTS
} FaultId;

/// Count an occurrence, if the fault is armed.  Returns true if the fault is due.  One atomic load
/// when it is not. [any]
REALTIME bool fault_is_due(FaultId fault);

/// True if the fault is armed for this name; counts nothing. [any]
bool fault_names(FaultId fault, const char* name);

/// The VALUE with which the fault was armed. [any]
REALTIME double fault_value(FaultId fault);

/// Restart the count of the faults from `first` to `last`. [any]
void faults_recount(FaultId first, FaultId last);

/// Arm the faults of a list; others stay unchanged.  STATUS_BAD_ARG names the invalid part; then
/// nothing has changed. [any]
NODISCARD Status faults_arm(const char* list, Error* error);

/// Disarm all faults. [any]
void faults_disarm(void);

/// List the armed faults, one per line: name, next occurrence, number of calls and of occurrences.
/// [any]
void faults_print(char* text, size_t n_bytes);

#endif
