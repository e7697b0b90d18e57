// SPDX-License-Identifier: GPL-3.0-or-later
/// Shared by the parts of the fake driver.
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_PRIVATE_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_PRIVATE_H

// Keeps the exported names of functions: without it, cuda.h renames them to their newest versions.
#define __CUDA_API_VERSION_INTERNAL // NOLINT: the toolkit's own name

#include "fake_cuda.h"

#include "tests/support/scoped.h"

#include <pthread.h>
#include <string.h>

#define FAKE_MAX_PARAMS 16U
#define FAKE_NOTHING    UINT32_MAX // no operation

// Difference between the device address and the host address of the same memory.
#define FAKE_OFFSET 0x100000000000ULL

typedef struct FakeFunction {
  char name[64];
  char types[FAKE_MAX_PARAMS + 1U];
  FakeKernel function;
  FakeReady is_ready; ///< NULL: it does not wait
  CUresult failure;
} FakeFunction;

/// An operation, and the data that it needs to run.
typedef struct FakeWork {
  FakeOp op;
  CUdeviceptr d_memory;
  void* h_memory;
  size_t n_bytes;
  unsigned char fill;
  const FakeFunction* function;
  uint64_t params[FAKE_MAX_PARAMS];
  uint32_t n_groups;
  uint32_t group_size;
} FakeWork;

extern pthread_mutex_t fake_mutex; ///< Every function of the driver holds it

/// Log a call.  Returns the error that the call has to return: that of fake_fail(), or a sticky
/// one.
int fake_enter(const FakeCall* call, bool needs_context);

/// Whether fake_give() has selected this call; fills *out with the byte then.
bool fake_gives(const char* name, bool is_number, void* out, size_t n_bytes);

/// Count an object or allocation that was made, or freed.
void fake_made(void);
void fake_freed(void);

/// Set the current context of this thread.
void fake_set_current(CUcontext context);

/// Make every later call fail with this error.
void fake_stick(CUresult result);

/// Whether fake_stick() was called: no operation runs any more.
bool fake_is_lost(void);

bool fake_is_device_range(CUdeviceptr address, size_t n_bytes);
bool fake_is_pinned(const void* memory, size_t n_bytes);

/// Whether a stream captures: then calls that wait or allocate are forbidden.
bool fake_is_capturing(void);

/// Forget all operations, and all launches.
void fake_work_reset(void);
void fake_streams_reset(void);

/// End the test program: it uses more than the fake driver supports.
_Noreturn void fake_give_up(const char* reason);

/// Add an operation; make it wait for another one (FAKE_NOTHING: for none); declare it complete, so
/// that it runs unless the device is held; run it and the operations that it waits for.
uint32_t fake_add_work(const FakeWork* work);
void fake_add_dep(uint32_t index, uint32_t before);
void fake_enqueued(uint32_t index);
/// Let an operation, of which a stream was queried, go on; after many queries, kernels that wait
/// for the host give up.
void fake_ask(uint32_t index);
void fake_finish(uint32_t index);

/// As fake_finish(), but kernels that wait for the host give up.
void fake_finish_in_time(uint32_t index);

FakeWork* fake_work(uint32_t index);
bool fake_is_done(uint32_t index);

const FakeFunction* fake_function(CUfunction function);
FakeFunction* fake_find_function(const char* name);

// The first line of every function of the driver.
#define FAKE_LOCK() SCOPED_LOCK(&fake_mutex)

#define FAKE_ENTER_WITHOUT_CONTEXT(...)                                                            \
  FAKE_LOCK();                                                                                     \
  const int fake_refusal = fake_enter(&(FakeCall){ .name = __func__, __VA_ARGS__ }, false);        \
  if (fake_refusal) {                                                                              \
    return (CUresult)fake_refusal;                                                                 \
  }

#define FAKE_ENTER(...)                                                                            \
  FAKE_LOCK();                                                                                     \
  const int fake_refusal = fake_enter(&(FakeCall){ .name = __func__, __VA_ARGS__ }, true);         \
  if (fake_refusal) {                                                                              \
    return (CUresult)fake_refusal;                                                                 \
  }

// The second line of functions that return a handle, an address or a text; and of those that return
// a number.
#define FAKE_GIVE(out)                                                                             \
  if (fake_gives(__func__, false, out, sizeof(*(out)))) {                                          \
    return 0; /* success */                                                                        \
  }
#define FAKE_GIVE_NUMBER(out)                                                                      \
  if (fake_gives(__func__, true, out, sizeof(*(out)))) {                                           \
    return 0; /* success */                                                                        \
  }

// Functions that free an object do so even if they return an error, as the real ones do after a
// sticky error.
#define FAKE_ENTER_FREEING(...)                                                                    \
  FAKE_LOCK();                                                                                     \
  const CUresult fake_result =                                                                     \
      (CUresult)fake_enter(&(FakeCall){ .name = __func__, __VA_ARGS__ }, true)

#define FAKE_NOT_WHILE_CAPTURING()                                                                 \
  if (fake_is_capturing()) {                                                                       \
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;                                                  \
  }

#endif
