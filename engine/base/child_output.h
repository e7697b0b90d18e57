// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What a child process prints: line by line, up to a limit, to a descriptor of this process.

   A child that runs code of others may print without end.  More than CHILD_OUTPUT_LINES in
   CHILD_OUTPUT_S seconds are a flood: its further lines are dropped until an interval has fewer.  A
   line says that lines are dropped, and one, after the flood, how many.

   A thread of this process passes the lines on, so that the last words of a child that crashes are
   not lost, and a log that is stuck holds up nothing else.  The child never waits: what does not fit
   into the pipe is lost.
*/
#ifndef WARPRACK_ENGINE_BASE_CHILD_OUTPUT_H
#define WARPRACK_ENGINE_BASE_CHILD_OUTPUT_H

#include "status.h"

#define CHILD_OUTPUT_LINES 200U // in CHILD_OUTPUT_S; a report of a sanitizer has fewer
#define CHILD_OUTPUT_S     10U
#define CHILD_OUTPUT_BYTES 500U // of a line; longer ones are cut into several

typedef struct ChildOutput ChildOutput;

/**
   Pass the lines of a child on.

   @param who What the child is, for the lines about a flood: "worker".
   @param to Descriptor for the lines, which stays open; -1: nowhere.
   @param from Set to the descriptor for the child, which the caller closes when the child has it.
   @return STATUS_NO_MEM.
   [any but rt]
*/
NODISCARD Status child_output_start(const char* who, int to, int* from, ChildOutput** out,
                                    Error* error);

/// Pass on what the child has printed until now, and end, even if processes that the child has left
/// behind print on.  Does not wait for a stuck reader of `to`: lines that it does not take at once
/// are lost.  Accepts NULL. [any but rt]
void child_output_end(ChildOutput* output);

#endif
