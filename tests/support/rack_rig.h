// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Plays a rack block by block on a backend, for comparisons of backends: with the real plans and
   the real player, but without threads, block ring or clock.
*/
#ifndef WARPRACK_TESTS_RACK_RIG_H
#define WARPRACK_TESTS_RACK_RIG_H

#include "fx_rig.h"

#include "engine/ring/ring.h"
#include "engine/worker/player.h"

/// A file that the rack may use.
typedef struct RackRigFile {
  const char* name;
  const FxFile* file; ///< Used at any rate, without resampling
} RackRigFile;

typedef struct RackRig {
  const Backend* backend; ///< Runs the nodes that name no backend
  const Backend* gpu;     ///< Runs the nodes with backend=gpu; may be NULL
  Pool* pool;             ///< Of the plans, borrowed; NULL: one core
  bool no_fusion;         ///< As PlanRequest
  Player player;
  Ring* messages;
  FileLoader loader;
  Format format;
  Rack* rack;               ///< The active rack
  const RackRigFile* files; ///< [n_files]
  uint32_t n_files;
  uint64_t frame;       ///< First frame of the next block
  uint32_t plan_frames; ///< Frames that are played while a plan is made
} RackRig;

#define RACK_RIG_RATE 48000.0 // of rack_rig_mono()

/// Plan a rack (a chain or a document) with one input on the CPU; fails the test on error.
void rack_rig_mono(RackRig* rig, const char* text, uint32_t block_frames);

/// Plan a rack (a chain or a document) on a backend; fails the test on error.
void rack_rig_new(RackRig* rig, const Backend* backend, const Backend* gpu, const char* text,
                  const Format* format, const RackRigFile* files, uint32_t n_files);
/// Make a rig without a rack; call rack_rig_try() or rack_rig_plan() next.
void rack_rig_begin(RackRig* rig, const Backend* backend, const Backend* gpu, const Format* format,
                    const RackRigFile* files, uint32_t n_files);
void rack_rig_free(RackRig* rig);

/// The effect of the node `name` in the rack `text`; NULL if there is no such node.
const FxInfo* rack_rig_effect(const char* text, const char* name);

/// Fill `cases` with the special ones, and a plain one for each effect with a kernel that is node x
/// in none of these; at most `most`.  A case is a struct of case_bytes, which begins with the text
/// of its rack.  Returns their number.
size_t rack_rig_cases(const void* special, size_t n_special, size_t case_bytes,
                      void (*make_plain)(const FxInfo* fx, void* plain), void* cases, size_t most);

/// Number of outputs of the active rack.
uint32_t rack_rig_n_out(const RackRig* rig);

/// Change to another rack at the next block.  Nodes with the same name, effect and structural
/// values keep their state.  An error fails the test.
void rack_rig_edit(RackRig* rig, const char* text);

/// rack_rig_edit() that returns an error: then the current rack plays on.
Status rack_rig_try(RackRig* rig, const char* text, Error* error);

/// Change to a rack that the test has made, or plan the active one again after the test has changed
/// it.  Takes ownership, also on error.  All messages that the player has received are older.
Status rack_rig_plan(RackRig* rig, Rack* rack, Error* error);

/// After the device `lost` has failed: plan the active rack again, with all nodes on the CPU.
void rack_rig_leave(RackRig* rig, const Backend* lost);

/// Set a parameter of a node at a frame (0: at the next block).
void rack_rig_set(RackRig* rig, const char* node, const char* param, double value, uint64_t frame);

/// Fade a parameter of a node, from a frame on (0: from the next block on).
void rack_rig_fade(RackRig* rig, const char* node, const char* param, double value, uint64_t frame,
                   uint32_t fade_frames, FxCurve curve);

/// Send a message to the player.
void rack_rig_send(RackRig* rig, const ParamMessage* message);

/// Process planar in[n_in][n_frames] to out[n_out][n_frames].  Returns false if a device failed.
bool rack_rig_run(RackRig* rig, const float* const* in, float* const* out, size_t n_frames,
                  RigSplit split, uint64_t seed);

#endif
