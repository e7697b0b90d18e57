// SPDX-License-Identifier: GPL-3.0-or-later
/// One address that the server understands, with its arguments and its function.
#ifndef WARPRACK_CONTROL_COMMAND_H
#define WARPRACK_CONTROL_COMMAND_H

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdbool.h>

struct Control;

typedef enum CommandKind {
  COMMAND_NOW,   ///< Answered at once: `run`
  COMMAND_EDIT,  ///< Changes the document: `apply`
  COMMAND_SET,   ///< Sets parameters: a message to the engine, or an edit when one is structural
  COMMAND_UNDO,  ///< Brings the document back that the last change replaced
  COMMAND_REDO,  ///< Takes an undo back
  COMMAND_BEHIND ///< `run` once all earlier edits play or have been refused
} CommandKind;

/**
   One row.  Argument types are given as letters: s a string, i a whole number (OSC i or h), n a
   number (i, h, f or d), v a value (a number, T, F or a string).  NULL stands for none.
*/
typedef struct CommandInfo {
  const char* address;
  const char* required; ///< Letters of the arguments that must be there
  const char* optional; ///< Then those that may be
  const char* repeated; ///< Then a group that may come any number of times
  const char* names;    ///< The arguments in words
  CommandKind kind;

  /// COMMAND_EDIT: change `*rack` (which may be replaced) or say why not.  A rack that was half
  /// changed is thrown away by the caller.
  Status (*apply)(Rack** rack, const Message* message, Error* error);

  /// COMMAND_EDIT: the first argument names a file, which is read into Message::file before
  /// `apply`.
  bool reads_file;

  /// COMMAND_NOW and COMMAND_BEHIND: do it and answer, or say why not.
  Status (*run)(struct Control* control, const Peer* peer, Message* message, Error* error);

  const char* help;
} CommandInfo;

#endif
