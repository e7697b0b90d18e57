// SPDX-License-Identifier: GPL-3.0-or-later
// The states of a node's instances: read before they are made, saved while they play.

#include "host_node.h"

#include "plugin_thread.h"
#include "process_state.h"

#include "engine/base/recorder.h"

#include <stdlib.h>
#include <string.h>

Status
host_read_state(HostNode* const node, const FxSetup* const setup, Error* const error)
{
  const Plugin* const plugin = node->plugin;
  const uint32_t param = plugin->fx.state_param;
  const char* const path = plugin->fx.save && setup->paths ? setup->paths[param] : NULL;
  const Status status = host_paths_init(&node->paths, setup, error);
  return status || !path
             ? status
             : state_file_read(&plugin->origin, path, setup->texts[param], &node->state, error);
}

/// A call for the thread of plugins.
typedef struct SaveCall {
  HostNode* node;
  TextBuffer* saved; ///< [lanes.n_instances] empty: as the first one
  StatePart* parts;  ///< [lanes.n_instances]
  Status status;
  Error* error;
} SaveCall;

static Status
save_instance(const HostNode* const node, const uint32_t index, TextBuffer* const part,
              Error* const error)
{
  ProcessState state;
  process_state_save(&state);
  const uint64_t before = recorder_enter(node->uid, RECORDER_STATE);
  Status status = node->calls->save(node->instances[index], part, error);
  recorder_leave(before);
  process_state_restore(&state);
  if (!status && part->failed) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return status;
}

static bool
are_same(const StatePart* const a, const StatePart* const b)
{
  return a->n_bytes == b->n_bytes && !memcmp(a->bytes, b->bytes, a->n_bytes);
}

/// Save all instances.  States that are the same as the first one take its memory, and the others
/// end with an error when they do not fit into a file together.
static void
save_here(void* const context)
{
  SaveCall* const call = context;
  size_t n_bytes = 0;
  for (uint32_t i = 0; !call->status && i < call->node->n_open; ++i) {
    TextBuffer* const saved = &call->saved[i];
    StatePart* const part = &call->parts[i];
    call->status = save_instance(call->node, i, saved, call->error);
    *part = (StatePart){ saved->n ? saved->bytes : "", saved->n };
    if (i && are_same(part, &call->parts[0])) {
      free(saved->bytes);
      *saved = (TextBuffer){ 0 };
      *part = call->parts[0];
    }
    n_bytes += saved->n;
    if (!call->status && n_bytes > FX_STATE_MAX_BYTES) {
      call->status = state_too_large(call->error);
    }
  }
}

/// Write the file, add the files that plugins have made, and keep the state until host_end_save().
static Status
finish(HostNode* const node, const StatePart* const parts, TextBuffer* const file,
       Error* const error)
{
  const FxOrigin* const origin = &node->plugin->origin;
  StateFile saved = { 0 };
  Status status = state_file_write(origin, parts, node->lanes.n_instances, file, error);
  status = status ? status : state_file_parse(origin, file->bytes, file->n, &saved, error);
  status = status ? status : package_finish(file, &node->paths.kept, error);
  if (status) {
    state_file_clear(&saved);
  } else {
    state_file_clear(&node->saved);
    node->saved = saved;
  }
  return status;
}

Status
host_save(void* const context, FxShape* const shape, unsigned char** const bytes,
          size_t* const n_bytes, Error* const error)
{
  HostNode* const node = context;
  const size_t n_before = state_file_bytes(&node->saved);
  const uint32_t n = node->lanes.n_instances;
  if (node->is_quarantined) {
    return error_set(error, STATUS_NOT_FOUND, "the plugin is in quarantine");
  }
  TextBuffer file = { 0 };
  TextBuffer* const saved = calloc(n, sizeof(TextBuffer));
  StatePart* const parts = calloc(n, sizeof(StatePart));
  SaveCall call = { .node = node, .saved = saved, .parts = parts, .error = error };
  if (saved && parts) {
    plugin_thread_run(save_here, &call);
    call.status = call.status ? call.status : finish(node, parts, &file, error);
  } else {
    call.status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t i = 0; saved && i < n; ++i) {
    free(saved[i].bytes);
  }
  free(saved);
  free(parts);
  host_paths_forget_kept(&node->paths);
  shape->data_bytes += state_file_bytes(&node->saved) - n_before;
  if (call.status) {
    free(file.bytes);
  } else {
    *n_bytes = file.n;
    *bytes = (unsigned char*)file.bytes;
  }
  return call.status;
}

void
host_end_save(void* const context, FxShape* const shape, const bool is_named)
{
  HostNode* const node = context;
  StateFile* const left = is_named && node->saved.n_parts ? &node->state : &node->saved;
  shape->data_bytes -= state_file_bytes(left);
  state_file_clear(left);
  if (left == &node->state) {
    node->state = node->saved;
    node->saved = (StateFile){ 0 };
  }
}
