// SPDX-License-Identifier: GPL-3.0-or-later
/**
   `warprack check` as a child process of a server (child_mail.h): it predicts the cost of a rack
   beside the audio.  The code of plugins runs in the child and in its children, which end with it.
   [main]
*/
#ifndef WARPRACK_TOOLS_CHECK_CHILD_H
#define WARPRACK_TOOLS_CHECK_CHILD_H

#include "child_mail.h"
#include "commands.h"

#include "engine/engine.h"

/// A rack, and how it would run.
typedef struct CheckRequest {
  const char* text;           ///< A chain or a whole document
  const char* root;           ///< Folder of the files that it may name
  const EngineConfig* engine; ///< Of the server: channels, backend, memory and helpers count
  double rate_hz;
  uint32_t block_frames;
} CheckRequest;

/// Start a check.  None may run.
NODISCARD Status check_child_start(ChildMail* child, const CheckRequest* request, Error* error);

/// True if the check has ended; then the caller owns `lines` (ControlChecks::take), or they are
/// NULL, and `why` says why.  Does not wait.
bool check_child_has_ended(ChildMail* child, char** lines, Error* why);

/// Kill the check and its children, if one runs.
void check_child_stop(ChildMail* child);

/// In the child: check the rack, and send the result.  Returns the exit code.
int check_child_run(const Command* command);

#endif
