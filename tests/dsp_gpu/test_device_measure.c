// SPDX-License-Identifier: GPL-3.0-or-later
// The measured switch between mapped memory and copies: the largest size before copies are faster
// at two sizes in a row.  The device is a stand-in that only takes time.

#include "dsp_gpu/device.h"
#include "engine/base/time.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST ((size_t)16 << 10U)
#define N_SIZES  9U
#define FAST_NS  1000U
#define SLOW_NS  20000U

struct GpuRecording {
  uint64_t cost_ns, due_ns;
};

static bool mapped_loses[N_SIZES]; // by size, from the smallest
static uint32_t n_sizes_seen;

static Status
give_host(GpuDevice* const device, const size_t n_bytes, GpuHostMemory** const host,
          Error* const error)
{
  (void)device;
  (void)n_bytes;
  (void)error;
  *host = NULL;
  return STATUS_OK;
}

static Status
give_buffer(GpuDevice* const device, const size_t n_bytes, GpuBuffer** const buffer,
            Error* const error)
{
  (void)device;
  (void)n_bytes;
  (void)error;
  *buffer = NULL;
  return STATUS_OK;
}

static void
free_host(GpuHostMemory* const host)
{
  (void)host;
}

static void
free_buffer(GpuBuffer* const buffer)
{
  (void)buffer;
}

static Status
give_module(GpuDevice* const device, const char* const name, const char* const source,
            const char* const* const options, GpuModule** const module, Error* const error)
{
  (void)device;
  (void)name;
  (void)source;
  (void)options;
  (void)error;
  *module = NULL;
  return STATUS_OK;
}

static void
free_module(GpuModule* const module)
{
  (void)module;
}

static Status
give_kernel(GpuModule* const module, const char* const name, GpuKernel** const kernel,
            Error* const error)
{
  (void)module;
  (void)name;
  (void)error;
  *kernel = NULL;
  return STATUS_OK;
}

static Status
record(GpuDevice* const device, const GpuWork* const work, GpuRecording** const recording,
       Error* const error)
{
  (void)device;
  (void)error;
  const size_t n_bytes = 2U * sizeof(float) * work->launches[0].args[3].u32;
  uint32_t size = 0;
  while (SMALLEST << size < n_bytes) {
    ++size;
  }
  n_sizes_seen = size + 1U;
  *recording = calloc(1, sizeof(**recording));
  (*recording)->cost_ns = work->n_in || !mapped_loses[size] ? FAST_NS : SLOW_NS;
  if (work->n_in && !mapped_loses[size]) {
    (*recording)->cost_ns = SLOW_NS;
  }
  return STATUS_OK;
}

static void
free_recording(GpuRecording* const recording)
{
  free(recording);
}

static Status
submit(GpuRecording* const recording, const uint64_t sequence)
{
  (void)sequence;
  recording->due_ns = time_now_ns() + recording->cost_ns;
  return STATUS_OK;
}

static Status
poll(GpuRecording* const recording, const uint64_t sequence, bool* const done)
{
  (void)sequence;
  *done = time_now_ns() >= recording->due_ns;
  return STATUS_OK;
}

static const GpuApi api = { .buffer_new = give_buffer,
                            .buffer_free = free_buffer,
                            .host_new = give_host,
                            .host_free = free_host,
                            .module_new = give_module,
                            .module_free = free_module,
                            .kernel_get = give_kernel,
                            .record = record,
                            .recording_free = free_recording,
                            .submit = submit,
                            .poll = poll };

/// Measure with mapped memory slower at the sizes of `losses`, a text with a letter for each size:
/// 'c' where copies are faster.  Returns the result as a number of sizes.
static uint32_t
measured(const char* const losses)
{
  for (uint32_t s = 0; s < N_SIZES; ++s) {
    mapped_loses[s] = losses[s] == 'c';
  }
  Device device = { .api = &api, .info = { .reaches_host = true }, .deadline_ns = NS_PER_S };
  OK(device_measure_switch(&device, &error));
  device_kernels_free(&device);
  uint32_t n = 0;
  while (device.mapped_bytes >= SMALLEST << n) {
    ++n;
  }
  return n;
}

TEST(the_switch_is_the_largest_size_before_two_losses)
{
  ck_assert_uint_eq(measured("mmmmmmmmm"), 9);
  ck_assert_uint_eq(measured("mmmcmmmmm"), 9); // one loss is a stall
  ck_assert_uint_eq(measured("mmmmmcccc"), 5);
  ck_assert_uint_eq(n_sizes_seen, 7); // the search ends
  ck_assert_uint_eq(measured("mcmmccmmm"), 4);
  ck_assert_uint_eq(measured("ccmmmmmmm"), 0);
}

TEST(a_device_that_shares_memory_never_copies)
{
  Device device = { .api = &api, .info = { .reaches_host = true, .shares_memory = true } };
  OK(device_measure_switch(&device, &error));
  ck_assert(device.mapped_bytes == SIZE_MAX);
  device.info.reaches_host = false;
  OK(device_measure_switch(&device, &error));
  ck_assert_uint_eq(device.mapped_bytes, 0);
}

SUITE_MAIN("device_measure")
