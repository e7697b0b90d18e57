// SPDX-License-Identifier: GPL-3.0-or-later
// The properties that every GPU API must have: devices, memory, modules, the dialect, recordings.

#include "gpu_checks.h"
#include "suite.h"

#include "dsp_gpu/gpu_compile.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const GpuApi* api;

// The n values of `out` are those of `in` times `gain`, to the bit.  A loop compares them, because
// each assertion of Check costs a system call.
static void
check_scaled(const float* const out, const float* const in, const float gain, const uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    if (out[i] != in[i] * gain) {
      ck_abort_msg("value %u of %u: %.9g, not %.9g", i, n, (double)out[i], (double)(in[i] * gain));
    }
  }
}

// ---- devices ----

TEST(devices_describe_themselves)
{
  OK(api->load(&error));
  OK(api->load(&error));
  const uint32_t n = api->n_devices();
  ck_assert_uint_gt(n, 0);
  bool is_behind_gpus = false;
  for (uint32_t d = 0; d < n; ++d) {
    GpuDeviceInfo info;
    OK(api->describe(d, &info, &error));
    ck_assert(info.name[0] && info.driver[0]);
    ck_assert_uint_gt(info.compute_units, 0);
    ck_assert_uint_ge(info.max_group, GPU_MAX_GROUP);
    ck_assert_uint_ge(info.local_bytes, 16384);
    ck_assert_uint_ge(info.memory_bytes, info.largest_bytes);
    ck_assert_uint_gt(info.largest_bytes, 1 << 20);
    ck_assert_msg(!info.is_gpu || !is_behind_gpus, "the list has a GPU after a CPU");
    is_behind_gpus = is_behind_gpus || !info.is_gpu;
  }
}

TEST(a_device_that_is_not_there_is_not_opened)
{
  GpuDeviceInfo info;
  GpuDevice* device = NULL;
  OK(api->load(&error));
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(api->describe(api->n_devices(), &info, &error), STATUS_NO_BACKEND);
  ck_assert_int_eq(api->open(api->n_devices(), &device, &error), STATUS_NO_BACKEND);
  ck_assert(!device && error.text[0]);
}

// ---- memory ----

TEST(buffers_begin_as_zeros)
{
  static const size_t sizes[] = { 1, 1000, 1000003 };
  GpuRig rig = gpu_rig_open(api);
  for (uint32_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    unsigned char* const bytes = malloc(sizes[s]);
    for (uint32_t again = 0; again < 2; ++again) { // memory that was used before is zero, too
      GpuBuffer* const buffer = gpu_rig_buffer(&rig, sizes[s]);
      OK(api->buffer_read(buffer, 0, bytes, sizes[s], &error));
      for (size_t i = 0; i < sizes[s]; ++i) {
        if (bytes[i]) {
          ck_abort_msg("byte %zu of %zu is not 0", i, sizes[s]);
        }
      }
      memset(bytes, 0xFF, sizes[s]);
      OK(api->buffer_write(buffer, 0, bytes, sizes[s], &error));
      api->buffer_free(buffer);
    }
    free(bytes);
  }
  api->buffer_free(NULL);
  gpu_rig_close(&rig);
}

TEST(a_write_is_read_back_and_leaves_its_neighbours)
{
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const buffer = gpu_rig_buffer(&rig, 1000);
  unsigned char bytes[1000];
  OK(api->buffer_write(buffer, 7, "warprack", 8, &error));
  OK(api->buffer_write(buffer, 992, "the ends", 8, &error));
  OK(api->buffer_read(buffer, 0, bytes, 1000, &error));
  ck_assert_mem_eq(bytes + 7, "warprack", 8);
  ck_assert_mem_eq(bytes + 992, "the ends", 8);
  ck_assert(!bytes[6] && !bytes[15] && !bytes[991]);
  OK(api->buffer_read(buffer, 9, bytes, 3, &error));
  ck_assert_mem_eq(bytes, "rpr", 3);

  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(api->buffer_write(buffer, 993, "the ends", 8, &error), STATUS_BAD_ARG);
  ck_assert_int_eq(api->buffer_read(buffer, 1001, bytes, 1, &error), STATUS_BAD_ARG);
  ck_assert_int_eq(api->buffer_read(buffer, 1, bytes, SIZE_MAX, &error), STATUS_BAD_ARG);
  api->buffer_free(buffer);
  gpu_rig_close(&rig);
}

TEST(more_memory_than_there_is_is_refused_with_the_sizes)
{
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* buffer = NULL;
  Error error = { STATUS_OK, "" };
  const size_t too_many = (size_t)rig.info.memory_bytes + 4096U;
  char number[32];
  snprintf(number, sizeof(number), "%zu", too_many);
  ck_assert_int_eq(api->buffer_new(rig.device, too_many, &buffer, &error), STATUS_NO_MEM);
  ck_assert_ptr_null(buffer);
  assert_says(error.text, number);
  ck_assert_int_eq(api->buffer_new(rig.device, SIZE_MAX / 2U, &buffer, &error), STATUS_NO_MEM);

  GpuTrip trip = gpu_trip_new(&rig, 100, 2.0f); // the device still works
  gpu_rig_run(&rig, trip.recording, 1);
  gpu_trip_free(&rig, &trip);
  gpu_rig_close(&rig);
}

// ---- modules ----

static Status
compile(const GpuRig* const rig, const char* const source, const char* const* const options,
        Error* const error)
{
  GpuModule* module = NULL;
  const Status status =
      api->module_new(rig->device, "fx_wrong.cu", source, options, &module, error);
  ck_assert((status == STATUS_OK) == (module != NULL));
  api->module_free(module);
  return status;
}

TEST(a_compile_error_is_reported_with_its_line)
{
  static const char* const options[] = { "-DGROUP_SIZE=32", NULL };
  GpuRig rig = gpu_rig_open(api);
  Error error = { STATUS_OK, "" };
  ck_assert_int_ne(
      compile(&rig, "KERNEL\nwrong(const u32 x)\n{\n  not_there(x);\n}\n", options, &error),
      STATUS_OK);
  assert_says(error.text, "fx_wrong.cu");
  assert_says(error.text, "4");
  assert_says(error.text, "not_there");
  ck_assert_ptr_null(strchr(error.text, '\n'));
  ck_assert_int_eq(compile(&rig, "KERNEL\nright(const u32 x)\n{\n}\n", options, &error), STATUS_OK);
  gpu_rig_close(&rig);
}

TEST(the_dialect_refuses_groups_that_some_driver_does_not_have)
{
  static const char* const wrong[] = { "-DGROUP_SIZE=48", "-DGROUP_SIZE=512", "-DOTHER=1" };
  GpuRig rig = gpu_rig_open(api);
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    const char* const options[] = { wrong[w], NULL };
    Error error = { STATUS_OK, "" };
    ck_assert_int_ne(compile(&rig, "", options, &error), STATUS_OK);
    assert_says(error.text, "dialect.h");
    assert_says(error.text, "GROUP_SIZE");
  }
  gpu_rig_close(&rig);
}

TEST(a_kernel_that_is_not_there_is_not_found)
{
  GpuRig rig = gpu_rig_open(api);
  GpuKernel* kernel = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(api->kernel_get(rig.module, "selftest_no", &kernel, &error), STATUS_NOT_FOUND);
  assert_says(error.text, "selftest_no");
  assert_says(error.text, "selftest.cu");
  gpu_rig_close(&rig);
}

// ---- the dialect ----

// Runs one launch alone.
static void
run_launch(const GpuRig* const rig, const GpuLaunch* const launch)
{
  const GpuWork work = { .launches = launch, .n_launches = 1 };
  GpuRecording* const recording = gpu_rig_record(rig, &work);
  gpu_rig_run(rig, recording, 1);
  api->recording_free(recording);
}

static void
read_buffer(GpuBuffer* const buffer, void* const to, const size_t n_bytes)
{
  OK(api->buffer_read(buffer, 0, to, n_bytes, &error));
}

static GpuBuffer*
buffer_with(const GpuRig* const rig, const void* const from, const size_t n_bytes)
{
  GpuBuffer* const buffer = gpu_rig_buffer(rig, n_bytes);
  OK(api->buffer_write(buffer, 0, from, n_bytes, &error));
  return buffer;
}

TEST(threads_know_their_position)
{
  enum { X = 5, Y = 3, N = X * Y * (int)GPU_CHECKS_GROUP };
  static uint32_t ids[N];
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const out = gpu_rig_buffer(&rig, sizeof(ids));
  const GpuLaunch launch = { .kernel = gpu_rig_kernel(&rig, "selftest_ids"),
                             .groups = { X, Y },
                             .group_size = GPU_CHECKS_GROUP,
                             .n_args = 1,
                             .args = { { .kind = GPU_ARG_BUFFER, .buffer = out } } };
  run_launch(&rig, &launch);
  read_buffer(out, ids, sizeof(ids));
  for (uint32_t i = 0; i < N; ++i) {
    const uint32_t group = i / GPU_CHECKS_GROUP;
    const uint32_t expected = (uint32_t)Y << 28 | (uint32_t)X << 24 | group / X << 20 |
                              group % X << 16 | i % GPU_CHECKS_GROUP;
    ck_assert_msg(ids[i] == expected, "thread %u: %08x, not %08x", i, ids[i], expected);
  }
  api->buffer_free(out);
  gpu_rig_close(&rig);
}

TEST(groups_add_up)
{
  enum { ROWS = 7, LENGTH = 1000 };
  static float rows[ROWS][LENGTH];
  float sums[ROWS];
  for (uint32_t r = 0; r < ROWS; ++r) {
    for (uint32_t i = 0; i < LENGTH; ++i) {
      rows[r][i] = (float)((i * 37U + r * 101U) % 64U) - 20.0f; // integers: sums in any order agree
    }
  }
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const in = buffer_with(&rig, rows, sizeof(rows));
  GpuBuffer* const out = gpu_rig_buffer(&rig, sizeof(sums));
  const GpuLaunch launch = { .kernel = gpu_rig_kernel(&rig, "selftest_sums"),
                             .groups = { ROWS, 1 },
                             .group_size = GPU_CHECKS_GROUP,
                             .n_args = 3,
                             .args = { { .kind = GPU_ARG_BUFFER, .buffer = in },
                                       { .kind = GPU_ARG_BUFFER, .buffer = out },
                                       { .kind = GPU_ARG_U32, .u32 = LENGTH } } };
  run_launch(&rig, &launch);
  read_buffer(out, sums, sizeof(sums));
  for (uint32_t r = 0; r < ROWS; ++r) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < LENGTH; ++i) {
      sum += rows[r][i];
    }
    ck_assert_float_eq(sums[r], sum);
  }
  api->buffer_free(out);
  api->buffer_free(in);
  gpu_rig_close(&rig);
}

TEST(groups_know_whether_a_thread_has_a_flag)
{
  enum { GROUPS = 4, N = GROUPS * (int)GPU_CHECKS_GROUP };
  static uint32_t flags[N];
  static uint32_t any[N];
  flags[GPU_CHECKS_GROUP] = 4U; // the first thread of group 1, the last of 2, all of 3
  flags[3U * GPU_CHECKS_GROUP - 1U] = 1U << 31U;
  for (uint32_t i = 3U * GPU_CHECKS_GROUP; i < N; ++i) {
    flags[i] = i;
  }
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const in = buffer_with(&rig, flags, sizeof(flags));
  GpuBuffer* const out = gpu_rig_buffer(&rig, sizeof(any));
  const GpuLaunch launch = { .kernel = gpu_rig_kernel(&rig, "selftest_any"),
                             .groups = { GROUPS, 1 },
                             .group_size = GPU_CHECKS_GROUP,
                             .n_args = 2,
                             .args = { { .kind = GPU_ARG_BUFFER, .buffer = in },
                                       { .kind = GPU_ARG_BUFFER, .buffer = out } } };
  run_launch(&rig, &launch);
  read_buffer(out, any, sizeof(any));
  for (uint32_t i = 0; i < N; ++i) {
    ck_assert_uint_eq(any[i], i >= GPU_CHECKS_GROUP);
  }
  api->buffer_free(out);
  api->buffer_free(in);
  gpu_rig_close(&rig);
}

static void
check_near(const float* const values, const float* const expected, const uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    const float allowed = 1e-6f * fabsf(expected[i]);
    ck_assert_msg(fabsf(values[i] - expected[i]) <= allowed, "value %u: %.9g, not %.9g", i,
                  (double)values[i], (double)expected[i]);
  }
}

/// The sum of the two floats is `whole`, and the first float is `whole` rounded.
static void
check_exact(const float* const pair, const double whole)
{
  ck_assert_float_eq(pair[0], (float)whole);
  ck_assert_double_eq((double)pair[0] + (double)pair[1], whole);
}

TEST(arithmetic_is_as_in_c)
{
  static const float in[8] = { 1.5f, 7.0f, -2.25f, 10.0f, 0.1f, 3.0f, 5.0f, -4.0f };
  static const float expected_vectors[8] = {
    1.6f - 0.05f, 20.0f - 1.5f,  8.25f - 2.5f, 24.0f + 2.0f, // (a + b) * (1 2 3 4) - b / 2
    0.15f + 8.0f, 21.0f + 10.0f, -11.25f,      -39.0f,       // a * b + (c, 0, 1)
  };
  const float expected[10] = { 0.15f + 8.0f, 110.0f,       0.1f, 1.5f,  7.0f,
                               -3.0f,        sqrtf(10.0f), 0.0f, -1.5f, -1.5f };
  float vectors[8];
  float numbers[16];
  uint32_t bits[4];
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const from = buffer_with(&rig, in, sizeof(in));
  GpuBuffer* const to[3] = { gpu_rig_buffer(&rig, sizeof(vectors)),
                             gpu_rig_buffer(&rig, sizeof(numbers)),
                             gpu_rig_buffer(&rig, sizeof(bits)) };
  const GpuLaunch launch = { .kernel = gpu_rig_kernel(&rig, "selftest_arithmetic"),
                             .groups = { 1, 1 },
                             .group_size = GPU_CHECKS_GROUP,
                             .n_args = 6,
                             .args = { { .kind = GPU_ARG_BUFFER, .buffer = from },
                                       { .kind = GPU_ARG_BUFFER, .buffer = to[0] },
                                       { .kind = GPU_ARG_BUFFER, .buffer = to[1] },
                                       { .kind = GPU_ARG_BUFFER, .buffer = to[2] },
                                       { .kind = GPU_ARG_F32, .f32 = 1e-39f },
                                       { .kind = GPU_ARG_U32, .u32 = 2 } } };
  run_launch(&rig, &launch);
  read_buffer(to[0], vectors, sizeof(vectors));
  read_buffer(to[1], numbers, sizeof(numbers));
  read_buffer(to[2], bits, sizeof(bits));
  check_near(vectors, expected_vectors, 8);
  check_near(numbers, expected, 10);
  check_exact(numbers + 10, (double)in[4] * -(double)(2.0f * in[1] + in[7]));
  check_exact(numbers + 12, (double)in[4] + (double)numbers[10]);
  check_exact(numbers + 14, (double)in[3] + (double)in[4]);
  ck_assert_uint_eq(bits[0], 0x3FC00000U);
  ck_assert_uint_eq(bits[1], (uint32_t)-3);
  ck_assert_uint_eq(bits[2], 2);
  ck_assert_uint_eq(bits[3], 0x200U);
  for (uint32_t b = 0; b < 3; ++b) {
    api->buffer_free(to[b]);
  }
  api->buffer_free(from);
  gpu_rig_close(&rig);
}

// ---- recordings ----

static void
fill_with(float* const values, const uint32_t n, const uint32_t seed)
{
  for (uint32_t i = 0; i < n; ++i) {
    values[i] = (float)((i * 7919U + seed * 104729U) % 1000U) * 0.001f - 0.5f;
  }
}

TEST(a_block_goes_in_and_comes_out)
{
  static const uint32_t lengths[] = { 1, 63, 64, 65, 4096, 100003 };
  GpuRig rig = gpu_rig_open(api);
  for (uint32_t l = 0; l < ARRAY_LEN(lengths); ++l) {
    GpuTrip trip = gpu_trip_new(&rig, lengths[l], 0.5f);
    float* const in = api->host_pointer(trip.in);
    const float* const out = api->host_pointer(trip.out);
    for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
      fill_with(in, lengths[l], (uint32_t)sequence);
      gpu_rig_run(&rig, trip.recording, sequence);
      check_scaled(out, in, 0.5f, lengths[l]);
    }
    gpu_trip_free(&rig, &trip);
  }
  gpu_rig_close(&rig);
}

TEST(registered_memory_is_used_where_it_is_and_nothing_beside_it)
{
  enum { PAGES = 4 };
  const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  const size_t n_floats = page_bytes / sizeof(float);
  float* const region = aligned_alloc(page_bytes, PAGES * page_bytes);
  fill_with(region, (uint32_t)(PAGES * n_floats), 3);
  float* const before = malloc(PAGES * page_bytes);
  memcpy(before, region, PAGES * page_bytes);

  GpuRig rig = gpu_rig_open(api);
  GpuHostMemory* host = NULL;
  OK(api->host_register(rig.device, region, PAGES * page_bytes, &host, &error));
  ck_assert_ptr_eq(api->host_pointer(host), region);
  GpuBuffer* const buffer = gpu_rig_buffer(&rig, page_bytes);
  const GpuCopy in = { buffer, 0, host, page_bytes + 128U, 512 };
  const GpuCopy out[2] = { { buffer, 0, host, 2U * page_bytes, 256 },
                           { buffer, 256, host, 3U * page_bytes + 64U, 256 } };
  const GpuWork work = { .in = &in, .n_in = 1, .out = out, .n_out = 2 };
  GpuRecording* const recording = gpu_rig_record(&rig, &work);
  region[n_floats + 32U] = 77.0f; // after recording, before submission
  before[n_floats + 32U] = 77.0f;
  gpu_rig_run(&rig, recording, 1);

  memcpy(before + 2U * n_floats, before + n_floats + 32U, 256);
  memcpy(before + 3U * n_floats + 16U, before + n_floats + 96U, 256);
  ck_assert_mem_eq(region, before, PAGES * page_bytes);
  api->recording_free(recording);
  api->buffer_free(buffer);
  api->host_free(host);
  api->host_free(NULL);
  gpu_rig_close(&rig);
  free(before);
  free(region);
}

TEST(copies_outside_of_their_memory_are_refused)
{
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const buffer = gpu_rig_buffer(&rig, 1024);
  GpuHostMemory* const host = gpu_rig_host(&rig, 2048);
  const GpuCopy wrong[] = {
    { buffer, 0, host, 0, 1025 },       { buffer, 512, host, 0, 513 },
    { buffer, 0, host, 1536, 513 },     { buffer, 2048, host, 0, 1 },
    { buffer, 512, host, 0, SIZE_MAX },
  };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    const GpuWork as_in = { .in = &wrong[w], .n_in = 1 };
    const GpuWork as_out = { .out = &wrong[w], .n_out = 1 };
    GpuRecording* recording = NULL;
    Error error = { STATUS_OK, "" };
    ck_assert_int_eq(api->record(rig.device, &as_in, &recording, &error), STATUS_BAD_ARG);
    ck_assert_int_eq(api->record(rig.device, &as_out, &recording, &error), STATUS_BAD_ARG);
    ck_assert(!recording && error.text[0]);
  }
  api->host_free(host);
  api->buffer_free(buffer);
  gpu_rig_close(&rig);
}

TEST(kernels_take_buffers_from_an_offset_on)
{
  enum { N = 128, STEP = GPU_ALIGNMENT / sizeof(float) };
  float values[N + 3 * STEP];
  fill_with(values, ARRAY_LEN(values), 5);
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const in = buffer_with(&rig, values, sizeof(values));
  GpuBuffer* const out = gpu_rig_buffer(&rig, sizeof(values));
  const GpuLaunch launch = {
    .kernel = gpu_rig_kernel(&rig, "selftest_scale"),
    .groups = { N / GPU_CHECKS_GROUP, 1 },
    .group_size = GPU_CHECKS_GROUP,
    .n_args = 4,
    .args = { { .kind = GPU_ARG_BUFFER, .buffer = in, .offset = 3U * GPU_ALIGNMENT },
              { .kind = GPU_ARG_BUFFER, .buffer = out, .offset = GPU_ALIGNMENT },
              { .kind = GPU_ARG_F32, .f32 = 2.0f },
              { .kind = GPU_ARG_U32, .u32 = N } },
  };
  run_launch(&rig, &launch);
  float result[ARRAY_LEN(values)];
  read_buffer(out, result, sizeof(result));
  for (uint32_t i = 0; i < ARRAY_LEN(values); ++i) {
    const bool is_written = i >= STEP && i < STEP + N;
    ck_assert_float_eq(result[i], is_written ? values[i + 2 * STEP] * 2.0f : 0.0f);
  }
  api->buffer_free(out);
  api->buffer_free(in);
  gpu_rig_close(&rig);
}

TEST(kernels_work_in_host_memory_where_the_device_reaches_it)
{
  enum { N = 1000, STEP = GPU_ALIGNMENT / sizeof(float) };
  GpuRig rig = gpu_rig_open(api);
  GpuHostMemory* const host = gpu_rig_host(&rig, (2U * 1024U + STEP) * sizeof(float));
  float* const values = api->host_pointer(host);
  const GpuLaunch launch = {
    .kernel = gpu_rig_kernel(&rig, "selftest_scale"),
    .groups = { (N + GPU_CHECKS_GROUP - 1U) / GPU_CHECKS_GROUP, 1 },
    .group_size = GPU_CHECKS_GROUP,
    .n_args = 4,
    .args = { { .kind = GPU_ARG_HOST, .host = host, .offset = GPU_ALIGNMENT },
              { .kind = GPU_ARG_HOST,
                .host = host,
                .offset = 1024U * sizeof(float) + GPU_ALIGNMENT },
              { .kind = GPU_ARG_F32, .f32 = 3.0f },
              { .kind = GPU_ARG_U32, .u32 = N } },
  };
  const GpuWork work = { .launches = &launch, .n_launches = 1 };
  if (rig.info.reaches_host) {
    GpuRecording* const recording = gpu_rig_record(&rig, &work);
    for (uint32_t block = 1; block <= 3; ++block) {
      fill_with(values + STEP, N, block);
      gpu_rig_run(&rig, recording, block);
      check_scaled(values + 1024U + STEP, values + STEP, 3.0f, N);
    }
    api->recording_free(recording);
  } else {
    GpuRecording* recording = NULL;
    Error error = { STATUS_OK, "" };
    ck_assert_int_eq(api->record(rig.device, &work, &recording, &error), STATUS_BAD_ARG);
    ck_assert(!recording && error.text[0]);
  }
  api->host_free(host);
  gpu_rig_close(&rig);
}

/// One of two recordings that update the same state on the device.
typedef struct History {
  GpuTrip ends; ///< Its memory; its own recording is not used
  GpuRecording* recording;
} History;

static History
history_new(const GpuRig* const rig, GpuBuffer* const state, const uint32_t slot, const uint32_t n)
{
  History history = { .ends = gpu_trip_new(rig, n, 1.0f) };
  const GpuCopy in = { history.ends.d_in, 0, history.ends.in, 0, n * sizeof(float) };
  const GpuCopy out = { history.ends.d_out, 0, history.ends.out, 0, n * sizeof(float) };
  const GpuLaunch launch = {
    .kernel = gpu_rig_kernel(rig, "selftest_history"),
    .groups = { n / GPU_CHECKS_GROUP, 1 },
    .group_size = GPU_CHECKS_GROUP,
    .n_args = 3,
    .args = { { .kind = GPU_ARG_BUFFER, .buffer = history.ends.d_in },
              { .kind = GPU_ARG_BUFFER, .buffer = state },
              { .kind = GPU_ARG_BUFFER, .buffer = history.ends.d_out } },
  };
  const GpuWork work = { .slot = slot,
                         .in = &in,
                         .n_in = 1,
                         .launches = &launch,
                         .n_launches = 1,
                         .out = &out,
                         .n_out = 1 };
  history.recording = gpu_rig_record(rig, &work);
  return history;
}

TEST(two_blocks_in_flight_keep_their_order_and_their_samples)
{
  enum { N = 4096, BLOCKS = 400 };
  static float expected[N];
  memset(expected, 0, sizeof(expected));
  GpuRig rig = gpu_rig_open(api);
  GpuBuffer* const state = gpu_rig_buffer(&rig, N * sizeof(float));
  History slots[2] = { history_new(&rig, state, 0, N), history_new(&rig, state, 1, N) };
  for (uint64_t block = 1; block <= BLOCKS + 1U; ++block) {
    if (block <= BLOCKS) { // submit block k + 1 before the wait for block k
      History* const next = &slots[block % 2U];
      fill_with(api->host_pointer(next->ends.in), N, (uint32_t)block);
      ck_assert_int_eq(api->submit(next->recording, block), STATUS_OK);
    }
    if (block > 1U) {
      History* const last = &slots[(block - 1U) % 2U];
      const float* const in = api->host_pointer(last->ends.in);
      const float* const out = api->host_pointer(last->ends.out);
      gpu_rig_await(&rig, last->recording, block - 1U);
      for (uint32_t i = 0; i < N; ++i) {
        expected[i] = expected[i] * 0.5f + in[i];
        if (out[i] != expected[i]) {
          ck_abort_msg("block %u, value %u: %.9g, not %.9g", (unsigned)block - 1U, i,
                       (double)out[i], (double)expected[i]);
        }
      }
    }
  }
  for (uint32_t s = 0; s < 2; ++s) {
    api->recording_free(slots[s].recording);
    gpu_trip_free(&rig, &slots[s].ends);
  }
  api->buffer_free(state);
  gpu_rig_close(&rig);
}

TEST(an_empty_recording_completes)
{
  const GpuWork nothing = { 0 };
  GpuRig rig = gpu_rig_open(api);
  GpuRecording* const recording = gpu_rig_record(&rig, &nothing);
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    bool done = true;
    ck_assert_int_eq(api->poll(recording, sequence, &done), STATUS_OK);
    ck_assert_msg(!done, "the recording is done before it was submitted");
    gpu_rig_run(&rig, recording, sequence);
    ck_assert_int_eq(api->poll(recording, sequence, &done), STATUS_OK);
    ck_assert(done);
  }
  api->recording_free(recording);
  api->recording_free(NULL);
  gpu_rig_close(&rig);
}

TEST(after_finish_everything_is_done)
{
  GpuRig rig = gpu_rig_open(api);
  GpuTrip trips[2] = { gpu_trip_new(&rig, 100003, 2.0f), gpu_trip_new(&rig, 100003, 3.0f) };
  for (uint32_t t = 0; t < 2; ++t) {
    fill_with(api->host_pointer(trips[t].in), 100003, t);
    ck_assert_int_eq(api->submit(trips[t].recording, 5U + t), STATUS_OK);
  }
  OK(api->finish(rig.device, &error));
  for (uint32_t t = 0; t < 2; ++t) {
    bool done = false;
    ck_assert_int_eq(api->poll(trips[t].recording, 5U + t, &done), STATUS_OK);
    ck_assert(done);
    const float* const in = api->host_pointer(trips[t].in);
    const float* const out = api->host_pointer(trips[t].out);
    check_scaled(out, in, 2.0f + (float)t, 100003);
    gpu_trip_free(&rig, &trips[t]);
  }
  gpu_rig_close(&rig);
}

TEST(nudges_change_and_delay_nothing)
{
  GpuRig rig = gpu_rig_open(api);
  GpuTrip trip = gpu_trip_new(&rig, 1000, 2.0f);
  const float* const in = api->host_pointer(trip.in);
  const float* const out = api->host_pointer(trip.out);
  fill_with(api->host_pointer(trip.in), 1000, 3);
  for (uint64_t sequence = 1; sequence <= 20; ++sequence) {
    ck_assert_int_eq(api->submit(trip.recording, sequence), STATUS_OK);
    for (uint32_t n = 0; n < 3; ++n) {
      ck_assert_int_eq(api->nudge(rig.device), STATUS_OK);
    }
    gpu_rig_await(&rig, trip.recording, sequence);
    check_scaled(out, in, 2.0f, 1000);
  }
  gpu_trip_free(&rig, &trip);
  gpu_rig_close(&rig);
}

int
gpu_checks_run(const GpuApi* const tested)
{
  api = tested;
  return suite_run(engine_backend_names[tested->kind]);
}
