// SPDX-License-Identifier: GPL-3.0-or-later
/// An engine with a worker process and audio in real time, and functions that wait for its states.
#ifndef WARPRACK_TESTS_SUPERVISOR_RIG_H
#define WARPRACK_TESTS_SUPERVISOR_RIG_H

#include "clocked.h"

#include "engine/engine.h"

#define HALF       0.25F // CLOCKED_INPUT after "gain -6.02…dB"
#define HALF_DB    "-6.020599913279624dB"
#define HALVED     "g: gain " HALF_DB
#define QUARTER_DB (-12.041199826559248)

typedef struct Rig {
  const char* argv[3];
  Engine* engine;
  Clocked* audio; ///< NULL if no audio runs
  Rack* rack;     ///< The newest rack
} Rig;

/// Paths of worker programs: warprack itself, and one that fails on demand (bad_worker.c).
const char* good_worker(void);
const char* bad_worker(void);

/// A configuration with one channel, on the CPU, and `argv` as the worker's command line.
EngineConfig rig_config(const char* const* argv);

/// Start an engine with this worker program, which plays a rack.
void rig_start(Rig* rig, const char* program, const char* rack);
/// As rig_start(), with a configuration.
void rig_start_with(Rig* rig, const EngineConfig* config, const char* rack);
void rig_arm(const Rig* rig);
void rig_stop(Rig* rig);

EngineStatus rig_status(const Rig* rig);

// Each of these waits as AWAIT() does.
void await_level(const Rig* rig, float value);
void await_dry(const Rig* rig);
void await_restarts(const Rig* rig, uint64_t n);
void await_quarantine(const Rig* rig);

/// Wait until the wet signal has played for so long that the supervisor will replace the next lost
/// worker without a delay.
void await_health(const Rig* rig, float wet);

/// Wait until there have been `restarts` restarts and the wet signal plays.  Fails the test if the
/// output since the last clocked_faults() was outside of the range from dry to wet, or had a click.
void assert_worker_replaced(const Rig* rig, uint64_t restarts, float wet);

/// Edit the rack, and wait for the reply to that edit.
void rig_begin_edit(Rig* rig, const char* text);
EngineReply rig_await_reply(void);

/// Edit the rack and wait for the reply.
EngineReply rig_edit(Rig* rig, const char* text);

/// Set the first parameter of the first node.
void set_gain(const Rig* rig, double db);

void send_signal(const Rig* rig, int number);

#endif
