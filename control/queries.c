// SPDX-License-Identifier: GPL-3.0-or-later
// Queries of the rack, its values and the server.

#include "queries.h"

#include "control_private.h"
#include "describe.h"
#include "midi_commands.h"
#include "scenes.h"
#include "values.h"

#include "engine/base/text_buffer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES   8192U // of text in one answer
#define PLUGIN_WORDS 16U
#define MAX_WAITING  (8U << 20U) // bytes of all texts that wait, if there are several

static void
answer(Control* const control, const Peer* const peer, const Message* const message,
       const char* const address, const lo_message arguments)
{
  outlet_send(&control->outlet, peer, message->n_bytes, address, arguments);
}

Status
query_ping(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  (void)error;
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}

Status
query_quit(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  (void)error;
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  control->config.quit(control->config.context);
  return STATUS_OK;
}

Status
query_version(Control* const control, const Peer* const peer, Message* const message,
              Error* const error)
{
  (void)error;
  lo_message arguments = lo_message_new();
  outlet_add(&arguments, "ss", "warprack", WARPRACK_VERSION);
  answer(control, peer, message, message->address, arguments);
  return STATUS_OK;
}

Status
query_sync(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  return syncs_add(&control->syncs, control->config.engine, peer, message, control->now_ns, error);
}

Status
query_save(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  control_report_rack(control); // so that the program has it before the client has the answer
  const char* const text = control_rack_text(control);
  const Status status =
      rack_store_write(control->store, text ? strdup(text) : NULL, peer, message, error);
  control->counts.unsaved += status != STATUS_OK;
  return status; // STATUS_OK: the answer follows when the file is written
}

/// True if an argument is the number of a part; words may be in its place.
static bool
has_part(const Message* const message, const uint32_t place)
{
  return place < message_n_arguments(message) && strchr("ih", message_type(message, place));
}

/// Read the texts after the number of a part, at most `max`; the error calls them `what`.
static Status
read_words(const Message* const message, const char* const what, const uint32_t max,
           const char** const words, uint32_t* const n, Error* const error)
{
  const uint32_t first = has_part(message, 0);
  *n = message_n_arguments(message) - first;
  if (*n > max) {
    return error_set(error, STATUS_LIMIT, "at most %u %s", max, what);
  }
  for (uint32_t w = 0; w < *n; ++w) {
    words[w] = message_text(message, first + w);
  }
  return STATUS_OK;
}

/// Send a part.  Returns its size.
static size_t
answer_part(Control* const control, const Peer* const peer, const size_t request_bytes,
            const char* const address, const char* const text, const uint32_t part,
            const uint32_t n_parts)
{
  char piece[PART_BYTES + 1U];
  // With a precision, snprintf() does not read the rest of the text, which may have megabytes.
  snprintf(piece, sizeof(piece), "%.*s", (int)PART_BYTES, text + (size_t)(part - 1U) * PART_BYTES);
  lo_message arguments = lo_message_new();
  outlet_add(&arguments, "sii", piece, (int32_t)part, (int32_t)n_parts);
  return outlet_send(&control->outlet, peer, request_bytes, address, arguments);
}

/// What is left of the size of a request after an answer, which had headers of its own.
static size_t
bytes_left(const size_t request_bytes, const size_t n_sent)
{
  const size_t n_used = n_sent ? n_sent + MESSAGE_HEADER_BYTES : 0U;
  return n_used < request_bytes ? request_bytes - n_used : 0U;
}

static uint32_t
count_parts(const char* const text)
{
  const size_t length = strlen(text);
  return length ? (uint32_t)((length + PART_BYTES - 1U) / PART_BYTES) : 1U;
}

/// Send the parts of a text after `n_sent` up to `last`, while a connection has room for them.
/// Returns the number of the last part that is sent.
static uint32_t
send_parts(Control* const control, const Peer* const peer, const Message* const message,
           const char* const text, const uint32_t n_sent, const uint32_t last)
{
  const uint32_t n_parts = count_parts(text);
  uint32_t part = n_sent;
  size_t n_left = message->n_bytes; // to a stranger, for all parts together
  while (part < last && !streams_is_full(&control->streams, peer)) {
    const size_t n = answer_part(control, peer, n_left, message->address, text, ++part, n_parts);
    n_left = bytes_left(n_left, n);
  }
  return part;
}

void
queries_continue(Control* const control, const Peer* const peer, Message* const message)
{
  const uint32_t n_parts = count_parts(message->text);
  message->n_parts_sent =
      send_parts(control, peer, message, message->text, message->n_parts_sent, n_parts);
  message->is_unfinished = message->n_parts_sent < n_parts;
}

/// Bytes of the texts that wait for TCP clients.
static size_t
count_waiting(Control* const control)
{
  size_t n_bytes = 0;
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    n_bytes += senders_n_text(&control->intake.senders, &control->streams.items[s].peer);
  }
  return n_bytes;
}

/// Keep a text of which a TCP client has taken the first parts.
static Status
keep_text(Control* const control, Message* const message, const char* const text,
          const uint32_t n_sent, Error* const error)
{
  const size_t n_waiting = count_waiting(control);
  if (n_waiting && n_waiting + strlen(text) > MAX_WAITING) {
    return error_set(error, STATUS_LIMIT,
                     "only %u parts were sent: too many texts wait for clients that read slowly",
                     n_sent);
  }
  message->text = strdup(text);
  message->n_parts_sent = n_sent;
  message->is_unfinished = message->text;
  return message->text ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

/// Answer with a text in parts: with all parts, or with the one that argument `place` requests.
static Status
answer_text(Control* const control, const Peer* const peer, Message* const message,
            const uint32_t place, const char* const text, Error* const error)
{
  const uint32_t n_parts = count_parts(text);
  const bool is_one = has_part(message, place);
  const double wanted = is_one ? message_number(message, place) : 1.0;
  if (wanted < 1.0 || wanted > n_parts) {
    return error_set(error, STATUS_BAD_ARG, "the text has parts 1 to %u", n_parts);
  }
  const uint32_t before = (uint32_t)wanted - 1U;
  const uint32_t last = is_one ? before + 1U : n_parts;
  const uint32_t n_sent = send_parts(control, peer, message, text, before, last);
  return n_sent == last || is_one // a turn begins with room for a part
             ? STATUS_OK
             : keep_text(control, message, text, n_sent, error);
}

/// Answer with a text in parts, as answer_text() does, and free it.  NULL: out of memory.
static Status
answer_and_free(Control* const control, const Peer* const peer, Message* const message,
                char* const text, Error* const error)
{
  const Status status = text ? answer_text(control, peer, message, 0, text, error)
                             : error_set(error, STATUS_NO_MEM, "out of memory");
  free(text);
  return status;
}

Status
query_rack(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  const char* const text = control_rack_text(control);
  return text ? answer_text(control, peer, message, 0, text, error)
              : error_set(error, STATUS_NO_MEM, "out of memory");
}

Status
query_tempo(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  (void)error;
  lo_message arguments = lo_message_new();
  control_append_tempo(control, &arguments);
  answer(control, peer, message, message->address, arguments);
  return STATUS_OK;
}

Status
query_scenes(Control* const control, const Peer* const peer, Message* const message,
             Error* const error)
{
  char* const text = scenes_print(editor_rack(control->editor));
  return answer_and_free(control, peer, message, text, error);
}

Status
query_midi(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  char* const text = midi_print(editor_rack(control->editor));
  return answer_and_free(control, peer, message, text, error);
}

Status
query_watch(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  if (outlet_check_trust(&control->outlet, peer, error)) {
    return error->status;
  }
  TextBuffer lines = { .bytes = NULL };
  watch_print(&control->intake.watch, control->now_ns, &lines);
  char* const text = text_buffer_take(&lines);
  return answer_and_free(control, peer, message, text, error);
}

// ---- plugins ----

/// The program's calls for plugins, or NULL with an error.
static const ControlPlugins*
find_plugins(const Control* const control, Error* const error)
{
  if (!control->config.plugins) {
    error_set(error, STATUS_NO_BACKEND, "this server has no plugins");
  }
  return control->config.plugins;
}

Status
query_plugins(Control* const control, const Peer* const peer, Message* const message,
              Error* const error)
{
  const char* words[PLUGIN_WORDS];
  uint32_t n = 0;
  const ControlPlugins* const plugins = find_plugins(control, error);
  if (!plugins || read_words(message, "words", PLUGIN_WORDS, words, &n, error)) {
    return error->status;
  }
  char* const text = plugins->list(control->config.context, words, n);
  return answer_and_free(control, peer, message, text, error);
}

Status
query_plugin(Control* const control, const Peer* const peer, Message* const message,
             Error* const error)
{
  const ControlPlugins* const plugins = find_plugins(control, error);
  char* text = NULL;
  if (!plugins) {
    return error->status;
  }
  Status status = plugins->describe(control->config.context, message_text(message, 0),
                                    message_text(message, 1), &text, error);
  status = status ? status : answer_text(control, peer, message, 2, text, error);
  free(text);
  return status;
}

/// The effect of a node that hosts a plugin, from "/node/NAME/presets"; NULL with an error.
static const FxInfo*
plugin_of_node(const Control* const control, const char* const address, Error* const error)
{
  char name[RACK_NAME_BYTES];
  const RackNode* const node =
      rack_lookup(editor_rack(control->editor), address_node(address, name, sizeof(name)), error);
  if (node && !node->fx->origin) {
    error_set(error, STATUS_NOT_FOUND, "%s is no plugin, so it has no presets", name);
  } else if (node && node->fx->is_missing) {
    error_set(error, STATUS_NOT_FOUND, "the plugin of %s is missing, so its presets are not known",
              name);
  }
  return node && node->fx->origin && !node->fx->is_missing ? node->fx : NULL;
}

Status
query_presets(Control* const control, const Peer* const peer, Message* const message,
              Error* const error)
{
  const ControlPlugins* const plugins = find_plugins(control, error);
  const FxInfo* const fx = plugins ? plugin_of_node(control, message->address, error) : NULL;
  if (!fx) {
    return error->status;
  }
  char* const text = plugins->presets(control->config.context, fx);
  return answer_and_free(control, peer, message, text, error);
}

Status
query_scan(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  const ControlPlugins* const plugins = find_plugins(control, error);
  if (!plugins) {
    return error->status;
  }
  plugins->scan(control->config.context);
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}

// ---- addresses ----

Status
query_describe(Control* const control, const Peer* const peer, Message* const message,
               Error* const error)
{
  const char* patterns[DESCRIBE_MAX_PATTERNS];
  uint32_t n = 0;
  if (read_words(message, "patterns", DESCRIBE_MAX_PATTERNS, patterns, &n, error)) {
    return error->status;
  }
  const DescribeOf of = { control->commands, control->n_commands, editor_rack(control->editor),
                          control_rate_hz(control) };
  char* text = NULL;
  const Status found = describe_print(&of, patterns, n, &text, error);
  const Status status = found ? found : answer_text(control, peer, message, 0, text, error);
  free(text);
  return status;
}

// ---- where nodes run ----

/// Find the placement of a node; NULL if it is not active.  The search begins at `at`, the index of
/// the last match, because both lists mostly have the same order.
static const EnginePlacement*
find_placement(const EnginePlacement* const placements, const uint32_t n, const RackUid uid,
               uint32_t* const at)
{
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t index = (*at + i) % n;
    if (placements[index].uid == uid) {
      *at = index;
      return &placements[index];
    }
  }
  return NULL;
}

/// Print the times of a node in us; "-" if they were not measured.
static void
print_times(TextBuffer* const text, const EnginePlacement* const placement)
{
  if (placement && placement->p99_ns) {
    text_buffer_print(text, "%.1f %.1f\n", placement->p50_ns * 1e-3, placement->p99_ns * 1e-3);
  } else {
    text_buffer_add(text, "- -\n");
  }
}

static char*
print_placements(const Rack* const rack, const EnginePlacement* const placements, const uint32_t n)
{
  TextBuffer text = { 0 };
  uint32_t at = 0;
  for (uint32_t i = 0; i < rack->n_nodes; ++i) {
    const RackNode* const node = &rack->nodes[i];
    const EnginePlacement* const placement = find_placement(placements, n, node->uid, &at);
    text_buffer_print(&text, "%s %s %s %s ", node->name, node->fx->name,
                      placement ? engine_backend_names[placement->backend] : "-",
                      placement ? place_reason_names[placement->reason] : "waiting");
    print_times(&text, placement);
  }
  return text_buffer_take(&text);
}

Status
query_nodes(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  EnginePlacement* const placements = calloc(RACK_MAX_NODES, sizeof(EnginePlacement));
  const uint32_t n =
      placements ? engine_placements(control->config.engine, placements, RACK_MAX_NODES) : 0U;
  char* const text =
      placements ? print_placements(editor_rack(control->editor), placements, n) : NULL;
  free(placements);
  return answer_and_free(control, peer, message, text, error);
}

// ---- values ----

Status
query_values(Control* const control, const Peer* const peer, Message* const message,
             Error* const error)
{
  Changes found = { .items = NULL };
  const Status status = values_read(editor_rack(control->editor), message, &found, error);
  const double rate = control_rate_hz(control);
  const bool is_norm = values_is_norm(message);
  for (uint32_t i = 0; i < found.n && status == STATUS_OK; ++i) {
    const NotifyKey key = { found.items[i].uid, found.items[i].param };
    // A pattern can have many answers.  To a stranger, all answers together are not larger than the
    // request: the first one may have its size, others have headers that the request has not.
    const size_t n_left = message->n_bytes - message->n_bytes_answered;
    const size_t n_sent = is_norm ? control_say_norm(control, peer, n_left, &key, rate)
                                  : control_say_value(control, peer, n_left, &key, rate);
    message->n_bytes_answered = message->n_bytes - bytes_left(n_left, n_sent);
  }
  changes_clear(&found);
  return status;
}

// ---- status ----

static void
put_count(lo_message* const to, const char* const key, const uint64_t value)
{
  outlet_add(to, "sh", key, (int64_t)value);
}

static void
put_number(lo_message* const to, const char* const key, const double value)
{
  outlet_add(to, "sf", key, value);
}

static void
put_text(lo_message* const to, const char* const key, const char* const value)
{
  outlet_add(to, "ss", key, value ? value : "");
}

static void
put_audio(lo_message* const to, const ControlAudio* const audio)
{
  put_text(to, "driver", audio->driver);
  put_text(to, "state", audio->state);
  put_text(to, "device", audio->device);
  put_count(to, "xruns", audio->xruns);
  put_count(to, "overlaps", audio->overlaps);
  put_count(to, "reconnects", audio->reconnects);
  put_number(to, "audio_hang_s", audio->hang_s);
  put_count(to, "freewheeling", audio->freewheeling);
  put_number(to, "transport_bpm", audio->transport_bpm);
}

static void
put_engine(lo_message* const to, const EngineStatus* const engine)
{
  put_text(to, "backend", engine->backend);
  put_text(to, "backend_note", engine->backend_note);
  put_text(to, "gpu", engine->device);
  put_count(to, "gpu_nodes", engine->n_gpu_nodes);
  put_number(to, "cost_cpu_us", engine->cost_us[PLACEMENT_CPU]);
  put_number(to, "cost_gpu_us", engine->cost_us[PLACEMENT_GPU]);
  put_text(to, "realtime_note", engine->realtime_note);
  put_text(to, "late_note", engine->late_note);
  put_number(to, "rate_hz", engine->rate_hz);
  put_count(to, "block_frames", engine->block_frames);
  put_count(to, "depth", engine->depth);
  put_count(to, "inputs", engine->n_in);
  put_count(to, "outputs", engine->n_out);
  put_count(to, "latency_frames", engine->latency_frames);
  put_count(to, "rack_latency_frames", engine->rack_latency_frames);
  put_count(to, "nodes", engine->n_nodes);
  put_count(to, "units", engine->n_units);
  put_count(to, "levels", engine->n_ranks);
  put_count(to, "edits_refused", engine->edits_refused);
  put_count(to, "nodes_bypassed", engine->n_bypassed);
  put_text(to, "worker", worker_state_names[engine->worker]);
  put_count(to, "worker_pid", (uint64_t)engine->worker_pid);
  put_count(to, "worker_restarts", engine->worker_restarts);
  put_text(to, "worker_note", engine->worker_note);
  put_count(to, "quarantined", engine->quarantined);
  put_count(to, "nodes_quarantined", engine->nodes_quarantined);
  put_text(to, "quarantine_note", engine->quarantine_note);
  put_number(to, "load_p50", engine->load_p50);
  put_number(to, "load_p99", engine->load_p99);
  put_number(to, "load_max", engine->load_max);
}

static void
put_counters(lo_message* const to, const CounterInfo* const infos, const size_t n,
             const uint64_t* const counts)
{
  for (size_t i = 0; i < n; ++i) {
    put_count(to, infos[i].name, counts[i]);
  }
}

/// Append " in:CHANNEL=N" or " out:CHANNEL=N" for each channel where a guard changed N samples,
/// while there is room.
static void
list_guarded(char* const text, const size_t n_bytes, Engine* const engine, const bool is_output,
             const uint32_t n_channels)
{
  for (uint32_t c = 0; c < n_channels; ++c) {
    const PeriodPort port = engine_port(engine, is_output, c);
    const uint64_t n = port.bad + port.denormal + port.clipped;
    const size_t used = strlen(text);
    if (n) {
      snprintf(text + used, n_bytes - used, "%s%s:%u=%llu", used ? " " : "",
               is_output ? "out" : "in", c + 1U, (unsigned long long)n);
    }
  }
}

/// Append " out:CHANNEL=-NdB" or " out:CHANNEL=muted" for each output that feeds back, while there
/// is room.
static void
list_attenuated(char* const text, const size_t n_bytes, Engine* const engine,
                const uint32_t n_channels)
{
  for (uint32_t c = 0; c < n_channels; ++c) {
    const PeriodPort port = engine_port(engine, true, c);
    const size_t used = strlen(text);
    const char* const space = used ? " " : "";
    if (port.is_muted) {
      snprintf(text + used, n_bytes - used, "%sout:%u=muted", space, c + 1U);
    } else if (port.attenuation_db) {
      snprintf(text + used, n_bytes - used, "%sout:%u=-%udB", space, c + 1U, port.attenuation_db);
    }
  }
}

static void
put_ports(lo_message* const to, Engine* const engine, const EngineStatus* const status)
{
  char guarded[512] = "";
  char attenuated[512] = "";
  list_guarded(guarded, sizeof(guarded), engine, false, status->n_in);
  list_guarded(guarded, sizeof(guarded), engine, true, status->n_out);
  list_attenuated(attenuated, sizeof(attenuated), engine, status->n_out);
  put_text(to, "guarded_ports", guarded);
  put_text(to, "attenuated_ports", attenuated);
}

static void
put_editor(lo_message* const to, const EditorCounts* const editor, const Advice* const advice,
           const uint64_t failed)
{
  put_count(to, "revision", editor->revision);
  put_count(to, "rack_warnings", advice->n_lines);
  put_count(to, "edits_waiting", editor->waiting + editor->in_flight);
  put_count(to, "undo_steps", editor->undo);
  put_count(to, "redo_steps", editor->redo);
  put_count(to, "values_set", editor->values_set);
  put_count(to, "values_merged", editor->values_merged);
  put_count(to, "values_lost", editor->values_lost);
  put_count(to, "commands_failed", editor->failed + failed);
}

static void
put_tempo(lo_message* const to, const RackTempo tempo)
{
  put_number(to, "tempo_bpm", tempo.bpm);
  put_text(to, "tempo_source", rack_tempo_sources[tempo.source]);
}

static void
put_program(lo_message* const to, const ControlConfig* const config)
{
  ControlProgram program = { 0 };
  if (config->program) {
    config->program(config->context, &program);
  }
  put_count(to, "log_lines", program.log_lines);
  put_count(to, "log_left_out", program.log_left_out);
  put_count(to, "log_dropped", program.log_dropped);
  put_count(to, "watchdog_fed", program.watchdog_fed);
  put_count(to, "state_saved", program.state_saved);
  put_count(to, "state_failed", program.state_failed);
  put_count(to, "starts", program.starts);
  put_count(to, "muted", program.muted);
}

static void
put_control(lo_message* const to, const Control* const control)
{
  const Intake* const intake = &control->intake;
  const Streams* const streams = &control->streams;
  put_count(to, "osc_packets", intake->packets + streams->packets);
  put_count(to, "osc_messages", control->counts.messages);
  put_count(to, "osc_answers", control->counts.answers);
  put_count(to, "osc_unknown", control->counts.unknown);
  put_count(to, "osc_forbidden", intake->forbidden + streams->forbidden);
  put_count(to, "osc_cookies", control->counts.cookies);
  put_count(to, "osc_trusted", control->outlet.trust.n_hosts);
  put_count(to, "osc_connections", streams_count(streams));
  put_count(to, "osc_connections_refused", streams->refused);
  put_count(to, "osc_connections_slow", streams->slow);
  put_count(to, "osc_dropped", intake->senders.dropped);
  put_count(to, "osc_lost", intake_lost(intake));
  put_count(to, "osc_late", control->counts.late);
  put_count(to, "osc_scheduled", control->schedule.n_bundles);
  put_count(to, "osc_unscheduled", control->counts.unscheduled);
  put_count(to, "notes_waiting", control->notes.n);
  put_count(to, "osc_sent", control->outlet.sent);
  put_count(to, "osc_withheld", control->outlet.withheld);
  put_count(to, "osc_send_failed", control->outlet.failed);
  put_text(to, "take", control->takes.is_on ? control->takes.name : "");
  put_count(to, "take_lost", control->takes.n_lost);
  put_count(to, "subscribers", client_count(&control->clients, CLIENT_NEWS));
  put_count(to, "notified", control->notify.sent);
  put_count(to, "meters", control->meters.n);
  put_count(to, "loudness_lost",
            control->meters.loudness ? loudness_lost(control->meters.loudness) : 0U);
  put_count(to, "notify_merged", control->notify.merged);
  for (uint32_t r = PACKET_OK + 1U; r < PACKET_N_FAULTS; ++r) {
    char key[64];
    snprintf(key, sizeof(key), "refused_%s", packet_fault_word((PacketFault)r));
    put_count(to, key, control->counts.refused[r]);
  }
}

Status
query_load(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  (void)error;
  EngineStatus engine;
  engine_status(control->config.engine, &engine);
  lo_message arguments = lo_message_new();
  for (uint32_t b = 0; b < LOAD_BUCKETS; ++b) {
    outlet_add(&arguments, "fh", load_bounds[b], (int64_t)engine.worker_counts.load[b]);
  }
  answer(control, peer, message, message->address, arguments);
  return STATUS_OK;
}

Status
query_status(Control* const control, const Peer* const peer, Message* const message,
             Error* const error)
{
  (void)error;
  lo_message arguments = lo_message_new();
  control_check_audio(control);
  EngineStatus engine;
  engine_status(control->config.engine, &engine);
  const EditorCounts editor = editor_counts(control->editor);
  put_text(&arguments, "version", WARPRACK_VERSION);
  put_number(&arguments, "uptime_s", (double)(control->now_ns - control->start_ns) * 1e-9);
  put_audio(&arguments, &control->audio);
  put_engine(&arguments, &engine);
  put_counters(&arguments, worker_counters, N_WORKER_COUNTERS, engine.worker_counts.of);
  put_counters(&arguments, period_counters, N_PERIOD_COUNTERS, engine.counts.of);
  put_ports(&arguments, control->config.engine, &engine);
  put_editor(&arguments, &editor, &control->advice,
             control->counts.unsaved + control->counts.unplayed);
  put_tempo(&arguments, editor_rack(control->editor)->tempo);
  put_program(&arguments, &control->config);
  put_control(&arguments, control);
  answer(control, peer, message, message->address, arguments);
  return STATUS_OK;
}
