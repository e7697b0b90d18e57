// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A map from controllers to parameters: which value a reading of a controller sets, and which
   messages show a value on the controller.

   All functions are pure: what a controller has done before is in the reading, and what the
   parameter has now is an argument.  So an edit of the rack, which makes another table, changes
   neither the pickup of a controller nor its edges.
*/
#ifndef WARPRACK_ENGINE_MIDI_MIDI_MAP_H
#define WARPRACK_ENGINE_MIDI_MIDI_MAP_H

#include "midi_decode.h"

#include "engine/contract/effect.h"

/// How a controller without end sends its steps, as the value of a control change.
typedef enum MidiRelative {
  MIDI_ABSOLUTE, ///< It sends positions
  MIDI_TWOS,     ///< 1 to 63 are up, 127 to 64 are 1 to 64 down (two's complement)
  MIDI_SIGNED,   ///< 1 to 63 are up, 65 to 127 are 1 to 63 down (sign bit)
  MIDI_OFFSET,   ///< 65 to 127 are 1 to 63 up, 63 to 0 are 1 to 64 down (offset of 64)
  MIDI_N_RELATIVES
} MidiRelative;

/// Names by MidiRelative: "off", "twos", "signed", "offset"; NULL-terminated.
extern const char* const midi_relative_names[];

/// How positions become values.
typedef struct MidiShape {
  bool has_taper;   ///< Use `taper` in place of the parameter's own one
  FxTaper taper;    ///< Over the range of the map
  bool is_inverted; ///< The end of the travel is the lower end of the range
  bool has_pickup;  ///< Ignore positions until the controller meets the present value
  bool toggles;     ///< For a switch: it changes when the controller passes its middle upwards
  MidiRelative relative;
} MidiShape;

/// A line of the map that has a node.
typedef struct MidiTarget {
  MidiSource source;
  uint32_t uid;                 ///< Of the node
  uint32_t node_index;          ///< In the rack, and in a plan of that rack
  uint32_t param;               ///< Index in the effect's table; undefined for MIDI_NOTES
  FxParam row;                  ///< That parameter, perhaps with the range and the taper of the map
  double low, high;             ///< The range of the map, in the unit of the parameter
  double low_place, high_place; ///< The same as positions on the taper of `row`
  MidiShape shape;
} MidiTarget;

/// The lines of a rack, sorted by midi_source_key().  Zeros: none.
typedef struct MidiTable {
  const MidiTarget* targets;
  uint32_t n;
} MidiTable;

/// Set everything but the source, the node and its parameter.  `low` and `high`: two numbers of the
/// parameter; ignored for a switch and a choice, whose range is whole.  False if `low` is not below
/// `high`, or the taper cannot have this range. [any]
bool midi_target_init(MidiTarget* target, const FxParam* param, double low, double high,
                      MidiShape shape);

/// The targets of a source, n in a row. [any, rt]
REALTIME const MidiTarget* midi_table_find(const MidiTable* table, MidiSource source, uint32_t* n);

/// The value that a reading gives a parameter whose value, or target of a ramp, is `present`.
/// False if it gives none: the controller has not met the value yet, or has no edge, or made no
/// step.  Never for MIDI_NOTES and MIDI_PROGRAM.  The parameter accepts the value, see
/// fx_param_accepts(). [any, rt]
REALTIME bool midi_target_value(const MidiTarget* target, const MidiReading* reading,
                                double present, double* value);

/// The position of the controller for a value: below the number of values of its kind. [any]
uint32_t midi_target_position(const MidiTarget* target, double value);

/// True if a controller at this position needs no feedback for a value: it gives the same value, or
/// one nearer than its next position. [any]
bool midi_target_shows(const MidiTarget* target, uint32_t position, double value);

#define MIDI_FEEDBACK_EVENTS 4U

/// The messages that set a controller to a position, as it would send them.  Returns their number;
/// 0 for notes, programs, pressure and relative controllers. [any]
uint32_t
midi_feedback(const MidiTarget* target, uint32_t position, MidiEvent events[MIDI_FEEDBACK_EVENTS]);

#endif
