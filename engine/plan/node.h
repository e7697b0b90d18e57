// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Nodes and links (connections), which outlive a plan.  A plan holds references to them.  The next
   plan takes over those that are still in the rack, with their state.

   Only the builder thread counts references.  Fields marked [player] belong to the player as soon
   as a plan with the node or link is active.
*/
#ifndef WARPRACK_ENGINE_PLAN_NODE_H
#define WARPRACK_ENGINE_PLAN_NODE_H

#include "engine/base/backoff.h"
#include "engine/base/status.h"
#include "engine/contract/backend.h"
#include "engine/contract/effect.h"
#include "engine/contract/format.h"
#include "engine/rack/rack.h"

/// The notes that sound in a node of an effect with FxInfo::event: at most one per key.
typedef struct NodeNotes {
  uint64_t numbers[FX_KEYS]; ///< Number of the message that began the note; 0: none sounds
  uint32_t n;
} NodeNotes;

typedef struct Node {
  uint32_t refs;
  uint64_t came; ///< First frame of its first active plan; 0: it did not fade in [builder]
  RackUid uid;
  const FxInfo* rack_fx; ///< The effect in the rack
  const FxInfo* fx;      ///< What runs: `rack_fx`, or of a built-in effect in quarantine `dry`
  FxInfo dry;            ///< Plays the input
  void* fx_node;
  FxShape shape;  ///< Until node_load(), its tail and sizes are upper bounds
  bool is_loaded; ///< node_load() has succeeded
  uint32_t n_in, n_out;
  uint32_t n_side; ///< Channels of all side inputs: for each input, those of unit 0, of unit 1 ...
  uint32_t n_units;
  bool is_quarantined; ///< As RackNode
  uint32_t dry_frames;
  bool is_apart;   ///< As RackNode, in the plan that is being made
  bool is_left;    ///< The next plan has another node in its place
  Backoff restart; ///< Rest between nodes of this uid that ask to be replaced
  const Backend* backend;
  DeviceMemory* device; ///< The units, if the backend has its own memory; else NULL
  uint8_t* states;      ///< [n_units][state_stride] the units, if `device` is NULL
  size_t state_stride;
  double* made_with; ///< [n_params] values at creation; node_can_be() compares the structural ones
  bool* given;       ///< [n_params] the rack stated the value at creation
  char** made_texts; ///< [n_params] texts at creation; NULL for numbers
  char* saved_as;    ///< The name of the file of the last node_save(); NULL: none, it was renewed
                     ///< since, or it counts as made with that file
  double* targets;   ///< [player] [n_params] last value set; of a fade: its end
  uint32_t plan_index;       ///< Used by the planner: index in the plan that is being made
  _Atomic uint32_t block_ns; ///< [player] Measured time of one block on one core, ns; 0: not known
                             ///< yet
  NodeTimes times;           ///< [player] Of its last measured blocks on the CPU
  NodeHealth health;
  InputLine input_line; ///< No samples on a device
  NodeSwitches switches;
  uint64_t* stamps; ///< [player] [n_params] number of the message that set the value; 0: a document
                    ///< set it
  uint32_t* fades;  ///< [player] [n_params] place of the fade of each parameter in the player's
                    ///< table, from 1; 0: it has none
  uint32_t n_sets;  ///< [player] Calls of node_set()
  double rate_hz;
  uint32_t change_frames; ///< [player] Of a change that states no time: the parameter `ramp`
  uint32_t ramp_frames;   ///< [player] Of a ramp that the effect makes: the same, but at most
                          ///< FX_RAMP_SECONDS; longer changes of numbers are fades
  NodeNotes* notes;       ///< [player] NULL: the effect takes no notes
} Node;

/// A connection between nodes (NULL: the rack's input or output) with resolved channels.
typedef struct Link {
  uint32_t refs;
  const Node* from;
  const Node* to;
  uint32_t from_first, n_from; ///< First source channel (from 0) and number of channels; one
                               ///< channel feeds all destinations
  uint32_t to_first, n_to;     ///< Those of side inputs follow the node's n_in channels
  uint32_t plan_index;         ///< Used by the planner, as in Node
  float gain;                  ///< Target gain in the active plan, linear; 0: the link fades out
  MixLink mix;                 ///< [player]
  const Backend* backend;      ///< Backend that mixes the link and holds its delay lines
  bool is_loaded;              ///< link_load() has succeeded
} Link;

/// The files that were opened while a plan was made, without duplicates.
typedef struct FileCache FileCache;

typedef struct FileLoader {
  FxFiles files;
  FileCache* cache; ///< NULL at first; emptied by file_cache_clear()
} FileLoader;

void file_cache_clear(FileLoader* loader);

/// Memory of the cached files once all samples are read, in bytes.
size_t file_cache_bytes(const FileLoader* loader);

/// Channels of a node that its connections decide.
typedef struct NodeWidths {
  uint32_t n_in;
  uint32_t n_out; ///< If the plugin of the node is missing; else 0: the effect decides
} NodeWidths;

/// Make a node with one reference and without its large memory, which node_load() allocates.  Error
/// texts name the node. [builder]
NODISCARD Status node_new(const RackNode* rack_node, NodeWidths widths, const Format* format,
                          const Backend* backend, FileLoader* loader, Node** out, Error* error);

/// Channels of a side input of all units of a node. [builder]
uint32_t node_side_channels(const Node* node, uint32_t side);

/// Read the node's files, and allocate its units and other large memory.  Does nothing if the node
/// is loaded. [builder]
NODISCARD Status node_load(Node* node, const RackNode* rack_node, const Format* format,
                           FileLoader* loader, Error* error);

/// If the node is on a device and `is_on` or one of its switches is on, let plans have a mix for
/// its switches from now on.  node_load() makes its delay lines. [builder]
void node_place_switches(Node* node, bool is_on, uint32_t block_frames);

/// Memory of the node and its units, in bytes.  Before node_load(), an upper bound for the memory
/// during and after loading.  Memory on a device counts like host memory. [builder]
size_t node_memory(const Node* node);

/// Save the state of the node (FxInfo::save), under the name of its file.  The caller frees the
/// bytes.  Until node_keep_saved() a renewal restores the state before, and then the file is a
/// change.  The error of FxInfo::save; STATUS_NOT_FOUND if the effect has none. [builder]
NODISCARD Status node_save(Node* node, unsigned char** bytes, size_t* n_bytes, Error* error);

/// After the node has continued as `rack_node`: if that has the file of the last node_save(), the
/// node counts as made with it, and renewals restore that state; else that file is a change from
/// now on. [builder]
void node_keep_saved(Node* node, const RackNode* rack_node);

/// True if the node can continue as `rack_node`: its effect, widths, structural values and backend
/// are the same.  The file of its last node_save() is the same state. [builder]
bool node_can_be(const Node* node, const RackNode* rack_node, NodeWidths widths, double rate_hz,
                 const Backend* backend);

/// True if its effect asks to be replaced, see FxInfo::wants_restart. [builder]
bool node_wants_restart(const Node* node);

/// True if its process is lost and may start again, see FxInfo::is_lost. [builder]
bool node_is_lost(const Node* node);

/// Set a parameter of the engine; or call FxInfo::set, with Node::ramp_frames, and count the call.
/// While the builder renews the node, only count it: the player sets all Node::targets when the
/// node runs again. [player, or while no player runs]
REALTIME void node_set(Node* node, uint32_t param, double value);

/// End all notes between two blocks, as at the first frame of the next one. [player, or while no
/// player runs]
REALTIME void node_end_notes(Node* node);

/// The number of a parameter in a rack: the one that it states, else the node's own.  `node` must
/// have the structural values of `rack_node`, unless the parameter is structural. [builder]
double node_number(const Node* node, const RackNode* rack_node, uint32_t param, double rate_hz);

/// Drop a reference.  Accepts NULL. [builder]
void node_unref(Node* node);

/// Renew the node if the player waits for that.  Returns the error of FxInfo::renew, after which
/// the player asks again later. [builder, or between blocks]
Status node_renew(Node* node, Error* error);

/// Return the node to its initial state.  Fails if FxInfo::renew fails. [builder, while no player
/// runs]
NODISCARD Status node_reset(Node* node, Error* error);

/// Frames from an input to its output, now. [builder]
uint32_t node_latency(const Node* node);

/// Frames for which the node may still sound after its input ends. [builder]
uint64_t node_tail(const Node* node);

/// MixLink::line_mask for a delay, at most LATENCY_MAX_FRAMES.
uint32_t link_line_mask(uint32_t delay_frames, uint32_t block_frames);

/// Make a connection with constant `gain` and a delay of `delay_frames`, at most
/// LATENCY_MAX_FRAMES, mixed by `like->backend`.  link_load() makes its delay lines. [builder]
NODISCARD Status link_new(const Link* like, float gain, uint32_t delay_frames,
                          uint32_t block_frames, Link** out, Error* error);

/// Let a new connection begin with gain 0. [builder]
void link_mute(Link* link);

/// Make the delay lines.  Does nothing if the link is loaded. [builder]
NODISCARD Status link_load(Link* link, Error* error);

/// Memory of the link with its delay lines, in bytes; the same before link_load(). [builder]
size_t link_memory(const Link* link);

void link_unref(Link* link);

/// Clear the delay lines.
void link_reset(Link* link);

#endif
