// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A rack as data: nodes, connections, values.  Files, OSC, undo and the offline renderer all use
   this form.  These functions have no audio, no threads and no file access; the caller synchronises
   access to a Rack.

   An edit that fails leaves the rack unchanged and returns the reason.

   Language:

     - chain lowcut: highpass 80 order=4 | (hall: convolver hall.wav + delay 250ms) | limiter -1dB
     - add lowcut highpass frequency=80 order=4
     - connect lowcut:1-2 hall gain=-6dB
     - connect kick comp.sidechain
     - disconnect lowcut hall
     - set hall.mix 0.3
     - insert warm lowpass before hall 8kHz
     - rename hall room
     - remove room
     - late out:3-4 silence
     - tempo 120 jack
     - scene verse hall.mix=20% lowcut.frequency=120Hz
     - safe master.*
     - midi cc 1:74 lowcut.frequency 80Hz..8kHz

   engine/rack/RACK.md has the grammar and the meaning of each statement.  A document without
   statements is the empty rack: one connection, `in` to `out`.
*/
#ifndef WARPRACK_ENGINE_RACK_RACK_H
#define WARPRACK_ENGINE_RACK_RACK_H

#include "engine/base/number.h"
#include "engine/base/status.h"
#include "engine/base/text_buffer.h"
#include "engine/contract/effect.h"
#include "engine/contract/fade.h"
#include "engine/midi/midi_map.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RACK_NAME_BYTES 64U // with the final zero
#define RACK_MAX_NODES  4096U
#define RACK_MAX_EDGES  16384U
#define RACK_MAX_TEXT   (4U << 20U) // bytes of one document
#define RACK_MAX_DEPTH  64U         // of nested parentheses; each costs one recursion

#define RACK_MAX_SCENES       256U
#define RACK_MAX_SCENE_VALUES 4096U  // of one scene
#define RACK_MAX_VALUES       65536U // of all scenes
#define RACK_MAX_SAFES        64U
#define RACK_PATTERN_BYTES    192U  // of each half of a pattern, with the final zero
#define RACK_MAX_MIDI         1024U // lines of the MIDI map

#define RACK_GAIN_MIN_DB (-120.0) // of a connection
#define RACK_GAIN_MAX_DB 40.0
#define RACK_LATE_MIN_DB (-120.0) // lowest level of a fallback

#define RACK_TEMPO_MIN_BPM 20.0
#define RACK_TEMPO_MAX_BPM 999.0
#define RACK_TEMPO_BPM     120.0 // without the statement `tempo`

/// Where the tempo of a rack comes from.
typedef enum RackTempoSource {
  RACK_TEMPO_FIXED, ///< The document and messages only
  RACK_TEMPO_JACK,  ///< The timebase master of JACK as well
  RACK_TEMPO_MIDI   ///< MIDI clock as well
} RackTempoSource;

extern const char* const rack_tempo_sources[]; ///< Words by RackTempoSource, then NULL

typedef struct RackTempo {
  double bpm; ///< RACK_TEMPO_MIN_BPM to RACK_TEMPO_MAX_BPM
  RackTempoSource source;
} RackTempo;

/// Number of a node, which stays the same through all edits that keep the node's name and effect.
typedef uint32_t RackUid;
#define RACK_UID_NONE  0U
#define RACK_UID_IN    1U // the rack's input
#define RACK_UID_OUT   2U // the rack's output
#define RACK_UID_FIRST 16U

#define RACK_MAX_REFUSED 64U // more are found by the next attempt

typedef enum RackBackend {
  RACK_BACKEND_AUTO, ///< By measured cost
  RACK_BACKEND_CPU,
  RACK_BACKEND_GPU ///< The GPU API that the engine uses
} RackBackend;

/// One parameter's value in the document.
typedef struct RackValue {
  enum {
    VALUE_INITIAL, ///< Not stated: the table's initial value, or that of a preset; never of a
                   ///< parameter with FxParam::follows_tempo
    VALUE_NUMBER,  ///< In the table's unit; fx_choice_number() for CHOICE; 0/1 for SWITCH
    VALUE_FRAMES,  ///< A time in frames, for UNIT_MS parameters only
    VALUE_TEMPO,   ///< The tempo of the rack, see rack_can_follow_tempo(); `number` is 0
    VALUE_TEXT     ///< See fx_param_is_text()
  } kind;
  double number;
  bool is_bare; ///< VALUE_NUMBER: written without a unit
  char* text;   ///< VALUE_TEXT: owned by the node
} RackValue;

typedef struct RackNode {
  RackUid uid;
  char name[RACK_NAME_BYTES]; ///< [A-Za-z_][A-Za-z0-9_-]*, unique; never "in" or "out"
  const FxInfo* fx;
  RackValue* values; ///< [fx->n_params]
  double tempo_bpm;  ///< Of Rack::tempo, for rack_number()
  RackBackend backend;
  /// Only in the copy of a rack that a worker gets, not in documents: the node has crashed workers,
  /// and its input plays instead, delayed by dry_frames.
  bool is_quarantined;
  uint32_t dry_frames;
  /// As is_quarantined: nodes of this effect, or ones that run with it, have crashed a worker
  /// together.  The node runs on its own, so that another crash names it.
  bool is_apart;
} RackNode;

/// Nodes of plugins that a worker could not make, in the order in which it tried.
typedef struct RackRefused {
  uint32_t n;
  RackUid uids[RACK_MAX_REFUSED];
} RackRefused;

/// One end of a connection: a node (or the rack's in or out) and a range of its channels, from 1;
/// 0,0 means all.
typedef struct RackEnd {
  RackUid uid;
  uint16_t first, last;
  uint16_t side; ///< The side input with this number, from 1, in FxInfo::sides; 0: the node's main
                 ///< inputs, or its outputs
} RackEnd;

/// A connection.  Signals that arrive at the same channel are summed.
typedef struct RackEdge {
  RackEnd from, to;
  double gain_db;
  RackUid replaces; ///< The node that rack_remove() replaced by this connection; RACK_UID_NONE:
                    ///< none
} RackEdge;

/// The fallback of an output: the dry signal at a level.
typedef struct RackFallback {
  bool is_fixed;   ///< False: the measured level of the output, or silence; see fallback.h
  double level_db; ///< If is_fixed: RACK_LATE_MIN_DB to 0, or -INFINITY
} RackFallback;

/// The fallback of outputs first to last, counted from 1.
typedef struct RackLate {
  uint16_t first, last;
  RackFallback fallback;
} RackLate;

/// A value of a scene, or a safe, which is a pair of patterns.  The texts belong to the scene.
typedef struct RackSceneValue {
  const char* node;
  const char* param;
  const char* text; ///< The value as in the language, without quotes; unused for a safe
  bool is_text;     ///< `text` gets the quotes that it needs; false: it is a number with its unit
} RackSceneValue;

#define RACK_MAX_FADE_SECONDS 3600.0

/// The fade of a recall to the values of a scene.
typedef struct RackSceneFade {
  double seconds; ///< 0: at once
  FxCurve curve;
} RackSceneFade;

/// A scene never changes, so that a rack and its copies share it.
typedef struct RackScene {
  atomic_uint n_owners; ///< Racks that have it
  const char* name;     ///< "" for the safes
  const char* line;     ///< The statement of the language, with its newline
  RackSceneFade fade;
  uint32_t n_values;
  RackSceneValue values[];
} RackScene;

/// A line of the MIDI map.  As a scene, it never changes, and names its parameter by text.
typedef struct RackMidi {
  atomic_uint n_owners; ///< Racks that have it
  MidiSource source;
  MidiShape shape;
  const char* node;       ///< "" for a program
  const char* param;      ///< "" for a program and for notes
  const char* scene;      ///< Of a program; else ""
  const char *low, *high; ///< The range, as in the language; "" for the whole one
  const char* line;       ///< The statement of the language, with its newline
} RackMidi;

typedef struct Rack {
  RackNode* nodes;
  uint32_t n_nodes;
  RackEdge* edges;
  uint32_t n_edges;
  RackLate* lates; ///< In order, without overlaps
  uint32_t n_lates;
  RackTempo tempo;
  RackScene** scenes; ///< [n_scenes] in order
  uint32_t n_scenes;
  RackScene* safes; ///< Parameters that no recall changes; NULL: none
  RackMidi** midi;  ///< [n_midi] in the order of midi_source_key(), so programs are the last
  uint32_t n_midi;
  char recalled[RACK_NAME_BYTES]; ///< The scene that was recalled last, or ""; not in the document
  RackScene* live; ///< While a comparison plays that scene: the values before it, else NULL; not in
                   ///< the document
  uint32_t n_summed; ///< Number of chains whose two ends already had connections
  RackUid next_uid;  ///< The next free uid.  A rack and its copies never reuse a uid
  uint32_t* index;   ///< Finds nodes by name and by uid; private to rack.c
  uint32_t n_slots;  ///< Of each half of `index`, a power of two
} Rack;

/// The empty rack (in to out).  NULL when out of memory.
Rack* rack_new(void);

Rack* rack_copy(const Rack* rack);

/// Free a rack.  Accepts NULL.
void rack_free(Rack* rack);

/**
   Read a document.

   @param text Whole document, zero-terminated UTF-8.
   A text whose first word is not a statement is read as one chain.

   @param place Name for error messages, which read "place:line:column: what; hint".  "rack" for a
   chain on the command line.
   @param previous Nodes with the same name and effect keep their uid from there; may be NULL.
   @param[out] out New rack, owned by the caller.  Untouched on error.
*/
NODISCARD Status rack_parse(const char* text, const char* place, const Rack* previous, Rack** out,
                            Error* error);

/// As rack_parse(), but a node whose plugin is not there plays its input (FxInfo::is_missing), and
/// keeps its values and connections as they are written.
NODISCARD Status rack_parse_bypass(const char* text, const char* place, const Rack* previous,
                                   Rack** out, Error* error);

/// As rack_parse_bypass(), as if no plugin were there: the rack has the same text on each machine.
NODISCARD Status rack_parse_without_plugins(const char* text, const char* place, Rack** out,
                                            Error* error);

/// rack_parse() or rack_parse_bypass().
typedef Status (*RackReader)(const char* text, const char* place, const Rack* previous, Rack** out,
                             Error* error);

/// The plugin of a node in a copy of a rack.
typedef enum RackCopied {
  RACK_COPIED_THERE,    ///< It must be there
  RACK_COPIED_BYPASSED, ///< It need not be there: its node does not execute it
  RACK_COPIED_MISSING,  ///< It counts as missing, even if it is there now
  RACK_COPIED_LACKING   ///< Result: it must be there, but is not, or cannot be used
} RackCopied;

/// As rack_parse(), for the canonical text of a rack whose plugins may have had other parameters
/// and inputs: a value that a plugin does not take, and a connection to an input that it does not
/// have, are left out.  All nodes stay.
///
/// @param plugins [n_nodes] for the nodes in their order; receives RACK_COPIED_LACKING for each
/// node that is the reason of the error.  NULL: all must be there.
NODISCARD Status rack_parse_copy(const char* text, const char* place, RackCopied* plugins,
                                 uint32_t n_nodes, Rack** out, Error* error);

/// True if the plugin of a node is missing.
bool rack_has_missing(const Rack* rack);

/// Keep a value for a parameter of a node whose plugin is missing, as the statement `set` does: it
/// replaces the kept one, and is checked when the plugin is there.  STATUS_BAD_RACK, with the rack
/// unchanged, for a name or a value that the language cannot express; STATUS_LIMIT, STATUS_NO_MEM.
NODISCARD Status rack_keep_value(Rack* rack, const RackNode* node, const char* param,
                                 const char* value, Error* error);

/// Give nodes their plugins that were missing, if these are known now and take the values and
/// connections of the nodes.  Returns the number of these nodes, which keep their uids.
uint32_t rack_return_plugins(Rack* rack);

/// Print the canonical text: one `add` per node in order, then one `connect` per connection, then
/// `late`, `tempo`, `midi`, `scene` and `safe`, and `midi program` last.  It states the values that
/// are not VALUE_INITIAL, with units, in the shortest form that reads back as the same double.
/// Parsing the text gives an equal rack.  The caller frees it; NULL if out of memory.
char* rack_print(const Rack* rack);

/// As rack_print(), without scenes, safes and `midi program`, which workers do not need.
char* rack_print_sound(const Rack* rack);

/// Print `text` to `out` (NULL: only count), in quotes if it needs them.  Returns the number of
/// bytes, with the final zero.
size_t rack_quote(const char* text, char* out);

/// Set the uids of all nodes, in order, so that a rack that was parsed from the text of another one
/// has the same uids.  STATUS_BAD_ARG unless `uids` has n_nodes different numbers from
/// RACK_UID_FIRST to below next_uid; STATUS_NO_MEM.  On error the rack is unchanged.
NODISCARD Status rack_set_uids(Rack* rack, const RackUid* uids, uint32_t n, RackUid next_uid,
                               Error* error);

/// True if names, effects, values, backends, connections and the MIDI map are equal (uids and order
/// aside), and the scenes, in their order.
bool rack_equal(const Rack* a, const Rack* b);

/// As rack_equal(), but scenes, safes and programs may differ.
bool rack_sounds_equal(const Rack* a, const Rack* b);

/// Find the index of the connection with exactly these ends; n_edges if there is none.  Begins
/// at `first_guess`, because connections of compared racks mostly have similar places.
uint32_t rack_find_edge(const Rack* rack, RackEnd from, RackEnd to, uint32_t first_guess);

/// True if the nodes have the same effect, structural values and quarantine.
bool rack_same_structure(const RackNode* a, const RackNode* b);

/// True if the node has solo.
bool rack_has_solo(const RackNode* node);

/// True if `rack` has all nodes of `of`, as rack_same_structure().
bool rack_has_nodes(const Rack* rack, const Rack* of);

/// True if the racks differ at most in names, in the MIDI map, and in values that are neither
/// structural nor solo.
bool rack_differs_in_values(const Rack* a, const Rack* b);

/// Apply statements of the language ("connect a b gain=-6dB"), one per line, to a rack: all of them
/// or none.  A text without a statement fails with STATUS_BAD_RACK.
NODISCARD Status rack_apply(Rack* rack, const char* statements, const char* place, Error* error);

/// True for the word before the id of a plugin: "clap", "ladspa" or "lv2".
bool rack_is_format(const char* word);

/// Single edits, for rack_apply() and OSC.  An effect and ends have the form of the language:
/// "lv2 fil4", "hall:1-2", "comp.sidechain"; the id of a plugin needs no quotes.  If both ends are
/// already connected, rack_connect() sets the gain of that connection.  For an end without
/// channels, rack_disconnect() removes the connections of all channels.
NODISCARD Status rack_add(Rack* rack, const char* name, const char* effect, Error* error);
NODISCARD Status rack_rename(Rack* rack, const char* name, const char* new_name, Error* error);
NODISCARD Status rack_connect(Rack* rack, const char* from, const char* to, double gain_db,
                              Error* error);
NODISCARD Status rack_disconnect(Rack* rack, const char* from, const char* to, Error* error);

/// Insert a new node "before" or "after" an end (`side`).  The node takes over the connections to
/// that end, or from it.
NODISCARD Status rack_insert(Rack* rack, const char* name, const char* effect, const char* side,
                             const char* end, Error* error);

/// Remove a node with its connections.  If exactly one connection leads to the node and one from
/// it, and no other path leads around the node, one connection with the sum of both gains replaces
/// the node.  Connections to side inputs do not count, unless it has no other outgoing ones.
NODISCARD Status rack_remove(Rack* rack, const char* name, Error* error);

/// Find a node, to set its parameters.  If there is none, returns NULL, and `error` suggests the
/// nearest name.
RackNode* rack_lookup(const Rack* rack, const char* name, Error* error);

/// Find the index of a parameter; n_params for "backend", which every node has.  With
/// STATUS_NOT_FOUND, `error` suggests the nearest name.
NODISCARD Status rack_find_param(const FxInfo* fx, const char* id, uint32_t* param, Error* error);

/// Set the parameter with index `param` from text as in the language ("-6dB", "250ms",
/// "butterworth", "hall.wav") or from a number in the table's unit.
NODISCARD Status rack_set_param(RackNode* node, uint32_t param, const char* text, Error* error);
NODISCARD Status rack_set_param_number(RackNode* node, uint32_t param, double number, Error* error);

/// The unit of the language that `text` means, such as "dB" for "dBFS"; NULL: `text` is not a unit.
const char* rack_unit(const char* text);

/// Set the fallback of an end of outputs ("out", "out:1-2"): "auto", "dry", "silence" or a level
/// ("-20dB").
NODISCARD Status rack_late(Rack* rack, const char* end, const char* fallback, Error* error);

/// The fallback of output `channel`, from 1; NULL if the rack does not set it.
const RackFallback* rack_find_fallback(const Rack* rack, uint32_t channel);

/// Read a fallback: "auto", "dry", "silence" or a level.
NODISCARD Status rack_read_fallback(const char* text, RackFallback* fallback, Error* error);

#define RACK_FALLBACK_BYTES 64U

/// Print a fallback as in the language.  Returns a word, or a level in `text`.
const char* rack_print_fallback(RackFallback fallback, char text[RACK_FALLBACK_BYTES]);

/// Store a value that was set while the rack plays.  Does nothing if the node does not exist, its
/// parameter of that number has another fx_param_hash() than `param_id` (0: any), or the value is
/// invalid.
void
rack_set_value(const Rack* rack, RackUid uid, uint32_t param, uint32_t param_id, double number);

/// True if a parameter may have the value `tempo`: a tempo whose change makes no new node.
bool rack_can_follow_tempo(const FxParam* param);

/// True if a rack has another tempo than the default, or a parameter that follows it.
bool rack_uses_tempo(const Rack* rack);

bool rack_same_tempo(RackTempo a, RackTempo b);

/// True for a number in the range of tempos.
bool rack_is_tempo(double bpm);

/// Read the words of the statement `tempo`: a number ("120", "90bpm"), which is fixed, or a source
/// ("jack", "midi"), which leaves the number as it is; or both, in any order.
/// @param second NULL: one word
NODISCARD Status rack_read_tempo(const char* first, const char* second, RackTempo* tempo,
                                 Error* error);

/// True for the word of a source: "fixed", "jack", "midi".
bool rack_is_tempo_source(const char* word);

/// Set the tempo of a rack, which is in range, and of all parameters that follow it.
void rack_set_tempo(Rack* rack, RackTempo tempo);

/// Store that a parameter follows the tempo of the rack, which is `bpm`, since a message while the
/// rack plays.  Does nothing if the node does not exist, its parameter cannot follow, or the tempo
/// is out of range; `param_id` as in rack_set_value().
void rack_follow_tempo(Rack* rack, RackUid uid, uint32_t param, uint32_t param_id, double bpm);

/// Check a rack for dangling connections and for cycles, whose nodes the error names.  All
/// functions in this header leave a rack that passes; only tests need this function.  The planner
/// checks numbers of channels, because they depend on the content of files.
NODISCARD Status rack_check(const Rack* rack, Error* error);

/// Warnings about a valid rack that is probably a mistake, each with a final newline; "" for none.
/// `rate_hz` 0: unknown.  The caller frees the text; NULL if out of memory.
char* rack_warnings(const Rack* rack, double rate_hz);

/// STATUS_LIMIT if the canonical text is longer than RACK_MAX_TEXT.
NODISCARD Status rack_check_text(const Rack* rack, Error* error);

/// Check that times in frames are in the range of their parameter at this rate.
NODISCARD Status rack_check_rate(const Rack* rack, double rate_hz, Error* error);

const RackNode* rack_find(const Rack* rack, const char* name);
const RackNode* rack_find_uid(const Rack* rack, RackUid uid);

/// Index of the node with this uid; `if_none` if there is none, as for in and out.
uint32_t rack_index_of(const Rack* rack, RackUid uid, uint32_t if_none);

/// A parameter's number in the table's unit at a rate (frames become ms), clipped to the table's
/// range; rack_check_rate() refuses racks with times out of range.  A parameter that follows the
/// tempo has the nearest number that it accepts.  0 for texts.
double rack_number(const RackNode* node, uint32_t param, double rate_hz);

/// As rack_number(), for a value that the parameter has or had.
double
rack_value_number(const RackNode* node, uint32_t param, const RackValue* value, double rate_hz);

/// A parameter's text; NULL if it is not stated and has no initial value.  Only for
/// fx_param_is_text().
const char* rack_text(const RackNode* node, uint32_t param);

/// The name of the choice with this number; the number, printed to `text`, if it has no name.
const char* rack_choice_name(const FxParam* param, double number, char text[NUMBER_BYTES]);

/// Print a value as in the language ("-6dB") to `buffer`, truncated if it does not fit.  Returns
/// `buffer`.
const char*
rack_print_value(const RackNode* node, uint32_t param, char* buffer, size_t buffer_bytes);

// ---- scenes ----
// A scene has values that are stored under a name, to be recalled together.  A rack also has safes,
// patterns of the parameters that no recall changes.  A scene names its parameters by text, so that
// it outlives plugins that change or are missing.  Its values follow a node that is renamed, and go
// with a node that is removed.  Only control/ and `render` use scenes: workers get none.

/// The scene with this name; NULL: none.
const RackScene* rack_find_scene(const Rack* rack, const char* name);

/// As rack_find_scene().  If there is none, `error` suggests the nearest name.
const RackScene* rack_lookup_scene(const Rack* rack, const char* name, Error* error);

/// Make a scene of the present values of the parameters of another one that are there and not
/// structural.  The caller drops it; NULL if out of memory.
RackScene* rack_scene_of_live(const Rack* rack, const RackScene* scene);

/// Let one more rack have a scene.  Accepts NULL.  Returns the scene.
RackScene* rack_scene_hold(RackScene* scene);

/// Release a scene.  Accepts NULL.
void rack_scene_drop(RackScene* scene);

/// Refuse a name that no scene can have: STATUS_BAD_RACK, STATUS_LIMIT.
NODISCARD Status rack_check_scene_name(const char* name, Error* error);

/// Append " fade=2s curve=s", as in the statement `scene`; nothing for the default.
void rack_print_fade(RackSceneFade fade, TextBuffer* text);

/// Refuse a text that is no pattern of parameters: "node.param", each with the wildcards of OSC.
NODISCARD Status rack_check_pattern(const char* text, Error* error);

NODISCARD Status rack_remove_scene(Rack* rack, const char* name, Error* error);

/// Remove a safe, as it is written; STATUS_NOT_FOUND if there is none.
NODISCARD Status rack_remove_safe(Rack* rack, const char* pattern, Error* error);

/// The place where the last value was found.  Values in the order of the nodes and their parameters
/// are found faster.  Begins as zeros; valid until the rack changes.
typedef struct RackSceneFinder {
  const RackNode* node;
  uint32_t param;
} RackSceneFinder;

/// Find the parameter of a value: its node, and its index (FxInfo::n_params: "backend").  NULL if
/// the node, its plugin or the parameter is missing.
const RackNode* rack_find_scene_value(const Rack* rack, const RackSceneValue* value,
                                      RackSceneFinder* finder, uint32_t* param);

/// True if a change of the parameter makes a new node.
bool rack_is_structural(const RackNode* node, uint32_t param);

/// Refuse a text that rack_set_param() refuses.
NODISCARD Status rack_check_value(const RackNode* node, uint32_t param, const char* text,
                                  Error* error);

/// Read a number of a parameter that takes all numbers of a range.  Returns false for any other
/// parameter, for a time in frames, and for `tempo`.
bool rack_read_number(const RackNode* node, uint32_t param, const char* text, double* number);

/// Append " node.param=value" with the present value, as in the statement `scene`.
void rack_print_target(const RackNode* node, uint32_t param, TextBuffer* text);

// ---- the MIDI map ----
// A line leads from a controller to a parameter, from the notes of a channel to an instrument, or
// from a program change to a scene.  The worker evaluates the first two, control/ the last one.

/// Words by MidiKind: "cc"; NULL-terminated.
extern const char* const rack_midi_kind_words[];

/// Append a source as in the language: "cc 1:74".
void rack_midi_print_source(MidiSource source, TextBuffer* text);

/// Remove the lines that all words name: a node, a parameter ("hall.mix"), a source ("cc 1:74"), a
/// scene.  STATUS_NOT_FOUND if there is none.
NODISCARD Status rack_remove_midi(Rack* rack, const char* const* words, uint32_t n_words,
                                  Error* error);

/// The scene that a program recalls, as its line names it; NULL: none.
const char* rack_midi_scene(const Rack* rack, MidiSource program);

/// Find the targets of all lines whose node, plugin and parameter are there, in the order of
/// MidiTable.  targets[n_midi].  Returns their number.
uint32_t rack_midi_targets(const Rack* rack, MidiTarget* targets);

#endif
