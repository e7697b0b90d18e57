// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Plays a rack block by block on a backend: planner and player as they are, but no threads, ring of
   blocks or clock.  For comparisons of backends.
*/
#ifndef WARPRACK_TESTS_RACK_RIG_H
#define WARPRACK_TESTS_RACK_RIG_H

#include "fx_rig.h"

#include "engine/ring/ring.h"
#include "engine/worker/player.h"

/// A file that a rack can name.
typedef struct RackRigFile {
  const char* name;
  const FxFile* file; ///< Not resampled
} RackRigFile;

typedef struct RackRig {
  const Backend* backend; ///< Of the nodes that leave the choice
  const Backend* gpu;     ///< Of those that say backend=gpu, or NULL
  Player player;
  Ring* messages;
  FileLoader loader;
  Format format;
  Rack* rack;               ///< Heard
  const RackRigFile* files; ///< [n_files]
  uint32_t n_files;
  uint64_t frame; ///< Of the next block
} RackRig;

/// Plan a rack (a chain or a document) on a backend; fails the test on error.
void rack_rig_new(RackRig* rig, const Backend* backend, const Backend* gpu, const char* text,
                  const Format* format, const RackRigFile* files, uint32_t n_files);
/// The same without a rack, for rack_rig_try().
void rack_rig_begin(RackRig* rig, const Backend* backend, const Backend* gpu, const Format* format,
                    const RackRigFile* files, uint32_t n_files);
void rack_rig_free(RackRig* rig);

/// The effect of the node `name` of a chain; NULL when there is no such node.
const FxInfo* rack_rig_effect(const char* text, const char* name);

/// Channels that come out.
uint32_t rack_rig_n_out(const RackRig* rig);

/// Change to another rack at the next block; its nodes go on where names, effects and structure
/// stay.
void rack_rig_edit(RackRig* rig, const char* text);

/// The same, which may be refused: then everything goes on as it is.
Status rack_rig_try(RackRig* rig, const char* text, Error* error);

/// A device has failed: plan what is heard anew, all of it on the CPU.
void rack_rig_leave(RackRig* rig, const Backend* lost);

/// Set a parameter of a node at a frame (0: at the next block).
void rack_rig_set(RackRig* rig, const char* node, const char* param, double value, uint64_t frame);

/// Process planar in[n_in][n_frames] to out[n_out][n_frames].  False when a device failed.
bool rack_rig_run(RackRig* rig, const float* const* in, float* const* out, size_t n_frames,
                  RigSplit split, uint64_t seed);

#endif
