// SPDX-License-Identifier: GPL-3.0-or-later
// The fake driver's log of calls, its failures on demand, and its error texts.

#include "fake_private.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_CALLS 65536U

pthread_mutex_t fake_mutex = PTHREAD_MUTEX_INITIALIZER;

static FakeCall calls[MAX_CALLS];
static uint32_t n_calls;

static struct {
  const char* name; ///< Function that fails; NULL: any
  bool is_armed;
  uint32_t n_left;
  int result;
  bool has_failed;
  const char* call;
} failure;

static struct {
  bool is_armed;
  uint32_t n_left;
  unsigned char byte;
} gift;

static CUresult sticky;
static uint32_t n_live;
static bool is_initialised;
static char module_loading[32];
static _Thread_local CUcontext current;

void
fake_reset(void)
{
  fake_work_reset();
  n_calls = 0;
  sticky = CUDA_SUCCESS;
  memset(&failure, 0, sizeof(failure));
  memset(&gift, 0, sizeof(gift));
}

void
fake_forget_calls(void)
{
  FAKE_LOCK();
  n_calls = 0;
}

const FakeCall*
fake_calls(uint32_t* const n)
{
  *n = n_calls;
  return calls;
}

uint32_t
fake_n_calls(const char* const name)
{
  FAKE_LOCK();
  uint32_t n = 0;
  for (uint32_t c = 0; c < n_calls; ++c) {
    n += !strcmp(calls[c].name, name);
  }
  return n;
}

void
fake_fail(const char* const name, const uint32_t n_good, const int result)
{
  FAKE_LOCK();
  failure.name = name;
  failure.is_armed = true;
  failure.n_left = n_good;
  failure.result = result;
  failure.has_failed = false;
}

void
fake_give(const uint32_t n_good, const unsigned char byte)
{
  FAKE_LOCK();
  gift.is_armed = true;
  gift.n_left = n_good;
  gift.byte = byte;
  failure.has_failed = false;
}

bool
fake_gives(const char* const name, const bool is_number, void* const out, const size_t n_bytes)
{
  if (!gift.is_armed || (gift.byte && !is_number)) {
    return false;
  }
  if (gift.n_left) {
    --gift.n_left;
    return false;
  }
  gift.is_armed = false;
  failure.has_failed = true;
  failure.call = name;
  memset(out, gift.byte, n_bytes);
  return true;
}

bool
fake_has_failed(void)
{
  FAKE_LOCK();
  return failure.has_failed;
}

const char*
fake_failed_call(void)
{
  static char name[64];
  FAKE_LOCK();
  const char* const call = failure.has_failed ? failure.call : "nothing";
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(call, "_"), call);
  return name;
}

uint32_t
fake_n_live(void)
{
  return n_live;
}

void
fake_made(void)
{
  ++n_live;
}

void
fake_freed(void)
{
  --n_live;
}

void
fake_stick(const CUresult result)
{
  sticky = result;
}

bool
fake_is_lost(void)
{
  return sticky != CUDA_SUCCESS;
}

void
fake_set_current(const CUcontext context)
{
  current = context;
}

const char*
fake_module_loading(void)
{
  return module_loading;
}

static bool
fails_now(const char* const name)
{
  if (!failure.is_armed || failure.has_failed ||
      (failure.name && strcmp(failure.name, name) != 0)) {
    return false;
  }
  failure.has_failed = failure.n_left == 0U;
  failure.n_left -= failure.n_left > 0U;
  return failure.has_failed;
}

int
fake_enter(const FakeCall* const call, const bool needs_context)
{
  if (n_calls == MAX_CALLS) {
    fputs("fake CUDA driver: too many calls\n", stderr);
    abort();
  }
  calls[n_calls++] = *call;
  const bool is_compiler = !strncmp(call->name, "nvrtc", 5); // works without a device
  if (fails_now(call->name)) {
    failure.call = call->name;
    if (!is_compiler && failure.result >= 700 && failure.result <= 719) {
      sticky = (CUresult)failure.result;
    }
    return failure.result;
  }
  if (sticky && !is_compiler) {
    return (int)sticky;
  }
  return needs_context && !current ? (int)CUDA_ERROR_INVALID_CONTEXT : 0;
}

// Error texts

static const struct {
  CUresult result;
  const char* name;
  const char* sentence;
} words[] = {
  { CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
  { CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
  { CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
  { CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
  { CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
  { CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
  { CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
    "an illegal memory access was encountered" },
  { FAKE_WORDLESS, NULL, NULL },
  { CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
};

CUresult CUDAAPI
cuGetErrorName(const CUresult error, const char** const text)
{
  for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); ++w) {
    if (words[w].result == error) {
      *text = words[w].name;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI
cuGetErrorString(const CUresult error, const char** const text)
{
  for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); ++w) {
    if (words[w].result == error) {
      *text = words[w].sentence;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Initialisation, which all other calls need

CUresult CUDAAPI
cuInit(const unsigned flags)
{
  FAKE_ENTER_WITHOUT_CONTEXT(.flags = flags)
  const char* const value = getenv("CUDA_MODULE_LOADING");
  if (!is_initialised) { // once in a process, like the real one
    snprintf(module_loading, sizeof(module_loading), "%s", value ? value : "");
  }
  is_initialised = true;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxSetCurrent(const CUcontext context)
{
  FAKE_ENTER_WITHOUT_CONTEXT()
  current = context;
  return CUDA_SUCCESS;
}
