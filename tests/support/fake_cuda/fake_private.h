// SPDX-License-Identifier: GPL-3.0-or-later
/// What the parts of the fake driver share.
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_PRIVATE_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_PRIVATE_H

// Every symbol by the name that the library exports, not by what the newest headers make of it.
#define __CUDA_API_VERSION_INTERNAL // NOLINT: the toolkit's own name

#include "fake_cuda.h"

#include <string.h>

#define FAKE_MAX_PARAMS 16U
#define FAKE_NOTHING    UINT32_MAX // no operation

// What a device address and a host address of the same memory differ by.
#define FAKE_OFFSET 0x100000000000ULL

typedef struct FakeFunction {
  char name[64];
  char types[FAKE_MAX_PARAMS + 1U];
  FakeKernel function;
  CUresult failure;
} FakeFunction;

/// An operation with all that it takes to run it.
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

int fake_lock(void);
void fake_unlock(const int* locked);

/// Log a call; the error that it has to return: one that a test asked for, or a sticky one.
int fake_enter(const FakeCall* call, bool needs_context);

/// Whether this call has to hand out bytes of an odd value (fake_give()), which are in *out then.
bool fake_gives(const char* name, bool is_number, void* out, size_t n_bytes);

/// Count objects and memory.
void fake_made(void);
void fake_freed(void);

/// Of this thread.
void fake_set_current(CUcontext context);

/// Make every later call fail.
void fake_stick(CUresult result);

/// Whether that has happened: nothing runs any more.
bool fake_is_lost(void);

bool fake_is_device_range(CUdeviceptr address, size_t n_bytes);
bool fake_is_pinned(const void* memory, size_t n_bytes);

/// Whether any stream captures, which forbids what waits or allocates.
bool fake_is_capturing(void);

/// Forget all operations; all launches.
void fake_work_reset(void);
void fake_streams_reset(void);

/// Stop the test program: the fake has its limits.
_Noreturn void fake_give_up(const char* reason);

/// Add an operation; let it wait for another (FAKE_NOTHING: for none); say that it is complete, so
/// that it may run; run it and
/// what it waits for.
uint32_t fake_add_work(const FakeWork* work);
void fake_add_dep(uint32_t index, uint32_t before);
void fake_enqueued(uint32_t index);
void fake_finish(uint32_t index);

FakeWork* fake_work(uint32_t index);

const FakeFunction* fake_function(CUfunction function);
FakeFunction* fake_find_function(const char* name);

// The first line of every function of the driver.
#define FAKE_LOCK()                                                                                \
  const int fake_locked __attribute__((cleanup(fake_unlock))) = fake_lock();                       \
  (void)fake_locked

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

// The second line of functions that hand out a handle, an address or a text; a number.
#define FAKE_GIVE(out)                                                                             \
  if (fake_gives(__func__, false, out, sizeof(*(out)))) {                                          \
    return 0; /* success */                                                                        \
  }
#define FAKE_GIVE_NUMBER(out)                                                                      \
  if (fake_gives(__func__, true, out, sizeof(*(out)))) {                                           \
    return 0; /* success */                                                                        \
  }

// Functions that free do so whatever they return, as the real ones do after a sticky error.
#define FAKE_ENTER_FREEING(...)                                                                    \
  FAKE_LOCK();                                                                                     \
  const CUresult fake_result =                                                                     \
      (CUresult)fake_enter(&(FakeCall){ .name = __func__, __VA_ARGS__ }, true)

#define FAKE_NOT_WHILE_CAPTURING()                                                                 \
  if (fake_is_capturing()) {                                                                       \
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;                                                  \
  }

#endif
