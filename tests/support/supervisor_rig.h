// SPDX-License-Identifier: GPL-3.0-or-later
/// An engine whose effects run in another process, with its audio, and the wait functions of its
/// tests.
#ifndef WARPRACK_TESTS_SUPERVISOR_RIG_H
#define WARPRACK_TESTS_SUPERVISOR_RIG_H

#include "clocked.h"

#include "engine/engine.h"

#define HALF       0.25F // the input after "gain -6.02…dB"
#define HALF_DB    "-6.020599913279624dB"
#define HALVED     "g: gain " HALF_DB
#define QUARTER_DB (-12.041199826559248)

typedef struct Rig {
  const char* argv[3];
  Engine* engine;
  Clocked* audio; ///< NULL: none
  Rack* rack;     ///< The newest one
} Rig;

/// The program itself as a worker; the other one fails on demand, see bad_worker.c.
const char* good_worker(void);
const char* bad_worker(void);

/// Of one channel, on the CPU.
EngineConfig rig_config(const char* const* argv);

/// An engine that plays a rack.
void rig_start(Rig* rig, const char* program, const char* rack);
void rig_arm(const Rig* rig);
void rig_stop(Rig* rig);

EngineStatus rig_status(const Rig* rig);

// Each fails the test when it takes too long.
void await_level(const Rig* rig, float value);
void await_dry(const Rig* rig);
void await_restarts(const Rig* rig, uint64_t n);
void await_quarantine(const Rig* rig);

/// Wet for so long that the next loss is followed by a start at once.
void await_health(const Rig* rig, float wet);

/// Dry, then wet again by another process; nothing silent, no click, since the last look.
void assert_it_comes_back(const Rig* rig, uint64_t restarts, float wet);

/// Edit, and wait for the answer.
EngineReply rig_edit(Rig* rig, const char* text);

/// Set the first parameter of the first node.
void set_gain(const Rig* rig, double db);

void send_signal(const Rig* rig, int number);

#endif
