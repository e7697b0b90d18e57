// SPDX-License-Identifier: GPL-3.0-or-later
// The instances of groups, as the host in the worker sees them: InstanceCalls that call the process
// of the group, and the blocks that go there through a ring.

#include "group.h"

#include "group_losses.h"
#include "group_process.h"

#include "engine/base/sealed_text.h"
#include "engine/base/time.h"
#include "plugins/format.h"
#include "plugins/host_group.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FORMATS   8U
#define MORE_MESSAGES 1024U           // of a ring, beside 4 for each port: runs, steps of ramps
#define WAIT_NS       (2U * NS_PER_S) // longest wait for a block, where no deadline applies
#define PORT_MESSAGES 4U // a port may be set by the preset and the rack, when it is made and again

struct Instance {
  GroupMember member; ///< First
  const Plugin* plugin;
  const StateFile* state; ///< InstanceSetup::state, as the next two
  HostPaths* paths;
  uint32_t index;
  uint32_t n_in, n_out;
  bool has_latency;
  uint64_t bytes_before;           ///< group_memory(), before it was opened
  _Atomic uint32_t latency_frames; ///< As last reported
  _Atomic bool wants_restart;
  // used by the thread that runs blocks
  bool is_full;     ///< A message of the block did not fit
  bool is_slow;     ///< A wait has ended without an answer: no further wait, until there is one
  uint64_t taken;   ///< Blocks whose answers were taken or dropped
  uint64_t dropped; ///< Answers to blocks below this number are dropped
  struct {
    uint64_t frame;
    uint32_t n_frames;
  } sent[GROUP_RING_SLOTS]; ///< By slot of the ring
};

// ---- data for the process ----

/// Put the parts into sealed memory.  The caller closes the descriptor.
static Status
seal(TextBuffer* const data, int* const fd, Error* const error)
{
  const Status status = data->failed
                            ? error_set(error, STATUS_NO_MEM, "out of memory")
                            : sealed_text_new(data->n ? data->bytes : "", data->n, fd, error);
  free(data->bytes);
  *data = (TextBuffer){ 0 };
  return status;
}

static void
add_bytes(TextBuffer* const data, const void* const bytes, const size_t n_bytes)
{
  char* const to = text_buffer_reserve(data, n_bytes);
  if (to) {
    memcpy(to, bytes, n_bytes);
    data->n += n_bytes;
  }
}

/// Find the files that the state of the instance names: its process does not ask for files.
static Status
find_files(const Instance* const instance, Error* const error)
{
  const StateFile* const state = instance->state;
  const StatePart* const part = state ? state_file_part(state, instance->index) : NULL;
  const PluginFormat* const format = plugin_format_find(instance->plugin->origin.format);
  return part && format && format->calls->find_files
             ? format->calls->find_files(part, instance->paths, error)
             : STATUS_OK;
}

/// Append the state of the node as a file; nothing if it has none.
static Status
add_state(TextBuffer* const data, const Instance* const instance, Error* const error)
{
  const StateFile* const state = instance->state;
  if (!state || !state->n_parts) {
    return STATUS_OK;
  }
  TextBuffer file = { 0 };
  const Status status =
      state_file_write(&instance->plugin->origin, state->parts, state->n_parts, &file, error);
  if (!status) {
    add_bytes(data, file.bytes, file.n);
  }
  free(file.bytes);
  return status;
}

/// Append the files that node and state name: name, path, each with a zero.
static void
add_paths(TextBuffer* const data, const HostPaths* const paths)
{
  for (uint32_t p = 0; paths && p < paths->n; ++p) {
    add_bytes(data, paths->list[p].name, strlen(paths->list[p].name) + 1U);
    add_bytes(data, paths->list[p].path, strlen(paths->list[p].path) + 1U);
  }
}

/// Append files and state, and seal all.
static Status
finish_data(TextBuffer* const data, const Instance* const instance, GroupCall* const call,
            int* const fd, Error* const error)
{
  const size_t n_before = data->n;
  Status status = find_files(instance, error);
  add_paths(data, instance->paths);
  call->n_paths = (uint32_t)(data->n - n_before);
  status = status ? status : add_state(data, instance, error);
  if (status) {
    free(data->bytes);
    return status;
  }
  return seal(data, fd, error);
}

// ---- calls [builder] ----

static void
take_reply(Instance* const instance, const GroupReply* const reply)
{
  instance->has_latency = reply->has_latency != 0U;
  atomic_store_explicit(&instance->latency_frames, reply->latency_frames, memory_order_relaxed);
}

static void
close_fd(const int fd)
{
  if (fd >= 0) {
    close(fd);
  }
}

static uint32_t
n_messages(const Plugin* const plugin)
{
  const uint32_t n_notes = plugin->fx.event ? 2U * FX_MAX_EVENTS : 0U;
  const uint32_t least = MORE_MESSAGES + n_notes + PORT_MESSAGES * plugin->n_ports;
  uint32_t n = 1U;
  while (n < least) {
    n *= 2U;
  }
  return n;
}

static Status
make_ring(Instance* const instance, const InstanceSetup* const setup, Error* const error)
{
  const RingShape shape = { .n_in = instance->n_in,
                            .n_out = instance->n_out + 1U, // the report
                            .block_frames = setup->max_block_frames,
                            .n_slots = GROUP_RING_SLOTS,
                            .n_messages = n_messages(instance->plugin) };
  return ring_new(&shape, &instance->member.ring, error);
}

static Status
call_open(Instance* const instance, const InstanceSetup* const setup, Error* const error)
{
  const Plugin* const plugin = instance->plugin;
  GroupCall call = { .op = GROUP_OPEN,
                     .uid = setup->uid,
                     .index = setup->index,
                     .preset =
                         setup->preset ? 1U + (uint32_t)(setup->preset - plugin->presets) : 0U,
                     .rate_hz = setup->rate_hz,
                     .max_block_frames = setup->max_block_frames };
  int fds[] = { ring_fd(instance->member.ring), -1 };
  TextBuffer data = { 0 };
  plugin_write(&data, plugin);
  call.n_description = (uint32_t)data.n;
  Status status = finish_data(&data, instance, &call, &fds[1], error);
  if (status) {
    return status;
  }
  GroupReply reply;
  status = group_call(&instance->member, &call, fds, ARRAY_LEN(fds), &reply, NULL, error);
  close_fd(fds[1]);
  if (!status) {
    (void)ring_seal(instance->member.ring); // a process that prevents it costs page faults, no more
    take_reply(instance, &reply);
  }
  return status;
}

static void
instance_free(Instance* const instance)
{
  if (instance->member.group) {
    group_leave(&instance->member);
  }
  ring_free(instance->member.ring);
  free(instance);
}

static Status
outside_open(const Plugin* const plugin, const InstanceSetup* const setup, Instance** const out,
             Error* const error)
{
  Instance* const instance = calloc(1, sizeof(Instance));
  if (!instance) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", plugin->fx.name);
  }
  instance->plugin = plugin;
  instance->state = setup->state;
  instance->paths = setup->paths;
  instance->index = setup->index;
  instance->n_in = plugin_count_audio(plugin, false);
  instance->n_out = plugin_count_audio(plugin, true);
  instance->member.uid = setup->uid;
  Status status =
      instance->n_out < FX_MAX_CHANNELS
          ? make_ring(instance, setup, error)
          : error_set(error, STATUS_LIMIT, "%s: a plugin of a group has at most %u outputs",
                      plugin->fx.name, FX_MAX_CHANNELS - 1U);
  status = status ? status : group_join(setup->group, &instance->member, error);
  if (!status) {
    instance->bytes_before = group_memory(&instance->member);
    status = call_open(instance, setup, error);
  }
  if (status) {
    instance_free(instance);
    return status;
  }
  *out = instance;
  return STATUS_OK;
}

static void
outside_close(Instance* const instance)
{
  GroupCall call = { .op = GROUP_CLOSE };
  GroupReply reply;
  if (group_call(&instance->member, &call, NULL, 0U, &reply, NULL, NULL)) {
    // The process is lost, which is reported.
  }
  instance_free(instance);
}

static Status
outside_renew(Instance* const instance, Error* const error)
{
  GroupCall call = { .op = GROUP_RENEW };
  GroupReply reply;
  TextBuffer data = { 0 };
  int fd = -1;
  Status status = finish_data(&data, instance, &call, &fd, error);
  status = status ? status : group_call(&instance->member, &call, &fd, 1U, &reply, NULL, error);
  close_fd(fd);
  if (!status) {
    take_reply(instance, &reply);
  }
  return status;
}

static Status
outside_silence(Instance* const instance, const uint32_t n_frames, Error* const error)
{
  GroupCall call = { .op = GROUP_SILENCE, .n_frames = n_frames };
  GroupReply reply;
  const Status status = group_call(&instance->member, &call, NULL, 0U, &reply, NULL, error);
  if (!status) {
    take_reply(instance, &reply);
  }
  return status;
}

static Status
outside_set_text(Instance* const instance, const uint32_t port, const char* const text,
                 Error* const error)
{
  GroupCall call = { .op = GROUP_TEXT, .port = port };
  GroupReply reply;
  TextBuffer data = { 0 };
  int fd = -1;
  text_buffer_add(&data, text);
  Status status = seal(&data, &fd, error);
  status = status ? status : group_call(&instance->member, &call, &fd, 1U, &reply, NULL, error);
  close_fd(fd);
  return status;
}

static double
outside_get(const Instance* const instance, const uint32_t port)
{
  GroupCall call = { .op = GROUP_GET, .port = port };
  GroupReply reply = { .value = 0.0 };
  // The host clips it to the range of the port.
  return group_call((GroupMember*)&instance->member, &call, NULL, 0U, &reply, NULL, NULL) ||
                 reply.value != reply.value
             ? 0.0
             : reply.value;
}

/// Take over what the process has saved.  Files come as contents: no name or path of the process is
/// used.
static Status
take_saved(const Instance* const instance, const char* const bytes, const size_t n_bytes,
           const bool is_package, TextBuffer* const part, Error* const error)
{
  const FxInfo* const fx = &instance->plugin->fx;
  PackageFile files[PACKAGE_MAX_FILES] = { { .bytes = bytes, .n_bytes = n_bytes } };
  uint32_t n_files = 1;
  if (is_package && package_read(bytes, n_bytes, files, &n_files, NULL)) {
    return error_set(error, STATUS_FILE,
                     "%s: the process of its group has sent a damaged package of files", fx->name);
  }
  if (!state_append(part, files[0].bytes, files[0].n_bytes)) {
    return part->failed ? error_set(error, STATUS_NO_MEM, "out of memory") : state_too_large(error);
  }
  Status status = STATUS_OK;
  for (uint32_t f = 1; f < n_files && !status; ++f) {
    char stored[FX_STATE_NAME_BYTES];
    status = host_paths_keep(instance->paths, fx, &files[f], stored, error);
  }
  return status;
}

static Status
outside_save(Instance* const instance, TextBuffer* const part, Error* const error)
{
  GroupCall call = { .op = GROUP_SAVE };
  GroupReply reply;
  int fd = -1;
  char* text = NULL;
  size_t n_bytes = 0;
  Status status = group_call(&instance->member, &call, NULL, 0U, &reply, &fd, error);
  status =
      status || fd < 0 ? status : sealed_text_read(fd, FX_STATE_MAX_BYTES, &text, &n_bytes, error);
  if (!status && fd >= 0) {
    status = take_saved(instance, text, n_bytes, reply.is_package != 0U, part, error);
  }
  free(text);
  close_fd(fd);
  return status;
}

static uint64_t
outside_growth(const Instance* const instance)
{
  const uint64_t n_bytes = group_memory(&instance->member);
  return n_bytes > instance->bytes_before ? n_bytes - instance->bytes_before : 0U;
}

static uint64_t
outside_ring_bytes(const Instance* const instance)
{
  size_t n_bytes = 0;
  (void)ring_memory(instance->member.ring, &n_bytes);
  return n_bytes;
}

static uint32_t
outside_latency(const Instance* const instance)
{
  return atomic_load_explicit(&instance->latency_frames, memory_order_relaxed);
}

static bool
outside_has_latency(const Instance* const instance)
{
  return instance->has_latency;
}

static bool
outside_wants_restart(const Instance* const instance)
{
  return !instance->member.is_lost &&
         atomic_load_explicit(&instance->wants_restart, memory_order_relaxed);
}

static bool
outside_is_lost(const Instance* const instance)
{
  return group_may_restart(&instance->member);
}

// ---- blocks [rt] ----

static void
send(Instance* const instance, const GroupMessage kind, const uint32_t param, const double value,
     const uint32_t n_frames)
{
  const ParamMessage message = { .frame = ring_next(instance->member.ring),
                                 .kind = kind,
                                 .param = param,
                                 .value = value,
                                 .n_frames = n_frames };
  instance->is_full |= !ring_send(instance->member.ring, &message, 1U);
}

static void
outside_set(Instance* const instance, const uint32_t port, const double value, const uint32_t frame)
{
  send(instance, GROUP_MESSAGE_SET, port, value, frame);
}

static void
outside_event(Instance* const instance, const FxEvent* const event, const uint32_t frame)
{
  const float velocity = event->kind == FX_NOTE_ON ? event->velocity : 0.0F;
  send(instance, GROUP_MESSAGE_NOTE, event->key, (double)velocity, frame);
}

static bool
outside_begin(Instance* const instance)
{
  Ring* const ring = instance->member.ring;
  if (ring_next(ring) - instance->taken >= GROUP_RING_SLOTS || !ring_can_submit(ring)) {
    return false;
  }
  instance->is_full = false;
  return true;
}

static void
outside_run(Instance* const instance, const float* const* const rows, const uint32_t first,
            const uint32_t n_frames)
{
  Ring* const ring = instance->member.ring;
  for (uint32_t r = 0; r < instance->n_in; ++r) {
    memcpy(ring_input(ring, ring_next(ring), r) + first, rows[r], n_frames * sizeof(float));
  }
  send(instance, GROUP_MESSAGE_RUN, 0U, 0.0, n_frames);
}

static bool
outside_submit(Instance* const instance, const uint64_t frame, const uint32_t n_frames)
{
  Ring* const ring = instance->member.ring;
  const uint64_t sequence = ring_next(ring);
  *ring_slot(ring, sequence) = (SlotHeader){ .frame = frame, .n_frames = n_frames };
  instance->sent[sequence % GROUP_RING_SLOTS].frame = frame;
  instance->sent[sequence % GROUP_RING_SLOTS].n_frames = n_frames;
  atomic_store_explicit(&instance->member.n_submitted, sequence + 1U, memory_order_relaxed);
  ring_submit(ring);
  atomic_store_explicit(&instance->member.bell->is_due, true, memory_order_release);
  return !instance->is_full;
}

static void
outside_wake(const Instance* const instance)
{
  GroupBell* const bell = instance->member.bell;
  if (atomic_load_explicit(&bell->is_due, memory_order_relaxed) &&
      atomic_exchange(&bell->is_due, false)) {
    ring_wake(bell->ring);
  }
}

/// Take over what the process reports beside a block.
static void
read_report(Instance* const instance, const uint64_t sequence)
{
  uint32_t latency_frames = 0;
  bool wants_restart = false;
  const float report = *ring_output(instance->member.ring, sequence, instance->n_out);
  if (group_read_report(report, &latency_frames, &wants_restart)) {
    atomic_store_explicit(&instance->latency_frames, latency_frames, memory_order_relaxed);
    atomic_store_explicit(&instance->wants_restart, wants_restart, memory_order_relaxed);
  }
}

static bool
outside_take(Instance* const instance, const bool waits, HostAnswer* const answer)
{
  Ring* const ring = instance->member.ring;
  while (instance->taken < ring_next(ring)) {
    const uint64_t sequence = instance->taken;
    const bool may_wait = waits && !instance->is_slow;
    if (!(may_wait ? ring_wait_finished(ring, sequence, WAIT_NS)
                   : ring_is_finished(ring, sequence))) {
      instance->is_slow |= may_wait;
      return false;
    }
    instance->is_slow = false;
    ++instance->taken;
    const bool has_sound = ring_result(ring, sequence) == RING_SOUND;
    if (has_sound) {
      read_report(instance, sequence);
    }
    if (sequence >= instance->dropped) {
      answer->frame = instance->sent[sequence % GROUP_RING_SLOTS].frame;
      answer->n_frames = instance->sent[sequence % GROUP_RING_SLOTS].n_frames;
      answer->has_sound = has_sound;
      for (uint32_t o = 0; o < instance->n_out; ++o) {
        answer->rows[o] = ring_output(ring, sequence, o);
      }
      return true;
    }
  }
  return false;
}

static void
outside_drop(Instance* const instance)
{
  instance->dropped = ring_next(instance->member.ring);
}

// ---- tables ----

/// The calls for each format, which differ in a flag and in what may be missing.
static struct {
  const InstanceCalls* of_format;
  InstanceCalls calls;
} tables[MAX_FORMATS];

static const InstanceCalls*
outside_calls(const InstanceCalls* const of_format)
{
  for (uint32_t f = 0; f < MAX_FORMATS; ++f) {
    if (tables[f].of_format == of_format) {
      return &tables[f].calls;
    }
  }
  return NULL;
}

static const HostRemote group_remote = {
  .calls = outside_calls,
  .silence = outside_silence,
  .growth = outside_growth,
  .ring_bytes = outside_ring_bytes,
  .begin = outside_begin,
  .run = outside_run,
  .submit = outside_submit,
  .wake = outside_wake,
  .take = outside_take,
  .drop = outside_drop,
  .idle = groups_watch,
  .take_loss = group_losses_take,
};

void
groups_start(const char* const program)
{
  groups_use_program(program);
  uint32_t n_formats = 0;
  const PluginFormat* const* const formats = plugin_formats(&n_formats);
  for (uint32_t f = 0; f < n_formats && f < MAX_FORMATS; ++f) {
    tables[f].of_format = formats[f]->calls;
    tables[f].calls = (InstanceCalls){ .open = outside_open,
                                       .close = outside_close,
                                       .renew = outside_renew,
                                       .set = outside_set,
                                       .set_text = outside_set_text,
                                       .event = outside_event,
                                       .get = outside_get,
                                       .latency = outside_latency,
                                       .has_latency = outside_has_latency,
                                       .wants_restart = outside_wants_restart,
                                       .is_lost = outside_is_lost,
                                       .save = outside_save,
                                       .state_has_values = formats[f]->calls->state_has_values };
  }
  host_set_remote(&group_remote);
}
