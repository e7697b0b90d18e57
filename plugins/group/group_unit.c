// SPDX-License-Identifier: GPL-3.0-or-later
// An instance in the process of its group: made of the data of a call, run by the threads of the
// process.

#include "group_unit.h"

#include "group_threads.h"

#include "engine/base/recorder.h"
#include "engine/base/rt.h"
#include "engine/ring/ring.h"
#include "plugins/format.h"
#include "plugins/process_state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct GroupUnit {
  char* data;  ///< Of the call; the plugin's texts point into it
  Arena arena; ///< Of the plugin
  Plugin* plugin;
  const InstanceCalls* calls;
  Instance* instance; ///< NULL: not made yet
  uint32_t uid;
  uint32_t slot;   ///< Its place among the threads, with its lock
  bool has_blocks; ///< The threads run it
  StateFile state;
  HostPaths paths;
  Ring* ring;
  ParamMessage next; ///< With `has_next`: a message of a block that is not submitted yet
  bool has_next;
  uint32_t n_in, n_out, block_frames;
  _Atomic uint32_t latency_frames; ///< That the instance reported last
  float* samples;                  ///< [n_in + n_out][block_frames]
  float** in;                      ///< [n_in] the instance may write to them
  float** out;                     ///< [n_out] where a run writes
};

// ---- blocks [threads of the process, or the thread of plugins; the place is locked] ----

static void
apply(GroupUnit* const unit, const ParamMessage* const message)
{
  const uint32_t frame = message->n_frames;
  const uint32_t n_ports = unit->plugin->n_ports;
  const bool is_tempo = message->param == n_ports && plugin_takes_tempo(unit->plugin);
  if (message->kind == GROUP_MESSAGE_SET && (message->param < n_ports || is_tempo)) {
    unit->calls->set(unit->instance, message->param, message->value, frame);
  } else if (message->kind == GROUP_MESSAGE_NOTE && message->param < FX_KEYS &&
             unit->calls->event) {
    const FxEvent event = { message->value > 0.0 ? FX_NOTE_ON : FX_NOTE_OFF, message->param,
                            (float)message->value };
    unit->calls->event(unit->instance, &event, frame);
  }
}

/// The next message of this block, or of one before it.
static bool
next_message(GroupUnit* const unit, const uint64_t sequence, ParamMessage* const message)
{
  if (!unit->has_next && !ring_receive(unit->ring, &unit->next)) {
    return false;
  }
  *message = unit->next;
  unit->has_next = message->frame > sequence;
  return !unit->has_next;
}

/// Apply the messages that belong to no block.
static void
apply_all(GroupUnit* const unit)
{
  ParamMessage message;
  while (next_message(unit, UINT64_MAX, &message)) {
    apply(unit, &message);
  }
}

static void
run(GroupUnit* const unit, const uint64_t sequence, const uint32_t first, const uint32_t n_frames)
{
  for (uint32_t r = 0; r < unit->n_in; ++r) {
    memcpy(unit->in[r], ring_input(unit->ring, sequence, r) + first, n_frames * sizeof(float));
  }
  for (uint32_t o = 0; o < unit->n_out; ++o) {
    unit->out[o] = ring_output(unit->ring, sequence, o) + first;
  }
  unit->calls->run(unit->instance, (const float* const*)unit->in, unit->out, n_frames);
}

/// Run a block by its messages.  False if they do not make up the block.  What is left of blocks
/// before it is applied, but not run.
static bool
run_block(GroupUnit* const unit, const uint64_t sequence)
{
  const uint32_t n_frames = ring_slot(unit->ring, sequence)->n_frames;
  uint32_t done = 0;
  ParamMessage message;
  while (n_frames <= unit->block_frames && done < n_frames &&
         next_message(unit, sequence, &message)) {
    if (message.kind != GROUP_MESSAGE_RUN || message.frame != sequence) {
      apply(unit, &message);
    } else if (!message.n_frames || message.n_frames > n_frames - done) {
      return false;
    } else {
      run(unit, sequence, done, message.n_frames);
      done += message.n_frames;
    }
  }
  return done && done == n_frames;
}

/// Ask the instance for its latency, which may be an output that a run writes.
static uint32_t
read_latency(GroupUnit* const unit)
{
  const uint32_t latency_frames = unit->calls->latency(unit->instance);
  atomic_store_explicit(&unit->latency_frames, latency_frames, memory_order_relaxed);
  return latency_frames;
}

static bool
wants_restart(const GroupUnit* const unit)
{
  return unit->calls->wants_restart && unit->calls->wants_restart(unit->instance);
}

/// Run the oldest block that waits.  Returns true if another one waits.
static bool
run_oldest(void* const context)
{
  GroupUnit* const unit = context;
  const uint64_t float_mode = rt_float_mode();
  uint64_t sequence = 0;
  if (!ring_take(unit->ring, 0U, &sequence)) {
    return false;
  }
  const uint64_t before = recorder_enter(unit->uid, RECORDER_RUN);
  const bool has_sound = run_block(unit, sequence);
  const uint32_t latency_frames = read_latency(unit);
  recorder_leave(before);
  rt_keep_float_mode(float_mode);
  *ring_output(unit->ring, sequence, unit->n_out) =
      group_report(latency_frames, wants_restart(unit));
  (has_sound ? ring_finish : ring_fail)(unit->ring);
  return ring_take(unit->ring, 0U, &sequence);
}

static void
run_all(GroupUnit* const unit)
{
  while (run_oldest(unit)) {
  }
}

// ---- making ----

static Status
wrong_data(Error* const error)
{
  return error_set(error, STATUS_BAD_ARG, "invalid data for an instance");
}

/// FxFiles::find: the worker has sent the files of the rack that it has found for the state.
static Status
refuse_file(void* const context, const char* const name, char** const path, Error* const error)
{
  (void)context;
  (void)path;
  return error_set(error, STATUS_FILE, "%.200s: the worker has found no such file of the rack",
                   name);
}

static const FxFiles no_files = { .find = refuse_file };

/// Replace the files of the node: name, path, each with a zero.
static Status
read_paths(GroupUnit* const unit, const char* const bytes, const size_t n_bytes, Error* const error)
{
  host_paths_clear(&unit->paths);
  unit->paths.bundle = unit->plugin->bundle;
  unit->paths.files = &no_files;
  for (size_t at = 0; at < n_bytes;) {
    const size_t n_name = strnlen(bytes + at, n_bytes - at);
    const size_t n_path =
        at + n_name < n_bytes ? strnlen(bytes + at + n_name + 1U, n_bytes - at - n_name - 1U) : 0U;
    if (!n_path || at + n_name + n_path + 1U >= n_bytes) {
      return wrong_data(error);
    }
    const Status status = host_paths_add(&unit->paths, bytes + at, bytes + at + n_name + 1U, error);
    if (status) {
      return status;
    }
    at += n_name + n_path + 2U;
  }
  return STATUS_OK;
}

/// Take over files and state, if there is one.
static Status
read_state(GroupUnit* const unit, const GroupCall* const call, const char* const bytes,
           const size_t n_bytes, Error* const error)
{
  if (call->n_paths > n_bytes) {
    return wrong_data(error);
  }
  const size_t n_state = n_bytes - call->n_paths;
  const Status status = read_paths(unit, bytes, call->n_paths, error);
  return status || !n_state ? status
                            : state_file_parse(&unit->plugin->origin, bytes + call->n_paths,
                                               n_state, &unit->state, error);
}

static Status
find_calls(GroupUnit* const unit, Error* const error)
{
  const PluginFormat* const format = plugin_format_find(unit->plugin->origin.format);
  unit->calls = format ? format->calls : NULL;
  return unit->calls ? STATUS_OK : wrong_data(error);
}

/// Take the data of the call apart.  A zero ends the description.
static Status
read_data(GroupUnit* const unit, const GroupCall* const call, const size_t n_bytes,
          Error* const error)
{
  if (call->n_description > n_bytes) {
    return wrong_data(error);
  }
  char* const description = calloc(1, call->n_description + 1U);
  if (!description) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const char* const rest = unit->data + call->n_description;
  memcpy(description, unit->data, call->n_description);
  Status status = plugin_read(description, &unit->arena, &host_functions, &unit->plugin, error);
  status = status ? status : find_calls(unit, error);
  status = status ? status : read_state(unit, call, rest, n_bytes - call->n_description, error);
  free(unit->data);
  unit->data = description;
  return status;
}

static Status
attach_ring(GroupUnit* const unit, const GroupCall* const call, const int fd, Error* const error)
{
  const Status status = ring_attach(fd, &unit->ring, error);
  if (status) {
    return status;
  }
  const RingShape* const shape = ring_shape(unit->ring);
  unit->n_in = plugin_count_audio(unit->plugin, false);
  unit->n_out = plugin_count_audio(unit->plugin, true);
  unit->block_frames = call->max_block_frames;
  return shape->n_in == unit->n_in && shape->n_out == unit->n_out + 1U &&
                 shape->block_frames == unit->block_frames
             ? STATUS_OK
             : wrong_data(error);
}

static Status
make_rows(GroupUnit* const unit, Error* const error)
{
  const uint32_t n_rows = unit->n_in + unit->n_out;
  unit->in = calloc(n_rows, sizeof(float*));
  unit->samples = rt_memory((size_t)n_rows * unit->block_frames * sizeof(float));
  if (!unit->in || !unit->samples) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  unit->out = unit->in + unit->n_in;
  for (uint32_t r = 0; r < n_rows; ++r) {
    unit->in[r] = unit->samples + (size_t)r * unit->block_frames;
  }
  return STATUS_OK;
}

static Status
open_instance(GroupUnit* const unit, const GroupCall* const call, Error* const error)
{
  if (call->preset > unit->plugin->n_presets || !(call->rate_hz > 0.0)) {
    return wrong_data(error);
  }
  const InstanceSetup setup = { .rate_hz = call->rate_hz,
                                .max_block_frames = call->max_block_frames,
                                .preset =
                                    call->preset ? &unit->plugin->presets[call->preset - 1U] : NULL,
                                .state = &unit->state,
                                .index = call->index,
                                .paths = &unit->paths };
  ProcessState state;
  process_state_save(&state);
  const uint64_t before = recorder_enter(unit->uid, RECORDER_INSTANTIATE);
  const Status status = unit->calls->open(unit->plugin, &setup, &unit->instance, error);
  if (!status) {
    (void)read_latency(unit);
  }
  recorder_leave(before);
  process_state_restore(&state);
  return status;
}

Status
group_unit_new(const GroupCall* const call, char* const data, const size_t n_bytes,
               const int ring_fd, GroupUnit** const out, Error* const error)
{
  GroupUnit* const unit = calloc(1, sizeof(GroupUnit));
  if (!unit) {
    free(data);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  unit->data = data;
  unit->uid = call->uid;
  unit->slot = call->slot;
  Status status = read_data(unit, call, n_bytes, error);
  status = status ? status : attach_ring(unit, call, ring_fd, error);
  status = status ? status : make_rows(unit, error);
  status = status ? status : open_instance(unit, call, error);
  if (status) {
    group_unit_free(unit);
    return status;
  }
  unit->has_blocks = true;
  group_threads_set(unit->slot, run_oldest, unit);
  *out = unit;
  return STATUS_OK;
}

void
group_unit_free(GroupUnit* const unit)
{
  if (unit->has_blocks) {
    group_threads_set(unit->slot, NULL, NULL);
  }
  if (unit->instance) {
    ProcessState state;
    process_state_save(&state);
    const uint64_t before = recorder_enter(unit->uid, RECORDER_CLOSE);
    unit->calls->close(unit->instance);
    recorder_leave(before);
    process_state_restore(&state);
  }
  ring_free(unit->ring);
  state_file_clear(&unit->state);
  host_paths_clear(&unit->paths);
  free(unit->in);
  free(unit->samples);
  arena_clear(&unit->arena);
  free(unit->data);
  free(unit);
}

// ---- calls ----

Status
group_unit_renew(GroupUnit* const unit, const GroupCall* const call, const char* const data,
                 const size_t n_bytes, Error* const error)
{
  group_threads_lock(unit->slot);
  run_all(unit);
  Status status = read_state(unit, call, data, n_bytes, error);
  if (!status) {
    ProcessState process;
    process_state_save(&process);
    const uint64_t before = recorder_enter(unit->uid, RECORDER_RENEW);
    apply_all(unit);
    status = unit->calls->renew(unit->instance, error);
    if (!status) {
      (void)read_latency(unit);
    }
    recorder_leave(before);
    process_state_restore(&process);
  }
  group_threads_unlock(unit->slot);
  return status;
}

Status
group_unit_silence(GroupUnit* const unit, const uint32_t n_frames, Error* const error)
{
  if (!n_frames || n_frames > unit->block_frames) {
    return wrong_data(error);
  }
  group_threads_lock(unit->slot);
  ProcessState state;
  process_state_save(&state);
  const uint64_t before = recorder_enter(unit->uid, RECORDER_INSTANTIATE);
  memset(unit->samples, 0, (size_t)(unit->n_in + unit->n_out) * unit->block_frames * sizeof(float));
  for (uint32_t o = 0; o < unit->n_out; ++o) { // a block has made them rows of the ring
    unit->out[o] = unit->samples + (size_t)(unit->n_in + o) * unit->block_frames;
  }
  apply_all(unit);
  unit->calls->run(unit->instance, (const float* const*)unit->in, unit->out, n_frames);
  (void)read_latency(unit);
  recorder_leave(before);
  process_state_restore(&state);
  group_threads_unlock(unit->slot);
  return STATUS_OK;
}

static Status
check_port(const GroupUnit* const unit, const uint32_t port, Error* const error)
{
  return port < unit->plugin->n_ports ? STATUS_OK : wrong_data(error);
}

Status
group_unit_set_text(GroupUnit* const unit, const uint32_t port, const char* const text,
                    Error* const error)
{
  Status status = check_port(unit, port, error);
  if (!status && unit->calls->set_text) {
    group_threads_lock(unit->slot);
    apply_all(unit); // values that were set before it
    status = unit->calls->set_text(unit->instance, port, text, error);
    group_threads_unlock(unit->slot);
  }
  return status;
}

Status
group_unit_get(GroupUnit* const unit, const uint32_t port, double* const value, Error* const error)
{
  const Status status = check_port(unit, port, error);
  *value = status ? 0.0 : unit->calls->get(unit->instance, port);
  return status;
}

Status
group_unit_save(GroupUnit* const unit, TextBuffer* const part, bool* const is_package,
                Error* const error)
{
  if (!unit->calls->save) {
    return wrong_data(error);
  }
  ProcessState state;
  process_state_save(&state);
  const uint64_t before = recorder_enter(unit->uid, RECORDER_STATE);
  Status status = unit->calls->save(unit->instance, part, error);
  recorder_leave(before);
  process_state_restore(&state);
  if (!status && part->failed) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  status = status ? status : package_finish(part, &unit->paths.kept, error);
  *is_package = unit->paths.n_kept > 0U;
  host_paths_forget_kept(&unit->paths);
  return status;
}

void
group_unit_report(const GroupUnit* const unit, GroupReply* const reply)
{
  reply->latency_frames = atomic_load_explicit(&unit->latency_frames, memory_order_relaxed);
  reply->has_latency = unit->calls->has_latency(unit->instance);
}
