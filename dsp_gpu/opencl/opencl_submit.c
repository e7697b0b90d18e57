// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The player's part of OpenCL: enqueues a recording and polls until it is done.

       in:       write, write ──┐
       kernels:                 └─▶ kernel, kernel ──┐
       out:                                          └─▶ read, read ──▶ last

   Each queue runs in order, and only the first command of a queue waits for the previous queue, so
   that the writes of one slot overlap the kernels of another.

   The player polls the state of the last command.  A callback would run on a thread of the driver.
   A flag that a kernel writes would cost one more command, and does not guarantee that the writes
   of other commands are visible. (PoCL 3.1: a poll takes 20 ns, another kernel 5 us.)
*/

#include "opencl_private.h"

#include <string.h>

/// A submission while it is being enqueued.
typedef struct Chain {
  GpuDevice* device;
  const char* call; ///< The last call, for messages
  cl_int code;
  cl_event last; ///< Last event of the previous queue, NULL for the first queue
} Chain;

// ---- the three queues ----

// The events that a command waits for: the first command of a queue waits for the last of the
// previous queue.
static cl_uint
n_waits(const Chain* const chain, const uint32_t index)
{
  return index == 0 && chain->last ? 1 : 0;
}

// The next queue waits for the event of the last command of this queue.
static cl_event*
event_of(cl_event* const event, const uint32_t index, const uint32_t n)
{
  return index + 1U == n ? event : NULL;
}

static void
pass_on(Chain* const chain, const uint32_t queue, const cl_event event)
{
  chain->code = opencl_made(event, chain->code); // without an event, the next queue would not wait
  if (chain->last) {
    opencl_driver.clReleaseEvent(chain->last);
  }
  chain->last = event;
  if (!chain->code) {
    chain->call = "clFlush";
    chain->code = opencl_driver.clFlush(chain->device->queues[queue]);
  }
}

static void
enqueue_in(Chain* const chain, const GpuRecording* const recording)
{
  cl_event event = NULL;
  for (uint32_t c = 0; c < recording->n_in && !chain->code; ++c) {
    const RecordedCopy* const copy = &recording->in[c];
    if (copy->staged) {
      memcpy(copy->pinned, copy->staged, copy->n_bytes);
    }
    chain->call = "clEnqueueWriteBuffer";
    chain->code = opencl_driver.clEnqueueWriteBuffer(
        chain->device->queues[QUEUE_IN], copy->buffer, CL_FALSE, copy->offset, copy->n_bytes,
        copy->pinned, 0, NULL, event_of(&event, c, recording->n_in));
  }
  if (recording->n_in) {
    pass_on(chain, QUEUE_IN, event);
  }
}

// Without kernels, enqueue a marker: later commands run after the kernels of earlier submissions.
static cl_event
enqueue_marker(Chain* const chain)
{
  cl_event event = NULL;
  const cl_uint waits = n_waits(chain, 0);
  chain->call = "clEnqueueMarkerWithWaitList";
  chain->code = opencl_driver.clEnqueueMarkerWithWaitList(
      chain->device->queues[QUEUE_KERNELS], waits, waits ? &chain->last : NULL, &event);
  return event;
}

static void
enqueue_kernels(Chain* const chain, const GpuRecording* const recording)
{
  cl_event event = recording->n_launches ? NULL : enqueue_marker(chain);
  for (uint32_t l = 0; l < recording->n_launches && !chain->code; ++l) {
    const RecordedLaunch* const launch = &recording->launches[l];
    const cl_uint waits = n_waits(chain, l);
    chain->call = "clEnqueueNDRangeKernel";
    chain->code = opencl_driver.clEnqueueNDRangeKernel(
        chain->device->queues[QUEUE_KERNELS], launch->kernel, 2, NULL, launch->n_threads,
        launch->group_size, waits, waits ? &chain->last : NULL,
        event_of(&event, l, recording->n_launches));
  }
  pass_on(chain, QUEUE_KERNELS, event);
}

static void
enqueue_out(Chain* const chain, const GpuRecording* const recording)
{
  cl_event event = NULL;
  for (uint32_t c = 0; c < recording->n_out && !chain->code; ++c) {
    const RecordedCopy* const copy = &recording->out[c];
    const cl_uint waits = n_waits(chain, c);
    chain->call = "clEnqueueReadBuffer";
    chain->code = opencl_driver.clEnqueueReadBuffer(
        chain->device->queues[QUEUE_OUT], copy->buffer, CL_FALSE, copy->offset, copy->n_bytes,
        copy->pinned, waits, waits ? &chain->last : NULL, event_of(&event, c, recording->n_out));
  }
  if (recording->n_out) {
    pass_on(chain, QUEUE_OUT, event);
  }
}

Status
opencl_submit(GpuRecording* const recording, const uint64_t sequence)
{
  GpuDevice* const device = recording->device;
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  if (recording->last) {
    return STATUS_BAD_ARG; // in flight: its memory is in use
  }
  recording->is_queued = true;
  Chain chain = { device, "", CL_SUCCESS, NULL };
  enqueue_in(&chain, recording);
  if (!chain.code) {
    enqueue_kernels(&chain, recording);
  }
  if (!chain.code) {
    enqueue_out(&chain, recording);
  }
  recording->last = chain.last;
  recording->in_flight = sequence;
  // A part of the work may be in the queues, and OpenCL cannot remove it.
  return chain.code ? opencl_lose(device, NULL, chain.call, chain.code) : STATUS_OK;
}

// ---- completion ----

static void
settle(GpuRecording* const recording)
{
  for (uint32_t c = 0; c < recording->n_out; ++c) {
    const RecordedCopy* const copy = &recording->out[c];
    if (copy->staged) {
      memcpy(copy->staged, copy->pinned, copy->n_bytes);
    }
  }
  opencl_driver.clReleaseEvent(recording->last);
  recording->last = NULL;
  recording->is_queued = false;
  recording->done = recording->in_flight;
}

// The state of the work: CL_COMPLETE, a larger value while it runs, or an error (negative).
static cl_int
ask(const cl_event event, const char** const call)
{
  cl_int state = CL_QUEUED;
  *call = "clGetEventInfo";
  const cl_int code = opencl_driver.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                   sizeof(state), &state, NULL);
  if (code || state != CL_COMPLETE) {
    *call = code ? *call : "while the block was running";
    return code ? code : state;
  }
  // A query does not synchronise (OpenCL 1.2, 5.9), a wait does; here the wait returns at once.
  *call = "clWaitForEvents";
  return opencl_driver.clWaitForEvents(1, &event);
}

// An error here is not fatal: no block depends on it.
Status
opencl_nudge(GpuDevice* const device)
{
  if (device->last_nudge) {
    cl_int state = CL_COMPLETE;
    const cl_int code = opencl_driver.clGetEventInfo(
        device->last_nudge, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    if (!code && state > CL_COMPLETE) {
      return STATUS_OK;
    }
    opencl_driver.clReleaseEvent(device->last_nudge);
    device->last_nudge = NULL;
  }
  const cl_command_queue queue = device->queues[QUEUE_NUDGES];
  const cl_uint zero = 0;
  const cl_int code = opencl_driver.clEnqueueFillBuffer(
      queue, device->nudged, &zero, sizeof(zero), 0, sizeof(zero), 0, NULL, &device->last_nudge);
  if (code) {
    device->last_nudge = NULL;
    return STATUS_NO_BACKEND;
  }
  return opencl_driver.clFlush(queue) ? STATUS_NO_BACKEND : STATUS_OK;
}

Status
opencl_poll(GpuRecording* const recording, const uint64_t sequence, bool* const done)
{
  GpuDevice* const device = recording->device;
  *done = false;
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  if (recording->last) {
    const char* call = NULL;
    const cl_int state = ask(recording->last, &call);
    if (state < 0) {
      return opencl_lose(device, NULL, call, state);
    }
    if (state == CL_COMPLETE) {
      settle(recording);
    }
  }
  *done = recording->done == sequence;
  return STATUS_OK;
}
