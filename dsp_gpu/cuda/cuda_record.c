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
  the bus 1.0 us: hence no sequence number, which the kernel would have to read.  If the last group
  of the last kernel wrote the word instead, each group would need a fence and an atomic operation;
  that was 0.5 us slower with fences at system scope, 0.4 us quicker with others.  A memory
  operation (cuStreamWriteValue64, or a batch node of the graph) is not available with every driver.

  After cuda_record(), a block takes three steps: clear the word, cuGraphLaunch(), read the word.

  Ahead of the block.  A launch costs some microseconds and takes the driver's lock, and a device
  without work lowers its clocks.  So a chain may be launched before its block is there, by
  cuda_arm().  Its graph has another head, a kernel of one thread that polls the word `go` of mapped
  memory:

      go = GO      submit() has the block: the chain runs, and ends as every chain
      go = CANCEL  another recording is submitted or rehearsed, or disarm(): no block will come
      50 ms pass   the host may be stopped, or dead

  In the last two cases the head sets the word GpuWork::is_void, with which the kernels change
  nothing, and the last kernel stores VOID instead of DONE.  The device alone decides: if submit()
  stores GO too late, poll() reads VOID and launches the usual graph.  The host clears a word only
  when no chain that may read or write it is under way.  At most one chain of a device is armed,
  because its stream runs nothing behind it.  Calls of the driver that wait for the device (freeing
  memory, loading a module) may wait for the armed chain too: until the next block, at most 50 ms.
  armed.pml is a model of all this.
*/

#include "cuda_private.h"

#include <stdalign.h>
#include <stdlib.h>

// Polls of the word between two queries of the stream.  A query costs as much as some hundred reads
// of the word and takes the context's lock.  An asynchronous error is therefore found late by at
// most this many polls, tens of microseconds.
#define POLLS_PER_QUERY 1024U

#define CACHE_LINE 128U // two lines of 64 bytes: processors fetch them in pairs

// Time for which an armed chain waits: longer than a block of 2,048 frames at 44.1 kHz.
#define AHEAD_NS 50000000U

// Values of Words::go and Words::done; the kernels below have them as numbers.
#define WAIT   0U
#define GO     1U
#define CANCEL 2U
#define DONE   1U
#define VOID   2U

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
    "}\n"
    "KERNEL\n"
    "warprack_await(const volatile u32* go, u32* is_void, const u32 limit_ns)\n"
    "{\n"
    "  const u32 began = CLOCK_NS();\n"
    "  u32 word = *go;\n"
    "  u32 n_left = 1U << 20; // over half a second, should the clock stand still\n"
    "  while (word == 0 && CLOCK_NS() - began < limit_ns && --n_left) {\n"
    "    word = *go;\n"
    "  }\n"
    "  __threadfence_system(); // the word, then the block that the host wrote before\n"
    "  *is_void = word != 1;\n"
    "}\n"
    "KERNEL\n"
    "warprack_ended(u32* is_void, volatile u32* done)\n"
    "{\n"
    "  const u32 was_void = *is_void;\n"
    "  *is_void = 0;\n"
    "  __threadfence_system();\n"
    "  *done = was_void ? 2 : 1;\n"
    "}\n";

/// Mapped memory shared by one recording and the host.
typedef struct Words {
  alignas(CACHE_LINE) _Atomic uint32_t go;   ///< Written by the player, read by an armed chain
  alignas(CACHE_LINE) _Atomic uint32_t done; ///< The done word: cleared by the player before a
                                             ///< submission, written by the device
} Words;

struct GpuRecording {
  GpuDevice* device;
  const CudaLane* lane;
  CUgraphExec graph;
  CUgraphExec ahead;     ///< The graph of an armed chain; NULL: the recording is never armed
  GpuHostMemory* memory; ///< The memory of `words`
  Words* words;
  uint64_t sequence; ///< Of the last submission
  uint32_t n_polls;  ///< Number of polls since the submission
  bool is_ahead;     ///< The last submission was armed, and is not known to be void
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

static GpuArg
word_arg(const GpuRecording* const recording, const size_t offset)
{
  return (GpuArg){ GPU_ARG_HOST, { .host = recording->memory }, offset };
}

static Status
capture_done(const GpuRecording* const recording, const CUstream cu_stream, Error* const error)
{
  GpuDevice* const device = recording->device;
  const GpuLaunch done = { .kernel = device->done_kernel,
                           .groups = { 1, 1 },
                           .group_size = 1,
                           .n_args = 1,
                           .args = { word_arg(recording, offsetof(Words, done)) } };
  return capture_launch(device, &done, cu_stream, error);
}

static Status
capture_chain(const GpuRecording* const recording, const GpuWork* const work, Error* const error)
{
  GpuDevice* const device = recording->device;
  const Status status = capture_launches(device, work, error);
  return status ? status : capture_done(recording, device->compute, error);
}

/// The chain of an armed recording.
static Status
capture_ahead(const GpuRecording* const recording, const GpuWork* const work, Error* const error)
{
  GpuDevice* const device = recording->device;
  const GpuArg is_void = { GPU_ARG_BUFFER, { .buffer = work->is_void }, work->is_void_offset };
  const GpuLaunch await = { .kernel = device->await_kernel,
                            .groups = { 1, 1 },
                            .group_size = 1,
                            .n_args = 3,
                            .args = { word_arg(recording, offsetof(Words, go)),
                                      is_void,
                                      { GPU_ARG_U32, { .u32 = AHEAD_NS }, 0U } } };
  const GpuLaunch ended = { .kernel = device->ended_kernel,
                            .groups = { 1, 1 },
                            .group_size = 1,
                            .n_args = 2,
                            .args = { is_void, word_arg(recording, offsetof(Words, done)) } };
  Status status = capture_launch(device, &await, device->compute, error);
  status = status ? status : capture_launches(device, work, error);
  return status ? status : capture_launch(device, &ended, device->compute, error);
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

typedef Status Capture(const GpuRecording* recording, const GpuWork* work, Error* error);

/// The capture is limited to this thread, so that the player can launch during the capture.
static Status
capture(const GpuRecording* const recording, const GpuWork* const work, Capture* const body,
        CUgraph* const graph, Error* const error)
{
  GpuDevice* const device = recording->device;
  const CUstream origin = has_copies(work) ? device->copy_in : device->compute;
  Status status =
      cuda_check(device, cuda.stream_begin_capture(origin, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                 "cuStreamBeginCapture", error);
  if (status) {
    return status;
  }
  status = body(recording, work, error);
  // Also after an error, to end the capture of the streams.
  const CUresult result = cuda.stream_end_capture(origin, graph);
  return status ? status : cuda_check_made(device, result, graph, "cuStreamEndCapture", error);
}

// Recordings

static Status
instantiate(GpuDevice* const device, const CUgraph graph, CUgraphExec* const exec,
            Error* const error)
{
  Status status = cuda_check_made(device, cuda.graph_instantiate(exec, graph, 0U), exec,
                                  "cuGraphInstantiateWithFlags", error);
  if (!status) { // upload the graph now, not with its first launch
    status = cuda_check(device, cuda.graph_upload(*exec, device->copy_in), "cuGraphUpload", error);
  }
  return status ? status
                : cuda_check(device, cuda.stream_synchronize(device->copy_in),
                             "cuStreamSynchronize", error);
}

static Status
make_graph(const GpuRecording* const recording, const GpuWork* const work, Capture* const body,
           CUgraphExec* const exec, Error* const error)
{
  CUgraph graph = NULL;
  Status status = capture(recording, work, body, &graph, error);
  status = status ? status : instantiate(recording->device, graph, exec, error);
  if (graph) {
    cuda.graph_destroy(graph);
  }
  return status;
}

Status
cuda_words_reserve(GpuDevice* const device, Error* const error)
{
  Status status = STATUS_OK;
  while (!status && device->n_spare_words < CUDA_RESERVED_WORDS) {
    status =
        cuda_host_new(device, sizeof(Words), &device->spare_words[device->n_spare_words], error);
    device->n_spare_words += !status;
  }
  return status;
}

/// Allocate the words of a recording, or reuse spare ones.
static Status
alloc_words(GpuRecording* const recording, Error* const error)
{
  GpuDevice* const device = recording->device;
  if (device->n_spare_words) {
    recording->memory = device->spare_words[--device->n_spare_words];
  } else {
    const Status status = cuda_host_new(device, sizeof(Words), &recording->memory, error);
    if (status) {
      return status;
    }
  }
  recording->words = recording->memory->h_memory;
  return STATUS_OK;
}

static void
free_words(const GpuRecording* const recording)
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
  Status status = alloc_words(recording, error);
  if (!status) {
    status = make_graph(recording, work, has_copies(work) ? capture_with_copies : capture_chain,
                        &recording->graph, error);
  }
  if (!status && work->is_void && !has_copies(work)) {
    status = make_graph(recording, work, capture_ahead, &recording->ahead, error);
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

static uint32_t
done_word(const GpuRecording* const recording)
{
  return atomic_load_explicit(&recording->words->done, memory_order_acquire);
}

/// Wait for the last submission, or for an armed chain.  Otherwise its kernels would still use the
/// memory that the caller frees, and words that the next recording may get: the driver destroys a
/// graph only after its kernels have ended.
static void
wait_for_end(GpuRecording* const recording)
{
  cuda_disarm(recording);
  const bool is_at_work = recording->sequence && !done_word(recording);
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
  if (recording->ahead) {
    cuda.graph_exec_destroy(recording->ahead);
  }
  free_words(recording);
  atomic_fetch_sub(&recording->device->n_objects, 1U);
  free(recording);
}

// The player's part

static Status
launch(const GpuRecording* const recording, const CUgraphExec graph)
{
  GpuDevice* const device = recording->device;
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  CUresult result = cuda.ctx_set_current(device->context);
  if (result) {
    return cuda_note(device, result, "cuCtxSetCurrent");
  }
  result = cuda.graph_launch(graph, recording->lane->stream);
  return cuda_note(device, result, "cuGraphLaunch");
}

/// End the wait of an armed chain.  Accepts NULL.
static void
cancel(GpuRecording* const armed)
{
  if (armed) {
    atomic_store_explicit(&armed->words->go, CANCEL, memory_order_release);
  }
}

/// Launch the usual graph.
static Status
begin(GpuRecording* const recording)
{
  recording->is_ahead = false;
  atomic_store_explicit(&recording->words->done, 0U, memory_order_release);
  return launch(recording, recording->graph);
}

Status
cuda_submit(GpuRecording* const recording, const uint64_t sequence)
{
  GpuDevice* const device = recording->device;
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  recording->n_polls = 0;
  recording->sequence = sequence;
  GpuRecording* const armed = atomic_load_explicit(&device->armed, memory_order_relaxed);
  atomic_store_explicit(&device->armed, NULL, memory_order_relaxed);
  if (armed == recording) {
    recording->is_ahead = true;
    atomic_store_explicit(&recording->words->go, GO, memory_order_release);
    return STATUS_OK;
  }
  cancel(armed);
  return begin(recording);
}

Status
cuda_rehearse(GpuRecording* const recording, const uint64_t sequence)
{
  // The armed chain would let this work wait for a block.  Its recording belongs to the plan that
  // plays, which only this thread frees.
  cancel(atomic_load_explicit(&recording->device->armed, memory_order_relaxed));
  recording->n_polls = 0;
  recording->sequence = sequence;
  return begin(recording);
}

Status
cuda_arm(GpuRecording* const recording)
{
  GpuDevice* const device = recording->device;
  const bool is_at_work = !done_word(recording); // a chain that was cancelled a moment ago
  if (!recording->ahead || is_at_work ||
      atomic_load_explicit(&device->armed, memory_order_relaxed)) {
    return STATUS_OK;
  }
  atomic_store_explicit(&recording->words->go, WAIT, memory_order_relaxed);
  atomic_store_explicit(&recording->words->done, 0U, memory_order_release);
  const Status status = launch(recording, recording->ahead);
  if (!status) {
    atomic_store_explicit(&device->armed, recording, memory_order_relaxed);
  }
  return status;
}

void
cuda_disarm(GpuRecording* const recording)
{
  GpuDevice* const device = recording->device;
  if (atomic_load_explicit(&device->armed, memory_order_relaxed) == recording) {
    atomic_store_explicit(&device->armed, NULL, memory_order_relaxed);
    cancel(recording);
  }
}

Status
cuda_poll(GpuRecording* const recording, const uint64_t sequence, bool* const done)
{
  GpuDevice* const device = recording->device;
  const uint32_t word = done_word(recording);
  *done = word == DONE && sequence == recording->sequence;
  if (*done) {
    return STATUS_OK;
  }
  if (atomic_load_explicit(&device->is_lost, memory_order_relaxed)) {
    return STATUS_DEVICE_LOST;
  }
  if (word == VOID && recording->is_ahead) { // the block came too late for the armed chain
    return begin(recording);
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
