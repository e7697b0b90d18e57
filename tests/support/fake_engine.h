// SPDX-License-Identifier: GPL-3.0-or-later
/**
   An engine that plays nothing and records the edits and values that it is given, for tests of the
   code that calls the engine.  Linked in place of the real engine.  All functions may be called
   from any thread.
*/
#ifndef WARPRACK_TESTS_FAKE_ENGINE_H
#define WARPRACK_TESTS_FAKE_ENGINE_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define FAKE_RATE_HZ      48000.0
#define FAKE_BLOCK_FRAMES 64U
#define FAKE_DEPTH        1U
#define FAKE_CHANNELS     2U
#define FAKE_EDIT_FRAME   640U // first frame of every edit

/// The arguments of one engine_set() or engine_play().
typedef struct FakeSet {
  uint64_t frame; ///< Of all messages
  uint32_t n;
  ParamMessage messages[8]; ///< The first 8 of the `n` messages
} FakeSet;

Engine* fake_engine_new(void);
void fake_engine_free(Engine* engine);

/// Hold each edit until fake_engine_answer(), instead of replying at once.
void fake_engine_hold(Engine* engine, bool hold);

/// Reply to the edit that is held; waits up to 30 s for one.
void fake_engine_answer(Engine* engine, Status status, const char* text, uint32_t latency_frames);

/// Reply to the held edit with STATUS_BAD_RACK: the channels of connection number `edge` of the
/// document, counted from 0, do not fit.
void fake_engine_refuse_edge(Engine* engine, uint32_t edge, const char* text);

/// Number of edits so far, and the document and frame of the newest one.  The caller frees the
/// text.
uint32_t fake_engine_n_edits(Engine* engine);
char* fake_engine_newest(Engine* engine, uint64_t* at_frame);

/// Answer the next engine_save() with this state or error; without it, that fails with
/// STATUS_WORKER.  `state` is borrowed.
void fake_engine_save_as(Engine* engine, Status status, const char* state);

/// Number of engine_save() calls.
uint32_t fake_engine_n_saves(Engine* engine);

/// Number of engine_overtake() calls.
uint32_t fake_engine_n_overtakes(Engine* engine);

/// Number of engine_set() and engine_play() calls that succeeded, and the arguments of call number
/// `index` from 0.
uint32_t fake_engine_n_sets(Engine* engine);
FakeSet fake_engine_set(Engine* engine, uint32_t index);

/// While `full` is true, engine_set() and engine_play() fail with STATUS_LIMIT, as with a full
/// ring.
void fake_engine_be_full(Engine* engine, bool full);

/// Let engine_n_waiting() return n; 0: what it returns else.
void fake_engine_let_wait(Engine* engine, uint32_t n);

/// Let engine_play() fail with this status, as without audio; STATUS_OK: no longer.
void fake_engine_stop(Engine* engine, Status status);

/// Make the status report that effects run on `backend`, and `note` as the reason.
void fake_engine_move(Engine* engine, const char* backend, const char* note);

/// Make the status report this state of the worker process.
void fake_engine_tell_worker(Engine* engine, WorkerState state, int pid, const char* note);

/// Set the latency that the engine reports for the rack.
void fake_engine_tell_latency(Engine* engine, uint32_t frames);

/// Make engine_rack() return a copy of `rack`, and report one more rack in quarantine, with `why`.
void fake_engine_take_back(Engine* engine, const Rack* rack, const char* why);

/// Report one more node in quarantine, with `why`.
void fake_engine_bypass_node(Engine* engine, const char* why);

/// Let the ports have these levels in `n_frames` frames that follow those so far, and advance
/// engine_frame_now() by that.  `of`: [2 * FAKE_CHANNELS], inputs, then outputs.
void fake_engine_sound(Engine* engine, uint64_t n_frames, const Level* of);

/// Let the next engine_tap() with this uid return `level`.
void fake_engine_measure(Engine* engine, RackUid uid, const NodeTap* level);

/// The node that the last engine_tap() with this tap has named.
RackUid fake_engine_watched(Engine* engine, uint32_t tap);

/// Let the ports have these samples, in the order that engine_listen() returns.  Borrowed until
/// they are taken.
void fake_engine_play(Engine* engine, const float* samples, uint32_t n_frames);

/// The frame time of the first of these samples, and the number of frames that are left of them.
void fake_engine_start_at(Engine* engine, uint64_t frame);
uint32_t fake_engine_unheard(Engine* engine);

/// Let MIDI come, whose frames count from engine_frame_now(); from now on the driver has MIDI.
void fake_engine_hear(Engine* engine, const MidiEvent* events, uint32_t n);

/// Let an event come that no worker gets.
void fake_engine_miss(Engine* engine, const MidiEvent* event);

/// Let the worker end that had the events before.
void fake_engine_end_worker(Engine* engine);

/// Number of calls of engine_return_midi(), and the sum of their lost events.
uint32_t fake_engine_n_returns(Engine* engine, uint64_t* n_lost);

/// Let another worker play.
void fake_engine_exchange_worker(Engine* engine);

/// Take at most `max` events of engine_send_midi(), oldest first.  Returns their number.
uint32_t fake_engine_sent_midi(Engine* engine, MidiEvent* events, uint32_t max);

/// Let the worker report this.
void fake_engine_report(Engine* engine, const RingReport* report);

/// Let the worker report this faster than anybody reads; NULL: no longer.
void fake_engine_report_endlessly(Engine* engine, const RingReport* report);

/// Advance engine_frame_now() by n frames.
void fake_engine_advance(Engine* engine, uint64_t n_frames);

#endif
