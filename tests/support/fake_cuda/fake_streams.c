// SPDX-License-Identifier: GPL-3.0-or-later
// The fake driver's streams, events, captures and graphs.

#include "fake_private.h"

#include <stdlib.h>

#define MAX_NODES   64U // a set of nodes is a bit mask of 64 bits
#define MAX_STREAMS 32U

typedef struct Node {
  FakeWork work;
  uint64_t deps; ///< The nodes that this one waits for, as a bit mask
  CUevent event; ///< Event of an external wait or record
} Node;

struct CUgraph_st {
  Node nodes[MAX_NODES];
  uint32_t n_nodes;
};

struct CUgraphExec_st {
  struct CUgraph_st graph;
  uint32_t last; ///< FAKE_END of the previous launch
};

struct CUstream_st {
  unsigned flags;
  uint32_t last;            ///< Its last operation; FAKE_NOTHING at first
  struct CUgraph_st* graph; ///< Graph of the current capture, or NULL
  uint64_t at;              ///< Nodes that the next captured node will wait for
  bool is_origin;
};

struct CUevent_st {
  uint32_t recorded;        ///< The operation that recorded it; FAKE_NOTHING at first
  struct CUgraph_st* graph; ///< Graph of the capture in which it was recorded, or NULL
  uint64_t at;
};

static CUstream streams[MAX_STREAMS];
static uint32_t n_launches;

void
fake_streams_reset(void)
{
  n_launches = 0;
}

// Work

static uint32_t
add_node(const CUstream cu_stream, const FakeWork* const work, const CUevent event)
{
  struct CUgraph_st* const graph = cu_stream->graph;
  if (graph->n_nodes == MAX_NODES) {
    fake_give_up("too many nodes");
  }
  graph->nodes[graph->n_nodes] = (Node){ .work = *work, .deps = cu_stream->at, .event = event };
  cu_stream->at = 1ULL << graph->n_nodes;
  return graph->n_nodes++;
}

/// Add an operation to the stream's capture; without a capture, enqueue it after the last
/// operation.
static void
enqueue(const CUstream cu_stream, FakeWork* const work)
{
  work->op.cu_stream = cu_stream;
  if (cu_stream->graph) {
    add_node(cu_stream, work, NULL);
    return;
  }
  const uint32_t index = fake_add_work(work);
  fake_add_dep(index, cu_stream->last);
  cu_stream->last = index;
  fake_enqueued(index);
}

CUresult CUDAAPI
cuMemcpyHtoDAsync_v2(const CUdeviceptr to, const void* const from, const size_t n_bytes,
                     const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  FakeWork work = { .op = { .kind = FAKE_COPY_IN, .is_pinned = fake_is_pinned(from, n_bytes) },
                    .d_memory = to,
                    .h_memory = (void*)(uintptr_t)from,
                    .n_bytes = n_bytes };
  enqueue(cu_stream, &work);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemcpyDtoHAsync_v2(void* const to, const CUdeviceptr from, const size_t n_bytes,
                     const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  FakeWork work = { .op = { .kind = FAKE_COPY_OUT, .is_pinned = fake_is_pinned(to, n_bytes) },
                    .d_memory = from,
                    .h_memory = to,
                    .n_bytes = n_bytes };
  enqueue(cu_stream, &work);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemsetD8Async(const CUdeviceptr to, const unsigned char value, const size_t n_bytes,
                const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  FakeWork work = {
    .op = { .kind = FAKE_FILL }, .d_memory = to, .n_bytes = n_bytes, .fill = value
  };
  enqueue(cu_stream, &work);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuLaunchKernel(const CUfunction function, const unsigned groups_x, const unsigned groups_y,
               const unsigned groups_z, const unsigned size_x, const unsigned size_y,
               const unsigned size_z, const unsigned n_shared_bytes, const CUstream cu_stream,
               void** const params, void** const extra)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  (void)n_shared_bytes;
  (void)extra;
  if (size_x * size_y * size_z == 0U || size_x * size_y * size_z > 1024U) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const FakeFunction* const known = fake_function(function);
  FakeWork work = { .op = { .kind = FAKE_KERNEL, .kernel = known->name },
                    .function = known,
                    .n_groups = groups_x * groups_y * groups_z,
                    .group_size = size_x };
  for (uint32_t p = 0; known->types[p]; ++p) {
    memcpy(&work.params[p], params[p], known->types[p] == 'p' ? 8U : 4U);
  }
  enqueue(cu_stream, &work);
  return CUDA_SUCCESS;
}

// Streams

bool
fake_is_capturing(void)
{
  for (uint32_t s = 0; s < MAX_STREAMS; ++s) {
    if (streams[s] && streams[s]->graph) {
      return true;
    }
  }
  return false;
}

static CUstream*
row_of(const CUstream cu_stream)
{
  for (uint32_t s = 0; s < MAX_STREAMS; ++s) {
    if (streams[s] == cu_stream) {
      return &streams[s];
    }
  }
  fake_give_up(cu_stream ? "no such stream" : "too many streams");
  return NULL;
}

CUresult CUDAAPI
cuStreamCreate(CUstream* const cu_stream, const unsigned flags)
{
  FAKE_ENTER(.flags = flags)
  FAKE_GIVE(cu_stream)
  *cu_stream = calloc(1, sizeof(**cu_stream));
  (*cu_stream)->flags = flags;
  (*cu_stream)->last = FAKE_NOTHING;
  *row_of(NULL) = *cu_stream;
  fake_made();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamDestroy_v2(const CUstream cu_stream)
{
  FAKE_ENTER_FREEING();
  *row_of(cu_stream) = NULL;
  free(cu_stream);
  fake_freed();
  return fake_result;
}

CUresult CUDAAPI
cuStreamQuery(const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  if (cu_stream->last != FAKE_NOTHING) {
    fake_ask(cu_stream->last);
  }
  return cu_stream->last == FAKE_NOTHING || fake_is_done(cu_stream->last) ? CUDA_SUCCESS
                                                                          : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI
cuStreamSynchronize(const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  if (cu_stream->graph) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (cu_stream->last != FAKE_NOTHING) {
    fake_finish_in_time(cu_stream->last);
  }
  return CUDA_SUCCESS;
}

// Events.  In a capture, an event joins streams; only an external record or wait becomes a node.

CUresult CUDAAPI
cuEventCreate(CUevent* const event, const unsigned flags)
{
  FAKE_ENTER(.flags = flags)
  FAKE_GIVE(event)
  *event = calloc(1, sizeof(**event));
  (*event)->recorded = FAKE_NOTHING;
  fake_made();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuEventDestroy_v2(const CUevent event)
{
  FAKE_ENTER_FREEING();
  free(event);
  fake_freed();
  return fake_result;
}

static void
record_event(const CUevent event, const CUstream cu_stream, const unsigned flags)
{
  FakeWork work = { .op = { .kind = FAKE_RECORD, .cu_stream = cu_stream } };
  if (cu_stream->graph && flags == CU_EVENT_RECORD_EXTERNAL) {
    add_node(cu_stream, &work, event);
  } else if (cu_stream->graph) {
    event->graph = cu_stream->graph;
    event->at = cu_stream->at;
  } else {
    event->graph = NULL;
    enqueue(cu_stream, &work);
    event->recorded = cu_stream->last;
  }
}

CUresult CUDAAPI
cuEventRecord(const CUevent event, const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  record_event(event, cu_stream, CU_EVENT_RECORD_DEFAULT);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuEventRecordWithFlags(const CUevent event, const CUstream cu_stream, const unsigned flags)
{
  FAKE_ENTER(.cu_stream = cu_stream, .flags = flags)
  if (flags == CU_EVENT_RECORD_EXTERNAL && !cu_stream->graph) {
    return CUDA_ERROR_INVALID_VALUE; // cuda.h documents this error
  }
  record_event(event, cu_stream, flags);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamWaitEvent(const CUstream cu_stream, const CUevent event, const unsigned flags)
{
  FAKE_ENTER(.cu_stream = cu_stream, .flags = flags)
  FakeWork work = { .op = { .kind = FAKE_WAIT, .cu_stream = cu_stream } };
  if (flags == CU_EVENT_WAIT_EXTERNAL) {
    if (!cu_stream->graph) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    add_node(cu_stream, &work, event);
  } else if (event->graph) { // the stream joins the event's capture
    if (cu_stream->graph && cu_stream->graph != event->graph) {
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    cu_stream->at = (cu_stream->graph ? cu_stream->at : 0U) | event->at;
    cu_stream->graph = event->graph;
  } else {
    enqueue(cu_stream, &work);
    fake_add_dep(cu_stream->last, event->recorded);
  }
  return CUDA_SUCCESS;
}

// Captures and graphs

CUresult CUDAAPI
cuStreamBeginCapture_v2(const CUstream cu_stream, const CUstreamCaptureMode mode)
{
  FAKE_ENTER(.cu_stream = cu_stream, .flags = mode)
  cu_stream->graph = calloc(1, sizeof(*cu_stream->graph));
  cu_stream->at = 0;
  cu_stream->is_origin = true;
  fake_made();
  return CUDA_SUCCESS;
}

/// Nodes that no other node waits for.
static uint64_t
leaves(const struct CUgraph_st* const graph)
{
  uint64_t set = 0;
  for (uint32_t n = 0; n < graph->n_nodes; ++n) {
    set = (set | 1ULL << n) & ~graph->nodes[n].deps;
  }
  return set;
}

CUresult CUDAAPI
cuStreamEndCapture(const CUstream cu_stream, CUgraph* const graph)
{
  FAKE_LOCK();
  const int refusal = fake_enter(&(FakeCall){ .name = __func__, .cu_stream = cu_stream }, true);
  struct CUgraph_st* const captured = cu_stream->graph;
  if (!captured || !cu_stream->is_origin) {
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  const bool is_joined = (leaves(captured) & ~cu_stream->at) == 0U;
  for (uint32_t s = 0; s < MAX_STREAMS; ++s) {
    if (streams[s] && streams[s]->graph == captured) {
      streams[s]->graph = NULL;
      streams[s]->is_origin = false;
    }
  }
  const bool gives_nothing =
      !refusal && is_joined && fake_gives(__func__, false, graph, sizeof(*graph));
  if (refusal || !is_joined || gives_nothing) { // the capture ends even if the call fails
    free(captured);
    fake_freed();
    *graph = NULL;
    return gives_nothing ? CUDA_SUCCESS
           : refusal     ? (CUresult)refusal
                         : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  *graph = captured;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphDestroy(const CUgraph graph)
{
  FAKE_ENTER_FREEING();
  free(graph);
  fake_freed();
  return fake_result;
}

CUresult CUDAAPI
cuGraphInstantiateWithFlags(CUgraphExec* const exec, const CUgraph graph,
                            const unsigned long long flags)
{
  FAKE_ENTER(.flags = flags)
  FAKE_GIVE(exec)
  *exec = malloc(sizeof(**exec));
  (*exec)->graph = *graph;
  (*exec)->last = FAKE_NOTHING;
  fake_made();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphExecDestroy(const CUgraphExec exec)
{
  FAKE_ENTER_FREEING();
  free(exec);
  fake_freed();
  return fake_result;
}

CUresult CUDAAPI
cuGraphUpload(const CUgraphExec exec, const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  (void)exec;
  return CUDA_SUCCESS;
}

static uint32_t
launch_node(const Node* const node, const uint32_t* const launched, const CUgraphExec exec,
            const CUstream cu_stream)
{
  const uint32_t index = fake_add_work(&node->work);
  fake_work(index)->op.launch = n_launches;
  fake_work(index)->op.launched_in = cu_stream;
  for (uint32_t n = 0; n < MAX_NODES; ++n) {
    if (node->deps >> n & 1U) {
      fake_add_dep(index, launched[n]);
    }
  }
  if (!node->deps) { // waits for the stream, and for the graph's previous launch
    fake_add_dep(index, cu_stream->last);
    fake_add_dep(index, exec->last);
  }
  if (node->work.op.kind == FAKE_WAIT) {
    fake_add_dep(index, node->event->recorded);
  } else if (node->work.op.kind == FAKE_RECORD) {
    node->event->recorded = index;
  }
  return index;
}

CUresult CUDAAPI
cuGraphLaunch(const CUgraphExec exec, const CUstream cu_stream)
{
  FAKE_ENTER(.cu_stream = cu_stream)
  ++n_launches;
  uint32_t launched[MAX_NODES];
  for (uint32_t n = 0; n < exec->graph.n_nodes; ++n) {
    launched[n] = launch_node(&exec->graph.nodes[n], launched, exec, cu_stream);
  }
  const FakeWork end = { .op = { .kind = FAKE_END,
                                 .cu_stream = cu_stream,
                                 .launched_in = cu_stream,
                                 .launch = n_launches } };
  const uint32_t index = fake_add_work(&end);
  for (uint32_t n = 0; n < exec->graph.n_nodes; ++n) {
    if (leaves(&exec->graph) >> n & 1U) {
      fake_add_dep(index, launched[n]);
    }
  }
  cu_stream->last = index;
  exec->last = index;
  fake_enqueued(index);
  return CUDA_SUCCESS;
}
