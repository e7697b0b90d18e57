// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A rack as pure data: nodes, connections, values.  The single source of truth that files, OSC,
   undo and the offline renderer share.  No audio, no threads, no file access: a Rack belongs to
   whoever made it.

   Every edit either succeeds as a whole or leaves the rack as it was and says why.

   Language:

     - chain lowcut: highpass 80 order=4 | (hall: convolver hall.wav + delay 250ms) | limiter -1dB
     - add lowcut highpass frequency=80 order=4
     - connect lowcut:1-2 hall gain=-6dB
     - disconnect lowcut hall
     - set hall.mix 0.3
     - insert warm lowpass before hall 8kHz
     - rename hall room
     - remove room
     - late out:3-4 silence

   engine/rack/RACK.md has the grammar and what each statement means.  A document without statements
   is the empty rack: one connection, `in` to `out`.
*/
#ifndef WARPRACK_ENGINE_RACK_RACK_H
#define WARPRACK_ENGINE_RACK_RACK_H

#include "engine/base/status.h"
#include "engine/contract/effect.h"

#include <stdbool.h>
#include <stdint.h>

#define RACK_NAME_BYTES 64U // with the final zero
#define RACK_MAX_NODES  4096U
#define RACK_MAX_EDGES  16384U
#define RACK_MAX_TEXT   (4U << 20U) // bytes of one document
#define RACK_MAX_DEPTH  64U         // of parentheses: the parser recurses once for each

#define RACK_GAIN_MIN_DB (-120.0) // of a connection
#define RACK_GAIN_MAX_DB 40.0
#define RACK_LATE_MIN_DB (-120.0) // of the dry signal while blocks are late

/// Identity of a node within one engine's life: kept by every edit that keeps the node's name and
/// effect.
typedef uint32_t RackUid;
#define RACK_UID_NONE  0U
#define RACK_UID_IN    1U // the rack's input
#define RACK_UID_OUT   2U // the rack's output
#define RACK_UID_FIRST 16U

typedef enum RackBackend {
  RACK_BACKEND_AUTO, ///< By measured cost
  RACK_BACKEND_CPU,
  RACK_BACKEND_GPU ///< Whichever of CUDA and OpenCL the engine uses
} RackBackend;

/// One parameter's value as the document has it.
typedef struct RackValue {
  enum {
    VALUE_INITIAL, ///< Not given: the table's initial value
    VALUE_NUMBER,  ///< In the table's unit; index for CHOICE; 0/1 for SWITCH
    VALUE_FRAMES,  ///< A time in frames, for UNIT_MS parameters only
    VALUE_TEXT     ///< For FILE and TEXT
  } kind;
  double number;
  bool is_bare; ///< VALUE_NUMBER: was written without a unit
  char* text;   ///< VALUE_TEXT: owned by the node
} RackValue;

typedef struct RackNode {
  RackUid uid;
  char name[RACK_NAME_BYTES]; ///< [A-Za-z_][A-Za-z0-9_-]*, unique; never "in" or "out"
  const FxInfo* fx;
  RackValue* values; ///< [fx->n_params]
  RackBackend backend;
} RackNode;

/// One end of a connection: a node (or the rack's in or out) and a range of its channels, from 1;
/// 0,0 means all.
typedef struct RackEnd {
  RackUid uid;
  uint16_t first, last;
} RackEnd;

/// A connection.  Signals that arrive at the same channel are summed.
typedef struct RackEdge {
  RackEnd from, to;
  double gain_db;
  RackUid replaces; ///< The node in whose place rack_remove() made it; else RACK_UID_NONE
} RackEdge;

/// What an output plays while blocks are late: the dry signal at a level.
typedef struct RackFallback {
  bool is_fixed;   ///< Else at the level that the output really has, or silence; see fallback.h
  double level_db; ///< Where it is fixed: RACK_LATE_MIN_DB to 0, or -INFINITY
} RackFallback;

/// The same of outputs first to last, from 1.
typedef struct RackLate {
  uint16_t first, last;
  RackFallback fallback;
} RackLate;

typedef struct Rack {
  RackNode* nodes;
  uint32_t n_nodes;
  RackEdge* edges;
  uint32_t n_edges;
  RackLate* lates; ///< In order, none overlapping another
  uint32_t n_lates;
  uint32_t n_summed; ///< Chains that begin and end where connections were already
  RackUid next_uid;  ///< Never reused within one line of copies
  uint32_t* index;   ///< Names and uids to nodes; private to rack.c
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
   @param place Name for messages, which read "place:line:column: what; hint".  For a chain on the
   command line "rack".  A text whose first word is no statement is read as one chain.
   @param previous Nodes with the same name and effect as there keep their uid; may be NULL.
   @param[out] out New rack, owned by the caller.  Untouched on error.
*/
NODISCARD Status rack_parse(const char* text, const char* place, const Rack* previous, Rack** out,
                            Error* error);

/// Canonical text: one `add` per node in order, then one `connect` per connection, then `late`;
/// values that differ from the table's initial ones, with units, in the shortest form that reads
/// back to the same double. Parsing it gives an equal rack.  Caller frees; NULL when out of memory.
char* rack_print(const Rack* rack);

/// Bytes of `text` in quotes where it needs them, with the final zero; written when `out` is given.
size_t rack_quote(const char* text, char* out);

/// Give the nodes, in order, these uids: a rack that was read from another one's text becomes the
/// same rack. STATUS_BAD_ARG when they are not n_nodes different ones from RACK_UID_FIRST to below
/// next_uid, STATUS_NO_MEM; then the rack is as it was.
NODISCARD Status rack_set_uids(Rack* rack, const RackUid* uids, uint32_t n, RackUid next_uid,
                               Error* error);

/// True when names, effects, values, backends and connections are the same (uids and order aside).
bool rack_equal(const Rack* a, const Rack* b);

/// True when `rack` has all nodes of `of`, with the values that decide what a node is made of.
bool rack_has_nodes(const Rack* rack, const Rack* of);

/// True when at most names differ, and values of parameters of nodes that go on as they are.
bool rack_differs_in_values(const Rack* a, const Rack* b);

/// Apply statements of the language ("connect a b gain=-6dB"), one per line, to a rack: all of them
/// or none.  A text without a statement is STATUS_BAD_RACK.
NODISCARD Status rack_apply(Rack* rack, const char* statements, const char* place, Error* error);

/// The edits, one by one, as rack_apply() and OSC use them.  Ends are written as in the language:
/// "hall:1-2".  rack_connect() of ends that are connected already gives the connection a new gain;
/// rack_disconnect() of an end without channels means every connection of that node.
NODISCARD Status rack_add(Rack* rack, const char* name, const char* effect, Error* error);
NODISCARD Status rack_rename(Rack* rack, const char* name, const char* new_name, Error* error);
NODISCARD Status rack_connect(Rack* rack, const char* from, const char* to, double gain_db,
                              Error* error);
NODISCARD Status rack_disconnect(Rack* rack, const char* from, const char* to, Error* error);

/// Put a new node "before" or "after" an end: it takes over the connections to that end, or from
/// it.
NODISCARD Status rack_insert(Rack* rack, const char* name, const char* effect, const char* side,
                             const char* end, Error* error);

/// Remove a node with its connections.  Where one connection leads to it, one from it, and no other
/// way around it, one connection takes its place, with the sum of their gains.
NODISCARD Status rack_remove(Rack* rack, const char* name, Error* error);

/// A node, to set its parameters; NULL when there is none, and `error` names the nearest.
RackNode* rack_lookup(const Rack* rack, const char* name, Error* error);

/// Index of a parameter; n_params for "backend", which every node has.  STATUS_NOT_FOUND names the
/// nearest.
NODISCARD Status rack_find_param(const FxInfo* fx, const char* id, uint32_t* param, Error* error);

/// Set a parameter, given by its index, from text as in the language ("-6dB", "250ms",
/// "butterworth", "hall.wav") or from a number in the table's unit.
NODISCARD Status rack_set_param(RackNode* node, uint32_t param, const char* text, Error* error);
NODISCARD Status rack_set_param_number(RackNode* node, uint32_t param, double number, Error* error);

/// The same for a node and a parameter given by their names.
NODISCARD Status rack_set_text(Rack* rack, const char* name, const char* param, const char* text,
                               Error* error);
NODISCARD Status rack_set_number(Rack* rack, const char* name, const char* param, double number,
                                 Error* error);

/// Say what an end of outputs ("out", "out:1-2") plays while blocks are late: "auto", "dry",
/// "silence" or a level ("-20dB").
NODISCARD Status rack_late(Rack* rack, const char* end, const char* fallback, Error* error);

/// The fallback of output `channel`, from 1; NULL where the rack has no word on it.
const RackFallback* rack_find_fallback(const Rack* rack, uint32_t channel);

/// Read "auto", "dry", "silence" or a level.
NODISCARD Status rack_read_fallback(const char* text, RackFallback* fallback, Error* error);

#define RACK_FALLBACK_BYTES 64U

/// As the language writes it; in `text` where it is no word.
const char* rack_print_fallback(RackFallback fallback, char text[RACK_FALLBACK_BYTES]);

/// The same for what is set while a rack is heard: nothing where there is no such node, or it takes
/// no such value.
void rack_set_value(const Rack* rack, RackUid uid, uint32_t param, double number);

/// Check a whole rack for cycles (named node by node) and dangling connections.  Every function
/// here that changes a rack leaves one that passes: no caller needs this, but tests do.  The
/// planner checks channel widths, because it knows the contents of files.
NODISCARD Status rack_check(const Rack* rack, Error* error);

/// Warnings of a rack that is valid, but probably does not do what was meant, a line each with its
/// final newline; "" for none.  `rate_hz` 0: not known yet.  Caller frees; NULL when out of memory.
char* rack_warnings(const Rack* rack, double rate_hz);

/// Its canonical text is no longer than a document may be: STATUS_LIMIT.
NODISCARD Status rack_check_text(const Rack* rack, Error* error);

/// Times given in frames are in their parameter's range at this rate.
NODISCARD Status rack_check_rate(const Rack* rack, double rate_hz, Error* error);

const RackNode* rack_find(const Rack* rack, const char* name);
const RackNode* rack_find_uid(const Rack* rack, RackUid uid);

/// A parameter's number in the table's unit, at a rate (frames become ms), always in the table's
/// range: whoever knows the rate refuses a rack that rack_check_rate() refuses.  0 for FILE, TEXT.
double rack_number(const RackNode* node, uint32_t param, double rate_hz);

/// A parameter's text, NULL when not given and the table has none.  FILE and TEXT only.
const char* rack_text(const RackNode* node, uint32_t param);

/// A value as the language writes it ("-6dB"), into `buffer`, cut where it does not fit; returns
/// `buffer`.
const char*
rack_print_value(const RackNode* node, uint32_t param, char* buffer, size_t buffer_bytes);

#endif
