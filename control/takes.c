// SPDX-License-Identifier: GPL-3.0-or-later
// Records reports as lines, and passes the lines to the rack store.

#include "takes.h"

#include "control_private.h"
#include "take_audio.h"
#include "take_text.h"

#include "engine/base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES    (32U << 20U) // that wait for the disk
#define SUFFIX       ".osc"
#define AUDIO_SUFFIX ".au"              // not longer than SUFFIX
#define CHECK_NS     (100U * NS_PER_MS) // between two looks at the engine, and two writes

// ---- lines ----

/// The time of a line: not before the line above, and not before the take.
static uint64_t
line_frame(Takes* const takes, const uint64_t frame)
{
  takes->frame = frame > takes->frame ? frame : takes->frame;
  return takes->frame - takes->first_frame;
}

static void
add_gap(Takes* const takes, const uint64_t frame, const char* const reason)
{
  take_line(&takes->text, line_frame(takes, frame), takes->rate_hz, TAKE_GAP, "s");
  take_add_text(&takes->text, reason);
  text_buffer_add(&takes->text, "\n");
}

static void
add_rack(Takes* const takes, const uint64_t frame, const uint64_t stamp, const uint64_t planned,
         const bool is_first_plan)
{
  const uint64_t at = line_frame(takes, frame);
  take_add_rack(&takes->text, at, takes->rate_hz, takes->rack, stamp,
                is_first_plan                  ? TAKE_FIRST_PLAN
                : planned > takes->first_frame ? (int64_t)(planned - takes->first_frame)
                                               : 0);
}

/// Take over the document of the edit whose plan the worker plays.
static void
record_plan(Takes* const takes, const RingReport* const report)
{
  const uint64_t frame = report->message.frame;
  if (report->number && takes->next) {
    rack_free(takes->rack);
    takes->rack = takes->next;
    takes->next = NULL;
    add_rack(takes, frame, report->stamp, report->planned,
             (report->flags & REPORT_FIRST_PLAN) != 0U);
  } else if (report->number || (report->flags & REPORT_UNASKED)) {
    add_gap(takes, frame, "the worker has changed the connections of the rack");
  }
}

/// True if a message is valid for the document: the worker may write anything.
static bool
is_valid(const RackNode* const node, const ParamMessage* const message)
{
  if (message->kind != MESSAGE_VALUE) {
    return message->kind != MESSAGE_NOTE ||
           (message->param < FX_KEYS && message->value >= 0.0 && message->value <= 1.0);
  }
  return fx_has_param(node->fx, message->param, message->param_id) &&
         fx_param_accepts(&node->fx->params[message->param], message->value) &&
         message->curve < FX_N_CURVES && !message->is_running;
}

static void
record_message(Takes* const takes, const RingReport* const report)
{
  const ParamMessage* const message = &report->message;
  const RackNode* const node = rack_find_uid(takes->rack, message->uid);
  if (!node || !is_valid(node, message)) {
    ++takes->n_lost;
    add_gap(takes, message->frame, "a message of the worker is not valid for the rack");
    return;
  }
  const uint64_t frame = line_frame(takes, message->frame);
  if (report->number != takes->number + 1U) {
    take_line(&takes->text, frame, takes->rate_hz, TAKE_NUMBER, "h");
    take_add_whole(&takes->text, (int64_t)report->number);
    text_buffer_add(&takes->text, "\n");
  }
  takes->number = report->number;
  take_add_message(&takes->text, frame, takes->rate_hz, node, message);
}

/// Record a value that applied before the take, but whose report comes only now.  The first
/// document of the take has values of clients already, but no such value of MIDI.
static void
record_value_before(Takes* const takes, const RingReport* const report)
{
  const RackNode* const node = rack_find_uid(takes->rack, report->message.uid);
  RingReport value = *report;
  value.message.fade_frames = 0;
  value.message.frame = takes->first_frame;
  if (node && is_valid(node, &value.message)) {
    record_message(takes, &value);
  }
}

/// @param now Frame time of the next block: what has a later one is wrong, and would give its time
/// to all lines that follow.
static void
record(Takes* const takes, const RingReport* const report, const uint64_t now)
{
  if (report->kind == REPORT_EVENTS) {
    return; // of MIDI: the values have reports of their own
  }
  if (report->message.frame > now || (report->kind == REPORT_PLAN && report->planned > now)) {
    ++takes->n_lost;
    add_gap(takes, takes->frame, "a report of the worker has a time that has not come");
  } else if (report->kind == REPORT_PLAN) {
    record_plan(takes, report);
  } else if (report->message.frame >= takes->first_frame) {
    record_message(takes, report);
  } else if (report->kind == REPORT_VALUE) {
    record_value_before(takes, report);
  }
}

/// Record the active document, which a new worker plays without the sound of before.
static void
record_new_worker(Control* const control)
{
  Takes* const takes = &control->takes;
  const uint64_t frame = engine_frame_now(control->config.engine);
  Rack* const rack = rack_copy(editor_rack(control->editor));
  add_gap(takes, frame, "another worker, or the audio began again");
  if (!rack) {
    takes->text.failed = true;
    return;
  }
  rack_free(takes->rack);
  takes->rack = rack;
  add_rack(takes, frame, takes->number, frame, true);
}

void
takes_record(Control* const control, const EngineReports* const read,
             const RingReport* const reports)
{
  Takes* const takes = &control->takes;
  const bool is_new = read->ring && takes->ring && read->ring != takes->ring;
  takes->ring = read->ring ? read->ring : takes->ring;
  if (!takes->is_on) {
    return;
  }
  if (is_new) {
    record_new_worker(control);
  }
  const uint64_t now = engine_frame_now(control->config.engine);
  for (uint32_t r = 0; r < read->n; ++r) {
    record(takes, &reports[r], now);
  }
  if (read->n_lost) {
    takes->n_lost += read->n_lost;
    add_gap(takes, takes->frame, "messages of the worker are lost");
  }
}

void
takes_edit(Control* const control, const Rack* const rack, const bool has_read_all)
{
  Takes* const takes = &control->takes;
  if (takes->is_on && !has_read_all) {
    add_gap(takes, takes->frame, "an edit was sent before all messages of the worker were read");
  }
  if (takes->is_on) {
    rack_free(takes->next);
    takes->next = rack_copy(rack);
    takes->text.failed = takes->text.failed || !takes->next;
  }
}

// ---- the file ----

static void
forget(Control* const control)
{
  Takes* const takes = &control->takes;
  take_audio_end(&takes->audio, control->config.engine);
  rack_free(takes->rack);
  rack_free(takes->next);
  free(text_buffer_take(&takes->text));
  takes->rack = takes->next = NULL;
  takes->text = (TextBuffer){ 0 };
  takes->is_on = false;
}

/// Report why a take has ended that nobody has stopped.
static void
report_end(Control* const control, const char* const reason)
{
  Takes* const takes = &control->takes;
  snprintf(takes->reason, sizeof(takes->reason), "%.240s", reason);
  control_notify(control, NOTIFY_TAKE);
  if (control->config.take_ended) {
    control->config.take_ended(control->config.context, takes->name, takes->reason);
  }
}

/// End the take without its last lines.
static void
fail(Control* const control, const char* const reason)
{
  forget(control);
  report_end(control, reason);
}

/// Pass the lines to the store.  `message`: the command to answer when they are written, or NULL.
static Status
post(Control* const control, const RackStoreStep step, const Peer* const peer,
     const Message* const message, Error* const error)
{
  Takes* const takes = &control->takes;
  const RackStorePart part = { takes->n, false, step };
  const size_t n_bytes = takes->text.n;
  char* const text = text_buffer_take(&takes->text);
  const Status status =
      rack_store_take_part(control->store, &part, takes->name, text, n_bytes, peer, message, error);
  takes->is_writing = !status;
  return status;
}

/// Pass the input to the store, as post().
static Status
post_audio(Control* const control, const RackStoreStep step, const Peer* const peer,
           const Message* const message, Error* const error)
{
  TakeAudio* const audio = &control->takes.audio;
  const RackStorePart part = { control->takes.n, true, step };
  char name[TAKES_NAME_BYTES];
  const size_t n_stem = strlen(control->takes.name) - strlen(SUFFIX);
  snprintf(name, sizeof(name), "%.*s" AUDIO_SUFFIX, (int)n_stem, control->takes.name);
  const size_t n_bytes = audio->bytes.n;
  char* const bytes = text_buffer_take(&audio->bytes);
  const Status status =
      rack_store_take_part(control->store, &part, name, bytes, n_bytes, peer, message, error);
  audio->is_writing = !status;
  return status;
}

void
takes_written(Control* const control, const RackStoreJob* const job)
{
  Takes* const takes = &control->takes;
  if (!takes->is_on || job->part.take != takes->n) {
    return; // of an earlier take
  }
  *(job->part.is_audio ? &takes->audio.is_writing : &takes->is_writing) = false;
  if (!job->error.status) {
    return;
  }
  if (job->part.step == STORE_FIRST) {
    forget(control); // the client gets the reason
  } else {
    fail(control, job->error.text);
  }
}

static void
add_dry_span(Takes* const takes, const DrySpan* const span)
{
  take_line(&takes->text, line_frame(takes, span->end), takes->rate_hz, TAKE_DRY, "hh");
  take_add_whole(&takes->text, (int64_t)(span->first - takes->first_frame));
  take_add_whole(&takes->text, (int64_t)(span->end - span->first));
  text_buffer_add(&takes->text, "\n");
}

/// Record the spans in which the outputs played their fallbacks, and blocks that reached no worker.
static void
record_missed(Control* const control, const EngineStatus* const engine)
{
  Takes* const takes = &control->takes;
  const uint64_t now = engine_frame_now(control->config.engine);
  DrySpan spans[DRY_SPANS];
  for (uint32_t s = engine_dry_spans(control->config.engine, &takes->dry_frame, spans); s > 0;) {
    add_dry_span(takes, &spans[--s]);
  }
  if (engine->counts.dropped != takes->n_dropped) {
    add_gap(takes, now, "a block did not reach the worker");
  }
  if (engine->counts.odd_periods != takes->n_odd) {
    add_gap(takes, now, "a period that is no multiple of the block");
  }
  takes->n_dropped = engine->counts.dropped;
  takes->n_odd = engine->counts.odd_periods;
}

/// Pass the rest of the input to the store.
static Status
finish_audio(Control* const control, Error* const error)
{
  TakeAudio* const audio = &control->takes.audio;
  if (!audio->is_on) {
    return STATUS_OK;
  }
  const Status status =
      audio->is_cut ? STATUS_OK : take_audio_read(audio, control->config.engine, error);
  return status ? status : post_audio(control, STORE_LAST, NULL, NULL, error);
}

/// End the take with a last line, which has the reason if the input has failed.
static Status
finish(Control* const control, const char* const reason, const Peer* const peer,
       const Message* const message, Error* const error)
{
  Takes* const takes = &control->takes;
  EngineStatus engine;
  engine_status(control->config.engine, &engine);
  record_missed(control, &engine);
  // The worker may still run the blocks after that; what it applies there is not in the take.
  const uint64_t in_flight = (uint64_t)(engine.depth + 1U) * takes->block_frames;
  const uint64_t now = engine_frame_now(control->config.engine);
  const uint64_t last = now > in_flight ? now - in_flight : 0U;
  const Status no_input = finish_audio(control, error);
  take_line(&takes->text, line_frame(takes, last), takes->rate_hz, TAKE_END, "s");
  take_add_text(&takes->text, no_input ? error->text : reason);
  text_buffer_add(&takes->text, "\n");
  Error no_end;
  const Status status =
      post(control, STORE_LAST, peer, no_input ? NULL : message, no_input ? &no_end : error);
  forget(control);
  return no_input ? no_input : status;
}

/// End the take, because it cannot go on.
static void
end_early(Control* const control, const char* const reason)
{
  Error error;
  if (finish(control, reason, NULL, NULL, &error)) {
    // The file has the lines before.
  }
  report_end(control, reason);
}

void
takes_end(Control* const control)
{
  Error error;
  if (control->takes.is_on && finish(control, "the server ends", NULL, NULL, &error)) {
    fail(control, error.text);
  }
}

void
takes_clear(Control* const control)
{
  forget(control);
}

/// Discard the lines and samples that wait, and end the take, because it cannot go on.
static void
cut(Control* const control, const char* const reason)
{
  Takes* const takes = &control->takes;
  free(text_buffer_take(&takes->text));
  free(text_buffer_take(&takes->audio.bytes));
  takes->audio.is_cut = true;
  add_gap(takes, takes->frame, "the lines before the end are missing");
  end_early(control, reason);
}

/// Write the lines that have accumulated.
static void
flush(Control* const control)
{
  Takes* const takes = &control->takes;
  Error error;
  if (takes->text.failed) {
    cut(control, "out of memory");
  } else if ((takes->is_writing && takes->text.n > MAX_BYTES) || takes->audio.bytes.n > MAX_BYTES) {
    cut(control, "the disk is too slow");
  } else if (!takes->is_writing && takes->text.n && post(control, STORE_NEXT, NULL, NULL, &error)) {
    fail(control, error.text);
  }
}

void
takes_run(Control* const control)
{
  Takes* const takes = &control->takes;
  if (!takes->is_on || control->now_ns < takes->check_ns) {
    return;
  }
  takes->check_ns = control->now_ns + CHECK_NS;
  EngineStatus engine;
  engine_status(control->config.engine, &engine);
  if (engine.armed &&
      (engine.rate_hz != takes->rate_hz || engine.block_frames != takes->block_frames)) {
    end_early(control, "the audio has another rate or block");
    return;
  }
  record_missed(control, &engine);
  Error error;
  if (takes->audio.is_on && (take_audio_read(&takes->audio, control->config.engine, &error) ||
                             (takes->audio.bytes.n && !takes->audio.is_writing &&
                              post_audio(control, STORE_NEXT, NULL, NULL, &error)))) {
    end_early(control, error.text);
    return;
  }
  flush(control);
}

uint64_t
takes_wake_ns(const Takes* const takes)
{
  return takes->audio.is_on ? takes->check_ns : UINT64_MAX;
}

// ---- commands ----

static Status
check_name(const char* const name, Error* const error)
{
  const size_t n = strlen(name);
  const size_t n_suffix = strlen(SUFFIX);
  return n > n_suffix && n < TAKES_NAME_BYTES && !strchr(name, '/') && name[0] != '.' &&
                 !strcmp(name + n - n_suffix, SUFFIX)
             ? STATUS_OK
             : error_set(error, STATUS_BAD_ARG,
                         "%.100s: the name of a take ends in " SUFFIX
                         ", and has no folder: it is written directly in the server's folder",
                         name);
}

/// Write the first lines.
static void
begin(Control* const control, const EngineStatus* const engine)
{
  Takes* const takes = &control->takes;
  take_line(&takes->text, 0U, takes->rate_hz, TAKE_BEGIN, "sfiiiih");
  take_add_text(&takes->text, WARPRACK_VERSION);
  take_add_number(&takes->text, engine->rate_hz);
  take_add_whole(&takes->text, engine->block_frames);
  take_add_whole(&takes->text, engine->depth);
  take_add_whole(&takes->text, engine->n_in);
  take_add_whole(&takes->text, engine->n_out);
  take_add_whole(&takes->text, (int64_t)takes->first_frame);
  text_buffer_add(&takes->text, "\n");
  add_rack(takes, takes->first_frame, 0U, takes->first_frame, true);
}

Status
takes_start(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  Takes* const takes = &control->takes;
  const char* const name = message_text(message, 0);
  const bool has_audio = message_n_arguments(message) > 1U;
  Status status = check_name(name, error);
  EngineStatus engine;
  engine_status(control->config.engine, &engine);
  if (!status && has_audio && strcmp(message_text(message, 1), "audio") != 0) {
    status = error_set(error, STATUS_BAD_ARG, "%.100s: the word after the file is audio, or none",
                       message_text(message, 1));
  }
  if (!status && takes->is_on) {
    status = error_set(error, STATUS_EXISTS, "the take %s is recorded; end it with /take/stop",
                       takes->name);
  }
  if (!status && !engine.armed) {
    status = error_set(error, STATUS_AUDIO_IO, "no audio runs");
  }
  if (status) {
    return status;
  }
  takes->rack = rack_copy(editor_rack(control->editor));
  if (!takes->rack) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  snprintf(takes->name, sizeof(takes->name), "%s", name);
  takes->reason[0] = '\0';
  ++takes->n;
  takes->number = 0;
  takes->check_ns = 0;
  takes->rate_hz = engine.rate_hz;
  takes->block_frames = engine.block_frames;
  takes->n_dropped = engine.counts.dropped;
  takes->n_odd = engine.counts.odd_periods;
  takes->is_on = true;
  // First the input, so that none of the take is missing if this thread is interrupted here.
  if (has_audio) {
    status =
        take_audio_begin(&takes->audio, control->config.engine, engine.n_in, engine.rate_hz, error);
  }
  takes->first_frame = takes->frame = takes->dry_frame = takes->audio.next_frame =
      engine_frame_now(control->config.engine);
  begin(control, &engine);
  if (has_audio) {
    status = status ? status : post(control, STORE_FIRST, NULL, NULL, error);
    status = status ? status : post_audio(control, STORE_FIRST, peer, message, error);
  } else {
    status = post(control, STORE_FIRST, peer, message, error);
  }
  if (status) {
    forget(control);
  }
  return status; // STATUS_OK: the answer follows when the file is there
}

Status
takes_stop(Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  if (!control->takes.is_on) {
    return error_set(error, STATUS_NOT_FOUND, "no take is recorded%s%s",
                     control->takes.reason[0] ? "; the last one ended: " : "",
                     control->takes.reason);
  }
  return finish(control, "stopped", peer, message, error);
}
