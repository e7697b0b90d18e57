// SPDX-License-Identifier: GPL-3.0-or-later
// Injected faults, between the caller and an implementation of GpuApi.

#include "gpu_faults.h"

#include "engine/base/faults.h"
#include "engine/base/time.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const GpuApi* real;
static GpuApi wrapped;
static atomic_bool is_lost, hangs, is_full;
static _Atomic(GpuRecording*) late;
static _Atomic uint64_t late_until_ns;

// ---- the calls that can fail ----

static void
last_error(GpuDevice* const device, Error* const error)
{
  if (atomic_load(&is_lost)) {
    error_set(error, STATUS_DEVICE_LOST, "%s: error %.0f, a fault on demand",
              engine_backend_names[real->kind], fault_value(FAULT_GPU_ERROR));
  } else {
    real->last_error(device, error);
  }
}

/// Return STATUS_DEVICE_LOST if the device is lost, as every call of a real driver does.
static Status
check(GpuDevice* const device, Error* const error)
{
  if (!atomic_load(&is_lost)) {
    return STATUS_OK;
  }
  last_error(device, error);
  return STATUS_DEVICE_LOST;
}

static Status
buffer_new(GpuDevice* const device, const size_t n_bytes, GpuBuffer** const buffer,
           Error* const error)
{
  if (fault_is_due(FAULT_GPU_NOMEM)) {
    atomic_store(&is_full, true);
  }
  if (atomic_load(&is_full)) {
    return error_set(error, STATUS_NO_MEM, "%s: %zu bytes requested, 0 free, a fault on demand",
                     engine_backend_names[real->kind], n_bytes);
  }
  const Status status = check(device, error);
  return status ? status : real->buffer_new(device, n_bytes, buffer, error);
}

static Status
host_new(GpuDevice* const device, const size_t n_bytes, GpuHostMemory** const host,
         Error* const error)
{
  const Status status = check(device, error);
  return status ? status : real->host_new(device, n_bytes, host, error);
}

static Status
module_new(GpuDevice* const device, const char* const name, const char* const source,
           const char* const* const options, GpuModule** const module, Error* const error)
{
  static const char mistake[] =
      "\nDEVICE f32\nmistaken(void)\n{\n  return asked_for_by_faults;\n}\n";
  Status status = check(device, error);
  if (status || !fault_is_due(FAULT_GPU_BUILD)) {
    return status ? status : real->module_new(device, name, source, options, module, error);
  }
  const size_t length = strlen(source);
  char* const text = malloc(length + sizeof(mistake));
  if (!text) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memcpy(text, source, length);
  memcpy(text + length, mistake, sizeof(mistake));
  status = real->module_new(device, name, text, options, module, error);
  free(text);
  return status;
}

static Status
record(GpuDevice* const device, const GpuWork* const work, GpuRecording** const recording,
       Error* const error)
{
  if (fault_is_due(FAULT_GPU_RECORD)) {
    return error_set(error, STATUS_NO_BACKEND, "%s: refused to record, a fault on demand",
                     engine_backend_names[real->kind]);
  }
  const Status status = check(device, error);
  return status ? status : real->record(device, work, recording, error);
}

/// Count a submission, and inject its faults.  False if it hangs or fails: then it does not reach
/// the driver, and never ends.
static bool
reaches_driver(GpuRecording* const recording)
{
  if (fault_is_due(FAULT_GPU_HANG)) {
    atomic_store(&hangs, true);
  }
  if (fault_is_due(FAULT_GPU_LATE)) {
    atomic_store(&late_until_ns,
                 time_now_ns() + (uint64_t)(fault_value(FAULT_GPU_LATE) * (double)NS_PER_MS));
    atomic_store(&late, recording);
  }
  const bool fails = fault_is_due(FAULT_GPU_ERROR);
  if (fails) {
    atomic_store(&is_lost, true); // the submission itself succeeds: asynchronous errors come later
  }
  return !fails && !atomic_load(&hangs);
}

static Status
submit(GpuRecording* const recording, const uint64_t sequence)
{
  if (atomic_load(&is_lost)) {
    return STATUS_DEVICE_LOST;
  }
  return reaches_driver(recording) ? real->submit(recording, sequence) : STATUS_OK;
}

static Status
rehearse(GpuRecording* const recording, const uint64_t sequence)
{
  if (atomic_load(&is_lost)) {
    return STATUS_DEVICE_LOST;
  }
  return reaches_driver(recording) ? real->rehearse(recording, sequence) : STATUS_OK;
}

static Status
poll(GpuRecording* const recording, const uint64_t sequence, bool* const done)
{
  *done = false;
  if (atomic_load(&is_lost)) {
    return STATUS_DEVICE_LOST;
  }
  const bool waits = atomic_load(&late) == recording && time_now_ns() < atomic_load(&late_until_ns);
  return waits ? STATUS_OK : real->poll(recording, sequence, done);
}

// ---- calls that would wait for ever for a submission that never ends ----

static void
must_not_hang(const char* const call, const void* const object)
{
  if (object && atomic_load(&hangs)) {
    fprintf(stderr, "gpu.hang: %s on a device that hangs would never return\n", call);
    abort();
  }
}

static void
close_device(GpuDevice* const device)
{
  must_not_hang("close()", device);
  real->close(device);
}

static void
buffer_free(GpuBuffer* const buffer)
{
  must_not_hang("buffer_free()", buffer);
  real->buffer_free(buffer);
}

static void
host_free(GpuHostMemory* const host)
{
  must_not_hang("host_free()", host);
  real->host_free(host);
}

static void
module_free(GpuModule* const module)
{
  must_not_hang("module_free()", module);
  real->module_free(module);
}

static void
recording_free(GpuRecording* const recording)
{
  must_not_hang("recording_free()", recording);
  real->recording_free(recording);
}

static Status
finish(GpuDevice* const device, Error* const error)
{
  must_not_hang("finish()", device);
  const Status status = check(device, error);
  return status ? status : real->finish(device, error);
}

void
gpu_faults_wrap(const GpuApi** const api)
{
  faults_recount(FAULT_GPU_BUILD, FAULT_GPU_RECORD);
  atomic_store(&is_lost, false);
  atomic_store(&hangs, false);
  atomic_store(&is_full, false);
  atomic_store(&late, NULL);
  real = *api;
  wrapped = *real;
  wrapped.close = close_device;
  wrapped.buffer_new = buffer_new;
  wrapped.buffer_free = buffer_free;
  wrapped.host_new = host_new;
  wrapped.host_free = host_free;
  wrapped.module_new = module_new;
  wrapped.module_free = module_free;
  wrapped.record = record;
  wrapped.recording_free = recording_free;
  wrapped.rehearse = rehearse;
  wrapped.submit = submit;
  wrapped.poll = poll;
  wrapped.finish = finish;
  wrapped.last_error = last_error;
  *api = &wrapped;
}
