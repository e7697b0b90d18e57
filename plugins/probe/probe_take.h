// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A take: an instance is opened, plays the same input as in every other take, and its output is
   kept.  Two takes that differ in one thing show if that thing changes the samples.
*/
#ifndef WARPRACK_PLUGINS_PROBE_PROBE_TAKE_H
#define WARPRACK_PLUGINS_PROBE_PROBE_TAKE_H

#include "probe_calls.h"

#include "plugins/host.h"

#define TAKE_GRID   64U                        // frames from one move of a parameter to the next
#define TAKE_FRAMES (REPORT_MOVES * TAKE_GRID) // longer than what plugins collect inside
#define TAKE_BLOCK  256U                       // longest run

/// The plugin that is probed, with its rows.
typedef struct Bench {
  const Plugin* plugin;
  const InstanceCalls* calls;
  Arena arena;
  uint32_t n_in, n_out;
  float** noise;  ///< [n_in][TAKE_FRAMES] the input of all takes
  float** in;     ///< [n_in][TAKE_BLOCK] the input of a run
  float** out;    ///< [n_out][TAKE_BLOCK] its output
  bool* is_fixed; ///< [plugin->fx.n_params] no number, or one that moves the latency
} Bench;

/// What the parameters do in a take.
typedef enum TakeValues {
  VALUES_INITIAL,
  VALUES_RANDOM, ///< Some other values, from the start
  VALUES_MOVE    ///< One parameter moves at each step of the grid
} TakeValues;

typedef struct TakePlan {
  uint32_t max_block; ///< Of the instance, at most TAKE_BLOCK, and the usual length of a run
  bool is_odd;        ///< Runs of changing, odd lengths
  bool offline;
  TakeValues values;
} TakePlan;

/// What is seen in a take, beside its output.
typedef struct TakeFacts {
  bool writes_input;
  bool is_finite;       ///< No sample is NaN or infinite
  CallCounts calls;     ///< Of all runs
  uint32_t block_ns;    ///< Median time of a run of `max_block` frames
  uint32_t tail_frames; ///< At most REPORT_TAIL_SECONDS
} TakeFacts;

/// STATUS_NO_BACKEND if the build does not host the format, STATUS_NO_MEM. [child]
NODISCARD Status probe_bench_init(Bench* bench, const Plugin* plugin, Error* error);
void probe_bench_clear(Bench* bench);

/// Open an instance at its initial values, ready to run. [child]
NODISCARD Status probe_bench_open(const Bench* bench, uint32_t max_block, bool offline,
                                  Instance** instance, Error* error);

/// Close an instance. [child]
void probe_bench_close(const Bench* bench, Instance* instance);

/// Play the first `n_frames` of the noise. [child]
void probe_bench_run(Bench* bench, Instance* instance, uint32_t n_frames);

/// Set a parameter that is a number to a place in its range, from 0 to 1. [child]
void probe_bench_set(const Bench* bench, Instance* instance, uint32_t param, double place);

/// The next of a sequence of numbers from 0 to 1 that depends on `seed` only. [any]
double probe_bench_random(uint32_t* seed);

/// True if all samples of the last run, of `n_frames`, are finite. [child]
bool probe_bench_is_finite(const Bench* bench, uint32_t n_frames);

/// Set all parameters to places that depend on the seed. [child]
void probe_bench_set_all(const Bench* bench, Instance* instance, uint32_t* seed);

/**
   Play and keep a take.

   @param output [n_out * TAKE_FRAMES], row after row.
   @param facts NULL: not wanted, which saves the time of a tail.
   [child]
*/
NODISCARD Status take(Bench* bench, const TakePlan* plan, float* output, TakeFacts* facts,
                      Error* error);

/// The largest difference between two takes, relative to the loudest sample of at least 1.  A NaN
/// equals a NaN, and is 1e9 from anything else. [any]
double take_difference(const Bench* bench, const float* a, const float* b);

#endif
