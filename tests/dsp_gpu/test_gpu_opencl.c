// SPDX-License-Identifier: GPL-3.0-or-later
// OpenCL on the available device, usually PoCL: the checks of all APIs (support/gpu_checks.c), and
// parts that only OpenCL has: the loader, the cache, the three queues, errors.
//
// The tests replace single functions of the table of the driver, to count calls, to record
// operations and to fail; all other functions are real.

#include "dsp_gpu/gpu_compile.h"
#include "dsp_gpu/opencl/opencl_driver.h"
#include "tests/support/gpu_checks.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define api (&gpu_opencl)

static OpenclDriver real; // as opencl_driver was before a test

static Scratch cache; // $XDG_CACHE_HOME, for all tests

static void
end_faults(void)
{
  opencl_driver = real;
}

// ---- the loader ----

TEST(a_loader_that_is_not_there_is_named_and_changes_nothing)
{
  static const char* const none[] = { "libOpenCL-not-there.so.1", "libOpenCL-neither.so", NULL };
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(opencl_driver_open(none, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "libOpenCL-not-there.so.1");
  ck_assert(opencl_driver.clFinish == real.clFinish);
}

TEST(a_library_without_opencl_is_refused_with_what_it_lacks)
{
  static const char* const wrong[] = { "libOpenCL-not-there.so.1", "libm.so.6", NULL };
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(opencl_driver_open(wrong, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "libm.so.6 has no clBuildProgram");
  ck_assert(opencl_driver.clFinish == real.clFinish);
}

TEST(error_codes_have_names)
{
  ck_assert_str_eq(opencl_error_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
  ck_assert_str_eq(opencl_error_name(CL_INVALID_LINKER_OPTIONS), "CL_INVALID_LINKER_OPTIONS");
  ck_assert(opencl_error_name(-123456)[0]);
}

// ---- the cache ----

static uint32_t n_compiled; // programs from source

static cl_program
counted_source(const cl_context context, const cl_uint n, const char** const texts,
               const size_t* const lengths, cl_int* const code)
{
  ++n_compiled;
  return real.clCreateProgramWithSource(context, n, texts, lengths, code);
}

static cl_program
refused_binary(const cl_context context, const cl_uint n, const cl_device_id* const devices,
               const size_t* const lengths, const unsigned char** const binaries,
               cl_int* const states, cl_int* const code)
{
  (void)context, (void)n, (void)devices, (void)lengths, (void)binaries, (void)states;
  *code = CL_INVALID_BINARY;
  return NULL;
}

// Opens the device, compiles and computes.  Returns the number of programs compiled from source.
static uint32_t
compile_and_run(void)
{
  n_compiled = 0;
  opencl_driver.clCreateProgramWithSource = counted_source;
  GpuRig rig = gpu_rig_open(api);
  GpuTrip trip = gpu_trip_new(&rig, 100, 2.0f);
  float* const in = api->host_pointer(trip.in);
  const float* const out = api->host_pointer(trip.out);
  in[99] = 21.0f;
  gpu_rig_run(&rig, trip.recording, 1);
  ck_assert_float_eq(out[99], 42.0f);
  gpu_trip_free(&rig, &trip);
  gpu_rig_close(&rig);
  opencl_driver.clCreateProgramWithSource = real.clCreateProgramWithSource;
  return n_compiled;
}

static Scratch
cache_folder(void)
{
  Scratch folder;
  snprintf(folder.directory, sizeof(folder.directory), "%.100s/warprack", cache.directory);
  return folder;
}

static void
empty_cache(void)
{
  const Scratch folder = cache_folder();
  if (!access(folder.directory, F_OK)) {
    scratch_remove(&folder);
  }
}

TEST(a_module_is_compiled_only_once)
{
  empty_cache();
  ck_assert_uint_eq(compile_and_run(), 1);
  ck_assert_uint_eq(compile_and_run(), 0);
  empty_cache(); // safe at any time
  ck_assert_uint_eq(compile_and_run(), 1);
  end_faults();
}

TEST(other_options_are_another_module)
{
  static const char* const source =
      "KERNEL\nput(GLOBAL u32* const out)\n{\n  out[LOCAL_ID] = N;\n}\n";
  static const char* const options[2][3] = { { "-DGROUP_SIZE=32", "-DN=7" },
                                             { "-DGROUP_SIZE=32", "-DN=8" } };
  SCOPED(gpu_rig_close) GpuRig rig = gpu_rig_open(api);
  for (uint32_t i = 0; i < 4; ++i) {
    GpuModule* module = NULL;
    GpuKernel* kernel = NULL;
    OK(api->module_new(rig.device, "put.cu", source, options[i % 2U], &module, &error));
    OK(api->kernel_get(module, "put", &kernel, &error));
    GpuBuffer* const out = gpu_rig_buffer(&rig, 128);
    const GpuLaunch launch = { kernel, { 1, 1 }, 32, 1, { { GPU_ARG_BUFFER, { out }, 0 } } };
    const GpuWork work = { .launches = &launch, .n_launches = 1 };
    GpuRecording* const recording = gpu_rig_record(&rig, &work);
    gpu_rig_run(&rig, recording, 1);
    uint32_t values[32];
    OK(api->buffer_read(out, 0, values, sizeof(values), &error));
    ck_assert_uint_eq(values[31], 7U + i % 2U);
    api->recording_free(recording);
    api->buffer_free(out);
    api->module_free(module);
  }
}

/// Invert a byte in the middle of the only file of the cache.
static void
damage_cache(void)
{
  char pattern[sizeof(cache_folder().directory) + 4U];
  glob_t found;
  unsigned char byte = 0;
  snprintf(pattern, sizeof(pattern), "%s/*", cache_folder().directory);
  ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
  ck_assert_uint_eq(found.gl_pathc, 1);
  SCOPED_FD const int file = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
  globfree(&found);
  ck_assert_int_eq(pread(file, &byte, 1, 30000), 1);
  byte = (unsigned char)~byte;
  ck_assert_int_eq(pwrite(file, &byte, 1, 30000), 1);
}

TEST(a_damaged_cache_is_compiled_again)
{
  empty_cache();
  ck_assert_uint_eq(compile_and_run(), 1);
  damage_cache();
  ck_assert_uint_eq(compile_and_run(), 1);
  ck_assert_uint_eq(compile_and_run(), 0);
  end_faults();
}

TEST(a_binary_that_the_driver_refuses_is_compiled_again_and_replaced)
{
  compile_and_run();
  opencl_driver.clCreateProgramWithBinary = refused_binary;
  ck_assert_uint_eq(compile_and_run(), 1);
  opencl_driver.clCreateProgramWithBinary = real.clCreateProgramWithBinary;
  ck_assert_uint_eq(compile_and_run(), 0);
  end_faults();
}

TEST(without_a_cache_everything_works)
{
  scratch_write(&cache, "file", "", 0);
  setenv("XDG_CACHE_HOME", scratch_path(&cache, "file"), 1);
  ck_assert_uint_eq(compile_and_run(), 1);
  ck_assert_uint_eq(compile_and_run(), 1);
  setenv("XDG_CACHE_HOME", cache.directory, 1);
  end_faults();
}

// ---- mistakes in recordings ----

// Record an invalid launch of selftest_scale, and return the message.
static const char*
wrong_launch(const GpuRig* const rig, const GpuLaunch* const launch)
{
  static Error error;
  GpuRecording* recording = NULL;
  const GpuWork work = { .launches = launch, .n_launches = 1 };
  ck_assert_int_eq(api->record(rig->device, &work, &recording, &error), STATUS_BAD_ARG);
  ck_assert_ptr_null(recording);
  assert_says(error.text, "selftest.cu: selftest_scale");
  return error.text;
}

TEST(a_launch_that_does_not_fit_its_kernel_is_refused)
{
  SCOPED(gpu_rig_close) GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const buffer = gpu_rig_buffer(&rig, 4096);
  const GpuLaunch right = { .kernel = gpu_rig_kernel(&rig, "selftest_scale"),
                            .groups = { 1, 1 },
                            .group_size = GPU_CHECKS_GROUP,
                            .n_args = 4,
                            .args = { { .kind = GPU_ARG_BUFFER, .buffer = buffer },
                                      { .kind = GPU_ARG_BUFFER, .buffer = buffer },
                                      { .kind = GPU_ARG_F32 },
                                      { .kind = GPU_ARG_U32 } } };
  GpuLaunch wrong = right;
  wrong.n_args = 3;
  assert_says(wrong_launch(&rig, &wrong), "takes 4 arguments, not 3");
  wrong = right;
  wrong.group_size = 32;
  assert_says(wrong_launch(&rig, &wrong), "groups of 64 threads");
  wrong = right;
  wrong.groups[1] = 0;
  assert_says(wrong_launch(&rig, &wrong), "1 x 0 groups");
  wrong = right;
  wrong.args[1] = (GpuArg){ .kind = GPU_ARG_U32 };
  assert_says(wrong_launch(&rig, &wrong), "argument 1");
  wrong = right;
  wrong.args[0].offset = 8;
  assert_says(wrong_launch(&rig, &wrong), "argument 0 (offset 8)");
  wrong.args[0].offset = 4096;
  assert_says(wrong_launch(&rig, &wrong), "argument 0 (offset 4096)");
  api->buffer_free(buffer);
}

TEST(a_recording_in_flight_is_not_submitted_again)
{
  SCOPED(gpu_rig_close) GpuRig rig = gpu_rig_open(api);
  GpuTrip trip = gpu_trip_new(&rig, 4096, 2.0f);
  ck_assert_int_eq(api->submit(trip.recording, 1), STATUS_OK);
  ck_assert_int_eq(api->submit(trip.recording, 2), STATUS_BAD_ARG);
  gpu_rig_await(&rig, trip.recording, 1);
  gpu_rig_run(&rig, trip.recording, 2);
  gpu_trip_free(&rig, &trip);
}

// ---- three queues ----

/// The enqueued operations, in order.
typedef struct Seen {
  char kind; ///< w, k, r
  cl_command_queue queue;
  cl_event waits_for; ///< NULL for none
  cl_event event;     ///< Its own event, NULL if none was requested
} Seen;

static Seen seen[16];
static uint32_t n_seen;
static uint32_t n_waited; // calls that wait for the device

static void
see(const char kind, const cl_command_queue queue, const cl_uint n_waits,
    const cl_event* const waits, const cl_event* const event)
{
  ck_assert_uint_lt(n_seen, ARRAY_LEN(seen));
  ck_assert_uint_le(n_waits, 1);
  seen[n_seen++] = (Seen){ kind, queue, n_waits ? waits[0] : NULL, event ? *event : NULL };
}

static cl_int
seen_write(const cl_command_queue queue, const cl_mem memory, const cl_bool is_blocking,
           const size_t offset, const size_t n_bytes, const void* const from, const cl_uint n_waits,
           const cl_event* const waits, cl_event* const event)
{
  n_waited += is_blocking;
  const cl_int code = real.clEnqueueWriteBuffer(queue, memory, is_blocking, offset, n_bytes, from,
                                                n_waits, waits, event);
  see('w', queue, n_waits, waits, event);
  return code;
}

static cl_int
seen_kernel(const cl_command_queue queue, const cl_kernel kernel, const cl_uint n_dimensions,
            const size_t* const first, const size_t* const n_threads, const size_t* const group,
            const cl_uint n_waits, const cl_event* const waits, cl_event* const event)
{
  const cl_int code = real.clEnqueueNDRangeKernel(queue, kernel, n_dimensions, first, n_threads,
                                                  group, n_waits, waits, event);
  see('k', queue, n_waits, waits, event);
  return code;
}

static cl_int
seen_read(const cl_command_queue queue, const cl_mem memory, const cl_bool is_blocking,
          const size_t offset, const size_t n_bytes, void* const to, const cl_uint n_waits,
          const cl_event* const waits, cl_event* const event)
{
  n_waited += is_blocking;
  const cl_int code = real.clEnqueueReadBuffer(queue, memory, is_blocking, offset, n_bytes, to,
                                               n_waits, waits, event);
  see('r', queue, n_waits, waits, event);
  return code;
}

static cl_int
seen_finish(const cl_command_queue queue)
{
  ++n_waited;
  return real.clFinish(queue);
}

TEST(copies_of_one_slot_wait_for_no_kernel_of_another)
{
  SCOPED(gpu_rig_close) GpuRig rig = gpu_rig_open(api);
  GpuTrip trips[2] = { gpu_trip_new(&rig, 4096, 2.0f), gpu_trip_new(&rig, 4096, 3.0f) };
  opencl_driver.clEnqueueWriteBuffer = seen_write;
  opencl_driver.clEnqueueNDRangeKernel = seen_kernel;
  opencl_driver.clEnqueueReadBuffer = seen_read;
  opencl_driver.clFinish = seen_finish;
  n_seen = n_waited = 0;
  ck_assert_int_eq(api->submit(trips[0].recording, 1), STATUS_OK);
  ck_assert_int_eq(api->submit(trips[1].recording, 2), STATUS_OK);
  end_faults();

  ck_assert_uint_eq(n_seen, 6);
  ck_assert_uint_eq(n_waited, 0);
  for (uint32_t t = 0; t < 2; ++t) {
    const Seen* const three = seen + 3U * t;
    ck_assert(three[0].kind == 'w' && three[1].kind == 'k' && three[2].kind == 'r');
    ck_assert(three[0].queue != three[1].queue && three[1].queue != three[2].queue &&
              three[2].queue != three[0].queue);
    ck_assert_ptr_null(three[0].waits_for);
    ck_assert(three[0].event && three[1].waits_for == three[0].event);
    ck_assert(three[1].event && three[2].waits_for == three[1].event);
    ck_assert(three[0].queue == seen[0].queue && three[1].queue == seen[1].queue);
  }
  for (uint32_t t = 0; t < 2; ++t) {
    gpu_rig_await(&rig, trips[t].recording, 1U + t);
    gpu_trip_free(&rig, &trips[t]);
  }
}

// ---- errors ----

static cl_int
failing_kernel(const cl_command_queue queue, const cl_kernel kernel, const cl_uint n_dimensions,
               const size_t* const first, const size_t* const n_threads, const size_t* const group,
               const cl_uint n_waits, const cl_event* const waits, cl_event* const event)
{
  (void)queue, (void)kernel, (void)n_dimensions, (void)first, (void)n_threads, (void)group;
  (void)n_waits, (void)waits, (void)event;
  return CL_OUT_OF_RESOURCES;
}

// The work ends with an error, like an illegal access on NVIDIA's OpenCL.
static cl_int
failed_state(const cl_event event, const cl_event_info what, const size_t n_bytes,
             void* const value, size_t* const n_needed)
{
  (void)event, (void)what, (void)n_bytes, (void)n_needed;
  *(cl_int*)value = -9999;
  return CL_SUCCESS;
}

static cl_mem
failing_buffer(const cl_context context, const cl_mem_flags flags, const size_t n_bytes,
               void* const host, cl_int* const code)
{
  (void)context, (void)flags, (void)n_bytes, (void)host;
  *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return NULL;
}

static void(CL_CALLBACK* say)(const char*, const void*, size_t, void*);
static void* sayer;
static cl_context recorded;

static cl_context
recorded_context(const cl_context_properties* const properties, const cl_uint n,
                 const cl_device_id* const devices,
                 void(CL_CALLBACK* const notify)(const char*, const void*, size_t, void*),
                 void* const data, cl_int* const code)
{
  say = notify;
  sayer = data;
  recorded = real.clCreateContext(properties, n, devices, notify, data, code);
  return recorded;
}

// Every call on a lost device fails with the text of the first error.
static void
check_lost(const GpuRig* const rig, const GpuTrip* const trip, const char* const words)
{
  bool done = true;
  ck_assert_int_eq(api->submit(trip->recording, 100), STATUS_DEVICE_LOST);
  ck_assert_int_eq(api->poll(trip->recording, 1, &done), STATUS_DEVICE_LOST);
  ck_assert(!done);

  const GpuWork nothing = { 0 };
  GpuBuffer* buffer = NULL;
  GpuHostMemory* host = NULL;
  GpuRecording* recording = NULL;
  GpuModule* module = NULL;
  float value;
  Error errors[7];
  const Status statuses[] = {
    api->finish(rig->device, &errors[0]),
    api->buffer_new(rig->device, 4, &buffer, &errors[1]),
    api->host_new(rig->device, 4, &host, &errors[2]),
    api->record(rig->device, &nothing, &recording, &errors[3]),
    api->module_new(rig->device, "x.cu", "", NULL, &module, &errors[4]),
    api->buffer_read(trip->d_in, 0, &value, sizeof(value), &errors[5]),
    api->buffer_write(trip->d_in, 0, &value, sizeof(value), &errors[6]),
  };
  for (uint32_t s = 0; s < ARRAY_LEN(statuses); ++s) {
    ck_assert_msg(statuses[s] == STATUS_DEVICE_LOST, "call %u: %s", s, status_text(statuses[s]));
    assert_says(errors[s].text, words);
  }
  Error last;
  api->last_error(rig->device, &last);
  ck_assert_int_eq(last.status, STATUS_DEVICE_LOST);
  assert_says(last.text, words);
  assert_says(last.text, rig->info.name);
}

// After closing, the same device can be opened again.
static void
close_and_open_again(GpuRig* const rig, GpuTrip* const trip)
{
  end_faults();
  gpu_trip_free(rig, trip);
  gpu_rig_close(rig);
  ck_assert_uint_le(compile_and_run(), 1);
}

TEST(an_error_while_submitting_loses_the_device)
{
  GpuRig rig = gpu_rig_open(api);
  GpuTrip trip = gpu_trip_new(&rig, 4096, 2.0f);
  gpu_rig_run(&rig, trip.recording, 1);
  opencl_driver.clEnqueueNDRangeKernel = failing_kernel;
  ck_assert_int_eq(api->submit(trip.recording, 2), STATUS_DEVICE_LOST);
  end_faults();
  check_lost(&rig, &trip, "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5)");

  opencl_driver.clFinish = seen_finish; // the memory of the pending copy is freed next
  n_waited = 0;
  api->recording_free(trip.recording);
  trip.recording = NULL;
  ck_assert_uint_gt(n_waited, 0);
  close_and_open_again(&rig, &trip);
}

TEST(an_error_while_the_block_runs_loses_the_device)
{
  GpuRig rig = gpu_rig_open(api);
  GpuTrip trip = gpu_trip_new(&rig, 4096, 2.0f);
  bool done = true;
  ck_assert_int_eq(api->submit(trip.recording, 1), STATUS_OK);
  opencl_driver.clGetEventInfo = failed_state;
  ck_assert_int_eq(api->poll(trip.recording, 1, &done), STATUS_DEVICE_LOST);
  ck_assert(!done);
  end_faults();
  check_lost(&rig, &trip, "illegal access to memory (-9999)");
  close_and_open_again(&rig, &trip);
}

static cl_event latch; // a kernel waits for it too

static cl_int
latched_kernel(const cl_command_queue queue, const cl_kernel kernel, const cl_uint n_dimensions,
               const size_t* const first, const size_t* const n_threads, const size_t* const group,
               const cl_uint n_waits, const cl_event* const waits, cl_event* const event)
{
  const cl_event both[2] = { latch, n_waits ? waits[0] : NULL };
  return real.clEnqueueNDRangeKernel(queue, kernel, n_dimensions, first, n_threads, group,
                                     1U + n_waits, both, event);
}

// (Opening a latch with an error would be an error of the driver itself, but PoCL 3.1 does not
// survive it: it runs the failed command.)
TEST(a_delayed_block_is_not_done_and_blocks_no_caller)
{
  void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW);
  cl_event (*create)(cl_context, cl_int*) = NULL;
  cl_int (*set)(cl_event, cl_int) = NULL;
  *(void**)&create = dlsym(loader, "clCreateUserEvent");
  *(void**)&set = dlsym(loader, "clSetUserEventStatus");
  ck_assert(create && set);
  opencl_driver.clCreateContext = recorded_context;
  GpuRig rig = gpu_rig_open(api);
  GpuTrip trips[2] = { gpu_trip_new(&rig, 4096, 2.0f), gpu_trip_new(&rig, 4096, 3.0f) };
  latch = create(recorded, NULL);
  opencl_driver.clEnqueueNDRangeKernel = latched_kernel;
  ck_assert_int_eq(api->submit(trips[0].recording, 1), STATUS_OK);
  end_faults();
  ck_assert_int_eq(api->submit(trips[1].recording, 2), STATUS_OK);

  bool done = true;
  for (uint32_t t = 0; t < 2; ++t) {
    ck_assert_int_eq(api->poll(trips[t].recording, 1U + t, &done), STATUS_OK);
    ck_assert_msg(!done, "the latch is shut");
  }
  ck_assert_int_eq(set(latch, CL_COMPLETE), CL_SUCCESS);
  for (uint32_t t = 0; t < 2; ++t) {
    gpu_rig_await(&rig, trips[t].recording, 1U + t);
    gpu_trip_free(&rig, &trips[t]);
  }
  real.clReleaseEvent(latch);
  gpu_rig_close(&rig);
  dlclose(loader);
}

TEST(memory_that_the_driver_refuses_is_reported_with_sizes_and_code)
{
  SCOPED(gpu_rig_close) GpuRig rig = gpu_rig_open(api);
  GpuTrip trip = gpu_trip_new(&rig, 1024, 2.0f); // 8192 bytes of buffers
  GpuBuffer* buffer = NULL;
  Error error = { STATUS_OK, "" };
  opencl_driver.clCreateBuffer = failing_buffer;
  ck_assert_int_eq(api->buffer_new(rig.device, 123456, &buffer, &error), STATUS_NO_MEM);
  end_faults();
  assert_says(error.text, "123456 bytes");
  assert_says(error.text, "8192 of");
  assert_says(error.text, "CL_MEM_OBJECT_ALLOCATION_FAILURE");
  ck_assert_ptr_null(buffer);
  gpu_rig_run(&rig, trip.recording, 1); // no further error
  gpu_trip_free(&rig, &trip);
}

TEST(the_driver_s_message_is_passed_on)
{
  opencl_driver.clCreateContext = recorded_context;
  GpuRig rig = gpu_rig_open(api);
  end_faults();
  GpuTrip trip = gpu_trip_new(&rig, 64, 2.0f);
  say("the fan has fallen off", NULL, 0, sayer);
  opencl_driver.clEnqueueNDRangeKernel = failing_kernel;
  ck_assert_int_eq(api->submit(trip.recording, 1), STATUS_DEVICE_LOST);
  check_lost(&rig, &trip, "the fan has fallen off");
  close_and_open_again(&rig, &trip);
}

// scratch.h cannot be used here, because its assertions work only within a test.
static int
remove_entry(const char* const path, const struct stat* const stat, const int kind,
             struct FTW* const where)
{
  (void)stat, (void)kind, (void)where;
  return remove(path);
}

int
main(void)
{
  Error error = { STATUS_OK, "" };
  if (api->load(&error)) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  GpuDeviceInfo info;
  if (!api->describe(0, &info, &error)) {
    printf("%s, %s, %s memory\n", info.name, info.driver,
           info.shares_memory ? "shared" : "its own");
    fflush(stdout);
  }
  real = opencl_driver;
  snprintf(cache.directory, sizeof(cache.directory), "/tmp/warprack-test-XXXXXX");
  if (!mkdtemp(cache.directory)) {
    return EXIT_FAILURE;
  }
  setenv("XDG_CACHE_HOME", cache.directory, 1);
  const int is_failed = gpu_checks_run(api);
  nftw(cache.directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  return is_failed;
}
