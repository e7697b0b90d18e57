// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The counters of the callback and of the player, one row each.

   A row defines the member of the structs below, its transfer over the wire, the sum over all
   rings and worker processes of a run, the key of /server/status (in the order of the rows), and
   the key of the log's JSON lines, if the last column is true.  CONTRIBUTING.md has the steps that
   add a counter.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_COUNTERS_H
#define WARPRACK_ENGINE_CONTRACT_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// clang-format off

/// Counters that the audio callback writes: name, rule, whether it is in the log's JSON lines.
#define PERIOD_COUNTERS(ROW)                                                                        \
  ROW(blocks,          SUM, true)  /* blocks processed */                                           \
  ROW(late,            SUM, true)  /* blocks not finished when due, or in flight in a ring that was left */ \
  ROW(failed,          SUM, true)  /* blocks that came back without sound: a device has failed, or most of their samples were NaN or Inf */ \
  ROW(wrong,           SUM, true)  /* blocks that came back as another one: the worker is out of step */ \
  ROW(dropped,         SUM, true)  /* blocks not submitted: the worker was n_slots behind, or gone */ \
  ROW(dry,             SUM, true)  /* blocks played as the fallback, wholly or in part, bridges included */ \
  ROW(clipped,         SUM, true)  /* samples above the knee of the output guard */                 \
  ROW(feedback,        SUM, false) /* times that an output was found to feed back to an input */    \
  ROW(bad_in,          SUM, true)  /* NaN or Inf samples that came in */                            \
  ROW(bad_out,         SUM, true)  /* NaN or Inf samples that would have gone out */                \
  ROW(denormal_in,     SUM, false) /* denormal samples that came in */                              \
  ROW(denormal_out,    SUM, false) /* denormal samples that would have gone out */                  \
  ROW(odd_periods,     SUM, false) /* periods whose length was not the block's, played as silence */ \
  ROW(faults,          SUM, true)  /* times that ring_faults() counted, in all rings */             \
  ROW(midi_events,     SUM, false) /* MIDI events that came in */                                   \
  ROW(midi_lost,       SUM, false) /* MIDI events that found no room in their period, or no block */ \
  ROW(midi_skipped,    SUM, false) /* MIDI messages that are neither of a channel nor of real time */ \
  ROW(midi_unheard,    SUM, false) /* MIDI events that the control thread did not get */ \
  ROW(midi_unsent,     SUM, false) /* MIDI events that the driver had no room to send */            \
  ROW(callback_ns_max, MAX, false) /* longest time in period_run(), waiting periods aside, in ns */

/// Counters of the worker: the player writes them, and the builder latency_changes and group_dry.
#define WORKER_COUNTERS(ROW)                                                                        \
  ROW(plans,           SUM, true)  /* plans that became active */                                   \
  ROW(params_applied,  SUM, false) /* parameter messages applied */                                 \
  ROW(params_dropped,  SUM, false) /* parameter messages for nodes that are not there */            \
  ROW(fades_full,      SUM, false) /* values set at once, because FADE_MAX fades ran */             \
  ROW(notes_played,    SUM, false) /* notes begun */                                                \
  ROW(notes_dropped,   SUM, false) /* messages of notes for nodes that are not there, or take none */ \
  ROW(notes_late,      SUM, false) /* messages of notes that came, or found room, after their frame */ \
  ROW(midi_dropped,    SUM, false) /* MIDI events, or changes by them, that the player had no room for */ \
  ROW(units_reset,     SUM, false) /* units whose output was not finite */                          \
  ROW(latency_changes, SUM, true)  /* plans made because the latency of a node has changed */       \
  ROW(group_dry,       SUM, true)  /* blocks in which a unit of a group played its input */         \
  ROW(device_errors,   SUM, true)  /* plans in which a device failed */                             \
  ROW(worker_blocks,   SUM, false) /* blocks finished */

// clang-format on

#define COUNTER_MEMBER(name, rule, in_log) uint64_t name;
#define COUNTER_ATOMIC(name, rule, in_log) _Atomic uint64_t name;
#define COUNTER_ONE(name, rule, in_log)    +1
#define N_PERIOD_COUNTERS                  (0 PERIOD_COUNTERS(COUNTER_ONE))
#define N_WORKER_COUNTERS                  (0 WORKER_COUNTERS(COUNTER_ONE))

/// Buckets of the histogram of block times, each as a share of its period; see load_bounds.
#define LOAD_BUCKETS    16U
#define N_WORKER_COUNTS (N_WORKER_COUNTERS + LOAD_BUCKETS)

typedef union PeriodCounts {
  struct {
    PERIOD_COUNTERS(COUNTER_MEMBER)
  };
  uint64_t of[N_PERIOD_COUNTERS];
} PeriodCounts;

typedef union WorkerCounts {
  struct {
    WORKER_COUNTERS(COUNTER_MEMBER)
    uint64_t load[LOAD_BUCKETS]; ///< Blocks by their time
  };
  uint64_t of[N_WORKER_COUNTS];
} WorkerCounts;

/// The members of PeriodCounts as atomics, for counter_add() and counters_read().
typedef union PeriodCounters {
  struct {
    PERIOD_COUNTERS(COUNTER_ATOMIC)
  };
  _Atomic uint64_t of[N_PERIOD_COUNTERS];
} PeriodCounters;

typedef union PlayerCounters {
  struct {
    WORKER_COUNTERS(COUNTER_ATOMIC)
    _Atomic uint64_t load[LOAD_BUCKETS];
  };
  _Atomic uint64_t of[N_WORKER_COUNTS];
} PlayerCounters;

/// The rule that combines the counters of several rings or worker processes.
typedef enum CounterRule { COUNTER_SUM, COUNTER_MAX } CounterRule;

typedef struct CounterInfo {
  const char* name; ///< Key of /server/status
  CounterRule rule;
  bool in_log; ///< The log's JSON lines have the key too
} CounterInfo;

extern const CounterInfo period_counters[N_PERIOD_COUNTERS];
extern const CounterInfo worker_counters[N_WORKER_COUNTERS];

/// The largest share of each bucket, which is not in the next one; the last one is infinite.
extern const double load_bounds[LOAD_BUCKETS];

/// Combine counters: sum[i] with counts[i], by the rule of infos[i]. [any]
void counters_add(const CounterInfo* infos, size_t n, uint64_t* sum, const uint64_t* counts);

/// Add all counts of another worker process. [any]
void worker_counts_add(WorkerCounts* sum, const WorkerCounts* counts);

/// Add n to a counter; for n == 0, the usual case, does not touch the counter's cache line. [any]
static inline void
counter_add(_Atomic uint64_t* const counter, const uint64_t n)
{
  if (n) {
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
  }
}

/// Read counters that another thread writes. [any]
void counters_read(const _Atomic uint64_t* counters, size_t n, uint64_t* counts);

/// One port: counters since the period was made, as in PeriodCounts, and its state.
typedef struct PeriodPort {
  uint64_t bad, denormal;
  uint64_t clipped;        ///< Outputs: samples above the knee
  uint32_t attenuation_db; ///< Outputs: current attenuation because of feedback (feedback.h)
  bool is_muted;           ///< Outputs: muted because of feedback
} PeriodPort;

#endif
