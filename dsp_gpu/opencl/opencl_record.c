// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares a submission: checks ranges, and makes for every launch its own kernel object that
// keeps the arguments, so that submitting only enqueues.

#include "opencl_private.h"

#include <stdlib.h>
#include <string.h>

// ---- copies ----

static Status
record_copy(const GpuCopy* const copy, RecordedCopy* const recorded, Error* const error)
{
  const GpuBuffer* const buffer = copy->buffer;
  const GpuHostMemory* const host = copy->host;
  if (!copy->n_bytes || copy->buffer_offset > buffer->n_bytes ||
      copy->n_bytes > buffer->n_bytes - copy->buffer_offset || copy->host_offset > host->n_bytes ||
      copy->n_bytes > host->n_bytes - copy->host_offset) {
    return error_set(error, STATUS_BAD_ARG,
                     "OpenCL: a copy of %zu bytes between byte %zu of %zu of a buffer and byte %zu "
                     "of %zu of host memory",
                     copy->n_bytes, copy->buffer_offset, buffer->n_bytes, copy->host_offset,
                     host->n_bytes);
  }
  const bool is_staged = host->pinned != host->pointer;
  *recorded = (RecordedCopy){ buffer->memory, copy->buffer_offset, copy->n_bytes,
                              host->pinned + copy->host_offset,
                              is_staged ? host->pointer + copy->host_offset : NULL };
  return STATUS_OK;
}

static Status
record_copies(const GpuCopy* const copies, const uint32_t n, RecordedCopy* const recorded,
              Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t c = 0; c < n && !status; ++c) {
    status = record_copy(&copies[c], &recorded[c], error);
  }
  return status;
}

// ---- arguments ----

// Memory from an offset on, as a sub-buffer, because OpenCL has no pointer arithmetic.
static cl_int
part_of(const cl_mem memory, const size_t offset, const size_t n_bytes, cl_mem* const part)
{
  if (offset >= n_bytes || offset % GPU_ALIGNMENT) {
    return CL_MISALIGNED_SUB_BUFFER_OFFSET;
  }
  const cl_buffer_region region = { offset, n_bytes - offset };
  cl_int code = CL_SUCCESS;
  *part = opencl_driver.clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  code = opencl_made(*part, code);
  if (code) {
    *part = NULL;
  }
  return code;
}

static cl_int
set_memory(RecordedLaunch* const recorded, const uint32_t a, const cl_mem memory,
           const size_t n_bytes, const size_t offset)
{
  cl_mem value = memory;
  if (offset) {
    const cl_int code = part_of(memory, offset, n_bytes, &recorded->parts[a]);
    if (code) {
      return code;
    }
    value = recorded->parts[a];
  }
  return opencl_driver.clSetKernelArg(recorded->kernel, a, sizeof(cl_mem), &value);
}

static cl_int
set_arg(RecordedLaunch* const recorded, const uint32_t a, const GpuArg* const arg)
{
  switch (arg->kind) {
  case GPU_ARG_BUFFER:
    return set_memory(recorded, a, arg->buffer->memory, arg->buffer->n_bytes, arg->offset);
  case GPU_ARG_HOST:
    if (!arg->host->device->found->info.reaches_host) {
      return CL_INVALID_MEM_OBJECT;
    }
    return set_memory(recorded, a, arg->host->memory, arg->host->n_bytes, arg->offset);
  case GPU_ARG_U32:
    return opencl_driver.clSetKernelArg(recorded->kernel, a, sizeof(arg->u32), &arg->u32);
  case GPU_ARG_F32:
    return opencl_driver.clSetKernelArg(recorded->kernel, a, sizeof(arg->f32), &arg->f32);
  }
  return CL_INVALID_ARG_VALUE;
}

// ---- launches ----

static Status
check_launch(const GpuLaunch* const launch, Error* const error)
{
  const GpuKernel* const kernel = launch->kernel;
  if (launch->n_args != kernel->n_args || launch->n_args > GPU_MAX_ARGS) {
    return error_set(error, STATUS_BAD_ARG, "%s: %s takes %u arguments, not %u",
                     kernel->module->name, kernel->name, kernel->n_args, launch->n_args);
  }
  if (launch->group_size != kernel->group_size || !launch->groups[0] || !launch->groups[1]) {
    return error_set(
        error, STATUS_BAD_ARG,
        "%s: %s is compiled for groups of %zu threads; %u x %u groups of %u were asked "
        "for",
        kernel->module->name, kernel->name, kernel->group_size, launch->groups[0],
        launch->groups[1], launch->group_size);
  }
  return STATUS_OK;
}

static Status
record_launch(GpuDevice* const device, const GpuLaunch* const launch,
              RecordedLaunch* const recorded, Error* const error)
{
  const GpuKernel* const kernel = launch->kernel;
  const Status status = check_launch(launch, error);
  if (status) {
    return status;
  }
  cl_int code = CL_SUCCESS;
  recorded->kernel = opencl_driver.clCreateKernel(kernel->module->program, kernel->name, &code);
  code = opencl_made(recorded->kernel, code);
  if (code) {
    recorded->kernel = NULL;
    return opencl_fail(device, error, "clCreateKernel", code);
  }
  for (uint32_t a = 0; a < launch->n_args; ++a) {
    code = set_arg(recorded, a, &launch->args[a]);
    if (code) {
      return error_set(error, STATUS_BAD_ARG, "%s: %s: argument %u (offset %zu): %s (%d)",
                       kernel->module->name, kernel->name, a, launch->args[a].offset,
                       opencl_error_name(code), code);
    }
  }
  recorded->group_size[0] = launch->group_size;
  recorded->group_size[1] = 1;
  recorded->n_threads[0] = (size_t)launch->groups[0] * launch->group_size;
  recorded->n_threads[1] = launch->groups[1];
  return STATUS_OK;
}

static void
clear_launch(RecordedLaunch* const recorded)
{
  if (recorded->kernel) {
    opencl_driver.clReleaseKernel(recorded->kernel);
  }
  for (uint32_t a = 0; a < GPU_MAX_ARGS; ++a) {
    if (recorded->parts[a]) {
      opencl_driver.clReleaseMemObject(recorded->parts[a]);
    }
  }
}

// ---- recordings ----

static Status
fill(GpuRecording* const recording, const GpuWork* const work, Error* const error)
{
  recording->n_in = work->n_in;
  recording->n_launches = work->n_launches;
  recording->n_out = work->n_out;
  // + 1: never an allocation of 0 bytes.
  recording->in = calloc(work->n_in + 1U, sizeof(recording->in[0]));
  recording->launches = calloc(work->n_launches + 1U, sizeof(recording->launches[0]));
  recording->out = calloc(work->n_out + 1U, sizeof(recording->out[0]));
  if (!recording->in || !recording->launches || !recording->out) {
    return error_set(error, STATUS_NO_MEM, "OpenCL: out of memory");
  }
  Status status = record_copies(work->in, work->n_in, recording->in, error);
  for (uint32_t l = 0; l < work->n_launches && !status; ++l) {
    status = record_launch(recording->device, &work->launches[l], &recording->launches[l], error);
  }
  return status ? status : record_copies(work->out, work->n_out, recording->out, error);
}

Status
opencl_record(GpuDevice* const device, const GpuWork* const work, GpuRecording** const out,
              Error* const error)
{
  Status status = opencl_check(device, error);
  if (status) {
    return status;
  }
  GpuRecording* const recording = calloc(1, sizeof(*recording));
  if (!recording) {
    return error_set(error, STATUS_NO_MEM, "OpenCL: out of memory");
  }
  recording->device = device;
  status = fill(recording, work, error);
  if (status) {
    opencl_recording_free(recording);
    return status;
  }
  *out = recording;
  return STATUS_OK;
}

void
opencl_recording_free(GpuRecording* const recording)
{
  if (!recording) {
    return;
  }
  // The caller then frees the memory, which commands of a lost device may still access.
  for (uint32_t q = 0; recording->is_queued && q < N_QUEUES; ++q) {
    opencl_driver.clFinish(recording->device->queues[q]);
  }
  if (recording->last) {
    opencl_driver.clReleaseEvent(recording->last);
  }
  for (uint32_t l = 0; recording->launches && l < recording->n_launches; ++l) {
    clear_launch(&recording->launches[l]);
  }
  free(recording->launches);
  free(recording->out);
  free(recording->in);
  free(recording);
}
