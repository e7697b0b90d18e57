// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Each OpenCL call in turn fails, or reports success with NULL, 0 or an absurd number.  Then either
  the device is refused with an error message, or it computes correct results; nothing leaks.

  Runs on PoCL through the wrappers of support/odd_opencl.h (--wrap=opencl_driver_open).
*/

#include "dsp_gpu/gpu.h"
#include "dsp_gpu/opencl/opencl_driver.h"
#include "engine/base/time.h"
#include "tests/support/odd_opencl.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define api         (&gpu_opencl)
#define N_FLOATS    256U
#define HALF_BYTES  (N_FLOATS / 2U * sizeof(float))
#define GROUP       64U
#define PATIENCE_NS 20000000000U
#define NONE_LEFT   2 // exit status if no call was left to fail

_Static_assert(HALF_BYTES % GPU_ALIGNMENT == 0U, "a part of a buffer may begin there");

static const char source[] =
    "KERNEL\n"
    "odd_scale(GLOBAL const f32* const in, GLOBAL f32* const out, const f32 gain, const u32 n)\n"
    "{\n"
    "  const u32 i = GROUP_X * GROUP_SIZE + LOCAL_ID;\n"
    "  if (i < n) {\n"
    "    out[i] = in[i] * gain;\n"
    "  }\n"
    "}\n";

Status __real_opencl_driver_open(const char* const* names, Error* error);
Status __wrap_opencl_driver_open(const char* const* names, Error* error);

Status
__wrap_opencl_driver_open(const char* const* const names, Error* const error)
{
  const Status status = __real_opencl_driver_open(names, error);
  if (!status) {
    odd_opencl_wrap();
  }
  return status;
}

// ---- a device, from open to close ----

typedef struct Run {
  GpuDevice* device;
  GpuModule* module;
  GpuKernel* kernel;
  GpuHostMemory *in, *out;
  GpuBuffer *d_in, *d_out;
  GpuRecording* recording;
} Run;

static Status
prepare(Run* const run, Error* const error)
{
  static const char* const options[] = { "-DGROUP_SIZE=64", NULL };
  static const float ones[N_FLOATS / 2U] = { 1.0F };
  const size_t n_bytes = N_FLOATS * sizeof(float);
  Status status = api->open(0, &run->device, error);
  status = status ? status
                  : api->module_new(run->device, "odd.cu", source, options, &run->module, error);
  status = status ? status : api->kernel_get(run->module, "odd_scale", &run->kernel, error);
  status = status ? status : api->host_new(run->device, n_bytes, &run->in, error);
  status = status ? status : api->host_new(run->device, n_bytes, &run->out, error);
  status = status ? status : api->buffer_new(run->device, n_bytes, &run->d_in, error);
  status = status ? status : api->buffer_new(run->device, n_bytes, &run->d_out, error);
  return status ? status : api->buffer_write(run->d_in, 0, ones, sizeof(ones), error);
}

/// The second half of `in` is copied and scaled; the first half of the buffer keeps its values.
static Status
record(Run* const run, Error* const error)
{
  const GpuCopy in = { run->d_in, HALF_BYTES, run->in, HALF_BYTES, HALF_BYTES };
  const GpuCopy out = { run->d_out, HALF_BYTES, run->out, HALF_BYTES, HALF_BYTES };
  const GpuLaunch launch = {
    .kernel = run->kernel,
    .groups = { N_FLOATS / 2U / GROUP, 1 },
    .group_size = GROUP,
    .n_args = 4,
    .args = { { .kind = GPU_ARG_BUFFER, .buffer = run->d_in, .offset = HALF_BYTES },
              { .kind = GPU_ARG_BUFFER, .buffer = run->d_out, .offset = HALF_BYTES },
              { .kind = GPU_ARG_F32, .f32 = 2.0F },
              { .kind = GPU_ARG_U32, .u32 = N_FLOATS / 2U } },
  };
  const GpuWork work = {
    .in = &in, .n_in = 1, .launches = &launch, .n_launches = 1, .out = &out, .n_out = 1
  };
  return api->record(run->device, &work, &run->recording, error);
}

/// Submit a block and wait for it; the nudge may fail.
static Status
play(const Run* const run, const uint64_t sequence, const float value, Error* const error)
{
  float* const in = api->host_pointer(run->in);
  const float* const out = api->host_pointer(run->out);
  const uint64_t end_ns = time_now_ns() + PATIENCE_NS;
  bool done = false;
  in[N_FLOATS - 1U] = value;
  (void)!api->nudge(run->device);
  Status status = api->submit(run->recording, sequence);
  while (!status && !done) {
    status = api->poll(run->recording, sequence, &done);
    sched_yield();
    ck_assert_msg(done || time_now_ns() < end_ns, "%s: a block is never done", odd_opencl_call());
  }
  if (status) {
    api->last_error(run->device, error);
    return status;
  }
  ck_assert_msg(out[N_FLOATS - 1U] == value * 2.0F, "%s: %g instead of %g, and no error",
                odd_opencl_call(), (double)out[N_FLOATS - 1U], (double)value * 2.0);
  return STATUS_OK;
}

/// Returns STATUS_OK if the result is correct.
static Status
run_all(Run* const run, Error* const error)
{
  float values[N_FLOATS] = { 0.0F };
  Status status = prepare(run, error);
  status = status ? status : record(run, error);
  status = status ? status : play(run, 1, 21.0F, error);
  status = status ? status : play(run, 2, 22.0F, error);
  status = status ? status : api->finish(run->device, error);
  status = status ? status : api->buffer_read(run->d_out, 0, values, sizeof(values), error);
  ck_assert_msg(status || (values[0] == 0.0F && values[N_FLOATS - 1U] == 44.0F),
                "%s: a buffer has %g and %g, and no error", odd_opencl_call(), (double)values[0],
                (double)values[N_FLOATS - 1U]);
  return status;
}

static void
free_all(const Run* const run)
{
  api->recording_free(run->recording);
  api->buffer_free(run->d_out);
  api->buffer_free(run->d_in);
  api->host_free(run->out);
  api->host_free(run->in);
  api->module_free(run->module);
  api->close(run->device);
}

/// Check one run in which a call failed: refused with a message, or correct, and no object is
/// left.  If the failed call makes an object, the message contains `words`.
static bool
is_refused(const char* const words)
{
  Run run = { .device = NULL };
  Error error = { STATUS_OK, "" };
  const Status status = run_all(&run, &error);
  free_all(&run);
  const char* const call = odd_opencl_call();
  ck_assert_msg(!status || (call && error.text[0]), "%s: status %d, \"%s\"",
                call ? call : "nothing", (int)status, error.text);
  // If a binary cannot be loaded, the source is compiled.
  ck_assert_msg(status || !call || strncmp(call, "clCreate", 8) != 0 ||
                    !strcmp(call, "clCreateProgramWithBinary"),
                "%s returned no object, and no error followed", call);
  const bool makes = call && (!strncmp(call, "clCreate", 8) || !strncmp(call, "clEnqueue", 9)) &&
                     strcmp(call, "clCreateKernelsInProgram") != 0;
  ck_assert_msg(!status || !makes || strstr(error.text, words), "%s: \"%s\" does not say \"%s\"",
                call, error.text, words);
  ck_assert_msg(odd_opencl_n_live() == 0, "%s: %d objects leaked (\"%s\")", call ? call : "nothing",
                odd_opencl_n_live(), error.text);
  return status;
}

/// Load a device: one that shares memory, with a module cache, or one with its own memory, without
/// a cache.
static void
load(const bool own_memory)
{
  setenv("WARPRACK_OPENCL_MEMORY", own_memory ? "own" : "", 1);
  if (own_memory) {
    setenv("XDG_CACHE_HOME", "/dev/null", 1); // no folder can be created there
  }
  OK(api->load(&error));
  ck_assert(!is_refused(""));
}

static void
fail_each(const bool own_memory)
{
  load(own_memory);
  uint32_t n_refused = 0;
  for (uint32_t n = 0;
       odd_opencl_fail(n), n_refused += is_refused("CL_OUT_OF_RESOURCES"), odd_opencl_call(); ++n) {
  }
  ck_assert_uint_gt(n_refused, 40);
}

TEST(an_error_of_any_call_is_reported)
{
  fail_each(false);
}

TEST(an_error_of_any_call_is_reported_with_separate_memory)
{
  fail_each(true);
}

/// The invalid results: NULL and 0; absurd numbers, positive and negative.
static const unsigned char bytes[] = { 0x00, 0x7F, 0xFF };

static void
give_each(const bool own_memory)
{
  load(own_memory);
  uint32_t n_refused = 0;
  for (size_t b = 0; b < ARRAY_LEN(bytes); ++b) {
    for (uint32_t n = 0;
         odd_opencl_give(n, bytes[b]), n_refused += is_refused("returns NULL"), odd_opencl_call();
         ++n) {
    }
  }
  ck_assert_uint_gt(n_refused, 30);
}

TEST(null_and_invalid_results_of_any_call_are_refused)
{
  give_each(false);
}

TEST(null_and_invalid_results_of_any_call_are_refused_with_separate_memory)
{
  give_each(true);
}

// ---- the list of devices, which each process makes once ----

/// In its own process: list the devices and describe them.  Ends with NONE_LEFT when no call was
/// made to fail.
static _Noreturn void
list(const bool to_give, const uint32_t n_good, const unsigned char byte)
{
  Error error = { STATUS_OK, "" };
  GpuDeviceInfo info;
  if (to_give) {
    odd_opencl_give(n_good, byte);
  } else {
    odd_opencl_fail(n_good);
  }
  const Status status = api->load(&error);
  bool is_good = !status || error.text[0];
  for (uint32_t d = 0; d < api->n_devices(); ++d) {
    is_good = is_good && !api->describe(d, &info, &error) &&
              memchr(info.name, '\0', sizeof(info.name)) &&
              memchr(info.driver, '\0', sizeof(info.driver));
  }
  is_good = is_good && odd_opencl_n_live() == 0;
  if (!is_good) {
    fprintf(stderr, "%s, byte %02x: status %d, \"%s\", %d live\n",
            odd_opencl_call() ? odd_opencl_call() : "nothing", byte, (int)status, error.text,
            odd_opencl_n_live());
  }
  _exit(!is_good ? EXIT_FAILURE : odd_opencl_call() ? EXIT_SUCCESS : NONE_LEFT);
}

/// False when no call was made to fail.
static bool
list_aside(const bool to_give, const uint32_t n_good, const unsigned char byte)
{
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    list(to_give, n_good, byte);
  }
  int state = 0;
  ck_assert_int_eq(waitpid(child, &state, 0), child);
  ck_assert_msg(WIFEXITED(state) && WEXITSTATUS(state) != EXIT_FAILURE,
                "call %u of the list, byte %02x: state %x", n_good, byte, (unsigned)state);
  return WEXITSTATUS(state) != NONE_LEFT;
}

/// Each call in turn.
static void
list_each(const bool to_give, const unsigned char byte, const uint32_t n_least)
{
  uint32_t n = 0;
  while (list_aside(to_give, n, byte)) {
    ++n;
  }
  ck_assert_uint_gt(n, n_least);
}

TEST(the_device_list_survives_an_error_of_any_call)
{
  list_each(false, 0x00, 30);
}

TEST(the_device_list_survives_null_and_zero_from_any_call)
{
  list_each(true, 0x00, 25);
}

TEST(the_device_list_survives_invalid_results_of_any_call)
{
  list_each(true, 0x7F, 20);
}

/// True when there is OpenCL.  A child process checks it, because the tests fork from this process.
static bool
is_there(void)
{
  const pid_t child = fork();
  int state = EXIT_FAILURE;
  if (child == 0) {
    _exit(api->load(NULL) ? EXIT_FAILURE : EXIT_SUCCESS);
  }
  return waitpid(child, &state, 0) == child && state == 0;
}

int
main(void)
{
  if (!is_there()) {
    puts("no OpenCL device");
    return TEST_SKIPPED;
  }
  return suite_run("gpu_opencl_errors");
}
