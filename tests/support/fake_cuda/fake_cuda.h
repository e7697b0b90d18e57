// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A CUDA driver without a GPU, built as libcuda.so.1, so that the program loads it in place of the
   real one.  It records every call, can make any call fail, and does the work on the host: copies,
   fills, and kernels for which a test has registered a function.

   The work is a graph of operations.  The rules of streams, events, captures and graph launches
   define which operations an operation has to wait for.  The tests check these dependencies,
   because they hold on every GPU; which operations overlap depends on the GPU.  While a test holds
   the device, the device runs only the operations that the test selects.

   Device addresses differ from host addresses, so code that confuses them crashes or gets an error.
*/
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_CUDA_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_CUDA_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_MEMORY_BYTES   ((size_t)128 << 20U) // memory of the device
#define FAKE_CAPABILITY     90U
#define FAKE_DRIVER_VERSION 13000U
#define FAKE_WORDLESS       (CUresult)9000 // an error for which the driver returns NULL as its text

/// Forget all calls, operations and failures, and do not hold the device.  All objects must have
/// been freed.
void fake_reset(void);

// Calls

typedef struct FakeCall {
  const char* name;      ///< The symbol, e.g. "cuMemAlloc_v2"
  const void* cu_stream; ///< Its stream, or NULL
  unsigned long long flags;
} FakeCall;

/// All calls since the last fake_forget_calls(), in order.
const FakeCall* fake_calls(uint32_t* n_calls);

/// Forget the calls so far.
void fake_forget_calls(void);

/// Number of calls of a function since the last fake_forget_calls().
uint32_t fake_n_calls(const char* name);

/// Make call number `n_good` + 1 from now of function `name` (NULL: of any function) fail with this
/// CUresult or nvrtcResult.  After an error from 700 to 719 all later calls of the driver fail with
/// it, as on a device that is lost.
void fake_fail(const char* name, uint32_t n_good, int result);

/// Make call number `n_good` + 1 from now return success, with a result whose bytes are all `byte`:
/// NULL or 0 for byte 0, else an absurd number.  Only calls that return a result count; if `byte`
/// is not 0, calls that return handles, addresses or texts do not count either.
void fake_give(uint32_t n_good, unsigned char byte);

/// Whether the call that fake_fail() or fake_give() selected has happened, and its function without
/// "_v2"; "nothing" before it.
bool fake_has_failed(void);
const char* fake_failed_call(void);

/// Number of objects and allocations of driver and compiler that are not freed yet.
uint32_t fake_n_live(void);

/// The value of CUDA_MODULE_LOADING that cuInit() found, or "".
const char* fake_module_loading(void);

/// Flags of the context that was made last.
unsigned fake_context_flags(void);

/// The last kernel that cuFuncLoad() loaded, or "".
const char* fake_loaded_kernel(void);

/// Form and compiler of the code that was loaded last, for example "cubin 13"; "" before.
const char* fake_loaded_code(void);

/// The CUDA version of the driver from now on.  It refuses code from a compiler whose major version
/// is higher.
void fake_set_driver_version(unsigned version);

// Operations

typedef enum FakeKind {
  FAKE_COPY_IN,
  FAKE_COPY_OUT,
  FAKE_FILL,
  FAKE_KERNEL,
  FAKE_WAIT,   ///< Waits for an event
  FAKE_RECORD, ///< Records an event
  FAKE_END     ///< Ends a graph
} FakeKind;

typedef struct FakeOp {
  FakeKind kind;
  const char* kernel;      ///< Name of the kernel, or NULL
  const void* cu_stream;   ///< Stream in which it was enqueued or captured
  const void* launched_in; ///< Stream of the graph's launch; NULL outside of graphs
  uint32_t launch;         ///< Number of the graph's launch, from 1; 0 outside of graphs
  bool is_pinned;          ///< The host memory of a copy is pinned
  bool is_done;
} FakeOp;

/// Operation number `index` since the reset, in the order of the calls, one of the last 8,192; and
/// the number of operations since the reset.
const FakeOp* fake_op(uint32_t index);
uint32_t fake_n_ops(void);

/// Index of an operation in graph launch number `launch`: number `nth`, from 0, of those with this
/// kind and, unless it is NULL, this kernel.  UINT32_MAX if there is none.
uint32_t fake_find(uint32_t launch, FakeKind kind, const char* kernel, uint32_t nth);

/// Whether `later` has to wait for `sooner`, directly or through others.
bool fake_waits(uint32_t later, uint32_t sooner);

/// Hold the device: operations wait until a test or a synchronising call lets them run.
void fake_hold(bool hold);

/// Run one operation, and before it all that it has to wait for; or run all operations.  Kernels
/// that wait for the host, and what waits for them, do not run before they are ready.
void fake_run(uint32_t index);
void fake_run_all(void);

/// Run all operations.  Kernels that wait for the host give up, as they also do in calls that
/// synchronise.
void fake_let_time_pass(void);

// Kernels

/// The function of a kernel.  params[i] points to parameter i; addresses are device addresses.
typedef void (*FakeKernel)(void* const* params, uint32_t n_groups, uint32_t group_size);

/// Register a kernel.  `types` has a letter for each parameter: 'p' for 8 bytes, 'u' for 4 bytes.
void fake_teach(const char* name, const char* types, FakeKernel function);

/// Let a kernel wait for the host until the function returns true.  While the device is not held,
/// queries of a stream check it again, and after many of them it gives up.
typedef bool (*FakeReady)(void* const* params);
void fake_teach_wait(const char* name, FakeReady is_ready);

/// Make a kernel fail when it runs, from now on.  All calls after that fail with the same error.
void fake_break(const char* name, CUresult result);

/// The host address of a device address.
void* fake_host(CUdeviceptr address);

#endif
