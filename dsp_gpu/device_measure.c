// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Measures, when a device is opened, the largest block for which kernels should access rows in
  mapped host memory instead of in copies.  For each size, a kernel moves as many bytes as a block:
  once in host memory, and once in device memory with copies before and after.
*/

#include "device.h"
#include "gpu_compile.h"

#include "engine/base/percentiles.h"
#include "engine/base/time.h"

#include <stdlib.h>

#define SMALLEST   ((size_t)16 << 10U) // bytes, in and out together
#define N_SIZES    9U                  // each twice the size before
#define N_RUNS     15U
#define LONGEST_NS (5U * NS_PER_S) // for the first submission, in which a driver may compile
#define GROUP      256U
#define WORD_BYTES 4U

struct SwitchTrial {
  Device* device;
  GpuHostMemory* host;
  GpuBuffer* buffer;
  GpuKernel* kernel;
  GpuRecording* recording;
};

/// Median time of one submission.
static Status
time_of(const SwitchTrial* const trial, double* const ns, Error* const error)
{
  GpuRecording* const recording = trial->recording;
  const GpuApi* const api = trial->device->api;
  const uint64_t deadline_ns = trial->device->deadline_ns;
  const uint64_t patience_ns = deadline_ns < LONGEST_NS ? deadline_ns : LONGEST_NS;
  double times[N_RUNS];
  Status status = STATUS_OK;
  for (uint32_t r = 0; !status && r < N_RUNS; ++r) {
    const uint64_t began = time_now_ns();
    bool done = false;
    status = api->submit(recording, r + 1U);
    while (!status && !done) {
      const uint64_t waited_ns = time_now_ns() - began; // taken before the poll, as in stage_gpu.c
      status = api->poll(recording, r + 1U, &done);
      if (!status && !done && waited_ns > patience_ns) {
        // Marks the device as late, so that its memory is not freed.
        atomic_store(&trial->device->late_ns, patience_ns);
        atomic_fetch_add(&trial->device->n_at_work, 1U);
        return error_set(error, STATUS_DEVICE_LOST, "%s: an empty block did not finish",
                         trial->device->summary);
      }
    }
    times[r] = (double)(time_now_ns() - began);
  }
  if (status) {
    api->last_error(trial->device->gpu, error);
    return status;
  }
  *ns = percentiles_of(times, N_RUNS).p50;
  return STATUS_OK;
}

/// Time of a block with half of n_bytes in and half out, by copies or mapped.
static Status
measure(SwitchTrial* const trial, const size_t n_bytes, const bool copies, double* const ns,
        Error* const error)
{
  const GpuApi* const api = trial->device->api;
  const size_t half = n_bytes / 2U;
  const uint32_t n = (uint32_t)(half / WORD_BYTES);
  GpuArg in = { GPU_ARG_HOST, { .host = trial->host }, 0U };
  if (copies) {
    in = (GpuArg){ GPU_ARG_BUFFER, { .buffer = trial->buffer }, 0U };
  }
  GpuArg out = in;
  out.offset = half;
  const GpuLaunch launch = {
    .kernel = trial->kernel,
    .groups = { (n + GROUP - 1U) / GROUP, 1U },
    .group_size = GROUP,
    .n_args = 4U,
    .args = { in, out, { GPU_ARG_F32, { .f32 = 1.0F }, 0U }, { GPU_ARG_U32, { .u32 = n }, 0U } }
  };
  const GpuCopy copy_in = { trial->buffer, 0U, trial->host, 0U, half };
  const GpuCopy copy_out = { trial->buffer, half, trial->host, half, half };
  const GpuWork work = { .in = &copy_in,
                         .n_in = copies,
                         .launches = &launch,
                         .n_launches = 1U,
                         .out = &copy_out,
                         .n_out = copies };
  Status status = api->record(trial->device->gpu, &work, &trial->recording, error);
  status = status ? status : time_of(trial, ns, error);
  if (!device_is_stuck(trial->device)) {
    api->recording_free(trial->recording);
    trial->recording = NULL;
  }
  return status;
}

static Status
find_switch(SwitchTrial* const trial, Error* const error)
{
  Device* const device = trial->device;
  Status status = STATUS_OK;
  for (uint32_t s = 0; !status && s < N_SIZES; ++s) {
    double mapped_ns = 0.0;
    double copied_ns = 0.0;
    status = measure(trial, SMALLEST << s, false, &mapped_ns, error);
    status = status ? status : measure(trial, SMALLEST << s, true, &copied_ns, error);
    if (!status && mapped_ns > copied_ns) {
      return STATUS_OK;
    }
    device->mapped_bytes = SMALLEST << s;
  }
  return status;
}

Status
device_measure_switch(Device* const device, Error* const error)
{
  static const FxKernelSize no_sizes[FX_KERNEL_SIZES] = { { NULL, 0U } };
  if (!device->info.reaches_host || device->info.shares_memory) {
    device->mapped_bytes = device->info.reaches_host ? SIZE_MAX : 0U;
    return STATUS_OK;
  }
  const GpuApi* const api = device->api;
  const size_t largest = SMALLEST << (N_SIZES - 1U);
  SwitchTrial* const trial = calloc(1, sizeof(SwitchTrial));
  if (!trial) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  trial->device = device;
  Status status = device_kernel(device, "selftest.cu", "selftest_scale", GROUP, no_sizes,
                                &trial->kernel, error);
  status = status ? status : api->host_new(device->gpu, largest, &trial->host, error);
  status = status ? status : api->buffer_new(device->gpu, largest, &trial->buffer, error);
  status = status ? status : find_switch(trial, error);
  if (device_is_stuck(device)) {
    device->stuck_trial = trial;
    return status;
  }
  api->buffer_free(trial->buffer);
  api->host_free(trial->host);
  free(trial);
  return status;
}
