// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A CUDA driver without a GPU, built as libcuda.so.1 and found by the name that the real one has.
   It records every call, can fail any of them, and does the work on the host: copies, fills, and
   kernels for which a test has registered a function.

   Work is kept as a graph of operations, each with what it has to wait for by the rules of streams,
   events, captures and graph launches.  That is what the tests ask about: "has to wait for" holds
   on every GPU, while what happens to overlap on one does not.  Held, the device runs nothing but
   what a test lets it run.

   Device addresses are no host addresses, so code that mixes them up crashes or is told off.
*/
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_CUDA_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_CUDA_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_MEMORY_BYTES ((size_t)64 << 20U) // of the device
#define FAKE_CAPABILITY   90U
#define FAKE_WORDLESS     (CUresult)9000 // an error whose name and sentence are NULL

/// Start anew: no calls, no operations, no failures, not held.  Nothing may be live.
void fake_reset(void);

// Calls

typedef struct FakeCall {
  const char* name;      ///< The symbol, e.g. "cuMemAlloc_v2"
  const void* cu_stream; ///< That it was called for, or NULL
  unsigned long long flags;
} FakeCall;

/// All calls, in order.
const FakeCall* fake_calls(uint32_t* n_calls);

/// Forget the calls so far.
void fake_forget_calls(void);

/// How often a function was called since.
uint32_t fake_n_calls(const char* name);

/// Let call number `n_good` + 1 from now of function `name` (NULL: of any) fail with a CUresult or
/// nvrtcResult.
void fake_fail(const char* name, uint32_t n_good, int result);

/// Let call number `n_good` + 1 from now, of those that hand something out, return success and hand
/// out only bytes of this value: NULL or 0; with another value a number that is absurd (handles,
/// addresses and texts are not counted then).
void fake_give(uint32_t n_good, unsigned char byte);

/// Whether the call that was to fail has come, and which it was.  After an error from 700 to 719
/// all later calls fail with it, as on a device that is lost.
bool fake_has_failed(void);
const char* fake_failed_call(void);

/// Objects and memory that were made and not yet freed, of driver and compiler.
uint32_t fake_n_live(void);

/// The value of CUDA_MODULE_LOADING that cuInit() found, or "".
const char* fake_module_loading(void);

/// Flags of the context made last.
unsigned fake_context_flags(void);

/// The kernel cuFuncLoad() was called for last, or "".
const char* fake_loaded_kernel(void);

// Operations

typedef enum FakeKind {
  FAKE_COPY_IN,
  FAKE_COPY_OUT,
  FAKE_FILL,
  FAKE_KERNEL,
  FAKE_WAIT,   ///< For an event
  FAKE_RECORD, ///< Of an event
  FAKE_END     ///< Of a graph
} FakeKind;

typedef struct FakeOp {
  FakeKind kind;
  const char* kernel;      ///< Name, or NULL
  const void* cu_stream;   ///< It was enqueued or captured in
  const void* launched_in; ///< Stream of the graph's launch, NULL for none
  uint32_t launch;         ///< Number of the graph's launch from 1, 0 for none
  bool is_pinned;          ///< Host side of a copy
  bool is_done;
} FakeOp;

/// All operations since the reset, in the order in which they came.
const FakeOp* fake_op(uint32_t index);
uint32_t fake_n_ops(void);

/// The operation number `nth` from 0 of a kind (and, for kernels, of a name unless NULL) in graph
/// launch number `launch`; UINT32_MAX when there is none.
uint32_t fake_find(uint32_t launch, FakeKind kind, const char* kernel, uint32_t nth);

/// Whether `later` has to wait for `sooner`, directly or through others.
bool fake_waits(uint32_t later, uint32_t sooner);

/// Hold the device: operations wait until a test or a synchronising call lets them run.
void fake_hold(bool hold);

/// Run one operation and all that it has to wait for; or all.
void fake_run(uint32_t index);
void fake_run_all(void);

// Kernels

/// What a kernel does.  params[i] points to the i-th; addresses are the device's.
typedef void (*FakeKernel)(void* const* params, uint32_t n_groups, uint32_t group_size);

/// Teach the device a kernel.  `types`: one letter for each parameter, 'p' of 8 bytes, 'u' of 4.
void fake_teach(const char* name, const char* types, FakeKernel function);

/// Let a kernel fail from now on when it runs: the error is sticky.
void fake_break(const char* name, CUresult result);

/// The host address of a device address.
void* fake_host(CUdeviceptr address);

#endif
