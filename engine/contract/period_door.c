// SPDX-License-Identifier: GPL-3.0-or-later
// The gate between the threads of an audio driver and the engine.

#include "period_gate.h"

#include <string.h>

void
period_gate_silence(float* const* const out, const uint32_t n_out, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < n_out; ++c) {
    if (out[c]) {
      memset(out[c], 0, n_frames * sizeof(float));
    }
  }
}

static bool
may_enter(const PeriodGate* const gate, const void* const caller)
{
  return !atomic_load(&gate->shut) && period_gate_admits(gate, caller);
}

/// Enter the gate; true on success.  Because of the first check, a caller that may not enter does
/// not occupy the gate.
static bool
enter(PeriodGate* const gate, const void* const caller)
{
  if (!may_enter(gate, caller)) {
    return false;
  }
  if (atomic_exchange(&gate->inside, true)) {
    atomic_fetch_add_explicit(&gate->overlaps, 1U, memory_order_relaxed);
    return false;
  }
  if (may_enter(gate, caller)) {
    return true;
  }
  atomic_store(&gate->inside, false);
  return false;
}

void
period_gate_pass(PeriodGate* const gate, const PeriodCall* const call, const PeriodFunction run,
                 void* const context)
{
  if (enter(gate, call->caller)) {
    run(context, call->in, call->out, call->n_frames, call->wait);
    atomic_store(&gate->inside, false);
  } else {
    period_gate_silence(call->out, call->n_out, call->n_frames);
  }
}

void
period_gate_shut(PeriodGate* const gate, const PeriodGateSide side)
{
  atomic_fetch_or(&gate->shut, (uint32_t)side);
}

bool
period_gate_is_shut(const PeriodGate* const gate, const PeriodGateSide side)
{
  return atomic_load(&gate->shut) & (uint32_t)side;
}

bool
period_gate_is_occupied(const PeriodGate* const gate)
{
  return atomic_load(&gate->inside);
}

void
period_gate_open(PeriodGate* const gate, const PeriodGateSide side)
{
  atomic_fetch_and(&gate->shut, ~(uint32_t)side);
}

void
period_gate_admit(PeriodGate* const gate, const void* const caller)
{
  atomic_store(&gate->caller, caller);
}

bool
period_gate_admits(const PeriodGate* const gate, const void* const caller)
{
  return atomic_load(&gate->caller) == caller;
}

void
period_gate_keep(PeriodGate* const gate)
{
  atomic_store(&gate->is_kept, true);
}

bool
period_gate_is_kept(const PeriodGate* const gate)
{
  return atomic_load(&gate->is_kept);
}
