// SPDX-License-Identifier: GPL-3.0-or-later
/// The changes of one node in a block, in the order of their frames: events, and points of fades.
#ifndef WARPRACK_DSP_CPU_STAGE_EVENT_H
#define WARPRACK_DSP_CPU_STAGE_EVENT_H

#include "engine/contract/backend.h"

/// Which nodes change in a block, and the events and fades of each that do something in it, so that
/// no node looks at those of others.  All zeros between blocks, except next_event and next_fade.
typedef struct ChangeMarks {
  uint32_t* has_change;  ///< [n_nodes] 1: the node changes
  uint32_t* first_event; ///< [n_nodes] index + 1 of the first event of the node; 0: none
  uint32_t* next_event;  ///< [FX_MAX_EVENTS] index + 1 of the next event of the same node; 0: none
  uint32_t* first_fade;  ///< [n_nodes] index + 1 of a fade of the node; 0: none
  uint32_t* next_fade;   ///< [FADE_MAX] index + 1 of another fade of the same node; 0: none
} ChangeMarks;

/// Size of the memory for change_marks_init(). [builder]
size_t change_marks_bytes(uint32_t n_nodes);

/// `memory`: zeros, or NULL, and then has_change is NULL. [builder]
void change_marks_init(ChangeMarks* marks, void* memory, uint32_t n_nodes);

REALTIME void change_marks_set(ChangeMarks* marks, const StageChanges* changes,
                               uint32_t n_frames);                                 // [player]
REALTIME void change_marks_clear(ChangeMarks* marks, const StageChanges* changes); // [player]

/// The changes of a node in a block that are still to come.
typedef struct NodeChanges {
  const StageChanges* block;
  const uint32_t* next_event; ///< ChangeMarks::next_event
  const uint32_t* next_fade;  ///< ChangeMarks::next_fade
  const FxInfo* fx;
  void* node;
  uint32_t first_fade; ///< As ChangeMarks::first_fade
  uint32_t event;      ///< As ChangeMarks::first_event, of those that are left
} NodeChanges;

/// Offset in the block of the first change at or after `from` whose predecessors have been passed;
/// UINT32_MAX if there is none. [player]
REALTIME uint32_t node_changes_next(const NodeChanges* changes, uint32_t from);

/// True if a value of the effect changes at an offset, and not only a note or a switch. [player]
REALTIME bool node_changes_have_value(const NodeChanges* changes, uint32_t at);

/// True if a value of the effect changes in the block, but after the first frame; before any change
/// has been passed. [player]
REALTIME bool node_changes_cut(const NodeChanges* changes, uint32_t n_frames);

/// Pass all changes at an offset to the node: values and notes at these frames of its next run.  An
/// effect without FxInfo::set_at gets values at the start of the run.  Switches are for the guard.
/// [player]
REALTIME void
node_changes_pass(NodeChanges* changes, uint32_t at, uint32_t value_frame, uint32_t note_frame);

#endif
