// SPDX-License-Identifier: GPL-3.0-or-later
// A device with kernels, for tests.

#include "gpu_checks.h"

#include "suite.h"

#include "dsp_gpu/gpu_compile.h"
#include "engine/base/time.h"

#include <sched.h>

GpuRig
gpu_rig_open(const GpuApi* const api)
{
  static const char* const options[] = { "-DGROUP_SIZE=64", NULL };
  _Static_assert(GPU_CHECKS_GROUP == 64U, "must equal GROUP_SIZE in the options");
  GpuRig rig = { .api = api };
  const GpuSource* const source = gpu_source_find("selftest.cu");
  ck_assert_ptr_nonnull(source);
  OK(api->load(&error));
  OK(api->describe(0, &rig.info, &error));
  OK(api->open(0, &rig.device, &error));
  OK(api->module_new(rig.device, source->name, source->text, options, &rig.module, &error));
  return rig;
}

void
gpu_rig_close(GpuRig* const rig)
{
  rig->api->module_free(rig->module);
  rig->api->close(rig->device);
}

GpuBuffer*
gpu_rig_buffer(const GpuRig* const rig, const size_t n_bytes)
{
  GpuBuffer* buffer = NULL;
  OK(rig->api->buffer_new(rig->device, n_bytes, &buffer, &error));
  return buffer;
}

GpuHostMemory*
gpu_rig_host(const GpuRig* const rig, const size_t n_bytes)
{
  GpuHostMemory* host = NULL;
  OK(rig->api->host_new(rig->device, n_bytes, &host, &error));
  return host;
}

GpuKernel*
gpu_rig_kernel(const GpuRig* const rig, const char* const name)
{
  GpuKernel* kernel = NULL;
  OK(rig->api->kernel_get(rig->module, name, &kernel, &error));
  return kernel;
}

GpuRecording*
gpu_rig_record(const GpuRig* const rig, const GpuWork* const work)
{
  GpuRecording* recording = NULL;
  OK(rig->api->record(rig->device, work, &recording, &error));
  return recording;
}

void
gpu_rig_await(const GpuRig* const rig, GpuRecording* const recording, const uint64_t sequence)
{
  const uint64_t end_ns = time_now_ns() + 100000000000U; // PoCL compiles at the first launch
  for (bool done = false; !done;) {
    const Status status = rig->api->poll(recording, sequence, &done);
    if (status) {
      Error error;
      rig->api->last_error(rig->device, &error);
      ck_abort_msg("%s: %s", status_text(status), error.text);
    }
    sched_yield(); // a device that is a CPU needs this core
    ck_assert_msg(done || time_now_ns() < end_ns, "submission %u is not done after 20 s",
                  (unsigned)sequence);
  }
}

void
gpu_rig_run(const GpuRig* const rig, GpuRecording* const recording, const uint64_t sequence)
{
  ck_assert_int_eq(rig->api->submit(recording, sequence), STATUS_OK);
  gpu_rig_await(rig, recording, sequence);
}

GpuTrip
gpu_trip_new(const GpuRig* const rig, const uint32_t n_floats, const float gain)
{
  const size_t n_bytes = n_floats * sizeof(float);
  GpuTrip trip = { .in = gpu_rig_host(rig, n_bytes),
                   .out = gpu_rig_host(rig, n_bytes),
                   .d_in = gpu_rig_buffer(rig, n_bytes),
                   .d_out = gpu_rig_buffer(rig, n_bytes) };
  const GpuCopy in = { trip.d_in, 0, trip.in, 0, n_bytes };
  const GpuCopy out = { trip.d_out, 0, trip.out, 0, n_bytes };
  const GpuLaunch launch = {
    .kernel = gpu_rig_kernel(rig, "selftest_scale"),
    .groups = { (n_floats + GPU_CHECKS_GROUP - 1U) / GPU_CHECKS_GROUP, 1 },
    .group_size = GPU_CHECKS_GROUP,
    .n_args = 4,
    .args = { { .kind = GPU_ARG_BUFFER, .buffer = trip.d_in },
              { .kind = GPU_ARG_BUFFER, .buffer = trip.d_out },
              { .kind = GPU_ARG_F32, .f32 = gain },
              { .kind = GPU_ARG_U32, .u32 = n_floats } },
  };
  const GpuWork work = {
    .in = &in, .n_in = 1, .launches = &launch, .n_launches = 1, .out = &out, .n_out = 1
  };
  trip.recording = gpu_rig_record(rig, &work);
  return trip;
}

void
gpu_trip_free(const GpuRig* const rig, GpuTrip* const trip)
{
  rig->api->recording_free(trip->recording);
  rig->api->buffer_free(trip->d_out);
  rig->api->buffer_free(trip->d_in);
  rig->api->host_free(trip->out);
  rig->api->host_free(trip->in);
}
