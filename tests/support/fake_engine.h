// SPDX-License-Identifier: GPL-3.0-or-later
/**
   An engine that plays nothing and writes down what it is told: for tests of what stands in front
   of it.  Linked in place of the real one.  All functions may be called from any thread.
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

/// One group of parameters as engine_set() was given it; of longer groups the first ones.
typedef struct FakeSet {
  uint64_t frame;
  uint32_t n;
  EngineParam params[8];
} FakeSet;

Engine* fake_engine_new(void);
void fake_engine_free(Engine* engine);

/// Hold edits until fake_engine_answer(), instead of answering each at once.
void fake_engine_hold(Engine* engine, bool hold);

/// Answer the oldest edit that is held; waits for one to come.
void fake_engine_answer(Engine* engine, Status status, const char* text, uint32_t latency_frames);

/// The same for STATUS_BAD_RACK: the channels of the document's connection `edge`, from 0, do not
/// fit.
void fake_engine_refuse_edge(Engine* engine, uint32_t edge, const char* text);

/// Edits given so far, and the document and frame of the newest one.  The caller frees the text.
uint32_t fake_engine_n_edits(Engine* engine);
char* fake_engine_newest(Engine* engine, uint64_t* at_frame);

/// Groups set so far, and one of them.
uint32_t fake_engine_n_sets(Engine* engine);
FakeSet fake_engine_set(Engine* engine, uint32_t index);

/// Refuse engine_set() from now on, as a full ring would.
void fake_engine_be_full(Engine* engine, bool full);

/// Say that effects run on `backend`, and how that came about.
void fake_engine_move(Engine* engine, const char* backend, const char* note);

/// Say how the worker process does.
void fake_engine_tell_worker(Engine* engine, WorkerState state, int pid, const char* note);

/// Say that the rack has another latency.
void fake_engine_tell_latency(Engine* engine, uint32_t frames);

/// Take back what is heard, for `rack` (copied).
void fake_engine_take_back(Engine* engine, const Rack* rack, const char* why);

/// Let audio run on by n frames.
void fake_engine_advance(Engine* engine, uint64_t n_frames);

#endif
