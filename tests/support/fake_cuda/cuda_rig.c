// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA half of dsp_gpu on the fake driver, with a ring of four slots.

#include "cuda_rig.h"

#include "fake_checks.h"
#include "fake_cuda.h"

#include "dsp_gpu/gpu_compile.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_BYTES   ((size_t)4096)
#define OUT_OFFSET   ((size_t)2048) // of the output in a slot
#define RING_BYTES   (RIG_SLOTS * SLOT_BYTES)
#define BLOCK_BYTES  (RIG_FRAMES * sizeof(float))
#define BUFFER_BYTES (2U * GPU_ALIGNMENT)

static void
history(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  const float* const in = fake_host(*(const CUdeviceptr*)params[0]);
  float* const state = fake_host(*(const CUdeviceptr*)params[1]);
  float* const out = fake_host(*(const CUdeviceptr*)params[2]);
  for (uint32_t i = 0; i < n_groups * group_size; ++i) {
    state[i] = state[i] * 0.5F + in[i];
    out[i] = state[i];
  }
}

static void
scale(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  const float* const in = fake_host(*(const CUdeviceptr*)params[0]);
  float* const out = fake_host(*(const CUdeviceptr*)params[1]);
  float gain;
  memcpy(&gain, params[2], sizeof(gain));
  const uint32_t length = *(const uint32_t*)params[3];
  for (uint32_t i = 0; i < n_groups * group_size && i < length; ++i) {
    out[i] = in[i] * gain;
  }
}

static void
nudge(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  (void)params;
  ck_assert_uint_eq(n_groups * group_size, 1);
}

void
cuda_rig_prepare(void)
{
  setenv("XDG_CACHE_HOME", "/dev/null", 1); // not a folder: nothing is cached
  fake_reset();
  fake_teach("selftest_history", "ppp", history);
  fake_teach("selftest_scale", "ppuu", scale);
  fake_teach_ends();
  fake_teach("warprack_nudge", "", nudge);
}

static Status
record(CudaRig* const rig, const uint32_t slot, Error* const error)
{
  const GpuCopy in = { rig->in[slot], GPU_ALIGNMENT, rig->region, slot * SLOT_BYTES, BLOCK_BYTES };
  const GpuCopy out = { rig->out[slot], 0, rig->region, slot * SLOT_BYTES + OUT_OFFSET,
                        BLOCK_BYTES };
  const GpuLaunch launch = {
    .kernel = rig->history,
    .groups = { 1, 1 },
    .group_size = RIG_FRAMES,
    .n_args = 3,
    .args = { { GPU_ARG_BUFFER, { .buffer = rig->in[slot] }, GPU_ALIGNMENT },
              { GPU_ARG_BUFFER, { .buffer = rig->state }, 0 },
              { GPU_ARG_BUFFER, { .buffer = rig->out[slot] }, 0 } },
  };
  const GpuWork work = { .slot = slot,
                         .in = &in,
                         .n_in = 1,
                         .launches = &launch,
                         .n_launches = 1,
                         .out = &out,
                         .n_out = 1 };
  return gpu_cuda.record(rig->device, &work, &rig->recordings[slot], error);
}

static Status
make_buffers(CudaRig* const rig, Error* const error)
{
  static const float zeros[RIG_FRAMES];
  Status status = gpu_cuda.buffer_new(rig->device, BUFFER_BYTES, &rig->state, error);
  for (uint32_t s = 0; s < RIG_SLOTS && !status; ++s) {
    status = gpu_cuda.buffer_new(rig->device, BUFFER_BYTES, &rig->in[s], error);
    status = status ? status : gpu_cuda.buffer_new(rig->device, BUFFER_BYTES, &rig->out[s], error);
  }
  return status ? status : gpu_cuda.buffer_write(rig->state, 0, zeros, sizeof(zeros), error);
}

Status
cuda_rig_new(CudaRig* const rig, Error* const error)
{
  *rig = (CudaRig){ .ring = aligned_alloc(4096U, RING_BYTES) };
  memset(rig->ring, 0, RING_BYTES);
  static const char* const options[] = { "-DGROUP_SIZE=64", NULL };
  GpuDeviceInfo info;
  Status status = gpu_cuda.load(error);
  status = status ? status : gpu_cuda.describe(0, &info, error);
  status = status ? status : gpu_cuda.open(0, &rig->device, error);
  if (!status) {
    status = gpu_cuda.host_register(rig->device, rig->ring, RING_BYTES, &rig->region, error);
  }
  status = status ? status : make_buffers(rig, error);
  if (!status) {
    status = gpu_cuda.module_new(rig->device, "selftest.cu", gpu_source_find("selftest.cu")->text,
                                 options, &rig->module, error);
  }
  if (!status) {
    status = gpu_cuda.kernel_get(rig->module, "selftest_history", &rig->history, error);
  }
  for (uint32_t s = 0; s < RIG_SLOTS && !status; ++s) {
    status = record(rig, s, error);
  }
  return status;
}

void
cuda_rig_free(CudaRig* const rig)
{
  for (uint32_t s = 0; s < RIG_SLOTS; ++s) {
    gpu_cuda.recording_free(rig->recordings[s]);
    gpu_cuda.buffer_free(rig->in[s]);
    gpu_cuda.buffer_free(rig->out[s]);
  }
  gpu_cuda.buffer_free(rig->state);
  gpu_cuda.module_free(rig->module);
  gpu_cuda.host_free(rig->region);
  gpu_cuda.close(rig->device);
  free(rig->ring);
  *rig = (CudaRig){ 0 };
}

CudaRig
cuda_rig(void)
{
  CudaRig rig;
  cuda_rig_prepare();
  OK(cuda_rig_new(&rig, &error));
  return rig;
}

float*
cuda_rig_in(const CudaRig* const rig, const uint32_t slot)
{
  return (float*)((char*)rig->ring + slot * SLOT_BYTES);
}

float*
cuda_rig_out(const CudaRig* const rig, const uint32_t slot)
{
  return (float*)((char*)rig->ring + slot * SLOT_BYTES + OUT_OFFSET);
}

void
cuda_rig_submit(const CudaRig* const rig, const uint32_t slot, const uint64_t sequence,
                const float value)
{
  for (uint32_t i = 0; i < RIG_FRAMES; ++i) {
    cuda_rig_in(rig, slot)[i] = value;
  }
  ck_assert_int_eq(gpu_cuda.submit(rig->recordings[slot], sequence), STATUS_OK);
}

bool
cuda_rig_is_done(const CudaRig* const rig, const uint32_t slot, const uint64_t sequence)
{
  bool is_done = false;
  ck_assert_int_eq(gpu_cuda.poll(rig->recordings[slot], sequence, &is_done), STATUS_OK);
  return is_done;
}
