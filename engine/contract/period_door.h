// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The gate between the threads of an audio driver and the engine: it decides, once for each period,
   between the engine and silence.  The engine owns it; driver and engine open and shut it.

       audio thread, each period                       main thread
       may `caller` enter? silence if not              shut
       inside = true; if it was, silence, and count    wait while inside
       may `caller` still enter? silence if not        change the format, or the period
       run; inside = false                             open

   All accesses are sequentially consistent: either the main thread sees `inside`, or the audio
   thread sees the gate shut.  A second audio thread that arrives during a period is a fault of the
   audio library; the gate writes silence for it.

   The period is silent
     - while the engine is not armed: PERIOD_GATE_ENGINE has shut;
     - while the format changes, or no session runs: PERIOD_GATE_DRIVER has shut;
     - when it comes from a session other than the admitted one: a session whose close call hangs
       may resume while its successor runs.
   While a run is muted, the engine is armed and its periods run; they begin faded out
   (engine_fade()).
*/
#ifndef WARPRACK_ENGINE_CONTRACT_PERIOD_GATE_H
#define WARPRACK_ENGINE_CONTRACT_PERIOD_GATE_H

#include "engine/base/macros.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// The sides that shut and open the gate, each independently.
typedef enum PeriodGateSide { PERIOD_GATE_ENGINE = 1, PERIOD_GATE_DRIVER = 2 } PeriodGateSide;

typedef struct PeriodGate {
  _Atomic uint32_t shut;       ///< PeriodGateSide, or'ed; 0: open
  _Atomic(const void*) caller; ///< The session whose periods may enter; NULL: periods have none
  atomic_bool inside;          ///< A period runs
  _Atomic uint64_t overlaps;   ///< Periods silenced because another one was inside
  atomic_bool is_kept;         ///< See period_gate_keep()
} PeriodGate;

/// One period of a driver.
typedef struct PeriodCall {
  const void* caller; ///< As in PeriodGate
  const float* const* in;
  float* const* out; ///< [n_out]
  uint32_t n_out, n_frames;
  bool wait; ///< As in period_run()
} PeriodCall;

/// Run a period on the other side of the gate; all of `out` is written.
typedef void (*PeriodFunction)(void* context, const float* const* in, float* const* out,
                               uint32_t n_frames, bool wait);

/// Run a period, or write silence. [rt]
REALTIME void
period_gate_pass(PeriodGate* gate, const PeriodCall* call, PeriodFunction run, void* context);

/// Write silence to all rows that are not NULL. [rt]
REALTIME void period_gate_silence(float* const* out, uint32_t n_out, uint32_t n_frames);

/// Shut the gate for a side.  A period that is already inside continues. [any]
void period_gate_shut(PeriodGate* gate, PeriodGateSide side);

/// True if the side has shut the gate. [any]
bool period_gate_is_shut(const PeriodGate* gate, PeriodGateSide side);

/// True if a period is inside. [any]
bool period_gate_is_occupied(const PeriodGate* gate);

/// Open the gate for a side. [main]
void period_gate_open(PeriodGate* gate, PeriodGateSide side);

/// Admit only periods of `caller` from now on; NULL: only periods without a session. [main]
void period_gate_admit(PeriodGate* gate, const void* caller);

/// True if periods of `caller` may enter while the gate is open. [any]
bool period_gate_admits(const PeriodGate* gate, const void* caller);

/// Mark the gate as still in use: a session of the closed driver hangs in the library, and its late
/// periods still reach the gate.  The owner must not free the gate. [main]
void period_gate_keep(PeriodGate* gate);

/// True if period_gate_keep() was called. [any]
bool period_gate_is_kept(const PeriodGate* gate);

#endif
