// SPDX-License-Identifier: GPL-3.0-or-later
/// One address that the server understands, with its arguments and its function.
#ifndef WARPRACK_CONTROL_COMMAND_H
#define WARPRACK_CONTROL_COMMAND_H

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stddef.h>

struct Changes;
struct Control;

typedef enum CommandKind {
  COMMAND_NOW,   ///< `run` at once
  COMMAND_EDIT,  ///< Changes the document: `apply`
  COMMAND_SET,   ///< Sets parameters: by messages to the engine, or by an edit if one is structural
  COMMAND_NOTE,  ///< Plays notes (notes.h)
  COMMAND_UNDO,  ///< Restores the document that the last change replaced
  COMMAND_REDO,  ///< Reverts an undo
  COMMAND_BEHIND ///< `run` once all earlier edits are active or refused
} CommandKind;

/**
   One row of the table.  Letters are types of arguments: s a string, i an integer (OSC i or h),
   n a number (i, h, f or d), v a value (a number, T, F or a string).  NULL: none.
*/
typedef struct CommandInfo {
  const char* address;
  const char* required; ///< Letters of the required arguments
  const char* optional; ///< Letters of the optional arguments after them
  const char* repeated; ///< Then a group that may occur any number of times
  const char* names;    ///< The arguments in words
  CommandKind kind;

  /// COMMAND_EDIT: change `*rack`, or replace it.  On error the rack may be partly changed, and the
  /// caller drops it.
  Status (*apply)(Rack** rack, const Message* message, Error* error);

  /// COMMAND_SET: append the parameters that the message sets; NULL: its address, or its first
  /// argument, names them.
  Status (*find)(const Rack* rack, const Message* message, struct Changes* found, Error* error);

  /// COMMAND_EDIT: the first argument names a file, whose text is in Message::file when `apply` is
  /// called.
  bool reads_file;

  /// COMMAND_EDIT: saves the state of the node in the address.  The name of the file is in
  /// Message::file when `apply` is called, and in the answer.
  bool saves_state;

  /// COMMAND_NOW and COMMAND_BEHIND: execute the command and answer it.  On error the caller
  /// answers.
  Status (*run)(struct Control* control, const Peer* peer, Message* message, Error* error);

  const char* help;
} CommandInfo;

/// The arguments of a row: "ss[sv]...". [any]
const char* command_types(const CommandInfo* info, char* buffer, size_t buffer_bytes);

#endif
