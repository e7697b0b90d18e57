// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What a child process, or code of others in this one, prints: line by line, up to a limit, to a
   descriptor of this process.

   Code of others may print without end.  More lines in an interval than its limit allows are a
   flood: its further lines are dropped until an interval has fewer.  A line says that lines are
   dropped, and one, after the flood, how many.

   A thread of this process passes the lines on, so that the last words of a child that crashes are
   not lost, and a log that is stuck holds up nothing else.  The printing code never waits: what
   does not fit into the pipe is lost.
*/
#ifndef WARPRACK_ENGINE_BASE_CHILD_OUTPUT_H
#define WARPRACK_ENGINE_BASE_CHILD_OUTPUT_H

#include "status.h"

#include <stdint.h>

#define CHILD_OUTPUT_BYTES  500U // of a line; longer ones are cut into several
#define CHILD_OUTPUT_BEGINS 16U

typedef struct ChildOutput ChildOutput;

/// Whose lines, and how many.
typedef struct ChildOutputSetup {
  const char* who;    ///< Who prints, for the lines about a flood: "the worker process"
  const char* begins; ///< What each line begins with, less than CHILD_OUTPUT_BEGINS: "plugin: "
  uint32_t max_lines; ///< In an interval
  uint32_t seconds;   ///< Of an interval
} ChildOutputSetup;

/**
   Pass lines on.

   @param setup Copied.
   @param to Descriptor for the lines, which stays open; -1: nowhere.
   @param from Set to the descriptor to print to, which the caller closes when the child has it.
   @return STATUS_NO_MEM.
   [any but rt]
*/
NODISCARD Status child_output_start(const ChildOutputSetup* setup, int to, int* from,
                                    ChildOutput** out, Error* error);

/// Pass on what has been printed until now, and end, even if processes that a child has left behind
/// print on.  Does not wait for a stuck reader of `to`: lines that it does not take at once
/// are lost.  Accepts NULL. [any but rt]
void child_output_end(ChildOutput* output);

#endif
