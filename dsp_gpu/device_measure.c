// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Measures, when a device is opened, the largest block for which kernels should access rows in
  mapped host memory instead of in copies.  For each size, a kernel moves as many bytes as a block:
  once in host memory, and once in device memory with copies before and after.

  The two take turns, because the clocks of an idle device rise while it is measured.  One size at
  which mapped memory loses does not end the search: the loss may be a stall of the machine.
*/

#include "device.h"
#include "gpu_compile.h"

#include "engine/base/percentiles.h"
#include "engine/base/time.h"

#include <stdlib.h>

#define SMALLEST   ((size_t)16 << 10U) // bytes, in and out together
#define N_SIZES    9U                  // each twice the size before
#define N_RUNS     15U
#define N_WARM     50U // submissions before the first size
#define N_LOSSES   2U  // sizes in a row at which copies are faster, which end the search
#define LONGEST_NS (5U * NS_PER_S) // for the first submission, in which a driver may compile
#define GROUP      256U
#define WORD_BYTES 4U

enum { MAPPED, COPIED, N_WAYS };

struct SwitchTrial {
  Device* device;
  GpuHostMemory* host;
  GpuBuffer* buffer;
  GpuKernel* kernel;
  GpuRecording* recordings[N_WAYS];
  uint64_t sequence; ///< Of the last submission
};

/// Time of one submission.
static Status
run(SwitchTrial* const trial, GpuRecording* const recording, double* const ns, Error* const error)
{
  Device* const device = trial->device;
  const GpuApi* const api = device->api;
  const uint64_t deadline_ns = device->deadline_ns;
  const uint64_t patience_ns = deadline_ns < LONGEST_NS ? deadline_ns : LONGEST_NS;
  const uint64_t began = time_now_ns();
  bool done = false;
  Status status = api->submit(recording, ++trial->sequence);
  while (!status && !done) {
    const uint64_t waited_ns = time_now_ns() - began; // taken before the poll, as in stage_gpu.c
    status = api->poll(recording, trial->sequence, &done);
    if (!status && !done && waited_ns > patience_ns) {
      // Marks the device as late, so that its memory is not freed.
      atomic_store(&device->late_ns, patience_ns);
      atomic_fetch_add(&device->n_at_work, 1U);
      return error_set(error, STATUS_DEVICE_LOST, "%s: an empty block did not finish",
                       device->summary);
    }
  }
  *ns = (double)(time_now_ns() - began);
  if (status) {
    api->last_error(device->gpu, error);
  }
  return status;
}

/// Record a block with half of n_bytes in and half out, by copies or mapped.
static Status
record(SwitchTrial* const trial, const size_t n_bytes, const uint32_t way, Error* const error)
{
  const bool copies = way == COPIED;
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
  return trial->device->api->record(trial->device->gpu, &work, &trial->recordings[way], error);
}

/// Median times of a block by copies and mapped, after n_warm submissions of each.
static Status
measure(SwitchTrial* const trial, const size_t n_bytes, const uint32_t n_warm,
        double medians_ns[N_WAYS], Error* const error)
{
  double times_ns[N_WAYS][N_RUNS];
  Status status = record(trial, n_bytes, MAPPED, error);
  status = status ? status : record(trial, n_bytes, COPIED, error);
  for (uint32_t r = 0; !status && r < n_warm + N_RUNS; ++r) {
    for (uint32_t w = 0; !status && w < N_WAYS; ++w) {
      double* const ns = &times_ns[w][r < n_warm ? 0U : r - n_warm];
      status = run(trial, trial->recordings[w], ns, error);
    }
  }
  for (uint32_t w = 0; w < N_WAYS && !device_is_stuck(trial->device); ++w) {
    medians_ns[w] = status ? 0.0 : percentiles_of(times_ns[w], N_RUNS).p50;
    trial->device->api->recording_free(trial->recordings[w]);
    trial->recordings[w] = NULL;
  }
  return status;
}

static Status
find_switch(SwitchTrial* const trial, Error* const error)
{
  Status status = STATUS_OK;
  uint32_t n_losses = 0;
  for (uint32_t s = 0; !status && s < N_SIZES && n_losses < N_LOSSES; ++s) {
    double ns[N_WAYS];
    status = measure(trial, SMALLEST << s, s ? 0U : N_WARM, ns, error);
    if (!status && ns[MAPPED] > ns[COPIED]) {
      ++n_losses;
    } else if (!status) {
      n_losses = 0;
      trial->device->mapped_bytes = SMALLEST << s;
    }
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
