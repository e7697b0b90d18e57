// SPDX-License-Identifier: GPL-3.0-or-later
// The functions of engine.h, without audio.

#include "fake_engine.h"

#include "scoped.h"
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SETS 32768U
#define MAX_MIDI 1024U

typedef struct HeldEdit {
  EngineDone done;
  void* context;
} HeldEdit;

struct Engine {
  pthread_mutex_t lock;
  bool holds, is_full;
  uint32_t n_waiting;
  _Atomic Status stopped; ///< The error of engine_play(), else STATUS_OK
  HeldEdit held;          ///< The edit in flight; `done` is NULL if there is none
  uint32_t n_edits, n_sets, n_overtakes, n_saves;
  Status save_status; ///< Of the next engine_save() ...
  const char* state;  ///< ... and its text; NULL: there is no worker
  Rack* newest;
  uint64_t newest_frame;
  uint64_t frame;
  uint32_t latency_frames;
  EngineStatus worker; ///< What engine_status() reports of the worker process
  Rack* good;          ///< The active rack since fake_engine_take_back(); NULL before
  char backend[16], backend_note[64];
  PortLevels levels; ///< Since the last engine_levels()
  RackUid measured, watched[RING_TAPS];
  NodeTap tap;         ///< Of `measured`
  const float* played; ///< [n_played] frames that engine_listen() has not returned
  uint32_t n_played;
  uint64_t listen_start; ///< Of `played`
  uint64_t heard_start;  ///< The same when engine_listen() returned some
  bool has_midi;
  QueuedMidi came[MAX_MIDI]; ///< [n_came] events that engine_take_midi() has not returned
  MidiEvent sent[MAX_MIDI];  ///< [n_sent_midi] of engine_send_midi()
  uint32_t n_came, n_sent_midi, n_returns;
  uint64_t n_midi_lost;
  RingReport reports[MAX_MIDI]; ///< [n_reports] that engine_reports() has not returned
  uint32_t n_reports;
  uint64_t n_exchanges;
  RingReport endless; ///< Of fake_engine_report_endlessly()
  bool reports_endlessly;
  FakeSet sets[MAX_SETS];
};

/// Move the first items of a list, at most `max`, to another place.  Returns their number.
static uint32_t
take_first(void* const list, uint32_t* const n_items, const size_t size, void* const to,
           const uint32_t max)
{
  const uint32_t n = *n_items < max ? *n_items : max;
  memcpy(to, list, n * size);
  *n_items -= n;
  memmove(list, (const char*)list + n * size, *n_items * size);
  return n;
}

Engine*
fake_engine_new(void)
{
  Engine* const engine = calloc(1, sizeof(Engine));
  ck_assert_ptr_nonnull(engine);
  pthread_mutex_init(&engine->lock, NULL);
  fake_engine_move(engine, "fake", "");
  return engine;
}

void
fake_engine_move(Engine* const engine, const char* const backend, const char* const note)
{
  SCOPED_LOCK(&engine->lock);
  snprintf(engine->backend, sizeof(engine->backend), "%s", backend);
  snprintf(engine->backend_note, sizeof(engine->backend_note), "%s", note);
}

void
fake_engine_tell_worker(Engine* const engine, const WorkerState state, const int pid,
                        const char* const note)
{
  SCOPED_LOCK(&engine->lock);
  engine->worker.worker = state;
  snprintf(engine->worker.worker_note, sizeof(engine->worker.worker_note), "%s", note);
  engine->worker.worker_pid = pid;
}

void
fake_engine_tell_latency(Engine* const engine, const uint32_t frames)
{
  SCOPED_LOCK(&engine->lock);
  engine->latency_frames = frames;
}

void
fake_engine_take_back(Engine* const engine, const Rack* const rack, const char* const why)
{
  SCOPED_LOCK(&engine->lock);
  rack_free(engine->good);
  engine->good = rack_copy(rack);
  ++engine->worker.quarantined;
  snprintf(engine->worker.quarantine_note, sizeof(engine->worker.quarantine_note), "%s", why);
}

void
fake_engine_bypass_node(Engine* const engine, const char* const why)
{
  SCOPED_LOCK(&engine->lock);
  ++engine->worker.nodes_quarantined;
  snprintf(engine->worker.quarantine_note, sizeof(engine->worker.quarantine_note), "%s", why);
}

Rack*
engine_rack(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return rack_copy(engine->good);
}

void
fake_engine_free(Engine* const engine)
{
  rack_free(engine->good);
  rack_free(engine->newest);
  pthread_mutex_destroy(&engine->lock);
  free(engine);
}

void
fake_engine_hold(Engine* const engine, const bool hold)
{
  SCOPED_LOCK(&engine->lock);
  engine->holds = hold;
}

static EngineReply
reply_of(const Status status, const char* const text, const uint32_t latency_frames)
{
  EngineReply reply = { .status = status,
                        .frame = FAKE_EDIT_FRAME,
                        .latency_frames = latency_frames };
  strncpy(reply.text, text, sizeof(reply.text) - 1U);
  return reply;
}

/// Move the edit in flight to *edit; false if there is none.
static bool
take_held(Engine* const engine, const EngineReply* const reply, HeldEdit* const edit)
{
  SCOPED_LOCK(&engine->lock);
  const bool has_one = engine->held.done != NULL;
  if (has_one) {
    *edit = engine->held;
    engine->held = (HeldEdit){ NULL, NULL };
    engine->latency_frames = reply->status ? engine->latency_frames : reply->latency_frames;
  }
  return has_one;
}

static void
answer_held(Engine* const engine, const EngineReply* const reply)
{
  HeldEdit edit = { NULL, NULL };
  AWAIT(take_held(engine, reply, &edit));
  edit.done(edit.context, reply);
}

void
fake_engine_answer(Engine* const engine, const Status status, const char* const text,
                   const uint32_t latency_frames)
{
  const EngineReply reply = reply_of(status, text, latency_frames);
  answer_held(engine, &reply);
}

void
fake_engine_refuse_edge(Engine* const engine, const uint32_t edge, const char* const text)
{
  EngineReply reply = reply_of(STATUS_BAD_RACK, text, 0);
  reply.refused_edge = edge + 1U;
  answer_held(engine, &reply);
}

/// Record an edit; returns whether it is held.
static bool
record_edit(Engine* const engine, const Rack* const rack, const uint64_t at_frame,
            const HeldEdit* const edit)
{
  SCOPED_LOCK(&engine->lock);
  ++engine->n_edits;
  rack_free(engine->newest);
  engine->newest = rack_copy(rack);
  engine->newest_frame = at_frame;
  ck_assert_msg(!engine->held.done, "a second edit while one is in flight");
  if (engine->holds) {
    engine->held = *edit;
  }
  return engine->holds;
}

Status
engine_edit(Engine* const engine, const Rack* const rack, const uint64_t at_frame,
            const EngineDone done, void* const context)
{
  const HeldEdit edit = { done, context };
  if (!record_edit(engine, rack, at_frame, &edit)) {
    const EngineReply reply = reply_of(STATUS_OK, "", 0);
    done(context, &reply);
  }
  return STATUS_OK;
}

uint32_t
fake_engine_n_edits(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->n_edits;
}

void
fake_engine_save_as(Engine* const engine, const Status status, const char* const state)
{
  SCOPED_LOCK(&engine->lock);
  engine->save_status = status;
  engine->state = state;
}

uint32_t
fake_engine_n_saves(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->n_saves;
}

/// Count a save.  Returns its state.
static const char*
take_state(Engine* const engine, Status* const status)
{
  SCOPED_LOCK(&engine->lock);
  ++engine->n_saves;
  *status = engine->save_status;
  return engine->state;
}

Status
engine_save(Engine* const engine, const RackUid uid, const EngineSaveDone done, void* const context,
            Error* const error)
{
  (void)uid;
  Status status = STATUS_OK;
  const char* const state = take_state(engine, &status);
  EngineSaved saved = { .bytes = NULL };
  if (!state) {
    return error_set(error, STATUS_WORKER, "no worker");
  }
  if (status) {
    error_set(&saved.error, status, "%s", state);
  } else {
    saved.bytes = (const unsigned char*)state;
    saved.n_bytes = (uint32_t)strlen(state);
  }
  done(context, &saved);
  return STATUS_OK;
}

void
engine_overtake(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  ++engine->n_overtakes;
}

uint32_t
fake_engine_n_overtakes(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->n_overtakes;
}

char*
fake_engine_newest(Engine* const engine, uint64_t* const at_frame)
{
  SCOPED_LOCK(&engine->lock);
  char* const text = engine->newest ? rack_print(engine->newest) : strdup("");
  if (at_frame) {
    *at_frame = engine->newest_frame;
  }
  return text;
}

static Status
record_set(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  for (uint32_t m = 1; m < n; ++m) {
    ck_assert_uint_eq(messages[m].frame, messages[0].frame);
  }
  SCOPED_LOCK(&engine->lock);
  const bool is_full = engine->is_full || engine->n_sets == MAX_SETS;
  if (!is_full) {
    FakeSet* const set = &engine->sets[engine->n_sets++];
    *set = (FakeSet){ .frame = messages[0].frame, .n = n };
    memcpy(set->messages, messages, (n < 8U ? n : 8U) * sizeof(ParamMessage));
  }
  return is_full ? STATUS_LIMIT : STATUS_OK;
}

Status
engine_set(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  return record_set(engine, messages, n);
}

Status
engine_set_midi(Engine* const engine, const ParamMessage* const value, const uint64_t ring)
{
  ParamMessage message = *value;
  message.kind = ring ? MESSAGE_IN_DOCUMENT : MESSAGE_VALUE;
  message.frame = 0;
  return engine_set(engine, &message, 1U);
}

Status
engine_play(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  return engine->stopped ? engine->stopped : record_set(engine, messages, n);
}

void
fake_engine_stop(Engine* const engine, const Status status)
{
  engine->stopped = status;
}

uint32_t
fake_engine_n_sets(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->n_sets;
}

FakeSet
fake_engine_set(Engine* const engine, const uint32_t index)
{
  SCOPED_LOCK(&engine->lock);
  ck_assert_uint_lt(index, engine->n_sets);
  return engine->sets[index];
}

uint32_t
engine_n_waiting(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->n_waiting ? engine->n_waiting : engine->is_full;
}

void
fake_engine_let_wait(Engine* const engine, const uint32_t n)
{
  SCOPED_LOCK(&engine->lock);
  engine->n_waiting = n;
}

void
fake_engine_be_full(Engine* const engine, const bool full)
{
  SCOPED_LOCK(&engine->lock);
  engine->is_full = full;
}

// ---- MIDI ----

static void
let_come(Engine* const engine, const MidiEvent* const events, const uint32_t n,
         const QueuedKind kind)
{
  SCOPED_LOCK(&engine->lock);
  engine->has_midi = true;
  for (uint32_t e = 0; e < n; ++e) {
    ck_assert_uint_lt(engine->n_came, MAX_MIDI);
    QueuedMidi* const came = &engine->came[engine->n_came++];
    *came = (QueuedMidi){ engine->frame + events[e].frame, events[e], kind };
    came->event.frame = 0;
  }
}

void
fake_engine_hear(Engine* const engine, const MidiEvent* const events, const uint32_t n)
{
  let_come(engine, events, n, QUEUED_GIVEN);
}

void
fake_engine_miss(Engine* const engine, const MidiEvent* const event)
{
  let_come(engine, event, 1U, QUEUED_MISSED);
}

void
fake_engine_end_worker(Engine* const engine)
{
  let_come(engine, &(MidiEvent){ .n_bytes = 0 }, 1U, QUEUED_END);
}

void
engine_return_midi(Engine* const engine, const uint64_t n_lost)
{
  SCOPED_LOCK(&engine->lock);
  ++engine->n_returns;
  engine->n_midi_lost += n_lost;
}

uint32_t
fake_engine_n_returns(Engine* const engine, uint64_t* const n_lost)
{
  SCOPED_LOCK(&engine->lock);
  *n_lost = engine->n_midi_lost;
  return engine->n_returns;
}

void
fake_engine_exchange_worker(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  ++engine->n_exchanges;
}

uint32_t
fake_engine_sent_midi(Engine* const engine, MidiEvent* const events, const uint32_t max)
{
  SCOPED_LOCK(&engine->lock);
  return take_first(engine->sent, &engine->n_sent_midi, sizeof(MidiEvent), events, max);
}

bool
engine_has_midi(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->has_midi;
}

uint32_t
engine_take_midi(Engine* const engine, QueuedMidi* const came, const uint32_t max)
{
  SCOPED_LOCK(&engine->lock);
  return take_first(engine->came, &engine->n_came, sizeof(QueuedMidi), came, max);
}

bool
engine_send_midi(Engine* const engine, const MidiEvent* const events, const uint32_t n)
{
  SCOPED_LOCK(&engine->lock);
  const bool is_sent = engine->has_midi && n <= MAX_MIDI - engine->n_sent_midi;
  for (uint32_t e = 0; is_sent && e < n; ++e) {
    engine->sent[engine->n_sent_midi++] = events[e];
  }
  return is_sent;
}

// ---- reports ----

void
fake_engine_report(Engine* const engine, const RingReport* const report)
{
  SCOPED_LOCK(&engine->lock);
  ck_assert_uint_lt(engine->n_reports, MAX_MIDI);
  engine->reports[engine->n_reports++] = *report;
}

void
fake_engine_report_endlessly(Engine* const engine, const RingReport* const report)
{
  SCOPED_LOCK(&engine->lock);
  engine->reports_endlessly = report;
  engine->endless = report ? *report : engine->endless;
}

EngineReports
engine_reports(Engine* const engine, RingReport* const reports, const uint32_t max)
{
  SCOPED_LOCK(&engine->lock);
  for (uint32_t r = 0; engine->reports_endlessly && r < max; ++r) {
    reports[r] = engine->endless;
  }
  if (engine->reports_endlessly) {
    return (EngineReports){ .n = max, .ring = 1U + engine->n_exchanges };
  }
  const uint32_t n =
      take_first(engine->reports, &engine->n_reports, sizeof(RingReport), reports, max);
  return (EngineReports){ .n = n, .ring = 1U + engine->n_exchanges };
}

void
fake_engine_advance(Engine* const engine, const uint64_t n_frames)
{
  SCOPED_LOCK(&engine->lock);
  engine->frame += n_frames;
}

uint64_t
engine_frame_now(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->frame;
}

/// As if frame 0 had been played at time 0 of the monotonic clock.
uint64_t
engine_frame_at(Engine* const engine, const uint64_t monotonic_ns)
{
  (void)engine;
  return (uint64_t)((double)monotonic_ns * 1e-9 * FAKE_RATE_HZ);
}

uint32_t
engine_rack_latency(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->latency_frames;
}

uint32_t
engine_latency(Engine* const engine)
{
  return FAKE_DEPTH * FAKE_BLOCK_FRAMES + engine_rack_latency(engine);
}

uint32_t
engine_placements(Engine* const engine, EnginePlacement* const placements, const uint32_t max)
{
  SCOPED_LOCK(&engine->lock);
  const uint32_t n = engine->newest ? engine->newest->n_nodes : 0U;
  for (uint32_t i = 0; i < n && i < max; ++i) {
    placements[i] = (EnginePlacement){ .uid = engine->newest->nodes[n - 1U - i].uid,
                                       .backend = ENGINE_BACKEND_CPU,
                                       .reason = PLACE_OPTION,
                                       .p50_ns = i ? 1500U : 0U,
                                       .p99_ns = i ? 22540U : 0U };
  }
  return n;
}

void
engine_status(Engine* const engine, EngineStatus* const status)
{
  SCOPED_LOCK(&engine->lock);
  *status = engine->worker;
  status->armed = true;
  status->rate_hz = FAKE_RATE_HZ;
  status->block_frames = FAKE_BLOCK_FRAMES;
  status->depth = FAKE_DEPTH;
  status->n_in = FAKE_CHANNELS;
  status->n_out = FAKE_CHANNELS;
  status->worker_counts.load[0] = 100U;
  status->worker_counts.load[LOAD_BUCKETS - 1U] = 3U;
  status->rack_latency_frames = engine->latency_frames;
  status->latency_frames = FAKE_DEPTH * FAKE_BLOCK_FRAMES + engine->latency_frames;
  memcpy(status->backend, engine->backend, sizeof(engine->backend));
  memcpy(status->backend_note, engine->backend_note, sizeof(engine->backend_note));
}

void
fake_engine_sound(Engine* const engine, const uint64_t n_frames, const Level* const of)
{
  SCOPED_LOCK(&engine->lock);
  PortLevels* const levels = &engine->levels;
  levels->first_frame = levels->n_frames ? levels->first_frame : engine->frame;
  levels->n_frames += n_frames;
  engine->frame += n_frames;
  for (uint32_t p = 0; p < 2U * FAKE_CHANNELS; ++p) {
    level_add(&levels->of[p], &of[p]);
  }
}

void
fake_engine_measure(Engine* const engine, const RackUid uid, const NodeTap* const level)
{
  SCOPED_LOCK(&engine->lock);
  engine->measured = uid;
  engine->tap = *level;
}

RackUid
fake_engine_watched(Engine* const engine, const uint32_t tap)
{
  SCOPED_LOCK(&engine->lock);
  return engine->watched[tap];
}

bool
engine_tap(Engine* const engine, const uint32_t tap, const RackUid uid, NodeTap* const level)
{
  SCOPED_LOCK(&engine->lock);
  engine->watched[tap] = uid;
  *level = engine->tap;
  const bool has_level = uid != RACK_UID_NONE && uid == engine->measured;
  engine->measured = has_level ? RACK_UID_NONE : engine->measured;
  return has_level;
}

Status
engine_replay(Engine* const engine, const ParamMessage* const message, const uint64_t number,
              Error* const error)
{
  (void)engine;
  (void)message;
  (void)number;
  return error_set(error, STATUS_BAD_ARG, "this engine plays nothing");
}

Status
engine_replay_edit(Engine* const engine, const Rack* const rack, const EngineReplay* const how,
                   Error* const error)
{
  (void)engine;
  (void)rack;
  (void)how;
  return error_set(error, STATUS_BAD_ARG, "this engine plays nothing");
}

void
fake_engine_play(Engine* const engine, const float* const samples, const uint32_t n_frames)
{
  SCOPED_LOCK(&engine->lock);
  engine->played = samples;
  engine->n_played = n_frames;
}

void
fake_engine_start_at(Engine* const engine, const uint64_t frame)
{
  SCOPED_LOCK(&engine->lock);
  engine->listen_start = frame;
}

uint32_t
fake_engine_unheard(Engine* const engine)
{
  SCOPED_LOCK(&engine->lock);
  return engine->n_played;
}

uint64_t
engine_listen_start(Engine* const engine, const uint32_t listener)
{
  (void)listener;
  SCOPED_LOCK(&engine->lock);
  return engine->heard_start;
}

uint32_t
engine_listen(Engine* const engine, const uint32_t listener, const PortRange* const ports,
              float* const samples, const uint32_t max_frames, double* const rate_hz,
              uint64_t* const n_lost)
{
  (void)n_lost;
  SCOPED_LOCK(&engine->lock);
  *rate_hz = FAKE_RATE_HZ;
  const uint32_t n_left =
      (listener == 0U || listener == LISTEN_TAKE) && ports->n ? engine->n_played : 0U;
  const uint32_t n = n_left < max_frames ? n_left : max_frames;
  if (n) {
    memcpy(samples, engine->played, (size_t)n * ports->n * sizeof(float));
    engine->played += (size_t)n * ports->n;
    engine->n_played -= n;
    engine->heard_start = engine->listen_start;
  }
  return n;
}

uint32_t
engine_dry_spans(Engine* const engine, uint64_t* const from, DrySpan to[const DRY_SPANS])
{
  (void)engine;
  (void)from;
  (void)to;
  return 0;
}

bool
engine_levels(Engine* const engine, PortLevels* const levels)
{
  SCOPED_LOCK(&engine->lock);
  *levels = engine->levels;
  levels->n_in = levels->n_out = FAKE_CHANNELS;
  memset(&engine->levels, 0, sizeof(engine->levels));
  return levels->n_frames > 0;
}

PeriodPort
engine_port(Engine* const engine, const bool is_output, const uint32_t channel)
{
  (void)engine;
  if (is_output) {
    return (PeriodPort){
      .bad = channel, .clipped = 1, .attenuation_db = 48U - 6U * channel, .is_muted = !channel
    };
  }
  return (PeriodPort){ .bad = channel, .denormal = channel };
}
