// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A block's work as one CUDA graph, launched with one call.

  Work without copies (small blocks: kernels read and write mapped host memory) is a chain: its
  graph has only kernels, each of which waits for the one before, and the last one writes the done
  word.  All such graphs are launched into one stream, which keeps their order.  They have no event
  nodes and no forks, each of which costs about as much as a kernel.

  For work with copies, recording captures three streams, joined by events, into a graph:

      copy_in   C C C ─┐ copied_in                                            ┌─ end of capture
      compute          └─ wait* ─ K ─ K ─ K ─┬─────────── record* ─────marked─┤
      copy_out                       computed └─ C C ─ done word ── copied_out┘

  Double buffering.  A graph launched into a stream runs after everything before it in the stream,
  so graphs of one stream never overlap.  Recordings of even slots are therefore launched into one
  stream and those of odd slots into another; these are the two lanes.  Only the kernels must stay
  in order, because they pass state from block to block.  Each lane has an event for this order: the
  node record* of a graph records the event of its lane after the last kernel, and the node wait*
  before the first kernel waits for the event of the other lane.  Both are external event nodes: a
  launch uses the events as if cuEventRecord() and cuStreamWaitEvent() were called at the time of
  the launch, so wait* waits for the previous submission, and no graph waits for an event that it
  records itself.  The stream alone orders successive submissions to one lane (one slot twice, a new
  plan).  So kernels run in the order of submission; in the usual order, with even and odd slots in
  turn, no other work waits:

      lane 0   in ── kernels ── out, done             in ── kernels ── out, done
                        └───────────┐ event 0   ┌────────┘ event 1
      lane 1            in ──────── kernels ── out, done

  A chain and a graph with copies do not wait for each other: gpu.h forbids to submit one while the
  other is at work.

  The done word.  The last node is a kernel of one thread that stores 1 to a word of mapped host
  memory, after a fence at system scope: a thread that reads the 1 also sees the block.  The player
  clears the word before it submits.  On an H200, a kernel in a chain costs 0.5 us and a read over
  the bus 1.0 us: hence no sequence number, which the kernel would have to read.  If instead the last
  group of the last kernel wrote the word, each group would need a fence and an atomic operation;
  that was 0.5 us slower than the kernel.  A memory operation (cuStreamWriteValue64, or a batch node
  of the graph) is not available with every driver and device.

  After cuda_record(), a block takes three steps: clear the word, cuGraphLaunch(), read the word.
*/

#include "cuda_private.h"

#include <stdlib.h>

// Polls of the word between two queries of the stream.  A query costs as much as some hundred reads
// of the word and takes the context's lock.  An asynchronous error is therefore found late by at
// most this many polls, tens of microseconds.
#define POLLS_PER_QUERY 1024U

const char cuda_done_source[] =
    "KERNEL\n"
    "warprack_done(volatile u32* done)\n"
    "{\n"
    "  __threadfence_system(); // the copies and kernels before, then the word\n"
    "  *done = 1;\n"
    "}\n"
    "KERNEL\n"
    "warprack_nudge(void)\n"
    "{\n"
    "}\n";

struct GpuRecording {
  GpuDevice* device;
  const CudaLane* lane;
  CUgraphExec graph;
  GpuHostMemory* memory;  ///< The memory of `done`
  _Atomic uint32_t* done; ///< The done word: 0 from submission on, 1 when the work is done
  uint64_t sequence;      ///< Of the last submission
  uint32_t n_polls;       ///< Number of polls since the submission
};

// Checking

static bool
is_inside(const size_t offset, const size_t n_bytes, const size_t size)
{
  return offset < size && n_bytes <= size - offset;
}

static Status
check_copies(const GpuCopy* const copies, const uint32_t n_copies, Error* const error)
{
  for (uint32_t c = 0; c < n_copies; ++c) {
    const GpuCopy* const copy = &copies[c];
    if (!is_inside(copy->buffer_offset, copy->n_bytes, copy->buffer->n_bytes) ||
        !is_inside(copy->host_offset, copy->n_bytes, copy->host->n_bytes)) {
      return error_set(error, STATUS_BAD_ARG, "copy %u is outside of its memory", c);
    }
  }
  return STATUS_OK;
}

static Status
check_launch(const GpuLaunch* const launch, const uint32_t index, Error* const error)
{
  if (launch->n_args > GPU_MAX_ARGS) {
    return error_set(error, STATUS_BAD_ARG, "launch %u has more than %u arguments", index,
                     GPU_MAX_ARGS);
  }
  for (uint32_t a = 0; a < launch->n_args; ++a) {
    const GpuArg* const arg = &launch->args[a];
    const bool is_good = arg->kind == GPU_ARG_BUFFER ? arg->offset < arg->buffer->n_bytes
                         : arg->kind == GPU_ARG_HOST ? arg->offset < arg->host->n_bytes
                                                     : true;
    if (!is_good) {
      return error_set(error, STATUS_BAD_ARG, "argument %u of launch %u points behind its memory",
                       a, index);
    }
  }
  return STATUS_OK;
}

static Status
check_work(const GpuWork* const work, Error* const error)
{
  Status status = check_copies(work->in, work->n_in, error);
  for (uint32_t l = 0; l < work->n_launches && !status; ++l) {
    status = check_launch(&work->launches[l], l, error);
  }
  return status ? status : check_copies(work->out, work->n_out, error);
}

// Capture

static bool
has_copies(const GpuWork* const work)
{
  return work->n_in || work->n_out;
}

/// Let `later` wait for the current end of `sooner`.
static Status
join(GpuDevice* const device, const CUstream sooner, const CUevent event, const CUstream later,
     Error* const error)
{
  const Status status =
      cuda_check(device, cuda.event_record(event, sooner), "cuEventRecord", error);
  return status ? status
                : cuda_check(device, cuda.stream_wait_event(later, event, CU_EVENT_WAIT_DEFAULT),
                             "cuStreamWaitEvent", error);
}

static Status
capture_in(GpuDevice* const device, const GpuWork* const work, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t c = 0; c < work->n_in && !status; ++c) {
    const GpuCopy* const copy = &work->in[c];
    status =
        cuda_check(device,
                   cuda.memcpy_htod_async(copy->buffer->d_memory + copy->buffer_offset,
                                          (const char*)copy->host->h_memory + copy->host_offset,
                                          copy->n_bytes, device->copy_in),
                   "cuMemcpyHtoDAsync", error);
  }
  return status ? status : join(device, device->copy_in, device->copied_in, device->compute, error);
}

/// The driver copies kernel parameters during the capture.
static Status
capture_launch(GpuDevice* const device, const GpuLaunch* const launch, const CUstream cu_stream,
               Error* const error)
{
  CUdeviceptr pointers[GPU_MAX_ARGS];
  void* params[GPU_MAX_ARGS];
  for (uint32_t a = 0; a < launch->n_args; ++a) {
    const GpuArg* const arg = &launch->args[a];
    switch (arg->kind) {
    case GPU_ARG_BUFFER:
      pointers[a] = arg->buffer->d_memory + arg->offset;
      params[a] = &pointers[a];
      break;
    case GPU_ARG_HOST:
      pointers[a] = arg->host->d_memory + arg->offset;
      params[a] = &pointers[a];
      break;
    case GPU_ARG_U32:
      params[a] = (void*)&arg->u32;
      break;
    case GPU_ARG_F32:
      params[a] = (void*)&arg->f32;
      break;
    }
  }
  return cuda_check(device,
                    cuda.launch_kernel(launch->kernel->function, launch->groups[0],
                                       launch->groups[1], 1U, launch->group_size, 1U, 1U, 0U,
                                       cu_stream, params, NULL),
                    "cuLaunchKernel", error);
}

static Status
capture_launches(GpuDevice* const device, const GpuWork* const work, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t l = 0; l < work->n_launches && !status; ++l) {
    status = capture_launch(device, &work->launches[l], device->compute, error);
  }
  return status;
}

static Status
capture_done(const GpuRecording* const recording, const CUstream cu_stream, Error* const error)
{
  GpuDevice* const device = recording->device;
  const GpuLaunch done = {
    .kernel = device->done_kernel,
    .groups = { 1, 1 },
    .group_size = 1,
    .n_args = 1,
    .args = { { GPU_ARG_HOST, { .host = recording->memory }, 0U } },
  };
  return capture_launch(device, &done, cu_stream, error);
}

static Status
capture_chain(const GpuRecording* const recording, const GpuWork* const work, Error* const error)
{
  GpuDevice* const device = recording->device;
  const Status status = capture_launches(device, work, error);
  return status ? status : capture_done(recording, device->compute, error);
}

static Status
capture_kernels(const GpuRecording* const recording, const GpuWork* const work, Error* const error)
{
  GpuDevice* const device = recording->device;
  const CudaLane* const other = &device->lanes[recording->lane == &device->lanes[0]];
  Status status = cuda_check(
      device, cuda.stream_wait_event(device->compute, other->kernels_done, CU_EVENT_WAIT_EXTERNAL),
      "cuStreamWaitEvent", error);
  status = status ? status : capture_launches(device, work, error);
  if (!status) {
    status = join(device, device->compute, device->computed, device->copy_out, error);
  }
  return status
             ? status
             : cuda_check(device,
                          cuda.event_record_with_flags(recording->lane->kernels_done,
                                                       device->compute, CU_EVENT_RECORD_EXTERNAL),
                          "cuEventRecordWithFlags", error);
}

static Status
capture_out(const GpuRecording* const recording, const GpuWork* const work, Error* const error)
{
  GpuDevice* const device = recording->device;
  Status status = STATUS_OK;
  for (uint32_t c = 0; c < work->n_out && !status; ++c) {
    const GpuCopy* const copy = &work->out[c];
    status = cuda_check(device,
                        cuda.memcpy_dtoh_async((char*)copy->host->h_memory + copy->host_offset,
                                               copy->buffer->d_memory + copy->buffer_offset,
                                               copy->n_bytes, device->copy_out),
                        "cuMemcpyDtoHAsync", error);
  }
  return status ? status : capture_done(recording, device->copy_out, error);
}

static Status
capture_with_copies(const GpuRecording* const recording, const GpuWork* const work,
                    Error* const error)
{
  GpuDevice* const device = recording->device;
  Status status = capture_in(device, work, error);
  status = status ? status : capture_kernels(recording, work, error);
  status = status ? status : capture_out(recording, work, error);
  status = status ? status : join(device, device->compute, device->marked, device->copy_in, error);
  if (!status) {
    status = join(device, device->copy_out, device->copied_out, device->copy_in, error);
  }
  return status;
}

/// The capture is limited to this thread, so that the player can launch during the capture.
static Status
capture(const GpuRecording* const recording, const GpuWork* const work, CUgraph* const graph,
        Error* const error)
{
  GpuDevice* const device = recording->device;
  const CUstream origin = has_copies(work) ? device->copy_in : device->compute;
  Status status =
      cuda_check(device, cuda.stream_begin_capture(origin, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                 "cuStreamBeginCapture", error);
  if (status) {
    return status;
  }
  status = has_copies(work) ? capture_with_copies(recording, work, error)
                            : capture_chain(recording, work, error);
  // Also after an error, to end the capture of the streams.
  const CUresult result = cuda.stream_end_capture(origin, graph);
  return status ? status : cuda_check_made(device, result, graph, "cuStreamEndCapture", error);
}

// Recordings

static Status
instantiate(GpuRecording* const recording, const CUgraph graph, Error* const error)
{
  GpuDevice* const device = recording->device;
  Status status = cuda_check_made(device, cuda.graph_instantiate(&recording->graph, graph, 0U),
                                  &recording->graph, "cuGraphInstantiateWithFlags", error);
  if (!status) { // upload the graph now, not with its first launch
    status = cuda_check(device, cuda.graph_upload(recording->graph, device->copy_in),
                        "cuGraphUpload", error);
  }
  return status ? status
                : cuda_check(device, cuda.stream_synchronize(device->copy_in),
                             "cuStreamSynchronize", error);
}

/// Allocate the done word of a recording, or reuse a spare.
static Status
alloc_word(GpuRecording* const recording, Error* const error)
{
  GpuDevice* const device = recording->device;
  if (device->n_spare_words) {
    recording->memory = device->spare_words[--device->n_spare_words];
  } else {
    const Status status =
        cuda_host_new(device, sizeof(*recording->done), &recording->memory, error);
    if (status) {
      return status;
    }
  }
  recording->done = recording->memory->h_memory;
  return STATUS_OK;
}

static void
free_word(const GpuRecording* const recording)
{
  GpuDevice* const device = recording->device;
  if (recording->memory && device->n_spare_words < CUDA_SPARE_WORDS) {
    device->spare_words[device->n_spare_words++] = recording->memory;
  } else {
    cuda_host_free(recording->memory);
  }
}

static Status
fill(GpuRecording* const recording, const GpuWork* const work, Error* const error)
{
  Status status = alloc_word(recording, error);
  if (status) {
    return status;
  }
  CUgraph graph = NULL;
  status = capture(recording, work, &graph, error);
  status = status ? status : instantiate(recording, graph, error);
  if (graph) {
    cuda.graph_destroy(graph);
  }
  return status;
}

Status
cuda_record(GpuDevice* const device, const GpuWork* const work, GpuRecording** const recording,
            Error* const error)
{
  Status status = cuda_enter(device, error);
  status = status ? status : check_work(work, error);
  if (status) {
    return status;
  }
  GpuRecording* const made = calloc(1U, sizeof(*made));
  if (!made) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  made->device = device;
  made->lane = &device->lanes[has_copies(work) ? work->slot % CUDA_N_LANES : 0U];
  atomic_fetch_add(&device->n_objects, 1U);
  status = fill(made, work, error);
  if (status) {
    cuda_recording_free(made);
    return status;
  }
  *recording = made;
  return STATUS_OK;
}

/// Wait for the last submission: the driver destroys a graph at work later, and then the work would
/// still use the memory that the caller frees, and the done word of the next recording.
static void
wait_for_end(const GpuRecording* const recording)
{
  const bool is_at_work = recording->sequence && !atomic_load(recording->done);
  if (is_at_work && !atomic_load(&recording->device->is_lost)) {
    cuda.stream_synchronize(recording->lane->stream); // the next call reports an error
  }
}

void
cuda_recording_free(GpuRecording* const recording)
{
  if (!recording) {
    return;
  }
  cuda.ctx_set_current(recording->device->context);
  wait_for_end(recording);
  if (recording->graph) {
    cuda.graph_exec_destroy(recording->graph);
  }
  free_word(recording);
  atomic_fetch_sub(&recording->device->n_objects, 1U);
  free(recording);
}

// The player's part

Status
cuda_submit(GpuRecording* const recording, const uint64_t sequence)
{
  GpuDevice* const device = recording->device;
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  recording->n_polls = 0;
  recording->sequence = sequence;
  atomic_store_explicit(recording->done, 0U, memory_order_release);
  CUresult result = cuda.ctx_set_current(device->context);
  if (result) {
    return cuda_note(device, result, "cuCtxSetCurrent");
  }
  result = cuda.graph_launch(recording->graph, recording->lane->stream);
  return cuda_note(device, result, "cuGraphLaunch");
}

Status
cuda_poll(GpuRecording* const recording, const uint64_t sequence, bool* const done)
{
  GpuDevice* const device = recording->device;
  *done = sequence == recording->sequence &&
          atomic_load_explicit(recording->done, memory_order_acquire);
  if (*done) {
    return STATUS_OK;
  }
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  if (++recording->n_polls % POLLS_PER_QUERY) {
    return STATUS_OK;
  }
  CUresult result = cuda.ctx_set_current(device->context);
  if (result) {
    return cuda_note(device, result, "cuCtxSetCurrent");
  }
  result = cuda.stream_query(recording->lane->stream);
  return result == CUDA_ERROR_NOT_READY ? STATUS_OK : cuda_note(device, result, "cuStreamQuery");
}

Status
cuda_nudge(GpuDevice* const device)
{
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  CUresult result = cuda.ctx_set_current(device->context);
  if (result) {
    return cuda_note(device, result, "cuCtxSetCurrent");
  }
  result = cuda.stream_query(device->nudges);
  if (result) {
    return result == CUDA_ERROR_NOT_READY ? STATUS_OK : cuda_note(device, result, "cuStreamQuery");
  }
  result = cuda.launch_kernel(device->nudge_kernel->function, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                              device->nudges, NULL, NULL);
  return cuda_note(device, result, "cuLaunchKernel");
}

Status
cuda_finish(GpuDevice* const device, Error* const error)
{
  Status status = cuda_enter(device, error);
  for (uint32_t l = 0; l < CUDA_N_LANES && !status; ++l) {
    status = cuda_check(device, cuda.stream_synchronize(device->lanes[l].stream),
                        "cuStreamSynchronize", error);
  }
  return status;
}
