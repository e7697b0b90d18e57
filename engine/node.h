// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What outlives a plan: the nodes and connections that are heard.  A plan holds references to them;
   the next plan takes over those that are still in the rack, with their state.

   References are counted by the builder thread alone.  Fields marked [worker] belong to the worker
   from the moment a plan that names them is heard.
*/
#ifndef WARPRACK_ENGINE_NODE_H
#define WARPRACK_ENGINE_NODE_H

#include "backend.h"
#include "effect.h"
#include "rack.h"
#include "status.h"

/// The format that everything in an engine is made for.
typedef struct Format {
  double rate_hz;
  uint32_t block_frames;
  uint32_t n_in, n_out; ///< n_out 0: as the rack makes it
  bool offline;
} Format;

typedef struct Node {
  uint32_t refs;
  RackUid uid;
  const FxInfo* fx;
  void* fx_node;
  FxShape shape; ///< Its tail and sizes are the most that can be, until it is loaded
  bool is_loaded;
  uint32_t n_in;
  uint32_t n_units;
  const Backend* backend;
  DeviceMemory* device; ///< The units, where the backend has memory of its own; else NULL
  uint8_t* states;      ///< [n_units][state_stride] else
  size_t state_stride;
  double*
      made_with; ///< [n_params] values at creation; structural ones decide whether it can be kept
  char** made_texts;         ///< [n_params] FILE and TEXT at creation, NULL where none
  double* targets;           ///< [worker] [n_params] last value set
  uint32_t plan_index;       ///< Scratch of the planner: its place in the plan that is being made
  _Atomic uint32_t block_ns; ///< [worker] Measured time of one block on one core, 0: not known yet
  NodeHealth health;
  uint64_t* stamps; ///< [worker] [n_params] number of the message that set it, 0: a document did
  uint32_t n_sets;  ///< [worker] Calls of node_set()
} Node;

/// A connection between nodes (NULL: the rack's input or output) with resolved channels.
typedef struct Link {
  uint32_t refs;
  const Node* from;
  const Node* to;
  uint32_t from_first, n_from; ///< First source channel (from 0) and their number: 1 feeds all
  uint32_t to_first, n_to;
  uint32_t plan_index;    ///< Scratch of the planner, as Node's
  float gain;             ///< Where it goes by the plan that is heard, linear; 0: on its way out
  MixLink mix;            ///< [worker]
  const Backend* backend; ///< What mixes it, and has its delay lines
  bool is_loaded;
} Link;

/// Files that one planning run has opened, each once.
typedef struct FileCache FileCache;

typedef struct FileLoader {
  Status (*load)(void* context, const char* name, double rate_hz, FxFile** file, Error* error);
  Status (*read)(void* context, FxFile* file, Error* error); ///< Where load() leaves samples out
  void (*free)(void* context, FxFile* file);
  void* context;
  FileCache* cache; ///< NULL at first; emptied by file_cache_clear()
} FileLoader;

void file_cache_clear(FileLoader* loader);

/// Memory that the files of the cache take once their samples are read.
size_t file_cache_bytes(const FileLoader* loader);

/// Make a node for `n_in` channels, with one reference, but for what node_load() makes.  Errors
/// name the node. [builder]
NODISCARD Status node_new(const RackNode* rack_node, uint32_t n_in, const Format* format,
                          const Backend* backend, FileLoader* loader, Node** out, Error* error);

/// Read its files, and make its units and all that is large, if that has not been done. [builder]
NODISCARD Status node_load(Node* node, const RackNode* rack_node, const Format* format,
                           FileLoader* loader, Error* error);

/// Memory of the node, its units included: until it is loaded, the most that it will take while it
/// is.  What a device holds is taken as if it were here. [builder]
size_t node_memory(const Node* node);

/// True when the node can play what the rack node asks for: same effect, width and structural
/// values, on the backend where it is. [builder]
bool node_can_be(const Node* node, const RackNode* rack_node, uint32_t n_in, double rate_hz,
                 const Backend* backend);

/// FxInfo::set. [worker, or while no worker runs]
REALTIME void node_set(Node* node, uint32_t param, double value);

/// Drop a reference.  Accepts NULL. [builder]
void node_unref(Node* node);

/// Bring all units to their start. [builder]
void node_reset(Node* node);

/// Frames that the node may still sound. [builder]
uint64_t node_tail(const Node* node);

/// Make a connection at rest at `gain`, with a delay of `delay` frames, mixed by `like->backend`;
/// its delay lines come by link_load(). [builder]
NODISCARD Status link_new(const Link* like, float gain, uint32_t delay, uint32_t block_frames,
                          Link** out, Error* error);

/// Make the delay lines, if that has not been done. [builder]
NODISCARD Status link_load(Link* link, Error* error);

/// Memory of the connection, delay lines included, whether they are there or not. [builder]
size_t link_memory(const Link* link);

void link_unref(Link* link);

/// Forget what is in the delay lines.
void link_reset(Link* link);

#endif
