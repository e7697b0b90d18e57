// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA implementation, on a fake driver that tracks dependencies: transfers are asynchronous
// and pinned, each kind in its stream; the copies of one block overlap the kernels of another;
// kernels keep their order; without copies, blocks are one chain of kernels; a block costs one
// launch only; a finished block is complete.

#include "dsp_gpu/cuda/cuda_private.h"
#include "tests/support/fake_cuda/cuda_rig.h"
#include "tests/support/fake_cuda/fake_checks.h"
#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/fake_nvrtc.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL "selftest_history"

TEST(the_driver_is_set_up_for_real_time)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  ck_assert_str_eq(fake_module_loading(), "EAGER");
  ck_assert_uint_eq(fake_context_flags(), CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST);
  ck_assert_str_eq(fake_loaded_kernel(), KERNEL);
  uint32_t n_calls = 0;
  const FakeCall* const calls = fake_calls(&n_calls);
  for (uint32_t c = 0; c < n_calls; ++c) {
    if (!strcmp(calls[c].name, "cuStreamCreate")) {
      ck_assert_uint_eq(calls[c].flags, CU_STREAM_NON_BLOCKING);
    } else if (!strcmp(calls[c].name, "cuEventCreate")) {
      ck_assert_uint_eq(calls[c].flags, CU_EVENT_DISABLE_TIMING);
    } else if (!strcmp(calls[c].name, "cuStreamBeginCapture_v2")) {
      ck_assert_uint_eq(calls[c].flags, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    }
  }
  ck_assert_str_eq(fake_nvrtc_options(),
                   "--gpu-architecture=sm_90 --std=c++14 --fmad=true -DGROUP_SIZE=64");
}

TEST(a_device_is_described)
{
  GpuDeviceInfo info;
  Error error;
  ck_assert(!gpu_cuda.load(&error) && gpu_cuda.n_devices() == 1U);
  ck_assert(!gpu_cuda.describe(0, &info, &error));
  ck_assert_str_eq(info.name, "Fake GPU");
  ck_assert_uint_eq(info.memory_bytes, FAKE_MEMORY_BYTES);
  ck_assert_uint_eq(info.compute_units, 4);
  ck_assert_uint_eq(info.max_group, 1024);
  ck_assert_uint_eq(info.local_bytes, 49152);
  ck_assert_uint_eq(info.capability, FAKE_CAPABILITY);
  ck_assert(info.is_gpu && info.reaches_host && !info.shares_memory && info.ends_kernels);
  assert_says(info.driver, "CUDA 13.0");
}

TEST(memory_is_zeroed_and_copied_in_pieces)
{
  enum { N_BYTES = 3 * 1024 * 1024 + 5 }; // several times the staging memory, and a remainder
  static char bytes[N_BYTES];
  static char back[N_BYTES];
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  GpuBuffer* buffer = NULL;
  Error error = { 0 };
  const uint64_t n_free = cuda_free_bytes(rig.device);
  ck_assert(!gpu_cuda.buffer_new(rig.device, N_BYTES + 7U, &buffer, &error));
  ck_assert_uint_eq(cuda_free_bytes(rig.device), n_free - N_BYTES - 7U);
  memset(back, 1, sizeof(back));
  ck_assert(!gpu_cuda.buffer_read(buffer, 7, back, N_BYTES, &error));
  ck_assert_mem_eq(back, bytes, N_BYTES);
  for (size_t i = 0; i < N_BYTES; ++i) {
    bytes[i] = (char)(i * 31U >> 3U);
  }
  ck_assert(!gpu_cuda.buffer_write(buffer, 7, bytes, N_BYTES, &error));
  ck_assert(!gpu_cuda.buffer_read(buffer, 7, back, N_BYTES, &error));
  ck_assert_mem_eq(back, bytes, N_BYTES);
  ck_assert_int_eq(gpu_cuda.buffer_write(buffer, 8, bytes, N_BYTES, &error), STATUS_BAD_ARG);
  ck_assert_int_eq(gpu_cuda.buffer_read(buffer, SIZE_MAX, back, 2, &error), STATUS_BAD_ARG);
  gpu_cuda.buffer_free(buffer);
}

TEST(host_memory_is_mapped_and_zeroed)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  GpuHostMemory* host = NULL;
  OK(gpu_cuda.host_new(rig.device, 1000, &host, &error));
  static const char zeros[1000];
  ck_assert_mem_eq(gpu_cuda.host_pointer(host), zeros, 1000);
  ck_assert_ptr_eq(gpu_cuda.host_pointer(rig.region), rig.ring);
  uint32_t n_calls = 0;
  const FakeCall* const calls = fake_calls(&n_calls);
  for (uint32_t c = 0; c < n_calls; ++c) {
    if (!strcmp(calls[c].name, "cuMemHostRegister_v2")) {
      ck_assert_uint_eq(calls[c].flags, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    }
  }
  gpu_cuda.host_free(host);
}

TEST(every_transfer_is_asynchronous_pinned_and_in_its_stream)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  float samples[RIG_FRAMES];
  for (uint64_t block = 1; block <= 8; ++block) {
    cuda_rig_submit(&rig, block % RIG_SLOTS, block, 1.0F);
  }
  OK(gpu_cuda.buffer_read(rig.state, 0, samples, sizeof(samples), &error));

  fake_assert_transfers(0, 1 + 2 * 8 + 1);
}

TEST(samples_and_state_go_through_all_slots)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  float expected = 0.0F;
  for (uint64_t block = 1; block <= 12; ++block) {
    const uint32_t slot = (uint32_t)(block % RIG_SLOTS);
    cuda_rig_submit(&rig, slot, block, (float)block);
    ck_assert(cuda_rig_is_done(&rig, slot, block));
    ck_assert(!cuda_rig_is_done(&rig, slot, block + 1U));
    expected = expected * 0.5F + (float)block;
    ck_assert_float_eq(cuda_rig_out(&rig, slot)[0], expected);
    ck_assert_float_eq(cuda_rig_out(&rig, slot)[RIG_FRAMES - 1U], expected);
  }
}

TEST(done_is_written_after_everything_else)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  fake_hold(true);
  cuda_rig_submit(&rig, 0, 1, 3.0F);
  const uint32_t copy_in = fake_must_find(1, FAKE_COPY_IN, NULL);
  const uint32_t kernel = fake_must_find(1, FAKE_KERNEL, KERNEL);
  const uint32_t copy_out = fake_must_find(1, FAKE_COPY_OUT, NULL);
  const uint32_t done = fake_must_find(1, FAKE_KERNEL, "warprack_done");
  ck_assert(fake_waits(kernel, copy_in));
  ck_assert(fake_waits(copy_out, kernel));
  ck_assert(fake_waits(done, copy_out));
  fake_run(copy_out);
  ck_assert(!cuda_rig_is_done(&rig, 0, 1));
  fake_run(done);
  ck_assert(cuda_rig_is_done(&rig, 0, 1));
  ck_assert_float_eq(cuda_rig_out(&rig, 0)[0], 3.0F);
}

TEST(a_recording_is_freed_after_its_work)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  cuda_rig_submit(&rig, 0, 1, 1.0F);
  cuda_rig_submit(&rig, 1, 2, 1.0F);
  ck_assert(cuda_rig_is_done(&rig, 1, 2));
  fake_forget_calls();
  gpu_cuda.recording_free(rig.recordings[1]); // done: there is nothing to wait for
  rig.recordings[1] = NULL;
  ck_assert_uint_eq(fake_n_calls("cuStreamSynchronize"), 0);
  fake_hold(true);
  cuda_rig_submit(&rig, 0, 3, 1.0F);
  const uint32_t done = fake_must_find(3, FAKE_KERNEL, "warprack_done");
  ck_assert(!fake_op(done)->is_done);
  gpu_cuda.recording_free(rig.recordings[0]);
  rig.recordings[0] = NULL;
  ck_assert(fake_op(done)->is_done);
}

TEST(copies_of_one_block_overlap_kernels_of_another)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  fake_hold(true);
  for (uint64_t block = 1; block <= 4; ++block) { // block k + 1 is enqueued while k waits to run
    cuda_rig_submit(&rig, (uint32_t)(block - 1U), block, 1.0F);
  }
  for (uint32_t block = 1; block < 4; ++block) {
    const uint32_t kernel = fake_must_find(block, FAKE_KERNEL, KERNEL);
    const uint32_t next_kernel = fake_must_find(block + 1U, FAKE_KERNEL, KERNEL);
    const uint32_t next_copy_in = fake_must_find(block + 1U, FAKE_COPY_IN, NULL);
    const uint32_t copy_out = fake_must_find(block, FAKE_COPY_OUT, NULL);
    const uint32_t done = fake_must_find(block, FAKE_KERNEL, "warprack_done");
    ck_assert_ptr_ne(fake_op(kernel)->launched_in, fake_op(next_kernel)->launched_in);
    ck_assert(!fake_waits(next_copy_in, kernel));
    ck_assert(fake_waits(next_kernel, kernel));
    ck_assert(!fake_waits(next_kernel, copy_out));
    ck_assert(!fake_waits(next_kernel, done));
  }
  // The copies do overlap: block 2 is on the device before block 1 has been processed.
  fake_run(fake_must_find(2, FAKE_COPY_IN, NULL));
  ck_assert(!fake_op(fake_must_find(1, FAKE_COPY_IN, NULL))->is_done);
  ck_assert(!cuda_rig_is_done(&rig, 0, 1));
  fake_run_all();
  for (uint32_t slot = 0; slot < 4; ++slot) {
    ck_assert(cuda_rig_is_done(&rig, slot, slot + 1U));
    ck_assert_float_eq(cuda_rig_out(&rig, slot)[0], 2.0F - 1.0F / (float)(1U << slot));
  }
}

TEST(kernels_keep_the_order_of_submission)
{
  static const uint32_t orders[][8] = {
    { 0, 1, 2, 3, 0, 1, 2, 3 }, // in the order of blocks
    { 0, 2, 0, 2, 1, 3, 3, 1 }, // one lane, then the other
    { 3, 0, 0, 1, 1, 2, 2, 3 }, // each slot twice
    { 2, 1, 0, 3, 3, 3, 0, 1 },
  };
  for (size_t o = 0; o < ARRAY_LEN(orders); ++o) {
    SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
    fake_hold(true);
    for (uint32_t block = 1; block <= 8; ++block) {
      cuda_rig_submit(&rig, orders[o][block - 1U], block, 1.0F);
    }
    for (uint32_t later = 2; later <= 8; ++later) {
      for (uint32_t sooner = 1; sooner < later; ++sooner) {
        ck_assert_msg(fake_waits(fake_must_find(later, FAKE_KERNEL, KERNEL),
                                 fake_must_find(sooner, FAKE_KERNEL, KERNEL)),
                      "order %zu: the kernel of block %u does not wait for that of block %u", o,
                      later, sooner);
      }
    }
  }
}

TEST(a_block_costs_one_launch_and_nothing_that_stalls)
{
  enum { N_BLOCKS = 200, N_POLLS = 5000 };
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  fake_forget_calls();
  uint32_t n_polls = 0;
  for (uint32_t block = 1; block <= N_BLOCKS; ++block) {
    const uint32_t slot = block % RIG_SLOTS;
    fake_hold(block == N_BLOCKS); // the test waits for the last block
    cuda_rig_submit(&rig, slot, block, 1.0F);
    for (uint32_t poll = 0; poll < N_POLLS && !cuda_rig_is_done(&rig, slot, block); ++poll) {
      ++n_polls;
    }
  }
  fake_assert_launches(N_BLOCKS);
  ck_assert_uint_eq(n_polls, N_POLLS);
  ck_assert_uint_gt(fake_n_calls("cuStreamQuery"), 0);
  ck_assert_uint_le(fake_n_calls("cuStreamQuery"), N_POLLS / 1000);
}

/// A recording without copies: a kernel from the input of slot 0 to the output of slot 0.
static GpuRecording*
record_mapped(const CudaRig* const rig, const uint32_t slot)
{
  GpuKernel* scale = NULL;
  GpuRecording* recording = NULL;
  OK(gpu_cuda.kernel_get(rig->module, "selftest_scale", &scale, &error));
  const GpuLaunch launch = {
    .kernel = scale,
    .groups = { 1, 1 },
    .group_size = RIG_FRAMES,
    .n_args = 4,
    .args = { { GPU_ARG_HOST, { .host = rig->region }, 0 },
              { GPU_ARG_HOST, { .host = rig->region }, 2048 },
              { GPU_ARG_F32, { .f32 = 0.25F }, 0 },
              { GPU_ARG_U32, { .u32 = RIG_FRAMES - 1U }, 0 } },
  };
  const GpuWork work = {
    .slot = slot, .launches = &launch, .n_launches = 1, .is_void = rig->in[slot]
  };
  OK(gpu_cuda.record(rig->device, &work, &recording, &error));
  return recording;
}

TEST(kernels_reach_mapped_memory_without_copies)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  GpuRecording* const recording = record_mapped(&rig, 0);
  cuda_rig_in(&rig, 0)[3] = 8.0F;
  cuda_rig_out(&rig, 0)[RIG_FRAMES - 1U] = 5.0F;
  ck_assert(!gpu_cuda.submit(recording, 77));
  bool is_done = false;
  ck_assert(!gpu_cuda.poll(recording, 77, &is_done) && is_done);
  ck_assert_float_eq(cuda_rig_out(&rig, 0)[3], 2.0F);
  ck_assert_float_eq(cuda_rig_out(&rig, 0)[RIG_FRAMES - 1U], 5.0F); // behind `length`
  gpu_cuda.recording_free(recording);
}

TEST(without_copies_all_blocks_are_one_chain_of_kernels)
{
  static const char* const kernels[] = { "selftest_scale", "warprack_done" };
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  GpuRecording* const slots[] = { record_mapped(&rig, 0), record_mapped(&rig, 1) };
  fake_hold(true);
  uint32_t last = UINT32_MAX;
  for (uint32_t block = 1; block <= 4; ++block) {
    ck_assert(!gpu_cuda.submit(slots[block % 2U], block));
    const uint32_t first = fake_assert_chain(block, kernels, ARRAY_LEN(kernels));
    ck_assert(block == 1U || fake_waits(first, last));
    last = first + 1U;
  }
  fake_run_all();
  gpu_cuda.recording_free(slots[0]);
  gpu_cuda.recording_free(slots[1]);
}

static void
rehearse(GpuRecording* const recording)
{
  bool is_done = false;
  ck_assert(!gpu_cuda.rehearse(recording, 1U));
  ck_assert(!gpu_cuda.poll(recording, 1U, &is_done) && is_done);
}

TEST(another_submission_cancels_an_armed_one)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  GpuRecording* const slots[] = { record_mapped(&rig, 0), record_mapped(&rig, 1) };
  rehearse(slots[0]);
  ck_assert(!gpu_cuda.arm(slots[0]));
  rehearse(slots[1]);
  ck_assert(!gpu_cuda.arm(slots[1])); // does nothing
  const uint32_t n_launches = fake_n_calls("cuGraphLaunch");
  for (uint64_t block = 3; block < 6U; ++block) {
    bool is_done = false;
    ck_assert(!gpu_cuda.submit(slots[1], block));
    ck_assert(!gpu_cuda.poll(slots[1], block, &is_done) && is_done);
    ck_assert(!gpu_cuda.arm(slots[0]));
  }
  ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), n_launches + 6U);
  gpu_cuda.recording_free(slots[0]);
  ck_assert(!gpu_cuda.arm(slots[1]));
  ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), n_launches + 7U);
  gpu_cuda.disarm(slots[1]);
  gpu_cuda.recording_free(slots[1]);
}

TEST(finish_waits_for_both_lanes)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  fake_hold(true);
  cuda_rig_submit(&rig, 0, 1, 1.0F);
  cuda_rig_submit(&rig, 1, 2, 1.0F);
  OK(gpu_cuda.finish(rig.device, &error));
  ck_assert(cuda_rig_is_done(&rig, 0, 1) && cuda_rig_is_done(&rig, 1, 2));
  ck_assert_uint_eq(fake_n_calls("cuCtxSynchronize"), 0);
}

// Builder and worker use one device at once: a thread submits while another allocates and records.

static void*
play(void* const argument)
{
  const CudaRig* const rig = argument;
  for (uint64_t block = 1; block <= 500; ++block) {
    const uint32_t slot = (uint32_t)(block % 2U);
    cuda_rig_submit(rig, slot, block, 1.0F);
    while (!cuda_rig_is_done(rig, slot, block)) {
    }
  }
  return NULL;
}

TEST(a_plan_is_built_while_another_plays)
{
  SCOPED(cuda_rig_free) CudaRig rig = cuda_rig();
  pthread_t worker;
  ck_assert(!pthread_create(&worker, NULL, play, &rig));
  for (uint32_t plan = 0; plan < 50; ++plan) {
    GpuBuffer* buffer = NULL;
    GpuRecording* recording = NULL;
    OK(gpu_cuda.buffer_new(rig.device, 4096, &buffer, &error));
    const GpuCopy in = { buffer, 0, rig.region, 0, 64 };
    const GpuWork work = { .slot = plan, .in = &in, .n_in = 1 };
    OK(gpu_cuda.record(rig.device, &work, &recording, &error));
    gpu_cuda.recording_free(recording);
    gpu_cuda.buffer_free(buffer);
  }
  pthread_join(worker, NULL);
}

SUITE_MAIN("gpu_cuda")
