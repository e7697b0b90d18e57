// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Injected faults, for tests: named hooks in the code that must handle them.  A program contains
   the hooks only if it is built with -Dfaults=true, or is a test.

   A list arms faults; the environment variable WARPRACK_FAULTS holds the first list:

       gpu.hang@100,worker:worker.late@1+10=40,alloc.fail@17

       [server:|worker:]NAME[@N[+[M]]][=VALUE]

   N is the number of the call at which the fault occurs, counted from 1 since the fault was armed
   (default 1); with `+` the fault also occurs at all later calls, with `+M` at each M-th call after
   N.  `server:` and `worker:` select one of the two processes of `warprack run`; all workers start
   with the same variable.

     alloc.fail          an allocation fails (of the program's own, not those of libraries)
     clock.jump=S        the wall clock is S seconds ahead; lasts
     fs.eio              reading a regular file fails
     fs.full             writing to a regular file, or flushing it, fails: the disk is full
     fs.short            reading a regular file returns one byte
     gpu.build           a kernel's source has an error at its end
     gpu.error=CODE      a submission ends with an asynchronous error; the device is lost
     gpu.hang            a submission and all later ones never end
     gpu.late=MS         a submission ends MS milliseconds late
     gpu.nomem           a buffer and all later ones do not fit
     gpu.record          a recording fails
     worker.crash        the worker crashes in a block: SIGSEGV
     worker.crash-on=NODE      the worker crashes when it plans a rack with a node of that name
     worker.crash-plays=NODE   the worker crashes when it runs a block of such a rack
     worker.crash-runs=NODE    the worker crashes while it runs that node
     worker.exit=CODE    a block of the worker ends its process
     worker.garbage      from a block on, the worker writes random words to all shared memory
     worker.hang         a block of the worker never ends
     worker.kill         the worker is killed at a step of its work on messages: SIGKILL
     worker.late=MS      the worker returns a block MS milliseconds late
     worker.nan          the worker returns a block of NaN, infinities and 1e30
     worker.stop         SIGSTOP at a block
     worker.wrong        the worker returns a block with the number of another block

   N counts: allocations; reads of the clock; reads or writes of files; modules, submissions,
   buffers or recordings of a device, from 1 again whenever a device is opened; blocks; racks that
   contain the node; steps: before a message is received, before a report is made, before and after
   reports are published.  gpu_faults.h describes the faults of a device.

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
  FAULT_WORKER_CRASH_RUNS,
  FAULT_WORKER_EXIT,
  FAULT_WORKER_GARBAGE,
  FAULT_WORKER_HANG,
  FAULT_WORKER_KILL,
  FAULT_WORKER_LATE,
  FAULT_WORKER_NAN,
  FAULT_WORKER_STOP,
  FAULT_WORKER_WRONG,
  N_FAULTS
} FaultId;

/// Count a call, if the fault is armed.  Returns true if the fault is due.  Costs one atomic load
/// while the fault is not armed. [any]
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
