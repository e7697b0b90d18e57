// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The interface of an effect, between the engine and the files of dsp_cpu/ (and, by the same
   tables, dsp_gpu/).  A DSP file includes this header and does not depend on JACK, OSC, file names
   or threads.

   One effect is described by one constant FxInfo.  From a rack node the engine makes

   - one *node*: the data that all channels share, such as coefficients and parameter targets.
     `create` [builder] makes it; afterwards only `set` [rt] changes it.  `load` [builder] makes
     data that may be large, such as the spectra of an impulse response, after the engine has
     checked that there is memory for the whole plan;
   - n *units*: plain memory that `unit_init` fills, one unit per channel if the channels are
     independent, one for the complete node if they are coupled, or one per group of channels
     (FxShape::unit_in).  A unit holds all data that changes while audio runs: filter memory, delay
     lines, ramps.

   An effect may have *side inputs*, for signals that control it: the side chain of a compressor.
   They are not among the channels of the node, and nothing need be connected to them.  An effect
   without main inputs, such as an instrument, is a *source*: one unit that only has outputs.

   `run` gets a list of units, of one or many nodes of the same effect, and processes n_frames of
   each.  Several cores may run different units of one node at the same time, so `run` only reads
   nodes, and writes only units and outputs.

   Rules that every effect keeps:
   - `run` accepts any 1 <= n_frames <= max_block_frames in any sequence; the output does not depend
     on how the input was split into calls (within FxInfo::tolerance).  All smoothing counts frames,
     not calls.
   - A change by `set` makes no click: `run` ramps or cross-fades to the new value, in the frames
     that `set` gets, from the first frame of its next call.  The values given to `create` apply
     from the first frame, without a ramp.
   - No allocation, lock, system call or unbounded loop in `set`, `run`, `unit_init`.
   - Input and output buffers never overlap, and are 64-byte aligned only at the start of a block:
     a block may be split at any frame, so use unaligned loads.  The input is never written to.
   - Audio is float32; coefficients are designed in double; recursive state is double where float32
     would leave more than -120 dBFS of error down to 10 Hz at 192 kHz.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_EFFECT_H
#define WARPRACK_ENGINE_CONTRACT_EFFECT_H

#include "engine/base/hash.h"
#include "engine/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Default length of a parameter ramp: long enough that a full-scale gain step makes no click,
/// short enough to feel immediate.
#define FX_RAMP_SECONDS 0.02

/// The same in frames.
static inline uint32_t
fx_ramp_frames(const double rate_hz)
{
  return (uint32_t)(FX_RAMP_SECONDS * rate_hz + 0.5);
}

/// Most channels of a node, and of a rack's inputs and outputs.  Stack arrays have this length:
/// 8 KB of pointers.
#define FX_MAX_CHANNELS 1024U

#define FX_MAX_BLOCK 8192U

/// The largest number of cuts of one block at the events of a node with FxInfo::cut_at_events.  The
/// events after the last cut take effect there.
#define FX_MAX_CUTS 32U

/// The largest file that FxInfo::save() makes.
#define FX_STATE_MAX_BYTES (16U << 20U)

/// The unit of a parameter's number, the same in documents, OSC messages and FxSetup::values.
typedef enum FxMeasure {
  UNIT_NONE, ///< A plain number; "%" is accepted and divides by 100, and ":1" after a ratio
  UNIT_HZ,   ///< Hertz; accepts Hz, kHz, k
  UNIT_DB,   ///< Decibels of amplitude; accepts dB
  UNIT_MS,   ///< Milliseconds; accepts ms, s, us, and frames (converted once the rate is known)
  UNIT_BPM,  ///< Beats per minute
  UNIT_DEG,  ///< Degrees
  // of plugins only
  UNIT_S,       ///< Seconds; accepts s, ms, us
  UNIT_PERCENT, ///< Percent, 100 for the whole; accepts %
  UNIT_LINEAR   ///< A factor of the amplitude; accepts dB, which is converted
} FxMeasure;

/// What an event does.  Controllers and pitch bends are to follow.
typedef enum FxEventKind { FX_NOTE_ON, FX_NOTE_OFF } FxEventKind;

#define FX_KEYS 128U // MIDI's numbers of keys; 60 is middle C, 69 the A of 440 Hz

/// An event for an instrument.  Its frame is an argument of FxInfo::event.
typedef struct FxEvent {
  FxEventKind kind;
  uint32_t key;   ///< Below FX_KEYS
  float velocity; ///< NOTE_ON: above 0, at most 1.  NOTE_OFF: 0
} FxEvent;

/// The largest number of events that a node gets between two calls of `run`.
#define FX_MAX_EVENTS 2048U

typedef enum FxParamKind {
  PARAM_NUMBER,  ///< A real number in [min, max]
  PARAM_INTEGER, ///< A whole number in [min, max]
  PARAM_SWITCH,  ///< off/on, written so in documents; 0 or 1 as a number
  PARAM_CHOICE,  ///< One of `choices`, written by name; see fx_choice_number()
  PARAM_FILE,    ///< The name of a file, loaded by the engine before `create` (FxSetup::files)
  PARAM_PATH,    ///< The name of a file that the effect opens itself (FxSetup::paths)
  PARAM_TEXT     ///< Free text for the effect to parse in `create` (FxSetup::texts)
} FxParamKind;

/**
   How a parameter's number follows the position x of a controller, from 0 (min) to 1 (max): see
   fx_param_from_norm().  Switches, choices and linear integers have steps instead, and texts have
   no position.
*/
typedef enum FxTaper {
  /// min + x (max - min): levels in dB as well, so that each way of a controller is as many dB
  TAPER_LINEAR,
  /// Equal ways are equal factors: min (max / min)^x.  With min = 0: max (1000^x - 1) / 999, which
  /// is near that of a range from max / 1000, and begins at 0.  min is not below 0
  TAPER_LOG,
  /// The fader of a mixing desk, for gains whose lowest value is silence: min at 0, -40 dB at 1/4,
  /// 0 dB at 3/4, max at 1, and straight lines in dB between.  min < -40 dB, max > 0 dB
  TAPER_DB
} FxTaper;

/// A parameter of a node that the engine executes, a switch (node_switches.h) or a time; the effect
/// does not see it, and a change makes no new node.
typedef enum FxOfEngine {
  FX_SWITCH_NONE,   ///< A parameter of the effect itself
  FX_SWITCH_BYPASS, ///< The input plays in place of the output, delayed by the latency
  FX_SWITCH_MUTE,   ///< The output is silent
  FX_SWITCH_SOLO, ///< Connections beside the node are silent (engine/plan/plan_solo.c): structural
  FX_RAMP_TIME    ///< The time of changes that state none (Node::ramp_frames)
} FxOfEngine;

/// One row of an effect's parameter table.  Order matters: positional values follow it, except
/// those of the engine, which are the last rows.
typedef struct FxParam {
  const char* id;              ///< Lower case, stable: OSC path, document key
  FxParamKind kind;            ///< FILE, PATH and TEXT are always structural
  FxMeasure unit;              ///< Unit of min, max, initial and of every value
  double min, max;             ///< Inclusive range (numbers only)
  double initial;              ///< Value when none is given
  bool structural;             ///< A change makes a new node with a cross-fade, instead of a ramp
  const char* const* choices;  ///< CHOICE: NULL-terminated printable names, all different.  NUMBER
                               ///< and INTEGER: names of some numbers, or NULL
  const double* choice_values; ///< The number of each of `choices`; NULL: its index
  const char* initial_text;    ///< FILE, PATH and TEXT only: default; NULL and "" mean not given
  const char* help;            ///< One line, no full stop
  bool in_presets; ///< A preset may have another value than `initial`, so that a rack keeps a value
                   ///< that it states also if it is the initial one
  FxTaper taper;   ///< NUMBER and INTEGER
  bool follows_tempo; ///< NUMBER in bpm: it follows the tempo of the rack until it is set
  FxOfEngine of_engine;
} FxParam;

// clang-format off
/// The last rows of the table of every effect; plugins have a `bypass` of their own.
#define FX_MUTE_PARAM   { "mute",   PARAM_SWITCH, UNIT_NONE, 0.0, 1.0, 0.0, .of_engine = FX_SWITCH_MUTE,   .help = "The output is silent; the effect runs on" }
#define FX_BYPASS_PARAM { "bypass", PARAM_SWITCH, UNIT_NONE, 0.0, 1.0, 0.0, .of_engine = FX_SWITCH_BYPASS, .help = "The input plays in place of the output, with the same latency; the effect runs on" }
#define FX_SOLO_PARAM   { "solo",   PARAM_SWITCH, UNIT_NONE, 0.0, 1.0, 0.0, .structural = true, .of_engine = FX_SWITCH_SOLO, .help = "Only signals through this node, and other nodes with solo, are heard" }
#define FX_RAMP_PARAM   { "ramp",   PARAM_NUMBER, UNIT_MS,   0.0, 1000.0, 1e3 * FX_RAMP_SECONDS, .of_engine = FX_RAMP_TIME, .help = "Time in which the values of the node change" }
#define FX_ENGINE_PARAMS   FX_BYPASS_PARAM, FX_MUTE_PARAM, FX_SOLO_PARAM, FX_RAMP_PARAM
#define FX_N_ENGINE_PARAMS 4U
// clang-format on

/// The content of a file, as the engine loads it.  Audio is resampled to the engine's rate.
typedef struct FxFile {
  const char* name;     ///< For messages
  uint32_t n_channels;  ///< Audio: channels.  Text: rows of numbers
  uint64_t n_frames;    ///< Audio: frames.  Text: numbers per row
  const float* samples; ///< Planar, shape [n_channels][n_frames]; all finite.  NULL: not read yet
  bool is_audio;        ///< False for a text file with rows of numbers
  uint64_t read_bytes;  ///< Largest memory needed to read the samples; 0: they are already read
} FxFile;

/// Access to the files that racks name. [builder]
typedef struct FxFiles {
  /// Load a file for an effect: audio (resampled to rate_hz) or a text file of numbers.  May leave
  /// out the samples of audio, so that the caller knows the file's size before it allocates memory
  /// for them.  NULL: racks that name files are refused.
  Status (*load)(void* context, const char* name, double rate_hz, FxFile** file, Error* error);
  /// The absolute path, without links, of a regular file, by the rules of load().  The caller frees
  /// it.  NULL: racks that name such files are refused.
  Status (*find)(void* context, const char* name, char** path, Error* error);
  /// Read the samples that load() left out; NULL if it leaves none out.
  Status (*read)(void* context, FxFile* file, Error* error);
  /// Free what load() has returned.  NULL: it stays.
  void (*free)(void* context, FxFile* file);
  void* context;
} FxFiles;

typedef struct FxInfo FxInfo;

/// The input of `create`.  All pointers are borrowed until `create` returns.
typedef struct FxSetup {
  const FxInfo* fx;          ///< The effect; lives as long as the process
  double rate_hz;            ///< Frames per second
  uint32_t max_block_frames; ///< Largest n_frames of `run`, and its usual value
  uint32_t n_in;             ///< Input channels connected, at least 1; 0 for a source
  const double* values;      ///< [n_params] numbers in the table's units, checked against the table
  const bool* given;         ///< [n_params] the rack states the value; else it is the initial one
  const char* const* texts;  ///< [n_params] TEXT, PATH and FILE values as written; NULL for others
  const char* const* paths;  ///< [n_params] paths of PATH values in `create`; NULL where not given
  const FxFile* const* files; ///< [n_params] FILE contents, NULL where not given; in `create`
                              ///< audio may be a header without samples
  bool offline;               ///< Rendering a file: effects that need the complete signal may run
  bool for_kernel;            ///< The node runs as FxKernel: `unit_init` and `run` are not called
  // for plugins only; built-in effects in quarantine: fx_dry()
  uint32_t uid;          ///< Of the rack's node, for the flight recorder (recorder.h)
  bool is_quarantined;   ///< Do not execute code of the plugin: play the input, ...
  uint32_t dry_frames;   ///< ... delayed by this latency
  uint32_t n_out;        ///< Of FxInfo::is_missing: outputs that connections need, at least 1
  const FxFiles* access; ///< For files that are named in a file of `paths`; lives longer than the
                         ///< node
} FxSetup;

/// Properties of the node, which `create` fills in.
typedef struct FxShape {
  uint32_t unit_in;        ///< Input channels of one unit: 1, or FxSetup::n_in if the channels are
                           ///< coupled, or a part of n_in; create() finds 1.  0 for a source
  uint32_t unit_out;       ///< Output channels of one unit; create() finds 1
  uint32_t latency_frames; ///< From input to its output, when the node begins; see FxInfo::latency
  uint32_t max_latency_frames; ///< Of those that FxInfo::latency may return, the longest for which
                               ///< the engine keeps the input; create() finds 0: latency_frames
  uint64_t tail_frames; ///< Frames that may still sound after the input ends; UINT64_MAX: no bound
  size_t unit_bytes;    ///< Memory of one unit; the engine aligns it to 64 bytes
  size_t data_bytes; ///< Memory of the node that `load` allocates: `create` sets the largest amount
                     ///< during loading, `load` the amount that remains; `save` and
                     ///< `end_save` adjust it
} FxShape;

/// The inputs of a unit, delayed by the latency of its node: see input_line.h.
typedef struct FxDry {
  const float* lines; ///< [unit_in][n_frames] rings; NULL: the node has no latency
  uint32_t n_frames;  ///< Of a ring
  uint32_t start;     ///< Place of the first frame of the run
} FxDry;

/// One unit in a `run`: its node, its memory, its channels.
typedef struct FxUnit {
  const void* node;         ///< Node that `create` returned
  void* state;              ///< unit_bytes of memory, 64-byte aligned
  const float* const* in;   ///< [unit_in] pointers to n_frames samples
  float* const* out;        ///< [unit_out] pointers to n_frames samples; never overlaps `in`
  const float* const* side; ///< The channels of all side inputs, in their order, as `in`.  Those of
                            ///< a side input without connections are NULL.  NULL: none has any
  FxDry dry;
} FxUnit;

#define FX_KERNEL_SIZES  4U
#define FX_KERNEL_PASSES 5U

/// A number that a kernel is compiled for.
typedef struct FxKernelSize {
  const char* name; ///< NAME of the compiler option "-DNAME=value"
  uint32_t value;
} FxKernelSize;

/// One launch for a batch of units.
typedef struct FxKernelPass {
  const char* entry;        ///< Kernel in the file
  uint32_t group_size;      ///< Threads, a multiple of 32, at most 256: GROUP_SIZE
  uint32_t units_per_group; ///< 1, or the number of units that one group processes
  uint32_t groups_per_unit; ///< 1, or the number of groups that share a unit, as GROUP_Y
} FxKernelPass;

/// Description of a node for a device.  Nodes with equal sizes and passes run in one launch.  A
/// word has 32 bits.
typedef struct FxKernelShape {
  const char* file;                    ///< Overrides FxKernel::file; NULL: FxKernel::file
  FxKernelSize sizes[FX_KERNEL_SIZES]; ///< Entries with a name are used
  FxKernelPass passes[FX_KERNEL_PASSES];
  uint32_t n_passes;
  uint32_t n_parts;     ///< Steps in series of a unit that a kernel with chains runs side by side,
                        ///< at most 16 (layout.h: part); 0: the kernel reads no parts
  uint32_t most_parts;  ///< Of a chain; 0: no limit
  uint32_t param_words; ///< Per node: numbers that `set` changes
  uint64_t data_words;  ///< Per node: constants
  uint64_t state_words; ///< Per unit, initially all 0.  A kernel initialises a unit whose word 0 is
                        ///< 0 and then changes that word; setting it to 0 resets the unit
} FxKernelShape;

/// How an effect runs on a GPU: the kernels in dsp_gpu/kernels/fx_*.cu (see dsp_gpu/README.md)
/// process units as `run` does.  The node stays in host memory; the host sets its parameters and
/// packs them for the kernel.
typedef struct FxKernel {
  const char* file; ///< E.g. "fx_gain.cu"
  bool chains;      ///< One launch can run units in series, of one channel each (layout.h: chain)
  /// Describe a node that was created for a kernel. [builder]
  void (*shape)(const void* node, FxKernelShape* shape);
  /// Write the data words of a node.  May free memory of the node that only this call needs.  NULL:
  /// there are no data words. [builder]
  void (*data)(void* node, uint32_t* words);
  /// Write the parameter words of a node from its current targets. [builder, rt]
  void (*pack)(const void* node, uint32_t* words);
} FxKernel;

/**
   How a unit of one channel computes its output while it rests, which means that no parameter
   moves: through the sections of a filter, or, if it has none, by a factor.  The CPU backend runs
   neighbouring nodes of such effects in one pass (dsp_cpu/stage_chain.h).
*/
typedef struct FxLinear {
  /// Number of sections, fixed for the life of the node; NULL: there are none. [builder]
  uint32_t (*n_sections)(const void* node);
  /// The sections, with their states (dsp_cpu/filter_job.h), at an address that never changes.
  /// [builder]
  struct CascadeRow* (*sections)(void* state);
  /// Without sections: out = factor * in, rounded to float. [rt]
  float (*factor)(const void* state);
  /// True if the unit rests until the next call of FxInfo::set. [rt]
  bool (*rests)(const void* node, const void* state);
} FxLinear;

#define FX_SIDE_BYTES 64U // of the name of a side input, with the final zero

/// A side input.
typedef struct FxSide {
  const char* name;    ///< Letters, digits, _ and -: in racks after the node's name and a point
  uint32_t n_channels; ///< Of one unit; 0: FxShape::unit_in
} FxSide;

/// The plugin that an effect hosts.
typedef struct FxOrigin {
  const char* format; ///< "clap", "ladspa" or "lv2": the word in racks
  const char* id;     ///< Unique in its format; the text after that word
} FxOrigin;

struct FxInfo {
  const char* name;      ///< The word in racks, lower case; of a plugin: a name for its nodes
  const char* summary;   ///< One line for lists
  const FxParam* params; ///< [n_params]
  uint32_t n_params;
  const char* tolerance_reason; ///< Why outputs differ across backends and splits
  double tolerance;             ///< Largest absolute difference for a full-scale input
  bool offline_only;            ///< Refused in live racks, with a reason
  bool cut_at_events;  ///< With `set_at`: the engine splits runs all the same, at most FX_MAX_CUTS
                       ///< times per block, and the frame is 0
  bool is_source;      ///< The effect has no main inputs
  const FxSide* sides; ///< [n_sides] all names differ
  uint32_t n_sides;
  const FxOrigin* origin; ///< NULL: built in
  bool is_missing;        ///< It stands for a plugin that is not there: see fx_missing_plugin()
  atomic_bool* outdated;  ///< See fx_is_outdated(); NULL: never

  /// Create a node.  Does not allocate large memory: it reports the amount in FxShape::data_bytes,
  /// and `load` allocates it.  On failure, sets `error` and does not change `*node`. [builder]
  Status (*create)(const FxSetup* setup, FxShape* shape, void** node, Error* error);
  /// The value of a parameter that the rack does not state, after `create`: a preset may have
  /// another one than the table.  NULL: FxParam::initial. [builder]
  double (*initial)(const void* node, uint32_t param);
  /// Make the large data from the samples of the files; called before all functions below; may be
  /// NULL.  `shape` is the result of `create`; this call may reduce its tail and sizes.
  /// [builder]
  Status (*load)(void* node, const FxSetup* setup, FxShape* shape, Error* error);
  /// Free a node. [builder]
  void (*destroy)(void* node);
  /// Set a unit to its initial, silent state, with the node's current targets; `index` counts the
  /// units from 0.  Also used to reset a unit after a NaN, unless there is `renew`. [builder, rt]
  void (*unit_init)(const void* node, void* state, uint32_t index);
  /// Prepare all units for `unit_init`, which follows, by calls that allocate or take long: both
  /// return the node to its initial, silent state.  After a NaN the player does not touch the node
  /// until the builder has called this.  After an error the node does not run, and the call is
  /// repeated later.  NULL: `unit_init` suffices. [builder, while no player runs the node]
  Status (*renew)(void* node, Error* error);
  /// Set a new target, in range, for a parameter that is not structural and not FxParam::of_engine.
  /// The ramps that begin in the next `run` have ramp_frames, at least 1: calls before one run have
  /// the same. [rt]
  void (*set)(void* node, uint32_t param, double value, uint32_t ramp_frames);
  /// As `set`, at a frame of the next `run`, before which all calls come in order of their frames.
  /// NULL: the engine splits the run at that frame and calls `set`. [rt]
  void (*set_at)(void* node, uint32_t param, double value, uint32_t ramp_frames, uint32_t frame);
  /// An event at a frame of the next `run`, before which all calls come in order of their frames,
  /// at most FX_MAX_EVENTS.  A key has one note at a time: it ends before the next one begins.
  /// NULL: the effect takes no notes. [rt]
  void (*event)(void* node, const FxEvent* event, uint32_t frame);
  /// Process n_frames of every unit. [rt]
  void (*run)(const FxUnit* units, uint32_t n_units, uint32_t n_frames);
  /// Tail at the current targets, if a parameter changes it (decay, feedback).  NULL:
  /// FxShape::tail_frames. [any]
  uint64_t (*tail)(const void* node);
  /// The present latency, if it may change of itself while the node runs: the builder then plans
  /// the rack with the new number.  NULL: FxShape::latency_frames for the node's life. [any, rt]
  uint32_t (*latency)(const void* node);
  /// True if the node asks to be replaced by a new one with the same values: the builder makes that
  /// beside it, and they cross-fade.  NULL: never. [builder]
  bool (*wants_restart)(const void* node);
  /// True if the process in which the node's plugin runs is lost, and may start again: the builder
  /// then replaces the node as for `wants_restart`.  NULL: never. [builder]
  bool (*is_lost)(const void* node);
  /// How far a unit reduces its gain at the end of its last run, in dB, at least 0.  NULL: the
  /// effect has no dynamic gain. [rt]
  float (*reduction_db)(const void* state);
  /// Offline only; may be NULL.  Called after a complete pass over the file, with `*again` false.
  /// Setting `*again` to true requests another pass from the start, with newly initialised units;
  /// the nodes after this node do not run before the pass after which `*again` stays false.  A
  /// failure ends the rendering. [main]
  Status (*finish_pass)(void* node, void* state, bool* again, Error* error);
  /// Save what the node has beside the values of its parameters, as the content of a file for the
  /// parameter `state_param`, or as a package with that and the files that it names (package.h).  A
  /// node that is made with that file, and gets the same values, goes on like this one does.  At
  /// most FX_STATE_MAX_BYTES; the caller frees them.  STATUS_LIMIT, STATUS_FILE, STATUS_NO_MEM.
  /// Renewals restore the same state as before until `end_save`.  If the node keeps a copy, this
  /// adds its size to FxShape::data_bytes.  NULL: there is nothing more. [builder, also while the
  /// player runs the node]
  Status (*save)(void* node, FxShape* shape, unsigned char** bytes, size_t* n_bytes, Error* error);
  /// The file of the last `save` is written, and the rack names it (`is_named`): from now on
  /// renewals restore that state.  Or it will not be written: forget the copy.  Adjusts
  /// FxShape::data_bytes.  NULL: `save` keeps no copy. [as `save`]
  void (*end_save)(void* node, FxShape* shape, bool is_named);
  uint32_t state_param;   ///< With `save`: a PARAM_PATH
  const FxLinear* linear; ///< NULL: the effect has neither sections nor a factor
  const FxKernel* kernel; ///< NULL: runs on the CPU only
};

/// True if the description of the plugin has changed since this effect was made of it: the worker
/// has another effect, whose parameters have other numbers. [any]
static inline bool
fx_is_outdated(const FxInfo* const fx)
{
  return fx->outdated && atomic_load(fx->outdated);
}

/// All effects in alphabetical order, from the build's list. [any]
const FxInfo* const* fx_table(uint32_t* n_effects);

/// The effect of that name, or NULL. [any]
const FxInfo* fx_find(const char* name);

/// A built-in effect whose nodes play their input, delayed by their latency: after a crash.  Its
/// `create` gets the effect itself in FxSetup::fx.  Implemented by dsp_cpu/. [builder]
FxInfo fx_dry(const FxInfo* fx);

/// The effect that hosts a plugin.  `reference`: its id, or a short name that one plugin of the
/// format alone has.  Implemented by plugins/.  STATUS_NOT_FOUND with the nearest names,
/// STATUS_NO_BACKEND if the build has not that format or the plugin cannot be used, STATUS_FILE if
/// the catalogue is broken, STATUS_NO_MEM. [any but rt]
NODISCARD Status fx_find_plugin(const char* format, const char* reference, const FxInfo** fx,
                                Error* error);

#define FX_MISSING_SIDES 64U // most side inputs of an effect for a missing plugin

/**
   The effect that stands for a plugin that is not there, with a node that plays its input.  Its
   origin is what the rack states, and its only parameter is the text of the values, so that nothing
   of the rack is lost.  Equal arguments give the same effect.  Implemented by plugins/.

   @param sides Names of the side inputs that connections name, [n_sides] at most FX_MISSING_SIDES;
   nothing hears them.
   @return STATUS_LIMIT, STATUS_NO_MEM. [any but rt]
*/
NODISCARD Status fx_missing_plugin(const char* format, const char* reference,
                                   const char* const* sides, uint32_t n_sides, const FxInfo** fx,
                                   Error* error);

/// The format of the plugins that has one with this id or short name; NULL: none.  For hints: knows
/// the plugins of the last scan.  Implemented by plugins/. [any but rt]
const char* fx_plugin_format(const char* reference);

/// Let the plugins of the process do what they do outside of audio: timers, callbacks.  To be
/// called about 20 times a second.  Implemented by plugins/. [builder]
void fx_idle(void);

/// The loss of a process of a group, in the code of a node: it has ended, or hangs.
typedef struct FxLoss {
  uint32_t uid;   ///< Of the node, FxSetup::uid; 0: not known
  uint32_t phase; ///< RecorderPhase
  bool is_hang;   ///< The code has not returned
  bool is_guess;  ///< The code of other nodes may have caused it
  char text[256]; ///< For users: what has happened, and when the process starts again
} FxLoss;

/// Take the oldest loss of a process that fx_idle() has found.  Returns false if there is none.
/// Implemented by plugins/. [builder]
bool fx_take_loss(FxLoss* loss);

/// The number of blocks that units of groups have played as their input, since the last call,
/// because the answer of their process was not there.  Implemented by plugins/. [builder]
uint64_t fx_take_missed(void);

/// Let the processes that nodes start from now on lock their memory, and run blocks below
/// SCHED_FIFO at `priority`, that of the player; 0: with normal priority.  Implemented by plugins/.
/// [main]
void fx_set_realtime(bool locks_memory, int priority);

/// Refuse to make the instances of plugins after this time (time_now_ns()), with STATUS_LIMIT:
/// together they must not take as long as a worker that hangs.  Calls that free instances of a
/// group then wait for half a second only.  0: no limit.  Implemented by plugins/. [builder]
void fx_set_deadline(uint64_t until_ns);

/// The threads whose calls of `run` wait for the processes of groups, because no deadline applies.
typedef enum FxWait {
  FX_WAIT_THREAD, ///< The calling thread, which runs nodes in order to measure them
  FX_WAIT_PLAYER  ///< All threads that run blocks: the callback waits for these
} FxWait;

/// Implemented by plugins/. [rt, builder]
REALTIME void fx_wait(FxWait wait, bool waits);

#define FX_STATE_NAME_BYTES 96U

/// The name of a file with this content: the effect's name, a hash of the content, and a suffix of
/// at most 8 characters, so that a rack or state that has the name has the content. [any]
void fx_file_name(const FxInfo* fx, const char* suffix, const void* bytes, size_t n_bytes,
                  char name[FX_STATE_NAME_BYTES]);

/// The name of a file with a state: of a package (package.h), its first file. [any]
void
fx_state_name(const FxInfo* fx, const void* bytes, size_t n_bytes, char name[FX_STATE_NAME_BYTES]);

/// The samples of a file as impulse responses, one per channel.  A text file with one number per
/// line is one response, not one channel per line. [any]
FxFile fx_file_responses(const FxFile* file);

/// Call FxInfo::create, then FxInfo::load. [builder]
NODISCARD Status fx_make(const FxInfo* fx, const FxSetup* setup, FxShape* shape, void** node,
                         Error* error);

/// A hash of the id of a parameter; never 0, which stands for an unknown id. [any]
static inline uint32_t
fx_param_hash(const FxParam* const param)
{
  const uint32_t hash = hash_text(HASH32_START, param->id);
  return hash ? hash : 1U;
}

/// True if the effect has a parameter of this number, and its id has this hash; 0: any id. [any]
static inline bool
fx_has_param(const FxInfo* const fx, const uint32_t param, const uint32_t hash)
{
  return param < fx->n_params && (!hash || hash == fx_param_hash(&fx->params[param]));
}

/// The number of parameters that the effect itself executes: those before the engine's.
/// [any]
static inline uint32_t
fx_own_params(const FxInfo* const fx)
{
  uint32_t n = fx->n_params;
  while (n && fx->params[n - 1U].of_engine) {
    --n;
  }
  return n;
}

/// True if a parameter fades: a number that is neither structural nor of the engine. [any]
static inline bool
fx_param_fades(const FxParam* const param)
{
  return param->kind == PARAM_NUMBER && !param->structural && !param->of_engine;
}

/// True if a parameter has a text, not a number. [any]
static inline bool
fx_param_is_text(const FxParam* const param)
{
  return param->kind == PARAM_FILE || param->kind == PARAM_PATH || param->kind == PARAM_TEXT;
}

/// True if a parameter has the name of a file. [any]
static inline bool
fx_param_is_file(const FxParam* const param)
{
  return param->kind == PARAM_FILE || param->kind == PARAM_PATH;
}

/// Channels of a side input of one unit. [any]
REALTIME uint32_t fx_side_channels(const FxInfo* fx, const FxShape* shape, uint32_t side);

/// Index of a parameter, or -1. [any]
int fx_param_find(const FxInfo* fx, const char* id);

/// Index of the first parameter of kind PARAM_FILE, or -1. [any]
int fx_file_param(const FxInfo* fx);

/// The number of a choice. [any]
REALTIME double fx_choice_number(const FxParam* param, uint32_t choice);

/// Index of the choice with this number, as a float like the numbers of plugins and of OSC; -1:
/// none has it. [any]
REALTIME int fx_choice_find(const FxParam* param, double number);

/// The range of a parameter's number, also for switches and choices; false for texts. [any]
REALTIME bool fx_param_range(const FxParam* param, double* min, double* max);

/// True when `number` is finite, in the parameter's range, and whole or the number of a choice if
/// the kind requires it.  False for texts. [any]
REALTIME bool fx_param_accepts(const FxParam* param, double number);

/**
   The number of a parameter at a position of a controller; fx_param_accepts() accepts it.

   Numbers follow the taper.  The n choices, the two states of a switch, and the n whole numbers of
   an integer with a linear taper have 1/n of the way each; other integers are rounded.

   @param norm The position, from 0 to 1; one outside of that is clipped, and NaN is 0.
   @return Never decreases with `norm`; for choices, their index does not.  0: min, 1: max.  0.0 for
   texts. [any]
*/
double fx_param_from_norm(const FxParam* param, double norm);

/// The position of a number, which is clipped to the range: from 0 to 1.  fx_param_from_norm()
/// returns that number for it, except for rounding.  The k-th of n steps, counted from 0, is at
/// k / (n - 1).  0.0 for texts. [any]
double fx_param_to_norm(const FxParam* param, double number);

// Words for users.

extern const char* const fx_unit_words[];  ///< By FxMeasure: "Hz"; "" for none
extern const char* const fx_kind_words[];  ///< By FxParamKind: "number"
extern const char* const fx_taper_words[]; ///< By FxTaper: "log"; NULL-terminated

#endif
