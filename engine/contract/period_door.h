// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The door between the threads of an audio driver and the engine: it decides, once for each period,
   between the engine and silence.  The engine owns it; driver and engine open and shut it.

       audio thread, each period                       main thread
       may `caller` enter? silence if not              shut
       inside = true; if it was, silence, and count    wait while inside
       may `caller` still enter? silence if not        change the format, or the period
       run; inside = false                             open

   All accesses are sequentially consistent: either the main thread sees `inside`, or the audio
   thread sees the door shut.  A second audio thread that arrives during a period is a fault of the
   audio library; the door writes silence for it.

   The period is silent
     - while the engine is not armed: PERIOD_DOOR_ENGINE has shut;
     - while the format changes, or no session runs: PERIOD_DOOR_DRIVER has shut;
     - when it comes from a session other than the admitted one: a session whose close call hangs
       may resume while its successor runs.
   While a run is muted, the engine is armed and its periods run; they begin faded out
   (engine_fade()).
*/
#ifndef WARPRACK_ENGINE_CONTRACT_PERIOD_DOOR_H
#define WARPRACK_ENGINE_CONTRACT_PERIOD_DOOR_H

#include "engine/base/macros.h"
#include "engine/base/midi_period.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// The sides that shut and open the door, each independently.
typedef enum PeriodDoorSide { PERIOD_DOOR_ENGINE = 1, PERIOD_DOOR_DRIVER = 2 } PeriodDoorSide;

typedef struct PeriodDoor {
  _Atomic uint32_t shut;       ///< PeriodDoorSide, or'ed; 0: open
  _Atomic(const void*) caller; ///< The session whose periods may enter; NULL: periods have none
  atomic_bool inside;          ///< A period runs
  _Atomic uint64_t overlaps;   ///< Periods silenced because another one was inside
  atomic_bool is_kept;         ///< See period_door_keep()
} PeriodDoor;

/// One period of a driver.
typedef struct PeriodCall {
  const void* caller; ///< As in PeriodDoor
  const float* const* in;
  float* const* out; ///< [n_out]
  uint32_t n_out, n_frames;
  bool wait;        ///< As in period_run()
  MidiPeriod* midi; ///< NULL: none
} PeriodCall;

/// Run a period on the other side of the door; all of `out` and MidiPeriod::out is written.
typedef void (*PeriodFunction)(void* context, const float* const* in, float* const* out,
                               uint32_t n_frames, bool wait, MidiPeriod* midi);

/// Run a period, or write silence. [rt]
REALTIME void
period_door_pass(PeriodDoor* door, const PeriodCall* call, PeriodFunction run, void* context);

/// Write silence to all rows that are not NULL. [rt]
REALTIME void period_door_silence(float* const* out, uint32_t n_out, uint32_t n_frames);

/// Shut the door for a side.  A period that is already inside continues. [any]
void period_door_shut(PeriodDoor* door, PeriodDoorSide side);

/// True if the side has shut the door. [any]
bool period_door_is_shut(const PeriodDoor* door, PeriodDoorSide side);

/// True if a period is inside. [any]
bool period_door_is_occupied(const PeriodDoor* door);

/// Open the door for a side. [main]
void period_door_open(PeriodDoor* door, PeriodDoorSide side);

/// Admit only periods of `caller` from now on; NULL: only periods without a session. [main]
void period_door_admit(PeriodDoor* door, const void* caller);

/// True if periods of `caller` may enter while the door is open. [any]
bool period_door_admits(const PeriodDoor* door, const void* caller);

/// Mark the door as still in use: a session of the closed driver hangs in the library, and its late
/// periods still reach the door.  The owner must not free the door. [main]
void period_door_keep(PeriodDoor* door);

/// True if period_door_keep() was called. [any]
bool period_door_is_kept(const PeriodDoor* door);

#endif
