// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the rack: rack.c (the model), rack_names.c (names and near misses),
   rack_end.c (ends of connections), rack_value.c (values and units), rack_check.c (cycles),
   rack_edit.c (edits), rack_rewire.c (edits of the signal path), rack_tempo.c (the tempo),
   rack_scene.c and rack_scene_edit.c (scenes), rack_midi.c, rack_midi_edit.c and
   rack_midi_targets.c (the MIDI map), rack_parser.h and rack_print.c (the language),
   rack_missing.c (plugins that are there again).

   Functions in this header that add to a rack do not check for cycles; their caller must call
   rack_check().
*/
#ifndef WARPRACK_ENGINE_RACK_RACK_PRIVATE_H
#define WARPRACK_ENGINE_RACK_RACK_PRIVATE_H

#include "rack.h"

#include "engine/base/hint.h"
#include "engine/base/text_buffer.h"

#include <stddef.h>

// ---- rack.c ----

/// Fail because there is no memory for an edit, which then leaves the rack as it was.
Status rack_no_memory(Error* error);

/// Move the content of `from` to `to`, and free `from` and the old content.
void rack_take(Rack* to, Rack* from);

/// Append a node with initial values.  The name must be valid and unused.  `uid` RACK_UID_NONE: use
/// the next free uid.  NULL if out of memory.
RackNode* rack_append_node(Rack* rack, const char* name, const FxInfo* fx, RackUid uid);

/// Remove a node without connections.
void rack_drop_node(Rack* rack, RackNode* node);

/// Rename a node; the name must be unused and valid.
void rack_name_node(Rack* rack, RackNode* node, const char* name);

/// Append a connection for the caller to fill in.  NULL when out of memory.
RackEdge* rack_append_edge(Rack* rack);

/// True if both are the same effect, or stand for the same missing plugin.
bool rack_same_effect(const FxInfo* a, const FxInfo* b);

/// True if both fallbacks are the same.
bool rack_same_fallback(RackFallback a, RackFallback b);

// ---- rack_names.c ----

/// Refuse a name that is malformed, reserved or in use.
NODISCARD Status rack_check_name(const Rack* rack, const char* name, Error* error);

/// The names of all effects and the formats of plugins, for the caller to free; NULL when out of
/// memory.
const char** rack_effect_names(uint32_t* n_names);

/// The id of the parameter (or "backend") that `word` is or may mean; NULL: none.
const char* rack_near_param(const FxInfo* fx, const char* word);

/// True for the first word of an effect: the name of a built-in one, or the format of a plugin.
bool rack_is_effect(const char* word);

/// Find a built-in effect by name.  If there is none, returns NULL, and `error` suggests near
/// names.
const FxInfo* rack_effect(const char* name, Error* error);

/// Find an effect: "gain", "lv2 fil4".  The id of a plugin may be in quotes, and needs none here.
NODISCARD Status rack_read_effect(const char* text, const FxInfo** fx, Error* error);

/// Fail because no node (with `may_be_end`, no end of a connection) has this name, and suggest near
/// names.
Status rack_no_node(const Rack* rack, const char* name, bool may_be_end, Error* error);

/// Number of the side input with this name of n bytes, from 1; 0: none.
uint16_t rack_find_side_input(const FxInfo* fx, const char* name, size_t n);

/// The place of an inserted node: in the connections to an end, or in the connections from it.
typedef enum RackSide { RACK_BEFORE, RACK_AFTER } RackSide;

/// Read "before" or "after".
NODISCARD Status rack_read_side(const char* text, RackSide* side, Error* error);

// ---- rack_end.c ----

/// Read "node", "node:3", "in:1-2" or "node.sidechain:1".
NODISCARD Status rack_read_end(const Rack* rack, const char* text, RackEnd* end, Error* error);

/// Print an end in the form of rack_read_end().
#define RACK_END_BYTES (RACK_NAME_BYTES + FX_SIDE_BYTES + 16U)
const char* rack_print_end(const Rack* rack, RackEnd end, char text[RACK_END_BYTES]);

/// True if the nodes and side inputs of both ends are equal and, unless `wanted` has no channels,
/// the channels too.
bool rack_end_matches(RackEnd wanted, RackEnd end);

/// True if the ends are of one node, or of one side input, and have a channel in common.
bool rack_ends_overlap(RackEnd a, RackEnd b);

/// If an end is a side input of a node whose plugin is missing, let the node have that side input.
NODISCARD Status rack_add_missing_side(Rack* rack, const char* end, Error* error);

// ---- rack_edit.c ----

/// Store the text of the values of a node whose plugin is missing.
NODISCARD Status rack_keep_values(RackNode* node, const char* text, Error* error);

NODISCARD Status rack_add_node(Rack* rack, const char* name, const FxInfo* fx, RackUid uid,
                               Error* error);

/// Add a connection, or set the gain of the one with these ends, at `e`; n_edges: there is none.
NODISCARD Status rack_put_edge(Rack* rack, uint32_t e, const RackEdge* edge, Error* error);

/// As rack_put_edge(), with a search for the connection.
NODISCARD Status rack_add_edge(Rack* rack, RackEnd from, RackEnd to, double gain_db, Error* error);
NODISCARD Status rack_remove_edges(Rack* rack, RackEnd from, RackEnd to, Error* error);

// ---- rack_rewire.c ----

/// Let a node without connections take over the connections at `at`, and connect the node to `at`.
/// If `at` has no connections, fails with STATUS_NOT_FOUND and leaves the rack unchanged.
NODISCARD Status rack_splice(Rack* rack, RackUid uid, RackSide side, RackEnd at, Error* error);

// ---- rack_late.c ----

NODISCARD Status rack_set_fallback(Rack* rack, RackEnd end, RackFallback fallback, Error* error);

// ---- rack_scene.c ----

/// Give a new rack the scenes of another one.  Returns false if out of memory.
bool rack_copy_scenes(Rack* to, const Rack* from);

/// Release the scenes of a rack that is freed.
void rack_clear_scenes(Rack* rack);

bool rack_equal_scenes(const Rack* a, const Rack* b);

// ---- rack_scene_edit.c ----

/// A scene, or (with the name "") the safes, while it is written.
typedef struct RackSceneDraft {
  TextBuffer texts, line;
  uint32_t n_values;
  bool has_values; ///< False for the safes
  RackSceneFade fade;
} RackSceneDraft;

void rack_scene_begin(RackSceneDraft* draft, const char* name, RackSceneFade fade);
void rack_scene_add(RackSceneDraft* draft, const RackSceneValue* value);

/// End the draft, also to give it up.  Returns the scene with one owner; NULL if out of memory.
RackScene* rack_scene_end(RackSceneDraft* draft);

/// True if the draft of the safes has this one.
bool rack_scene_draft_has(const RackSceneDraft* draft, const RackSceneValue* value);

/// Add a scene, or replace the one with its name.  Takes ownership, also on error.
NODISCARD Status rack_put_scene(Rack* rack, RackScene* scene, Error* error);

/// Replace the safes.  Takes ownership, also on error.
NODISCARD Status rack_set_safes(Rack* rack, RackScene* safes, Error* error);

/// Let the scenes and the MIDI map follow a node that gets a new name, or (NULL) is removed.
NODISCARD Status rack_follow_node(Rack* rack, const char* node, const char* new_name, Error* error);

// ---- rack_midi.c ----

/// Let one more rack have a line.  Returns the line.
RackMidi* rack_midi_hold(RackMidi* map);

/// Release a line.
void rack_midi_drop(RackMidi* map);

/// Give a new rack the MIDI map of another one.  Returns false if out of memory.
bool rack_copy_midi(Rack* to, const Rack* from);

/// Release the MIDI map of a rack that is freed.
void rack_clear_midi(Rack* rack);

/// True if the maps are equal; with `sounds`, without the programs.
bool rack_equal_midi(const Rack* a, const Rack* b, bool sounds);

/// Print the lines of the map, in order: those of programs, or all others.
void rack_print_midi(const Rack* rack, bool programs, TextBuffer* text);

// ---- rack_midi_edit.c ----

/// True if sources of this kind have a number beside their channel.
bool rack_midi_has_number(MidiKind kind);

/// The line with the same source and target, or for a program with the same source; NULL: none.
const RackMidi* rack_find_midi(const Rack* rack, const RackMidi* map);

/// Add a copy of a line, in place of the one that rack_find_midi() finds.
NODISCARD Status rack_put_midi(Rack* rack, const RackMidi* map, Error* error);

/// Give a rack without a map that of `rack`, with the new name of a node, or (NULL) without the
/// lines of the node.
NODISCARD Status rack_follow_midi(const Rack* rack, const char* node, const char* new_name,
                                  Rack* with, Error* error);

// ---- rack_midi_targets.c ----

/// Find a parameter that a controller can move, and refuse any other.
NODISCARD Status rack_midi_find_param(const RackNode* node, const char* id, const FxParam** row,
                                      Error* error);

/// Read the range of a line and its shape, for midi_target_init(), and refuse those that the
/// parameter does not take.
NODISCARD Status rack_midi_shape(const FxParam* row, const RackMidi* map, MidiTarget* target,
                                 Error* error);

// ---- rack_check.c ----

/// Mark all nodes that the signal reaches from the marked ones without passing `around` or a side
/// input.  reached[n_nodes + 1]; the last one is the rack's output.
NODISCARD Status rack_spread(const Rack* rack, const RackNode* around, bool* reached, Error* error);

/// Refuse a rack with a cycle: STATUS_BAD_RACK, and the error names its nodes.  *path: its nodes in
/// order, for the caller to free in any case; *n_path is 0 if there is none.
NODISCARD Status rack_find_cycle(const Rack* rack, RackUid** path, uint32_t* n_path, Error* error);

/// True if connections lead from `in`, or from a source, to `out`.
bool rack_has_way(const Rack* rack);

// ---- rack_missing.c ----

/// Say why the plugin of a node is missing.
void rack_explain_missing(const Rack* rack, const RackNode* node, Error* why);

// ---- rack_print.c ----

/// Append a value to a text, in quotes if it `is_text` and needs them.
void rack_add_value_text(TextBuffer* text, const char* value, bool is_text);

/// Print the statement that adds a node.
void rack_print_node(const RackNode* node, TextBuffer* text);

// ---- rack_tempo.c ----

/// Print the statement `tempo`, unless the rack has the default.
void rack_print_tempo(const Rack* rack, TextBuffer* text);

// ---- rack_value.c ----

extern const FxParam rack_backend_param; // `backend` of a node; its choices are by RackBackend
extern const FxParam rack_gain_param;    // the gain of a connection, as a parameter
extern const FxParam rack_fade_param;    // the time of a scene's fade, in seconds
extern const FxParam rack_curve_param;   // its curve; the choices are by FxCurve

/// A number of a parameter, in range: the table's initial one is VALUE_INITIAL, unless
/// FxParam::in_presets.
RackValue rack_value_of(const FxParam* param, double number);

/// Read a value of the language, as rack_value_of().
NODISCARD Status rack_value_from_text(const FxParam* param, const char* text, RackValue* value,
                                      Error* error);
NODISCARD Status rack_value_from_number(const FxParam* param, double number, RackValue* value,
                                        Error* error);

/// A value in canonical text, without quotes; a number is printed to `number`.
const char*
rack_value_text(const FxParam* param, const RackValue* value, char number[NUMBER_BYTES]);

/// True if rack_value_text() may need quotes.
bool rack_value_is_text(const FxParam* param);

/// Print a number with the unit that canonical text uses.
const char* rack_print_quantity(double number, FxMeasure unit, char text[NUMBER_BYTES]);

#endif
