// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA implementation without a library or with failing calls: each error of the driver has its
// status and text, nothing leaks whichever call fails, a lost device stays lost and can be closed.

#include "dsp_gpu/cuda/cuda_private.h"
#include "dsp_gpu/cuda/nvrtc_compile.h"
#include "tests/support/fake_cuda/cuda_rig.h"
#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/fake_nvrtc.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Missing libraries and functions

TEST(without_a_driver_the_error_names_what_to_install)
{
  static const char* const names[] = { "libcuda-that-is-not-there.so.1", "nor-this.so", NULL };
  CudaDriver driver = { .has = 99 };
  Error error = { 0 };
  ck_assert_int_eq(cuda_driver_open(names, &driver, &error), STATUS_NO_BACKEND);
  assert_says(error.text,
              "no NVIDIA driver: libcuda-that-is-not-there.so.1: cannot open shared object");
  assert_says(error.text, "install the driver");
  ck_assert_uint_eq(driver.has, 99);
}

TEST(an_old_driver_is_recognised_by_a_missing_function)
{
  // A library without any of the functions.
  static const char* const names[] = { "libm.so.6", NULL };
  CudaDriver driver;
  Error error = { 0 };
  ck_assert_int_eq(cuda_driver_open(names, &driver, &error), STATUS_NO_BACKEND);
  assert_says(error.text,
              "libm.so.6 has no cuGetErrorName: the NVIDIA driver is older than CUDA 11.4");
}

TEST(a_driver_without_an_optional_function_is_accepted)
{
  const char* const names[] = { getenv("WARPRACK_FAKE_OLD_CUDA"), NULL };
  CudaDriver driver;
  ck_assert_msg(names[0] != NULL, "WARPRACK_FAKE_OLD_CUDA is not set: run this through meson test");
  OK(cuda_driver_open(names, &driver, &error));
  ck_assert(!(driver.has & CUDA_HAS_FUNC_LOAD) && !driver.func_load);
  OK(cuda_driver_open(cuda_library_names, &driver, &error));
  ck_assert((driver.has & CUDA_HAS_FUNC_LOAD) && driver.func_load);
}

TEST(without_a_compiler_the_error_names_what_to_install)
{
  static const char* const none[] = { "libnvrtc-that-is-not-there.so", NULL };
  static const char* const wrong[] = { "libm.so.6", NULL };
  Error error = { 0 };
  ck_assert_int_eq(nvrtc_load_from(none, &error), STATUS_NO_BACKEND);
  assert_says(error.text,
              "no NVRTC, which compiles kernels: libnvrtc-that-is-not-there.so: cannot open");
  assert_says(error.text, "install libnvrtc");
  ck_assert_int_eq(nvrtc_load_from(wrong, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "libm.so.6 has no nvrtcVersion");
}

TEST(a_driver_without_a_gpu_is_reported)
{
  Error error = { 0 };
  fake_fail("cuInit", 0, CUDA_ERROR_NO_DEVICE);
  ck_assert_int_eq(gpu_cuda.load(&error), STATUS_NO_BACKEND);
  ck_assert_str_eq(error.text, "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected");
  ck_assert_uint_eq(gpu_cuda.n_devices(), 0);
  ck_assert(!gpu_cuda.load(&error)); // each call tries again
  GpuDevice* device = NULL;
  ck_assert_int_eq(gpu_cuda.open(5, &device, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "no CUDA device 5: there are 1");
}

// Texts and statuses

TEST(each_error_has_its_status)
{
  static const struct {
    int result;
    Status status;
  } rows[] = {
    { CUDA_SUCCESS, STATUS_OK },
    { CUDA_ERROR_INVALID_VALUE, STATUS_BAD_ARG },
    { CUDA_ERROR_OUT_OF_MEMORY, STATUS_NO_MEM },
    { CUDA_ERROR_NO_DEVICE, STATUS_NO_BACKEND },
    { CUDA_ERROR_NOT_FOUND, STATUS_NOT_FOUND },
    { CUDA_ERROR_INVALID_IMAGE, STATUS_NO_BACKEND },
    { CUDA_ERROR_NO_BINARY_FOR_GPU, STATUS_NO_BACKEND },
    { CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, STATUS_NO_BACKEND },
    { CUDA_ERROR_ECC_UNCORRECTABLE, STATUS_DEVICE_LOST },
    { 226, STATUS_DEVICE_LOST }, // CUDA_ERROR_CONTAINED
    { CUDA_ERROR_ILLEGAL_ADDRESS, STATUS_DEVICE_LOST },
    { CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, STATUS_NO_BACKEND }, // only the launch failed
    { CUDA_ERROR_LAUNCH_TIMEOUT, STATUS_DEVICE_LOST },
    { CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, STATUS_NO_BACKEND },
    { CUDA_ERROR_ASSERT, STATUS_DEVICE_LOST },
    { CUDA_ERROR_HARDWARE_STACK_ERROR, STATUS_DEVICE_LOST },
    { CUDA_ERROR_ILLEGAL_INSTRUCTION, STATUS_DEVICE_LOST },
    { CUDA_ERROR_MISALIGNED_ADDRESS, STATUS_DEVICE_LOST },
    { CUDA_ERROR_INVALID_ADDRESS_SPACE, STATUS_DEVICE_LOST },
    { CUDA_ERROR_INVALID_PC, STATUS_DEVICE_LOST },
    { CUDA_ERROR_LAUNCH_FAILED, STATUS_DEVICE_LOST },
    { CUDA_ERROR_UNKNOWN, STATUS_DEVICE_LOST },
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    ck_assert_msg(cuda_status((CUresult)rows[r].result) == rows[r].status, "error %d",
                  rows[r].result);
  }
}

TEST(errors_have_the_text_of_the_driver)
{
  CudaDriver driver;
  Error error = { 0 };
  ck_assert(!cuda_driver_open(cuda_library_names, &driver, &error));
  cuda_error(&driver, CUDA_ERROR_LAUNCH_FAILED, "cuThis", &error);
  ck_assert_str_eq(error.text, "cuThis: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure");
  cuda_error(&driver, (CUresult)4711, "cuThis", &error);
  ck_assert_str_eq(error.text, "cuThis: error 4711, unknown to the driver");
  cuda_error(&driver, FAKE_WORDLESS, "cuThis", &error);
  ck_assert_str_eq(error.text, "cuThis: error 9000, unknown to the driver");
}

TEST(out_of_memory_says_how_much)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  Error error = { 0 };
  GpuBuffer* buffer = NULL;
  const uint32_t n_live = fake_n_live();
  char left[64];
  snprintf(left, sizeof(left), "%zu bytes requested, %llu free", FAKE_MEMORY_BYTES,
           (unsigned long long)cuda_free_bytes(rig.device));
  ck_assert_int_eq(gpu_cuda.buffer_new(rig.device, FAKE_MEMORY_BYTES, &buffer, &error),
                   STATUS_NO_MEM);
  assert_says(error.text, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory: ");
  assert_says(error.text, left);
  ck_assert(!buffer && fake_n_live() == n_live);
  ck_assert(!gpu_cuda.buffer_new(rig.device, 1024, &buffer, &error)); // a smaller buffer still fits
  gpu_cuda.buffer_free(buffer);
}

TEST(invalid_work_is_not_recorded)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  Error error = { 0 };
  GpuRecording* recording = NULL;
  GpuKernel* kernel = NULL;
  const GpuCopy outside = { rig.in[0], GPU_ALIGNMENT, rig.region, 0, GPU_ALIGNMENT + 1U };
  const GpuCopy behind = { rig.in[0], 0, rig.region, SIZE_MAX, 4 };
  const GpuLaunch argument = {
    .kernel = rig.history,
    .groups = { 1, 1 },
    .group_size = RIG_FRAMES,
    .n_args = 1,
    .args = { { GPU_ARG_HOST, { .host = rig.region }, (size_t)1 << 20U } },
  };
  const GpuWork works[] = {
    { .in = &outside, .n_in = 1 },
    { .out = &behind, .n_out = 1 },
    { .launches = &argument, .n_launches = 1 },
  };
  for (size_t w = 0; w < ARRAY_LEN(works); ++w) {
    ck_assert_int_eq(gpu_cuda.record(rig.device, &works[w], &recording, &error), STATUS_BAD_ARG);
  }
  assert_says(error.text, "argument 0 of launch 0");
  ck_assert_int_eq(gpu_cuda.kernel_get(rig.module, "no_such_kernel", &kernel, &error),
                   STATUS_NOT_FOUND);
  assert_says(error.text,
              "kernel no_such_kernel of selftest.cu: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND");
}

// Compilation

static const NvrtcMachine fake_machine = { FAKE_DRIVER_VERSION, FAKE_CAPABILITY };

TEST(compile_errors_name_file_and_line)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  Error error = { 0 };
  GpuModule* module = NULL;
  static const char* const options[] = { "-DGROUP_SIZE=64", NULL };
  const uint32_t n_live = fake_n_live();
  fake_nvrtc_refuse("fx_x.cu(3): warning #177-D: \"y\" was declared but never referenced\n"
                    "fx_x.cu(7): error: identifier \"z\" is undefined\n    z = 1;\n");
  ck_assert_int_eq(gpu_cuda.module_new(rig.device, "fx_x.cu", "wrong", options, &module, &error),
                   STATUS_BAD_ARG);
  assert_says(error.text,
              "fx_x.cu does not compile: fx_x.cu(7): error: identifier \"z\" is undefined");
  ck_assert_uint_eq(fake_n_live(), n_live);
  fake_nvrtc_refuse(NULL);
}

TEST(a_compiler_error_without_text_is_reported_by_its_number)
{
  cuda_rig_prepare();
  Error error = { 0 };
  NvrtcWay way;
  ck_assert(!nvrtc_way(&fake_machine, 0, &way, &error));
  fake_fail("nvrtcGetNumSupportedArchs", 0, NVRTC_ERROR_INTERNAL_ERROR);
  ck_assert_int_eq(nvrtc_way(&fake_machine, 0, &way, &error), STATUS_NO_BACKEND);
  ck_assert_str_eq(error.text, "nvrtcGetNumSupportedArchs: error 11, unknown to NVRTC");

  static const char* const names[] = { "libnvrtc.so.13", NULL };
  fake_fail("nvrtcVersion", 0, NVRTC_ERROR_INTERNAL_ERROR);
  ck_assert_int_eq(nvrtc_load_from(names, &error), STATUS_NO_BACKEND);
  ck_assert_str_eq(error.text, "nvrtcVersion: error 11, unknown to NVRTC");
}

TEST(the_architecture_is_one_that_the_device_runs)
{
  static const uint32_t good[][2] = {
    { 90, 90 }, { 89, 86 }, { 87, 86 }, { 103, 100 }, { 75, 75 }
  };
  for (size_t g = 0; g < ARRAY_LEN(good); ++g) {
    const NvrtcMachine machine = { FAKE_DRIVER_VERSION, good[g][0] };
    NvrtcWay way;
    OK(nvrtc_way(&machine, 0, &way, &error));
    ck_assert_uint_eq(way.target, good[g][1]);
    ck_assert(!way.is_ptx);
  }
  const NvrtcMachine old = { FAKE_DRIVER_VERSION, 70 }; // the oldest architecture is 75
  Error error = { 0 };
  NvrtcWay way;
  ck_assert_int_eq(nvrtc_way(&old, 0, &way, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "NVRTC 13.0 does not compile for sm_70");
}

/// Use the compilers 13.0 and 12.0.
static void
use_two_compilers(void)
{
  static const char* names[] = { "libnvrtc.so.13", NULL, NULL };
  names[1] = getenv("WARPRACK_FAKE_OLD_NVRTC");
  ck_assert_msg(names[1] != NULL,
                "WARPRACK_FAKE_OLD_NVRTC is not set: run this through meson test");
  OK(nvrtc_load_from(names, &error));
}

TEST(code_comes_from_a_compiler_that_is_not_newer_than_the_driver)
{
  static const struct {
    NvrtcMachine machine;
    const char* ways[4]; ///< In their order
  } rows[] = {
    { { 13000, 90 }, { "NVRTC 13.0 sm_90", "NVRTC 13.0 compute_90", "NVRTC 12.0 compute_86" } },
    { { 13020, 86 },
      { "NVRTC 13.0 sm_86", "NVRTC 12.0 sm_86", "NVRTC 13.0 compute_86",
        "NVRTC 12.0 compute_86" } },
    { { 12080, 86 }, { "NVRTC 12.0 sm_86", "NVRTC 13.0 sm_86", "NVRTC 12.0 compute_86" } },
    { { 12080, 90 }, { "NVRTC 13.0 sm_90", "NVRTC 12.0 compute_86" } },
    { { 13000, 120 }, { "NVRTC 13.0 compute_100", "NVRTC 12.0 compute_86" } },
    { { 13000, 52 }, { "NVRTC 12.0 sm_50", "NVRTC 12.0 compute_50" } },
    { { 11080, 90 }, { "NVRTC 13.0 sm_90" } },
  };
  cuda_rig_prepare();
  use_two_compilers();
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    NvrtcWay way;
    uint32_t n = 0;
    for (; n < ARRAY_LEN(rows[r].ways) && rows[r].ways[n]; ++n) {
      OK(nvrtc_way(&rows[r].machine, n, &way, &error));
      char target[NVRTC_TARGET_BYTES];
      char is[64];
      nvrtc_target_name(&way, target);
      snprintf(is, sizeof(is), "%s %s", nvrtc_version(&way), target);
      ck_assert_msg(!strcmp(is, rows[r].ways[n]), "row %zu, way %u: %s", r, n, is);
    }
    ck_assert_msg(nvrtc_way(&rows[r].machine, n, &way, NULL), "row %zu has more ways", r);
  }
}

TEST(when_the_driver_refuses_code_the_next_way_is_taken)
{
  cuda_rig_prepare();
  use_two_compilers();
  fake_set_driver_version(12080); // refuses machine code of 13.0, and 12.0 has none for this device
  for (uint32_t again = 0; again < 2U; ++again) {
    SCOPED(cuda_rig_free) CudaRig rig;
    fake_forget_calls();
    OK(cuda_rig_new(&rig, &error));
    ck_assert_str_eq(fake_loaded_code(), "ptx 12");
    ck_assert_uint_eq(fake_n_calls("cuModuleLoadData"), 3); // one refusal, then two modules
    cuda_rig_submit(&rig, 0, 1, 1.0F);
    ck_assert(cuda_rig_is_done(&rig, 0, 1));
  }
  fake_set_driver_version(FAKE_DRIVER_VERSION);
  static const CUresult refusals[] = { CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU,
                                       CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION };
  for (size_t r = 0; r < ARRAY_LEN(refusals); ++r) {
    SCOPED(cuda_rig_free) CudaRig rig;
    fake_fail("cuModuleLoadData", 0, refusals[r]);
    OK(cuda_rig_new(&rig, &error));
    ck_assert_str_eq(fake_loaded_code(), "ptx 13");
  }
}

TEST(a_compiler_that_is_newer_than_the_driver_is_named)
{
  static const char* const names[] = { "libnvrtc.so.13", NULL };
  cuda_rig_prepare();
  OK(nvrtc_load_from(names, &error));
  fake_set_driver_version(12080);
  CudaRig rig;
  Error error = { 0 };
  ck_assert_int_eq(cuda_rig_new(&rig, &error), STATUS_NO_BACKEND);
  cuda_rig_free(&rig);
  assert_says(error.text, "done.cu: cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE");
  assert_says(error.text, "the driver has CUDA 12.8 and the compiler is NVRTC 13.0: install");
  ck_assert_uint_eq(fake_n_live(), 0);
}

static uint32_t
n_compilations(void)
{
  SCOPED(cuda_rig_free) CudaRig rig;
  fake_forget_calls();
  OK(cuda_rig_new(&rig, &error));
  return fake_n_calls("nvrtcCompileProgram");
}

TEST(modules_come_from_the_cache_unless_the_driver_refuses)
{
  cuda_rig_prepare();
  SCOPED(scratch_remove) Scratch home = scratch_new();
  setenv("XDG_CACHE_HOME", home.directory, 1);
  ck_assert_uint_eq(n_compilations(), 2); // the kernels, and the kernel that writes the done word
  ck_assert_uint_eq(n_compilations(), 0);
  fake_fail("cuModuleLoadData", 0, CUDA_ERROR_INVALID_IMAGE);
  ck_assert_uint_eq(n_compilations(), 1);
  ck_assert_uint_eq(n_compilations(), 0);
  SCOPED(scratch_remove) Scratch folder;
  snprintf(folder.directory, sizeof(folder.directory), "%.100s/warprack", home.directory);
}

// Failure of any call

/// True if the caller ignores a failure of this function: functions that free, or return texts.
static bool
may_fail(const char* const name)
{
  return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "ProgramLog") ||
         !strcmp(name, "cuDriverGetVersion");
}

/// Load the driver and the compiler, and no real compiler after it.  This happens once per process;
/// afterwards every rig makes the same calls.
static void
load_all(void)
{
  static const char* const names[] = { "libnvrtc.so.13", NULL };
  OK(nvrtc_load_from(names, &error));
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
}

/// Make call number `n_good` + 1, from open to record, fail.  Returns false if there are fewer
/// calls.
static bool
fail_once(const uint32_t n_good, const int result)
{
  CudaRig rig;
  Error error = { 0 };
  cuda_rig_prepare();
  fake_fail(NULL, n_good, result);
  const Status status = cuda_rig_new(&rig, &error);
  const bool has_failed = fake_has_failed();
  const char* const call = fake_failed_call();
  if (has_failed && !status) {
    ck_assert_msg(may_fail(call), "%s failed, and no error followed", call);
  } else if (has_failed) {
    ck_assert_int_eq(error.status, status);
    // A failed compilation has another text, and another call follows a failed free.
    ck_assert_msg(strstr(error.text, call) || strstr(error.text, "does not compile") ||
                      may_fail(call),
                  "%s failed, and the error is \"%s\"", call, error.text);
  } else {
    ck_assert_msg(!status, "%s", error.text);
  }
  cuda_rig_free(&rig);
  ck_assert_msg(fake_n_live() == 0U, "%s failed: %u objects leaked", call, fake_n_live());
  return has_failed;
}

TEST(nothing_leaks_when_any_call_fails)
{
  uint32_t n_good = 0;
  load_all();
  while (fail_once(n_good, CUDA_ERROR_INVALID_VALUE)) {
    ++n_good;
  }
  ck_assert_uint_gt(n_good, 100);
}

TEST(nothing_leaks_whenever_the_device_is_lost)
{
  uint32_t n_good = 0;
  load_all();
  while (fail_once(n_good, CUDA_ERROR_LAUNCH_FAILED)) { // which the fake driver then always returns
    ++n_good;
  }
  ck_assert_uint_gt(n_good, 100);
}

// Success with NULL, 0 or absurd results

/// True for a function whose results are numbers or texts: the caller accepts any, or refuses them
/// with the name of another call.
static bool
may_be_anything(const char* const name)
{
  static const char* const begins[] = { "cuDeviceGet", "cuDeviceTotalMem", "cuDriverGetVersion",
                                        "cuMemGetInfo", "nvrtcGet" };
  bool may = false;
  for (size_t b = 0; b < ARRAY_LEN(begins); ++b) {
    may = may || !strncmp(name, begins[b], strlen(begins[b]));
  }
  return may;
}

/// Fill the result of call number `n_good` + 1, from open to record, with one byte value.  Returns
/// false if fewer calls return a result.
static bool
give_once(const uint32_t n_good, const unsigned char byte)
{
  CudaRig rig;
  Error error = { 0 };
  cuda_rig_prepare();
  fake_give(n_good, byte);
  const Status status = cuda_rig_new(&rig, &error);
  const bool has_failed = fake_has_failed();
  const char* const call = fake_failed_call();
  ck_assert_msg(status || !has_failed || may_be_anything(call),
                "%s returned success without an object, and no error followed", call);
  ck_assert_msg(!status || (has_failed && error.text[0]), "%s returned bytes of %02x: %s", call,
                byte, error.text);
  ck_assert_msg(!status || may_be_anything(call) || strstr(error.text, call),
                "%s returned success without an object, and the error is \"%s\"", call, error.text);
  cuda_rig_free(&rig);
  ck_assert_msg(fake_n_live() == 0U, "%s returned bytes of %02x: %u objects leaked", call, byte,
                fake_n_live());
  return has_failed;
}

TEST(results_of_the_driver_are_checked)
{
  static const struct {
    unsigned char byte;
    uint32_t n_least; ///< Least number of calls that return a result
  } rows[] = { { 0x00, 60 }, { 0x7F, 15 }, { 0xFF, 15 } };
  load_all();
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    uint32_t n_good = 0;
    while (give_once(n_good, rows[r].byte)) {
      ++n_good;
    }
    ck_assert_uint_gt(n_good, rows[r].n_least);
  }
}

TEST(an_absurd_number_of_devices_counts_as_none)
{
  cuda_rig_prepare();
  ck_assert(!gpu_cuda.load(NULL));
  ck_assert_uint_eq(gpu_cuda.n_devices(), 1);
  fake_give(0, 0x7F);
  ck_assert_uint_eq(gpu_cuda.n_devices(), 0);
  Error error = { 0 };
  fake_give(0, 0x7F);
  ck_assert_int_eq(gpu_cuda.load(&error), STATUS_NO_BACKEND);
  assert_says(error.text, "counts 2139062143 devices");
  fake_give(0, 0xFF);
  ck_assert_uint_eq(gpu_cuda.n_devices(), 0);
}

// Errors while blocks arrive

TEST(an_asynchronous_error_is_found_by_polling_and_stays)
{
  CudaRig rig = cuda_rig();
  Error error = { 0 };
  fake_break("selftest_history", CUDA_ERROR_ILLEGAL_ADDRESS);
  ck_assert_int_eq(gpu_cuda.submit(rig.recordings[0], 1), STATUS_OK);
  Status status = STATUS_OK;
  bool is_done = false;
  for (uint32_t poll = 0; poll < 2000 && !status && !is_done; ++poll) {
    status = gpu_cuda.poll(rig.recordings[0], 1, &is_done);
  }
  ck_assert_int_eq(status, STATUS_DEVICE_LOST);
  gpu_cuda.last_error(rig.device, &error);
  assert_says(error.text, ": CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  ck_assert_int_eq(error.status, STATUS_DEVICE_LOST);

  fake_forget_calls();
  GpuBuffer* buffer = NULL;
  GpuRecording* recording = NULL;
  const GpuWork nothing = { .slot = 0 };
  ck_assert_int_eq(gpu_cuda.submit(rig.recordings[1], 3), STATUS_DEVICE_LOST);
  ck_assert_int_eq(gpu_cuda.poll(rig.recordings[1], 3, &is_done), STATUS_DEVICE_LOST);
  ck_assert_int_eq(gpu_cuda.buffer_new(rig.device, 64, &buffer, &error), STATUS_DEVICE_LOST);
  assert_says(error.text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  ck_assert_int_eq(gpu_cuda.record(rig.device, &nothing, &recording, &error), STATUS_DEVICE_LOST);
  ck_assert_int_eq(gpu_cuda.finish(rig.device, &error), STATUS_DEVICE_LOST);
  uint32_t n_calls = 0;
  fake_calls(&n_calls);
  ck_assert_uint_eq(n_calls, 0); // a lost device gets no calls
  cuda_rig_free(&rig);
  ck_assert_uint_eq(fake_n_live(), 0);
}

TEST(a_refused_launch_is_reported_and_the_next_one_works)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  Error error = { 0 };
  gpu_cuda.last_error(rig.device, &error);
  ck_assert_int_eq(error.status, STATUS_OK);
  fake_fail("cuGraphLaunch", 0, CUDA_ERROR_OUT_OF_MEMORY);
  ck_assert_int_eq(gpu_cuda.submit(rig.recordings[0], 1), STATUS_NO_MEM);
  gpu_cuda.last_error(rig.device, &error);
  ck_assert_str_eq(error.text, "cuGraphLaunch: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  cuda_rig_submit(&rig, 0, 2, 1.0F);
  ck_assert(cuda_rig_is_done(&rig, 0, 2));
}

SUITE_MAIN("gpu_cuda_errors")
